#include "javelin/index/btree_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/json/from_string.h>

#include "javelin/base/error.h"
#include "javelin/file/data_file_reader.h"
#include "javelin/index/key_encoding.h"
#include "javelin/store/stores.h"

namespace javelin::index {
namespace {

std::shared_ptr<arrow::Array> Column(const std::shared_ptr<arrow::DataType>& type, const std::string& json) {
  return arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
}

std::shared_ptr<arrow::UInt64Array> Rows(const std::string& json) {
  return std::static_pointer_cast<arrow::UInt64Array>(Column(arrow::uint64(), json));
}

class BTreeFilesTest : public testing::Test {
 protected:
  std::shared_ptr<arrow::RecordBatch> Decode(const BufferPtr& bytes) {
    const auto store = MakeMemoryStore(resources_);
    EXPECT_TRUE(store->Put("file", bytes).ok());
    const auto reader = file::DataFileReader::Open(resources_, store, "file").ValueOrDie();
    EXPECT_EQ(reader->version(), (file::FileVersion{2, 2}));
    return reader->Read(reader->schema(), reader->DefaultColumns(), 0, reader->num_rows()).ValueOrDie();
  }
  void ExpectColumns(const BufferPtr& bytes, const std::shared_ptr<arrow::Schema>& schema,
                     const std::vector<std::string>& columns) {
    const auto batch = Decode(bytes);
    EXPECT_TRUE(batch->schema()->Equals(*schema, /*check_metadata=*/true)) << batch->schema()->ToString(true);
    ASSERT_EQ(static_cast<size_t>(batch->num_columns()), columns.size());
    for (int i = 0; i < batch->num_columns(); ++i) {
      const auto expected = Column(schema->field(i)->type(), columns[static_cast<size_t>(i)]);
      EXPECT_TRUE(batch->column(i)->Equals(*expected)) << schema->field(i)->name() << batch->column(i)->ToString();
    }
  }
  static std::shared_ptr<arrow::Schema> DataSchema(const std::shared_ptr<arrow::DataType>& type) {
    return arrow::schema({arrow::field("values", type), arrow::field("ids", arrow::uint64(), false)});
  }
  static std::shared_ptr<arrow::Schema> LookupSchema(const std::shared_ptr<arrow::DataType>& type, int page_rows) {
    return arrow::schema(
        {arrow::field("min", type), arrow::field("max", type), arrow::field("null_count", arrow::uint32(), false),
         arrow::field("page_idx", arrow::uint32(), false)},
        arrow::key_value_metadata({{"batch_size", fmt::format("{}", page_rows)}, {"range_partitioned", "false"}}));
  }

  Resources resources_ = MakeResources(MakeThreadRuntime());
};

TEST_F(BTreeFilesTest, SortedByValueThenRowNullsFirst) {
  const auto files =
      EncodeBTree(resources_, Column(arrow::int32(), "[7, null, -3, 7, 2, null, 7]"), Rows("[0, 9, 2, 8, 4, 5, 3]"), 3)
          .ValueOrDie();
  ExpectColumns(files.page_data, DataSchema(arrow::int32()), {"[null, null, -3, 2, 7, 7, 7]", "[5, 9, 2, 4, 0, 3, 8]"});
  ExpectColumns(files.page_lookup, LookupSchema(arrow::int32(), 3),
                {"[null, 2, 7]", "[-3, 7, 7]", "[2, 0, 0]", "[0, 1, 2]"});
}

TEST_F(BTreeFilesTest, APageThatIsAllNull) {
  const auto files =
      EncodeBTree(resources_, Column(arrow::utf8(), R"([null, "b", null])"), Rows("[0, 1, 2]"), 2).ValueOrDie();
  ExpectColumns(files.page_lookup, LookupSchema(arrow::utf8(), 2),
                {R"([null, "b"])", R"([null, "b"])", "[2, 0]", "[0, 1]"});
}

TEST_F(BTreeFilesTest, EveryKeyType) {
  const std::vector<std::pair<std::shared_ptr<arrow::DataType>, std::array<std::string, 2>>> cases = {
      {arrow::int8(), {"[3, -128, 127]", "[-128, 3, 127]"}},
      {arrow::int16(), {"[3, -300, 300]", "[-300, 3, 300]"}},
      {arrow::int64(), {"[3, -9223372036854775808, 9]", "[-9223372036854775808, 3, 9]"}},
      {arrow::uint8(), {"[255, 0, 127]", "[0, 127, 255]"}},
      {arrow::uint16(), {"[65535, 0, 1]", "[0, 1, 65535]"}},
      {arrow::uint32(), {"[4294967295, 0, 1]", "[0, 1, 4294967295]"}},
      {arrow::uint64(), {"[18446744073709551615, 0, 1]", "[0, 1, 18446744073709551615]"}},
      {arrow::boolean(), {"[true, false, true]", "[false, true, true]"}},
      {arrow::utf8(), {R"(["b", "\u00e9", "ab"])", R"(["ab", "b", "\u00e9"])"}},
      {arrow::large_utf8(), {R"(["b", "", "ab"])", R"(["", "ab", "b"])"}},
      {arrow::binary(), {R"(["b", "", "ab"])", R"(["", "ab", "b"])"}},
      {arrow::large_binary(), {R"(["b", "", "ab"])", R"(["", "ab", "b"])"}},
  };
  for (const auto& [type, values] : cases) {
    SCOPED_TRACE(type->ToString());
    const auto files = EncodeBTree(resources_, Column(type, values[0]), Rows("[0, 1, 2]"), 8192).ValueOrDie();
    EXPECT_TRUE(Decode(files.page_data)->column(0)->Equals(*Column(type, values[1])));
    EXPECT_EQ(Decode(files.page_lookup)->num_rows(), 1);
  }
}

TEST_F(BTreeFilesTest, NothingAtAll) {
  const auto files = EncodeBTree(resources_, Column(arrow::int64(), "[]"), Rows("[]"), 8192).ValueOrDie();
  ExpectColumns(files.page_data, DataSchema(arrow::int64()), {"[]", "[]"});
  ExpectColumns(files.page_lookup, LookupSchema(arrow::int64(), 8192), {"[]", "[]", "[]", "[]"});
}

TEST_F(BTreeFilesTest, ManyPages) {
  arrow::Int64Builder values;
  arrow::UInt64Builder rows;
  constexpr int64_t kRows = 20000;
  for (int64_t i = 0; i < kRows; ++i) {
    ASSERT_TRUE(values.Append(i * 7919 % kRows).ok());
    ASSERT_TRUE(rows.Append(static_cast<uint64_t>(i)).ok());
  }
  const auto files =
      EncodeBTree(resources_, values.Finish().ValueOrDie(),
                  std::static_pointer_cast<arrow::UInt64Array>(rows.Finish().ValueOrDie()), kKeyIndexPageRows)
          .ValueOrDie();
  ExpectColumns(files.page_lookup, LookupSchema(arrow::int64(), 8192),
                {"[0, 8192, 16384]", "[8191, 16383, 19999]", "[0, 0, 0]", "[0, 1, 2]"});
  const auto data = Decode(files.page_data);
  const auto& value = static_cast<const arrow::Int64Array&>(*data->column(0));
  const auto& row = static_cast<const arrow::UInt64Array&>(*data->column(1));
  for (int64_t i = 0; i < kRows; ++i) {
    ASSERT_EQ(value.Value(i), i);
    ASSERT_EQ(static_cast<int64_t>(row.Value(i)) * 7919 % kRows, i);
  }
}

TEST_F(BTreeFilesTest, Refusals) {
  auto kind = [&](const std::shared_ptr<arrow::Array>& values, const std::string& rows, uint64_t page_rows) {
    return KindOf(EncodeBTree(resources_, values, Rows(rows), page_rows).status());
  };
  EXPECT_EQ(kind(Column(arrow::int32(), "[1]"), "[1, 2]", 10), ErrorKind::kInvalidInput);
  EXPECT_EQ(kind(Column(arrow::int32(), "[1]"), "[null]", 10), ErrorKind::kInvalidInput);
  EXPECT_EQ(kind(Column(arrow::int32(), "[1]"), "[1]", 0), ErrorKind::kInvalidInput);
  EXPECT_EQ(kind(Column(arrow::float64(), "[1]"), "[1]", 10), ErrorKind::kNotSupported);
}

TEST(KeyIndexValues, OneColumnAsItIsAndSeveralAsBytes) {
  const auto numbers = Column(arrow::int32(), "[1, -1, 2]"), names = Column(arrow::utf8(), R"(["a", "z", ""])");
  EXPECT_EQ(KeyIndexValues({numbers}, arrow::default_memory_pool()).ValueOrDie(), numbers);
  const auto keys = KeyIndexValues({numbers->Slice(1), names->Slice(1)}, arrow::default_memory_pool()).ValueOrDie();
  ASSERT_EQ(keys->type_id(), arrow::Type::BINARY);
  const auto encoder = KeyEncoder::Make({arrow::int32(), arrow::utf8()}).ValueOrDie();
  ASSERT_EQ(keys->length(), 2);
  for (int64_t i = 0; i < 2; ++i) {
    EXPECT_EQ(static_cast<const arrow::BinaryArray&>(*keys).GetString(i), encoder.EncodeRow({numbers, names}, i + 1));
  }
  auto refused = [](const std::vector<std::shared_ptr<arrow::Array>>& columns) {
    return HasKind(KeyIndexValues(columns, arrow::default_memory_pool()).status(), ErrorKind::kInvalidInput);
  };
  EXPECT_TRUE(refused({}));
  EXPECT_TRUE(refused({numbers, names->Slice(1)}));
  EXPECT_TRUE(refused({Column(arrow::float32(), "[1]")}));
}

}  // namespace
}  // namespace javelin::index
