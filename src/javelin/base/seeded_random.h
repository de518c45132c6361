// A small generator for tests and simulations: the same seed gives the same numbers everywhere, for ever.
#pragma once

#include <cstdint>

namespace javelin {

// splitmix64. Not for anything that must be hard to guess.
class SeededRandom {
 public:
  // `stream` separates generators of the same seed.
  explicit SeededRandom(uint64_t seed, uint64_t stream = 0) : state_(Mix(seed ^ Mix(stream + 1))) {}

  uint64_t Next() { return Mix(state_ += 0x9e3779b97f4a7c15u); }
  // Uniform in [0, limit); limit > 0.
  uint64_t Below(uint64_t limit) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Next()) * limit) >> 64);
  }
  // Uniform in [low, high].
  int64_t Between(int64_t low, int64_t high) { return low + static_cast<int64_t>(Below(high - low + 1)); }
  // True once in n on average; never for n = 0.
  bool OneIn(uint64_t n) { return n != 0 && Below(n) == 0; }
  // 2^low .. 2^high, all magnitudes alike.
  int64_t Magnitude(int low, int high) {
    const int64_t power = int64_t{1} << Between(low, high);
    return power + static_cast<int64_t>(Below(power));
  }

  static uint64_t Mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }

 private:
  uint64_t state_;
};

}  // namespace javelin
