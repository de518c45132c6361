#include "javelin/table/deletion_vector.h"

#include <arrow/array.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "javelin/base/error.h"

namespace javelin::table {

namespace {

// What decompressing may take: a row is 4 bytes and a validity bit, and ascending offsets do not shrink a thousandfold.
int64_t MemoryLimit(const arrow::Buffer& bytes, uint64_t physical_rows) {
  constexpr uint64_t kBytesPerRow = 8, kMaxCompression = 1024, kOverhead = 1 << 20;
  return static_cast<int64_t>(
      std::min(physical_rows * kBytesPerRow, static_cast<uint64_t>(bytes.size()) * kMaxCompression) + kOverhead);
}

constexpr uint64_t kFirstBitmapSize = 5000;

std::shared_ptr<arrow::Schema> ArrowFileSchema() {
  return arrow::schema({arrow::field("row_id", arrow::uint32(), /*nullable=*/false)});
}

arrow::Result<std::shared_ptr<arrow::Buffer>> EncodeArrowFile(const OffsetSet& deleted) {
  arrow::UInt32Builder offsets;
  ARROW_RETURN_NOT_OK(offsets.Reserve(static_cast<int64_t>(deleted.size())));
  for (const OffsetSet::Run& run : deleted.runs()) {
    for (uint64_t offset = run.first; offset <= run.last; ++offset) offsets.UnsafeAppend(static_cast<uint32_t>(offset));
  }
  ARROW_ASSIGN_OR_RAISE(const auto column, offsets.Finish());
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  options.use_threads = false;
  ARROW_ASSIGN_OR_RAISE(const auto sink, arrow::io::BufferOutputStream::Create());
  ARROW_ASSIGN_OR_RAISE(const auto writer, arrow::ipc::MakeFileWriter(sink, ArrowFileSchema(), options));
  ARROW_RETURN_NOT_OK(
      writer->WriteRecordBatch(*arrow::RecordBatch::Make(ArrowFileSchema(), column->length(), {column})));
  ARROW_RETURN_NOT_OK(writer->Close());
  return sink->Finish();
}

arrow::Status CheckSchema(const arrow::Schema& schema) {
  if (schema.num_fields() == 1 && schema.field(0)->name() == "row_id" &&
      schema.field(0)->type()->id() == arrow::Type::UINT32 && !schema.field(0)->nullable()) {
    return arrow::Status::OK();
  }
  return Corruption("deletion file has columns ({}) instead of one 'row_id: uint32 not null'", schema.ToString());
}

arrow::Result<OffsetSet> DecodeArrowFile(const std::shared_ptr<arrow::Buffer>& bytes, uint64_t physical_rows) {
  arrow::ProxyMemoryPool own(arrow::default_memory_pool());  // the cap counts all that the pool below it has given out
  arrow::CappedMemoryPool pool(&own, MemoryLimit(*bytes, physical_rows));
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.use_threads = false;
  options.memory_pool = &pool;
  ARROW_ASSIGN_OR_RAISE(
      auto reader, arrow::ipc::RecordBatchFileReader::Open(std::make_shared<arrow::io::BufferReader>(bytes), options));
  ARROW_RETURN_NOT_OK(CheckSchema(*reader->schema()));
  std::vector<uint32_t> offsets;
  for (int i = 0; i < reader->num_record_batches(); ++i) {
    ARROW_ASSIGN_OR_RAISE(auto batch, reader->ReadRecordBatch(i));
    ARROW_RETURN_NOT_OK(batch->ValidateFull());
    if (batch->column(0)->null_count() != 0) return Corruption("deletion file has null row offsets");
    if (static_cast<uint64_t>(batch->num_rows()) > physical_rows)
      return Corruption("deletion file lists {} rows of {}", batch->num_rows(), physical_rows);
    const auto& column = static_cast<const arrow::UInt32Array&>(*batch->column(0));
    offsets.insert(offsets.end(), column.raw_values(), column.raw_values() + column.length());
  }
  return OffsetSet::FromUnsorted(std::move(offsets));
}

arrow::Result<OffsetSet> Decode(const DeletionFile& file, const std::shared_ptr<arrow::Buffer>& bytes,
                                uint64_t physical_rows) {
  if (file.type == DeletionFileType::kBitmap) {
    return DecodeRoaring({reinterpret_cast<const char*>(bytes->data()), static_cast<size_t>(bytes->size())});
  }
  auto decoded = DecodeArrowFile(bytes, physical_rows);
  if (decoded.ok() || HasKind(decoded.status(), ErrorKind::kCorruption)) return decoded;
  return AsKind(decoded.status(), ErrorKind::kCorruption, "deletion file");
}

}  // namespace

std::string DeletionFileName(FragmentId fragment, const DeletionFile& file) {
  const char* extension = file.type == DeletionFileType::kBitmap ? "bin" : "arrow";
  return fmt::format("{}-{}-{}.{}", fragment.value(), file.read_version, file.id, extension);
}

arrow::Result<OffsetSet> DecodeDeletionFile(const DeletionFile& file, const std::shared_ptr<arrow::Buffer>& bytes,
                                            uint64_t physical_rows) {
  ARROW_ASSIGN_OR_RAISE(OffsetSet deleted, Decode(file, bytes, physical_rows));
  if (!deleted.empty() && deleted.max() >= physical_rows) {
    return Corruption("row {} is marked deleted in a fragment of {} rows", deleted.max(), physical_rows);
  }
  if (file.num_deleted_rows != 0 && file.num_deleted_rows != deleted.size()) {
    return Corruption("{} rows are marked deleted, the manifest says {}", deleted.size(), file.num_deleted_rows);
  }
  return deleted;
}

arrow::Result<EncodedDeletionFile> EncodeDeletionFile(const OffsetSet& deleted) {
  if (deleted.empty()) return InvalidInput("a deletion file of no rows");
  if (deleted.size() >= kFirstBitmapSize)
    return EncodedDeletionFile{DeletionFileType::kBitmap, arrow::Buffer::FromString(EncodeRoaring(deleted))};
  ARROW_ASSIGN_OR_RAISE(auto bytes, EncodeArrowFile(deleted));
  return EncodedDeletionFile{DeletionFileType::kArrowArray, std::move(bytes)};
}

}  // namespace javelin::table
