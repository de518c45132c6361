// Pages of version 2.0 by their bytes: encodings of older writers, and damage. The released peer reads the good ones
// alike.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>

#include "lanceproto/encodings_v2_0.pb.h"

#include "javelin/file/crafted_page_internal.h"
#include "javelin/file/file_test_support.h"
#include "javelin/file/page_reader_internal.h"

namespace javelin::file {
namespace {

using namespace testing;

template <typename T>
std::string Raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// One stream of bits, the lowest first.
std::string Stream(const std::vector<int64_t>& values, unsigned width) {
  std::string bytes((values.size() * width + 7) / 8, '\0');
  for (size_t i = 0; i < values.size() * width; ++i) {
    if (values[i / width] >> (i % width) & 1) bytes[i / 8] = static_cast<char>(bytes[i / 8] | 1 << (i % 8));
  }
  return bytes;
}

class PageV20Test : public ::testing::Test {
 protected:
  // Decodes rows of a page given as an ArrayEncoding in text form and buffers.
  arrow::Result<std::shared_ptr<arrow::Array>> Decode(const std::string& encoding,
                                                      const std::vector<std::string>& buffers, uint64_t num_rows,
                                                      const std::shared_ptr<arrow::DataType>& type,
                                                      std::vector<Slice> rows = {}, bool in_dictionary = false) {
    lance::encodings::ArrayEncoding message;
    if (!google::protobuf::TextFormat::ParseFromString(encoding, &message)) return Internal("odd test: {}", encoding);
    std::string file;
    PageMetadata page{
        .num_rows = num_rows, .encoding_name = message.GetTypeName(), .encoding = message.SerializeAsString()};
    for (const std::string& buffer : buffers) {
      page.buffers.push_back({file.size(), buffer.size()});
      file += buffer;
    }
    ARROW_ASSIGN_OR_RAISE(ValueShape shape, ShapeOf(*type));
    shape.in_dictionary = in_dictionary;
    auto environment = std::make_shared<PageEnvironment>(resources_);
    ARROW_ASSIGN_OR_RAISE(auto reader, MakePageReader({page, {2, 0}, shape, kFlatColumn, environment}));
    if (rows.empty()) rows = {{0, num_rows}};
    auto scan = reader->Scan(rows);
    ARROW_RETURN_NOT_OK(SupplyFrom(file, *scan, resources_.pool).status());
    SinkMemory memory(resources_.pool, resources_.memory.get());
    LeafSink sink(shape, kFlatColumn, memory, TotalCount(rows));
    Decompressor decompressor;
    DecodeContext context(memory, decompressor);
    ARROW_RETURN_NOT_OK(scan->Decode(context, sink));
    ARROW_ASSIGN_OR_RAISE(auto data, sink.values().Finish(type));
    auto array = arrow::MakeArray(data);
    ARROW_RETURN_NOT_OK(array->ValidateFull());
    return array;
  }

  // All rows, and some of them apart.
  void ExpectPage(const std::string& encoding, const std::vector<std::string>& buffers,
                  const std::shared_ptr<arrow::Array>& expected, bool in_dictionary = false) {
    const auto rows = static_cast<uint64_t>(expected->length());
    auto all = Decode(encoding, buffers, rows, expected->type(), {}, in_dictionary);
    ASSERT_TRUE(all.ok()) << all.status();
    EXPECT_TRUE((*all)->Equals(expected)) << (*all)->ToString();
    const uint64_t middle = rows / 2;
    auto part = Decode(encoding, buffers, rows, expected->type(), {{1, 1}, {middle, rows - middle}}, in_dictionary);
    ASSERT_TRUE(part.ok()) << part.status();
    const auto wanted =
        arrow::Concatenate({expected->Slice(1, 1), expected->Slice(static_cast<int64_t>(middle))}).ValueOrDie();
    EXPECT_TRUE((*part)->Equals(wanted)) << (*part)->ToString();
  }

  Resources resources_ = TestResources();
};

template <typename Builder, typename Value>
std::shared_ptr<arrow::Array> Array(const std::vector<std::optional<Value>>& values) {
  Builder builder;
  for (const auto& value : values) EXPECT_TRUE((value ? builder.Append(*value) : builder.AppendNull()).ok());
  return builder.Finish().ValueOrDie();
}
auto Strings(const std::vector<std::optional<std::string>>& values) { return Array<arrow::StringBuilder>(values); }

std::string NoNulls(const std::string& values) { return "nullable { no_nulls { values { " + values + " } } }"; }
std::string Flat(int bits, int buffer) {
  return fmt::format("flat {{ bits_per_value: {} buffer {{ buffer_index: {} }} }}", bits, buffer);
}
std::string SomeNulls(const std::string& values) {
  return "nullable { some_nulls { validity { " + Flat(1, 0) + " } values { " + values + " } } }";
}

TEST_F(PageV20Test, BitStreams) {
  const std::string packed =
      "bitpacked { compressed_bits_per_value: 3 uncompressed_bits_per_value: 32 buffer { buffer_index: 0 } ";
  const std::vector<int64_t> small = {-4, 3, -1, 0, 2, -2, 1, 3, -3, 0};
  std::vector<std::optional<int32_t>> numbers(small.begin(), small.end());
  ExpectPage(NoNulls(packed + "signed: true }"), {Stream(small, 3)}, Array<arrow::Int32Builder>(numbers));
  for (auto& number : numbers) *number &= 7;
  ExpectPage(NoNulls(packed + "}"), {Stream(small, 3)}, Array<arrow::Int32Builder>(numbers));
  const std::vector<int64_t> wide = {-1000, 5, 1023, -1024};
  const std::string sixteen =
      "bitpacked { compressed_bits_per_value: 11 uncompressed_bits_per_value: 16 buffer { buffer_index: 1 } "
      "signed: true }";
  ExpectPage(SomeNulls(sixteen), {"\x0D", Stream(wide, 11)},
             Array<arrow::Int16Builder>(std::vector<std::optional<int16_t>>{-1000, std::nullopt, 1023, -1024}));
}

// A unit of 1024 words of 16 bits in 1 bit each: word j of lane l holds its rows.
TEST_F(PageV20Test, UnitsOfPackedValues) {
  constexpr unsigned kOrder[] = {0, 4, 2, 6, 1, 5, 3, 7};
  std::vector<std::optional<int16_t>> values;
  std::vector<uint16_t> words(2 * 64);
  for (unsigned i = 0; i < 1500; ++i) values.push_back(i % 7 == 0);
  for (unsigned row = 0; row < 16; ++row) {
    for (unsigned lane = 0; lane < 64; ++lane) {
      const unsigned index = kOrder[row / 8] * 16 + row % 8 * 128 + lane;
      for (unsigned unit = 0; unit < 2; ++unit) {
        const unsigned at = unit * 1024 + index;
        if (at < values.size() && *values[at] != 0)
          words[unit * 64 + lane] = static_cast<uint16_t>(words[unit * 64 + lane] | 1u << row);
      }
    }
  }
  const std::string packed =
      "bitpacked_for_non_neg { compressed_bits_per_value: 1 uncompressed_bits_per_value: 16 buffer { buffer_index: 0 } "
      "}";
  const auto expected = Array<arrow::Int16Builder>(values);
  ExpectPage(NoNulls(packed), {Raw(words)}, expected);
  EXPECT_TRUE(Decode(NoNulls(packed), {Raw(words)}, 1500, arrow::int16(), {{1020, 9}})
                  .ValueOrDie()
                  ->Equals(expected->Slice(1020, 9)));
  words.resize(64);
  EXPECT_KIND(Decode(NoNulls(packed), {Raw(words)}, 1500, arrow::int16()).status(), ErrorKind::kCorruption,
              "cannot hold 1500");
}

TEST_F(PageV20Test, OddPackingIsRefused) {
  const auto decode = [&](int width, int bits) {
    const std::string packed = fmt::format(
        "bitpacked {{ compressed_bits_per_value: {} uncompressed_bits_per_value: {} buffer {{ buffer_index: 0 }} }}",
        width, bits);
    return Decode(NoNulls(packed), {std::string(8, '\1')}, 4, arrow::int32()).status();
  };
  EXPECT_TRUE(decode(3, 32).ok());
  EXPECT_KIND(decode(0, 32), ErrorKind::kCorruption, "packed in 0");
  EXPECT_KIND(decode(33, 32), ErrorKind::kCorruption, "packed in 33");
  EXPECT_KIND(decode(17, 32), ErrorKind::kCorruption, "cannot hold 4 values of 17 bits");
  EXPECT_KIND(decode(3, 24), ErrorKind::kCorruption, "24 bits");
  EXPECT_KIND(decode(3, 16), ErrorKind::kCorruption, "stand for");
}

TEST_F(PageV20Test, StringsOfOneLength) {
  const std::string strings = "fixed_size_binary { bytes { " + Flat(24, 0) + " } byte_width: 3 }";
  ExpectPage(strings, {"abcdefghi"}, Strings({"abc", "def", "ghi"}));
  ExpectPage(NoNulls("fixed_size_binary { bytes { " + Flat(8, 0) + " } byte_width: 3 }"), {"abcdefghi"},
             Strings({"abc", "def", "ghi"}));
  ExpectPage(SomeNulls("fixed_size_binary { bytes { " + Flat(24, 1) + " } byte_width: 3 }"), {"\x05", "abcdefghi"},
             Strings({"abc", std::nullopt, "ghi"}));
  EXPECT_KIND(Decode(strings, {"abcdefgh"}, 3, arrow::utf8()).status(), ErrorKind::kCorruption, "cannot hold 3");
  EXPECT_KIND(Decode(strings, {"abcdefghi"}, 3, arrow::int32()).status(), ErrorKind::kCorruption, "stand for");
}

std::string Binary(int ends, int bytes, int adjustment) {
  return fmt::format("binary {{ indices {{ {} }} bytes {{ {} }} null_adjustment: {} }}", Flat(64, ends), Flat(8, bytes),
                     adjustment);
}
std::string Dictionary(const std::string& indices, const std::string& items, int num_items) {
  return fmt::format("dictionary {{ indices {{ {} }} items {{ {} }} num_dictionary_items: {} }}", indices, items,
                     num_items);
}

TEST_F(PageV20Test, Dictionaries) {
  const std::string ends = Raw<uint64_t>({1, 2, 3});
  // Of a column of strings: 0 is null.
  ExpectPage(Dictionary(Flat(8, 0), Binary(1, 2, 4), 3), {Raw<uint8_t>({1, 2, 0, 3, 1}), ends, "abc"},
             Strings({"a", "b", std::nullopt, "c", "a"}));
  // Of a dictionary column: counted from 0, a null is an item.
  ExpectPage(Dictionary(Flat(16, 0), Binary(1, 2, 4), 3),
             {Raw<uint16_t>({1, 2, 0, 0}), Raw<uint64_t>({1, 5, 3}), "abc"}, Strings({std::nullopt, "bc", "a", "a"}),
             /*in_dictionary=*/true);
  ExpectPage(Dictionary(Flat(8, 1), SomeNulls(Flat(64, 2)), 3),
             {"\x05", Raw<uint8_t>({2, 1, 0, 0}), Raw<int64_t>({7, 8, 9})},
             Array<arrow::Int64Builder>(std::vector<std::optional<int64_t>>{9, std::nullopt, 7, 7}), true);
  ExpectPage(Dictionary(Flat(8, 0), NoNulls(Flat(1, 1)), 2), {Raw<uint8_t>({1, 0, 1}), "\x02"},
             Array<arrow::BooleanBuilder>(std::vector<std::optional<bool>>{true, false, true}), true);
  // Packed indices.
  const std::string packed =
      "bitpacked { compressed_bits_per_value: 2 uncompressed_bits_per_value: 8 buffer { buffer_index: 0 } }";
  ExpectPage(Dictionary(NoNulls(packed), Binary(1, 2, 4), 3), {Stream({1, 2, 0, 3, 1}, 2), ends, "abc"},
             Strings({"a", "b", std::nullopt, "c", "a"}));
}

TEST_F(PageV20Test, OddDictionariesAreRefused) {
  const std::string ends = Raw<uint64_t>({1, 2, 3});
  const auto decode = [&](const std::string& encoding, std::vector<uint8_t> indices, bool in_dictionary = false) {
    return Decode(encoding, {Raw(indices), ends, "abc"}, 4, arrow::utf8(), {}, in_dictionary).status();
  };
  const std::string three = Dictionary(Flat(8, 0), Binary(1, 2, 4), 3);
  EXPECT_TRUE(decode(three, {3, 0, 1, 2}).ok());
  EXPECT_KIND(decode(three, {4, 0, 1, 2}), ErrorKind::kCorruption, "index 4 in a dictionary of 3");
  EXPECT_KIND(decode(three, {3, 0, 1, 2}, true), ErrorKind::kCorruption, "index 3 in a dictionary of 3");
  EXPECT_KIND(decode(three, {3, 0, 1}), ErrorKind::kCorruption, "cannot hold 4");
  EXPECT_KIND(decode(Dictionary(Flat(8, 0), Binary(1, 2, 4), 4), {0, 0, 0, 0}), ErrorKind::kCorruption,
              "cannot hold 4");
  EXPECT_KIND(decode(Dictionary(Flat(24, 0), Binary(1, 2, 4), 3), {0, 0, 0, 0}), ErrorKind::kCorruption, "24 bits");
  EXPECT_KIND(decode(Dictionary(Flat(8, 0), three, 3), {0, 0, 0, 0}), ErrorKind::kNotSupported, "Dictionary");
  EXPECT_KIND(decode(Dictionary(Flat(8, 0), "nullable { all_nulls {} }", 2'000'000'000), {0, 0, 0, 0}),
              ErrorKind::kCorruption, "2000000000 nulls");
}

TEST_F(PageV20Test, PackedBytesOfStringsAreRefused) {
  const std::string encoding = "binary { indices { " + Flat(64, 0) +
                               " } bytes { bitpacked { compressed_bits_per_value: 4 uncompressed_bits_per_value: 8 "
                               "buffer { buffer_index: 1 } } } "
                               "null_adjustment: 10 }";
  EXPECT_KIND(Decode(encoding, {Raw<uint64_t>({1, 2}), "\x21"}, 2, arrow::utf8()).status(), ErrorKind::kNotSupported,
              "packed bytes");
}

TEST_F(PageV20Test, CompressedStringsMustHoldTheirEnds) {
  const std::string text(1000, 'x');
  std::vector<uint8_t> bytes;
  ASSERT_TRUE(
      Compressor()
          .Compress(CompressionScheme::kZstd, 3, {reinterpret_cast<const uint8_t*>(text.data()), text.size()}, bytes)
          .ok());
  const std::string encoding =
      "binary { indices { " + Flat(64, 0) +
      " } bytes { flat { bits_per_value: 8 buffer { buffer_index: 1 } compression { scheme: 'zstd' } } } "
      "null_adjustment: 5000 }";
  ExpectPage(encoding, {Raw<uint64_t>({1, 5001, 1000}), Raw(bytes)},
             Strings({"x", std::nullopt, std::string(999, 'x')}));
  EXPECT_KIND(Decode(encoding, {Raw<uint64_t>({1, 5001, 1001}), Raw(bytes)}, 3, arrow::utf8()).status(),
              ErrorKind::kCorruption, "0 to 1001 of 1000 bytes");
  EXPECT_KIND(Decode(encoding, {Raw<uint64_t>({1, 0, 1000}), Raw(bytes)}, 3, arrow::utf8()).status(),
              ErrorKind::kCorruption, "do not ascend");
  bytes.pop_back();
  EXPECT_KIND(Decode(encoding, {Raw<uint64_t>({1, 5001, 1000}), Raw(bytes)}, 3, arrow::utf8()).status(),
              ErrorKind::kCorruption, "zstd");
}

}  // namespace
}  // namespace javelin::file
