// The key filter of an SSTable: which primary keys it surely does not hold (docs/format.md, "MemWAL: key filter").
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <arrow/buffer.h>
#include <arrow/result.h>

namespace javelin::index {

// A split-block bloom filter over hashes of keys (KeyHasher::Hash), 32 bytes a block. Adding is not thread-safe.
class BloomFilter {
 public:
  static constexpr uint64_t kDefaultBytes = 32768;

  BloomFilter() : words_(kDefaultBytes / sizeof(uint32_t), 0) {}
  // A stored filter. Corruption unless its size is a power of two from 32 bytes to 128 MiB.
  static arrow::Result<BloomFilter> FromBytes(const arrow::Buffer& bytes);

  void Add(uint64_t hash);
  void Add(std::span<const uint64_t> hashes);
  // False: surely not added. True: perhaps.
  bool MayContain(uint64_t hash) const;
  // A page of 4096 bytes is empty, as where a loss of power took a file that nobody had synced, or there are hardly any
  // keys. Without a checksum nothing else tells, and such a filter would hide keys.
  bool HasEmptyPage() const;
  // The stored form.
  std::shared_ptr<arrow::Buffer> ToBytes() const;

 private:
  std::vector<uint32_t> words_;
};

}  // namespace javelin::index
