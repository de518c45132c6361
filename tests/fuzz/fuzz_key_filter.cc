// Any bytes either are a key filter, which answers every question, or are Corruption. What was added is never denied.
#include <bit>
#include <cstring>

#include "javelin/base/error.h"
#include "javelin/index/bloom_filter.h"

namespace javelin::index {
namespace {

void Require(bool holds) {
  if (!holds) __builtin_trap();
}

void Check(const std::string& bytes, const std::vector<uint64_t>& hashes) {
  // A buffer of exactly this size, so that the sanitizer sees a read behind its end.
  auto filter = BloomFilter::FromBytes(*arrow::Buffer::FromString(bytes));
  if (!filter.ok()) {
    Require(KindOf(filter.status()) == ErrorKind::kCorruption);
    return;
  }
  Require(filter->ToBytes()->ToString() == bytes);
  const bool empty_page = filter->HasEmptyPage();
  std::vector<bool> before;
  for (const uint64_t hash : hashes) before.push_back(filter->MayContain(hash));
  filter->Add(hashes);
  for (const uint64_t hash : hashes) Require(filter->MayContain(hash));
  if (!empty_page) Require(!filter->HasEmptyPage());
  if (std::find(before.begin(), before.end(), false) == before.end()) Require(filter->ToBytes()->ToString() == bytes);
}

}  // namespace
}  // namespace javelin::index

// The words of the input are the hashes asked for too. As most lengths are none of a filter, the same bytes are tried
// with zeros up to the next one that is.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kMostHashes = 64;
  constexpr size_t kSmallestFilter = 32;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  std::vector<uint64_t> hashes = {0, UINT64_MAX, UINT64_MAX << 32, UINT32_MAX};
  for (size_t at = 0; at + sizeof(uint64_t) <= size && hashes.size() < kMostHashes; at += sizeof(uint64_t)) {
    std::memcpy(&hashes.emplace_back(), data + at, sizeof(uint64_t));
  }
  javelin::index::Check(bytes, hashes);
  bytes.resize(std::bit_ceil(std::max(size, kSmallestFilter)));
  javelin::index::Check(bytes, hashes);
  return 0;
}
