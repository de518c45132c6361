#include "javelin/base/error.h"
#include "javelin/table/transaction_codec_internal.h"
#include "javelin/table/wire_internal.h"

namespace javelin::table {

using Message = TransactionMessage;

namespace {

arrow::Result<std::vector<IndexEntry>> IndexEntries(const google::protobuf::RepeatedPtrField<std::string>& encoded) {
  std::vector<IndexEntry> entries;
  for (const std::string& bytes : encoded) {
    ARROW_ASSIGN_OR_RAISE(entries.emplace_back(), DecodeIndexEntry(bytes));
  }
  return entries;
}

void Encode(const MapUpdate& update, Message::UpdateMap* message) {
  for (const auto& [key, value] : update.entries) {
    Message::UpdateMap::Entry* entry = message->add_update_entries();
    entry->set_key(key);
    if (value) entry->set_value(*value);
  }
  message->set_replace(update.replaces);
}

MapUpdate DecodeMap(const Message::UpdateMap& message) {
  MapUpdate update;
  for (const auto& entry : message.update_entries())
    update.entries[entry.key()] = entry.has_value() ? std::optional(entry.value()) : std::nullopt;
  update.replaces = message.replace();
  return update;
}

template <typename ProtoMap>
MapUpdate Replacement(const ProtoMap& map) {
  MapUpdate update{{}, /*replaces=*/true};
  for (const auto& [key, value] : map) update.entries[key] = value;
  return update;
}

// What older writers stored: keys set and deleted, whole maps of schema and field metadata.
void DecodeOlderForm(const Message::UpdateConfig& message, UpdateConfig& out) {
  if (!message.upsert_values().empty() || message.delete_keys_size() > 0) {
    out.config.emplace();
    for (const std::string& key : message.delete_keys()) out.config->entries[key] = std::nullopt;
    for (const auto& [key, value] : message.upsert_values()) out.config->entries[key] = value;
  }
  if (!message.schema_metadata().empty()) out.schema_metadata = Replacement(message.schema_metadata());
  for (const auto& [field, metadata] : message.field_metadata())
    out.field_metadata[FieldId(static_cast<int32_t>(field))] = Replacement(metadata.metadata());
}

}  // namespace

void Encode(const CreateIndex& create, Message& message) {
  Message::CreateIndex* out = message.mutable_create_index();
  for (const IndexEntry& index : create.new_indices) out->add_new_indices(index.encoded);
  for (const IndexEntry& index : create.removed_indices) out->add_removed_indices(index.encoded);
}

void Encode(const Merge& merge, Message& message) {
  Message::Merge* out = message.mutable_merge();
  for (const Fragment& fragment : merge.fragments) *out->add_fragments() = ToWire(fragment);
  FillSchema(merge.schema, out->mutable_schema());
  FillProtoMap(merge.schema.metadata(), out->mutable_schema_metadata());
  out->set_preserves_nullability(merge.preserves_nullability);
}

void Encode(const Project& project, Message& message) {
  FillSchema(project.schema, message.mutable_project()->mutable_schema());
  message.mutable_project()->set_preserves_nullability(project.preserves_nullability);
}

void Encode(const Restore& restore, Message& message) {
  message.mutable_restore()->set_version(restore.version.value());
}

void Encode(const ReserveFragments& reserve, Message& message) {
  message.mutable_reserve_fragments()->set_num_fragments(reserve.num_fragments);
}

void Encode(const UpdateConfig& config, Message& message) {
  Message::UpdateConfig* out = message.mutable_update_config();
  if (config.config) Encode(*config.config, out->mutable_config_updates());
  if (config.table_metadata) Encode(*config.table_metadata, out->mutable_table_metadata_updates());
  if (config.schema_metadata) Encode(*config.schema_metadata, out->mutable_schema_metadata_updates());
  for (const auto& [field, update] : config.field_metadata)
    Encode(update, &(*out->mutable_field_metadata_updates())[field.value()]);
}

void Encode(const UpdateMemWalState& state, Message& message) {
  FillSsTables(state.compacted_sstables, message.mutable_update_mem_wal_state()->mutable_compacted_sstables());
}

void Encode(const Clone& clone, Message& message) {
  Message::Clone* out = message.mutable_clone();
  out->set_is_shallow(clone.is_shallow);
  if (clone.ref_name) out->set_ref_name(*clone.ref_name);
  out->set_ref_version(clone.ref_version.value());
  out->set_ref_path(clone.ref_path);
  if (clone.branch_name) out->set_branch_name(*clone.branch_name);
}

void Encode(const UpdateBases& bases, Message& message) {
  Message::UpdateBases* out = message.mutable_update_bases();
  for (const BasePath& base : bases.new_bases) *out->add_new_bases() = ToWire(base);
}

arrow::Result<Operation> Decode(const Message::CreateIndex& message) {
  CreateIndex out;
  ARROW_ASSIGN_OR_RAISE(out.new_indices, IndexEntries(message.new_indices()));
  ARROW_ASSIGN_OR_RAISE(out.removed_indices, IndexEntries(message.removed_indices()));
  return out;
}

arrow::Result<Operation> Decode(const Message::Merge& message) {
  Merge out;
  ARROW_ASSIGN_OR_RAISE(out.fragments, FromWire(message.fragments()));
  ARROW_ASSIGN_OR_RAISE(out.schema, file::Schema::FromProto(message.schema(), ToStdMap(message.schema_metadata())));
  out.preserves_nullability = message.preserves_nullability();
  return out;
}

arrow::Result<Operation> Decode(const Message::Project& message) {
  Project out;
  ARROW_ASSIGN_OR_RAISE(out.schema, file::Schema::FromProto(message.schema(), {}));
  out.preserves_nullability = message.preserves_nullability();
  return out;
}

arrow::Result<Operation> Decode(const Message::UpdateConfig& message) {
  UpdateConfig out;
  DecodeOlderForm(message, out);
  if (message.has_config_updates()) out.config = DecodeMap(message.config_updates());
  if (message.has_table_metadata_updates()) out.table_metadata = DecodeMap(message.table_metadata_updates());
  if (message.has_schema_metadata_updates()) out.schema_metadata = DecodeMap(message.schema_metadata_updates());
  for (const auto& [field, update] : message.field_metadata_updates())
    out.field_metadata[FieldId(field)] = DecodeMap(update);
  return out;
}

arrow::Result<Operation> Decode(const Message::UpdateMemWalState& message) {
  UpdateMemWalState out;
  ARROW_ASSIGN_OR_RAISE(out.compacted_sstables, FromWire(message.compacted_sstables()));
  return out;
}

arrow::Result<Operation> Decode(const Message::Clone& message) {
  Clone out;
  out.is_shallow = message.is_shallow();
  if (message.has_ref_name()) out.ref_name = message.ref_name();
  out.ref_version = TableVersion(message.ref_version());
  out.ref_path = message.ref_path();
  if (message.has_branch_name()) out.branch_name = message.branch_name();
  return out;
}

arrow::Result<Operation> Decode(const Message::UpdateBases& message) {
  UpdateBases out;
  for (const wire::BasePath& base : message.new_bases()) out.new_bases.push_back(FromWire(base));
  return out;
}

arrow::Result<Operation> Decode(const Message::DataOverlay& message) {
  DataOverlay out;
  for (const auto& group : message.groups()) out.fragments.push_back(FragmentId(group.fragment_id()));
  return out;
}

}  // namespace javelin::table
