#include "javelin/table/manifest.h"

namespace javelin::table {

const IndexEntry* Manifest::FindIndex(std::string_view name) const {
  for (const IndexEntry& index : indices) {
    if (index.name == name) return &index;
  }
  return nullptr;
}

}  // namespace javelin::table
