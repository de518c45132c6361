// A table of eight rows with a column of every kind, for tests of filters.
#pragma once

#include <string>
#include <vector>

#include <arrow/api.h>
#include <arrow/json/from_string.h>
