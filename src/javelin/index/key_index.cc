#include "javelin/index/key_index.h"

#include <cstring>

#include "javelin/base/error.h"

namespace javelin::index {

namespace {
constexpr uint64_t kFirstTableRows = 64;
constexpr uint64_t kFirstChunk = 1024;
constexpr uint64_t kLargestChunk = 1u << 20;
constexpr uint64_t kMaxRows = 0xffff'fffe;
}  // namespace

// Chains of rows by hash. A row is pushed at the head of its chain, so chains run from newer to older rows. `next` of a
// row is written once, before the head that leads to it is released; a full table is replaced by a larger one that is
// complete before it is published.
struct KeyIndex::Table {
  explicit Table(uint64_t capacity)
      : capacity(capacity),
        heads(std::make_unique<std::atomic<uint32_t>[]>(capacity)),
        next(std::make_unique<uint32_t[]>(capacity)) {}

  void Push(uint64_t row, uint64_t hash) {
    std::atomic<uint32_t>& head = heads[hash & (capacity - 1)];
    next[row] = head.load(std::memory_order_relaxed);
    head.store(static_cast<uint32_t>(row + 1), std::memory_order_release);
  }
  uint64_t bytes() const { return capacity * (sizeof(uint32_t) + sizeof(std::atomic<uint32_t>)); }

  const uint64_t capacity;                         // rows and chains; a power of two
  std::unique_ptr<std::atomic<uint32_t>[]> heads;  // newest row of the chain + 1; 0 = empty
  std::unique_ptr<uint32_t[]> next;                // next older row of the chain + 1
};

KeyIndex::KeyIndex() {
  tables_.push_back(std::make_unique<Table>(kFirstTableRows));
  table_.store(tables_.back().get(), std::memory_order_release);
  table_bytes_ = tables_.back()->bytes();
}

KeyIndex::~KeyIndex() = default;

arrow::Status KeyIndex::Add(std::string_view key) {
  if (rows_ >= kMaxRows) return Internal("a MemTable cannot index more than {} rows", kMaxRows);
  if (rows_ == tables_.back()->capacity) GrowTable();
  const HashedKey hashed(key);
  if (!has_overrides_.load(std::memory_order_relaxed) && Contains(hashed, rows_)) {
    has_overrides_.store(true, std::memory_order_release);
  }
  row_of_.Grow(rows_) = {Store(key), key.size(), hashed.hash};
  tables_.back()->Push(rows_, hashed.hash);
  ++rows_;
  memory_bytes_.store(row_of_.allocated_bytes() + table_bytes_ + chunk_bytes_, std::memory_order_relaxed);
  return arrow::Status::OK();
}

template <typename Visit>
void KeyIndex::Walk(const HashedKey& key, uint64_t bound, const Visit& visit) const {
  const Table& table = *table_.load(std::memory_order_acquire);
  uint32_t link = table.heads[key.hash & (table.capacity - 1)].load(std::memory_order_acquire);
  while (link != 0) {
    const uint32_t row = link - 1;
    if (row < bound) {
      const Row& entry = row_of_[row];
      if (entry.hash == key.hash && std::string_view(entry.key, entry.size) == key.bytes && !visit(row)) return;
    }
    link = table.next[row];
  }
}

std::optional<uint64_t> KeyIndex::FindNewest(const HashedKey& key, uint64_t bound) const {
  std::optional<uint64_t> found;
  Walk(key, bound, [&](uint64_t row) {
    found = row;
    return false;
  });
  return found;
}

std::vector<uint64_t> KeyIndex::FindAll(const HashedKey& key, uint64_t bound) const {
  std::vector<uint64_t> found;
  Walk(key, bound, [&](uint64_t row) {
    found.push_back(row);
    return true;
  });
  return found;
}

HashedKey KeyIndex::KeyOf(uint64_t row) const {
  const Row& entry = row_of_[row];
  return {std::string_view(entry.key, entry.size), entry.hash};
}

const char* KeyIndex::Store(std::string_view key) {
  if (key.empty()) return "";
  if (key.size() > chunk_left_) {
    const uint64_t size = std::max<uint64_t>(key.size(), std::clamp(chunk_bytes_, kFirstChunk, kLargestChunk));
    key_chunks_.push_back(std::make_unique<char[]>(size));
    chunk_next_ = key_chunks_.back().get();
    chunk_left_ = size;
    chunk_bytes_ += size;
  }
  char* place = chunk_next_;
  std::memcpy(place, key.data(), key.size());
  chunk_next_ += key.size();
  chunk_left_ -= key.size();
  return place;
}

void KeyIndex::GrowTable() {
  auto larger = std::make_unique<Table>(tables_.back()->capacity * 2);
  for (uint64_t row = 0; row < rows_; ++row) larger->Push(row, row_of_[row].hash);
  table_bytes_ += larger->bytes();
  tables_.push_back(std::move(larger));
  table_.store(tables_.back().get(), std::memory_order_release);
}

}  // namespace javelin::index
