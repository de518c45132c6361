#include "javelin/table/index_entry.h"

#include "javelin/base/error.h"
#include "javelin/table/wire_internal.h"

namespace javelin::table {

namespace {
// Entries are decoded once when they come in, so this cannot fail but for entries made by hand.
wire::IndexMetadata Decode(const IndexEntry& index) {
  wire::IndexMetadata message;
  static_cast<void>(Parse(index.encoded, message, "an index entry"));
  return message;
}
}  // namespace

bool IsSystemIndex(const IndexEntry& index) {
  return index.name == kMemWalIndexName || index.name == kFragmentReuseIndexName;
}

std::optional<OffsetSet> CoverageOf(const IndexEntry& index) {
  const wire::IndexMetadata message = Decode(index);
  if (message.fragment_bitmap().empty()) return std::nullopt;
  auto coverage = DecodeRoaring(message.fragment_bitmap());
  return coverage.ok() ? std::optional(*std::move(coverage)) : std::nullopt;
}

IndexEntry WithCoverage(const IndexEntry& index, const OffsetSet& fragments) {
  wire::IndexMetadata message = Decode(index);
  message.set_fragment_bitmap(EncodeRoaring(fragments));
  IndexEntry out = index;
  out.encoded = Serialize(message);
  return out;
}

IndexEntry WithDetails(const IndexEntry& index, std::string details) {
  wire::IndexMetadata message = Decode(index);
  message.mutable_index_details()->set_value(details);
  IndexEntry out = index;
  out.details = std::move(details);
  out.encoded = Serialize(message);
  return out;
}

IndexEntry Reissued(const IndexEntry& index, const Uuid& uuid, uint64_t dataset_version, int64_t created_at_ms) {
  wire::IndexMetadata message = Decode(index);
  message.mutable_uuid()->set_uuid(uuid.bytes());
  message.set_dataset_version(dataset_version);
  message.set_created_at(static_cast<uint64_t>(created_at_ms));
  IndexEntry out = index;
  out.uuid = uuid.bytes();
  out.dataset_version = dataset_version;
  out.encoded = Serialize(message);
  return out;
}

}  // namespace javelin::table
