#include "lanceproto/file.pb.h"

#include "javelin/base/error.h"
#include "javelin/table/apply_internal.h"
#include "javelin/table/compaction_progress.h"

namespace javelin::table {

namespace {

constexpr std::string_view kKeyMetadataPrefix = "lance-schema:";

// Keys of a table are given when it is created; their marks are not plain metadata.
arrow::Status CheckKeepsKeys(const file::Field& field, const MapUpdate& update) {
  const auto is_mark = [](const auto& entry) { return entry.first.starts_with(kKeyMetadataPrefix); };
  const bool loses_marks = update.replaces && std::any_of(field.metadata.begin(), field.metadata.end(), is_mark);
  if (!loses_marks && std::none_of(update.entries.begin(), update.entries.end(), is_mark)) return arrow::Status::OK();
  return InvalidInput("the key marks of column '{}' cannot be changed by its metadata", field.name);
}

file::Field* FindField(std::vector<file::Field>& fields, FieldId id) {
  for (file::Field& field : fields) {
    if (field.id == id) return &field;
    if (file::Field* child = FindField(field.children, id)) return child;
  }
  return nullptr;
}

arrow::Status UpdateFields(const std::map<FieldId, MapUpdate>& updates, Manifest& next) {
  std::vector<file::Field> fields = next.schema.fields();
  for (const auto& [id, update] : updates) {
    file::Field* field = FindField(fields, id);
    if (field == nullptr) return InvalidInput("field id {}, whose metadata is to change, is not in the table", id);
    ARROW_RETURN_NOT_OK(CheckKeepsKeys(*field, update));
    field->metadata = update.ApplyTo(field->metadata);
  }
  // Types of structs and lists hold the metadata of what is inside; they are made anew, as when the manifest is read.
  const file::Schema changed(std::move(fields), next.schema.metadata());
  return file::Schema::FromProto(changed.ToProto(), changed.metadata()).Value(&next.schema);
}

bool Clash(const BasePath& a, const BasePath& b) {
  return a.id == b.id || a.path == b.path || (a.name && a.name == b.name);
}

}  // namespace

arrow::Status ApplyUpdateConfig(const UpdateConfig& config, const ApplyContext&, Manifest& next) {
  if (config.config) next.config = config.config->ApplyTo(next.config);
  if (config.table_metadata) next.table_metadata = config.table_metadata->ApplyTo(next.table_metadata);
  if (config.schema_metadata)
    next.schema = file::Schema(next.schema.fields(), config.schema_metadata->ApplyTo(next.schema.metadata()));
  return UpdateFields(config.field_metadata, next);
}

arrow::Status ApplyUpdateBases(const UpdateBases& bases, const ApplyContext&, Manifest& next) {
  for (BasePath base : bases.new_bases) {
    if (base.id == 0) {
      for (const BasePath& old : next.base_paths) base.id = std::max(base.id, old.id);
      if (base.id == UINT32_MAX) return NotSupported("the table has used up its base path ids");
      ++base.id;
    }
    for (const BasePath& old : next.base_paths) {
      if (Clash(old, base))
        return InvalidInput("base path '{}' (id {}) has the id, name or path of another", base.path, base.id);
    }
    next.base_paths.push_back(std::move(base));
  }
  return arrow::Status::OK();
}

arrow::Status ApplyUpdateMemWalState(const UpdateMemWalState& state, const ApplyContext& context, Manifest& next) {
  return RecordProgress(state.compacted_sstables, context.system_index_uuid, next);
}

}  // namespace javelin::table
