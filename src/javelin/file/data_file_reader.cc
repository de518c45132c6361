#include "javelin/file/data_file_reader.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <numeric>

#include <arrow/api.h>

#include "javelin/base/error.h"
#include "javelin/file/batch_reader.h"
#include "javelin/file/blob_field.h"
#include "javelin/file/container_internal.h"
#include "javelin/file/nested_array_internal.h"
#include "javelin/file/nested_scan_v2_0_internal.h"
#include "javelin/file/page_parts_internal.h"
#include "javelin/file/page_reader_internal.h"
#include "javelin/file/pick_rows.h"
#include "javelin/store/block_cache.h"

namespace javelin::file {

namespace {

using Access = BlockCache::Access;

// A scan of several pages that says itself where an error is.
constexpr size_t kNoPage = SIZE_MAX;

// Below this much output, handing columns to other threads costs more than it gains.
constexpr uint64_t kParallelBytes = 1u << 20;
// Below this a copy costs less than a batch.
constexpr uint64_t kLongBytes = 256u << 10;

// What a field takes in memory, its names and its Arrow type included; about.
constexpr uint64_t kFieldBytes = 512;

uint64_t NumFields(const std::vector<Field>& fields) {
  uint64_t count = fields.size();
  for (const Field& field : fields) count += NumFields(field.children);
  return count;
}

// What several scans of a page want alike is asked for once.
class SharedRanges {
 public:
  explicit SharedRanges(std::vector<ByteRange> wanted) : wanted_(std::move(wanted)) {
    std::vector<ByteRange> sorted = wanted_;
    std::sort(sorted.begin(), sorted.end(), [](const ByteRange& a, const ByteRange& b) { return a.offset < b.offset; });
    for (const ByteRange& range : sorted) {
      if (distinct_.empty() || range.offset >= distinct_.back().end()) {
        distinct_.push_back(range);
      } else {
        distinct_.back().length = std::max(distinct_.back().end(), range.end()) - distinct_.back().offset;
      }
    }
  }
  const std::vector<ByteRange>& distinct() const { return distinct_; }
  // The bytes of what was wanted, in that order, from those of distinct().
  std::vector<BufferPtr> Share(std::vector<BufferPtr> bytes) const {
    std::vector<BufferPtr> shares;
    shares.reserve(wanted_.size());
    for (const ByteRange& range : wanted_) {
      const auto after = std::upper_bound(distinct_.begin(), distinct_.end(), range.offset,
                                          [](uint64_t offset, const ByteRange& one) { return offset < one.offset; });
      const size_t index = static_cast<size_t>(after - distinct_.begin()) - 1;
      shares.push_back(range == distinct_[index]
                           ? bytes[index]
                           : arrow::SliceBuffer(bytes[index],
                                                static_cast<int64_t>(range.offset - distinct_[index].offset),
                                                static_cast<int64_t>(range.length)));
    }
    return shares;
  }

 private:
  std::vector<ByteRange> wanted_;
  std::vector<ByteRange> distinct_;  // ascending, disjoint
};

// One column of one read: a leaf.
struct ColumnRead {
  const Field* field = nullptr;  // the leaf's
  uint32_t column = 0;
  struct Part {
    size_t page = 0;
    std::shared_ptr<const PageReader> reader;  // keeps alive what the scan uses
    std::unique_ptr<PageScan> scan;
    size_t num_wanted = 0;  // ranges asked for in this round
    uint64_t supplied = 0;  // bytes
  };
  std::vector<Part> parts;
  uint64_t num_rows = 0;
  bool hands_on_bytes = true;  // all its parts do
  std::unique_ptr<SinkMemory> memory;
  std::unique_ptr<LeafSink> sink;
  uint64_t work = 0;     // see MeasureWork
  arrow::Status status;  // of decoding

  // About how much there is to decode: what comes out where that is known, but at least what goes in.
  void MeasureWork() {
    if (hands_on_bytes) return;
    const uint64_t bits = std::min<uint64_t>(MemoryBits(sink->values().shape()), 1u << 20);
    uint64_t bytes = 0;
    for (const Part& part : parts) bytes += part.scan->Work(part.supplied);
    work = std::max(bytes, num_rows * bits / 8);
  }
};

// One field of one read. Leaves without a column in the file are null, both here and in AssembleField.
struct FieldRead {
  const Field* field = nullptr;
  std::vector<std::unique_ptr<ColumnRead>> leaves;
};

class DataFileReaderImpl final : public DataFileReader, public BatchReader {
 public:
  DataFileReaderImpl(std::shared_ptr<PageEnvironment> environment, std::shared_ptr<ObjectStore> store, std::string key,
                     Container container, std::shared_ptr<BlockCache> blocks)
      : environment_(std::move(environment)),
        store_(std::move(store)),
        key_(std::move(key)),
        container_(std::move(container)),
        blocks_(std::move(blocks)) {
    for (const ColumnMetadata& column : container_.columns) {
      pages_.emplace_back(column.pages.size());
      for (const PageMetadata& page : column.pages)
        metadata_bytes_ += sizeof(PageMetadata) + sizeof(KnownPage) + page.encoding.size();
    }
    metadata_bytes_ += NumFields(container_.schema.fields()) * kFieldBytes;
    metadata_bytes_ += static_cast<uint64_t>(container_.tail_bytes->size());
  }

  // Once, before anything else.
  arrow::Status ReserveMetadata() {
    auto memory = MemoryReservation::Make(*environment_->resources.memory, static_cast<int64_t>(metadata_bytes_),
                                          "file metadata");
    if (!memory.ok()) return InFile(memory.status());
    metadata_memory_ = std::move(*memory);
    return arrow::Status::OK();
  }

  FileVersion version() const override { return container_.version; }
  uint64_t num_rows() const override { return container_.num_rows; }
  uint32_t num_columns() const override { return static_cast<uint32_t>(container_.columns.size()); }
  uint64_t memory_bytes() const override;
  const Schema& schema() const override { return container_.schema; }
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
  struct KnownPage {
    ValueShape shape;
    ColumnLayers layers;
    std::shared_ptr<const PageReader> reader;
  };

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
  arrow::Result<FieldRead> PlanField(const Field& field, const ColumnOfField& columns, std::span<const Slice> rows,
                                     const Slice& all);
  arrow::Result<std::unique_ptr<ColumnRead>> PlanColumn(const LeafColumn& leaf, const ColumnOfField& columns,
                                                        uint32_t column, std::span<const Slice> rows, const Slice& all);
  arrow::Result<std::unique_ptr<PageScan>> PlanNested20(const LeafColumn& leaf, const ColumnOfField& columns,
                                                        uint32_t column, std::span<const Slice> rows);
  arrow::Result<std::shared_ptr<const PageReader>> GetPage(uint32_t column, size_t page, const ValueShape& shape,
                                                           const ColumnLayers& layers);
  arrow::Status FetchColumns(std::span<ColumnRead* const> reads, Access access, std::vector<MemoryReservation>& held);
  arrow::Result<MemoryReservation> ReserveBytes(const std::vector<ByteRange>& ranges) const;
  arrow::Result<std::vector<BufferPtr>> GetBytes(const std::vector<ByteRange>& ranges, Access access);
  arrow::Result<std::vector<BufferPtr>> GetBytesBeforeTail(const std::vector<ByteRange>& ranges, Access access);
  void Decode(std::vector<ColumnRead*> reads);
  arrow::Result<std::shared_ptr<arrow::Array>> Assemble(FieldRead& read, uint64_t num_rows, SinkMemory& memory) const;
  arrow::Status DecodeColumn(ColumnRead& read) const;

  arrow::Status InFile(const arrow::Status& status) const;
  arrow::Status InColumn(const arrow::Status& status, const Field& field, uint32_t column) const;
  arrow::Status InPage(const arrow::Status& status, const ColumnRead& read, size_t page) const;

  std::shared_ptr<PageEnvironment> environment_;
  std::shared_ptr<ObjectStore> store_;
  std::string key_;
  const Container container_;
  const std::shared_ptr<BlockCache> blocks_;  // may be null
  uint64_t metadata_bytes_ = 0;
  MemoryReservation metadata_memory_;
  std::vector<std::vector<KnownPage>> pages_;  // guarded by the environment's mutex
};

// ---- errors say where ----

arrow::Status DataFileReaderImpl::InFile(const arrow::Status& status) const {
  return WithField(WithContext(status, fmt::format("data file {}", store_->Describe(key_))), "path", key_);
}

arrow::Status DataFileReaderImpl::InColumn(const arrow::Status& status, const Field& field, uint32_t column) const {
  return WithField(InFile(WithContext(status, fmt::format("column '{}' ({})", field.name, column))), "column",
                   field.name);
}

arrow::Status DataFileReaderImpl::InPage(const arrow::Status& status, const ColumnRead& read, size_t page) const {
  if (page == kNoPage) return InColumn(status, *read.field, read.column);
  const arrow::Status located = InColumn(WithContext(status, fmt::format("page {}", page)), *read.field, read.column);
  return WithField(located, "page", std::to_string(page));
}

// ---- planning ----

// What to do about a column that cannot be read: a scan reads the columns that it is asked for.
constexpr char kNameTheOthers[] = "; a scan with `columns` reads the others";

ColumnOfField DataFileReaderImpl::DefaultColumns() const {
  ColumnOfField columns;
  uint32_t next = 0;
  for (FieldId id : PhysicalColumns(container_.schema, container_.version)) columns.emplace(id, next++);
  return columns;
}

uint64_t DataFileReaderImpl::memory_bytes() const {
  constexpr uint64_t kDecompressor = 96u << 10;
  std::lock_guard lock(environment_->mutex);
  return metadata_bytes_ + environment_->kept_bytes + (environment_->idle_decompressor != nullptr ? kDecompressor : 0);
}

arrow::Result<std::shared_ptr<const PageReader>> DataFileReaderImpl::GetPage(uint32_t column, size_t page,
                                                                             const ValueShape& shape,
                                                                             const ColumnLayers& layers) {
  {
    std::lock_guard lock(environment_->mutex);
    const KnownPage& known = pages_[column][page];
    if (known.reader != nullptr && known.shape == shape && known.layers == layers) return known.reader;
  }
  const PageMetadata& metadata = container_.columns[column].pages[page];
  ARROW_ASSIGN_OR_RAISE(auto reader, MakePageReader({metadata, container_.version, shape, layers, environment_}));
  std::lock_guard lock(environment_->mutex);
  pages_[column][page] = {shape, layers, reader};
  return reader;
}

// A leaf of version 2.0 with structs or lists around it, which have columns of their own.
arrow::Result<std::unique_ptr<PageScan>> DataFileReaderImpl::PlanNested20(const LeafColumn& leaf,
                                                                          const ColumnOfField& columns, uint32_t column,
                                                                          std::span<const Slice> rows) {
  NestedLeaf20 nested{.values = &container_.columns[column], .layers = leaf.layers};
  for (const Field* list : leaf.lists) {
    const auto found = columns.find(list->id);
    if (found == columns.end() || found->second >= container_.columns.size())
      return Corruption("the file has no column of its list '{}'", list->name);
    nested.lists.push_back(&container_.columns[found->second]);
  }
  nested.page = [this, column, shape = leaf.shape, layers = leaf.layers](size_t page) {
    return GetPage(column, page, shape, layers);
  };
  return ScanNested20(std::move(nested), {rows.begin(), rows.end()}, container_.num_rows);
}

arrow::Result<std::unique_ptr<ColumnRead>> DataFileReaderImpl::PlanColumn(const LeafColumn& leaf,
                                                                          const ColumnOfField& columns, uint32_t column,
                                                                          std::span<const Slice> rows,
                                                                          const Slice& all) {
  const Field& field = *leaf.field;
  auto refuse = [&](const arrow::Status& status) { return InColumn(status, field, column); };
  if (column >= container_.columns.size()) {
    return refuse(Corruption("the file has {} columns only", container_.columns.size()));
  }
  const ColumnMetadata& metadata = container_.columns[column];
  if (!metadata.plain_values && !(metadata.blobs && IsBlobDescription(field)))
    return refuse(NotSupported("columns with an index of their own are not readable{}", kNameTheOthers));
  auto read = std::make_unique<ColumnRead>();
  read->field = &field;
  read->column = column;
  read->memory = std::make_unique<SinkMemory>(environment_->resources.pool, environment_->resources.memory.get());
  const uint64_t scale = PageRowsPerRow(leaf.layers);
  read->num_rows = TotalCount(rows) * scale;
  read->sink = std::make_unique<LeafSink>(leaf.shape, leaf.layers, *read->memory, read->num_rows);
  if (container_.version == FileVersion{2, 0} && leaf.layers.size() > 1) {
    auto scan = PlanNested20(leaf, columns, column, rows);
    if (!scan.ok()) return refuse(scan.status());
    read->parts.push_back({kNoPage, nullptr, *std::move(scan)});
    read->hands_on_bytes = false;
    return read;
  }
  if (metadata.num_rows / scale != container_.num_rows || metadata.num_rows % scale != 0) {
    return refuse(Corruption("its pages hold {} rows, the file has {}", metadata.num_rows, container_.num_rows));
  }
  std::vector<Slice> page_rows(rows.begin(), rows.end());
  for (Slice& slice : page_rows) slice = {slice.first * scale, slice.count * scale};
  for (PagePart& part : SplitByPage(metadata.pages, page_rows)) {
    auto reader = GetPage(column, part.page, leaf.shape, leaf.layers);
    if (!reader.ok()) return InPage(reader.status(), *read, part.page);
    const PageMetadata& page = metadata.pages[part.page];
    const bool others_read_the_rest = TotalCount(part.rows) < page.num_rows && all.first * scale <= page.first_row &&
                                      page.first_row + page.num_rows <= all.end() * scale;
    auto scan = (*reader)->Scan(std::move(part.rows));
    if (others_read_the_rest) scan->WithWholePage();
    read->hands_on_bytes &= (*reader)->hands_on_bytes();
    read->parts.push_back({part.page, *reader, std::move(scan)});
  }
  return read;
}

arrow::Result<FieldRead> DataFileReaderImpl::PlanField(const Field& field, const ColumnOfField& columns,
                                                       std::span<const Slice> rows, const Slice& all) {
  FieldRead read{&field, {}};
  auto leaves = LeafColumnsOf(field);
  // They are one column, which not even the writer of such files reads.
  const auto cut = [](const LeafColumn& leaf) { return PageRowsPerRow(leaf.layers) > 1; };
  if (leaves.ok() && container_.version == FileVersion{2, 0} && std::any_of(leaves->begin(), leaves->end(), cut))
    leaves = NotSupported("fixed-size lists of structs are not readable from files of version 2.0");
  if (!leaves.ok()) {
    const auto found = columns.find(field.id);
    return InColumn(WithContext(leaves.status(), fmt::format("not readable{}", kNameTheOthers)), field,
                    found == columns.end() ? 0 : found->second);
  }
  for (const LeafColumn& leaf : *leaves) {
    const auto found = columns.find(leaf.field->id);
    std::unique_ptr<ColumnRead> column;
    if (found != columns.end()) {
      ARROW_ASSIGN_OR_RAISE(column, PlanColumn(leaf, columns, found->second, rows, all));
    }
    read.leaves.push_back(std::move(column));
  }
  return read;
}

// ---- bytes ----

// Ranges inside the file's tail are there already; the others are one call to the store.
arrow::Result<std::vector<BufferPtr>> DataFileReaderImpl::GetBytes(const std::vector<ByteRange>& ranges,
                                                                   Access access) {
  std::vector<BufferPtr> buffers(ranges.size());
  std::vector<ByteRange> missing;
  std::vector<size_t> missing_index;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const ByteRange& range = ranges[i];
    if (range.length == 0) {
      buffers[i] = std::make_shared<arrow::Buffer>(reinterpret_cast<const uint8_t*>(""), 0);
    } else if (range.offset >= container_.tail.offset) {
      buffers[i] =
          arrow::SliceBuffer(container_.tail_bytes, static_cast<int64_t>(range.offset - container_.tail.offset),
                             static_cast<int64_t>(range.length));
    } else {
      missing.push_back(range);
      missing_index.push_back(i);
    }
  }
  if (missing.empty()) return buffers;
  ARROW_ASSIGN_OR_RAISE(std::vector<BufferPtr> answers, GetBytesBeforeTail(missing, access));
  if (answers.size() != missing.size())
    return Internal("the store answered {} of {} ranges", answers.size(), missing.size());
  for (size_t i = 0; i < answers.size(); ++i) {
    if (answers[i]->size() != static_cast<int64_t>(missing[i].length))
      return Internal("the store answered another range than asked");
    buffers[missing_index[i]] = std::move(answers[i]);
  }
  return buffers;
}

arrow::Result<std::vector<BufferPtr>> DataFileReaderImpl::GetBytesBeforeTail(const std::vector<ByteRange>& ranges,
                                                                             Access access) {
  if (blocks_ == nullptr) return store_->GetRanges(key_, ranges);
  return blocks_->GetRanges(store_, key_, container_.file_size, ranges, access);
}

// What a call to the store would bring; the tail is there already.
arrow::Result<MemoryReservation> DataFileReaderImpl::ReserveBytes(const std::vector<ByteRange>& ranges) const {
  uint64_t total = 0;
  for (const ByteRange& range : ranges) {
    if (range.offset < container_.tail.offset) total = SaturatedSum(total, range.length);
  }
  const auto most = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  return MemoryReservation::Make(*environment_->resources.memory, static_cast<int64_t>(std::min(total, most)),
                                 "bytes of a data file");
}

// Rounds over all columns together, so that each round is one call. `held`: memory of the bytes that the reads got.
arrow::Status DataFileReaderImpl::FetchColumns(std::span<ColumnRead* const> reads, Access access,
                                               std::vector<MemoryReservation>& held) {
  for (int round = 0; round <= PageScan::kMaxRounds; ++round) {
    std::vector<ByteRange> ranges;
    for (ColumnRead* read : reads) {
      for (ColumnRead::Part& part : read->parts) {
        auto wanted = part.scan->Wanted();
        if (!wanted.ok()) return InPage(wanted.status(), *read, part.page);
        part.num_wanted = wanted->size();
        ranges.insert(ranges.end(), wanted->begin(), wanted->end());
      }
    }
    if (ranges.empty()) return arrow::Status::OK();
    const SharedRanges shared(std::move(ranges));
    auto memory = ReserveBytes(shared.distinct());
    if (!memory.ok()) return InFile(memory.status());
    held.push_back(std::move(*memory));
    auto distinct = GetBytes(shared.distinct(), access);
    if (!distinct.ok()) return InFile(distinct.status());
    std::vector<BufferPtr> bytes = shared.Share(*std::move(distinct));
    auto next = std::make_move_iterator(bytes.begin());
    for (ColumnRead* read : reads) {
      for (ColumnRead::Part& part : read->parts) {
        if (part.num_wanted == 0) continue;
        const auto end = next + static_cast<ptrdiff_t>(part.num_wanted);
        for (auto at = next.base(); at != end.base(); ++at) part.supplied += static_cast<uint64_t>((*at)->size());
        const arrow::Status status = part.scan->Supply(std::vector<BufferPtr>(next, end));
        if (!status.ok()) return InPage(status, *read, part.page);
        next = end;
      }
    }
  }
  return InFile(Internal("a page asks for bytes without end"));
}

// ---- decoding ----

arrow::Status DataFileReaderImpl::DecodeColumn(ColumnRead& read) const {
  DecompressorLease decompressor(*environment_);
  DecodeContext context(*read.memory, *decompressor);
  for (ColumnRead::Part& part : read.parts) {
    const arrow::Status status = part.scan->Decode(context, *read.sink);
    if (!status.ok()) return InPage(status, read, part.page);
    part.scan.reset();  // its bytes are not needed any more
  }
  return arrow::Status::OK();
}

// What takes longest begins first, so that no thread is left alone with it at the end.
void DataFileReaderImpl::Decode(std::vector<ColumnRead*> reads) {
  uint64_t work = 0;
  for (ColumnRead* read : reads) {
    read->MeasureWork();
    work += read->work;
  }
  const bool parallel = reads.size() > 1 && work >= kParallelBytes;
  if (parallel) {
    std::stable_sort(reads.begin(), reads.end(),
                     [](const ColumnRead* a, const ColumnRead* b) { return a->work > b->work; });
  }
  std::vector<Job> jobs;
  for (ColumnRead* read : reads) {
    if (!parallel) {
      read->status = DecodeColumn(*read);
      continue;
    }
    jobs.push_back([this, read] { read->status = DecodeColumn(*read); });
  }
  if (!jobs.empty()) environment_->resources.runtime->Cpu(std::move(jobs));
}

arrow::Result<std::shared_ptr<arrow::Array>> DataFileReaderImpl::Assemble(FieldRead& read, uint64_t num_rows,
                                                                          SinkMemory& memory) const {
  std::vector<std::unique_ptr<LeafSink>> leaves;
  for (const auto& leaf : read.leaves) {
    if (leaf != nullptr) ARROW_RETURN_NOT_OK(leaf->status);
    leaves.push_back(leaf == nullptr ? nullptr : std::move(leaf->sink));
  }
  auto data = AssembleField(*read.field, leaves, num_rows, memory);
  if (!data.ok()) {
    const auto present = std::find_if(read.leaves.begin(), read.leaves.end(), [](const auto& leaf) { return !!leaf; });
    return present == read.leaves.end() ? InFile(data.status())
                                        : InColumn(data.status(), *read.field, (*present)->column);
  }
  return arrow::MakeArray(std::move(*data));
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
    reader_.Decode(columns());
    const Resources& resources = reader_.environment_->resources;
    SinkMemory memory(resources.pool, resources.memory.get());
    const auto schema = projection_.ToArrow();
    arrow::RecordBatchVector answer;
    for (Batch& batch : batches) {
      arrow::ArrayVector arrays;
      for (FieldRead& field : batch.fields) {
        ARROW_ASSIGN_OR_RAISE(auto array, reader_.Assemble(field, batch.num_rows, memory));
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
      ARROW_ASSIGN_OR_RAISE(FieldRead read, PlanField(field, columns, rows, wanted.all));
      batch.fields.push_back(std::move(read));
    }
  }
  ARROW_RETURN_NOT_OK(FetchColumns(reading->columns(), wanted.access, reading->held));
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
  if (first_row > container_.num_rows || num_rows > container_.num_rows - first_row) {
    return InFile(InvalidInput("rows {}+{} were asked for, the file has {}", first_row, num_rows, container_.num_rows));
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
    if (end <= first || end > container_.num_rows)
      return InFile(InvalidInput("rows {} to {} were asked for, the file has {}", first, end, container_.num_rows));
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
    if (!leaves.ok() || leaves->size() != 1 || leaves->front().layers != kFlatColumn) continue;
    const auto found = columns.find(leaves->front().field->id);
    if (found == columns.end() || found->second >= container_.columns.size()) continue;
    const std::vector<PageMetadata>& pages = container_.columns[found->second].pages;
    for (size_t page = 0; page < pages.size(); ++page) {
      const uint64_t page_end = pages[page].first_row + pages[page].num_rows;
      if (page_end <= first_row) continue;
      if (page_end >= end) break;
      const auto reader = GetPage(found->second, page, leaves->front().shape, leaves->front().layers);
      const uint64_t bytes = pages[page].buffers.empty() ? 0 : pages[page].buffers[0].length;
      if (reader.ok() && (*reader)->hands_on_bytes() && bytes >= kLongBytes) ends.push_back(page_end);
    }
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  return ends;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> DataFileReaderImpl::Take(const Schema& projection,
                                                                            const ColumnOfField& columns,
                                                                            std::span<const uint64_t> rows) {
  struct Asked {
    uint64_t row;
    size_t place;
  };
  std::vector<Asked> asked(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) asked[i] = {rows[i], i};
  const bool in_order = std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()) == rows.end();
  if (!in_order) std::sort(asked.begin(), asked.end(), [](const Asked& a, const Asked& b) { return a.row < b.row; });
  if (!asked.empty() && asked.back().row >= container_.num_rows)
    return InFile(InvalidInput("row {} was asked for, the file has {}", asked.back().row, container_.num_rows));
  std::vector<Slice> slices;
  std::vector<uint64_t> places(rows.size());  // of the rows asked, among those read
  uint64_t num_read = 0;
  for (const auto& [row, place] : asked) {
    if (!slices.empty() && slices.back().end() == row) {
      ++slices.back().count;
    } else if (slices.empty() || slices.back().end() < row) {
      slices.push_back({row, 1});
    } else {
      --num_read;  // the same row once more
    }
    places[place] = num_read++;
  }
  ARROW_ASSIGN_OR_RAISE(auto batch, ReadOne(projection, columns, {Access::kRows, {std::move(slices)}, {}}));
  if (in_order) return batch;
  const arrow::UInt64Array indices(static_cast<int64_t>(places.size()), arrow::Buffer::Wrap(places));
  return TakeRows(batch, indices, environment_->resources.pool);
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
  auto reader = std::make_shared<DataFileReaderImpl>(std::move(environment), std::move(store), std::move(key),
                                                     std::move(*container), std::move(blocks));
  ARROW_RETURN_NOT_OK(reader->ReserveMetadata());
  return reader;
}

}  // namespace javelin::file
