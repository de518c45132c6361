#include "javelin/index/key_hash.h"

#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/json/from_string.h>

#include "javelin/base/error.h"
#include "javelin/index/key_encoding.h"

namespace javelin::index {
namespace {

using Columns = std::vector<std::shared_ptr<arrow::Array>>;

std::shared_ptr<arrow::Array> Column(const std::shared_ptr<arrow::DataType>& type, const std::string& json) {
  return arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
}

KeyHasher HasherOf(const Columns& columns) {
  std::vector<std::shared_ptr<arrow::DataType>> types;
  for (const auto& column : columns) types.push_back(column->type());
  return KeyHasher::Make(types).ValueOrDie();
}

std::vector<uint64_t> HashAll(const Columns& columns) { return HasherOf(columns).Hash(columns).ValueOrDie(); }

TEST(SipHash, KnownValues) {
  EXPECT_EQ(SipHash13(""), 0xd1fba762150c532cu);
  EXPECT_EQ(SipHash13(std::string_view("\0", 1)), 0x68a914128e01e473u);
}

// Hashes that the released peer uses.
TEST(KeyHash, OfThePeer) {
  EXPECT_EQ(HashAll({Column(arrow::int64(), "[5, 21]")}),
            (std::vector<uint64_t>{0xb8e1d66dc34a747a, 0x54591cf016e3f595}));
  EXPECT_EQ(HashAll({Column(arrow::int32(), "[5]")})[0], 0xefbd061d92145d43u);
  EXPECT_EQ(HashAll({Column(arrow::utf8(), R"(["abc", "k3"])")}),
            (std::vector<uint64_t>{0xfde4b1f7e5502580, 0xcbe7383c50abdab6}));
  EXPECT_EQ(HashAll({Column(arrow::binary(), R"(["abc"])")})[0], 0xf0e2804c09bbbb30u);
  EXPECT_EQ(HashAll({Column(arrow::int32(), "[1]"), Column(arrow::utf8(), R"(["a"])")})[0], 0xca7e249aefd73a4du);
}

// What each type adds to the hashed bytes, where the peer has no rule of its own.
TEST(KeyHash, EveryTypeCountsByValue) {
  auto of_bytes = [](std::string bytes) { return SipHash13(std::string(1, '\0') + bytes); };
  using std::string_literals::operator""s;
  EXPECT_EQ(HashAll({Column(arrow::int8(), "[-2]")})[0], of_bytes("\xfe"));
  EXPECT_EQ(HashAll({Column(arrow::int16(), "[-2]")})[0], of_bytes("\xfe\xff"));
  EXPECT_EQ(HashAll({Column(arrow::uint8(), "[254]")})[0], of_bytes("\xfe"));
  EXPECT_EQ(HashAll({Column(arrow::uint16(), "[513]")})[0], of_bytes("\x01\x02"));
  EXPECT_EQ(HashAll({Column(arrow::uint32(), "[1]")})[0], of_bytes("\x01\0\0\0"s));
  EXPECT_EQ(HashAll({Column(arrow::uint64(), "[1]")})[0], of_bytes("\x01\0\0\0\0\0\0\0"s));
  EXPECT_EQ(HashAll({Column(arrow::boolean(), "[true]")})[0], of_bytes("\x01"));
  EXPECT_EQ(HashAll({Column(arrow::large_utf8(), R"(["abc"])")}), HashAll({Column(arrow::utf8(), R"(["abc"])")}));
  EXPECT_EQ(HashAll({Column(arrow::large_binary(), R"(["abc"])")}), HashAll({Column(arrow::binary(), R"(["abc"])")}));
  EXPECT_EQ(HashAll({Column(arrow::int64(), "[null]")})[0], SipHash13("\x01"));
}

TEST(KeyHash, SlicedColumns) {
  const auto numbers = Column(arrow::int64(), "[1, 5, 21]"), names = Column(arrow::utf8(), R"(["", "x", "abc"])");
  EXPECT_EQ(HashAll({numbers->Slice(1, 1)})[0], 0xb8e1d66dc34a747au);
  EXPECT_EQ(HashAll({names->Slice(2)})[0], 0xfde4b1f7e5502580u);
  EXPECT_EQ(HashAll({numbers->Slice(1), names->Slice(1)}),
            (std::vector<uint64_t>{HashAll({numbers, names})[1], HashAll({numbers, names})[2]}));
}

// A key that is known by its encoding alone has the same hash.
TEST(KeyHash, OfEncodedKeys) {
  const Columns columns = {
      Column(arrow::int8(), "[-128, 127, 0, null]"),
      Column(arrow::int16(), "[-32768, 32767, -1, null]"),
      Column(arrow::int32(), "[-2147483648, 2147483647, 5, null]"),
      Column(arrow::int64(), "[-9223372036854775808, 9223372036854775807, 21, null]"),
      Column(arrow::uint8(), "[0, 255, 1, null]"),
      Column(arrow::uint16(), "[0, 65535, 1, null]"),
      Column(arrow::uint32(), "[0, 4294967295, 1, null]"),
      Column(arrow::uint64(), "[0, 18446744073709551615, 1, null]"),
      Column(arrow::boolean(), "[true, false, true, null]"),
      Column(arrow::utf8(), R"(["", "k3", "a\u0000b\u0000\u0000", null])"),
      Column(arrow::large_utf8(), R"(["\u00ff", "\u0000", "abc", null])"),
      Column(arrow::binary(), R"(["", "\u0000\u0000", "abc", null])"),
      Column(arrow::large_binary(), R"(["x", "", "\u0000\u00ff", null])"),
  };
  std::vector<Columns> keys = {columns, {columns[2], columns[9]}, {columns[11], columns[3]}};
  for (const auto& column : columns) keys.push_back({column});
  for (const Columns& key : keys) {
    std::vector<std::shared_ptr<arrow::DataType>> types;
    for (const auto& column : key) types.push_back(column->type());
    std::vector<std::string> encoded;
    ASSERT_TRUE(KeyEncoder::Make(types).ValueOrDie().Encode(key, &encoded).ok());
    std::vector<uint64_t> hashes;
    for (const std::string& bytes : encoded) hashes.push_back(HasherOf(key).HashEncoded(bytes).ValueOrDie());
    EXPECT_EQ(hashes, HashAll(key)) << types[0]->ToString();
    for (const std::string& wrong : {std::string(), encoded[0] + "x", encoded[0].substr(0, encoded[0].size() - 1)})
      EXPECT_TRUE(HasKind(HasherOf(key).HashEncoded(wrong).status(), ErrorKind::kInternal)) << types[0]->ToString();
  }
}

TEST(KeyHash, WhatThePeerHashesToo) {
  for (const auto& type : {arrow::int32(), arrow::int64(), arrow::utf8(), arrow::binary()})
    EXPECT_TRUE(KeyHasher::Make({arrow::int64(), type}).ValueOrDie().SharedWithPeer()) << type->ToString();
  for (const auto& type : {arrow::int8(), arrow::int16(), arrow::uint8(), arrow::uint16(), arrow::uint32(),
                           arrow::uint64(), arrow::boolean(), arrow::large_utf8(), arrow::large_binary()}) {
    EXPECT_FALSE(KeyHasher::Make({arrow::int64(), type}).ValueOrDie().SharedWithPeer()) << type->ToString();
  }
}

TEST(KeyHash, RefusesWhatItWasNotMadeFor) {
  EXPECT_TRUE(HasKind(KeyHasher::Make({arrow::float64()}).status(), ErrorKind::kInvalidInput));
  const KeyHasher hasher = KeyHasher::Make({arrow::int32(), arrow::utf8()}).ValueOrDie();
  auto refused = [&](const Columns& columns) {
    return HasKind(hasher.Hash(columns).status(), ErrorKind::kInvalidInput);
  };
  EXPECT_TRUE(refused({Column(arrow::int32(), "[1]")}));
  EXPECT_TRUE(refused({Column(arrow::int64(), "[1]"), Column(arrow::utf8(), R"(["a"])")}));
  EXPECT_TRUE(refused({Column(arrow::int32(), "[1, 2]"), Column(arrow::utf8(), R"(["a"])")}));
}

}  // namespace
}  // namespace javelin::index
