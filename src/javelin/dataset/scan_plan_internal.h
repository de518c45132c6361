// Which rows a scan reads next.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include <arrow/result.h>

#include "javelin/dataset/ahead_internal.h"
#include "javelin/dataset/dataset_state_internal.h"
#include "javelin/dataset/fragment_reader_internal.h"
#include "javelin/dataset/projection_internal.h"

namespace javelin::internal {

// How many rows to read at once, and of these to hand out at once, so that a batch takes about `target` bytes. A block
// is one batch, or several that are small. Learnt from the blocks before.
class BlockSize {
 public:
  BlockSize(uint64_t target_bytes, const Projection& projection);

  uint64_t rows() const;
  uint64_t bytes(uint64_t rows) const { return rows * std::max<uint64_t>(1, bytes_per_row_); }
  // Rows of a batch of at most `limit` rows and about the target's bytes.
  uint64_t BatchRows(uint64_t limit) const { return learnt_rows_ == 0 ? limit : std::min(limit, RowsOf(batch_bytes_)); }
  // A first guess, until a block has shown how wide rows are.
  void Expect(uint64_t stored_bytes_per_row);
  void Learn(uint64_t rows, uint64_t bytes);
  // A block of so many rows did not fit: those to come are smaller.
  void DidNotFit(uint64_t rows) { most_rows_ = std::max<uint64_t>(1, rows / 2); }

 private:
  uint64_t RowsOf(uint64_t bytes) const { return std::max<uint64_t>(1, bytes / std::max<uint64_t>(1, bytes_per_row_)); }

  const uint64_t batch_bytes_;
  const uint64_t block_bytes_;
  uint64_t fixed_bytes_ = 0;  // of a row, where its values have one width
  bool varies_ = false;       // some have none
  uint64_t most_rows_;
  uint64_t learnt_rows_ = 0;  // of the largest block that was seen
  uint64_t bytes_per_row_ = 0;
};

// Walks over the fragments of a scan in order. One thread.
class ScanPlan {
 public:
  // A place in the scan.
  struct Cursor {
    size_t fragment = 0;    // of those given
    uint64_t position = 0;  // next physical row of it
    uint64_t skip = 0;      // live rows still to leave out
    uint64_t left = 0;      // live rows still wanted
  };
  // `projection` must outlive the plan; the fragments are the table's.
  ScanPlan(std::shared_ptr<const DatasetState> table, const Projection& projection,
           std::vector<const table::Fragment*> fragments, const Cursor& begin)
      : table_(std::move(table)), projection_(projection), fragments_(std::move(fragments)), at_(begin) {}

  // Neighbouring rows of one fragment, at least one of them live.
  struct Block {
    std::shared_ptr<const FragmentReader> fragment;
    uint64_t first = 0;
    uint64_t end = 0;
    std::vector<uint64_t> breaks;  // where batches had best end
    Cursor begin;                  // where the plan was before
  };

  // The next block, of at most `size.rows()` rows. None at the end, or, unless it `may_wait`, where the next fragment
  // is not open yet. Contexts T.
  arrow::Result<std::optional<Block>> Next(BlockSize& size, bool may_wait);
  // Goes back to where a block began. Blocks from before must not be asked for again.
  void GoBack(const Cursor& begin) { at_ = begin; }
  // Has up to `most` fragments opened that come after the one at hand, as far as their rows are wanted.
  void OpenAhead(size_t most);
  // Lets go of the fragments before that one.
  void Forget(size_t fragment);

 private:
  struct Opened {
    std::unique_ptr<Ahead<std::shared_ptr<const FragmentReader>>> opening;
    std::shared_ptr<const FragmentReader> reader;  // once it is there
  };
  using OpenResult = arrow::Result<std::shared_ptr<const FragmentReader>>;

  // Passes over fragments of which no row is wanted. False at the end of the scan.
  arrow::Result<bool> FindFragment();
  // Null if that would mean to wait.
  OpenResult Open(bool may_wait);
  static OpenResult OpenFragment(const std::shared_ptr<const DatasetState>& table, const table::Fragment& fragment,
                                 const Projection& projection);

  const std::shared_ptr<const DatasetState> table_;
  const Projection& projection_;
  const std::vector<const table::Fragment*> fragments_;
  Cursor at_;
  size_t first_opened_ = 0;  // the fragment of the first of:
  std::deque<Opened> opened_;
};

}  // namespace javelin::internal
