// Tables with blobs: what a write leaves on the store, what it takes, how the bytes come back.
#include "javelin/dataset/blobs.h"

#include <iostream>
#include <numeric>

#include <arrow/buffer_builder.h>

#include "javelin/base/seeded_random.h"
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
  // The place of each is known: no object is asked for its size.
  world_.counting().Reset();
  EXPECT_EQ(Read(*made), kValues);
  EXPECT_EQ(world_.counting().counts().head, 0u);
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

// ---- blobs of single rows ----

std::vector<uint64_t> Numbers(std::initializer_list<uint64_t> numbers) { return numbers; }

// All answers, by request.
std::vector<Text> Answers(BlobReader& reader, size_t count) {
  std::vector<Text> answers(count, "no answer");
  std::vector<bool> seen(count, false);
  while (true) {
    const auto some = reader.Next();
    EXPECT_TRUE(some.ok()) << some.status().ToString();
    if (!some.ok() || some->empty()) break;
    for (const auto& [request, row, bytes] : *some) {
      EXPECT_FALSE(seen[request]) << "request " << request << " was answered twice";
      seen[request] = true;
      answers[request] = bytes == nullptr ? Text() : Text(bytes->ToString());
    }
  }
  return answers;
}

std::vector<Text> Ranges(const Dataset& dataset, const std::vector<BlobRequest>& requests,
                         RowSelector selector = RowSelector::kIndices, uint64_t io_buffer_bytes = 0) {
  auto reader = BlobReader::OpenRanges(dataset, "b", selector, requests, {.io_buffer_bytes = io_buffer_bytes});
  EXPECT_TRUE(reader.ok()) << reader.status().ToString();
  return reader.ok() ? Answers(**reader, requests.size()) : std::vector<Text>();
}

TEST_P(Blobs, HandlesReadWhatTheyAreAskedFor) {
  for (const file::FileVersion version : {file::FileVersion{2, 0}, file::FileVersion{2, 1}, file::FileVersion{2, 2}}) {
    ASSERT_OK_AND_ASSIGN(const auto made, Write(Rows(kValues, arrow::large_binary(), kBlob), WriteMode::kOverwrite,
                                                {.data_storage_version = version, .max_rows_per_file = 2}));
    ASSERT_OK_AND_ASSIGN(const auto blobs, TakeBlobs(*made, "b", RowSelector::kIndices, Numbers({4, 0, 1, 2, 3, 0})));
    ASSERT_THAT(blobs, SizeIs(6));
    EXPECT_EQ(blobs[2], nullptr);
    const std::vector<size_t> rows = {4, 0, 1, 2, 3, 0};
    for (size_t i = 0; i < rows.size(); ++i) {
      if (blobs[i] == nullptr) continue;
      const std::string& value = *kValues[rows[i]];
      EXPECT_EQ(blobs[i]->size(), value.size());
      EXPECT_EQ(blobs[i]->Read(0, value.size()).ValueOrDie()->ToString(), value);
      EXPECT_EQ(blobs[i]->Read(value.size(), 0).ValueOrDie()->size(), 0);
      for (const ByteRange& range :
           {ByteRange{value.size(), 1}, ByteRange{value.size() + 1, 0}, ByteRange{1, UINT64_MAX},
            ByteRange{UINT64_MAX, 1}, ByteRange{0, value.size() + 1}})
        ExpectError(blobs[i]->Read(range.offset, range.length).status(), ErrorKind::kInvalidInput, "do not lie in");
    }
    const std::vector<ByteRange> ranges = {{3, 2}, {0, 0}, {0, 5}, {3, 2}, {1, 1}};
    ASSERT_OK_AND_ASSIGN(const auto parts, blobs[1]->Read(ranges));
    std::vector<std::string> texts;
    for (const auto& part : parts) texts.push_back(part->ToString());
    EXPECT_THAT(texts, ElementsAre("lo", "", "hello", "lo", "e"));
  }
}

TEST_P(Blobs, RangesAnswerEveryRequestOnce) {
  ASSERT_OK_AND_ASSIGN(const auto made, Write(Rows(kValues, arrow::large_binary(), kBlob), WriteMode::kCreate));
  const std::vector<BlobRequest> requests = {{4, {5 << 20, 0}}, {1, {7, 9}}, {0, {1, 3}}, {3, {69990, 10}}, {0, {1, 3}},
                                             {1, {0, 0}},       {2, {0, 0}}, {4, {1, 2}}, {0, {0, 5}}};
  const std::vector<Text> expected = {"", std::nullopt, "ell",  std::string(10, 'x'), "ell", std::nullopt,
                                      "", "yy",         "hello"};
  for (const uint64_t buffer : {uint64_t{0}, uint64_t{1}, uint64_t{4}, uint64_t{1} << 30})
    EXPECT_EQ(Ranges(*made, requests, RowSelector::kIndices, buffer), expected);
  EXPECT_THAT(Ranges(*made, {}), IsEmpty());
  const auto refuse = [&](const BlobRequest& request, const std::string& text) {
    ExpectError(BlobReader::OpenRanges(*made, "b", RowSelector::kIndices, std::vector{BlobRequest{0, {0, 1}}, request})
                    .status(),
                ErrorKind::kInvalidInput, text);
  };
  refuse({0, {0, 6}}, "request 1 ends at byte 6");
  refuse({0, {6, 0}}, "request 1 ends at byte 6");
  refuse({2, {0, 1}}, "which has 0 bytes");
  refuse({0, {UINT64_MAX, 2}}, "request 1 ends behind what 64 bits hold");
  refuse({1, {UINT64_MAX, 2}}, "64 bits");
  refuse({5, {0, 0}}, "row 5 does not exist");
}

TEST_P(Blobs, WholeOnesInAnyOrder) {
  ASSERT_OK_AND_ASSIGN(const auto made,
                       Write(Rows(kValues, ShortForm(), kExtension), WriteMode::kCreate, {.max_rows_per_file = 3}));
  const std::vector<uint64_t> rows = {4, 1, 0, 4, 2, 3};
  for (const uint64_t buffer : {uint64_t{0}, uint64_t{1}, uint64_t{100'000}}) {
    ASSERT_OK_AND_ASSIGN(const auto reader,
                         BlobReader::OpenWhole(*made, "b", RowSelector::kIndices, rows, {.io_buffer_bytes = buffer}));
    const auto answers = Answers(*reader, rows.size());
    for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(answers[i], kValues[rows[i]]);
  }
}

// What a selection of ranges of large values costs: one page of places, and each range once.
TEST_P(Blobs, RequestsAndBytesOfRanges) {
  constexpr uint64_t kRange = 100 << 10;
  constexpr uint64_t kBlobBytes = 8 << 20;
  std::vector<Text> values;
  for (char c = 'a'; c < 'e'; ++c) values.emplace_back(std::string(kBlobBytes, c));
  ASSERT_OK_AND_ASSIGN(const auto made, Write(Rows(values, arrow::large_binary(), kBlob), WriteMode::kCreate));
  ASSERT_OK_AND_ASSIGN(const auto dataset, made->CheckoutLatest());
  SeededRandom random(18);
  std::vector<BlobRequest> requests;
  // Far enough apart that no two are nearer than what a store reads in one.
  for (uint64_t i = 0; i < 64; ++i)
    requests.push_back({i % 4, {i / 4 * (kBlobBytes / 16) + random.Below(100'000), kRange}});
  for (size_t i = requests.size() - 1; i > 0; --i) std::swap(requests[i], requests[random.Below(i + 1)]);
  // What the places of four values cost, which lie in one file.
  world_.counting().Reset();
  ASSERT_OK(TakeBlobs(*dataset, "b", RowSelector::kIndices, Numbers({0, 1, 2, 3})).status());
  const RequestCounts places = world_.counting().counts();
  EXPECT_LE(places.total(), 1u);
  EXPECT_LT(places.bytes_read, 4096u);
  world_.counting().Reset();
  const auto answers = Ranges(*dataset, requests);
  for (size_t i = 0; i < requests.size(); ++i)
    ASSERT_EQ(answers[i], Text(std::string(kRange, values[requests[i].row]->front())));
  const RequestCounts counts = world_.counting().counts();
  EXPECT_EQ(counts.get, counts.total());
  EXPECT_LE(counts.total(), 65u);
  EXPECT_LE(counts.bytes_read, 64 * kRange * 101 / 100);
  EXPECT_GE(counts.bytes_read, 64 * kRange);
  // Asked again, the places are known, and what is asked twice is read once.
  world_.counting().Reset();
  auto twice = requests;
  twice.insert(twice.end(), requests.begin(), requests.end());
  EXPECT_THAT(Ranges(*dataset, twice), SizeIs(128));
  EXPECT_LE(world_.counting().counts().total(), 65u);
  EXPECT_LE(world_.counting().counts().bytes_read, 64 * kRange * 101 / 100);
  // Near ones are one request.
  world_.counting().Reset();
  EXPECT_THAT(Ranges(*dataset, {{0, {0, 10}}, {0, {1000, 10}}, {1, {5, 1}}, {0, {20, 5}}}), SizeIs(4));
  EXPECT_LE(world_.counting().counts().get, 3u);
}

// Nothing is read ahead of who takes the answers, and what was taken counts in the budget until the next are asked for.
TEST_P(Blobs, WhatIsUnderWayIsBounded) {
  const std::vector<Text> values(20, std::string(1 << 20, 'x'));
  ASSERT_OK_AND_ASSIGN(const auto made, Write(Rows(values, arrow::large_binary(), kBlob), WriteMode::kCreate));
  std::vector<uint64_t> rows(20);
  std::iota(rows.begin(), rows.end(), 0);
  const MemoryBudget& budget = *world_.session()->resources().memory;
  ASSERT_OK_AND_ASSIGN(auto reader,
                       BlobReader::OpenWhole(*made, "b", RowSelector::kIndices, rows, {.io_buffer_bytes = 3 << 20}));
  const int64_t before = budget.used();
  for (size_t seen = 0; seen < rows.size();) {
    world_.counting().Reset();
    ASSERT_OK_AND_ASSIGN(const auto some, reader->Next());
    EXPECT_LE(some.size(), 3u);
    EXPECT_LE(world_.counting().counts().bytes_read, 3u << 20);
    EXPECT_EQ(budget.used() - before, static_cast<int64_t>(some.size()) << 20);
    seen += some.size();
  }
  ASSERT_OK_AND_ASSIGN(const auto end, reader->Next());
  EXPECT_THAT(end, IsEmpty());
  reader.reset();
  EXPECT_EQ(budget.used(), before);
}

TEST_P(Blobs, RowsByAddressAndId) {
  ASSERT_OK_AND_ASSIGN(const auto made,
                       Write(Rows(kValues, ShortForm(), kExtension), WriteMode::kCreate, {.max_rows_per_file = 2}));
  const auto address = [](uint64_t fragment, uint32_t offset) {
    return RowAddress(FragmentId(fragment), offset).packed();
  };
  for (const RowSelector selector : {RowSelector::kAddresses, RowSelector::kRowIds}) {
    EXPECT_EQ(Ranges(*made, {{address(1, 1), {0, 1}}, {address(0, 0), {0, 2}}, {address(0, 1), {0, 0}}}, selector),
              (std::vector<Text>{"x", "he", std::nullopt}));
    for (const uint64_t none : {address(0, 2), address(9, 0), UINT64_MAX})
      ExpectError(TakeBlobs(*made, "b", selector, Numbers({0, none})).status(), ErrorKind::kInvalidInput, "fragment");
  }
  ASSERT_OK_AND_ASSIGN(const auto deleted, world_.Delete(FragmentId(0), {0}, table::DeletionFileType::kArrowArray));
  EXPECT_EQ(Ranges(*deleted, {{1, {0, 0}}, {2, {3, 2}}}), (std::vector<Text>{"", "xx"}));
  ExpectError(TakeBlobs(*deleted, "b", RowSelector::kAddresses, Numbers({0})).status(), ErrorKind::kInvalidInput,
              "is deleted");
}

TEST_P(Blobs, ColumnsThatHoldNone) {
  const auto blobs = Rows({"a"}, ShortForm(), kExtension);
  const auto schema = arrow::schema({blobs->schema()->field(0), arrow::field("n", arrow::int64()),
                                     arrow::field("s", arrow::struct_({arrow::field("x", arrow::int8())}))});
  const auto number = arrow::MakeArrayOfNull(arrow::int64(), 1).ValueOrDie();
  const auto structs = arrow::MakeArrayOfNull(schema->field(2)->type(), 1).ValueOrDie();
  ASSERT_OK_AND_ASSIGN(const auto made, Write(arrow::RecordBatch::Make(schema, 1, {blobs->column(0), number, structs}),
                                              WriteMode::kCreate));
  for (const auto& [column, text] : std::vector<std::pair<std::string, std::string>>{{"n", "no column of blobs"},
                                                                                     {"s", "no column of blobs"},
                                                                                     {"s.x", "no column of blobs"},
                                                                                     {"s.y", "no such field"},
                                                                                     {"n.b", "no struct"},
                                                                                     {"b.data", "no struct"},
                                                                                     {"c", "c"},
                                                                                     {"", ""}})
    ExpectError(TakeBlobs(*made, column, RowSelector::kIndices, Numbers({0})).status(), ErrorKind::kInvalidInput, text);
}

// A sidecar that was cut short, one that is gone, and a place behind the end of a data file.
TEST_P(Blobs, DamageIsTold) {
  ASSERT_OK_AND_ASSIGN(const auto made, Write(Rows(kValues, ShortForm(), kExtension), WriteMode::kCreate));
  const std::string data = "t/data/" + made->manifest().fragments[0].files[0].path;
  const auto read = [&](uint64_t row) {
    auto blobs = TakeBlobs(*made, "b", RowSelector::kIndices, Numbers({row}));
    EXPECT_TRUE(blobs.ok());
    return (*blobs)[0]->Read(0, (*blobs)[0]->size()).status();
  };
  ASSERT_OK_AND_ASSIGN(const BufferPtr sidecar, world_.inner().Get(file::BlobSidecarKey(data, 1)));
  ASSERT_OK(world_.inner().Put(file::BlobSidecarKey(data, 1), arrow::SliceBuffer(sidecar, 0, sidecar->size() - 1)));
  ExpectError(read(3), ErrorKind::kCorruption, "column 'b'");
  ASSERT_OK(world_.inner().Delete(file::BlobSidecarKey(data, 1)));
  ExpectError(read(3), ErrorKind::kNotFound, "");
  ASSERT_OK(read(4));
  ASSERT_OK_AND_ASSIGN(const auto shrunk, world_.Plant([&](table::Manifest& next) {
    next.schema = made->schema();
    next.fragments = made->manifest().fragments;
    next.fragments[0].files[0].size_bytes = 3;
  }));
  ExpectError(TakeBlobs(*shrunk, "b", RowSelector::kIndices, Numbers({0})).status(), ErrorKind::kCorruption, "");
}

// ---- blobs inside structs and lists ----

// Random columns of blobs as they are given, with nulls at every level.
class BlobsInside : public testing::TestWithParam<file::FileVersion> {
 protected:
  bool Nullable() const { return GetParam() != file::FileVersion{2, 0}; }  // structs, that is

  std::shared_ptr<arrow::Field> Blob(const std::string& name) const {
    return arrow::field(name, arrow::large_binary(), true,
                        arrow::key_value_metadata({"lance-encoding:blob", "lance-encoding:blob-inline-size-threshold",
                                                   "lance-encoding:blob-dedicated-size-threshold"},
                                                  {"true", "20", "60"}));
  }
  std::shared_ptr<arrow::Array> Bytes(int64_t count) {
    arrow::LargeBinaryBuilder builder;
    for (int64_t i = 0; i < count; ++i) {
      const std::string value(random_.Below(3) == 0 ? 0 : random_.Below(90), static_cast<char>('a' + i % 26));
      EXPECT_TRUE((random_.Below(5) == 0 ? builder.AppendNull() : builder.Append(value)).ok());
    }
    return builder.Finish().ValueOrDie();
  }
  std::shared_ptr<arrow::Buffer> Validity(int64_t count, bool nulls) {
    arrow::TypedBufferBuilder<bool> builder;
    for (int64_t i = 0; i < count; ++i) EXPECT_TRUE(builder.Append(!nulls || random_.Below(4) != 0).ok());
    return builder.Finish().ValueOrDie();
  }
  // struct<x: int32, b: blob>
  std::shared_ptr<arrow::Array> Structs(int64_t count) {
    arrow::Int32Builder numbers;
    for (int64_t i = 0; i < count; ++i) EXPECT_TRUE(numbers.Append(static_cast<int32_t>(i)).ok());
    return arrow::StructArray::Make({numbers.Finish().ValueOrDie(), Bytes(count)},
                                    {arrow::field("x", arrow::int32()), Blob("b")}, Validity(count, Nullable()))
        .ValueOrDie();
  }
  // Lists of what `items(n)` makes; null lists have items too, which nobody sees.
  template <typename ListArray>
  std::shared_ptr<arrow::Array> Lists(int64_t count, const std::shared_ptr<arrow::Field>& item, const auto& items) {
    arrow::TypedBufferBuilder<typename ListArray::offset_type> offsets;
    typename ListArray::offset_type end = 2;  // the first items are in no list
    for (int64_t i = 0; i <= count; ++i) {
      EXPECT_TRUE(offsets.Append(end).ok());
      if (i < count) end += static_cast<int>(random_.Below(4));
    }
    return std::make_shared<ListArray>(std::make_shared<typename ListArray::TypeClass>(item), count,
                                       offsets.Finish().ValueOrDie(), items(end + 1), Validity(count, true));
  }
  // What can be written in the version, as columns.
  std::pair<arrow::FieldVector, arrow::ArrayVector> Columns(int64_t rows) {
    arrow::ArrayVector arrays = {Structs(rows), Bytes(rows)};
    arrow::FieldVector fields = {arrow::field("c", arrays[0]->type()), Blob("top")};
    const auto wrapped =
        arrow::StructArray::Make({Structs(rows)}, {fields[0]}, Validity(rows, Nullable())).ValueOrDie();
    fields.push_back(arrow::field("deep", wrapped->type()));
    arrays.push_back(wrapped);
    if (GetParam() != file::FileVersion{2, 1}) {
      arrays.push_back(Lists<arrow::ListArray>(rows, Blob("item"), [&](int64_t n) { return Bytes(n); }));
      fields.push_back(arrow::field("l", arrays.back()->type()));
      arrays.push_back(Lists<arrow::LargeListArray>(rows, arrow::field("item", arrays[0]->type()),
                                                    [&](int64_t n) { return Structs(n); }));
      fields.push_back(arrow::field("ls", arrays.back()->type()));
      const auto inner = Blob("item");
      arrays.push_back(Lists<arrow::ListArray>(rows, arrow::field("item", arrow::list(inner)), [&](int64_t n) {
        return Lists<arrow::ListArray>(n, inner, [&](int64_t m) { return Bytes(m); });
      }));
      fields.push_back(arrow::field("ll", arrays.back()->type()));
    }
    return {fields, arrays};
  }

  SeededRandom random_{GetParam().minor + 1u};
};
INSTANTIATE_TEST_SUITE_P(Versions, BlobsInside,
                         testing::Values(file::FileVersion{2, 0}, file::FileVersion{2, 1}, file::FileVersion{2, 2}),
                         [](const auto& info) { return fmt::format("V2_{}", info.param.minor); });

TEST_P(BlobsInside, WhatWasGivenComesBack) {
  constexpr int64_t kRows = 300;
  for (int round = 0; round < 4; ++round) {
    const auto [fields, arrays] = Columns(kRows + 7);
    // Also of slices, whose validity does not begin with a byte.
    const auto given = arrow::RecordBatch::Make(arrow::schema(fields), kRows + 7, arrays)->Slice(7);
    DatasetWorld world;
    arrow::RecordBatchVector batches;
    for (int64_t first = 0; first < kRows;) {
      const int64_t count = 1 + static_cast<int64_t>(random_.Below(130));
      batches.push_back(given->Slice(first, count));
      first += count;
    }
    ASSERT_OK_AND_ASSIGN(const auto made,
                         world.WriteBatches(batches, WriteMode::kCreate,
                                            {.data_storage_version = GetParam(), .max_rows_per_file = 170}));
    ASSERT_OK_AND_ASSIGN(const auto reader, made->Scan({.with_row_address = true}));
    ASSERT_OK_AND_ASSIGN(const auto places, ReadAll(*reader));
    ASSERT_OK_AND_ASSIGN(const auto bytes, ReadBlobs(*made, places));
    ASSERT_OK(bytes->ValidateFull());
    for (int i = 0; i < given->num_columns(); ++i)
      EXPECT_TRUE(bytes->column(i)->Equals(given->column(i), arrow::EqualOptions().diff_sink(&std::cerr)))
          << fields[static_cast<size_t>(i)]->ToString();
    // Parts of a batch, as a scan with little memory reads them.
    for (int64_t first = 0; first < kRows;) {
      const auto rest = places->Slice(first);
      const int64_t count = RowsThatFitWithBlobs(*made, *rest, 30'000).ValueOrDie();
      ASSERT_GE(count, 1);
      ASSERT_OK_AND_ASSIGN(const auto part, ReadBlobs(*made, rest->Slice(0, count)));
      for (int i = 0; i < given->num_columns(); ++i)
        ASSERT_TRUE(part->column(i)->Equals(given->column(i)->Slice(first, count))) << i;
      first += count;
    }
    // One at a time, by path.
    const auto flat = std::static_pointer_cast<arrow::StructArray>(given->column(0))->GetFlattenedField(1).ValueOrDie();
    const auto& expected = static_cast<const arrow::LargeBinaryArray&>(*flat);
    std::vector<uint64_t> rows;
    for (int i = 0; i < 40; ++i) rows.push_back(random_.Below(kRows));
    ASSERT_OK_AND_ASSIGN(const auto blobs, TakeBlobs(*made, "c.b", RowSelector::kIndices, rows));
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto row = static_cast<int64_t>(rows[i]);
      ASSERT_EQ(blobs[i] == nullptr, expected.IsNull(row));
      if (blobs[i] == nullptr) continue;
      EXPECT_EQ(blobs[i]->Read(0, blobs[i]->size()).ValueOrDie()->ToString(), expected.GetView(row));
    }
    ASSERT_OK(TakeBlobs(*made, "deep.c.b", RowSelector::kIndices, rows).status());
    if (GetParam() != file::FileVersion{2, 1})
      ExpectError(TakeBlobs(*made, "l.item", RowSelector::kIndices, rows).status(), ErrorKind::kInvalidInput,
                  "all_binary");
  }
}

}  // namespace
}  // namespace javelin
