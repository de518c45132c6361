// Learning an FSST symbol table from a sample of strings, and encoding with it (docs/format.md, "Fsst"). The method is
// that of Boncz, Neumann, Leis: "FSST: Fast Random Access String Compression", VLDB 2020.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "javelin/file/fsst.h"

namespace javelin::file {

// A sequence of 1 to 8 bytes that a code stands for.
struct FsstSymbol {
  uint64_t bytes = 0;  // the first byte lowest; zero behind `length`
  unsigned length = 0;
};

// Finds the longest symbol that a string begins with.
class FsstMatcher {
 public:
  static constexpr unsigned kEscape = 255;
  struct Match {
    unsigned code = kEscape;  // kEscape if no symbol fits: the byte stands for itself
    unsigned length = 1;
  };

  // At most 255 symbols, all different; the code of a symbol is its index.
  explicit FsstMatcher(std::span<const FsstSymbol> symbols);

  // `word` holds the next bytes, the first lowest, of which `available` (1 to 8) belong to the string.
  Match Find(uint64_t word, unsigned available) const {
    for (unsigned i = bucket_begins_[BucketOf(word)]; i < bucket_begins_[BucketOf(word) + 1]; ++i) {
      const Long& symbol = long_[i];
      if (((word ^ symbol.bytes) & symbol.mask) == 0 && symbol.length <= available) return {symbol.code, symbol.length};
    }
    Short found = short_[word & 0xFFFF];
    if (found.length > available) found = single_[word & 0xFF];
    return {found.code, found.length};
  }

 private:
  static constexpr unsigned kBucketBits = 12;
  struct Long {  // 3 bytes or more
    uint64_t bytes;
    uint64_t mask;
    uint8_t code;
    uint8_t length;
  };
  struct Short {
    uint8_t code = kEscape;
    uint8_t length = 1;
  };
  static unsigned BucketOf(uint64_t word) {
    return (static_cast<uint32_t>(word & 0xFFFFFF) * 0x9E3779B1u) >> (32 - kBucketBits);
  }

  std::vector<Long> long_;  // by bucket; in a bucket the longest first
  std::array<uint8_t, (1 << kBucketBits) + 1> bucket_begins_{};
  std::array<Short, 1 << 16> short_{};  // by the first two bytes
  std::array<Short, 256> single_{};     // by the first byte
};

class FsstEncoder {
 public:
  static constexpr size_t kMaxSampleBytes = 32 << 10;

  // Learns from the first kMaxSampleBytes of `sample`, in order. Any strings can be encoded afterwards; those like the
  // sample become short. Takes about a millisecond.
  explicit FsstEncoder(std::span<const std::span<const uint8_t>> sample);

  // Room that Encode may write to: every byte may need an escape.
  static constexpr size_t Capacity(size_t plain) { return plain * 2; }
  // Encodes one string to `out` (Capacity(plain.size()) bytes of room) and returns its length.
  size_t Encode(std::span<const uint8_t> plain, uint8_t* out) const;

  std::array<uint8_t, kFsstTableBytes> Table() const;

 private:
  std::vector<FsstSymbol> symbols_;
  std::unique_ptr<const FsstMatcher> matcher_;  // large
};

}  // namespace javelin::file
