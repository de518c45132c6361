#include "javelin/dataset/data_files_internal.h"

#include <arrow/record_batch.h>
#include <arrow/util/byte_size.h>

#include "javelin/base/error.h"
#include "javelin/file/blob_field.h"
#include "javelin/table/uuid.h"
#include "javelin/table/versions.h"

namespace javelin::internal {

namespace {

// 24 binary digits and 26 hexadecimal ones of a random UUID.
std::string RandomDataFileName(Runtime& runtime) {
  constexpr int kBinaryBytes = 3;
  const uint64_t high = runtime.Random();
  const std::string bytes = table::Uuid::Random(high, runtime.Random()).bytes();
  std::string name;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    name += i < kBinaryBytes ? fmt::format("{:08b}", byte) : fmt::format("{:02x}", byte);
  }
  return name + ".lance";
}

std::string KeyOf(const StoreLocation& table, const std::string& path) {
  return table::TableKey(table, "data/" + path);
}

}  // namespace

arrow::Status DataFilesWriter::Write(const arrow::RecordBatch& batch) {
  ARROW_ASSIGN_OR_RAISE(const int64_t bytes, arrow::util::ReferencedBufferSize(batch));
  for (int64_t start = 0; start < batch.num_rows();) {
    ARROW_RETURN_NOT_OK(StartFile());
    const auto left = static_cast<uint64_t>(batch.num_rows() - start);
    const uint64_t bytes_left = static_cast<uint64_t>(bytes) / static_cast<uint64_t>(batch.num_rows()) * left;
    const auto rows = static_cast<int64_t>(Room(left, bytes_left));
    ARROW_RETURN_NOT_OK(writer_->Write(*batch.Slice(start, rows)));
    start += rows;
    if (writer_->num_rows() >= limits_.max_rows || writer_->estimated_bytes() >= limits_.max_bytes)
      ARROW_RETURN_NOT_OK(FinishFile());
  }
  return arrow::Status::OK();
}

uint64_t DataFilesWriter::Room(uint64_t rows, uint64_t bytes) const {
  uint64_t room = std::min(rows, limits_.max_rows - writer_->num_rows());
  const uint64_t bytes_per_row = std::max<uint64_t>(1, bytes / rows);
  const uint64_t written = writer_->estimated_bytes();
  if (written < limits_.max_bytes) room = std::min(room, (limits_.max_bytes - written) / bytes_per_row);
  return std::max<uint64_t>(1, room);
}

arrow::Result<std::unique_ptr<ObjectWriter>> DataFilesWriter::Open(const std::string& key) {
  ARROW_ASSIGN_OR_RAISE(auto writer, table_.store->OpenWriter(key));
  keys_.push_back(key);  // from now on it may be there, also if an answer says otherwise
  return writer;
}

arrow::Status DataFilesWriter::StartFile() {
  if (writer_ != nullptr) return arrow::Status::OK();
  path_ = RandomDataFileName(*resources_.runtime);
  const std::string key = KeyOf(table_, path_);
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<ObjectWriter> sink, Open(key));
  const auto open_sidecar = [this, key](uint32_t blob_id) { return Open(file::BlobSidecarKey(key, blob_id)); };
  ARROW_ASSIGN_OR_RAISE(writer_, file::DataFileWriter::Make(resources_, std::move(sink), schema_,
                                                            {.version = version_, .open_sidecar = open_sidecar}));
  return arrow::Status::OK();
}

arrow::Status DataFilesWriter::FinishFile() {
  ARROW_ASSIGN_OR_RAISE(const file::DataFileSummary summary, writer_->Finish());
  writer_ = nullptr;
  table::DataFile file;
  file.path = path_;
  for (FieldId field : summary.fields) file.fields.push_back(field.value());
  file.column_indices = summary.column_indices;
  file.version = summary.version;
  file.size_bytes = summary.size_bytes;
  fragments_.push_back({FragmentId(), {std::move(file)}, std::nullopt, summary.num_rows, ""});
  return arrow::Status::OK();
}

arrow::Result<std::vector<table::Fragment>> DataFilesWriter::Finish() {
  if (writer_ != nullptr) ARROW_RETURN_NOT_OK(FinishFile());
  return fragments_;
}

void DataFilesWriter::Discard() {
  writer_ = nullptr;
  fragments_.clear();
  for (const std::string& key : keys_) {
    const arrow::Status ignored = table_.store->Delete(key);
    static_cast<void>(ignored);
  }
  keys_.clear();
}

}  // namespace javelin::internal
