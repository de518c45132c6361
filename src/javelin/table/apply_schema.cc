#include "javelin/base/error.h"
#include "javelin/table/apply_internal.h"
#include "javelin/table/row_lineage_internal.h"

namespace javelin::table {

namespace {

// By field, the file of the fragment that has it.
std::map<int32_t, const DataFile*> FilesByField(const Fragment& fragment) {
  std::map<int32_t, const DataFile*> files;
  for (const DataFile& file : fragment.files) {
    for (int32_t field : file.fields) {
      if (field >= 0) files[field] = &file;
    }
  }
  return files;
}

// The fields whose values now come from another file.
std::set<FieldId> MovedFields(const Fragment& before, const Fragment& after) {
  const auto old = FilesByField(before), now = FilesByField(after);
  std::set<FieldId> moved;
  for (const auto& [field, file] : old) {
    const auto found = now.find(field);
    if (found == now.end() || found->second->path != file->path || found->second->base_id != file->base_id)
      moved.insert(FieldId(field));
  }
  return moved;
}

arrow::Status CheckMergedFragments(const Manifest& next) {
  for (size_t i = 1; i < next.fragments.size(); ++i) {
    if (next.fragments[i - 1].id == next.fragments[i].id)
      return InvalidInput("a merge lists fragment {} twice", next.fragments[i].id);
  }
  return arrow::Status::OK();
}

arrow::Status CheckColumns(const file::Schema& schema) {
  std::set<std::string_view> names;
  for (const file::Field& field : schema.fields()) {
    if (field.id.value() < 0) return InvalidInput("column '{}' has no field id", field.name);
    if (!names.insert(field.name).second) return InvalidInput("two columns are named '{}'", field.name);
  }
  return arrow::Status::OK();
}

}  // namespace

arrow::Status ApplyMerge(const Merge& merge, const ApplyContext& context, Manifest& next) {
  ARROW_RETURN_NOT_OK(CheckColumns(merge.schema));
  KeepFragmentIds(next);
  next.fragments = merge.fragments;
  std::sort(next.fragments.begin(), next.fragments.end(),
            [](const Fragment& a, const Fragment& b) { return a.id < b.id; });
  ARROW_RETURN_NOT_OK(CheckMergedFragments(next));
  next.schema = merge.schema;
  for (Fragment& fragment : next.fragments) {
    const Fragment* before = FindFragment(*context.head, fragment.id);
    if (before == nullptr) return InvalidInput("a merge lists fragment {}, which the table does not have", fragment.id);
    if (before->files == fragment.files) continue;
    if (HasStableRowIds(next)) {
      ARROW_ASSIGN_OR_RAISE(fragment.lineage, LineageOfUpdatedRows(fragment, nullptr, next.version));
    }
    PruneCoverage(MovedFields(*before, fragment), OffsetSet::FromUnsorted({static_cast<uint32_t>(fragment.id.value())}),
                  next);
  }
  DropDeadFiles(nullptr, next);
  RetainRelevantIndices(next);
  return arrow::Status::OK();
}

arrow::Status ApplyProject(const Project& project, const ApplyContext&, Manifest& next) {
  ARROW_RETURN_NOT_OK(CheckColumns(project.schema));
  next.schema = file::Schema(project.schema.fields(), next.schema.metadata());
  DropDeadFiles(&next.schema, next);
  RetainRelevantIndices(next);
  return arrow::Status::OK();
}

}  // namespace javelin::table
