// Structs of which only some fields are read.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "javelin/file/schema.h"

namespace javelin::file {

// The field with those of its parts that `paths` lead to: names below it, each leading to a field; an empty path is all
// of it. A struct whose fields are stored as one value (packed) stays whole.
Field PartsOf(const Field& field, const std::vector<std::span<const std::string>>& paths);

}  // namespace javelin::file
