// What each version of data files cannot hold of what the later ones can.
#pragma once

#include <arrow/status.h>

#include "javelin/file/data_file_reader.h"
#include "javelin/file/schema.h"

namespace javelin::file {

// NotSupported naming the column and what to do: a version that is not written, or a kind of column that came later.
arrow::Status CheckVersionHolds(const Schema& schema, FileVersion version);

}  // namespace javelin::file
