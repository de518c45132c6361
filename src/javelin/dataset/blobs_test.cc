// Tables with blobs: what a write leaves on the store, what it takes, how the bytes come back.
#include "javelin/dataset/blobs.h"

#include "javelin/dataset/dataset_world_internal.h"
#include "javelin/dataset/row_change.h"
#include "javelin/file/blob_field.h"
#include "javelin/table/versions.h"

namespace javelin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using Text = std::optional<std::string>;
using Metadata = std::vector<std::pair<std::string, std::string>>;

constexpr file::FileVersion kV1Versions[] = {{2, 0}, {2, 1}};
const Metadata kBlob = {{"lance-encoding:blob", "true"}};
const Metadata kExtension = {{"ARROW:extension:name", "lance.blob.v2"}};

std::shared_ptr<arrow::DataType> ShortForm() {
  return arrow::struct_({arrow::field("data", arrow::large_binary()), arrow::field("uri", arrow::utf8())});
}
std::shared_ptr<arrow::DataType> LongForm() {
  return arrow::struct_({arrow::field("data", arrow::large_binary()), arrow::field("uri", arrow::utf8()),
                         arrow::field("position", arrow::uint64()), arrow::field("size", arrow::uint64())});
}

std::shared_ptr<arrow::Array> BytesOf(const std::vector<Text>& values,
                                      const std::shared_ptr<arrow::DataType>& type = arrow::large_binary()) {
  auto builder = arrow::MakeBuilder(type).ValueOrDie();
  for (const Text& value : values) {
    if (!value) {
      EXPECT_TRUE(builder->AppendNull().ok());
    } else if (type->id() == arrow::Type::LARGE_BINARY) {
      EXPECT_TRUE(static_cast<arrow::LargeBinaryBuilder&>(*builder).Append(*value).ok());
    } else {
      EXPECT_TRUE(static_cast<arrow::BinaryBuilder&>(*builder).Append(*value).ok());
    }
  }
  return builder->Finish().ValueOrDie();
}

// The values as a column `b` of a type that blobs are given in.
BatchPtr Rows(const std::vector<Text>& values, const std::shared_ptr<arrow::DataType>& type, const Metadata& metadata) {
  std::shared_ptr<arrow::Array> array;
  if (type->id() == arrow::Type::STRUCT) {
    const auto bytes = BytesOf(values);
    arrow::ArrayVector parts = {bytes};
    for (int i = 1; i < type->num_fields(); ++i)
      parts.push_back(arrow::MakeArrayOfNull(type->field(i)->type(), bytes->length()).ValueOrDie());
    array = arrow::StructArray::Make(parts, type->fields(), bytes->null_bitmap()).ValueOrDie();
  } else {
    array = BytesOf(values, type);
  }
  auto map = std::make_shared<arrow::KeyValueMetadata>();
  for (const auto& [key, value] : metadata) map->Append(key, value);
  return arrow::RecordBatch::Make(arrow::schema({arrow::field("b", type, true, map)}), array->length(), {array});
}

class Blobs : public testing::TestWithParam<StoreKind> {
 protected:
  arrow::Result<std::shared_ptr<Dataset>> Write(const BatchPtr& rows, WriteMode mode, WriteOptions options = {}) {
    return world_.WriteBatches({rows}, mode, std::move(options));
  }
  static std::vector<Text> Read(const Dataset& dataset) {
    const auto reader = dataset.Scan({.with_row_address = true}).ValueOrDie();
    const auto rows = ReadBlobs(dataset, ReadAll(*reader).ValueOrDie()).ValueOrDie();
    const auto& bytes = static_cast<const arrow::LargeBinaryArray&>(*rows->column(0));
    std::vector<Text> values;
    for (int64_t row = 0; row < bytes.length(); ++row)
      values.push_back(bytes.IsNull(row) ? Text() : Text(bytes.GetString(row)));
    return values;
  }
  // The keys below the folder of data files.
  std::vector<std::string> Files() {
    std::vector<std::string> keys;
    for (const auto& object : ListAll(world_.inner(), {.prefix = "t/data/"}).ValueOrDie().objects)
      keys.push_back(object.key);
    return keys;
  }
  DatasetWorld world_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Stores, Blobs, testing::Values(StoreKind::kMemory, StoreKind::kLocal),
                         [](const auto& info) { return info.param == StoreKind::kMemory ? "Memory" : "Local"; });

const std::vector<Text> kValues = {"hello", std::nullopt, "", std::string(70000, 'x'), std::string(5 << 20, 'y')};

// One object for each sidecar, one for the data file, in the order in which they are whole.
TEST_P(Blobs, RequestsOfAWrite) {
  ASSERT_OK_AND_ASSIGN(const auto made, Write(Rows(kValues, arrow::large_binary(), kBlob), WriteMode::kCreate));
  const std::string data = "t/data/" + made->manifest().fragments[0].files[0].path;
  std::vector<std::string> log = world_.counting().LogText();
  ASSERT_GE(log.size(), 4u);
  log.resize(4);
  EXPECT_THAT(log, ElementsAre("list t/_versions/", "put " + file::BlobSidecarKey(data, 2),
                               "put " + file::BlobSidecarKey(data, 1), "put " + data));
  EXPECT_EQ(Read(*made), kValues);
  world_.counting().Reset();
  // The larger ones by the sidecar, the others with the data file.
  EXPECT_EQ(Read(*made), kValues);
  EXPECT_EQ(world_.counting().counts().head, 2u);
}

TEST_P(Blobs, FieldsOfV1BecomeV2WhereFilesHaveIt) {
  for (file::FileVersion version : kV1Versions) {
    ASSERT_OK_AND_ASSIGN(const auto made, Write(Rows(kValues, arrow::large_binary(), kBlob), WriteMode::kOverwrite,
                                                {.data_storage_version = version}));
    EXPECT_EQ(file::BlobKindOf(made->schema().fields()[0]), file::BlobKind::kV1);
    EXPECT_EQ(Read(*made), kValues);
  }
  Metadata more = kBlob;
  more.emplace_back("mine", "kept");
  for (const auto& type : {arrow::large_binary(), arrow::binary(), ShortForm()}) {
    ASSERT_OK_AND_ASSIGN(const auto made, Write(Rows(kValues, type, more), WriteMode::kOverwrite,
                                                {.data_storage_version = file::FileVersion{2, 2}}));
    const file::Field& field = made->schema().fields()[0];
    EXPECT_EQ(field.metadata,
              (std::map<std::string, std::string>{{"ARROW:extension:name", "lance.blob.v2"}, {"mine", "kept"}}));
    EXPECT_TRUE(field.type->Equals(*ShortForm()));
    EXPECT_EQ(made->manifest().fragments[0].files[0].fields.size(), 1u);
    EXPECT_EQ(Read(*made), kValues);
  }
}

TEST_P(Blobs, FormsOfAnAppend) {
  for (const auto& table : {ShortForm(), LongForm()}) {
    ASSERT_OK_AND_ASSIGN(auto dataset, Write(Rows({"first"}, table, kExtension), WriteMode::kOverwrite));
    std::vector<Text> expected = {"first"};
    for (const auto& rows :
         {Rows(kValues, table, kExtension), Rows(kValues, ShortForm(), {}), Rows(kValues, LongForm(), kExtension),
          Rows(kValues, arrow::large_binary(), kBlob), Rows(kValues, arrow::binary(), kBlob)}) {
      ASSERT_OK_AND_ASSIGN(dataset, Write(rows, WriteMode::kAppend));
      expected.insert(expected.end(), kValues.begin(), kValues.end());
    }
    EXPECT_EQ(Read(*dataset), expected);
  }
  ASSERT_OK(Write(Rows(kValues, arrow::large_binary(), kBlob), WriteMode::kOverwrite,
                  {.data_storage_version = file::FileVersion{2, 1}})
                .status());
  ASSERT_OK_AND_ASSIGN(const auto old, Write(Rows({"more"}, arrow::large_binary(), {}), WriteMode::kAppend));
  EXPECT_EQ(Read(*old).back(), "more");
}

TEST_P(Blobs, AppendsThatDoNotFitWriteNothing) {
  const auto refuse = [&](const BatchPtr& rows, ErrorKind kind, const std::string& text, WriteOptions options = {}) {
    const auto before = Files();
    ExpectError(Write(rows, WriteMode::kAppend, std::move(options)).status(), kind, text);
    EXPECT_EQ(Files(), before);
  };
  Metadata sized = kExtension;
  sized.emplace_back("lance-encoding:blob-inline-size-threshold", "7");
  ASSERT_OK(Write(Rows({"a"}, ShortForm(), sized), WriteMode::kCreate).status());
  EXPECT_TRUE(Write(Rows({"a"}, ShortForm(), sized), WriteMode::kAppend).ok());
  sized.back().second = "8";
  refuse(Rows({"a"}, ShortForm(), sized), ErrorKind::kInvalidInput, "is 8, the table has 7");
  refuse(Rows({"a"}, arrow::large_binary(), {}), ErrorKind::kInvalidInput, "lance-encoding:blob");
  refuse(Rows({"a"}, file::BlobDescriptionType(file::BlobKind::kV1), {}), ErrorKind::kInvalidInput, "blob column 'b'");
  refuse(Rows({"a"}, ShortForm(), kExtension), ErrorKind::kNotSupported, "2.2",
         {.data_storage_version = file::FileVersion{2, 1}});
  ASSERT_OK(Write(Rows({"a"}, arrow::large_binary(), kBlob), WriteMode::kOverwrite,
                  {.data_storage_version = file::FileVersion{2, 1}})
                .status());
  refuse(Rows({"a"}, ShortForm(), kExtension), ErrorKind::kInvalidInput, "large_binary");
  refuse(Rows({"a"}, arrow::large_binary(), kBlob), ErrorKind::kNotSupported, "overwrite the table",
         {.data_storage_version = file::FileVersion{2, 2}});
}

TEST_P(Blobs, NewTablesThatCannotBe) {
  const auto refuse = [&](const BatchPtr& rows, ErrorKind kind, const std::string& text, WriteOptions options = {}) {
    ExpectError(Write(rows, WriteMode::kCreate, std::move(options)).status(), kind, text);
    EXPECT_THAT(Files(), IsEmpty());
  };
  Metadata both = kBlob;
  both.push_back(kExtension[0]);
  refuse(Rows({"a"}, ShortForm(), both), ErrorKind::kInvalidInput, "does not go with an extension");
  refuse(Rows({"a"}, arrow::large_binary(), kExtension), ErrorKind::kInvalidInput, "it must be struct");
  refuse(Rows({"a"}, ShortForm(), kExtension), ErrorKind::kNotSupported, "2.2",
         {.data_storage_version = file::FileVersion{2, 0}});
}

// An outside value in the third of three files: nothing of them stays, sidecars included.
TEST_P(Blobs, ARowThatIsRefusedLeavesNothing) {
  const auto good = Rows({std::string(70000, 'x'), std::string(5 << 20, 'y')}, ShortForm(), kExtension);
  auto parts = static_cast<const arrow::StructArray&>(*good->column(0)).fields();
  parts[0] = BytesOf({"z", std::nullopt});
  arrow::StringBuilder uris;
  ASSERT_OK(uris.AppendNull());
  ASSERT_OK(uris.Append("file:///outside"));
  parts[1] = uris.Finish().ValueOrDie();
  const auto bad = arrow::RecordBatch::Make(good->schema(), 2,
                                            {arrow::StructArray::Make(parts, ShortForm()->fields()).ValueOrDie()});
  ExpectError(world_.WriteBatches({good, good, bad}, WriteMode::kCreate, {.max_rows_per_file = 1}).status(),
              ErrorKind::kNotSupported, "file:///outside");
  EXPECT_THAT(Files(), IsEmpty());
}

// Every request of a write fails once, or loses its answer once.
TEST_P(Blobs, TheNthRequestFails) {
  for (auto action : {FaultRule::Action::kFail, FaultRule::Action::kLoseAnswer}) {
    uint64_t faults = 1;
    for (uint64_t n = 1; faults != 0; ++n) {
      SCOPED_TRACE(fmt::format("lose answer {} request {}", action == FaultRule::Action::kLoseAnswer, n));
      DatasetWorld world(GetParam());
      world.faults().AddRule({.first = n, .action = action});
      const auto rows = Rows(kValues, ShortForm(), kExtension);
      const auto written = world.WriteBatches({rows}, WriteMode::kCreate);
      faults = world.faults().faults();
      world.faults().ClearRules();
      if (written.ok()) {
        EXPECT_EQ(Read(**written), kValues);
        continue;
      }
      ASSERT_OK_AND_ASSIGN(const ListPage left, ListAll(world.inner(), {.prefix = "t/data/"}));
      if (!world.Open().ok()) {
        EXPECT_THAT(left.objects, IsEmpty());
      }
      ASSERT_OK_AND_ASSIGN(const auto again, world.WriteBatches({rows}, WriteMode::kCreate));
      EXPECT_EQ(Read(*again), kValues);
    }
  }
}

TEST_P(Blobs, ARowChangeBringsBlobs) {
  ASSERT_OK_AND_ASSIGN(const auto before, Write(Rows(kValues, ShortForm(), kExtension), WriteMode::kCreate));
  const std::vector<Text> more = {std::string(80000, 'z'), "new"};
  const auto reader = ReaderOf({Rows(more, arrow::large_binary(), kBlob)});
  ASSERT_OK_AND_ASSIGN(const auto after, CommitRowChange(*before, {reader.get(), {{FragmentId(0), 0}}, {}}));
  std::vector<Text> expected(kValues.begin() + 1, kValues.end());
  expected.insert(expected.end(), more.begin(), more.end());
  EXPECT_EQ(Read(*after), expected);
}

TEST_P(Blobs, RowsOfABatchWithTheirBytes) {
  std::vector<Text> values(20, std::string(1000, 'x'));
  values[3] = std::string(9000, 'y');
  values[4] = std::nullopt;
  ASSERT_OK_AND_ASSIGN(const auto made, Write(Rows(values, arrow::large_binary(), kBlob), WriteMode::kCreate));
  ASSERT_OK_AND_ASSIGN(const auto reader, made->Scan({.with_row_address = true}));
  ASSERT_OK_AND_ASSIGN(const auto rows, ReadAll(*reader));
  const auto fit = [&](int64_t first, uint64_t bytes) {
    return RowsThatFitWithBlobs(*made, *rows->Slice(first), bytes).ValueOrDie();
  };
  EXPECT_EQ(fit(0, 5000), 3);
  EXPECT_EQ(fit(3, 5000), 1);  // one in any case
  EXPECT_EQ(fit(4, 5000), 5);
  EXPECT_EQ(fit(0, 1 << 20), 20);
  EXPECT_EQ(fit(20, 5000), 0);
}

// Of blobs inside structs and lists, which we do not write, a read says where they lie.
TEST(BlobsInside, TheirBytesAreRefused) {
  DatasetWorld world;
  ASSERT_OK_AND_ASSIGN(const auto plain, world.Write(MakeRows(0, 3), WriteMode::kCreate));
  const auto blob =
      arrow::field("b", arrow::large_binary(), true, arrow::key_value_metadata({"lance-encoding:blob"}, {"true"}));
  const auto inside = arrow::schema({arrow::field("c", arrow::struct_({blob}))});
  ASSERT_OK_AND_ASSIGN(const auto dataset, world.Plant([&](table::Manifest& next) {
    auto fields = plain->schema().fields();
    fields.push_back(file::Schema::FromArrow(*inside, FieldId(2)).ValueOrDie().fields()[0]);
    next.schema = file::Schema(std::move(fields), {});
    next.fragments = plain->manifest().fragments;
  }));
  const auto rows = ReadAll(**dataset->Scan({.with_row_address = true})).ValueOrDie();
  EXPECT_TRUE(
      rows->GetColumnByName("c")->type()->field(0)->type()->Equals(*file::BlobDescriptionType(file::BlobKind::kV1)));
  ExpectError(ReadBlobs(*dataset, rows).status(), ErrorKind::kNotSupported, "in column 'c'");
}

}  // namespace
}  // namespace javelin
