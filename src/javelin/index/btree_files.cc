#include "javelin/index/btree_files.h"

#include <arrow/api.h>
#include <arrow/compute/api.h>
#include <arrow/compute/initialize.h>

#include "javelin/base/error.h"
#include "javelin/file/data_file_writer.h"
#include "javelin/index/key_columns_internal.h"
#include "javelin/index/key_encoding.h"
#include "javelin/store/buffer_writer.h"

namespace javelin::index {

namespace {

using BatchPtr = std::shared_ptr<arrow::RecordBatch>;

arrow::Status Check(const arrow::Array& values, const arrow::UInt64Array& rows, uint64_t page_rows) {
  if (page_rows == 0) return InvalidInput("a page of a BTree has at least one row");
  if (!IsKeyType(*values.type())) return NotSupported("a BTree over values of type {}", values.type()->ToString());
  if (values.length() != rows.length())
    return InvalidInput("{} values were given for {} rows", values.length(), rows.length());
  if (rows.null_count() != 0) return InvalidInput("{} rows of a BTree are null", rows.null_count());
  return arrow::Status::OK();
}

arrow::Result<BatchPtr> SortPairs(const std::shared_ptr<arrow::Array>& values,
                                  const std::shared_ptr<arrow::UInt64Array>& rows, arrow::MemoryPool* pool) {
  ARROW_RETURN_NOT_OK(arrow::compute::Initialize());
  const auto schema =
      arrow::schema({arrow::field("values", values->type()), arrow::field("ids", arrow::uint64(), false)});
  const BatchPtr pairs = arrow::RecordBatch::Make(schema, values->length(), {values, rows});
  arrow::compute::ExecContext context(pool);
  context.set_use_threads(false);
  const auto ascending = [](const char* column) {
    return arrow::compute::SortKey(column, arrow::compute::SortOrder::Ascending,
                                   arrow::compute::NullPlacement::AtStart);
  };
  const arrow::compute::SortOptions by_value_and_row({ascending("values"), ascending("ids")});
  ARROW_ASSIGN_OR_RAISE(const auto order, arrow::compute::SortIndices(pairs, by_value_and_row, &context));
  ARROW_ASSIGN_OR_RAISE(const arrow::Datum sorted,
                        arrow::compute::Take(pairs, order, arrow::compute::TakeOptions::NoBoundsCheck(), &context));
  return sorted.record_batch();
}

struct Page {
  uint64_t first = 0;
  uint64_t last = 0;
};

std::vector<Page> PagesOf(uint64_t num_rows, uint64_t page_rows) {
  std::vector<Page> pages;
  for (uint64_t first = 0; first < num_rows;) {
    const uint64_t count = std::min(page_rows, num_rows - first);
    pages.push_back({first, first + count - 1});
    first += count;
  }
  return pages;
}

arrow::Result<std::shared_ptr<arrow::Array>> TakeValues(const arrow::Array& values, const std::vector<Page>& pages,
                                                        uint64_t Page::* which, arrow::MemoryPool* pool) {
  arrow::UInt64Builder places(pool);
  for (const Page& page : pages) ARROW_RETURN_NOT_OK(places.Append(page.*which));
  ARROW_ASSIGN_OR_RAISE(const auto indices, places.Finish());
  arrow::compute::ExecContext context(pool);
  return arrow::compute::Take(values, *indices, arrow::compute::TakeOptions::NoBoundsCheck(), &context);
}

// One row a page.
arrow::Result<BatchPtr> MakeLookup(const arrow::Array& values, uint64_t page_rows, arrow::MemoryPool* pool) {
  const std::vector<Page> pages = PagesOf(static_cast<uint64_t>(values.length()), page_rows);
  ARROW_ASSIGN_OR_RAISE(const auto min, TakeValues(values, pages, &Page::first, pool));
  ARROW_ASSIGN_OR_RAISE(const auto max, TakeValues(values, pages, &Page::last, pool));
  arrow::UInt32Builder null_counts(pool), numbers(pool);
  for (const Page& page : pages) {
    const auto part = values.Slice(static_cast<int64_t>(page.first), static_cast<int64_t>(page.last - page.first + 1));
    ARROW_RETURN_NOT_OK(null_counts.Append(static_cast<uint32_t>(part->null_count())));
    ARROW_RETURN_NOT_OK(numbers.Append(static_cast<uint32_t>(numbers.length())));
  }
  ARROW_ASSIGN_OR_RAISE(const auto null_count, null_counts.Finish());
  ARROW_ASSIGN_OR_RAISE(const auto page_idx, numbers.Finish());
  const auto metadata =
      arrow::key_value_metadata({{"batch_size", fmt::format("{}", page_rows)}, {"range_partitioned", "false"}});
  const auto schema = arrow::schema(
      {arrow::field("min", values.type()), arrow::field("max", values.type()),
       arrow::field("null_count", arrow::uint32(), false), arrow::field("page_idx", arrow::uint32(), false)},
      metadata);
  return arrow::RecordBatch::Make(schema, static_cast<int64_t>(pages.size()), {min, max, null_count, page_idx});
}

arrow::Result<BufferPtr> EncodeFile(const Resources& resources, const arrow::RecordBatch& rows) {
  ARROW_ASSIGN_OR_RAISE(const file::Schema schema, file::Schema::FromArrow(*rows.schema()));
  BufferPtr bytes;
  ARROW_ASSIGN_OR_RAISE(const auto writer, file::DataFileWriter::Make(resources, MakeBufferWriter(&bytes), schema));
  ARROW_RETURN_NOT_OK(writer->Write(rows));
  ARROW_RETURN_NOT_OK(writer->Finish().status());
  return bytes;
}

}  // namespace

arrow::Result<BTreeFiles> EncodeBTree(const Resources& resources, const std::shared_ptr<arrow::Array>& values,
                                      const std::shared_ptr<arrow::UInt64Array>& rows, uint64_t page_rows) {
  ARROW_RETURN_NOT_OK(Check(*values, *rows, page_rows));
  ARROW_ASSIGN_OR_RAISE(const BatchPtr pairs, SortPairs(values, rows, resources.pool));
  ARROW_ASSIGN_OR_RAISE(const BatchPtr lookup, MakeLookup(*pairs->column(0), page_rows, resources.pool));
  BTreeFiles files;
  ARROW_ASSIGN_OR_RAISE(files.page_data, EncodeFile(resources, *pairs));
  ARROW_ASSIGN_OR_RAISE(files.page_lookup, EncodeFile(resources, *lookup));
  return files;
}

arrow::Result<std::shared_ptr<arrow::Array>> KeyIndexValues(const std::vector<std::shared_ptr<arrow::Array>>& columns,
                                                            arrow::MemoryPool* pool) {
  if (columns.empty()) return InvalidInput("a key has at least one column");
  std::vector<std::shared_ptr<arrow::DataType>> types;
  for (const auto& column : columns) types.push_back(column->type());
  ARROW_RETURN_NOT_OK(CheckKeyColumns(types, columns));
  ARROW_ASSIGN_OR_RAISE(const KeyEncoder encoder, KeyEncoder::Make(types));
  if (columns.size() == 1) return columns[0];
  arrow::BinaryBuilder keys(pool);
  for (int64_t row = 0; row < columns[0]->length(); ++row)
    ARROW_RETURN_NOT_OK(keys.Append(encoder.EncodeRow(columns, row)));
  return keys.Finish();
}

}  // namespace javelin::index
