#include "javelin/index/key_encoding.h"

#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/json/from_string.h>

#include "javelin/base/error.h"

namespace javelin::index {
namespace {

std::shared_ptr<arrow::Array> Column(const std::shared_ptr<arrow::DataType>& type, const std::string& json) {
  return arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
}

std::string Hex(const std::string& bytes) {
  std::string hex;
  for (unsigned char byte : bytes) hex += fmt::format("{:02x}", byte);
  return hex;
}

std::vector<std::string> EncodeAll(const std::vector<std::shared_ptr<arrow::Array>>& columns) {
  std::vector<std::shared_ptr<arrow::DataType>> types;
  for (const auto& column : columns) types.push_back(column->type());
  auto encoder = KeyEncoder::Make(types).ValueOrDie();
  std::vector<std::string> keys;
  EXPECT_TRUE(encoder.Encode(columns, &keys).ok());
  return keys;
}

std::shared_ptr<arrow::Array> Binary(std::string bytes) {
  arrow::BinaryBuilder builder;
  EXPECT_TRUE(builder.Append(bytes).ok());
  return builder.Finish().ValueOrDie();
}

std::shared_ptr<arrow::Array> Text(std::string_view bytes) {
  arrow::StringBuilder builder;
  EXPECT_TRUE(builder.Append(bytes).ok());
  return builder.Finish().ValueOrDie();
}

// The bytes that a released peer wrote into its key index.
TEST(KeyEncoding, BytesOfThePeer) {
  struct Vector {
    std::vector<std::shared_ptr<arrow::Array>> key;
    const char* hex;
  };
  using arrow::int32;
  using std::string_literals::operator""s;
  const Vector vectors[] = {
      {{Column(int32(), "[1]"), Text("x")}, "01800000000000000101780000"},
      {{Column(int32(), "[-1]"), Text("q\0z"s)}, "017fffffffffffffff017100ff7a0000"},
      {{Column(int32(), "[1]"), Text("a")}, "01800000000000000101610000"},
      {{Column(int32(), "[1]"), Text("ab")}, "0180000000000000010161620000"},
      {{Column(int32(), "[-1]"), Text("z")}, "017fffffffffffffff017a0000"},
      {{Column(int32(), "[2]"), Text("")}, "018000000000000002010000"},
      {{Column(arrow::uint64(), "[1]"), Binary("a\0b"s), Column(arrow::boolean(), "[true]")},
       "010000000000000001016100ff6200000101"},
      {{Column(arrow::uint64(), "[9223372036854775813]"), Binary("\xff"), Column(arrow::boolean(), "[true]")},
       "01800000000000000501ff00000101"},
      {{Column(arrow::utf8(), "[null]"), Column(arrow::boolean(), "[false]")}, "000100"},
  };
  for (const Vector& vector : vectors) EXPECT_EQ(Hex(EncodeAll(vector.key).at(0)), vector.hex);
}

TEST(KeyEncoding, EveryWidthGivesTheSameBytesForTheSameNumber) {
  for (const auto& type : {arrow::int8(), arrow::int16(), arrow::int32(), arrow::int64()}) {
    EXPECT_EQ(Hex(EncodeAll({Column(type, "[-2]")})[0]), "017ffffffffffffffe") << type->ToString();
  }
  for (const auto& type : {arrow::uint8(), arrow::uint16(), arrow::uint32(), arrow::uint64()}) {
    EXPECT_EQ(Hex(EncodeAll({Column(type, "[200]")})[0]), "0100000000000000c8") << type->ToString();
  }
  for (const auto& type : {arrow::utf8(), arrow::large_utf8(), arrow::binary(), arrow::large_binary()}) {
    EXPECT_EQ(Hex(EncodeAll({Column(type, R"(["ab"])")})[0]), "0161620000") << type->ToString();
  }
}

TEST(KeyEncoding, OrderOfBytesIsOrderOfKeys) {
  auto ascending = [](const std::vector<std::string>& keys) {
    for (size_t i = 1; i < keys.size(); ++i) EXPECT_LT(keys[i - 1], keys[i]) << i;
  };
  ascending(EncodeAll({Column(arrow::int64(), "[null, -9223372036854775808, -1, 0, 1, 9223372036854775807]")}));
  ascending(EncodeAll({Column(arrow::uint64(), "[null, 0, 1, 9223372036854775808, 18446744073709551615]")}));
  ascending(EncodeAll({Column(arrow::boolean(), "[null, false, true]")}));
  ascending(EncodeAll({Column(
      arrow::utf8(), R"([null, "", "\u0000", "\u0000\u0000", "\u0000a", "\u0001", "a", "a\u0000", "ab", "b"])")}));
  // The first column decides, also where the second one of the smaller key is longer.
  ascending(EncodeAll({Column(arrow::utf8(), R"(["a", "a", "ab"])"), Column(arrow::utf8(), R"(["y", "zzzz", ""])")}));
}

TEST(KeyEncoding, SlicedColumnsAndAppending) {
  auto encoder = KeyEncoder::Make({arrow::int32()}).ValueOrDie();
  std::vector<std::string> keys{"kept"};
  ASSERT_TRUE(encoder.Encode({Column(arrow::int32(), "[7, 8, 9]")->Slice(1, 2)}, &keys).ok());
  ASSERT_EQ(keys.size(), 3u);
  EXPECT_EQ(keys[0], "kept");
  EXPECT_EQ(Hex(keys[1]), "018000000000000008");
  EXPECT_EQ(Hex(keys[2]), "018000000000000009");
}

TEST(KeyEncoding, RefusesWhatItWasNotMadeFor) {
  for (const auto& type : {arrow::float64(), arrow::date32(), arrow::null(), arrow::list(arrow::int8())}) {
    EXPECT_FALSE(IsKeyType(*type));
    EXPECT_TRUE(HasKind(KeyEncoder::Make({arrow::int8(), type}).status(), ErrorKind::kInvalidInput))
        << type->ToString();
  }
  auto encoder = KeyEncoder::Make({arrow::int32(), arrow::utf8()}).ValueOrDie();
  std::vector<std::string> keys;
  auto refused = [&](const std::vector<std::shared_ptr<arrow::Array>>& columns) {
    return HasKind(encoder.Encode(columns, &keys), ErrorKind::kInvalidInput);
  };
  EXPECT_TRUE(refused({Column(arrow::int32(), "[1]")}));
  EXPECT_TRUE(refused({Column(arrow::int64(), "[1]"), Text("a")}));
  EXPECT_TRUE(refused({Column(arrow::int32(), "[1, 2]"), Text("a")}));
  EXPECT_TRUE(keys.empty());
}

}  // namespace
}  // namespace javelin::index
