#include "javelin/file/fsst_encoder.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace javelin::file {

namespace {

using String = std::span<const uint8_t>;

constexpr int kRounds = 5;
constexpr size_t kMaxSymbols = 255;
constexpr unsigned kMaxSymbolBytes = 8;
constexpr uint64_t kMagic = 0x46535354;
// A pair of codes seen less often than once in this many bytes of the sample is chance.
constexpr size_t kBytesPerPair = 3276;
// A byte without a symbol takes two bytes instead of one, which weighs more than the bytes it covers say.
constexpr uint64_t kSingleByteBonus = 4;

uint64_t MaskOf(unsigned length) { return length == 8 ? ~uint64_t{0} : (uint64_t{1} << length * 8) - 1; }

// Calls `visit(Match, first byte)` for each step of an encoding.
template <typename Visit>
void Walk(const FsstMatcher& matcher, String string, const Visit& visit) {
  const uint8_t* in = string.data();
  const uint8_t* end = in + string.size();
  uint64_t word;
  while (end - in >= 8) {
    std::memcpy(&word, in, 8);
    const FsstMatcher::Match match = matcher.Find(word, 8);
    visit(match, *in);
    in += match.length;
  }
  unsigned rest = static_cast<unsigned>(end - in);
  word = 0;
  if (rest > 0) std::memcpy(&word, in, rest);
  while (rest > 0) {
    const FsstMatcher::Match match = matcher.Find(word, rest);
    visit(match, static_cast<uint8_t>(word));
    word >>= match.length * 8;  // fewer than 8 bytes were left
    rest -= match.length;
  }
}

// The symbols of one round and how often they, and which of them side by side, encode the sample. A byte without a
// symbol counts like a symbol of one byte, with a number behind those of the real ones.
class Round {
 public:
  explicit Round(std::vector<FsstSymbol> symbols)
      : symbols_(std::move(symbols)), counts_(kNumbers), pairs_(kNumbers * kNumbers) {}

  void Count(std::span<const String> sample) {
    const auto matcher = std::make_unique<const FsstMatcher>(symbols_);
    for (String string : sample) {
      size_t previous = kNumbers;
      Walk(*matcher, string, [&](FsstMatcher::Match match, uint8_t first) {
        const size_t number = match.code == FsstMatcher::kEscape ? kLiterals + first : match.code;
        ++counts_[number];
        if (previous < kNumbers) ++pairs_[previous * kNumbers + number];
        previous = number;
      });
    }
  }

  // The best of the symbols and of the pairs of them.
  std::vector<FsstSymbol> Best(size_t sample_bytes) const {
    const size_t min_pairs = std::max<size_t>(sample_bytes / kBytesPerPair, 2);
    std::vector<Candidate> candidates;
    for (size_t a = 0; a < kNumbers; ++a) {
      if (counts_[a] == 0) continue;
      const FsstSymbol symbol = SymbolOf(a);
      candidates.push_back({symbol, counts_[a] * (symbol.length == 1 ? kSingleByteBonus : symbol.length)});
      if (symbol.length == kMaxSymbolBytes) continue;
      for (size_t b = 0; b < kNumbers; ++b) {
        const unsigned count = pairs_[a * kNumbers + b];
        if (count < min_pairs) continue;
        const FsstSymbol joined = Join(symbol, SymbolOf(b));
        candidates.push_back({joined, uint64_t{count} * joined.length});
      }
    }
    return Select(std::move(candidates));
  }

 private:
  static constexpr size_t kLiterals = 256;
  static constexpr size_t kNumbers = 512;

  struct Candidate {
    FsstSymbol symbol;
    uint64_t gain = 0;  // bytes of the sample
  };

  FsstSymbol SymbolOf(size_t number) const {
    return number < kLiterals ? symbols_[number] : FsstSymbol{number - kLiterals, 1};
  }

  static FsstSymbol Join(const FsstSymbol& a, const FsstSymbol& b) {
    return {a.bytes | b.bytes << a.length * 8, std::min(a.length + b.length, kMaxSymbolBytes)};
  }

  // Candidates of the same bytes are one.
  static std::vector<FsstSymbol> Select(std::vector<Candidate> candidates) {
    auto key = [](const Candidate& candidate) { return std::tie(candidate.symbol.bytes, candidate.symbol.length); };
    std::sort(candidates.begin(), candidates.end(),
              [&](const Candidate& left, const Candidate& right) { return key(left) < key(right); });
    size_t kept = 0;
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (kept > 0 && key(candidates[kept - 1]) == key(candidates[i])) {
        candidates[kept - 1].gain += candidates[i].gain;
      } else {
        candidates[kept++] = candidates[i];
      }
    }
    const size_t count = std::min(kept, kMaxSymbols);
    const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(kept);
    std::partial_sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(count), end,
                      [&](const Candidate& left, const Candidate& right) {
                        if (left.gain != right.gain) return left.gain > right.gain;
                        return key(left) < key(right);
                      });
    std::vector<FsstSymbol> symbols;
    for (size_t i = 0; i < count; ++i) symbols.push_back(candidates[i].symbol);
    return symbols;
  }

  std::vector<FsstSymbol> symbols_;
  std::vector<uint16_t> counts_;  // no count can pass the bytes of the sample
  std::vector<uint16_t> pairs_;
};
static_assert(FsstEncoder::kMaxSampleBytes < 1 << 16);

std::vector<String> FirstBytes(std::span<const String> sample) {
  std::vector<String> first;
  size_t room = FsstEncoder::kMaxSampleBytes;
  for (String string : sample) {
    if (room == 0) break;
    first.push_back(string.first(std::min(string.size(), room)));
    room -= first.back().size();
  }
  return first;
}

}  // namespace

FsstMatcher::FsstMatcher(std::span<const FsstSymbol> symbols) {
  auto store = [](Short& place, size_t code, unsigned length) {
    place = {static_cast<uint8_t>(code), static_cast<uint8_t>(length)};
  };
  for (size_t code = 0; code < symbols.size(); ++code) {
    const FsstSymbol& symbol = symbols[code];
    if (symbol.length > 2) {
      long_.push_back(
          {symbol.bytes, MaskOf(symbol.length), static_cast<uint8_t>(code), static_cast<uint8_t>(symbol.length)});
    } else if (symbol.length == 1) {
      store(single_[symbol.bytes], code, 1);
      for (size_t second = 0; second < 256; ++second) {
        Short& place = short_[second << 8 | symbol.bytes];
        if (place.length == 1) store(place, code, 1);
      }
    } else {
      store(short_[symbol.bytes], code, 2);
    }
  }
  std::sort(long_.begin(), long_.end(), [](const Long& left, const Long& right) {
    const unsigned left_bucket = BucketOf(left.bytes);
    const unsigned right_bucket = BucketOf(right.bytes);
    if (left_bucket != right_bucket) return left_bucket < right_bucket;
    return left.length != right.length ? left.length > right.length : left.code < right.code;
  });
  size_t next = 0;
  for (unsigned bucket = 0; bucket < 1 << kBucketBits; ++bucket) {
    bucket_begins_[bucket] = static_cast<uint8_t>(next);
    while (next < long_.size() && BucketOf(long_[next].bytes) == bucket) ++next;
  }
  bucket_begins_[1 << kBucketBits] = static_cast<uint8_t>(next);
}

FsstEncoder::FsstEncoder(std::span<const String> sample) {
  const std::vector<String> strings = FirstBytes(sample);
  size_t sample_bytes = 0;
  for (String string : strings) sample_bytes += string.size();
  for (int i = 0; i < kRounds; ++i) {
    Round round(std::move(symbols_));
    round.Count(strings);
    symbols_ = round.Best(sample_bytes);
  }
  matcher_ = std::make_unique<const FsstMatcher>(symbols_);
}

size_t FsstEncoder::Encode(String plain, uint8_t* out) const {
  uint8_t* target = out;
  Walk(*matcher_, plain, [&](FsstMatcher::Match match, uint8_t first) {
    target[0] = static_cast<uint8_t>(match.code);
    target[1] = first;  // stays only behind an escape
    target += match.code == FsstMatcher::kEscape ? 2 : 1;
  });
  return static_cast<size_t>(target - out);
}

std::array<uint8_t, kFsstTableBytes> FsstEncoder::Table() const {
  std::array<uint8_t, kFsstTableBytes> table{};
  const uint64_t header = kMagic << 32 | uint64_t{1} << 24 | symbols_.size();
  std::memcpy(table.data(), &header, sizeof(header));
  uint8_t* symbols = table.data() + sizeof(header);
  uint8_t* lengths = symbols + symbols_.size() * 8;
  for (size_t code = 0; code < symbols_.size(); ++code) {
    std::memcpy(symbols + code * 8, &symbols_[code].bytes, 8);
    lengths[code] = static_cast<uint8_t>(symbols_[code].length);
  }
  return table;
}

}  // namespace javelin::file
