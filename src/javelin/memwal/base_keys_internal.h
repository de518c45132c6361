// The keys of a version of the base table.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <arrow/status.h>

#include "javelin/dataset/dataset.h"
#include "javelin/index/key_encoding.h"

namespace javelin::memwal {

// Streams the key columns and calls `visit` with the encoded key and the address of every live row, in order. `keys`
// encodes the columns `key_names`. Blocks.
arrow::Status ForEachBaseKey(const Dataset& base, const std::vector<std::string>& key_names,
                             const index::KeyEncoder& keys,
                             const std::function<void(const std::string& key, RowAddress address)>& visit);

}  // namespace javelin::memwal
