// What the FSST encoder writes, the decoder gives back: whatever was learnt, whatever is encoded.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "javelin/base/seeded_random.h"
#include "javelin/file/fsst_encoder.h"

namespace javelin::file {
namespace {

using Strings = std::vector<std::string>;

std::span<const uint8_t> AsBytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

FsstEncoder Learn(const Strings& sample) {
  std::vector<std::span<const uint8_t>> spans;
  for (const std::string& string : sample) spans.push_back(AsBytes(string));
  return FsstEncoder(spans);
}

std::string Encode(const FsstEncoder& encoder, const std::string& plain) {
  // A guard behind the room that the encoder may use.
  std::string out(FsstEncoder::Capacity(plain.size()) + 8, '\x5A');
  const size_t size = encoder.Encode(AsBytes(plain), reinterpret_cast<uint8_t*>(out.data()));
  EXPECT_EQ(out.substr(FsstEncoder::Capacity(plain.size())), std::string(8, '\x5A'));
  return out.substr(0, size);
}

// Encoded bytes of all strings, each of which must come back.
size_t ExpectRoundTrip(const FsstEncoder& encoder, const Strings& strings) {
  const auto bytes = encoder.Table();
  FsstTable table;
  EXPECT_EQ(table.Parse(bytes), nullptr);
  EXPECT_FALSE(table.stored_plain());
  size_t total = 0;
  for (const std::string& plain : strings) {
    const std::string encoded = Encode(encoder, plain);
    total += encoded.size();
    std::string decoded(FsstTable::Capacity(encoded.size()), '\0');
    const size_t size = table.Decode(AsBytes(encoded), reinterpret_cast<uint8_t*>(decoded.data()));
    EXPECT_EQ(size == FsstTable::kMalformed ? "malformed" : decoded.substr(0, size), plain);
  }
  return total;
}

size_t TotalBytes(const Strings& strings) {
  size_t total = 0;
  for (const std::string& string : strings) total += string.size();
  return total;
}

class RandomStrings {
 public:
  explicit RandomStrings(uint64_t seed) : random_(seed) {}
  size_t Below(size_t limit) { return static_cast<size_t>(random_.Below(limit)); }

  // Bytes of an alphabet: 1 = one byte only, 256 = any.
  std::string Bytes(size_t length, size_t alphabet) {
    const size_t first = Below(257 - alphabet);
    std::string bytes;
    for (size_t i = 0; i < length; ++i) bytes.push_back(static_cast<char>(first + Below(alphabet)));
    return bytes;
  }

  std::string Sentence(size_t words) {
    static const Strings kWords = {"river", "mountain", "a", "of", "consectetur", "Zürich", "", "\xFF\xFF", "same"};
    std::string text;
    for (size_t i = 0; i < words; ++i) text += kWords[Below(kWords.size())] + " ";
    return text;
  }

 private:
  SeededRandom random_;
};

TEST(FsstEncoder, GivesBackStringsOfAnyKind) {
  RandomStrings random(20260101);
  for (int run = 0; run < 60; ++run) {
    SCOPED_TRACE(run);
    const size_t alphabet = std::array<size_t, 6>{1, 2, 5, 64, 255, 256}[random.Below(6)];
    const size_t longest = std::array<size_t, 4>{2, 9, 100, 3000}[random.Below(4)];
    Strings strings;
    for (size_t bytes = 0; bytes < 20'000 && strings.size() < 2000; bytes += strings.back().size())
      strings.push_back(random.Below(3) == 0 ? random.Sentence(random.Below(20))
                                             : random.Bytes(random.Below(longest), alphabet));
    const FsstEncoder encoder = Learn(strings);
    ExpectRoundTrip(encoder, strings);
    // Strings that are nothing like the sample.
    ExpectRoundTrip(encoder, {random.Bytes(5000, 256), random.Bytes(1, 256), "", random.Sentence(50)});
  }
}

TEST(FsstEncoder, NothingLearntEscapesEveryByte) {
  Strings all_bytes(1);
  for (int byte = 0; byte < 256; ++byte) all_bytes[0].push_back(static_cast<char>(byte));
  for (const Strings& sample : {Strings{}, Strings{""}, Strings{"", "", ""}}) {
    const FsstEncoder encoder = Learn(sample);
    EXPECT_EQ(ExpectRoundTrip(encoder, all_bytes), 512u);
    EXPECT_EQ(ExpectRoundTrip(encoder, {"", ""}), 0u);
  }
  // One byte more than there are codes.
  EXPECT_LE(ExpectRoundTrip(Learn(all_bytes), all_bytes), 512u);
}

TEST(FsstEncoder, EverySuffixOfASymbolEndsAString) {
  const std::string word = std::string("abcdefgh\0\0\0\0", 12);
  const FsstEncoder encoder = Learn(Strings(500, word));
  Strings pieces;
  for (size_t begin = 0; begin <= word.size(); ++begin) {
    for (size_t count = 0; begin + count <= word.size(); ++count) pieces.push_back(word.substr(begin, count));
  }
  ExpectRoundTrip(encoder, pieces);
}

TEST(FsstEncoder, FrequentSequencesBecomeShort) {
  RandomStrings random(7);
  Strings sentences;
  for (int i = 0; i < 3000; ++i) sentences.push_back(random.Sentence(12));
  const size_t encoded = ExpectRoundTrip(Learn(sentences), sentences);
  EXPECT_LT(encoded * 4, TotalBytes(sentences));
  // Symbols reach their 8 bytes.
  const Strings same(1000, std::string(64, 'x'));
  EXPECT_EQ(ExpectRoundTrip(Learn(same), same), 8u * 1000);
  // A string longer than the sample may be.
  const Strings one = {std::string(1 << 20, 'y')};
  EXPECT_EQ(ExpectRoundTrip(Learn(one), one), (1u << 20) / 8);
}

TEST(FsstEncoder, TheSameSampleGivesTheSameTable) {
  RandomStrings random(8);
  Strings sentences;
  for (int i = 0; i < 500; ++i) sentences.push_back(random.Sentence(12));
  EXPECT_EQ(Learn(sentences).Table(), Learn(sentences).Table());
}

}  // namespace
}  // namespace javelin::file
