#include "javelin/table/mem_wal_details.h"

#include "javelin/base/error.h"
#include "javelin/table/wire_internal.h"

namespace javelin::table {

namespace {

ShardingField DecodeField(const wire::ShardingField& message) {
  ShardingField field;
  field.field_id = message.field_id();
  field.source_ids.assign(message.source_ids().begin(), message.source_ids().end());
  if (message.has_transform()) field.transform = message.transform();
  if (message.has_expression()) field.expression = message.expression();
  field.result_type = message.result_type();
  field.parameters = ToStdMap(message.parameters());
  return field;
}

void EncodeField(const ShardingField& field, wire::ShardingField* message) {
  message->set_field_id(field.field_id);
  message->mutable_source_ids()->Add(field.source_ids.begin(), field.source_ids.end());
  if (field.transform) message->set_transform(*field.transform);
  if (field.expression) message->set_expression(*field.expression);
  message->set_result_type(field.result_type);
  FillProtoMap(field.parameters, message->mutable_parameters());
}

ShardingSpec DecodeSpec(const wire::ShardingSpec& message) {
  ShardingSpec spec;
  spec.spec_id = message.spec_id();
  for (const wire::ShardingField& field : message.fields()) spec.fields.push_back(DecodeField(field));
  return spec;
}

// The specs never change once they are written, so those that still say the same keep their bytes, unknown fields
// included.
void EncodeSpecs(const std::vector<ShardingSpec>& specs, wire::MemWalIndexDetails& message) {
  std::vector<ShardingSpec> stored;
  for (const wire::ShardingSpec& spec : message.sharding_specs()) stored.push_back(DecodeSpec(spec));
  if (stored == specs) return;
  message.clear_sharding_specs();
  for (const ShardingSpec& spec : specs) {
    wire::ShardingSpec* out = message.add_sharding_specs();
    out->set_spec_id(spec.spec_id);
    for (const ShardingField& field : spec.fields) EncodeField(field, out->add_fields());
  }
}

}  // namespace

Generation MemWalDetails::CompactedThrough(const Uuid& shard) const {
  Generation through;
  for (const CompactedSsTable& table : compacted_sstables) {
    if (table.shard_id == shard) through = std::max(through, table.generation);
  }
  return through;
}

arrow::Result<MemWalDetails> DecodeMemWalDetails(std::string_view bytes) {
  wire::MemWalIndexDetails message;
  ARROW_RETURN_NOT_OK(Parse(bytes, message, "MemWAL details"));
  MemWalDetails details;
  details.snapshot_ts_millis = message.snapshot_ts_millis();
  details.num_shards = message.num_shards();
  for (const wire::ShardingSpec& spec : message.sharding_specs()) details.sharding_specs.push_back(DecodeSpec(spec));
  details.maintained_indexes.assign(message.maintained_indexes().begin(), message.maintained_indexes().end());
  if (message.has_maintain_all_indexes()) details.maintain_all_indexes = message.maintain_all_indexes();
  ARROW_ASSIGN_OR_RAISE(details.compacted_sstables, FromWire(message.compacted_sstables()));
  for (const wire::IndexCatchup& catchup : message.index_catchup()) {
    ARROW_ASSIGN_OR_RAISE(auto caught_up, FromWire(catchup.caught_up()));
    details.index_catchup.push_back({catchup.index_name(), std::move(caught_up)});
  }
  details.writer_config_defaults = ToStdMap(message.writer_config_defaults());
  details.encoded = std::string(bytes);
  return details;
}

std::string EncodeMemWalDetails(const MemWalDetails& details) {
  wire::MemWalIndexDetails message;
  static_cast<void>(Parse(details.encoded, message, "MemWAL details"));  // unknown fields and the inline snapshot stay
  message.set_snapshot_ts_millis(details.snapshot_ts_millis);
  message.set_num_shards(details.num_shards);
  EncodeSpecs(details.sharding_specs, message);
  message.clear_maintained_indexes();
  for (const std::string& name : details.maintained_indexes) message.add_maintained_indexes(name);
  message.clear_maintain_all_indexes();
  if (details.maintain_all_indexes) message.set_maintain_all_indexes(*details.maintain_all_indexes);
  FillSsTables(details.compacted_sstables, message.mutable_compacted_sstables());
  message.clear_index_catchup();
  for (const IndexCatchup& catchup : details.index_catchup) {
    wire::IndexCatchup* out = message.add_index_catchup();
    out->set_index_name(catchup.index_name);
    FillSsTables(catchup.caught_up, out->mutable_caught_up());
  }
  message.clear_writer_config_defaults();
  FillProtoMap(details.writer_config_defaults, message.mutable_writer_config_defaults());
  return Serialize(message);
}

arrow::Result<std::optional<MemWalDetails>> ReadMemWalDetails(const Manifest& manifest) {
  const IndexEntry* entry = manifest.FindIndex(kMemWalIndexName);
  if (entry == nullptr) return std::nullopt;
  ARROW_ASSIGN_OR_RAISE(MemWalDetails details, DecodeMemWalDetails(entry->details));
  return std::optional<MemWalDetails>(std::move(details));
}

IndexEntry MakeMemWalIndexEntry(const MemWalDetails& details, const Uuid& uuid, uint64_t dataset_version,
                                int64_t created_at_ms) {
  IndexEntry entry;
  entry.uuid = uuid.bytes();
  entry.name = std::string(kMemWalIndexName);
  entry.dataset_version = dataset_version;
  entry.details_type_url = std::string(kMemWalDetailsTypeUrl);
  entry.details = EncodeMemWalDetails(details);
  wire::IndexMetadata message;
  message.mutable_uuid()->set_uuid(entry.uuid);
  message.set_name(entry.name);
  message.set_dataset_version(entry.dataset_version);
  message.mutable_index_details()->set_type_url(entry.details_type_url);
  message.mutable_index_details()->set_value(entry.details);
  message.set_index_version(0);
  message.set_created_at(static_cast<uint64_t>(created_at_ms));
  entry.encoded = Serialize(message);
  return entry;
}

}  // namespace javelin::table
