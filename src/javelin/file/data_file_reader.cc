#include "javelin/file/data_file_reader.h"

#include <algorithm>
#include <mutex>

#include <arrow/api.h>

#include "javelin/base/error.h"
#include "javelin/file/array_bytes.h"
#include "javelin/file/batch_reader.h"
#include "javelin/file/column_read_internal.h"
#include "javelin/file/distinct_rows.h"
#include "javelin/file/nested_array_internal.h"
#include "javelin/file/open_file_internal.h"
#include "javelin/file/pick_rows.h"
#include "javelin/file/read_planner_internal.h"
#include "javelin/store/block_cache.h"

namespace javelin::file {

namespace {

using Access = BlockCache::Access;

// Below this a copy costs less than a batch.
constexpr uint64_t kLongBytes = 256u << 10;

// What a field takes in memory, its names and its Arrow type included; about.
constexpr uint64_t kFieldBytes = 512;

uint64_t NumFields(const std::vector<Field>& fields) {
  uint64_t count = fields.size();
  for (const Field& field : fields) count += NumFields(field.children);
  return count;
}

// What is kept of an open file before anything is read of it.
uint64_t MetadataBytes(const Container& container) {
  uint64_t bytes = NumFields(container.schema.fields()) * kFieldBytes;
  for (const ColumnMetadata& column : container.columns) {
    for (const PageMetadata& page : column.pages)
      bytes += sizeof(PageMetadata) + ReadPlanner::kPageBytes + page.encoding.size() +
               page.buffers.size() * sizeof(ByteRange);
  }
  return bytes + static_cast<uint64_t>(container.tail_bytes->size());
}

// Rows one after the other as one slice. `rows`: ascending, each once.
std::vector<Slice> SlicesOf(std::span<const uint64_t> rows) {
  std::vector<Slice> slices;
  for (const uint64_t row : rows) {
    if (!slices.empty() && slices.back().end() == row) {
      ++slices.back().count;
    } else {
      slices.push_back({row, 1});
    }
  }
  return slices;
}

class DataFileReaderImpl final : public DataFileReader, public BatchReader {
 public:
  explicit DataFileReaderImpl(OpenFile file)
      : file_(std::move(file)), planner_(file_), metadata_bytes_(MetadataBytes(file_.container)) {}

  // Once, before anything else.
  arrow::Status ReserveMetadata() {
    auto memory = MemoryReservation::Make(*file_.environment->resources.memory, static_cast<int64_t>(metadata_bytes_),
                                          "file metadata");
    if (!memory.ok()) return file_.InFile(memory.status());
    metadata_memory_ = std::move(*memory);
    return arrow::Status::OK();
  }

  FileVersion version() const override { return file_.container.version; }
  uint64_t num_rows() const override { return file_.container.num_rows; }
  uint32_t num_columns() const override { return static_cast<uint32_t>(file_.container.columns.size()); }
  uint64_t memory_bytes() const override;
  const Schema& schema() const override { return file_.container.schema; }
  ColumnOfField DefaultColumns() const override;
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Read(const Schema& projection, const ColumnOfField& columns,
                                                          uint64_t first_row, uint64_t num_rows) override;
  arrow::Result<std::unique_ptr<FetchedBatches>> Fetch(const Schema& projection, const ColumnOfField& columns,
                                                       uint64_t first_row, std::span<const uint64_t> ends) override;
  std::vector<uint64_t> PageEnds(const Schema& projection, const ColumnOfField& columns, uint64_t first_row,
                                 uint64_t end) override;
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Take(const Schema& projection, const ColumnOfField& columns,
                                                          std::span<const uint64_t> rows) override;

 private:
  // Whether the pages of such a column say in rows how long they are.
  bool CountsRows(const ColumnLayers& layers) const {
    return layers == kFlatColumn || (version() > FileVersion{2, 0} && PageRowsPerRow(layers) == 1);
  }
  // Whether much of a page becomes values as it is.
  bool HandsOnMuch(uint32_t column, size_t page, const LeafColumn& leaf) {
    const std::vector<ByteRange>& buffers = file_.container.columns[column].pages[page].buffers;
    const auto reader = planner_.GetPage(column, page, leaf.shape, leaf.layers);
    return reader.ok() && (*reader)->hands_on_bytes() && !buffers.empty() && buffers[0].length >= kLongBytes;
  }

  // What is read together: batches, each of some rows of the file (ascending, disjoint).
  struct Wanted {
    Access access;
    std::vector<std::vector<Slice>> batches;
    Slice all;  // rows of which every one is in a batch; may be empty where they are not neighbours
  };
  class Reading;

  arrow::Result<std::unique_ptr<Reading>> FetchRows(const Schema& projection, const ColumnOfField& columns,
                                                    const Wanted& wanted);
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadOne(const Schema& projection, const ColumnOfField& columns,
                                                             const Wanted& wanted);

  const OpenFile file_;
  ReadPlanner planner_;
  const uint64_t metadata_bytes_;
  MemoryReservation metadata_memory_;
};

ColumnOfField DataFileReaderImpl::DefaultColumns() const {
  ColumnOfField columns;
  uint32_t next = 0;
  for (FieldId id : PhysicalColumns(file_.container.schema, file_.container.version)) columns.emplace(id, next++);
  return columns;
}

uint64_t DataFileReaderImpl::memory_bytes() const {
  constexpr uint64_t kDecompressor = 96u << 10;
  std::lock_guard lock(file_.environment->mutex);
  return metadata_bytes_ + file_.environment->kept_bytes +
         (file_.environment->idle_decompressor != nullptr ? kDecompressor : 0);
}

// What was planned and fetched of one read.
class DataFileReaderImpl::Reading final : public FetchedBatches {
 public:
  struct Batch {
    uint64_t num_rows = 0;
    std::vector<FieldRead> fields;
  };

  Reading(DataFileReaderImpl& reader, const Schema& projection) : reader_(reader), projection_(projection) {}

  arrow::Result<arrow::RecordBatchVector> Decode() override {
    DecodeColumns(reader_.file_, columns());
    const Resources& resources = reader_.file_.environment->resources;
    SinkMemory memory(resources.pool, resources.memory.get());
    const auto schema = projection_.ToArrow();
    arrow::RecordBatchVector answer;
    for (Batch& batch : batches) {
      arrow::ArrayVector arrays;
      for (FieldRead& field : batch.fields) {
        ARROW_ASSIGN_OR_RAISE(auto array, Assemble(reader_.file_, field, batch.num_rows, memory));
        arrays.push_back(std::move(array));
      }
      answer.push_back(arrow::RecordBatch::Make(schema, static_cast<int64_t>(batch.num_rows), std::move(arrays)));
    }
    return answer;
  }

  std::vector<ColumnRead*> columns() const {
    std::vector<ColumnRead*> reads;
    for (const Batch& batch : batches) {
      for (const FieldRead& field : batch.fields) {
        for (const auto& leaf : field.leaves) {
          if (leaf != nullptr) reads.push_back(leaf.get());
        }
      }
    }
    return reads;
  }

  std::vector<MemoryReservation> held;  // for the bytes
  std::vector<Batch> batches;

 private:
  DataFileReaderImpl& reader_;
  const Schema& projection_;
};

arrow::Result<std::unique_ptr<DataFileReaderImpl::Reading>> DataFileReaderImpl::FetchRows(const Schema& projection,
                                                                                          const ColumnOfField& columns,
                                                                                          const Wanted& wanted) {
  auto reading = std::make_unique<Reading>(*this, projection);
  for (const std::vector<Slice>& rows : wanted.batches) {
    Reading::Batch& batch = reading->batches.emplace_back();
    batch.num_rows = TotalCount(rows);
    for (const Field& field : projection.fields()) {
      ARROW_ASSIGN_OR_RAISE(FieldRead read, planner_.PlanField(field, columns, rows, wanted.all));
      batch.fields.push_back(std::move(read));
    }
  }
  ARROW_RETURN_NOT_OK(FetchColumns(file_, reading->columns(), wanted.access, reading->held));
  return reading;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> DataFileReaderImpl::ReadOne(const Schema& projection,
                                                                               const ColumnOfField& columns,
                                                                               const Wanted& wanted) {
  ARROW_ASSIGN_OR_RAISE(const auto reading, FetchRows(projection, columns, wanted));
  ARROW_ASSIGN_OR_RAISE(auto batches, reading->Decode());
  return std::move(batches[0]);
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> DataFileReaderImpl::Read(const Schema& projection,
                                                                            const ColumnOfField& columns,
                                                                            uint64_t first_row, uint64_t num_rows) {
  if (first_row > file_.container.num_rows || num_rows > file_.container.num_rows - first_row) {
    return file_.InFile(
        InvalidInput("rows {}+{} were asked for, the file has {}", first_row, num_rows, file_.container.num_rows));
  }
  Wanted wanted{Access::kScan, {{}}, {first_row, num_rows}};
  if (num_rows > 0) wanted.batches[0] = {wanted.all};
  return ReadOne(projection, columns, wanted);
}

arrow::Result<std::unique_ptr<FetchedBatches>> DataFileReaderImpl::Fetch(const Schema& projection,
                                                                         const ColumnOfField& columns,
                                                                         uint64_t first_row,
                                                                         std::span<const uint64_t> ends) {
  Wanted wanted{Access::kScan, {}, {first_row, ends.empty() ? 0 : ends.back() - first_row}};
  for (uint64_t first = first_row; const uint64_t end : ends) {
    if (end <= first || end > file_.container.num_rows)
      return file_.InFile(
          InvalidInput("rows {} to {} were asked for, the file has {}", first, end, file_.container.num_rows));
    wanted.batches.push_back({{first, end - first}});
    first = end;
  }
  return FetchRows(projection, columns, wanted);
}

// Columns that cannot be read end nowhere: reading them says why.
std::vector<uint64_t> DataFileReaderImpl::PageEnds(const Schema& projection, const ColumnOfField& columns,
                                                   uint64_t first_row, uint64_t end) {
  std::vector<uint64_t> ends;
  for (const Field& field : projection.fields()) {
    const auto leaves = LeafColumnsOf(field);
    if (!leaves.ok()) continue;
    for (const LeafColumn& leaf : *leaves) {
      const bool narrow = HasNarrowIndices(*leaf.field->type) && CountsRows(leaf.layers);
      if (!narrow && (leaves->size() != 1 || leaf.layers != kFlatColumn)) continue;
      const auto found = columns.find(leaf.field->id);
      if (found == columns.end() || found->second >= file_.container.columns.size()) continue;
      const std::vector<PageMetadata>& pages = file_.container.columns[found->second].pages;
      for (size_t page = 0; page < pages.size(); ++page) {
        const uint64_t page_end = pages[page].first_row + pages[page].num_rows;
        if (page_end <= first_row) continue;
        if (page_end >= end) break;
        if (narrow || HandsOnMuch(found->second, page, leaf)) ends.push_back(page_end);
      }
    }
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  return ends;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> DataFileReaderImpl::Take(const Schema& projection,
                                                                            const ColumnOfField& columns,
                                                                            std::span<const uint64_t> rows) {
  const DistinctRows distinct(rows);
  if (!rows.empty() && distinct.rows.back() >= num_rows())
    return file_.InFile(InvalidInput("row {} was asked for, the file has {}", distinct.rows.back(), num_rows()));
  ARROW_ASSIGN_OR_RAISE(auto batch, ReadOne(projection, columns, {Access::kRows, {SlicesOf(distinct.rows)}, {}}));
  if (distinct.in_order) return batch;
  const arrow::UInt64Array indices(static_cast<int64_t>(rows.size()), arrow::Buffer::Wrap(distinct.places));
  const Resources& resources = file_.environment->resources;
  ARROW_ASSIGN_OR_RAISE(const uint64_t bytes, TakenBytes(*batch, indices));
  ARROW_ASSIGN_OR_RAISE(const auto memory,
                        MemoryReservation::Make(*resources.memory, static_cast<int64_t>(bytes), "rows in their order"));
  return TakeRows(batch, indices, resources.pool);
}

}  // namespace

arrow::Result<std::shared_ptr<DataFileReader>> DataFileReader::Open(const Resources& resources,
                                                                    std::shared_ptr<ObjectStore> store, std::string key,
                                                                    std::optional<uint64_t> known_size,
                                                                    std::shared_ptr<BlockCache> blocks) {
  auto container = OpenContainer(resources, *store, key, known_size);
  if (!container.ok()) {
    return WithField(WithContext(container.status(), fmt::format("data file {}", store->Describe(key))), "path", key);
  }
  auto environment = std::make_shared<PageEnvironment>(resources);
  auto reader = std::make_shared<DataFileReaderImpl>(
      OpenFile{std::move(environment), std::move(store), std::move(key), std::move(*container), std::move(blocks)});
  ARROW_RETURN_NOT_OK(reader->ReserveMetadata());
  return reader;
}

}  // namespace javelin::file
