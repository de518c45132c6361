// Packed structs and blob pages by their bytes.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>

#include <arrow/json/from_string.h>

#include "lanceproto/encodings_v2_1.pb.h"

#include "javelin/file/blob_field.h"
#include "javelin/file/crafted_page_internal.h"
#include "javelin/file/file_test_support.h"
#include "javelin/file/schema_internal.h"

namespace javelin::file {
namespace {

using namespace testing;
using namespace std::string_literals;

std::string U32(uint32_t value) { return {reinterpret_cast<const char*>(&value), sizeof(value)}; }
std::string U64(uint64_t value) { return {reinterpret_cast<const char*>(&value), sizeof(value)}; }

Field FieldOf(const std::shared_ptr<arrow::DataType>& type, std::map<std::string, std::string> metadata) {
  const auto keys =
      arrow::key_value_metadata(std::unordered_map<std::string, std::string>(metadata.begin(), metadata.end()));
  return Schema::FromArrow(*arrow::schema({arrow::field("c", type, true, keys)})).ValueOrDie().fields()[0];
}

std::string Layout(const std::string& text) {
  lance::encodings21::PageLayout layout;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &layout)) << text;
  return layout.SerializeAsString();
}

class PackedStructTest : public ::testing::Test {
 protected:
  // Rows in which a value of any length is led by its length.
  arrow::Result<std::shared_ptr<arrow::Array>> Read(const std::vector<std::string>& rows, const std::string& fields,
                                                    std::vector<Slice> wanted = {}, FileVersion version = {2, 2}) {
    std::string values, index = U32(0);
    for (const std::string& row : rows) {
      values += U32(static_cast<uint32_t>(row.size())) + row;
      index += U32(static_cast<uint32_t>(values.size()));
    }
    const std::string layout = fmt::format(
        "full_zip_layout {{ bits_per_offset: 32 num_items: {} num_visible_items: {} layers: ALL_VALID_ITEM "
        "value_compression {{ variable_packed_struct {{ {} }} }} }}",
        rows.size(), rows.size(), fields);
    if (wanted.empty()) wanted = {{0, rows.size()}};
    return ReadCraftedPage(resources_, {version, Layout(layout), {values, index}, rows.size()}, field_, wanted);
  }

  static constexpr char kNumber[] = "fields { bits_per_value: 32 value { flat { bits_per_value: 32 } } } ";
  static constexpr char kText[] =
      "fields { bits_per_length: 32 value { variable { offsets { flat { bits_per_value: 32 } } } } } ";
  static constexpr char kVector[] =
      "fields { bits_per_value: 16 value { fixed_size_list { items_per_value: 2 values { flat { bits_per_value: 8 } } "
      "} } } ";

  const std::shared_ptr<arrow::DataType> type_ =
      arrow::struct_({arrow::field("n", arrow::int32(), false), arrow::field("t", arrow::utf8(), false),
                      arrow::field("v", arrow::fixed_size_list(arrow::int8(), 2), false)});
  const Field field_ = FieldOf(type_, {{std::string(kPackedMetadata), "true"}});
  const std::string fields_ = std::string(kNumber) + kText + kVector;
  Resources resources_ = TestResources();
};

TEST_F(PackedStructTest, RowsOfAnyLength) {
  const std::vector<std::string> rows = {U32(7) + U32(2) + "ab" + "\1\2", U32(8) + U32(0) + "\3\4",
                                         U32(9) + U32(5) + "river" + "\5\6"};
  const auto expected =
      arrow::json::ArrayFromJSONString(type_, R"([{"n": 7, "t": "ab", "v": [1, 2]}, {"n": 8, "t": "", "v": [3, 4]},
                                       {"n": 9, "t": "river", "v": [5, 6]}])")
          .ValueOrDie();
  EXPECT_TRUE(Read(rows, fields_).ValueOrDie()->Equals(expected));
  EXPECT_TRUE(Read(rows, fields_, {{1, 2}}).ValueOrDie()->Equals(expected->Slice(1)));
}

TEST_F(PackedStructTest, DamagedRows) {
  const std::string good = U32(7) + U32(2) + "ab" + "\1\2";
  EXPECT_TRUE(Read({good}, fields_).ok());
  EXPECT_KIND(Read({good + "x"}, fields_).status(), ErrorKind::kCorruption, "1 too many");
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_KIND(Read({good.substr(0, size)}, fields_).status(), ErrorKind::kCorruption, "of a packed struct ends");
  EXPECT_KIND(Read({U32(7) + U32(~0u) + "ab"}, fields_).status(), ErrorKind::kCorruption, "field 1");
  EXPECT_KIND(Read({good}, std::string(kNumber) + kText).status(), ErrorKind::kCorruption, "2 fields");
  EXPECT_KIND(Read({good}, std::string(kText) + kNumber + kVector).status(), ErrorKind::kCorruption, "");
  EXPECT_KIND(Read({good}, std::string("fields {} ") + kText + kVector).status(), ErrorKind::kCorruption, "how wide");
  EXPECT_KIND(Read({good}, fields_, {}, {2, 1}).status(), ErrorKind::kCorruption, "came with 2.2");
}

TEST_F(PackedStructTest, FieldsMustBeAsWideAsTheirTypes) {
  const Field field =
      FieldOf(arrow::struct_({arrow::field("x", arrow::int32(), false), arrow::field("y", arrow::int16(), false)}),
              {{std::string(kPackedMetadata), "true"}});
  const auto read = [&](const std::string& widths, int flat) {
    const std::string layout = fmt::format(
        "mini_block_layout {{ layers: ALL_VALID_ITEM num_buffers: 1 num_items: 2 has_large_chunk: true "
        "value_compression {{ packed_struct {{ {} values {{ flat {{ bits_per_value: {} }} }} }} }} }}",
        widths, flat);
    std::string chunk(2, '\0');
    chunk += U32(12) + std::string(2, '\0') + "\1\0\0\0\2\0\3\0\0\0\4\0"s + std::string(4, '\0');
    return ReadCraftedPage(resources_, {{2, 2}, Layout(layout), {U32(2 << 4), chunk}, 2}, field, {{0, 2}});
  };
  EXPECT_TRUE(
      read("bits_per_value: 32 bits_per_value: 16", 48)
          .ValueOrDie()
          ->Equals(
              arrow::json::ArrayFromJSONString(field.type, R"([{"x": 1, "y": 2}, {"x": 3, "y": 4}])").ValueOrDie()));
  EXPECT_KIND(read("bits_per_value: 16 bits_per_value: 32", 48).status(), ErrorKind::kCorruption, "does not fit");
  EXPECT_KIND(read("bits_per_value: 48", 48).status(), ErrorKind::kCorruption, "does not fit");
  EXPECT_KIND(read("bits_per_value: 32 bits_per_value: 16", 32).status(), ErrorKind::kCorruption, "does not fit");
}

class BlobPageTest : public ::testing::Test {
 protected:
  arrow::Result<std::shared_ptr<arrow::Array>> Read(const std::vector<std::pair<uint64_t, uint64_t>>& places,
                                                    const std::string& layer, std::vector<Slice> rows = {}) {
    const std::string layout = fmt::format(
        "blob_layout {{ layers: {} inner_layout {{ mini_block_layout {{ layers: ALL_VALID_ITEM num_buffers: 1 "
        "num_items: {} has_large_chunk: true value_compression {{ packed_struct {{ bits_per_value: 64 bits_per_value: "
        "64 values {{ flat {{ bits_per_value: 128 }} }} }} }} }} }} }}",
        layer, places.size());
    std::string bytes;
    for (const auto& [position, size] : places) bytes += U64(position) + U64(size);
    const std::string chunk =
        std::string(2, '\0') + U32(static_cast<uint32_t>(bytes.size())) + std::string(2, '\0') + bytes;
    if (rows.empty()) rows = {{0, places.size()}};
    return ReadCraftedPage(
        resources_,
        {{2, 2}, Layout(layout), {U32(static_cast<uint32_t>(chunk.size() / 8 - 1) << 4), chunk}, places.size()},
        DescribeBlob(FieldOf(arrow::large_binary(), {{std::string(kBlobMetadata), "true"}})), rows);
  }
  Resources resources_ = TestResources();
};

// "hello", null, nothing, 1000 bytes.
TEST_F(BlobPageTest, NullAndEmptyAreApart) {
  const std::vector<std::pair<uint64_t, uint64_t>> places = {{0, 5}, {65536, 0}, {0, 0}, {64, 1000}};
  const auto expected =
      arrow::json::ArrayFromJSONString(BlobDescriptionType(BlobKind::kV1),
                                       R"([{"position": 0, "size": 5}, null, {"position": 0, "size": 0},
                                           {"position": 64, "size": 1000}])")
          .ValueOrDie();
  EXPECT_TRUE(Read(places, "NULLABLE_ITEM").ValueOrDie()->Equals(expected));
  EXPECT_TRUE(Read(places, "NULLABLE_ITEM", {{1, 2}}).ValueOrDie()->Equals(expected->Slice(1, 2)));
  EXPECT_KIND(Read(places, "ALL_VALID_ITEM").status(), ErrorKind::kCorruption, "no level");
  EXPECT_TRUE(Read({{0, 5}, {0, 0}}, "ALL_VALID_ITEM").ok());
}

TEST_F(BlobPageTest, LevelsMustBeThoseOfTheColumn) {
  EXPECT_KIND(Read({{0, 5}, {131072, 0}}, "NULLABLE_ITEM").status(), ErrorKind::kCorruption, "131072");
  EXPECT_KIND(Read({{0, 5}, {7, 0}}, "NULLABLE_ITEM").status(), ErrorKind::kCorruption, "7, which is no level");
}

TEST(BlobField, BlobsAreReadAsDescriptionsOnly) {
  const Field v1 = FieldOf(arrow::large_binary(), {{std::string(kBlobMetadata), "true"}});
  EXPECT_EQ(BlobKindOf(v1), BlobKind::kV1);
  EXPECT_KIND(LeafColumnsOf(v1).status(), ErrorKind::kNotSupported, "descriptions");
  EXPECT_TRUE(IsBlobDescription(DescribeBlob(v1)));
  EXPECT_EQ(DescribeBlob(v1).metadata, v1.metadata);
  const Field v2 =
      FieldOf(arrow::struct_({arrow::field("data", arrow::large_binary()), arrow::field("uri", arrow::utf8())}),
              {{"ARROW:extension:name", "lance.blob.v2"}});
  EXPECT_EQ(BlobKindOf(v2), BlobKind::kV2);
  EXPECT_KIND(LeafColumnsOf(v2).status(), ErrorKind::kNotSupported, "descriptions");
  EXPECT_TRUE(IsBlobDescription(DescribeBlob(v2)));
  EXPECT_EQ(DescribeBlob(v2).id, v2.id);
  EXPECT_EQ(LeafColumnsOf(DescribeBlob(v2)).ValueOrDie().size(), 1u);
  EXPECT_EQ(BlobKindOf(FieldOf(arrow::large_binary(), {})), BlobKind::kNone);
}

TEST(BlobField, DescriptionsAtAnyDepth) {
  const auto blob =
      arrow::field("b", arrow::large_binary(), true, arrow::key_value_metadata({std::string(kBlobMetadata)}, {"true"}));
  const auto type = arrow::struct_({arrow::field("x", arrow::int8()), arrow::field("l", arrow::list(blob))});
  const Field field = FieldOf(type, {});
  EXPECT_TRUE(HoldsBlobs(field));
  EXPECT_KIND(LeafColumnsOf(field).status(), ErrorKind::kNotSupported, "descriptions");
  const Field described = DescribeBlob(field);
  const auto& item = *described.type->field(1)->type()->field(0);
  EXPECT_TRUE(item.type()->Equals(*BlobDescriptionType(BlobKind::kV1)));
  EXPECT_EQ(LeafColumnsOf(described).ValueOrDie().size(), 2u);
  EXPECT_FALSE(HoldsBlobs(FieldOf(arrow::list(arrow::large_binary()), {})));
}

// The key and value of a map cannot be a blob; such a schema is refused where it is read.
TEST(BlobField, AMapWhoseEntriesAreCalledABlob) {
  Field map = FieldOf(arrow::map(arrow::utf8(), arrow::int8()), {});
  map.children[0].metadata = {{std::string(kBlobMetadata), "true"}};
  EXPECT_KIND(LeafColumnsOf(DescribeBlob(map)).status(), ErrorKind::kNotSupported, "descriptions");
}

}  // namespace
}  // namespace javelin::file
