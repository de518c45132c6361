#include "javelin/dataset/scan_plan_internal.h"

#include <algorithm>

#include <arrow/type.h>

namespace javelin::internal {

namespace {

constexpr uint64_t kMaxBlockRows = 1 << 20;
constexpr uint64_t kLeastBlockBytes = 1 << 20;  // less costs more to plan and to fetch than to decode
constexpr uint64_t kMaxFirstRows = 64 << 10;    // until it is known how wide rows are
constexpr uint64_t kBlockGrowth = 8;            // a block has at most so many times the rows of those before
constexpr uint64_t kUsualCompression = 8;       // text takes seldom less of a file than an eighth of its size
constexpr uint64_t kUnknownBytes = 2048;        // of a row in a file of unknown size

// Bits of a value as far as all of that type take the same; `varies` is set where others come on top.
uint64_t FixedBits(const arrow::DataType& type, bool* varies) {
  if (type.id() == arrow::Type::NA) return 0;
  if (type.id() == arrow::Type::FIXED_SIZE_LIST) {
    const auto& list = static_cast<const arrow::FixedSizeListType&>(type);
    return static_cast<uint64_t>(list.list_size()) * FixedBits(*list.value_type(), varies);
  }
  if (type.id() == arrow::Type::STRUCT) {
    uint64_t bits = 1;
    for (const auto& field : type.fields()) bits += FixedBits(*field->type(), varies);
    return bits;
  }
  if (type.id() != arrow::Type::DICTIONARY && type.bit_width() > 0) return static_cast<uint64_t>(type.bit_width()) + 1;
  *varies = true;
  return 32;
}

}  // namespace

BlockSize::BlockSize(uint64_t target_bytes, const Projection& projection)
    : batch_bytes_(target_bytes), block_bytes_(std::max(target_bytes, kLeastBlockBytes)), most_rows_(kMaxBlockRows) {
  uint64_t bits = 0;
  for (const auto& field : projection.arrow_schema()->fields()) bits += FixedBits(*field->type(), &varies_);
  fixed_bytes_ = bits / 8;
  bytes_per_row_ = fixed_bytes_;
}

uint64_t BlockSize::rows() const {
  uint64_t most = most_rows_;
  if (varies_) most = std::min(most, learnt_rows_ == 0 ? kMaxFirstRows : learnt_rows_ * kBlockGrowth);
  return std::min(most, RowsOf(block_bytes_));
}

void BlockSize::Expect(uint64_t stored) {
  if (!varies_ || learnt_rows_ != 0) return;
  if (stored == 0) stored = kUnknownBytes;
  const uint64_t varying = stored > fixed_bytes_ ? stored - fixed_bytes_ : 0;
  bytes_per_row_ = std::max(bytes_per_row_, fixed_bytes_ + std::max(stored, varying * kUsualCompression));
}

void BlockSize::Learn(uint64_t rows, uint64_t bytes) {
  bytes_per_row_ = std::max<uint64_t>(1, bytes / std::max<uint64_t>(1, rows));
  learnt_rows_ = std::max(learnt_rows_, rows);
}

arrow::Result<bool> ScanPlan::FindFragment() {
  while (at_.left != 0 && at_.fragment < fragments_.size()) {
    const table::Fragment& fragment = *fragments_[at_.fragment];
    if (at_.position != 0) return true;
    if (at_.skip == 0 && KnownLiveRows(fragment) != 0) return true;
    ARROW_ASSIGN_OR_RAISE(const uint64_t live, CountLiveRows(*table_, fragment));
    if (live > at_.skip) return true;
    at_.skip -= live;
    ++at_.fragment;
  }
  return false;
}

ScanPlan::OpenResult ScanPlan::OpenFragment(const std::shared_ptr<const DatasetState>& table,
                                            const table::Fragment& fragment, const Projection& projection) {
  ARROW_ASSIGN_OR_RAISE(auto reader, FragmentReader::Open(table, fragment, projection));
  return std::shared_ptr<const FragmentReader>(std::move(reader));
}

ScanPlan::OpenResult ScanPlan::Open(bool may_wait) {
  if (opened_.empty()) first_opened_ = at_.fragment;
  const size_t index = at_.fragment - first_opened_;
  while (opened_.size() <= index) opened_.emplace_back();
  Opened& opened = opened_[index];
  if (opened.reader != nullptr) return opened.reader;
  if (opened.opening == nullptr) {
    ARROW_ASSIGN_OR_RAISE(opened.reader, OpenFragment(table_, *fragments_[at_.fragment], projection_));
    return opened.reader;
  }
  if (!may_wait && !opened.opening->IsReady()) return nullptr;
  ARROW_ASSIGN_OR_RAISE(opened.reader, opened.opening->Get());
  opened.opening = nullptr;
  return opened.reader;
}

arrow::Result<std::optional<ScanPlan::Block>> ScanPlan::Next(BlockSize& size, bool may_wait) {
  const Cursor begin = at_;
  while (true) {
    ARROW_ASSIGN_OR_RAISE(const bool more, FindFragment());
    if (!more) return std::nullopt;
    ARROW_ASSIGN_OR_RAISE(const auto reader, Open(may_wait));
    if (reader == nullptr) return std::nullopt;
    size.Expect(reader->StoredBytesPerRow());
    const FragmentRows& rows = reader->rows();
    if (at_.skip != 0) at_.position = rows.NthLive(std::exchange(at_.skip, 0));
    const uint64_t first = at_.position;
    uint64_t end = std::min(rows.physical(), first + size.rows());
    std::vector<uint64_t> breaks = reader->PageEnds(first, end);
    // Half a page at the end is better read together with its other half.
    if (end < rows.physical() && !breaks.empty() && breaks.back() - first >= (end - first) / 2) end = breaks.back();
    uint64_t live = rows.LiveIn(first, end);
    if (live > at_.left) {
      end = rows.NthLive(rows.LiveIn(0, first) + at_.left - 1) + 1;
      live = at_.left;
    }
    at_.left -= live;
    at_.position = end;
    if (end == rows.physical()) at_ = {at_.fragment + 1, 0, 0, at_.left};
    if (live == 0) continue;
    std::erase_if(breaks, [&](uint64_t row) { return row >= end; });
    return Block{reader, first, end, std::move(breaks), begin};
  }
}

void ScanPlan::OpenAhead(size_t most) {
  if (opened_.empty() || at_.skip != 0) return;
  uint64_t wanted = at_.left;
  for (size_t next = at_.fragment; next < fragments_.size() && next <= at_.fragment + most && wanted > 0; ++next) {
    const std::optional<uint64_t> live = KnownLiveRows(*fragments_[next]);
    if (!live) return;
    if (next >= first_opened_ + opened_.size()) {
      Opened& opened = opened_.emplace_back();
      if (*live == 0) continue;
      opened.opening = std::make_unique<Ahead<std::shared_ptr<const FragmentReader>>>(
          table_->session->runtime(), "open fragment",
          [table = table_, fragment = fragments_[next], this] { return OpenFragment(table, *fragment, projection_); });
    }
    wanted -= std::min(wanted, *live);
  }
}

void ScanPlan::Forget(size_t fragment) {
  while (!opened_.empty() && first_opened_ < fragment) {
    opened_.pop_front();
    ++first_opened_;
  }
}

}  // namespace javelin::internal
