// Finds the rows of a MemTable by primary key: newest version at or below a bound, older ones behind it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <arrow/status.h>

#include "javelin/base/segmented_array.h"

namespace javelin::index {

// An encoded key (key_encoding.h) with its hash, computed once for all indexes that it is looked up in.
struct HashedKey {
  explicit HashedKey(std::string_view bytes) : bytes(bytes), hash(std::hash<std::string_view>{}(bytes)) {}
  HashedKey(std::string_view bytes, uint64_t hash) : bytes(bytes), hash(hash) {}
  std::string_view bytes;
  uint64_t hash;
};

// A hash table over rows. One producer adds rows in order of position; readers run beside it without a lock. A reader
// sees every row below a bound that it acquired from the producer after the producer had added those rows (the
// `indexed` cursor).
class KeyIndex {
 public:
  KeyIndex();
  ~KeyIndex();
  KeyIndex(const KeyIndex&) = delete;

  // Producer only: the next row has this key. Internal beyond 2^32 - 1 rows.
  arrow::Status Add(std::string_view key);

  // Position of the newest row of the key below `bound`; nullopt if there is none.
  std::optional<uint64_t> FindNewest(const HashedKey& key, uint64_t bound) const;
  bool Contains(const HashedKey& key, uint64_t bound) const { return FindNewest(key, bound).has_value(); }
  // All positions of the key below `bound`, newest first.
  std::vector<uint64_t> FindAll(const HashedKey& key, uint64_t bound) const;
  // Key of a row; `row` below a bound as above. Valid as long as the index.
  HashedKey KeyOf(uint64_t row) const;

  // True once some key was added twice. Set before the second row can be found.
  bool has_overrides() const { return has_overrides_.load(std::memory_order_acquire); }
  uint64_t num_rows() const { return rows_; }  // producer only
  uint64_t memory_bytes() const { return memory_bytes_.load(std::memory_order_relaxed); }

 private:
  struct Row {
    const char* key = nullptr;
    uint64_t size = 0;
    uint64_t hash = 0;
  };
  struct Table;

  // Calls `visit(row)` for the rows of the key below `bound`, newest first, until it returns false.
  template <typename Visit>
  void Walk(const HashedKey& key, uint64_t bound, const Visit& visit) const;
  const char* Store(std::string_view key);
  void GrowTable();

  SegmentedArray<Row> row_of_;
  uint64_t rows_ = 0;
  std::atomic<const Table*> table_;
  std::vector<std::unique_ptr<Table>> tables_;  // smaller ones stay: a reader may still walk them
  std::vector<std::unique_ptr<char[]>> key_chunks_;
  char* chunk_next_ = nullptr;
  uint64_t chunk_left_ = 0;
  uint64_t chunk_bytes_ = 0;
  uint64_t table_bytes_ = 0;
  std::atomic<bool> has_overrides_{false};
  std::atomic<uint64_t> memory_bytes_{0};
};

}  // namespace javelin::index
