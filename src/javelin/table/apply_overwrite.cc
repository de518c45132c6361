#include "javelin/base/error.h"
#include "javelin/table/apply_internal.h"
#include "javelin/table/feature_flags.h"

namespace javelin::table {

namespace {

// Of a table that keeps its field ids the columns of an overwrite are new ones, also under the same names.
arrow::Status CheckIdsAreNew(const file::Schema& schema, const Manifest& next) {
  if (!next.max_allocated_field_id) return arrow::Status::OK();
  for (const file::Field& field : schema.fields()) {
    if (field.id.value() <= *next.max_allocated_field_id)
      return RetryableConflict("field id {} was given to another column since the rows were written; write them again",
                               field.id);
  }
  return arrow::Status::OK();
}

}  // namespace

arrow::Status ApplyOverwrite(const Overwrite& overwrite, const ApplyContext& context, Manifest& next) {
  ARROW_RETURN_NOT_OK(CheckIdsAreNew(overwrite.schema, next));
  if (context.head != nullptr && !overwrite.initial_bases.empty())
    return InvalidInput("base paths can be given only when the table is created");
  const uint64_t first_id = NextFragmentId(next);
  next.fragments.clear();
  next.indices.clear();
  next.schema = overwrite.schema;
  for (const auto& [key, value] : overwrite.config_upserts) next.config[key] = value;
  if (context.head == nullptr) {
    next.base_paths = overwrite.initial_bases;
    if (context.new_table_has_row_ids) next.reader_feature_flags |= flag::kStableRowIds;
  }
  if (!overwrite.data_format_version.empty()) next.data_format_version = overwrite.data_format_version;
  return AddFragments(overwrite.fragments, first_id, next);
}

}  // namespace javelin::table
