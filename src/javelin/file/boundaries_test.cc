// Slices that begin and end around the places where bits become bytes and values become chunks: written from arrays
// with such offsets, and read as such ranges of rows; every type, every version that is written.
#include <gmock/gmock.h>

#include "javelin/file/inspect.h"
#include "javelin/file/nested_test_support.h"

namespace javelin::file {
namespace {

using namespace testing;
using ::testing::HasSubstr;

constexpr int64_t kRows = 1040;
constexpr int64_t kOffsets[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1023, 1024, 1025};
constexpr int64_t kLengths[] = {0, 1, 7, 8, 9};
// Chunks have up to 1024, 2048 or 4096 values.
constexpr int64_t kAroundChunks[] = {2047, 2048, 2049, 4095, 4096, 4097};

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

// Columns of all types, spreads and wishes, with and without nulls.
class ColumnsOfEveryEncoding {
 public:
  ColumnsOfEveryEncoding(FileVersion version, int64_t rows) : version_(version), rows_(rows) {
    for (const auto& type : RandomColumns::Types(version)) {
      for (const Spread spread : kSpreads) Add(type, spread, {});
    }
    for (const auto& type : {arrow::utf8(), arrow::int64(), arrow::float32(), arrow::large_binary()}) {
      for (const char* codec : {"none", "fsst", "lz4", "zstd"}) {
        for (const Spread spread : {Spread::kSequence, Spread::kAny}) {
          Add(type, spread, {{"lance-encoding:compression", codec}});
          Add(type, spread, {{"lance-encoding:compression", codec}, {"lance-encoding:structural-encoding", "fullzip"}});
        }
      }
    }
    for (int i = 0; i < 8; ++i) AddNested(nested_.Packed("packed"));
    AddNested(nested_.Packed("texts", /*variable=*/true));
    for (int i = 0; i < 6; ++i) AddNested(arrow::field("dictionary", nested_.Dictionary()));
    for (const auto& item : {arrow::int32(), arrow::utf8(), arrow::fixed_size_list(arrow::float32(), 3)}) {
      AddNested(arrow::field("list", arrow::list(item)));
      AddNested(arrow::field("structs", arrow::large_list(arrow::struct_({arrow::field("x", item)}))));
    }
  }

  std::shared_ptr<arrow::RecordBatch> Take() {
    return arrow::RecordBatch::Make(arrow::schema(std::move(fields_)), rows_, std::move(arrays_));
  }

 private:
  void Add(const std::shared_ptr<arrow::DataType>& type, Spread spread,
           const std::unordered_map<std::string, std::string>& wishes) {
    const auto field = arrow::field("flat", type)->WithMetadata(arrow::key_value_metadata(wishes));
    for (const double nulls : {0.0, 0.3}) AddIfHeld(field, columns_.Make(type, rows_, nulls, spread));
  }
  void AddNested(const std::shared_ptr<arrow::Field>& field) {
    for (const double part : {0.0, 0.2})
      AddIfHeld(field, nested_.Make(field->type(), rows_, {.null_part = part, .empty_part = part}));
  }
  void AddIfHeld(const std::shared_ptr<arrow::Field>& field, std::shared_ptr<arrow::Array> array) {
    const Schema schema = Schema::FromArrow(*arrow::schema({field})).ValueOrDie();
    if (!CheckWritable(schema, version_).ok()) return;
    fields_.push_back(field->WithName(fmt::format("{}_{}", field->name(), fields_.size())));
    arrays_.push_back(std::move(array));
  }

  const FileVersion version_;
  const int64_t rows_;
  RandomColumns columns_{20260116};
  RandomNested nested_{20260116, version_};
  arrow::FieldVector fields_;
  arrow::ArrayVector arrays_;
};

TEST_P(Boundaries, FilesThatEndBesideAChunk) {
  std::string seen;
  for (const int64_t rows : kAroundChunks) {
    SCOPED_TRACE(fmt::format("{} rows", rows));
    const auto batch = ColumnsOfEveryEncoding(GetParam(), rows).Take();
    const WrittenFile file = WriteFile(resources_, {batch}, {.version = GetParam()}).ValueOrDie();
    auto reader = DataFileReader::Open(resources_, StoreOf(file.bytes), "f").ValueOrDie();
    const ColumnOfField columns = reader->DefaultColumns();
    const auto expect_range = [&](int64_t first, int64_t count) {
      const auto read = reader->Read(file.schema, columns, static_cast<uint64_t>(first), static_cast<uint64_t>(count));
      ASSERT_TRUE(read.ok()) << read.status().ToString();
      Expect(*read, *batch->Slice(first, count));
    };
    expect_range(0, rows);
    std::vector<uint64_t> taken;
    for (const int64_t edge : {int64_t{1024}, int64_t{2048}, int64_t{4096}, rows}) {
      if (edge > rows) continue;
      expect_range(edge - 1, std::min<int64_t>(2, rows - edge + 1));
      for (int64_t row = edge - 1; row <= std::min(edge, rows - 1); ++row) taken.push_back(static_cast<uint64_t>(row));
    }
    const auto take = reader->Take(file.schema, columns, taken);
    ASSERT_TRUE(take.ok()) << take.status().ToString();
    arrow::UInt64Builder numbers;
    ASSERT_TRUE(numbers.AppendValues(taken).ok());
    Expect(*take, *arrow::compute::Take(batch, numbers.Finish().ValueOrDie()).ValueOrDie().record_batch());
    seen += InspectDataFile(resources_, *StoreOf(file.bytes), "f").ValueOrDie();
  }
  const bool is_2_0 = GetParam() == FileVersion{2, 0};
  std::vector<std::string> encodings = {"flat", "fsst", "fixedSizeList", "packedStruct", "dictionary"};
  if (is_2_0) encodings.insert(encodings.end(), {"nullable", "binary", "list", "allNulls", "zstd", "lz4"});
  if (!is_2_0) {
    encodings.insert(encodings.end(),
                     {"miniBlockLayout", "fullZipLayout", "constantLayout", "variable", "inlineBitpacking",
                      "outOfLineBitpacking", "rle", "byteStreamSplit", "general", "ZSTD", "LZ4", "hasValidity"});
  }
  if (GetParam() == FileVersion{2, 2}) encodings.insert(encodings.end(), {"variablePackedStruct", "inlineValue"});
  for (const std::string& encoding : encodings)
    EXPECT_THAT(seen, HasSubstr(fmt::format("\"{}\"", encoding))) << "is not among the columns any more";
}

// Three pages of exactly so many rows.
TEST_P(Boundaries, PagesThatEndBesideAChunk) {
  RandomColumns random(12);
  for (const int64_t rows : kAroundChunks) {
    for (const auto& [type, width] :
         std::vector<std::pair<std::shared_ptr<arrow::DataType>, int64_t>>{{arrow::int64(), 8},
                                                                           {arrow::int16(), 2},
                                                                           {arrow::decimal128(30, 4), 16},
                                                                           {arrow::fixed_size_binary(300), 300}}) {
      for (const double nulls : {0.0, 0.3}) {
        const auto batch = OneColumn(random.Make(type, 3 * rows, nulls, kSpreads[random.Below(6)]));
        const DataFileWriteOptions options{.version = GetParam(), .page_bytes = static_cast<uint64_t>(rows * width)};
        const WrittenFile file = WriteFile(resources_, {batch}, options).ValueOrDie();
        const std::string pages = InspectDataFile(resources_, *StoreOf(file.bytes), "f").ValueOrDie();
        ASSERT_THAT(pages, HasSubstr(fmt::format("\"rows\": {}", rows))) << type->ToString();
        auto reader = DataFileReader::Open(resources_, StoreOf(file.bytes), "f").ValueOrDie();
        for (const auto& [first, count] : std::vector<std::pair<int64_t, int64_t>>{{0, 3 * rows},
                                                                                   {rows - 1, 1},
                                                                                   {rows - 1, 2},
                                                                                   {rows, 1},
                                                                                   {rows, rows},
                                                                                   {rows - 1, rows + 2},
                                                                                   {3 * rows - 1, 1}}) {
          const auto read = reader->Read(file.schema, reader->DefaultColumns(), static_cast<uint64_t>(first),
                                         static_cast<uint64_t>(count));
          ASSERT_TRUE(read.ok()) << read.status().ToString();
          Expect(*read, *batch->Slice(first, count));
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, Boundaries,
                         ::testing::Values(FileVersion{2, 0}, FileVersion{2, 1}, FileVersion{2, 2}),
                         [](const auto& info) { return fmt::format("v{}_{}", info.param.major, info.param.minor); });

}  // namespace
}  // namespace javelin::file
