#include "javelin/memwal/shard_manifest.h"

#include <google/protobuf/unknown_field_set.h>

#include "javelin/base/error.h"
#include "lanceproto/table.pb.h"

namespace javelin::memwal {

namespace {

std::string UnknownFieldsOf(const google::protobuf::Message& message) {
  std::string bytes;
  message.GetReflection()->GetUnknownFields(message).SerializeToString(&bytes);
  return bytes;
}

void AddUnknownFields(const std::string& bytes, google::protobuf::Message* message) {
  message->GetReflection()->MutableUnknownFields(message)->ParseFromString(bytes);
}

template <typename Value>
std::optional<uint64_t> Optional(bool present, Value value) {
  return present ? std::optional<uint64_t>(value) : std::nullopt;
}

// A folder name is joined to the shard's folder; it must not lead anywhere else.
arrow::Status CheckFolderName(const std::string& name) {
  if (!name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos) return arrow::Status::OK();
  return Corruption("SSTable path '{}' is not a single folder name", name);
}

arrow::Result<SsTableEntry> FromProto(const lance::table::SsTable& table) {
  ARROW_RETURN_NOT_OK(CheckFolderName(table.path()));
  return SsTableEntry{
      .generation = Generation(table.generation()),
      .path = table.path(),
      .in_memory_bytes = Optional(table.has_in_memory_bytes(), table.in_memory_bytes()),
      .physical_rows = Optional(table.has_physical_rows(), table.physical_rows()),
      .primary_key_bytes = Optional(table.has_primary_key_bytes(), table.primary_key_bytes()),
      .unknown_fields = UnknownFieldsOf(table),
  };
}

void ToProto(const SsTableEntry& entry, lance::table::SsTable* table) {
  AddUnknownFields(entry.unknown_fields, table);
  table->set_generation(entry.generation.value());
  table->set_path(entry.path);
  if (entry.in_memory_bytes) table->set_in_memory_bytes(*entry.in_memory_bytes);
  if (entry.physical_rows) table->set_physical_rows(*entry.physical_rows);
  if (entry.primary_key_bytes) table->set_primary_key_bytes(*entry.primary_key_bytes);
}

// All of these are counted up by one; a stored maximum would wrap to a number that means "none".
arrow::Status CheckNotExhausted(const ShardManifest& manifest) {
  struct Counter {
    const char* name;
    uint64_t value;
  };
  const Counter counters[] = {{"version", manifest.version.value()},
                              {"writer_epoch", manifest.writer_epoch.value()},
                              {"replay_after_wal_entry_position", manifest.replay_after.value()},
                              {"wal_entry_position_last_seen", manifest.wal_position_last_seen.value()},
                              {"current_generation", manifest.current_generation.value()}};
  for (const Counter& counter : counters) {
    if (counter.value == UINT64_MAX) return Corruption("{} is at its largest value", counter.name);
  }
  return arrow::Status::OK();
}

}  // namespace

ShardManifest ShardManifest::NextVersion() const {
  ShardManifest next = *this;
  next.version = version.Next();
  return next;
}

BufferPtr EncodeShardManifest(const ShardManifest& manifest) {
  lance::table::ShardManifest message;
  AddUnknownFields(manifest.unknown_fields, &message);
  message.set_version(manifest.version.value());
  message.set_writer_epoch(manifest.writer_epoch.value());
  message.set_replay_after_wal_entry_position(manifest.replay_after.value());
  message.set_wal_entry_position_last_seen(manifest.wal_position_last_seen.value());
  message.set_current_generation(manifest.current_generation.value());
  for (const SsTableEntry& entry : manifest.sstables) ToProto(entry, message.add_sstables());
  message.set_shard_spec_id(manifest.shard_spec_id);
  message.mutable_shard_id()->set_uuid(manifest.shard_id.bytes());
  for (const auto& [field_id, value] : manifest.shard_fields) {
    auto* entry = message.add_shard_field_entries();
    entry->set_field_id(field_id);
    entry->set_value(value);
  }
  if (manifest.status == ShardStatus::kSealed) message.set_status(lance::table::ShardManifest::SEALED);
  return arrow::Buffer::FromString(message.SerializeAsString());
}

namespace {

arrow::Result<ShardManifest> Decode(const arrow::Buffer& bytes) {
  lance::table::ShardManifest message;
  if (bytes.size() > INT32_MAX || !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return Corruption("its {} bytes are no message of that kind", bytes.size());
  if (!message.has_shard_id()) return Corruption("it has no shard id");
  ShardManifest manifest;
  ARROW_ASSIGN_OR_RAISE(manifest.shard_id, Uuid::FromBytes(message.shard_id().uuid()));
  manifest.version = ManifestVersion(message.version());
  if (manifest.version == ManifestVersion(0)) return Corruption("version 0");
  manifest.shard_spec_id = message.shard_spec_id();
  for (const auto& entry : message.shard_field_entries()) {
    if (!manifest.shard_fields.emplace(entry.field_id(), entry.value()).second) {
      return Corruption("shard field '{}' occurs twice", entry.field_id());
    }
  }
  manifest.writer_epoch = Epoch(message.writer_epoch());
  manifest.replay_after = WalPosition(message.replay_after_wal_entry_position());
  manifest.wal_position_last_seen = WalPosition(message.wal_entry_position_last_seen());
  manifest.current_generation = Generation(message.current_generation());
  if (manifest.current_generation == Generation(0)) return Corruption("current_generation 0 belongs to the base table");
  for (const auto& table : message.sstables()) {
    ARROW_ASSIGN_OR_RAISE(SsTableEntry entry, FromProto(table));
    manifest.sstables.push_back(std::move(entry));
  }
  manifest.status =
      message.status() == lance::table::ShardManifest::SEALED ? ShardStatus::kSealed : ShardStatus::kActive;
  manifest.unknown_fields = UnknownFieldsOf(message);
  ARROW_RETURN_NOT_OK(CheckNotExhausted(manifest));
  return manifest;
}

}  // namespace

arrow::Result<ShardManifest> DecodeShardManifest(const arrow::Buffer& bytes) {
  arrow::Result<ShardManifest> manifest = Decode(bytes);
  if (manifest.ok()) return manifest;
  return Corruption(
      "the shard manifest does not decode ({}): it is torn or damaged; restore the object, the shard cannot be used "
      "without it",
      manifest.status().message());
}

std::string ReversedBits(uint64_t n) {
  std::string bits(64, '0');
  for (int i = 0; i < 64; ++i) {
    if (n >> i & 1) bits[i] = '1';
  }
  return bits;
}

std::optional<uint64_t> ParseReversedBits(std::string_view name, std::string_view suffix) {
  if (name.size() != 64 + suffix.size() || !name.ends_with(suffix)) return std::nullopt;
  uint64_t n = 0;
  for (int i = 0; i < 64; ++i) {
    if (name[i] != '0' && name[i] != '1') return std::nullopt;
    if (name[i] == '1') n |= uint64_t{1} << i;
  }
  return n;
}

ShardPaths::ShardPaths(std::string_view table_root, const Uuid& shard)
    : shard_folder(JoinKey(table_root, "_mem_wal/" + shard.ToString())) {}

std::string ShardPaths::ManifestFolder() const { return shard_folder + "/manifest/"; }
std::string ShardPaths::Manifest(ManifestVersion version) const {
  return ManifestFolder() + ReversedBits(version.value()) + std::string(kManifestSuffix);
}
std::string ShardPaths::ManifestHint() const { return ManifestFolder() + "version_hint.json"; }
std::string ShardPaths::WalFolder() const { return shard_folder + "/wal/"; }
std::string ShardPaths::WalEntry(WalPosition position) const {
  return WalFolder() + ReversedBits(position.value()) + std::string(kWalEntrySuffix);
}

}  // namespace javelin::memwal
