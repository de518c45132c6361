// Layout, all numbers little-endian:
//   [u32 length][IndexSection]   only if there are indices; Manifest.index_section = its offset
//   [u32 length][Transaction]    Manifest.transaction_section = its offset
//   [u32 length][Manifest]       at manifest_pos
//   i64 manifest_pos | u16 0 | u16 2 | "LANC"
#include "javelin/table/manifest_codec.h"

#include "javelin/base/error.h"
#include "javelin/table/feature_flags.h"
#include "javelin/table/row_lineage.h"
#include "javelin/table/wire_internal.h"

namespace javelin::table {

namespace {

constexpr std::string_view kMagic = "LANC";
constexpr size_t kFooterBytes = 16;
constexpr uint16_t kFooterMajor = 0, kFooterMinor = 2;
constexpr int64_t kNanosPerSecond = 1'000'000'000;
constexpr std::string_view kFileFormat = "lance";
constexpr size_t kMaxMessageBytes = INT32_MAX;  // protobuf's own limit

template <typename T>
T ReadNumber(std::string_view bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}
template <typename T>
void AppendNumber(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

// ---- reading ----

arrow::Result<std::string_view> SectionAt(std::string_view file, uint64_t offset, std::string_view what) {
  const uint64_t end = file.size() - kFooterBytes;
  if (offset > end || end - offset < sizeof(uint32_t))
    return Corruption("{} at offset {} lies outside the file of {} bytes", what, offset, file.size());
  const uint32_t length = ReadNumber<uint32_t>(file, offset);
  if (end - offset - sizeof(uint32_t) < length) {
    return Corruption("{} at offset {} claims {} bytes, more than the file of {} bytes has", what, offset, length,
                      file.size());
  }
  return file.substr(offset + sizeof(uint32_t), length);
}

arrow::Result<uint64_t> ManifestPosition(std::string_view file) {
  if (file.size() < kFooterBytes) return Corruption("manifest file has {} bytes, too few for its footer", file.size());
  if (file.substr(file.size() - kMagic.size()) != kMagic)
    return Corruption("manifest file of {} bytes does not end in 'LANC'", file.size());
  const int64_t position = ReadNumber<int64_t>(file, file.size() - kFooterBytes);
  if (position < 0) return Corruption("manifest file puts its manifest at offset {}", position);
  return static_cast<uint64_t>(position);
}

int64_t DecodeTimestamp(const wire::Timestamp& timestamp) {
  constexpr int64_t kMaxSeconds = INT64_MAX / kNanosPerSecond - 1;
  const int64_t seconds = std::clamp(timestamp.seconds(), -kMaxSeconds, kMaxSeconds);
  return seconds * kNanosPerSecond + std::clamp<int64_t>(timestamp.nanos(), 0, kNanosPerSecond - 1);
}

// A table without the field is as old as its files; without files nothing is known and nothing may be appended.
std::string DataFormatVersion(const wire::Manifest& message) {
  if (message.has_data_format()) return message.data_format().version();
  for (const wire::DataFragment& fragment : message.fragments()) {
    for (const wire::DataFile& file : fragment.files())
      return fmt::format("{}.{}", file.file_major_version(), file.file_minor_version());
  }
  return "0.1";
}

arrow::Status DecodeScalars(const wire::Manifest& message, Manifest& manifest) {
  if (message.version() == 0) return Corruption("the manifest has no version");
  manifest.version = TableVersion(message.version());
  manifest.timestamp_ns = DecodeTimestamp(message.timestamp());
  manifest.reader_feature_flags = message.reader_feature_flags();
  manifest.writer_feature_flags = message.writer_feature_flags();
  if (message.has_max_fragment_id()) manifest.max_fragment_id = message.max_fragment_id();
  manifest.transaction_file = message.transaction_file();
  if (message.has_writer_version())
    manifest.writer_version = WriterVersion{message.writer_version().library(), message.writer_version().version()};
  manifest.next_row_id = message.next_row_id();
  manifest.data_format_version = DataFormatVersion(message);
  manifest.config = ToStdMap(message.config());
  manifest.table_metadata = ToStdMap(message.table_metadata());
  if (message.has_branch()) manifest.branch = message.branch();
  if (message.has_max_allocated_field_id()) {
    manifest.max_allocated_field_id = message.max_allocated_field_id();
    if (manifest.max_allocated_field_id < -1 || manifest.max_allocated_field_id > INT32_MAX)
      return Corruption("the largest field id ever given is {}", *manifest.max_allocated_field_id);
  }
  return arrow::Status::OK();
}

arrow::Status CheckFragments(const Manifest& manifest) {
  const bool stable_ids = (manifest.reader_feature_flags & flag::kStableRowIds) != 0;
  const Fragment* previous = nullptr;
  for (const Fragment& fragment : manifest.fragments) {
    if (previous != nullptr && fragment.id == previous->id)
      return Corruption("fragment {} is listed twice", fragment.id);
    if (stable_ids && WhereRowIdsAre(fragment) == RowIdsKept::kNowhere)
      return Corruption("the table has stable row ids but fragment {} has none", fragment.id);
    previous = &fragment;
  }
  return arrow::Status::OK();
}

// Row lineage columns belong to data files, never to the table's schema.
arrow::Status CheckSchema(const file::Schema& schema) {
  for (const file::Field& field : schema.fields()) {
    if (field.id.value() < 0) return Corruption("column '{}' has the id {}", field.name, field.id);
  }
  return arrow::Status::OK();
}

arrow::Result<std::vector<IndexEntry>> DecodeIndexSection(std::string_view bytes) {
  wire::IndexSection section;
  ARROW_RETURN_NOT_OK(Parse(bytes, section, "the index section"));
  std::vector<IndexEntry> indices;
  for (std::string& encoded : *section.mutable_indices()) {
    ARROW_ASSIGN_OR_RAISE(indices.emplace_back(), DecodeIndexEntry(std::move(encoded)));
  }
  return indices;
}

std::optional<uint64_t> TransactionOffset(const wire::Manifest& message) {
  if (message.has_transaction_section()) return message.transaction_section();
  if (message.has_transaction_section_deprecated()) return message.transaction_section_deprecated();
  return std::nullopt;
}

// ---- writing ----

void EncodeTimestamp(int64_t nanos, wire::Timestamp* timestamp) {
  int64_t seconds = nanos / kNanosPerSecond, rest = nanos % kNanosPerSecond;
  if (rest < 0) {
    rest += kNanosPerSecond;
    --seconds;
  }
  timestamp->set_seconds(seconds);
  timestamp->set_nanos(static_cast<int32_t>(rest));
}

wire::Manifest ToWire(const Manifest& manifest) {
  wire::Manifest message;
  for (lance::file::Field& field : manifest.schema.ToProto()) *message.add_fields() = std::move(field);
  FillProtoMap(manifest.schema.metadata(), message.mutable_schema_metadata());
  for (const Fragment& fragment : manifest.fragments) *message.add_fragments() = ToWire(fragment);
  message.set_version(manifest.version.value());
  EncodeTimestamp(manifest.timestamp_ns, message.mutable_timestamp());
  message.set_reader_feature_flags(manifest.reader_feature_flags);
  message.set_writer_feature_flags(manifest.writer_feature_flags);
  if (manifest.max_fragment_id) message.set_max_fragment_id(*manifest.max_fragment_id);
  message.set_transaction_file(manifest.transaction_file);
  if (manifest.writer_version) {
    message.mutable_writer_version()->set_library(manifest.writer_version->library);
    message.mutable_writer_version()->set_version(manifest.writer_version->version);
  }
  message.set_next_row_id(manifest.next_row_id);
  message.mutable_data_format()->set_file_format(std::string(kFileFormat));
  message.mutable_data_format()->set_version(manifest.data_format_version);
  FillProtoMap(manifest.config, message.mutable_config());
  for (const BasePath& base : manifest.base_paths) *message.add_base_paths() = ToWire(base);
  FillProtoMap(manifest.table_metadata, message.mutable_table_metadata());
  if (manifest.branch) message.set_branch(*manifest.branch);
  if (manifest.max_allocated_field_id) message.set_max_allocated_field_id(*manifest.max_allocated_field_id);
  return message;
}

// Appends [u32 length][bytes] and returns its offset.
uint64_t AppendSection(std::string& file, std::string_view bytes) {
  const uint64_t offset = file.size();
  AppendNumber<uint32_t>(file, static_cast<uint32_t>(bytes.size()));
  file += bytes;
  return offset;
}

}  // namespace

arrow::Result<DecodedManifest> DecodeManifestFile(std::string_view file) {
  ARROW_ASSIGN_OR_RAISE(const uint64_t position, ManifestPosition(file));
  ARROW_ASSIGN_OR_RAISE(const std::string_view bytes, SectionAt(file, position, "the manifest message"));
  wire::Manifest message;
  ARROW_RETURN_NOT_OK(Parse(bytes, message, "the manifest message"));

  DecodedManifest decoded;
  Manifest& manifest = decoded.manifest;
  ARROW_RETURN_NOT_OK(DecodeScalars(message, manifest));
  // Before anything whose meaning an unknown feature may change.
  ARROW_RETURN_NOT_OK(CheckReadable(manifest));
  ARROW_ASSIGN_OR_RAISE(manifest.schema,
                        file::Schema::FromProto(message.fields(), ToStdMap(message.schema_metadata())));
  ARROW_RETURN_NOT_OK(CheckSchema(manifest.schema));
  ARROW_ASSIGN_OR_RAISE(manifest.fragments, FromWire(message.fragments()));
  std::stable_sort(manifest.fragments.begin(), manifest.fragments.end(),
                   [](const Fragment& a, const Fragment& b) { return a.id < b.id; });
  ARROW_RETURN_NOT_OK(CheckFragments(manifest));
  for (const wire::BasePath& base : message.base_paths()) manifest.base_paths.push_back(FromWire(base));
  if (message.has_index_section()) {
    ARROW_ASSIGN_OR_RAISE(const std::string_view section,
                          SectionAt(file, message.index_section(), "the index section"));
    ARROW_ASSIGN_OR_RAISE(manifest.indices, DecodeIndexSection(section));
  }
  if (const std::optional<uint64_t> offset = TransactionOffset(message)) {
    ARROW_ASSIGN_OR_RAISE(const std::string_view section, SectionAt(file, *offset, "the transaction"));
    decoded.transaction = std::string(section);
  }
  return decoded;
}

arrow::Result<BufferPtr> EncodeManifestFile(const Manifest& manifest, std::string_view transaction) {
  std::string file;
  wire::Manifest message = ToWire(manifest);
  if (!manifest.indices.empty()) {
    wire::IndexSection section;
    for (const IndexEntry& index : manifest.indices) section.add_indices(index.encoded);
    message.set_index_section(AppendSection(file, Serialize(section)));
  }
  message.set_transaction_section(AppendSection(file, transaction));
  if (message.ByteSizeLong() > kMaxMessageBytes)
    return NotSupported("a manifest of {} bytes; compact the table first", message.ByteSizeLong());
  const uint64_t position = AppendSection(file, Serialize(message));
  AppendNumber<int64_t>(file, static_cast<int64_t>(position));
  AppendNumber<uint16_t>(file, kFooterMajor);
  AppendNumber<uint16_t>(file, kFooterMinor);
  file += kMagic;
  return arrow::Buffer::FromString(std::move(file));
}

}  // namespace javelin::table
