// For tests: different keys whose encoded forms (index/key_encoding.h) have the same std::hash.
//
// The hash takes eight bytes at a time and every step of it can be undone. So the last whole block of one key can be
// computed from the hash of another; the few computed blocks whose bytes make a key are found by trying. Keys of fewer
// than 64 free bits have no collisions to be found.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "javelin/base/seeded_random.h"

namespace javelin::memwal::test {

// The number with which an odd one multiplies to 1 modulo 2^64.
constexpr uint64_t InverseOf(uint64_t odd) {
  uint64_t inverse = odd;  // right in three bits; each step doubles that
  for (int i = 0; i < 5; ++i) inverse *= 2 - odd * inverse;
  return inverse;
}

// std::hash<std::string_view> of libstdc++, for inputs of one length: what a block does to the state, and back.
class BlockHash {
 public:
  static uint64_t Add(uint64_t state, uint64_t block) { return (state ^ Mixed(block)) * kFactor; }
  // The block that leads from `state` to `wanted`.
  static uint64_t BlockBetween(uint64_t state, uint64_t wanted) { return Unmixed((wanted * kInverse) ^ state); }
  // The same for what is left after the last whole block: it is not mixed.
  static uint64_t AddRest(uint64_t state, uint64_t rest) { return (state ^ rest) * kFactor; }
  static uint64_t StateBeforeRest(uint64_t wanted, uint64_t rest) { return (wanted * kInverse) ^ rest; }
  static uint64_t Begin(size_t length) { return kSeed ^ (length * kFactor); }

 private:
  static constexpr uint64_t kSeed = 0xc70f6907;
  static constexpr uint64_t kFactor = 0xc6a4a7935bd1e995;
  static constexpr uint64_t kInverse = InverseOf(kFactor);
  static uint64_t Folded(uint64_t value) { return value ^ (value >> 47); }  // its own inverse
  static uint64_t Mixed(uint64_t block) { return Folded(block * kFactor) * kFactor; }
  static uint64_t Unmixed(uint64_t mixed) { return Folded(mixed * kInverse) * kInverse; }
};

inline uint64_t BlockOf(std::string_view eight) {
  uint64_t block;
  std::memcpy(&block, eight.data(), sizeof(block));
  return block;
}
inline std::string BytesOf(uint64_t block) { return std::string(reinterpret_cast<const char*>(&block), sizeof(block)); }

// Letters, digits and signs that JSON takes as they are.
inline bool IsPlain(std::string_view text) {
  for (const char letter : text)
    if (letter < ' ' || letter > '~' || letter == '"' || letter == '\\') return false;
  return true;
}
inline std::string RandomPlain(SeededRandom& random, size_t length) {
  std::string text;
  while (text.size() < length) text.push_back(static_cast<char>(random.Between('a', 'z')));
  return text;
}

// Three endings of eight plain bytes that lead to one state after different beginnings, which `begin` draws: all of one
// length, a multiple of eight. Returns {beginning, ending} each.
template <typename Begin>
std::vector<std::pair<std::string, std::string>> CollidingEnds(size_t length_after, const Begin& begin) {
  SeededRandom random(1);
  const auto state_after = [&](const std::string& beginning) {
    uint64_t state = BlockHash::Begin(beginning.size() + 8 + length_after);
    for (size_t i = 0; i < beginning.size(); i += 8) state = BlockHash::Add(state, BlockOf(beginning.substr(i)));
    return state;
  };
  std::vector<std::pair<std::string, std::string>> found = {{begin(random), RandomPlain(random, 8)}};
  const uint64_t wanted = BlockHash::Add(state_after(found[0].first), BlockOf(found[0].second));
  while (found.size() < 3) {
    const std::string beginning = begin(random);
    const std::string ending = BytesOf(BlockHash::BlockBetween(state_after(beginning), wanted));
    if (IsPlain(ending)) found.emplace_back(beginning, ending);
  }
  return found;
}

// As JSON. Encoded: 01, fifteen letters, 00 00.
inline std::vector<std::string> CollidingWords() {
  std::vector<std::string> words;
  for (const auto& [beginning, ending] :
       CollidingEnds(2, [](SeededRandom& random) { return '\x01' + RandomPlain(random, 7); }))
    words.push_back(fmt::format("\"{}{}\"", beginning.substr(1), ending));
  return words;
}

// A number and fourteen letters. Encoded: 01, eight bytes, 01, the letters, 00 00.
inline std::vector<std::string> CollidingPairs() {
  std::vector<std::string> pairs;
  for (const auto& [beginning, ending] : CollidingEnds(2, [](SeededRandom& random) {
         const std::string number = {'\x01', '\x80', 0, 0, 0, 0, 0, 0, static_cast<char>(random.Between(1, 3))};
         return number + '\x01' + RandomPlain(random, 6);
       })) {
    pairs.push_back(fmt::format("{}, \"{}{}\"", int{beginning[8]}, beginning.substr(10), ending));
  }
  return pairs;
}

// Encoded: 01, eight bytes in big-endian order, the sign bit flipped where there is one. The last byte is added on its
// own after the block.
inline std::vector<std::string> CollidingNumbers(bool is_signed) {
  SeededRandom random(2);
  const auto number_of = [&](uint64_t block, uint8_t last) {
    const uint64_t value = (__builtin_bswap64(block) << 8) | last;
    return is_signed ? fmt::format("{}", static_cast<int64_t>(value ^ (uint64_t{1} << 63))) : fmt::format("{}", value);
  };
  const uint64_t begin = BlockHash::Begin(9);
  std::vector<std::string> numbers;
  while (numbers.size() < 3) {
    const uint64_t block = (random.Next() << 8) | 1;
    numbers = {number_of(block, 0)};
    const uint64_t wanted = BlockHash::AddRest(BlockHash::Add(begin, block), 0);
    for (uint64_t last = 1; last < 256 && numbers.size() < 3; ++last) {
      const uint64_t other = BlockHash::BlockBetween(begin, BlockHash::StateBeforeRest(wanted, last));
      if ((other & 0xff) == 1) numbers.push_back(number_of(other, static_cast<uint8_t>(last)));
    }
  }
  return numbers;
}

}  // namespace javelin::memwal::test
