#include "javelin/dataset/scan_internal.h"

#include <arrow/compute/initialize.h>
#include <arrow/util/byte_size.h>

#include "javelin/base/error.h"
#include "javelin/dataset/fragment_reader_internal.h"
#include "javelin/dataset/projection_internal.h"
#include "javelin/file/pick_rows.h"

namespace javelin::internal {

namespace {

constexpr uint64_t kFirstBlockRows = 1024;  // until it is known how wide rows are
constexpr uint64_t kBlockGrowth = 4;        // a block has at most so many times the rows of the one before
constexpr uint64_t kMaxBlockRows = 1 << 20;

// How many rows to read at once so that a block takes about `target` bytes, learnt from the blocks before.
class BlockSize {
 public:
  BlockSize(uint64_t target_bytes, uint64_t batch_rows)
      : target_bytes_(target_bytes), rows_(std::clamp<uint64_t>(batch_rows, 1, kFirstBlockRows)) {}

  uint64_t rows() const { return rows_; }
  // A first guess from the files' sizes, until a block has shown how wide rows are.
  void Expect(uint64_t stored_bytes_per_row) {
    if (bytes_per_row_ == 0 && stored_bytes_per_row != 0) rows_ = std::min(rows_, RowsOf(stored_bytes_per_row));
  }
  void Learn(uint64_t rows, uint64_t bytes) {
    bytes_per_row_ = std::max<uint64_t>(1, bytes / std::max<uint64_t>(1, rows));
    rows_ = std::min({RowsOf(bytes_per_row_), rows_ * kBlockGrowth, kMaxBlockRows});
  }
  // Rows of a batch of at most `limit` rows and about the target's bytes.
  uint64_t BatchRows(uint64_t limit) const {
    return bytes_per_row_ == 0 ? limit : std::min(limit, RowsOf(bytes_per_row_));
  }

 private:
  uint64_t RowsOf(uint64_t bytes_per_row) const { return std::max<uint64_t>(1, target_bytes_ / bytes_per_row); }

  const uint64_t target_bytes_;
  uint64_t rows_;
  uint64_t bytes_per_row_ = 0;  // 0 = not known yet
};

class Scan final : public arrow::RecordBatchReader {
 public:
  Scan(std::shared_ptr<const DatasetState> table, Projection projection, const ScanOptions& options)
      : table_(std::move(table)),
        projection_(std::move(projection)),
        batch_rows_(options.batch_rows),
        skip_(options.offset),
        left_(options.limit.value_or(UINT64_MAX)),
        block_size_(options.batch_bytes, options.batch_rows) {}

  std::shared_ptr<arrow::Schema> schema() const override { return projection_.arrow_schema(); }

  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override {
    *out = nullptr;
    while (block_ == nullptr || block_start_ == block_->num_rows()) {
      block_ = nullptr;
      ARROW_ASSIGN_OR_RAISE(const bool more, NextFragment());
      if (!more) return arrow::Status::OK();
      ARROW_RETURN_NOT_OK(NextBlock());
    }
    const auto rows = static_cast<int64_t>(block_size_.BatchRows(batch_rows_));
    *out = block_->Slice(block_start_, rows);
    block_start_ += (*out)->num_rows();
    return arrow::Status::OK();
  }

  arrow::Status Close() override {
    fragment_ = nullptr;
    block_ = nullptr;
    left_ = 0;
    return arrow::Status::OK();
  }

 private:
  // Makes `fragment_` one that has rows left to read; false at the end of the scan.
  arrow::Result<bool> NextFragment() {
    const auto& fragments = table_->manifest().fragments;
    while (left_ != 0) {
      if (fragment_ != nullptr && position_ < fragment_->rows().physical()) return true;
      fragment_ = nullptr;
      if (next_fragment_ == fragments.size()) return false;
      const table::Fragment& fragment = fragments[next_fragment_++];
      if (skip_ != 0) {
        ARROW_ASSIGN_OR_RAISE(const uint64_t live, CountLiveRows(*table_, fragment));
        if (live <= skip_) {
          skip_ -= live;
          continue;
        }
      }
      ARROW_ASSIGN_OR_RAISE(fragment_, FragmentReader::Open(table_, fragment, projection_));
      position_ = skip_ == 0 ? 0 : fragment_->rows().NthLive(skip_);
      skip_ = 0;
      block_size_.Expect(fragment_->StoredBytesPerRow());
    }
    return false;
  }

  // Reads the next rows of `fragment_`; leaves no block if all of them are deleted.
  arrow::Status NextBlock() {
    const FragmentRows& rows = fragment_->rows();
    const uint64_t first = position_;
    uint64_t end = std::min(rows.physical(), first + block_size_.rows());
    const uint64_t live = rows.LiveIn(first, end);
    if (live > left_) end = rows.NthLive(rows.LiveIn(0, first) + left_ - 1) + 1;
    position_ = end;
    if (live == 0) return arrow::Status::OK();
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> block, fragment_->Read(first, end - first));
    ARROW_ASSIGN_OR_RAISE(const int64_t bytes, arrow::util::ReferencedBufferSize(*block));
    block_size_.Learn(end - first, static_cast<uint64_t>(bytes));
    ARROW_ASSIGN_OR_RAISE(block_, WithoutDeleted(std::move(block), first, end));
    block_start_ = 0;
    left_ -= static_cast<uint64_t>(block_->num_rows());
    return arrow::Status::OK();
  }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> WithoutDeleted(std::shared_ptr<arrow::RecordBatch> block,
                                                                    uint64_t first, uint64_t end) {
    const FragmentRows& rows = fragment_->rows();
    const uint64_t live = rows.LiveIn(first, end);
    if (live == end - first) return block;
    if (block->num_columns() == 0)
      return arrow::RecordBatch::Make(block->schema(), static_cast<int64_t>(live), arrow::ArrayVector{});
    arrow::UInt64Builder indices(table_->session->resources().pool);
    ARROW_RETURN_NOT_OK(indices.Reserve(static_cast<int64_t>(live)));
    for (uint64_t offset = first; offset < end; ++offset) {
      if (rows.IsLive(offset)) indices.UnsafeAppend(offset - first);
    }
    ARROW_ASSIGN_OR_RAISE(const auto kept, indices.Finish());
    return file::TakeRows(block, *kept);
  }

  std::shared_ptr<const DatasetState> table_;
  const Projection projection_;
  const uint64_t batch_rows_;
  uint64_t skip_;  // live rows still to pass over
  uint64_t left_;  // live rows still wanted
  BlockSize block_size_;
  size_t next_fragment_ = 0;
  std::unique_ptr<FragmentReader> fragment_;
  uint64_t position_ = 0;  // next physical row of `fragment_`
  std::shared_ptr<arrow::RecordBatch> block_;
  int64_t block_start_ = 0;
};

}  // namespace

arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> MakeScan(std::shared_ptr<const DatasetState> table,
                                                                  const ScanOptions& options) {
  if (options.batch_rows == 0 || options.batch_bytes == 0)
    return InvalidInput("batch_rows and batch_bytes must not be 0");
  ARROW_RETURN_NOT_OK(arrow::compute::Initialize());
  ARROW_ASSIGN_OR_RAISE(Projection projection, Projection::Make(table->manifest().schema, options.columns,
                                                                options.with_row_id, options.with_row_address));
  return std::make_shared<Scan>(std::move(table), std::move(projection), options);
}

}  // namespace javelin::internal
