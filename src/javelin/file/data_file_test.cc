// Our writer's files through our reader: values, requests, refusals, damage.
#include <numeric>

#include <arrow/compute/api.h>
#include <gmock/gmock.h>

#include "javelin/file/batch_reader.h"
#include "javelin/file/file_test_support.h"
#include "javelin/file/inspect.h"

namespace javelin::file {
namespace {

using namespace testing;

class DataFileTest : public ::testing::Test {
 protected:
  std::shared_ptr<DataFileReader> Open(const std::string& bytes) {
    store_ = StoreOf(bytes);
    auto reader = DataFileReader::Open(resources_, store_, "f.lance");
    EXPECT_TRUE(reader.ok()) << reader.status().ToString();
    store_->requests.clear();
    return reader.ok() ? *reader : nullptr;
  }
  WrittenFile Write(const arrow::RecordBatchVector& batches, DataFileWriteOptions options = {}) {
    auto file = WriteFile(resources_, batches, options);
    EXPECT_TRUE(file.ok()) << file.status().ToString();
    return file.ok() ? *file : WrittenFile{};
  }

  static arrow::Result<arrow::RecordBatchVector> ReadBatches(DataFileReader& reader, const Schema& schema,
                                                             uint64_t first, std::span<const uint64_t> ends) {
    ARROW_ASSIGN_OR_RAISE(const auto fetched,
                          BatchReader::Of(reader).Fetch(schema, reader.DefaultColumns(), first, ends));
    return fetched->Decode();
  }

  Resources resources_ = TestResources();
  std::shared_ptr<RecordingStore> store_;
};

void ExpectSame(const arrow::RecordBatch& expected, const arrow::Result<std::shared_ptr<arrow::RecordBatch>>& actual) {
  ASSERT_TRUE(actual.ok()) << actual.status().ToString();
  const arrow::Status valid = (*actual)->ValidateFull();
  ASSERT_TRUE(valid.ok()) << valid.ToString();
  ASSERT_EQ(expected.num_rows(), (*actual)->num_rows());
  for (int i = 0; i < expected.num_columns(); ++i) {
    ASSERT_TRUE(expected.column(i)->Equals(*(*actual)->column(i), arrow::EqualOptions().nans_equal(true)))
        << expected.column(i)->type()->ToString() << "\n"
        << expected.column(i)->Slice(0, 20)->ToString() << "\n"
        << (*actual)->column(i)->Slice(0, 20)->ToString();
  }
}

std::shared_ptr<arrow::RecordBatch> TakeRows(const std::shared_ptr<arrow::RecordBatch>& batch,
                                             const std::vector<uint64_t>& rows) {
  arrow::UInt64Builder builder;
  EXPECT_TRUE(builder.AppendValues(rows).ok());
  return arrow::compute::Take(batch, builder.Finish().ValueOrDie()).ValueOrDie().record_batch();
}

class EachVersion : public DataFileTest, public ::testing::WithParamInterface<FileVersion> {};
INSTANTIATE_TEST_SUITE_P(DataFiles, EachVersion, ::testing::ValuesIn(kWrittenVersions), VersionName);

TEST_P(EachVersion, RandomColumnsComeBackWholeInRangesAndByRow) {
  RandomColumns random(20260101);
  for (int64_t length : {int64_t{0}, int64_t{1}, int64_t{3}, int64_t{1024}, int64_t{5000}}) {
    for (const auto& type : RandomColumns::Types(GetParam())) {
      for (Spread spread : kSpreads) {
        const double null_part = std::array{0.0, 0.1, 0.9, 1.0, 0.002}[random.Below(5)];
        SCOPED_TRACE(fmt::format("{} rows of {}, {} null, spread {}", length, type->ToString(), null_part,
                                 static_cast<int>(spread)));
        auto batch = OneColumn(random.Make(type, length, null_part, spread));
        // From tiny pages to one page.
        const uint64_t page_bytes = std::array<uint64_t, 3>{700, 20000, 8u << 20}[random.Below(3)];
        WrittenFile file = Write({batch->Slice(0, length / 3), batch->Slice(length / 3)},
                                 {.version = GetParam(), .page_bytes = page_bytes});
        EXPECT_EQ(file.summary.size_bytes, file.bytes.size());
        EXPECT_EQ(file.summary.num_rows, static_cast<uint64_t>(length));
        auto reader = Open(file.bytes);
        ASSERT_NE(reader, nullptr);
        EXPECT_EQ(reader->version(), GetParam());
        EXPECT_EQ(reader->schema(), file.schema);
        const ColumnOfField columns = reader->DefaultColumns();
        ExpectSame(*batch, reader->Read(file.schema, columns, 0, static_cast<uint64_t>(length)));
        if (length == 0) continue;
        const uint64_t first = random.Below(static_cast<uint64_t>(length));
        const uint64_t count = random.Below(static_cast<uint64_t>(length) - first + 1);
        ExpectSame(*batch->Slice(static_cast<int64_t>(first), static_cast<int64_t>(count)),
                   reader->Read(file.schema, columns, first, count));
        std::vector<uint64_t> rows;
        for (int i = 0; i < 20; ++i) rows.push_back(random.Below(static_cast<uint64_t>(length)));
        ExpectSame(*TakeRows(batch, rows), reader->Take(file.schema, columns, rows));
      }
    }
  }
}

TEST_P(EachVersion, SeventyThousandRowsOfManyColumns) {
  RandomColumns random(5);
  constexpr int64_t kRows = 70'000;
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const auto& type :
       {arrow::int64(), arrow::utf8(), arrow::float64(), arrow::boolean(), arrow::fixed_size_list(arrow::float32(), 16),
        arrow::fixed_size_list(arrow::float32(), 64)}) {
    for (double null_part : {0.0, 0.05}) {
      fields.push_back(arrow::field(fmt::format("c{}", fields.size()), type));
      arrays.push_back(random.Make(type, kRows, null_part, fields.size() % 2 == 0 ? Spread::kAny : Spread::kFew));
    }
  }
  auto batch = arrow::RecordBatch::Make(arrow::schema(fields), kRows, arrays);
  WrittenFile file = Write({batch}, {.version = GetParam(), .page_bytes = 1u << 20});
  auto reader = Open(file.bytes);
  ASSERT_NE(reader, nullptr);
  const ColumnOfField columns = reader->DefaultColumns();
  ExpectSame(*batch, reader->Read(file.schema, columns, 0, kRows));
  EXPECT_EQ(store_->requests.size(), 1u);
  for (int i = 0; i < 30; ++i) {
    const uint64_t first = random.Below(kRows);
    const uint64_t count = random.Below(kRows - first);
    ExpectSame(*batch->Slice(static_cast<int64_t>(first), static_cast<int64_t>(count)),
               reader->Read(file.schema, columns, first, count));
  }
  std::vector<uint64_t> rows;
  for (int i = 0; i < 1000; ++i) rows.push_back(random.Below(kRows));
  ExpectSame(*TakeRows(batch, rows), reader->Take(file.schema, columns, rows));
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  ExpectSame(*TakeRows(batch, rows), reader->Take(file.schema, columns, rows));
  for (int i = 0; i < 20; ++i) {
    const uint64_t first = random.Below(kRows - 1);
    const std::span<const uint64_t> ends(std::upper_bound(rows.begin(), rows.end(), first), rows.end());
    auto batches = ReadBatches(*reader, file.schema, first, ends.first(ends.size() / 20));
    ASSERT_TRUE(batches.ok()) << batches.status().ToString();
    for (size_t j = 0; j < batches->size(); ++j) {
      const uint64_t start = j == 0 ? first : ends[j - 1];
      ExpectSame(*batch->Slice(static_cast<int64_t>(start), static_cast<int64_t>(ends[j] - start)), (*batches)[j]);
    }
  }
}

TEST_F(DataFileTest, BatchesOfAWholeFileAreAskedForAsOne) {
  constexpr int64_t kRows = 40'000;
  RandomColumns random(21);
  const auto vectors = arrow::fixed_size_list(arrow::float32(), 64);
  const auto schema = arrow::schema({arrow::field("id", arrow::int64()), arrow::field("text", arrow::utf8()),
                                     arrow::field("vector", vectors, false)});
  const auto batch = arrow::RecordBatch::Make(
      schema, kRows,
      {random.Make(arrow::int64(), kRows, 0.1, Spread::kAny), random.Make(arrow::utf8(), kRows, 0.1, Spread::kAny),
       random.Make(vectors, kRows, 0, Spread::kAny)});
  const WrittenFile file = Write({batch});
  auto reader = Open(file.bytes);
  ExpectSame(*batch, reader->Read(file.schema, reader->DefaultColumns(), 0, kRows));
  const uint64_t bytes = store_->bytes_read();
  ASSERT_EQ(store_->requests.size(), 1u);
  reader = Open(file.bytes);
  const std::vector<uint64_t> ends = {8192, 8193, 20'000, kRows};
  const auto batches = ReadBatches(*reader, file.schema, 0, ends);
  ASSERT_TRUE(batches.ok()) << batches.status().ToString();
  ASSERT_EQ(batches->size(), ends.size());
  EXPECT_EQ(store_->requests.size(), 1u);
  EXPECT_EQ(store_->bytes_read(), bytes) << "no byte twice";
  ExpectSame(*batch->Slice(8193, 20'000 - 8193), (*batches)[2]);
  const std::vector<uint64_t> nowhere = {5, 5};
  EXPECT_KIND(ReadBatches(*reader, file.schema, 0, nowhere).status(), ErrorKind::kInvalidInput, "5 to 5");
}

TEST_F(DataFileTest, ProjectionsByFieldId) {
  RandomColumns random(6);
  auto schema = arrow::schema(
      {arrow::field("a", arrow::int32()), arrow::field("b", arrow::utf8()), arrow::field("d", arrow::int8(), false)});
  auto batch = arrow::RecordBatch::Make(
      schema, 100,
      {random.Make(arrow::int32(), 100, 0, Spread::kAny), random.Make(arrow::utf8(), 100, 0, Spread::kAny),
       random.Make(arrow::int8(), 100, 0, Spread::kAny)});
  WrittenFile file = Write({batch});
  EXPECT_EQ(file.summary.fields, (std::vector<FieldId>{FieldId(0), FieldId(1), FieldId(2)}));
  EXPECT_EQ(file.summary.column_indices, (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(file.summary.version, (FileVersion{2, 2}));
  auto reader = Open(file.bytes);
  // Fields are found by id, so the table may call them what it likes.
  Schema projection(
      {{.id = FieldId(1), .name = "renamed", .logical_type = "string", .type = arrow::utf8(), .nullable = true},
       {.id = FieldId(9), .name = "added", .logical_type = "int64", .type = arrow::int64(), .nullable = true}},
      {});
  auto read = reader->Read(projection, reader->DefaultColumns(), 10, 5).ValueOrDie();
  EXPECT_TRUE(read->schema()->Equals(*projection.ToArrow()));
  EXPECT_TRUE(read->column(0)->Equals(*batch->column(1)->Slice(10, 5)));
  EXPECT_EQ(read->column(1)->null_count(), 5);
  Schema needed(
      {{.id = FieldId(9), .name = "needed", .logical_type = "int64", .type = arrow::int64(), .nullable = false}}, {});
  EXPECT_KIND(reader->Read(needed, reader->DefaultColumns(), 0, 1).status(), ErrorKind::kCorruption, "needed");
  EXPECT_KIND(reader->Read(projection, {{FieldId(1), 3}}, 0, 1).status(), ErrorKind::kCorruption, "renamed");
  EXPECT_EQ(reader->Read(Schema(), {}, 0, 100).ValueOrDie()->num_rows(), 100);
}

TEST_F(DataFileTest, RowsOutsideTheFileAreRefused) {
  WrittenFile file = Write({OneColumn(RandomColumns(1).Make(arrow::int32(), 10, 0, Spread::kAny))});
  auto reader = Open(file.bytes);
  EXPECT_KIND(reader->Read(file.schema, reader->DefaultColumns(), 5, 6).status(), ErrorKind::kInvalidInput, "5+6");
  EXPECT_KIND(reader->Read(file.schema, reader->DefaultColumns(), 11, 0).status(), ErrorKind::kInvalidInput, "11");
  EXPECT_KIND(reader->Read(file.schema, reader->DefaultColumns(), 1, ~uint64_t{0}).status(), ErrorKind::kInvalidInput,
              "rows");
  EXPECT_KIND(reader->Take(file.schema, reader->DefaultColumns(), std::vector<uint64_t>{3, 10}).status(),
              ErrorKind::kInvalidInput, "10");
}

// ---- requests ----

TEST_F(DataFileTest, ASmallFileIsOneRequest) {
  WrittenFile file = Write({OneColumn(RandomColumns(1).Make(arrow::utf8(), 500, 0.1, Spread::kAny))});
  ASSERT_LT(file.bytes.size(), 65536u);
  store_ = StoreOf(file.bytes);
  auto reader = DataFileReader::Open(resources_, store_, "f.lance", file.bytes.size()).ValueOrDie();
  ASSERT_TRUE(reader->Read(file.schema, reader->DefaultColumns(), 0, 500).ok());
  ASSERT_TRUE(reader->Take(file.schema, reader->DefaultColumns(), std::vector<uint64_t>{7, 300}).ok());
  ASSERT_EQ(store_->requests.size(), 1u);
  EXPECT_TRUE(store_->requests[0].tail);
}

TEST_F(DataFileTest, AWrongSizeIsNoticed) {
  WrittenFile file = Write({OneColumn(RandomColumns(1).Make(arrow::int8(), 5, 0, Spread::kAny))});
  EXPECT_KIND(DataFileReader::Open(resources_, StoreOf(file.bytes), "f.lance", file.bytes.size() + 1).status(),
              ErrorKind::kCorruption, "f.lance");
}

TEST_F(DataFileTest, MetadataLargerThanTheTailIsOneMoreRequest) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  RandomColumns random(3);
  for (int i = 0; i < 1500; ++i) {
    fields.push_back(arrow::field(fmt::format("column_{}", i), arrow::int32()));
    arrays.push_back(random.Make(arrow::int32(), 2, 0, Spread::kAny));
  }
  WrittenFile file = Write({arrow::RecordBatch::Make(arrow::schema(fields), 2, arrays)});
  store_ = StoreOf(file.bytes);
  auto reader = DataFileReader::Open(resources_, store_, "f.lance").ValueOrDie();
  EXPECT_EQ(reader->num_columns(), 1500u);
  ASSERT_EQ(store_->requests.size(), 2u);
  // Both together are one run of bytes up to the end.
  ASSERT_EQ(store_->requests[1].ranges.size(), 1u);
  EXPECT_EQ(store_->requests[1].ranges[0].end(), store_->requests[0].ranges[0].offset);
}

TEST_F(DataFileTest, OneRowOfAMiniBlockPageReadsItsChunkOnly) {
  constexpr int64_t kRows = 200'000;
  auto batch = OneColumn(RandomColumns(8).Make(arrow::int64(), kRows, 0, Spread::kAny));
  WrittenFile file = Write({batch});
  auto reader = Open(file.bytes);
  const ColumnOfField columns = reader->DefaultColumns();
  // The first time the table of chunks comes first: one request for it, one for the chunk.
  ExpectSame(*batch->Slice(77'777, 1), reader->Read(file.schema, columns, 77'777, 1));
  ASSERT_EQ(store_->requests.size(), 2u);
  const uint64_t num_chunks = (kRows + 511) / 512;
  EXPECT_EQ(store_->requests[0].ranges[0].length, num_chunks * 4);
  EXPECT_EQ(store_->requests[1].ranges[0].length, 512u * 8 + 8);
  store_->requests.clear();
  ExpectSame(*batch->Slice(5, 1), reader->Take(file.schema, columns, std::vector<uint64_t>{5}));
  ASSERT_EQ(store_->requests.size(), 1u);
  EXPECT_EQ(store_->bytes_read(), 512u * 8 + 8);
  store_->requests.clear();
  // Neighbouring chunks are one range; the last chunk lies in the tail that opening has read.
  ExpectSame(*batch->Slice(1000, 3000), reader->Read(file.schema, columns, 1000, 3000));
  ASSERT_EQ(store_->requests.size(), 1u);
  EXPECT_EQ(store_->requests[0].ranges.size(), 1u);
  store_->requests.clear();
  ExpectSame(*batch->Slice(kRows - 1, 1), reader->Read(file.schema, columns, kRows - 1, 1));
  EXPECT_TRUE(store_->requests.empty());
}

TEST_F(DataFileTest, OneVectorReadsItsBytesOnly) {
  auto batch = OneColumn(RandomColumns(9).Make(arrow::fixed_size_list(arrow::float32(), 128), 5000, 0, Spread::kAny));
  WrittenFile file = Write({batch});
  auto reader = Open(file.bytes);
  ExpectSame(*batch->Slice(1234, 1), reader->Take(file.schema, reader->DefaultColumns(), std::vector<uint64_t>{1234}));
  ASSERT_EQ(store_->requests.size(), 1u);
  EXPECT_EQ(store_->bytes_read(), 512u);
  store_->requests.clear();
  const std::vector<uint64_t> rows = {10, 4, 4, 2000, 11};
  ExpectSame(*TakeRows(batch, rows), reader->Take(file.schema, reader->DefaultColumns(), rows));
  ASSERT_EQ(store_->requests.size(), 1u);
  EXPECT_EQ(store_->requests[0].ranges, (std::vector<ByteRange>{{4 * 512, 512}, {10 * 512, 1024}, {2000 * 512, 512}}));
}

TEST_F(DataFileTest, OneLongStringReadsIndexEntriesThenItsBytes) {
  arrow::StringBuilder builder;
  std::mt19937_64 random(4);
  for (int i = 0; i < 40'000; ++i) {
    std::string value;
    for (int j = 0; j < 300; ++j) value.push_back(static_cast<char>('!' + random() % 90));
    ASSERT_TRUE(builder.Append(value).ok());
  }
  auto batch = OneColumn(builder.Finish().ValueOrDie());
  WrittenFile file = Write({batch}, {.page_bytes = 64u << 20});
  auto reader = Open(file.bytes);
  ExpectSame(*batch->Slice(999, 1), reader->Read(file.schema, reader->DefaultColumns(), 999, 1));
  ASSERT_EQ(store_->requests.size(), 2u);
  EXPECT_EQ(store_->requests[0].ranges.size(), 2u);
  EXPECT_EQ(store_->requests[1].ranges[0].length, 304u);
  EXPECT_EQ(store_->bytes_read(), 304u + 8);
}

TEST_F(DataFileTest, AllColumnsOfARangeAreOneRequest) {
  RandomColumns random(10);
  constexpr int64_t kRows = 50'000;
  auto schema = arrow::schema({arrow::field("v", arrow::fixed_size_list(arrow::float32(), 64)),
                               arrow::field("i", arrow::int64()), arrow::field("b", arrow::boolean())});
  auto batch = arrow::RecordBatch::Make(
      schema, kRows,
      {random.Make(schema->field(0)->type(), kRows, 0, Spread::kAny),
       random.Make(arrow::int64(), kRows, 0, Spread::kAny), random.Make(arrow::boolean(), kRows, 0, Spread::kAny)});
  WrittenFile file = Write({batch});
  auto reader = Open(file.bytes);
  ExpectSame(*batch, reader->Read(file.schema, reader->DefaultColumns(), 0, kRows));
  EXPECT_EQ(store_->requests.size(), 1u);
}

TEST_F(DataFileTest, VectorsAreNotCopied) {
  auto batch =
      OneColumn(RandomColumns(9).Make(arrow::fixed_size_list(arrow::float32(), 128), 2000, 0, Spread::kSequence));
  WrittenFile file = Write({batch});
  auto bytes = arrow::AllocateBuffer(static_cast<int64_t>(file.bytes.size())).ValueOrDie();
  std::memcpy(bytes->mutable_data(), file.bytes.data(), file.bytes.size());
  const uint8_t* begin = bytes->data();
  const uint8_t* end = begin + bytes->size();
  store_ = std::make_shared<RecordingStore>(BufferPtr(std::move(bytes)));
  auto reader = DataFileReader::Open(resources_, store_, "f.lance").ValueOrDie();
  const int64_t before = resources_.pool->total_bytes_allocated();
  auto read = reader->Read(file.schema, reader->DefaultColumns(), 100, 500).ValueOrDie();
  EXPECT_LT(resources_.pool->total_bytes_allocated() - before, 1024);
  const auto& list = static_cast<const arrow::FixedSizeListArray&>(*read->column(0));
  const uint8_t* values = static_cast<const arrow::FloatArray&>(*list.values()).data()->buffers[1]->data();
  EXPECT_TRUE(values >= begin && values < end);
  ExpectSame(*batch->Slice(100, 500), read);
}

// ---- writing ----

TEST_F(DataFileTest, PagesEndAtTheirSizeHoweverRowsArrive) {
  RandomColumns random(11);
  auto array = random.Make(arrow::int64(), 30'000, 0, Spread::kAny);
  arrow::RecordBatchVector pieces;
  for (int64_t i = 0; i < 30'000; i += 100) pieces.push_back(OneColumn(array->Slice(i, 100)));
  WrittenFile by_pieces = Write(pieces, {.page_bytes = 64'000});
  WrittenFile at_once = Write({OneColumn(array)}, {.page_bytes = 64'000});
  for (const WrittenFile* file : {&by_pieces, &at_once}) {
    auto reader = Open(file->bytes);
    // One row reads at most one page.
    ASSERT_TRUE(reader->Read(file->schema, reader->DefaultColumns(), 0, 1).ok());
    EXPECT_LE(store_->bytes_read(), 64'000u);
    ExpectSame(*OneColumn(array), reader->Read(file->schema, reader->DefaultColumns(), 0, 30'000));
  }
}

TEST_F(DataFileTest, EqualInputGivesEqualFiles) {
  RandomColumns random(12);
  auto batch = OneColumn(random.Make(arrow::utf8(), 20'000, 0.1, Spread::kAny));
  EXPECT_EQ(Write({batch}, {.page_bytes = 100'000}).bytes, Write({batch}, {.page_bytes = 100'000}).bytes);
}

TEST_F(DataFileTest, ColumnsThatReleasedReadersCannotReadTogetherAreRefused) {
  const auto check = [](arrow::FieldVector fields, FileVersion version = {2, 2}) {
    return CheckWritable(Schema::FromArrow(*arrow::schema(fields)).ValueOrDie(), version);
  };
  const auto x = arrow::field("x", arrow::int8());
  const auto empty = arrow::field("e", arrow::struct_({}));
  EXPECT_TRUE(check({x, empty, arrow::field("f", arrow::struct_({}))}).ok());
  EXPECT_TRUE(check({arrow::field("s", arrow::struct_({x, empty}))}).ok());
  EXPECT_TRUE(check({empty, x}, {2, 0}).ok());
  for (const FileVersion version : {FileVersion{2, 1}, FileVersion{2, 2}}) {
    EXPECT_KIND(check({empty, x}, version), ErrorKind::kNotSupported, "nothing but nulls in the column 'x'");
    EXPECT_KIND(check({arrow::field("s", arrow::struct_({x, empty})), x}, version), ErrorKind::kNotSupported, "'s.e'");
  }
  const auto pairs = arrow::field("p", arrow::fixed_size_list(arrow::struct_({x}), 2));
  EXPECT_TRUE(check({pairs}).ok());
  EXPECT_TRUE(check({x, arrow::field("one", arrow::fixed_size_list(arrow::struct_({x}), 1))}).ok());
  EXPECT_KIND(check({x, pairs}), ErrorKind::kNotSupported, "'p.item.x'");
  EXPECT_KIND(check({pairs, x}), ErrorKind::kNotSupported, "'p.item.x'");
  const auto triples = arrow::field("t", arrow::fixed_size_list(arrow::struct_({x}), 3));
  EXPECT_KIND(check({pairs, triples}), ErrorKind::kNotSupported, "'p.item.x'");
  EXPECT_TRUE(check({pairs, pairs->WithName("q")}).ok());  // as many items a row
  const auto in_struct = arrow::field("s", arrow::struct_({pairs}));
  EXPECT_KIND(check({in_struct}), ErrorKind::kNotSupported, "'s.p.item.x'");
  EXPECT_KIND(check({pairs, in_struct}), ErrorKind::kNotSupported, "'p.item.x'");
}

TEST_F(DataFileTest, ValuesWithoutBytesAreReadInVersion22Only) {
  const auto check = [](const std::shared_ptr<arrow::DataType>& type, FileVersion version) {
    return CheckWritable(Schema::FromArrow(*arrow::schema({arrow::field("c", type)})).ValueOrDie(), version);
  };
  const auto none = arrow::fixed_size_binary(0);
  const auto in_struct = arrow::struct_({arrow::field("x", arrow::int8()), arrow::field("y", none)});
  for (const auto& type : {none, arrow::list(none), in_struct}) {
    EXPECT_TRUE(check(type, {2, 2}).ok());
    for (const FileVersion version : {FileVersion{2, 0}, FileVersion{2, 1}})
      EXPECT_KIND(check(type, version), ErrorKind::kNotSupported, "write to a table of version 2.2");
  }
  const auto packed = arrow::key_value_metadata({{"lance-encoding:packed", "true"}});
  const Schema schema = Schema::FromArrow(*arrow::schema({arrow::field("c", in_struct, true, packed)})).ValueOrDie();
  EXPECT_KIND(CheckWritable(schema, {2, 2}), ErrorKind::kNotSupported, "a field 'y'");
}

TEST_F(DataFileTest, PackedStructsOfVersion20AreThoseThatReleasedReadersFind) {
  const auto check = [](const arrow::DataTypeVector& types) {
    arrow::FieldVector fields;
    for (const auto& type : types) fields.push_back(arrow::field(fmt::format("f{}", fields.size()), type));
    const auto packed = arrow::key_value_metadata({{"packed", "true"}});
    const auto schema = Schema::FromArrow(*arrow::schema({arrow::field("c", arrow::struct_(fields), true, packed)}));
    return CheckWritable(*schema, {2, 0});
  };
  const auto wide = arrow::fixed_size_list(arrow::float32(), 3);
  EXPECT_TRUE(check({arrow::int8(), arrow::float64(), arrow::fixed_size_binary(9)}).ok());
  EXPECT_TRUE(check({wide, arrow::decimal128(20, 1), arrow::fixed_size_list(wide, 2)}).ok());
  EXPECT_KIND(check({arrow::int8(), wide}), ErrorKind::kNotSupported, "both narrow and wide fields");
  EXPECT_KIND(check({wide, arrow::fixed_size_binary(1000)}), ErrorKind::kNotSupported, "both narrow and wide fields");
  EXPECT_KIND(check({arrow::int8(), arrow::utf8()}), ErrorKind::kNotSupported, "fields of one width each");
  EXPECT_KIND(check({arrow::int8(), arrow::boolean()}), ErrorKind::kNotSupported, "a field 'f1'");
  EXPECT_KIND(check({arrow::int8(), arrow::fixed_size_list(arrow::boolean(), 8)}), ErrorKind::kNotSupported, "'f1'");
  EXPECT_KIND(check({arrow::int8(), arrow::null()}), ErrorKind::kNotSupported, "a field 'f1'");
  EXPECT_KIND(check({arrow::int8(), arrow::list(arrow::int8())}), ErrorKind::kNotSupported, "a field 'f1'");
  EXPECT_FALSE(check({}).ok());
}

TEST_F(DataFileTest, OnlyStructsOfNewTablesArePacked) {
  const auto check = [](const std::shared_ptr<arrow::DataType>& type, const char* key = "lance-encoding:packed") {
    const auto field = arrow::field("c", type, true, arrow::key_value_metadata({{key, "true"}}));
    const auto around = arrow::field("s", arrow::struct_({arrow::field("x", arrow::int8()), field}));
    const Schema schema = Schema::FromArrow(*arrow::schema({around})).ValueOrDie();
    EXPECT_TRUE(CheckWritable(schema, {2, 2}).ok());
    return CheckNewSchema(schema);
  };
  const auto pair = arrow::struct_({arrow::field("y", arrow::int8(), false)});
  for (const auto& type : {arrow::int8(), arrow::utf8(), pair, arrow::fixed_size_list(arrow::int8(), 2)})
    EXPECT_TRUE(check(type).ok());
  for (const auto& type : {arrow::list(arrow::int8()), arrow::large_list(pair), arrow::map(arrow::utf8(), pair),
                           arrow::fixed_size_list(pair, 1)}) {
    EXPECT_KIND(check(type), ErrorKind::kInvalidInput, "'lance-encoding:packed'");
    EXPECT_KIND(check(type, "packed"), ErrorKind::kInvalidInput, "'s.c'");
  }
}

TEST_F(DataFileTest, CompressionMakesFilesSmaller) {
  RandomColumns random(13);
  constexpr int64_t kRows = 50'000;
  auto size_of = [&](std::shared_ptr<arrow::DataType> type, Spread spread) {
    return Write({OneColumn(random.Make(type, kRows, 0, spread))}).bytes.size();
  };
  EXPECT_LT(size_of(arrow::int64(), Spread::kOne), 600u);
  EXPECT_LT(size_of(arrow::int64(), Spread::kSmall), kRows * 7u / 8 + 5000);
  EXPECT_LT(size_of(arrow::int64(), Spread::kFew), kRows * 3u / 8 + 5000);
  EXPECT_LT(size_of(arrow::utf8(), Spread::kFew), kRows * 3u / 8 + 5000);
  // Of 10 bytes a row, 4 are offsets.
  EXPECT_LT(size_of(arrow::utf8(), Spread::kSequence), kRows * 9u);
}

TEST_F(DataFileTest, WhatCannotBeWrittenIsRefusedBeforeTheFirstByte) {
  auto out = std::make_shared<std::string>();
  auto make = [&](std::shared_ptr<arrow::Field> field, DataFileWriteOptions options = {}) {
    Schema schema = Schema::FromArrow(*arrow::schema({field})).ValueOrDie();
    return DataFileWriter::Make(resources_, std::make_unique<BytesWriter>(out), schema, options).status();
  };
  EXPECT_KIND(make(arrow::field("s", arrow::list(arrow::struct_({})))), ErrorKind::kNotSupported, "'s'");
  EXPECT_KIND(make(arrow::field("d", arrow::dictionary(arrow::int8(), arrow::null()))), ErrorKind::kNotSupported,
              "'d'");
  const auto blob =
      arrow::field("b", arrow::large_binary(), true, arrow::key_value_metadata({"lance-encoding:blob"}, {"true"}));
  EXPECT_KIND(make(arrow::field("l", arrow::list(blob))), ErrorKind::kNotSupported, "a blob inside a list");
  const auto pair = arrow::struct_({arrow::field("x", arrow::int8()), arrow::field("y", arrow::int8())});
  const auto packed = arrow::key_value_metadata({{"lance-encoding:packed", "true"}});
  const auto texts = arrow::struct_({arrow::field("x", arrow::utf8())});
  for (const auto& field :
       {arrow::field("m", arrow::map(arrow::utf8(), arrow::int8())), arrow::field("m", texts, true, packed),
        arrow::field("m", arrow::fixed_size_list(arrow::boolean(), 60'000))}) {
    const auto around = arrow::field("c", arrow::struct_({field}));
    EXPECT_KIND(make(around, {.version = {2, 1}}), ErrorKind::kNotSupported, "table of version 2.2");
    EXPECT_EQ(FieldsOf(make(around, {.version = {2, 1}}))["column"], "c.m");
  }
  for (const FileVersion version : {FileVersion{2, 0}, FileVersion{2, 1}}) {
    EXPECT_KIND(make(arrow::field("m", texts, true, packed), {.version = version}), ErrorKind::kNotSupported,
                "'lance-encoding:packed'");
    EXPECT_KIND(make(arrow::field("m", arrow::fixed_size_list(pair, 2)), {.version = version}),
                ErrorKind::kNotSupported, "make it a list of structs");
  }
  EXPECT_KIND(make(arrow::field("m", arrow::map(arrow::utf8(), arrow::int8())), {.version = {2, 0}}),
              ErrorKind::kNotSupported, "'m'");
  EXPECT_KIND(make(arrow::field("i", arrow::int8()), {.version = {0, 1}}), ErrorKind::kNotSupported, "0.1");
  EXPECT_KIND(make(arrow::field("i", arrow::int8()), {.version = {2, 3}}), ErrorKind::kNotSupported, "2.3");
  EXPECT_TRUE(out->empty());
}

// Before 2.2 a chunk takes 32 KiB at most. Strings of all sizes below those that are stored one by one, the large ones
// together; and lists of booleans, which must go into chunks.
TEST_F(DataFileTest, ValuesOfUnequalSizeFitTheChunksOf2_1) {
  arrow::StringBuilder strings;
  for (int i = 0; i < 30'000; ++i) {
    std::string value;
    const size_t size = i < 25'000 ? 1u : 255u;
    for (size_t k = 0; k < size; ++k)
      value += static_cast<char>('!' + (static_cast<size_t>(i) * 7919 + k * k * 31) % 90);
    ASSERT_TRUE(strings.Append(value).ok());
  }
  RandomColumns random(13);
  const auto booleans = arrow::fixed_size_list(arrow::boolean(), 40'000);
  for (const auto& array : {strings.Finish().ValueOrDie(), random.Make(booleans, 9, 0.2, Spread::kAny)}) {
    const auto batch = OneColumn(array);
    WrittenFile file = Write({batch}, {.version = {2, 1}});
    auto reader = Open(file.bytes);
    ASSERT_NE(reader, nullptr);
    ExpectSame(*batch, reader->Read(file.schema, reader->DefaultColumns(), 0, static_cast<uint64_t>(array->length())));
    const std::string layout = InspectDataFile(resources_, *store_, "f.lance").ValueOrDie();
    EXPECT_NE(layout.find("miniBlockLayout"), std::string::npos) << layout;
  }
}

TEST_F(DataFileTest, BatchesMustFitTheSchema) {
  auto out = std::make_shared<std::string>();
  Schema schema = Schema::FromArrow(*arrow::schema({arrow::field("c", arrow::int32(), false)})).ValueOrDie();
  auto writer = DataFileWriter::Make(resources_, std::make_unique<BytesWriter>(out), schema).ValueOrDie();
  RandomColumns random(1);
  EXPECT_KIND(writer->Write(*OneColumn(random.Make(arrow::int64(), 3, 0, Spread::kAny))), ErrorKind::kInvalidInput,
              "int64");
  EXPECT_KIND(writer->Write(*OneColumn(random.Make(arrow::int32(), 3, 1.0, Spread::kAny))), ErrorKind::kInvalidInput,
              "null");
  EXPECT_KIND(writer->Write(*arrow::RecordBatch::Make(arrow::schema({}), 3, arrow::ArrayVector{})),
              ErrorKind::kInvalidInput, "0 columns");
  // A refused batch changes nothing.
  auto good = OneColumn(random.Make(arrow::int32(), 3, 0, Spread::kAny));
  ASSERT_TRUE(writer->Write(*good).ok());
  EXPECT_EQ(writer->num_rows(), 3u);
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_KIND(writer->Write(*good), ErrorKind::kClosed, "finished");
  EXPECT_KIND(writer->Finish().status(), ErrorKind::kClosed, "finished");
  auto reader = Open(*out);
  ExpectSame(*good, reader->Read(schema, reader->DefaultColumns(), 0, 3));
}

TEST_F(DataFileTest, ItemNamesInsideVectorsDoNotMatter) {
  auto item = arrow::field("element", arrow::float32(), false);
  auto type = arrow::fixed_size_list(item, 2);
  auto values = RandomColumns(2).Make(arrow::fixed_size_list(arrow::float32(), 2), 10, 0, Spread::kSequence);
  auto data = values->data()->Copy();
  data->type = type;
  WrittenFile file = Write({OneColumn(values), OneColumn(values)});
  Schema schema = Schema::FromArrow(*arrow::schema({arrow::field("c", type)})).ValueOrDie();
  auto out = std::make_shared<std::string>();
  auto writer = DataFileWriter::Make(resources_, std::make_unique<BytesWriter>(out), schema).ValueOrDie();
  ASSERT_TRUE(writer->Write(*OneColumn(arrow::MakeArray(data))).ok());
  ASSERT_TRUE(writer->Write(*OneColumn(values)).ok());
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_EQ(*out, file.bytes);
}

// ---- refusals and damage ----

std::string WithFooter(std::string bytes, uint16_t major, uint16_t minor) {
  std::memcpy(bytes.data() + bytes.size() - 8, &major, 2);
  std::memcpy(bytes.data() + bytes.size() - 6, &minor, 2);
  return bytes;
}

TEST_F(DataFileTest, OtherVersionsAreRefused) {
  const std::string bytes = Write({OneColumn(RandomColumns(1).Make(arrow::int32(), 10, 0, Spread::kAny))}).bytes;
  auto open = [&](uint16_t major, uint16_t minor) {
    return DataFileReader::Open(resources_, StoreOf(WithFooter(bytes, major, minor)), "f").status();
  };
  for (auto [major, minor] : {std::pair{0, 0}, {0, 1}, {0, 2}})
    EXPECT_KIND(open(static_cast<uint16_t>(major), static_cast<uint16_t>(minor)), ErrorKind::kNotSupported, "0.1");
  for (auto [major, minor] : {std::pair{2, 3}, {2, 4}, {3, 0}, {1, 0}, {0, 4}}) {
    EXPECT_KIND(open(static_cast<uint16_t>(major), static_cast<uint16_t>(minor)), ErrorKind::kNotSupported,
                fmt::format("{}.{}", major, minor));
  }
}

TEST_F(DataFileTest, APageOfOneVersionInAFileOfAnotherIsRefused) {
  WrittenFile file = Write({OneColumn(RandomColumns(1).Make(arrow::int32(), 10, 0, Spread::kAny))});
  for (uint16_t minor : {0, 1}) {
    auto reader = Open(WithFooter(file.bytes, 2, minor));
    ASSERT_NE(reader, nullptr);
    auto status = reader->Read(file.schema, reader->DefaultColumns(), 0, 10).status();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(FieldsOf(status)["column"], "c");
    EXPECT_EQ(FieldsOf(status)["page"], "0");
    EXPECT_EQ(FieldsOf(status)["path"], "f.lance");
  }
  WrittenFile constant = Write({OneColumn(RandomColumns(1).Make(arrow::int32(), 10, 0, Spread::kOne))});
  auto reader = Open(WithFooter(constant.bytes, 2, 1));
  EXPECT_KIND(reader->Read(constant.schema, reader->DefaultColumns(), 0, 10).status(), ErrorKind::kCorruption,
              "constant");
}

TEST_F(DataFileTest, NoLanceFile) {
  for (std::string bytes : {std::string(), std::string("LANC"), std::string(39, 'x'), std::string(100, 'x')}) {
    EXPECT_KIND(DataFileReader::Open(resources_, StoreOf(bytes), "f").status(), ErrorKind::kCorruption, "f");
  }
}

// Every damaged file gives right values, other values, or a typed error: never a crash, hang or invalid array.
TEST_F(DataFileTest, DamagedFilesAreSurvived) {
  RandomColumns random(99);
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  constexpr int64_t kRows = 300;
  for (const auto& type : RandomColumns::Types()) {
    const Spread spread = kSpreads[random.Below(6)];
    fields.push_back(arrow::field(fmt::format("c{}", fields.size()), type));
    arrays.push_back(random.Make(type, kRows, fields.size() % 3 == 0 ? 0.2 : 0, spread));
  }
  const std::string good = Write({arrow::RecordBatch::Make(arrow::schema(fields), kRows, arrays)}).bytes;
  const Resources small = TestResources(64 << 20);
  int failures = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string bytes = good;
    // Most damage goes to the metadata at the end; sometimes the file is cut.
    const size_t span = random.Below(3) == 0 ? bytes.size() : 6000;
    for (uint64_t flips = random.Below(3) + 1; flips > 0; --flips) {
      bytes[bytes.size() - 1 - random.Below(span)] = static_cast<char>(random.Below(256));
    }
    if (random.Below(20) == 0) bytes.resize(random.Below(bytes.size()));
    auto reader = DataFileReader::Open(small, StoreOf(bytes), "f.lance");
    if (!reader.ok()) {
      EXPECT_NE(KindOf(reader.status()), ErrorKind::kInternal) << reader.status().ToString();
      ++failures;
      continue;
    }
    const ColumnOfField columns = (*reader)->DefaultColumns();
    for (const Field& field : (*reader)->schema().fields()) {
      Schema projection({field}, {});
      auto read = (*reader)->Read(projection, columns, 0, std::min<uint64_t>((*reader)->num_rows(), 1000));
      if (!read.ok()) {
        EXPECT_NE(KindOf(read.status()), ErrorKind::kInternal) << read.status().ToString();
        ++failures;
      } else {
        const arrow::Status valid = (*read)->Validate();
        EXPECT_TRUE(valid.ok()) << valid.ToString();
      }
    }
  }
  EXPECT_GT(failures, 100);
  EXPECT_EQ(small.memory->used(), 0);
}

}  // namespace
}  // namespace javelin::file
