#include "javelin/base/error.h"
#include "javelin/table/apply_internal.h"
#include "javelin/table/row_lineage_internal.h"

namespace javelin::table {

namespace {

constexpr int32_t kSuperseded = -2;

// In the place of a file of the same columns, else beside files whose values of these columns no longer count.
void Replace(const DataFile& file, Fragment& fragment) {
  for (DataFile& old : fragment.files) {
    if (old.fields == file.fields && old.version == file.version) {
      old = file;
      return;
    }
  }
  for (DataFile& old : fragment.files) {
    for (int32_t& field : old.fields) {
      if (field >= 0 && std::find(file.fields.begin(), file.fields.end(), field) != file.fields.end())
        field = kSuperseded;
    }
  }
  fragment.files.push_back(file);
}

}  // namespace

arrow::Status ApplyDataReplacement(const DataReplacement& replacement, const ApplyContext& context, Manifest& next) {
  for (const DataReplacement::Replacement& item : replacement.replacements) {
    Fragment* fragment = FindFragment(next, item.fragment);
    if (fragment == nullptr) return Changed(fmt::format("fragment {} was removed; the table", item.fragment), context);
    std::set<FieldId> fields;
    for (int32_t field : item.new_file.fields) {
      if (next.schema.FindById(FieldId(field)) == nullptr)
        return InvalidInput("the new data file '{}' has field id {}, which the table does not know", item.new_file.path,
                            field);
      fields.insert(FieldId(field));
    }
    Replace(item.new_file, *fragment);
    if (HasStableRowIds(next)) {
      ARROW_ASSIGN_OR_RAISE(fragment->lineage, LineageOfUpdatedRows(*fragment, nullptr, next.version));
    }
    PruneCoverage(fields, OffsetSet::FromUnsorted({static_cast<uint32_t>(item.fragment.value())}), next);
  }
  DropDeadFiles(nullptr, next);
  return arrow::Status::OK();
}

}  // namespace javelin::table
