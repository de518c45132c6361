#include "javelin/table/field_ids.h"

#include "javelin/table/index_entry.h"

namespace javelin::table {

namespace {
int64_t HighestId(const Manifest& manifest) {
  int64_t highest = manifest.schema.MaxId().value();
  for (const Fragment& fragment : manifest.fragments) {
    for (const DataFile& file : fragment.files) {
      for (const int32_t id : file.fields) highest = std::max(highest, int64_t{id});
    }
  }
  return highest;
}
}  // namespace

void KeepFieldIds(const Manifest* head, Manifest& next) {
  if (next.max_allocated_field_id) {
    next.max_allocated_field_id = std::max(*next.max_allocated_field_id, int64_t{next.schema.MaxId().value()});
  } else if (next.FindIndex(kMemWalIndexName) != nullptr) {
    next.max_allocated_field_id = std::max(HighestId(next), head == nullptr ? 0 : HighestId(*head));
  }
}

}  // namespace javelin::table
