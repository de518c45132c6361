#include "javelin/file/data_file_writer.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <arrow/api.h>
#include <arrow/util/byte_size.h>

#include "javelin/base/error.h"
#include "javelin/file/array_shape.h"
#include "javelin/file/blob_arrays.h"
#include "javelin/file/blob_field.h"
#include "javelin/file/blob_input.h"
#include "javelin/file/blob_writer_internal.h"
#include "javelin/file/column_v2_0_internal.h"
#include "javelin/file/container_internal.h"
#include "javelin/file/container_writer_internal.h"
#include "javelin/file/logical_type_internal.h"
#include "javelin/file/page_encoder_internal.h"
#include "javelin/file/page_pipeline_internal.h"
#include "javelin/file/schema_internal.h"
#include "javelin/file/version_limits_internal.h"

namespace javelin::file {

namespace {

// Pages of columns that take next to no memory still end somewhere.
constexpr uint64_t kMaxPageRows = 1u << 24;
// What an array costs besides its values: many tiny batches must fill a page, not memory.
constexpr uint64_t kPieceOverhead = 512;
// Arrow joins the strings of a page with 32-bit offsets.
constexpr uint64_t kMaxJoinedBytes = (uint64_t{1} << 31) - 1;
constexpr uint64_t kMaxPageBytes = uint64_t{1} << 30;
// The part of the budget that rows on their way to pages may take: where there are very many columns, pages are
// smaller.
constexpr uint64_t kBudgetShare = 8;
// So much a writer takes in any case.
constexpr uint64_t kMinHeldBytes = 1u << 20;
// Places of blobs take memory of their own: they are made for so many rows at once.
constexpr int64_t kRowsOfPlaces = 1 << 14;
constexpr uint64_t kMaxValueBits = uint64_t{1} << 31;

// A column on its way to the next page.
struct PendingColumn {
  size_t field = 0;  // top level
  PhysicalColumn column;
  PageOptions options;
  LeafPieces pieces;  // of the whole field
  uint64_t bytes = 0;
  uint64_t rows = 0;
  bool has_pages = false;
  const arrow::ArrayData* dictionary = nullptr;  // of the last piece

  void Add(std::shared_ptr<arrow::ArrayData> piece, uint64_t piece_bytes) {
    rows += static_cast<uint64_t>(piece->length);
    bytes += piece_bytes + kPieceOverhead;
    pieces.push_back(std::move(piece));
  }
  // What is pending, as a page. `last`: no rows come after these. The column must outlive it.
  ClosedPage Close(size_t index, bool last) {
    const bool only_page = last && !has_pages;
    ClosedPage page{.column = index, .name = column.path.name, .bytes = bytes};
    page.encode = [this, only_page, rows_of_page = std::exchange(pieces, {})] {
      return Encode(rows_of_page, only_page);
    };
    dictionary = nullptr;
    bytes = 0;
    rows = 0;
    has_pages = true;
    return page;
  }
  // What the dictionary of the field takes, if it is not that of the last piece.
  uint64_t DictionaryBytes(const arrow::ArrayData& field_data) {
    const arrow::ArrayData* found = LeafOf(field_data, column.path).dictionary.get();
    if (found == nullptr || found == dictionary) return 0;
    dictionary = found;
    return static_cast<uint64_t>(arrow::util::TotalBufferSize(*found));
  }
  bool holds_blobs() const { return BlobKindOf(column.path.leaf) == BlobKind::kV1; }  // their places
  // What rows of the field take on behalf of this column.
  uint64_t BytesOf(const arrow::ArrayData& field_data, uint64_t first, uint64_t count) const {
    return FieldBytes(field_data, column.path, column.shape, first, count);
  }

 private:
  arrow::Result<std::vector<EncodedPage>> Encode(const LeafPieces& rows_of_page, bool only_page) const {
    const bool is_2_0 = options.version == FileVersion{2, 0};
    if (!is_2_0 && holds_blobs()) return EncodeBlobPages(column, rows_of_page, only_page, options);
    if (!is_2_0 && !column.path.is_flat())
      return EncodeNestedPages(column.path, column.shape, rows_of_page, only_page, options);
    if (is_2_0 && !holds_blobs()) return EncodePagesV20(column, rows_of_page, options);
    ARROW_ASSIGN_OR_RAISE(EncodedPage page, holds_blobs() ? EncodeBlobPageV20(column, rows_of_page, options)
                                                          : EncodePage(column.shape, rows_of_page, options));
    std::vector<EncodedPage> pages;
    pages.push_back(std::move(page));
    return pages;
  }
};

// What a writer holds, in the budget as far as there is room.
class HeldBytes {
 public:
  explicit HeldBytes(MemoryBudget& budget) : budget_(budget) {}
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;
  ~HeldBytes() { budget_.Release(reserved_); }

  // False, and nothing has changed, if it would be more than there is room for.
  bool Set(uint64_t bytes) {
    const int64_t more = static_cast<int64_t>(bytes) - reserved_;
    if (more > 0 && !budget_.Reserve(more, "rows of a data file").ok()) return false;
    if (more < 0) budget_.Release(-more);
    reserved_ += more;
    return true;
  }

 private:
  MemoryBudget& budget_;
  int64_t reserved_ = 0;
};

// Rows of an array from `first` on that still fit `room` bytes; at least 1.
uint64_t RowsThatFit(const arrow::ArrayData& data, const PendingColumn& column, uint64_t first, uint64_t room) {
  uint64_t low = 1;
  uint64_t high = static_cast<uint64_t>(data.length) - first;
  while (low < high) {
    const uint64_t middle = low + (high - low + 1) / 2;
    if (column.BytesOf(data, first, middle) <= room) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// A column of v2 in it needs objects beside the file.
bool NeedsSidecars(const Field& field) {
  return BlobKindOf(field) == BlobKind::kV2 || std::ranges::any_of(field.children, NeedsSidecars);
}

// What a file says of its columns: those of v2 are what it stores of them.
Schema SchemaOfFile(const Schema& schema) {
  std::vector<Field> fields;
  for (const Field& field : schema.fields()) fields.push_back(FieldOfFile(field));
  return Schema(std::move(fields), schema.metadata());
}

class DataFileWriterImpl final : public DataFileWriter {
 public:
  DataFileWriterImpl(const Resources& resources, std::unique_ptr<ObjectWriter> sink, const Schema& schema,
                     DataFileWriteOptions options, std::vector<PendingColumn> columns)
      : resources_(resources),
        schema_(schema),
        options_(options),
        max_held_(std::max(static_cast<uint64_t>(resources.memory->limit()) / kBudgetShare, kMinHeldBytes)),
        container_(std::move(sink), options.version, columns.size()),
        columns_(std::move(columns)),
        blobs_(container_, options.version, options.open_sidecar, resources.pool),
        pipeline_(resources_, container_, max_held_ / 2),
        held_(*resources_.memory) {
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (options.version == FileVersion{2, 0} && columns_[i].holds_blobs()) container_.MarkBlobs(i);
    }
  }

  arrow::Status Write(const arrow::RecordBatch& batch) override;
  arrow::Result<DataFileSummary> Finish() override;
  uint64_t num_rows() const override { return num_rows_; }
  uint64_t estimated_bytes() const override { return container_.position() + pipeline_.bytes() + pending_bytes(); }

 private:
  // The arrays of the batch under the types of the schema.
  arrow::Result<LeafPieces> Check(const arrow::RecordBatch& batch) const;
  // Values of blobs become the places that they get.
  arrow::Status WriteBlobs(LeafPieces& fields);
  arrow::Status AppendWithBlobs(const LeafPieces& fields, int64_t num_rows);
  arrow::Status Append(const LeafPieces& fields, uint64_t num_rows);
  // Rows from `first` on that can be taken at once.
  uint64_t RowsOfSlice(const LeafPieces& fields, uint64_t first, uint64_t num_rows) const;
  uint64_t BytesOf(const LeafPieces& fields, uint64_t first, uint64_t count) const;
  // Until so much more may be held; pages become smaller than they should if need be.
  arrow::Status MakeRoom(uint64_t bytes);
  arrow::Status CloseFattest();
  arrow::Status CloseFull();
  arrow::Status Close(size_t column, bool last);
  uint64_t pending_bytes() const {
    uint64_t bytes = 0;
    for (const PendingColumn& column : columns_) bytes += column.bytes;
    return bytes;
  }
  arrow::Status CheckOpen() const;

  const Resources resources_;
  const Schema schema_;
  const DataFileWriteOptions options_;
  const uint64_t max_held_;  // by rows that are pending or wait for being encoded
  ContainerWriter container_;
  std::vector<PendingColumn> columns_;
  BlobWriter blobs_;
  PagePipeline pipeline_;
  HeldBytes held_;
  uint64_t num_rows_ = 0;
  bool finished_ = false;
  arrow::Status failed_;  // the first failure; the file is lost then
};

arrow::Status DataFileWriterImpl::CheckOpen() const {
  if (!failed_.ok()) return failed_;
  if (finished_) return Closed("the data file is finished");
  return arrow::Status::OK();
}

arrow::Result<LeafPieces> DataFileWriterImpl::Check(const arrow::RecordBatch& batch) const {
  if (batch.num_columns() != static_cast<int>(schema_.fields().size())) {
    return InvalidInput("a batch of {} columns was given for a file of {}", batch.num_columns(),
                        schema_.fields().size());
  }
  LeafPieces fields;
  for (int i = 0; i < batch.num_columns(); ++i) {
    const Field& field = schema_.fields()[static_cast<size_t>(i)];
    if (batch.column_name(i) != field.name)
      return InvalidInput("column {} is called '{}' instead of '{}'", i, batch.column_name(i), field.name);
    ARROW_ASSIGN_OR_RAISE(const auto target, BlobInputField(field, *batch.column(i)->type()));
    ARROW_ASSIGN_OR_RAISE(auto shaped, ShapeArray(*batch.column_data(i), *target, field.name));
    if (HoldsBlobs(field)) ARROW_RETURN_NOT_OK(CheckBlobs(field, *shaped));
    fields.push_back(std::move(shaped));
    if (const int64_t nulls = fields.back()->GetNullCount(); !field.nullable && nulls > 0)
      return InvalidInput("column '{}' must not be null and has {} nulls", field.name, nulls);
  }
  return fields;
}

arrow::Status DataFileWriterImpl::WriteBlobs(LeafPieces& fields) {
  for (size_t i = 0; i < fields.size(); ++i) {
    const Field& field = schema_.fields()[i];
    if (!HoldsBlobs(field)) continue;
    auto places = blobs_.Write(field, *fields[i]);
    if (!places.ok()) return WithContext(places.status(), fmt::format("column '{}'", field.name));
    fields[i] = *std::move(places);
  }
  return arrow::Status::OK();
}

arrow::Status DataFileWriterImpl::AppendWithBlobs(const LeafPieces& fields, int64_t num_rows) {
  for (int64_t first = 0; first < num_rows; first += kRowsOfPlaces) {
    const int64_t count = std::min(kRowsOfPlaces, num_rows - first);
    LeafPieces some;
    for (const auto& field : fields) some.push_back(field->Slice(first, count));
    ARROW_RETURN_NOT_OK(WriteBlobs(some));
    ARROW_RETURN_NOT_OK(Append(some, static_cast<uint64_t>(count)));
  }
  return arrow::Status::OK();
}

arrow::Status DataFileWriterImpl::Close(size_t column, bool last) {
  return pipeline_.Add(columns_[column].Close(column, last));
}

arrow::Status DataFileWriterImpl::CloseFull() {
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].bytes >= options_.page_bytes || columns_[i].rows >= kMaxPageRows)
      ARROW_RETURN_NOT_OK(Close(i, /*last=*/false));
  }
  return arrow::Status::OK();
}

// As many as hold half of all that is pending.
arrow::Status DataFileWriterImpl::CloseFattest() {
  std::vector<size_t> order(columns_.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return columns_[a].bytes > columns_[b].bytes; });
  const uint64_t half = pending_bytes() / 2;
  uint64_t closed = 0;
  for (size_t i = 0; i < order.size() && closed <= half && columns_[order[i]].rows > 0; ++i) {
    closed += columns_[order[i]].bytes;
    ARROW_RETURN_NOT_OK(Close(order[i], /*last=*/false));
  }
  return pipeline_.Drain();
}

arrow::Status DataFileWriterImpl::MakeRoom(uint64_t bytes) {
  while (true) {
    const uint64_t held = pending_bytes() + pipeline_.bytes() + bytes;
    const bool has_room = held_.Set(held);
    if (has_room && held <= max_held_) return arrow::Status::OK();
    if (held == bytes || (!has_room && held <= kMinHeldBytes)) return arrow::Status::OK();
    ARROW_RETURN_NOT_OK(pipeline_.bytes() > 0 ? pipeline_.Drain() : CloseFattest());
  }
}

uint64_t DataFileWriterImpl::BytesOf(const LeafPieces& fields, uint64_t first, uint64_t count) const {
  uint64_t bytes = 0;
  for (const PendingColumn& column : columns_)
    bytes += column.BytesOf(*fields[column.field], first, count) + kPieceOverhead;
  return bytes;
}

uint64_t DataFileWriterImpl::RowsOfSlice(const LeafPieces& fields, uint64_t first, uint64_t num_rows) const {
  uint64_t count = std::min(num_rows - first, kMaxPageRows);
  for (const PendingColumn& column : columns_) {
    const uint64_t room = options_.page_bytes - std::min(options_.page_bytes, column.bytes);
    count = std::min(count, RowsThatFit(*fields[column.field], column, first, room));
  }
  while (count > 1 && BytesOf(fields, first, count) > max_held_ / 2) count /= 2;
  return count;
}

// In slices, so that no page becomes much larger than it should however large the batch is.
arrow::Status DataFileWriterImpl::Append(const LeafPieces& fields, uint64_t num_rows) {
  for (uint64_t first = 0; first < num_rows;) {
    const uint64_t count = RowsOfSlice(fields, first, num_rows);
    ARROW_RETURN_NOT_OK(MakeRoom(BytesOf(fields, first, count)));
    for (size_t i = 0; i < columns_.size(); ++i) {
      PendingColumn& column = columns_[i];
      const arrow::ArrayData& data = *fields[column.field];
      const uint64_t bytes = column.BytesOf(data, first, count);
      if (column.rows > 0 && column.bytes + bytes > kMaxJoinedBytes) ARROW_RETURN_NOT_OK(Close(i, /*last=*/false));
      column.Add(data.Slice(static_cast<int64_t>(first), static_cast<int64_t>(count)),
                 bytes + column.DictionaryBytes(data));
    }
    first += count;
    num_rows_ += count;
    ARROW_RETURN_NOT_OK(CloseFull());
  }
  return arrow::Status::OK();
}

arrow::Status DataFileWriterImpl::Write(const arrow::RecordBatch& batch) {
  ARROW_RETURN_NOT_OK(CheckOpen());
  ARROW_ASSIGN_OR_RAISE(const LeafPieces fields, Check(batch));
  ARROW_RETURN_NOT_OK(CheckRowsFit(batch, schema_, options_.version));
  const bool has_blobs = std::ranges::any_of(schema_.fields(), HoldsBlobs);
  failed_ =
      has_blobs ? AppendWithBlobs(fields, batch.num_rows()) : Append(fields, static_cast<uint64_t>(batch.num_rows()));
  return failed_;
}

arrow::Result<DataFileSummary> DataFileWriterImpl::Finish() {
  ARROW_RETURN_NOT_OK(CheckOpen());
  for (size_t i = 0; i < columns_.size() && failed_.ok(); ++i) {
    // A struct of 2.0 has a page even without rows.
    if (columns_[i].rows > 0 || (columns_[i].column.kind == ColumnKind::kStruct && num_rows_ == 0))
      failed_ = Close(i, /*last=*/true);
  }
  if (failed_.ok()) failed_ = pipeline_.Drain();
  held_.Set(0);
  if (failed_.ok()) failed_ = blobs_.Finish();
  if (failed_.ok()) failed_ = container_.Finish(SchemaOfFile(schema_), num_rows_);
  ARROW_RETURN_NOT_OK(failed_);
  finished_ = true;
  DataFileSummary summary{.version = options_.version, .num_rows = num_rows_, .size_bytes = container_.position()};
  summary.fields = PhysicalColumns(schema_, options_.version);
  for (size_t i = 0; i < summary.fields.size(); ++i) summary.column_indices.push_back(static_cast<int32_t>(i));
  return summary;
}

arrow::Result<std::vector<PhysicalColumn>> ColumnsOf(const Field& field, FileVersion version) {
  ARROW_RETURN_NOT_OK(CheckBlobFields(field));
  if (version == FileVersion{2, 0}) return ColumnsV20Of(StoreBlobs(field));
  ARROW_ASSIGN_OR_RAISE(std::vector<LeafPath> paths, LeafPathsOf(StoreBlobs(field)));
  std::vector<PhysicalColumn> columns;
  for (LeafPath& path : paths) {
    auto shape = StoredShapeOf(path);
    if (!shape.ok()) return WithContext(shape.status(), fmt::format("column '{}' cannot be written", path.name));
    columns.push_back({.path = std::move(path), .shape = *std::move(shape)});
  }
  return columns;
}

// What the encoders can write; found out before the first byte.
arrow::Result<std::vector<PendingColumn>> ColumnsOf(const Schema& schema, FileVersion version) {
  ARROW_RETURN_NOT_OK(CheckVersionHolds(schema, version));
  std::vector<PendingColumn> pending;
  for (size_t i = 0; i < schema.fields().size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(std::vector<PhysicalColumn> columns, ColumnsOf(schema.fields()[i], version));
    for (PhysicalColumn& column : columns) {
      const LeafPath& path = column.path;
      const Field& leaf = path.leaf;
      const auto extension = leaf.metadata.find(std::string(kExtensionNameMetadata));
      if (extension != leaf.metadata.end() && extension->second == kArrowJsonExtension)
        return NotSupported(
            "column '{}' is of {}, which tables hold in a binary form that is not written; give it as text", path.name,
            kArrowJsonExtension);
      if (MemoryBits(column.shape) >= kMaxValueBits)
        return NotSupported("column '{}' of type {} is too wide to be written", path.name, leaf.type->ToString());
      if (leaf.type->id() == arrow::Type::NA && !leaf.nullable)
        return InvalidInput("column '{}' holds nulls only and must not be null", path.name);
      auto wishes = version == FileVersion{2, 0} ? WishesOfV20(leaf.metadata)
                                                 : WishesOf(leaf.metadata, schema.fields()[i].metadata);
      if (!wishes.ok()) return WithContext(wishes.status(), fmt::format("column '{}' cannot be written", path.name));
      pending.push_back(
          {.field = i, .column = std::move(column), .options = {.version = version, .wishes = *std::move(wishes)}});
    }
  }
  std::vector<const LeafPath*> leaves;
  for (const PendingColumn& column : pending) leaves.push_back(&column.column.path);
  if (version != FileVersion{2, 0}) ARROW_RETURN_NOT_OK(CheckGoTogether(schema, leaves));
  return pending;
}

// Kinds of fields that an encoding wish for structs does harm to.
arrow::Status CheckPackedFields(const std::vector<Field>& fields, const std::string& around) {
  for (const Field& field : fields) {
    const std::string path = around + field.name;
    for (const std::string_view key : {kPackedMetadata, kOldPackedMetadata}) {
      if (field.children.empty() || field.logical_type == "struct" || !IsTruthy(field.metadata, key)) continue;
      return WithField(InvalidInput("the metadata of '{}', a {}, has the key '{}', under which released readers find "
                                    "nothing but nulls in it; only structs can be packed: take the key away",
                                    path, field.logical_type, key),
                       "column", path);
    }
    ARROW_RETURN_NOT_OK(CheckPackedFields(field.children, path + "."));
  }
  return arrow::Status::OK();
}

}  // namespace

arrow::Status CheckNewSchema(const Schema& schema) { return CheckPackedFields(schema.fields(), ""); }

arrow::Status CheckWritable(const Schema& schema, FileVersion version) { return ColumnsOf(schema, version).status(); }

arrow::Status CheckRowsFit(const arrow::RecordBatch& batch, const Schema& schema, FileVersion version) {
  if (version != FileVersion{2, 0}) return arrow::Status::OK();
  for (int i = 0; i < batch.num_columns(); ++i) {
    const Field& field = schema.fields()[static_cast<size_t>(i)];
    if (field.children.empty()) continue;
    ARROW_ASSIGN_OR_RAISE(const auto columns, ColumnsV20Of(StoreBlobs(field)));
    ARROW_RETURN_NOT_OK(CheckNoNullStructs(*batch.column_data(i), columns));
  }
  return arrow::Status::OK();
}

arrow::Result<std::unique_ptr<DataFileWriter>> DataFileWriter::Make(const Resources& resources,
                                                                    std::unique_ptr<ObjectWriter> sink,
                                                                    const Schema& schema,
                                                                    DataFileWriteOptions options) {
  if (options.page_bytes < 1 || options.page_bytes > kMaxPageBytes) {
    return InvalidInput("page_bytes is {}, it must be 1 to {}", options.page_bytes, kMaxPageBytes);
  }
  ARROW_ASSIGN_OR_RAISE(std::vector<PendingColumn> columns, ColumnsOf(schema, options.version));
  for (const Field& field : schema.fields()) {
    if (NeedsSidecars(field) && options.open_sidecar == nullptr)
      return InvalidInput("blob column '{}' needs objects beside the data file; write it into a table", field.name);
  }
  for (PendingColumn& column : columns) column.options.pool = resources.pool;
  return std::make_unique<DataFileWriterImpl>(resources, std::move(sink), schema, options, std::move(columns));
}

}  // namespace javelin::file
