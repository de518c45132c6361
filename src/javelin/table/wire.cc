#include "javelin/table/wire_internal.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>

#include "javelin/base/error.h"

namespace javelin::table {

namespace {

constexpr uint64_t kMaxFragmentId = UINT32_MAX;
constexpr uint64_t kMaxRowsPerFragment = uint64_t{1} << 32;  // a row offset has 32 bits

wire::DeletionFile ToWire(const DeletionFile& file) {
  wire::DeletionFile message;
  message.set_file_type(file.type == DeletionFileType::kBitmap ? wire::DeletionFile::BITMAP
                                                               : wire::DeletionFile::ARROW_ARRAY);
  message.set_read_version(file.read_version);
  message.set_id(file.id);
  message.set_num_deleted_rows(file.num_deleted_rows);
  if (file.base_id) message.set_base_id(*file.base_id);
  return message;
}

arrow::Result<DeletionFile> FromWire(const wire::DeletionFile& message) {
  DeletionFile file;
  switch (message.file_type()) {
    case wire::DeletionFile::ARROW_ARRAY: file.type = DeletionFileType::kArrowArray; break;
    case wire::DeletionFile::BITMAP: file.type = DeletionFileType::kBitmap; break;
    default:
      return NotSupported("deletion file type {} is unknown; use a newer version to read this table",
                          static_cast<int>(message.file_type()));
  }
  file.read_version = message.read_version();
  file.id = message.id();
  file.num_deleted_rows = message.num_deleted_rows();
  if (message.has_base_id()) file.base_id = message.base_id();
  return file;
}

// Only the sequences of a fragment, still encoded; empty if it has none.
std::string LineageOf(const wire::DataFragment& message) {
  if (message.row_id_sequence_case() == 0 && message.last_updated_at_sequence_case() == 0 &&
      message.created_at_sequence_case() == 0)
    return {};
  wire::DataFragment lineage = message;
  lineage.clear_id();
  lineage.clear_files();
  lineage.clear_deletion_file();
  lineage.clear_physical_rows();
  lineage.DiscardUnknownFields();
  return Serialize(lineage);
}

}  // namespace

std::string Serialize(const google::protobuf::MessageLite& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializePartialToCodedStream(&coded);
  }
  return bytes;
}

arrow::Status Parse(std::string_view bytes, google::protobuf::MessageLite& message, std::string_view what) {
  const google::protobuf::LogSilencer silence;  // the caller hears of it; a library does not print
  if (bytes.size() > INT32_MAX || !message.ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Corruption("{} does not decode ({} bytes)", what, bytes.size());
  }
  return arrow::Status::OK();
}

wire::DataFile ToWire(const DataFile& file) {
  wire::DataFile message;
  message.set_path(file.path);
  message.mutable_fields()->Add(file.fields.begin(), file.fields.end());
  message.mutable_column_indices()->Add(file.column_indices.begin(), file.column_indices.end());
  message.set_file_major_version(file.version.major);
  message.set_file_minor_version(file.version.minor);
  message.set_file_size_bytes(file.size_bytes);
  if (file.base_id) message.set_base_id(*file.base_id);
  return message;
}

arrow::Result<DataFile> FromWire(const wire::DataFile& message) {
  DataFile file;
  file.path = message.path();
  file.fields.assign(message.fields().begin(), message.fields().end());
  file.column_indices.assign(message.column_indices().begin(), message.column_indices().end());
  if (message.file_major_version() > UINT16_MAX || message.file_minor_version() > UINT16_MAX) {
    return Corruption("data file '{}' claims version {}.{}", file.path, message.file_major_version(),
                      message.file_minor_version());
  }
  // Without column indices every field reads as null; any other difference in length has no meaning.
  if (!file.column_indices.empty() && file.column_indices.size() != file.fields.size()) {
    return Corruption("data file '{}' lists {} fields and {} columns", file.path, file.fields.size(),
                      file.column_indices.size());
  }
  file.version = {static_cast<uint16_t>(message.file_major_version()),
                  static_cast<uint16_t>(message.file_minor_version())};
  file.size_bytes = message.file_size_bytes();
  if (message.has_base_id()) file.base_id = message.base_id();
  return file;
}

wire::DataFragment ToWire(const Fragment& fragment) {
  wire::DataFragment message;
  static_cast<void>(Parse(fragment.lineage, message, "lineage"));  // we encoded it
  message.set_id(fragment.id.value());
  for (const DataFile& file : fragment.files) *message.add_files() = ToWire(file);
  if (fragment.deletion_file) *message.mutable_deletion_file() = ToWire(*fragment.deletion_file);
  message.set_physical_rows(fragment.physical_rows);
  return message;
}

arrow::Result<Fragment> FromWire(const wire::DataFragment& message) {
  Fragment fragment;
  fragment.id = FragmentId(message.id());
  if (message.id() > kMaxFragmentId) return Corruption("fragment id {} does not fit 32 bits", message.id());
  if (message.physical_rows() > kMaxRowsPerFragment) {
    return Corruption("fragment {} claims {} rows, more than a row address can tell apart", message.id(),
                      message.physical_rows());
  }
  fragment.physical_rows = message.physical_rows();
  for (const wire::DataFile& file : message.files()) {
    ARROW_ASSIGN_OR_RAISE(fragment.files.emplace_back(), FromWire(file));
  }
  if (message.has_deletion_file()) {
    ARROW_ASSIGN_OR_RAISE(fragment.deletion_file, FromWire(message.deletion_file()));
  }
  fragment.lineage = LineageOf(message);
  return fragment;
}

arrow::Result<std::vector<Fragment>> FromWire(const google::protobuf::RepeatedPtrField<wire::DataFragment>& messages) {
  std::vector<Fragment> fragments;
  fragments.reserve(messages.size());
  for (const wire::DataFragment& message : messages) {
    ARROW_ASSIGN_OR_RAISE(fragments.emplace_back(), FromWire(message));
  }
  return fragments;
}

wire::BasePath ToWire(const BasePath& base) {
  wire::BasePath message;
  message.set_id(base.id);
  if (base.name) message.set_name(*base.name);
  message.set_is_dataset_root(base.is_dataset_root);
  message.set_path(base.path);
  return message;
}

BasePath FromWire(const wire::BasePath& message) {
  BasePath base;
  base.id = message.id();
  if (message.has_name()) base.name = message.name();
  base.is_dataset_root = message.is_dataset_root();
  base.path = message.path();
  return base;
}

arrow::Result<IndexEntry> DecodeIndexEntry(std::string encoded) {
  wire::IndexMetadata message;
  ARROW_RETURN_NOT_OK(Parse(encoded, message, "an index entry"));
  if (message.uuid().uuid().size() != 16) return Corruption("index entry '{}' has no UUID of 16 bytes", message.name());
  IndexEntry entry;
  entry.uuid = message.uuid().uuid();
  entry.name = message.name();
  for (int32_t field : message.fields()) entry.fields.push_back(FieldId(field));
  entry.dataset_version = message.dataset_version();
  entry.details_type_url = message.index_details().type_url();
  entry.details = message.index_details().value();
  entry.encoded = std::move(encoded);
  return entry;
}

arrow::Result<std::vector<CompactedSsTable>> FromWire(
    const google::protobuf::RepeatedPtrField<wire::CompactedSsTable>& messages) {
  std::vector<CompactedSsTable> out;
  for (const wire::CompactedSsTable& message : messages) {
    auto shard = Uuid::FromBytes(message.shard_id().uuid());
    if (!shard.ok()) return WithContext(shard.status(), "shard of a compacted SSTable");
    out.push_back({*shard, Generation(message.generation())});
  }
  return out;
}

void FillSsTables(const std::vector<CompactedSsTable>& tables,
                  google::protobuf::RepeatedPtrField<wire::CompactedSsTable>* messages) {
  messages->Clear();
  for (const CompactedSsTable& table : tables) {
    wire::CompactedSsTable* message = messages->Add();
    message->mutable_shard_id()->set_uuid(table.shard_id.bytes());
    message->set_generation(table.generation.value());
  }
}

void FillSchema(const file::Schema& schema, google::protobuf::RepeatedPtrField<lance::file::Field>* fields) {
  for (lance::file::Field& field : schema.ToProto()) *fields->Add() = std::move(field);
}

}  // namespace javelin::table
