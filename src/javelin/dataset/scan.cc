#include "javelin/dataset/scan_internal.h"

#include <deque>

#include <arrow/compute/initialize.h>
#include <arrow/util/byte_size.h>

#include "javelin/base/error.h"
#include "javelin/dataset/fragment_reader_internal.h"
#include "javelin/dataset/projection_internal.h"
#include "javelin/dataset/scan_plan_internal.h"
#include "javelin/file/pick_rows.h"

namespace javelin::internal {

namespace {

// Blocks on their way while the caller has not asked for them yet.
constexpr uint64_t kBlocksAhead = 2;

// Rows that are decoded as one piece, unless batches are larger: smaller ones would cost more than they take.
constexpr uint64_t kDecodedRows = 8192;

// Where batches of a block end: where pages do, and after so many rows that batches asked for are parts of them.
std::vector<uint64_t> BatchEnds(const ScanPlan::Block& block, uint64_t batch_rows) {
  const uint64_t most = batch_rows >= kDecodedRows ? batch_rows : kDecodedRows / batch_rows * batch_rows;
  std::vector<uint64_t> ends;
  auto page_end = block.breaks.begin();
  for (uint64_t at = block.first; at < block.end; at = ends.back()) {
    while (page_end != block.breaks.end() && *page_end <= at) ++page_end;
    const uint64_t limit = page_end == block.breaks.end() ? block.end : *page_end;
    ends.push_back(limit - at > most ? at + most : limit);
  }
  return ends;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> WithoutDeleted(std::shared_ptr<arrow::RecordBatch> batch,
                                                                  const FragmentRows& rows, uint64_t first,
                                                                  arrow::MemoryPool* pool) {
  const uint64_t end = first + static_cast<uint64_t>(batch->num_rows());
  const uint64_t live = rows.LiveIn(first, end);
  if (live == end - first) return batch;
  if (batch->num_columns() == 0)
    return arrow::RecordBatch::Make(batch->schema(), static_cast<int64_t>(live), arrow::ArrayVector{});
  arrow::UInt64Builder indices(pool);
  ARROW_RETURN_NOT_OK(indices.Reserve(static_cast<int64_t>(live)));
  for (uint64_t offset = first; offset < end; ++offset) {
    if (rows.IsLive(offset)) indices.UnsafeAppend(offset - first);
  }
  ARROW_ASSIGN_OR_RAISE(const auto kept, indices.Finish());
  return file::TakeRows(batch, *kept);
}

// What was read of a block.
struct BlockRows {
  arrow::RecordBatchVector batches;  // live rows only
  uint64_t bytes = 0;                // of all rows
};

arrow::Result<BlockRows> DecodeBlock(const ScanPlan::Block& block, FragmentReader::Fetched& fetched,
                                     arrow::MemoryPool* pool) {
  ARROW_ASSIGN_OR_RAISE(auto batches, block.fragment->Decode(fetched));
  BlockRows read;
  for (uint64_t first = block.first; auto& batch : batches) {
    read.bytes += static_cast<uint64_t>(arrow::util::TotalBufferSize(*batch));
    const auto end = first + static_cast<uint64_t>(batch->num_rows());
    ARROW_ASSIGN_OR_RAISE(batch, WithoutDeleted(std::move(batch), block.fragment->rows(), first, pool));
    if (batch->num_rows() > 0) read.batches.push_back(std::move(batch));
    first = end;
  }
  return read;
}

// While the caller is busy with one block, the next ones are read and decoded. They are fetched in order, one at a
// time: two blocks that share a page need its table once. Each is decoded as soon as it is fetched.
class Scan final : public arrow::RecordBatchReader {
 public:
  Scan(std::shared_ptr<const DatasetState> table, Projection projection, RowScan scan)
      : table_(std::move(table)),
        projection_(std::move(projection)),
        batch_rows_(scan.batch_rows),
        blocks_ahead_(kBlocksAhead),
        size_(scan.batch_bytes, projection_),
        plan_(table_, projection_, std::move(scan.fragments), scan.begin) {}

  std::shared_ptr<arrow::Schema> schema() const override { return projection_.arrow_schema(); }

  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override {
    *out = nullptr;
    while (batches_.empty()) {
      ARROW_RETURN_NOT_OK(failed_);
      if (closed_) return arrow::Status::OK();
      const arrow::Result<bool> more = NextBlock();
      if (!more.ok()) return failed_ = more.status();
      if (!*more) return arrow::Status::OK();
    }
    const auto rows = static_cast<int64_t>(size_.BatchRows(batch_rows_));
    *out = batches_.front()->Slice(batch_start_, rows);
    batch_start_ += (*out)->num_rows();
    if (batch_start_ == batches_.front()->num_rows()) {
      batches_.pop_front();
      batch_start_ = 0;
    }
    return arrow::Status::OK();
  }

  arrow::Status Close() override {
    closed_ = true;
    DropAhead();
    batches_.clear();
    handed_out_ = {};
    plan_.Forget(SIZE_MAX);
    return arrow::Status::OK();
  }

 private:
  // A block on its way.
  struct Reading {
    ScanPlan::Block block;
    std::vector<uint64_t> ends;
    MemoryReservation memory;          // for what comes of it, until it was handed out
    std::unique_ptr<Strand> decoding;  // null: the caller reads it
    Cell<BlockRows> rows;
  };

  // Makes `batches_` the rows of the next block. False at the end of the scan.
  arrow::Result<bool> NextBlock() {
    handed_out_ = {};  // the memory of the block before
    std::optional<Reading> next;
    if (!ahead_.empty()) {
      next = std::move(ahead_.front());
      ahead_.pop_front();
    } else {
      ARROW_RETURN_NOT_OK(plan_failed_);
      ARROW_ASSIGN_OR_RAISE(next, Plan(/*alone=*/true));
      if (!next) return false;
    }
    const ScanPlan::Block& block = next->block;
    plan_.Forget(block.begin.fragment);
    const auto rows = next->decoding != nullptr ? next->rows.Get() : ReadHere(*next);
    if (!rows.ok() && HasKind(rows.status(), ErrorKind::kOutOfMemory) && block.end - block.first > 1) {
      StartAgain(block);
      return true;
    }
    ARROW_RETURN_NOT_OK(rows.status());
    size_.Learn(block.end - block.first, rows->bytes);
    batches_.assign(rows->batches.begin(), rows->batches.end());
    handed_out_ = std::move(next->memory);
    ReadAhead();
    return true;
  }

  arrow::Result<BlockRows> ReadHere(const Reading& reading) {
    ARROW_ASSIGN_OR_RAISE(const auto fetched, reading.block.fragment->Fetch(reading.block.first, reading.ends));
    ReadAhead();
    return DecodeBlock(reading.block, *fetched, pool());
  }

  // The next block with memory for what comes of it. None at the end of the scan, or, unless it is read `alone`, where
  // it must wait for a fragment or for memory.
  arrow::Result<std::optional<Reading>> Plan(bool alone) {
    while (true) {
      ARROW_ASSIGN_OR_RAISE(auto block, plan_.Next(size_, /*may_wait=*/alone));
      if (!block) return std::nullopt;
      const uint64_t rows = block->end - block->first;
      auto memory = MemoryReservation::Make(*table_->session->resources().memory,
                                            static_cast<int64_t>(size_.bytes(rows)), "rows of a scan");
      if (memory.ok() || (alone && rows == 1)) {
        Reading reading{*std::move(block), {}, memory.ok() ? *std::move(memory) : MemoryReservation(), nullptr};
        reading.ends = BatchEnds(reading.block, batch_rows_);
        return reading;
      }
      plan_.GoBack(block->begin);
      if (!alone) return std::nullopt;
      size_.DidNotFit(rows);
    }
  }

  // An error in a block that is not yet asked for is told in its turn.
  void ReadAhead() {
    while (ahead_.size() < blocks_ahead_ && plan_failed_.ok()) {
      auto reading = Plan(/*alone=*/false);
      if (!reading.ok()) plan_failed_ = reading.status();
      if (!reading.ok() || !*reading) break;
      Begin(ahead_.emplace_back(**std::move(reading)));
    }
    plan_.OpenAhead(blocks_ahead_);
  }

  void Begin(Reading& reading) {
    Runtime& runtime = table_->session->runtime();
    if (fetching_ == nullptr) fetching_ = std::make_unique<Strand>(runtime, "scan fetches");
    reading.decoding = std::make_unique<Strand>(runtime, "scan decodes");
    using Fetched = std::shared_ptr<FragmentReader::Fetched>;
    const CellSetter<Fetched> fetched(runtime);
    const CellSetter<BlockRows> rows(runtime);
    reading.rows = rows.cell();
    fetched.cell().Then(*reading.decoding, [rows, block = reading.block, pool = pool()](const auto& result) {
      rows.Set(result.ok() ? DecodeBlock(block, **result, pool) : result.status());
    });
    fetching_->Post([fetched, block = reading.block, ends = reading.ends] {
      fetched.Set(block.fragment->Fetch(block.first, ends));
    });
  }

  // Drops what nobody asked for yet; waits for what is running.
  void DropAhead() {
    fetching_.reset();
    ahead_.clear();
  }

  // From a block that did not fit: in smaller ones, and one at a time.
  void StartAgain(const ScanPlan::Block& block) {
    DropAhead();
    blocks_ahead_ = 0;
    plan_failed_ = arrow::Status::OK();
    size_.DidNotFit(block.end - block.first);
    plan_.GoBack(block.begin);
  }

  arrow::MemoryPool* pool() const { return table_->session->resources().pool; }

  const std::shared_ptr<const DatasetState> table_;
  const Projection projection_;
  const uint64_t batch_rows_;
  uint64_t blocks_ahead_;
  BlockSize size_;
  ScanPlan plan_;
  arrow::Status plan_failed_;  // behind what is on its way
  std::deque<Reading> ahead_;
  std::unique_ptr<Strand> fetching_;                         // goes before `ahead_`
  std::deque<std::shared_ptr<arrow::RecordBatch>> batches_;  // to be handed out
  int64_t batch_start_ = 0;                                  // in the first of them
  MemoryReservation handed_out_;
  arrow::Status failed_;
  bool closed_ = false;
};

}  // namespace

std::vector<const table::Fragment*> AllFragments(const DatasetState& table) {
  std::vector<const table::Fragment*> fragments;
  for (const table::Fragment& fragment : table.manifest().fragments) fragments.push_back(&fragment);
  return fragments;
}

std::shared_ptr<arrow::RecordBatchReader> ScanRows(std::shared_ptr<const DatasetState> table, Projection projection,
                                                   RowScan scan) {
  return std::make_shared<Scan>(std::move(table), std::move(projection), std::move(scan));
}

arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> MakeScan(std::shared_ptr<const DatasetState> table,
                                                                  const ScanOptions& options) {
  if (options.batch_rows == 0 || options.batch_bytes == 0)
    return InvalidInput("batch_rows and batch_bytes must not be 0");
  ARROW_RETURN_NOT_OK(arrow::compute::Initialize());
  ARROW_ASSIGN_OR_RAISE(Projection projection, Projection::Make(table->manifest().schema, options.columns,
                                                                options.with_row_id, options.with_row_address));
  RowScan scan{.fragments = AllFragments(*table),
               .begin = {.skip = options.offset, .left = options.limit.value_or(UINT64_MAX)},
               .batch_rows = options.batch_rows,
               .batch_bytes = options.batch_bytes};
  return ScanRows(std::move(table), std::move(projection), std::move(scan));
}

}  // namespace javelin::internal
