// Columns of blobs as they are written: where values and their places lie, what is taken, what is refused.
#include <gmock/gmock.h>

#include <arrow/json/from_string.h>

#include "javelin/base/seeded_random.h"
#include "javelin/file/blob_field.h"
#include "javelin/file/blob_input.h"
#include "javelin/file/container_internal.h"
#include "javelin/file/file_test_support.h"

namespace javelin::file {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

using Metadata = std::vector<std::pair<std::string, std::string>>;
using Text = std::optional<std::string>;

constexpr int64_t kMiB = 1 << 20;

std::shared_ptr<arrow::DataType> ShortForm() {
  return arrow::struct_({arrow::field("data", arrow::large_binary()), arrow::field("uri", arrow::utf8())});
}

std::shared_ptr<arrow::DataType> LongForm() {
  return arrow::struct_({arrow::field("data", arrow::large_binary()), arrow::field("uri", arrow::utf8()),
                         arrow::field("position", arrow::uint64()), arrow::field("size", arrow::uint64())});
}

std::shared_ptr<arrow::Field> FieldWith(std::shared_ptr<arrow::DataType> type, const Metadata& metadata) {
  auto map = std::make_shared<arrow::KeyValueMetadata>();
  for (const auto& [key, value] : metadata) map->Append(key, value);
  return arrow::field("b", std::move(type), true, map);
}
std::shared_ptr<arrow::Field> V1() { return FieldWith(arrow::large_binary(), {{"lance-encoding:blob", "true"}}); }
std::shared_ptr<arrow::Field> V2(Metadata sizes = {}) {
  sizes.emplace_back("ARROW:extension:name", "lance.blob.v2");
  return FieldWith(ShortForm(), sizes);
}

std::shared_ptr<arrow::Array> BytesOf(const std::vector<Text>& values) {
  arrow::LargeBinaryBuilder builder;
  for (const Text& value : values) {
    EXPECT_TRUE((value ? builder.Append(*value) : builder.AppendNull()).ok());
  }
  return builder.Finish().ValueOrDie();
}

// The values in the form that v2 has on its own: what is null is the struct.
std::shared_ptr<arrow::Array> FormOf(const std::vector<Text>& values, const std::shared_ptr<arrow::DataType>& form) {
  const auto bytes = BytesOf(values);
  arrow::ArrayVector parts = {bytes};
  for (int i = 1; i < form->num_fields(); ++i)
    parts.push_back(arrow::MakeArrayOfNull(form->field(i)->type(), bytes->length()).ValueOrDie());
  return arrow::StructArray::Make(parts, form->fields(), bytes->null_bitmap()).ValueOrDie();
}

// Notes what of the budget is used whenever a piece is written, and where the large pieces come from.
class WatchingWriter final : public ObjectWriter {
 public:
  struct Notes {
    std::string bytes;
    int64_t most = 0;
    std::vector<const uint8_t*> large;
    bool finished = false;
  };
  WatchingWriter(const MemoryBudget& budget, Notes& notes) : budget_(budget), notes_(notes) {}
  arrow::Status Write(BufferPtr bytes) override {
    notes_.most = std::max(notes_.most, budget_.used());
    if (bytes->size() >= kMiB) notes_.large.push_back(bytes->data());
    notes_.bytes.append(reinterpret_cast<const char*>(bytes->data()), static_cast<size_t>(bytes->size()));
    return arrow::Status::OK();
  }
  arrow::Status Finish() override {
    notes_.finished = true;
    return arrow::Status::OK();
  }

 private:
  const MemoryBudget& budget_;
  Notes& notes_;
};

class BlobFile {
 public:
  explicit BlobFile(const Resources& resources = TestResources()) : resources_(resources) {}

  arrow::Status Write(const std::shared_ptr<arrow::Field>& field, const arrow::ArrayVector& arrays,
                      DataFileWriteOptions options = {}) {
    ARROW_ASSIGN_OR_RAISE(schema_, Schema::FromArrow(*arrow::schema({field, arrow::field("n", arrow::int64())})));
    options.open_sidecar = [this](uint32_t id) {
      return std::make_unique<WatchingWriter>(*resources_.memory, sidecars[id]);
    };
    ARROW_ASSIGN_OR_RAISE(
        auto writer,
        DataFileWriter::Make(resources_, std::make_unique<WatchingWriter>(*resources_.memory, data), schema_, options));
    int64_t next = 0;
    for (const auto& array : arrays) {
      arrow::Int64Builder numbers;
      for (int64_t i = 0; i < array->length(); ++i) ARROW_RETURN_NOT_OK(numbers.Append(next++));
      ARROW_ASSIGN_OR_RAISE(const auto n, numbers.Finish());
      const auto schema = arrow::schema({field->WithType(array->type()), arrow::field("n", arrow::int64())});
      ARROW_RETURN_NOT_OK(writer->Write(*arrow::RecordBatch::Make(schema, array->length(), {array, n})));
    }
    ARROW_ASSIGN_OR_RAISE(summary, writer->Finish());
    return arrow::Status::OK();
  }

  std::shared_ptr<DataFileReader> Open() const {
    return DataFileReader::Open(resources_, StoreOf(data.bytes), "f.lance").ValueOrDie();
  }
  std::shared_ptr<arrow::StructArray> Places() const {
    const auto reader = Open();
    const auto rows =
        reader->Read(DescribeBlobs(schema_), reader->DefaultColumns(), 0, reader->num_rows()).ValueOrDie();
    const auto& numbers = static_cast<const arrow::Int64Array&>(*rows->column(1));
    for (int64_t i = 0; i < numbers.length(); ++i) EXPECT_EQ(numbers.Value(i), i);
    return std::static_pointer_cast<arrow::StructArray>(rows->column(0));
  }
  // The values where their places say.
  std::vector<Text> Values() const {
    const auto places = Places();
    const bool is_v2 = places->num_fields() > 2;
    const auto number = [&](int index, int64_t row) {
      return static_cast<const arrow::UInt64Array&>(*places->field(index)).Value(row);
    };
    std::vector<Text> values;
    for (int64_t row = 0; row < places->length(); ++row) {
      const uint64_t position = number(is_v2 ? 1 : 0, row);
      const uint64_t size = number(is_v2 ? 2 : 1, row);
      if (places->IsNull(row) || (!is_v2 && size == 0 && position != 0)) {
        values.emplace_back();
        continue;
      }
      const bool outside = is_v2 && static_cast<const arrow::UInt8Array&>(*places->field(0)).Value(row) != 0;
      const uint32_t id = outside ? static_cast<const arrow::UInt32Array&>(*places->field(3)).Value(row) : 0;
      values.emplace_back((outside ? sidecars.at(id) : data).bytes.substr(position, size));
    }
    return values;
  }

  WatchingWriter::Notes data;
  std::map<uint32_t, WatchingWriter::Notes> sidecars;
  DataFileSummary summary;

 private:
  const Resources resources_;
  Schema schema_;
};

class BlobsV1 : public ::testing::TestWithParam<FileVersion> {};
INSTANTIATE_TEST_SUITE_P(Versions, BlobsV1, ::testing::ValuesIn(kWrittenVersions), VersionName);

TEST_P(BlobsV1, ValuesLieBesideThePages) {
  BlobFile file;
  ASSERT_EQ(file.Write(V1(), {BytesOf({"hello", std::nullopt, "", std::string(1000, 'x')})}, {.version = GetParam()}),
            arrow::Status::OK());
  EXPECT_EQ(file.data.bytes.substr(0, 5), "hello");
  EXPECT_EQ(file.data.bytes.substr(5, 59), std::string(59, '\0'));
  EXPECT_EQ(file.data.bytes.substr(64, 1000), std::string(1000, 'x'));
  EXPECT_THAT(file.sidecars, IsEmpty());
  const std::string null = GetParam() == FileVersion{2, 0} ? R"({"position": 1, "size": 0})" : "null";
  const auto expected =
      arrow::json::ArrayFromJSONString(
          BlobDescriptionType(BlobKind::kV1),
          fmt::format(
              R"([{{"position": 0, "size": 5}}, {}, {{"position": 0, "size": 0}}, {{"position": 64, "size": 1000}}])",
              null))
          .ValueOrDie();
  EXPECT_TRUE(file.Places()->Equals(expected)) << file.Places()->ToString();
  EXPECT_EQ(file.Open()->schema().ToArrow()->field(0)->type()->id(), arrow::Type::LARGE_BINARY);
  EXPECT_EQ(file.summary.fields.size(), 2u);
}

TEST_P(BlobsV1, RowsOfManyPagesAndBatches) {
  SeededRandom random(1);
  std::vector<Text> values;
  arrow::ArrayVector arrays;
  for (int batch = 0; batch < 12; ++batch) {
    std::vector<Text> some;
    const uint64_t rows = 100 + random.Below(400);
    for (uint64_t i = 0; i < rows; ++i) {
      some.emplace_back(std::string(random.Below(3) == 0 ? random.Below(300) : random.Below(3), static_cast<char>(i)));
      if (random.Below(batch % 3 == 0 ? 1u : 4u) == 0) some.back().reset();
    }
    const int64_t skipped = static_cast<int64_t>(random.Below(50));
    arrays.push_back(BytesOf(some)->Slice(skipped));
    values.insert(values.end(), some.begin() + skipped, some.end());
  }
  BlobFile file;
  ASSERT_EQ(file.Write(V1(), arrays, {.version = GetParam(), .page_bytes = 3000}), arrow::Status::OK());
  EXPECT_EQ(file.Values(), values);
  const auto columns = OpenContainer(TestResources(), *StoreOf(file.data.bytes), "f.lance", {}).ValueOrDie().columns;
  EXPECT_GT(columns[0].pages.size(), 10u);
}

TEST_P(BlobsV1, OnlyNullsOnlyEmptyOnesAndNoRows) {
  for (const std::vector<Text>& values :
       {std::vector<Text>(3), std::vector<Text>(3, ""), std::vector<Text>{}, std::vector<Text>{""}}) {
    BlobFile file;
    ASSERT_EQ(file.Write(V1(), {BytesOf(values)}, {.version = GetParam()}), arrow::Status::OK());
    EXPECT_EQ(file.Values(), values);
  }
}

// A table of many large values takes no memory: they are written from where they are.
TEST_P(BlobsV1, NothingIsHeldOfTheValues) {
  const Resources resources = TestResources(4 * kMiB);
  BlobFile file(resources);
  const auto batch = BytesOf({std::string(2 * kMiB, 'a'), std::string(kMiB, 'b'), std::nullopt});
  ASSERT_EQ(file.Write(V1(), arrow::ArrayVector(20, batch), {.version = GetParam()}), arrow::Status::OK());
  EXPECT_LT(file.data.most, 128 << 10);
  EXPECT_EQ(resources.memory->used(), 0);
  const uint8_t* const first = static_cast<const arrow::LargeBinaryArray&>(*batch).value_data()->data();
  ASSERT_EQ(file.data.large.size(), 40u);
  for (size_t i = 0; i < 40; ++i) EXPECT_EQ(file.data.large[i], first + (i % 2 == 0 ? 0 : 2 * kMiB));
  EXPECT_GT(file.summary.size_bytes, static_cast<uint64_t>(60 * kMiB));
}

// Places are made and counted for some rows after the other, however many a batch has.
TEST_P(BlobsV1, ManyRowsAreTakenSomeAtOnce) {
  const Resources resources = TestResources(16 * kMiB);
  BlobFile file(resources);
  std::vector<Text> values(100'000, "x");
  values[99'999].reset();
  ASSERT_EQ(file.Write(V1(), {BytesOf(values)}, {.version = GetParam(), .page_bytes = 1 << 20}), arrow::Status::OK());
  EXPECT_LT(file.data.most, 6 * kMiB);
  EXPECT_EQ(file.Values(), values);
}

TEST(BlobsV2, SizesDecideWhereAValueLies) {
  const std::vector<Text> values = {std::string(10, 'a'), std::string(11, 'b'), std::nullopt,        "",
                                    std::string(20, 'c'), std::string(21, 'd'), std::string(15, 'e')};
  for (const auto& input : {FormOf(values, ShortForm()), FormOf(values, LongForm()), BytesOf(values)}) {
    BlobFile file;
    ASSERT_EQ(file.Write(V2({{"lance-encoding:blob-inline-size-threshold", "10"},
                             {"lance-encoding:blob-dedicated-size-threshold", "20"},
                             {"lance-encoding:blob-pack-file-size-threshold", "31"}}),
                         {input}),
              arrow::Status::OK());
    const auto expected = arrow::json::ArrayFromJSONString(BlobDescriptionType(BlobKind::kV2), R"([
        {"kind": 0, "position": 0, "size": 10, "blob_id": 0, "blob_uri": ""},
        {"kind": 1, "position": 0, "size": 11, "blob_id": 1, "blob_uri": ""},
        null,
        {"kind": 0, "position": 64, "size": 0, "blob_id": 0, "blob_uri": ""},
        {"kind": 1, "position": 11, "size": 20, "blob_id": 1, "blob_uri": ""},
        {"kind": 2, "position": 0, "size": 21, "blob_id": 2, "blob_uri": ""},
        {"kind": 1, "position": 0, "size": 15, "blob_id": 3, "blob_uri": ""}])")
                              .ValueOrDie();
    EXPECT_TRUE(file.Places()->Equals(expected)) << file.Places()->ToString();
    EXPECT_EQ(file.Values(), values);
    EXPECT_EQ(file.sidecars.at(1).bytes, std::string(11, 'b') + std::string(20, 'c'));
    for (const auto& [id, sidecar] : file.sidecars) EXPECT_TRUE(sidecar.finished) << id;
    EXPECT_EQ(file.summary.fields, (std::vector<FieldId>{FieldId(0), FieldId(3)}));
  }
}

TEST(BlobsV2, SizesUnlessTheFieldSaysOtherwise) {
  const std::vector<Text> values = {std::string(64 << 10, 'a'), std::string((64 << 10) + 1, 'b'),
                                    std::string(4 << 20, 'c'), std::string((4 << 20) + 1, 'd')};
  BlobFile file;
  ASSERT_EQ(file.Write(V2(), {FormOf(values, ShortForm())}), arrow::Status::OK());
  std::vector<uint8_t> kinds;
  const auto places = file.Places();
  for (int64_t i = 0; i < 4; ++i) kinds.push_back(static_cast<const arrow::UInt8Array&>(*places->field(0)).Value(i));
  EXPECT_THAT(kinds, ElementsAre(0, 1, 1, 2));
  EXPECT_EQ(file.Values(), values);
}

TEST(BlobsV2, RowsOfManyPagesAndBatches) {
  SeededRandom random(7);
  std::vector<Text> values;
  arrow::ArrayVector arrays;
  for (int batch = 0; batch < 12; ++batch) {
    std::vector<Text> some;
    for (int i = 0; i < 300; ++i) {
      some.emplace_back(std::string(random.Below(90), static_cast<char>(i)));
      if (random.Below(4) == 0) some.back().reset();
    }
    arrays.push_back((batch % 2 == 0 ? FormOf(some, ShortForm()) : BytesOf(some))->Slice(17));
    values.insert(values.end(), some.begin() + 17, some.end());
  }
  BlobFile file;
  ASSERT_EQ(file.Write(V2({{"lance-encoding:blob-inline-size-threshold", "30"},
                           {"lance-encoding:blob-dedicated-size-threshold", "80"},
                           {"lance-encoding:blob-pack-file-size-threshold", "1000"}}),
                       arrays, {.page_bytes = 5000}),
            arrow::Status::OK());
  EXPECT_EQ(file.Values(), values);
}

// The fields of a description have no ids; the next column of the table keeps its own.
TEST(BlobsV2, AFileSaysWhatItStores) {
  BlobFile file;
  ASSERT_EQ(file.Write(V2(), {BytesOf({"a"})}), arrow::Status::OK());
  const auto reader = file.Open();
  const Schema& schema = reader->schema();
  ASSERT_EQ(schema.fields().size(), 2u);
  EXPECT_EQ(BlobKindOf(schema.fields()[0]), BlobKind::kV2);
  EXPECT_EQ(schema.fields()[0].id, FieldId(0));
  EXPECT_EQ(schema.fields()[1].id, FieldId(3));
}

TEST(BlobsV2, AFailingSidecarFailsTheFile) {
  const Resources resources = TestResources();
  const auto schema = Schema::FromArrow(*arrow::schema({V2()})).ValueOrDie();
  auto bytes = std::make_shared<std::string>();
  const SidecarOpener failing = [](uint32_t) -> arrow::Result<std::unique_ptr<ObjectWriter>> {
    return MakeError(ErrorKind::kIO, "no room");
  };
  auto writer = DataFileWriter::Make(resources, std::make_unique<BytesWriter>(bytes), schema, {.open_sidecar = failing})
                    .ValueOrDie();
  const auto batch = [](const Text& value) {
    return arrow::RecordBatch::Make(arrow::schema({V2()->WithType(arrow::large_binary())}), 1, {BytesOf({value})});
  };
  ASSERT_EQ(writer->Write(*batch("small")), arrow::Status::OK());
  EXPECT_KIND(writer->Write(*batch(std::string(70000, 'x'))), ErrorKind::kIO, "column 'b': no room");
  EXPECT_KIND(writer->Write(*batch("small")), ErrorKind::kIO, "no room");
  EXPECT_KIND(writer->Finish().status(), ErrorKind::kIO, "no room");
}

TEST(BlobInput, ColumnsThatAreRefusedBeforeTheFirstByte) {
  const auto refusal = [](const std::shared_ptr<arrow::Field>& field, FileVersion version) {
    BlobFile file;
    const arrow::Status status = file.Write(field, {}, {.version = version});
    EXPECT_EQ(file.data.bytes, "");
    return status;
  };
  const std::string blob = "lance-encoding:blob";
  for (FileVersion version : kWrittenVersions) {
    EXPECT_KIND(refusal(FieldWith(arrow::utf8(), {{blob, ""}}), version), ErrorKind::kInvalidInput, "large_binary");
    EXPECT_KIND(refusal(FieldWith(arrow::binary(), {{blob, ""}}), version), ErrorKind::kInvalidInput, "large_binary");
    const auto inner = FieldWith(arrow::large_binary(), {{blob, "true"}});
    const auto structs = arrow::struct_({inner});
    const auto allowed = [&](const std::shared_ptr<arrow::Field>& field) {
      return CheckWritable(Schema::FromArrow(*arrow::schema({field})).ValueOrDie(), version);
    };
    EXPECT_EQ(allowed(arrow::field("b", structs)), arrow::Status::OK());
    // Released readers find those in 2.0 only.
    for (const auto& type : {arrow::list(inner), arrow::large_list(inner), arrow::list(structs)}) {
      if (version == FileVersion{2, 0}) {
        EXPECT_EQ(allowed(arrow::field("b", type)), arrow::Status::OK());
      } else {
        EXPECT_KIND(refusal(arrow::field("b", type), version), ErrorKind::kNotSupported, "inside a list");
      }
    }
    if (version < FileVersion{2, 2}) {
      EXPECT_KIND(refusal(V2(), version), ErrorKind::kNotSupported, "2.2");
      EXPECT_KIND(refusal(arrow::field("b", arrow::struct_({V2()})), version), ErrorKind::kNotSupported, "2.2");
    } else {
      EXPECT_EQ(allowed(arrow::field("b", arrow::list(arrow::struct_({V2()})))), arrow::Status::OK());
    }
    const auto packed =
        arrow::field("b", structs)->WithMetadata(arrow::key_value_metadata({"lance-encoding:packed"}, {"true"}));
    EXPECT_KIND(refusal(packed, version), ErrorKind::kNotSupported, "packed");
    EXPECT_KIND(refusal(arrow::field("b", arrow::map(arrow::utf8(), inner)), version), ErrorKind::kNotSupported, "");
    EXPECT_KIND(refusal(arrow::field("b", arrow::fixed_size_list(structs, 2)), version), ErrorKind::kNotSupported, "");
  }
  const Metadata v2 = {{"ARROW:extension:name", "lance.blob.v2"}};
  const auto data = arrow::field("data", arrow::large_binary());
  const auto uri = arrow::field("uri", arrow::utf8());
  for (const auto& type :
       {arrow::large_binary(), arrow::struct_({data}), arrow::struct_({uri, data}),
        arrow::struct_({data->WithNullable(false), uri}), arrow::struct_({data, uri, arrow::field("x", arrow::int8())}),
        arrow::struct_({data->WithType(arrow::binary()), uri}), BlobDescriptionType(BlobKind::kV2)})
    EXPECT_KIND(refusal(FieldWith(type, v2), {2, 2}), ErrorKind::kInvalidInput, "blob column 'b'");
  for (const std::string key : {"inline-size", "dedicated-size", "pack-file-size"}) {
    for (const std::string value : {"", "x", "-1", " 5", "1.5", "99999999999999999999999"})
      EXPECT_KIND(refusal(V2({{"lance-encoding:blob-" + key + "-threshold", value}}), {2, 2}), ErrorKind::kInvalidInput,
                  key);
  }
  EXPECT_KIND(refusal(V2({{"lance-encoding:blob-dedicated-size-threshold", "0"}}), {2, 2}), ErrorKind::kInvalidInput,
              "from 1 on");
  // A file alone has nowhere to put larger values.
  const auto schema = Schema::FromArrow(*arrow::schema({V2()})).ValueOrDie();
  EXPECT_KIND(DataFileWriter::Make(TestResources(), nullptr, schema).status(), ErrorKind::kInvalidInput, "table");
  EXPECT_TRUE(CheckWritable(schema, {2, 2}).ok());
  BlobFile file;
  EXPECT_EQ(file.Write(V2({{"lance-encoding:blob-inline-size-threshold", "+0"}}), {}), arrow::Status::OK());
}

TEST(BlobInput, ValuesThatAreRefusedBeforeTheFirstByte) {
  const auto refusal = [](const std::shared_ptr<arrow::Field>& field, const std::shared_ptr<arrow::DataType>& type,
                          const std::string& json) {
    BlobFile file;
    const arrow::Status status = file.Write(field, {arrow::json::ArrayFromJSONString(type, json).ValueOrDie()});
    EXPECT_EQ(file.data.bytes, "");
    return status;
  };
  EXPECT_KIND(refusal(V1(), arrow::utf8(), R"(["a"])"), ErrorKind::kInvalidInput, "given as string");
  EXPECT_KIND(refusal(V1(), arrow::binary(), R"(["a"])"), ErrorKind::kInvalidInput, "given as binary");
  EXPECT_KIND(refusal(V1(), ShortForm(), R"([{"data": "a"}])"), ErrorKind::kInvalidInput, "large_binary");
  EXPECT_KIND(refusal(V2(), BlobDescriptionType(BlobKind::kV2), "[null]"), ErrorKind::kInvalidInput, "given as struct");
  EXPECT_KIND(refusal(V2(), ShortForm(), R"([{"data": "a"}, {}])"), ErrorKind::kInvalidInput, "row 1 of blob");
  EXPECT_KIND(refusal(V2(), ShortForm(), R"([{"data": "a", "uri": "file:///x"}])"), ErrorKind::kInvalidInput, "either");
  EXPECT_KIND(refusal(V2(), LongForm(), R"([{"data": "a", "position": 1, "size": 1}])"), ErrorKind::kInvalidInput,
              "belongs to no `uri`");
  EXPECT_KIND(refusal(V2(), LongForm(), R"([{"uri": "file:///x", "size": 1}])"), ErrorKind::kInvalidInput, "position");
  EXPECT_KIND(refusal(V2(), ShortForm(), R"([{"uri": "file:///x"}])"), ErrorKind::kNotSupported, "'file:///x'");
  // What lies under a null struct is nobody's.
  const auto parts = arrow::json::ArrayFromJSONString(ShortForm(), R"([{"data": "a", "uri": "x"}])").ValueOrDie();
  const auto null = arrow::StructArray::Make(static_cast<const arrow::StructArray&>(*parts).fields(),
                                             ShortForm()->fields(), arrow::AllocateEmptyBitmap(1).ValueOrDie())
                        .ValueOrDie();
  BlobFile file;
  ASSERT_EQ(file.Write(V2(), {null}), arrow::Status::OK());
  EXPECT_THAT(file.Values(), ElementsAre(std::nullopt));
  EXPECT_KIND(file.Write(V2()->WithNullable(false), {BytesOf({std::nullopt})}), ErrorKind::kInvalidInput, "null");
}

}  // namespace
}  // namespace javelin::file
