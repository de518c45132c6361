#include "javelin/index/bloom_filter.h"

#include <bit>

#include "javelin/base/error.h"

namespace javelin::index {

namespace {

constexpr size_t kWordsPerBlock = 8;
constexpr int64_t kBlockBytes = kWordsPerBlock * sizeof(uint32_t);
constexpr int64_t kMaxBytes = int64_t{128} << 20;
constexpr uint32_t kSalts[kWordsPerBlock] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                             0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};
static_assert(std::endian::native == std::endian::little, "words are stored as they lie in memory");

size_t FirstWordOf(uint64_t hash, size_t num_words) {
  const uint64_t blocks = num_words / kWordsPerBlock;
  return static_cast<size_t>((hash >> 32) * blocks >> 32) * kWordsPerBlock;
}

uint32_t BitOf(uint64_t hash, size_t word) { return uint32_t{1} << (static_cast<uint32_t>(hash) * kSalts[word] >> 27); }

}  // namespace

arrow::Result<BloomFilter> BloomFilter::FromBytes(const arrow::Buffer& bytes) {
  const int64_t size = bytes.size();
  if (size < kBlockBytes || size > kMaxBytes || !std::has_single_bit(static_cast<uint64_t>(size)))
    return Corruption("a key filter of {} bytes; it has a power of two from {} to {}", size, kBlockBytes, kMaxBytes);
  BloomFilter filter;
  filter.words_.resize(static_cast<size_t>(size) / sizeof(uint32_t));
  std::memcpy(filter.words_.data(), bytes.data(), static_cast<size_t>(size));
  return filter;
}

void BloomFilter::Add(uint64_t hash) {
  uint32_t* block = words_.data() + FirstWordOf(hash, words_.size());
  for (size_t i = 0; i < kWordsPerBlock; ++i) block[i] |= BitOf(hash, i);
}

void BloomFilter::Add(std::span<const uint64_t> hashes) {
  for (uint64_t hash : hashes) Add(hash);
}

bool BloomFilter::MayContain(uint64_t hash) const {
  const uint32_t* block = words_.data() + FirstWordOf(hash, words_.size());
  for (size_t i = 0; i < kWordsPerBlock; ++i) {
    if ((block[i] & BitOf(hash, i)) == 0) return false;
  }
  return true;
}

std::shared_ptr<arrow::Buffer> BloomFilter::ToBytes() const {
  return arrow::Buffer::FromString(
      std::string(reinterpret_cast<const char*>(words_.data()), words_.size() * sizeof(uint32_t)));
}

bool BloomFilter::HasEmptyPage() const {
  constexpr size_t kPageWords = 4096 / sizeof(uint32_t);
  for (size_t page = 0; page < words_.size(); page += kPageWords) {
    const auto words = std::span(words_).subspan(page, std::min(kPageWords, words_.size() - page));
    if (std::all_of(words.begin(), words.end(), [](uint32_t word) { return word == 0; })) return true;
  }
  return false;
}

}  // namespace javelin::index
