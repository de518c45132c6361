// Slices that begin and end around the places where bits become bytes and values become chunks: written from arrays
// with such offsets, and read as such ranges of rows; every type, every version that is written.
#include <gmock/gmock.h>

#include "javelin/file/nested_test_support.h"

namespace javelin::file {
namespace {

using namespace testing;

constexpr int64_t kRows = 1040;
constexpr int64_t kOffsets[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1023, 1024, 1025};
constexpr int64_t kLengths[] = {0, 1, 7, 8, 9};

class Boundaries : public ::testing::TestWithParam<FileVersion> {
 protected:
  // A column of each type that the version can hold, with and without nulls.
  std::shared_ptr<arrow::RecordBatch> AllTypes() {
    RandomColumns random(11);
    RandomNested nested(11);
    arrow::FieldVector fields;
    arrow::ArrayVector arrays;
    const auto add = [&](std::shared_ptr<arrow::Array> array) {
      const auto field = arrow::field(fmt::format("c{}", fields.size()), array->type());
      const auto schema = Schema::FromArrow(*arrow::schema({field}));
      if (!schema.ok() || !CheckWritable(*schema, GetParam()).ok()) return;
      const auto batch = arrow::RecordBatch::Make(arrow::schema({field}), kRows, {array});
      if (!CheckRowsFit(*batch, *schema, GetParam()).ok()) return;
      fields.push_back(field);
      arrays.push_back(std::move(array));
    };
    for (const auto& type : RandomColumns::Types()) {
      for (const double null_part : {0.0, 0.3}) add(random.Make(type, kRows, null_part, kSpreads[random.Below(6)]));
    }
    const auto flat = fields.size();
    for (int i = 0; i < 20; ++i) {
      std::shared_ptr<arrow::DataType> type;
      do type = nested.Type(2);
      while (type->num_fields() == 0);
      add(nested.Make(type, kRows, {.null_part = i % 2 == 0 ? 0 : 0.2, .empty_part = 0.2}));
    }
    EXPECT_GE(flat, 60u);
    EXPECT_GE(fields.size() - flat, 4u);
    return arrow::RecordBatch::Make(arrow::schema(fields), kRows, arrays);
  }

  void Expect(const std::shared_ptr<arrow::RecordBatch>& got, const arrow::RecordBatch& wanted) {
    ASSERT_EQ(got->num_rows(), wanted.num_rows());
    for (int i = 0; i < wanted.num_columns(); ++i) {
      EXPECT_TRUE(got->column(i)->ValidateFull().ok());
      EXPECT_TRUE(Same(*got->column(i), *wanted.column(i))) << wanted.column(i)->type()->ToString();
    }
  }

  Resources resources_ = TestResources();
};

TEST_P(Boundaries, SlicesAreWritten) {
  const auto batch = AllTypes();
  for (const int64_t offset : kOffsets) {
    for (const int64_t length : kLengths) {
      const auto slice = batch->Slice(offset, length);
      const WrittenFile file = WriteFile(resources_, {slice}, {.version = GetParam()}).ValueOrDie();
      auto reader = DataFileReader::Open(resources_, StoreOf(file.bytes), "f").ValueOrDie();
      const auto read = reader->Read(file.schema, reader->DefaultColumns(), 0, static_cast<uint64_t>(length));
      ASSERT_TRUE(read.ok()) << read.status().ToString();
      Expect(*read, *slice);
    }
  }
}

TEST_P(Boundaries, RangesAreRead) {
  const auto batch = AllTypes();
  // One page a column, and several.
  for (const uint64_t page_bytes : {uint64_t{8} << 20, uint64_t{1000}}) {
    const WrittenFile file =
        WriteFile(resources_, {batch}, {.version = GetParam(), .page_bytes = page_bytes}).ValueOrDie();
    auto reader = DataFileReader::Open(resources_, StoreOf(file.bytes), "f").ValueOrDie();
    for (const int64_t offset : kOffsets) {
      for (const int64_t length : kLengths) {
        const auto read = reader->Read(file.schema, reader->DefaultColumns(), static_cast<uint64_t>(offset),
                                       static_cast<uint64_t>(length));
        ASSERT_TRUE(read.ok()) << read.status().ToString();
        Expect(*read, *batch->Slice(offset, length));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, Boundaries,
                         ::testing::Values(FileVersion{2, 0}, FileVersion{2, 1}, FileVersion{2, 2}),
                         [](const auto& info) { return fmt::format("v{}_{}", info.param.major, info.param.minor); });

}  // namespace
}  // namespace javelin::file
