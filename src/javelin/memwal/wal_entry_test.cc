#include "javelin/memwal/wal_entry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/api.h>
#include <arrow/json/from_string.h>
#include <arrow/util/compression.h>

#include "javelin/base/error.h"

namespace javelin::memwal {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<const arrow::KeyValueMetadata> FieldId(int id) {
  return arrow::key_value_metadata({"lance:field_id"}, {std::to_string(id)});
}

std::shared_ptr<arrow::Schema> ExampleSchema() {
  return arrow::schema(
      {arrow::field("id", arrow::int64(), false, FieldId(0)),
       arrow::field("tags", arrow::list(arrow::field("item", arrow::utf8(), true, FieldId(2))), true, FieldId(1)),
       arrow::field("_tombstone", arrow::boolean(), false)},
      arrow::key_value_metadata({"owner", "writer_epoch", "mem_wal_target_generation"}, {"me", "99", "7"}));
}

std::shared_ptr<arrow::RecordBatch> Batch(const std::shared_ptr<arrow::Schema>& schema, const std::string& json) {
  auto rows = arrow::json::ArrayFromJSONString(arrow::struct_(schema->fields()), json).ValueOrDie();
  return arrow::RecordBatch::FromStructArray(rows).ValueOrDie()->ReplaceSchema(schema).ValueOrDie();
}

WalEntry Example() {
  WalEntry entry;
  entry.writer_epoch = Epoch(3);
  entry.generation = Generation(2);
  entry.schema = ExampleSchema();
  entry.batches = {Batch(entry.schema, R"([[1, ["a", null], false], [2, null, true]])"),
                   Batch(entry.schema, R"([[3, [], false]])")};
  return entry;
}

WalEntry RoundTrip(const WalEntry& entry) { return DecodeWalEntry(EncodeWalEntry(entry).ValueOrDie()).ValueOrDie(); }

// What an independent reader sees.
std::map<std::string, std::string> MetadataOf(const BufferPtr& bytes) {
  auto reader =
      arrow::ipc::RecordBatchStreamReader::Open(std::make_shared<arrow::io::BufferReader>(bytes)).ValueOrDie();
  std::map<std::string, std::string> metadata;
  auto stored = reader->schema()->metadata();
  for (int64_t i = 0; stored != nullptr && i < stored->size(); ++i)
    EXPECT_TRUE(metadata.emplace(stored->key(i), stored->value(i)).second);
  return metadata;
}

// An entry as another writer could make it.
BufferPtr Stream(const std::shared_ptr<arrow::Schema>& schema,
                 const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches,
                 arrow::ipc::IpcWriteOptions options = arrow::ipc::IpcWriteOptions::Defaults(),
                 bool end_marker = true) {
  auto sink = arrow::io::BufferOutputStream::Create().ValueOrDie();
  auto writer = arrow::ipc::MakeStreamWriter(sink, schema, options).ValueOrDie();
  for (const auto& batch : batches) EXPECT_TRUE(writer->WriteRecordBatch(*batch).ok());
  EXPECT_TRUE(!end_marker || writer->Close().ok());
  return sink->Finish().ValueOrDie();
}

BufferPtr StreamWithMetadata(std::vector<std::string> keys, std::vector<std::string> values) {
  auto schema = ExampleSchema()->WithMetadata(arrow::key_value_metadata(std::move(keys), std::move(values)));
  return Stream(schema, {Batch(schema, R"([[1, [], false]])")});
}

void ExpectCorrupt(const BufferPtr& bytes, const std::string& word) {
  arrow::Status status = DecodeWalEntry(bytes).status();
  ASSERT_FALSE(status.ok()) << word;
  EXPECT_EQ(KindOf(status), ErrorKind::kWalCorrupt) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr(word));
}

TEST(WalEntry, KeepsBatchesFieldIdsAndForeignMetadata) {
  WalEntry entry = Example();
  WalEntry back = RoundTrip(entry);
  EXPECT_EQ(back.writer_epoch, Epoch(3));
  EXPECT_EQ(back.generation, Generation(2));
  EXPECT_FALSE(back.fence_sentinel);
  EXPECT_FALSE(back.target.has_value());
  EXPECT_EQ(back.num_rows(), 3u);
  ASSERT_EQ(back.batches.size(), 2u);
  EXPECT_TRUE(back.batches[0]->Equals(*entry.batches[0]));
  EXPECT_TRUE(back.batches[1]->Equals(*entry.batches[1]));
  EXPECT_TRUE(back.schema->Equals(*ExampleSchema()->WithMetadata(arrow::key_value_metadata({{"owner", "me"}})),
                                  /*check_metadata=*/true))
      << back.schema->ToString(true);
  EXPECT_TRUE(back.batches[0]->schema()->Equals(*back.schema, true));
  EXPECT_TRUE(back.batches[0]->column(1)->type()->field(0)->metadata()->Equals(*FieldId(2)));
}

TEST(WalEntry, OurKeysReplaceTheCallers) {
  EXPECT_EQ(MetadataOf(EncodeWalEntry(Example()).ValueOrDie()),
            (std::map<std::string, std::string>{{"owner", "me"}, {"writer_epoch", "3"}, {"generation", "2"}}));
}

TEST(WalEntry, WithoutGeneration) {
  WalEntry entry = Example();
  entry.generation.reset();
  EXPECT_EQ(MetadataOf(EncodeWalEntry(entry).ValueOrDie()).count("generation"), 0u);
  EXPECT_EQ(RoundTrip(entry).generation, std::nullopt);
}

TEST(WalEntry, SentinelHasNoFieldsAndNoBatches) {
  WalEntry sentinel{.writer_epoch = Epoch(2), .fence_sentinel = true};
  BufferPtr bytes = EncodeWalEntry(sentinel).ValueOrDie();
  EXPECT_EQ(MetadataOf(bytes), (std::map<std::string, std::string>{{"writer_epoch", "2"}, {"fence_sentinel", "true"}}));
  WalEntry back = DecodeWalEntry(bytes).ValueOrDie();
  EXPECT_TRUE(back.fence_sentinel);
  EXPECT_EQ(back.writer_epoch, Epoch(2));
  EXPECT_EQ(back.schema->num_fields(), 0);
  EXPECT_TRUE(back.batches.empty());
  // A schema given along is not written.
  sentinel.schema = ExampleSchema();
  EXPECT_TRUE(EncodeWalEntry(sentinel).ValueOrDie()->Equals(*bytes));
}

TEST(WalEntry, Target) {
  WalEntry entry = Example();
  entry.target = WalTarget{.generation = Generation(2),
                           .folder = "0badcafe_gen_2",
                           .data_file = "x.lance",
                           .creator_epoch = Epoch(1),
                           .batch_capacity = 5};
  EXPECT_EQ(RoundTrip(entry).target, entry.target);
}

TEST(WalEntry, SameBytesEveryTime) {
  EXPECT_TRUE(EncodeWalEntry(Example()).ValueOrDie()->Equals(*EncodeWalEntry(Example()).ValueOrDie()));
}

TEST(WalEntry, SlicesAreWrittenAsTheirRowsOnly) {
  WalEntry whole = Example();
  whole.batches = {Batch(whole.schema, R"([[7, ["x"], false], [8, ["y", "z"], true], [9, null, false]])")};
  WalEntry slice = whole;
  slice.batches = {whole.batches[0]->Slice(1, 1)};
  WalEntry back = RoundTrip(slice);
  EXPECT_TRUE(back.batches[0]->Equals(*Batch(whole.schema, R"([[8, ["y", "z"], true]])")));
}

// One row of many: the bytes of that row alone, and at most a bitmap for each array in it.
TEST(WalEntry, ASliceOfALargeBatchTakesTheBytesOfItsRows) {
  const auto row = [](int id) { return fmt::format(R"([{}, ["word {}", "and another"], false])", id, id); };
  std::string json;
  for (int id = 1'000; id < 6'000; ++id) json += (json.empty() ? "[" : ", ") + row(id);
  WalEntry entry{.writer_epoch = Epoch(1), .schema = ExampleSchema()};
  const auto bytes_of = [&](const std::shared_ptr<arrow::RecordBatch>& batch) {
    entry.batches = {batch};
    return EncodeWalEntry(entry).ValueOrDie()->size();
  };
  const auto whole = Batch(entry.schema, json + "]");
  EXPECT_GT(bytes_of(whole), 100'000);
  EXPECT_LT(bytes_of(whole->Slice(3'001, 1)), bytes_of(Batch(entry.schema, "[" + row(4'001) + "]")) + 100);
}

TEST(WalEntry, EncodeRefusesWhatNoAppendMayHold) {
  auto refused = [](const WalEntry& entry, const std::string& word) {
    arrow::Status status = EncodeWalEntry(entry).status();
    ASSERT_FALSE(status.ok()) << word;
    EXPECT_EQ(KindOf(status), ErrorKind::kInvalidInput);
    EXPECT_THAT(status.message(), HasSubstr(word));
  };
  WalEntry entry = Example();
  entry.batches.clear();
  refused(entry, "at least one batch");
  entry = Example();
  entry.batches[1] = entry.batches[1]->Slice(0, 0);
  refused(entry, "batch 1");
  entry = Example();
  entry.batches[1] = entry.batches[1]->RemoveColumn(0).ValueOrDie();
  refused(entry, "batch 1");
  entry = Example();
  entry.fence_sentinel = true;
  refused(entry, "sentinel");
  entry = Example();
  entry.schema.reset();
  refused(entry, "schema");
}

TEST(WalEntry, ReadsEntriesOfOtherWriters) {
  // No field ids, no generation, no end marker.
  auto schema = arrow::schema({arrow::field("id", arrow::int64())}, arrow::key_value_metadata({{"writer_epoch", "1"}}));
  WalEntry entry =
      DecodeWalEntry(Stream(schema, {Batch(schema, "[[5]]")}, arrow::ipc::IpcWriteOptions::Defaults(), false))
          .ValueOrDie();
  EXPECT_EQ(entry.num_rows(), 1u);
  EXPECT_EQ(entry.schema->metadata(), nullptr);
  // Batches without rows say nothing.
  entry =
      DecodeWalEntry(Stream(schema, {Batch(schema, "[]"), Batch(schema, "[[5]]"), Batch(schema, "[]")})).ValueOrDie();
  EXPECT_EQ(entry.batches.size(), 1u);
  // Entries without rows that do not call themselves a sentinel.
  EXPECT_TRUE(DecodeWalEntry(Stream(schema, {})).ValueOrDie().batches.empty());
}

TEST(WalEntry, BatchesAreSlicesOfTheBytes) {
  WalEntry entry = Example();
  entry.batches = {Batch(entry.schema, R"([[1, [], false]])")};
  BufferPtr bytes = EncodeWalEntry(entry).ValueOrDie();
  WalEntry back = DecodeWalEntry(bytes).ValueOrDie();
  const uint8_t* values = back.batches[0]->column_data(0)->buffers[1]->data();
  EXPECT_TRUE(values >= bytes->data() && values < bytes->data() + bytes->size());
}

TEST(WalEntry, MisalignedBytesAreReadable) {
  BufferPtr bytes = EncodeWalEntry(Example()).ValueOrDie();
  for (int shift = 1; shift < 8; ++shift) {
    std::string shifted = std::string(shift, 'x') + bytes->ToString();
    BufferPtr moved = arrow::SliceBuffer(arrow::Buffer::FromString(shifted), shift);
    WalEntry back = DecodeWalEntry(moved).ValueOrDie();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(back.batches[0]->column_data(0)->buffers[1]->data()) % 8, 0u);
    EXPECT_TRUE(back.batches[0]->Equals(*Example().batches[0]));
  }
}

// A registered extension type comes back as the storage and metadata that were written.
TEST(WalEntry, ExtensionTypesStayStorage) {
  auto metadata = arrow::key_value_metadata({{"ARROW:extension:name", "arrow.json"}, {"ARROW:extension:metadata", ""}});
  auto plain = arrow::schema({arrow::field("doc", arrow::utf8(), true, metadata),
                              arrow::field("docs", arrow::list(arrow::field("item", arrow::utf8(), true, metadata)))});
  WalEntry entry{.writer_epoch = Epoch(1), .schema = plain};
  entry.batches = {Batch(plain, R"([["{}", ["[]"]]])")};
  auto independent = arrow::ipc::RecordBatchStreamReader::Open(
                         std::make_shared<arrow::io::BufferReader>(EncodeWalEntry(entry).ValueOrDie()))
                         .ValueOrDie();
  ASSERT_EQ(independent->schema()->field(0)->type()->id(), arrow::Type::EXTENSION);
  WalEntry back = RoundTrip(entry);
  EXPECT_TRUE(back.schema->Equals(*plain)) << back.schema->ToString(true);
  EXPECT_EQ(back.schema->field(0)->metadata()->Get("ARROW:extension:name").ValueOrDie(), "arrow.json");
  EXPECT_EQ(back.schema->field(1)->type()->field(0)->metadata()->Get("ARROW:extension:name").ValueOrDie(),
            "arrow.json");
  EXPECT_TRUE(back.batches[0]->Equals(*entry.batches[0]));
}

TEST(WalEntry, TornAndForeignObjectsAreCorrupt) {
  BufferPtr bytes = EncodeWalEntry(Example()).ValueOrDie();
  int decoded = 0;
  for (int64_t size = 0; size < bytes->size(); ++size) {
    auto torn = DecodeWalEntry(arrow::SliceBuffer(bytes, 0, size));
    decoded += torn.ok();
    EXPECT_TRUE(torn.ok() || KindOf(torn.status()) == ErrorKind::kWalCorrupt) << size;
  }
  // Cuts exactly behind a message look like an entry without end marker: behind the schema, each batch, and 4 of the
  // marker's bytes.
  EXPECT_LE(decoded, 6);
  ExpectCorrupt(arrow::Buffer::FromString(""), "decode");
  ExpectCorrupt(arrow::Buffer::FromString("random bytes that are no stream at all"), "decode");
  ExpectCorrupt(arrow::Buffer::FromString(std::string(1000, '\xff')), "decode");
  ExpectCorrupt(arrow::Buffer::FromString(bytes->ToString() + "x"), "follow the end");
}

TEST(WalEntry, BadMetadataIsCorrupt) {
  ExpectCorrupt(StreamWithMetadata({}, {}), "writer_epoch is missing");
  ExpectCorrupt(StreamWithMetadata({"writer_epoch"}, {""}), "writer_epoch");
  ExpectCorrupt(StreamWithMetadata({"writer_epoch"}, {"-1"}), "writer_epoch");
  ExpectCorrupt(StreamWithMetadata({"writer_epoch"}, {"1 "}), "writer_epoch");
  ExpectCorrupt(StreamWithMetadata({"writer_epoch"}, {"18446744073709551616"}), "writer_epoch");
  ExpectCorrupt(StreamWithMetadata({"writer_epoch", "writer_epoch"}, {"1", "2"}), "twice");
  ExpectCorrupt(StreamWithMetadata({"writer_epoch", "generation"}, {"1", "x"}), "generation");
  ExpectCorrupt(StreamWithMetadata({"writer_epoch", "generation"}, {"1", "0"}), "generation 0");
  ExpectCorrupt(StreamWithMetadata({"writer_epoch", "fence_sentinel"}, {"1", "yes"}), "fence_sentinel");
  ExpectCorrupt(StreamWithMetadata({"writer_epoch", "fence_sentinel"}, {"1", "true"}), "holds 1 batches");
}

TEST(WalEntry, BadTargetsAreCorrupt) {
  const std::vector<std::string> keys{"writer_epoch",
                                      "mem_wal_target_generation",
                                      "mem_wal_target_generation_dir",
                                      "mem_wal_target_data_file",
                                      "mem_wal_target_creator_epoch",
                                      "mem_wal_target_batch_capacity"};
  const std::vector<std::string> good{"3", "2", "0badcafe_gen_2", "x.lance", "3", "8"};
  EXPECT_TRUE(DecodeWalEntry(StreamWithMetadata(keys, good)).ok());
  for (size_t missing = 1; missing < keys.size(); ++missing) {
    auto fewer_keys = keys;
    auto fewer_values = good;
    fewer_keys.erase(fewer_keys.begin() + missing);
    fewer_values.erase(fewer_values.begin() + missing);
    ExpectCorrupt(StreamWithMetadata(fewer_keys, fewer_values), "4 of the 5");
  }
  auto with = [&](size_t index, std::string value) {
    auto values = good;
    values[index] = std::move(value);
    return StreamWithMetadata(keys, values);
  };
  ExpectCorrupt(with(1, "x"), "mem_wal_target_generation");
  ExpectCorrupt(with(1, "3"), "0badcafe_gen_2");
  for (const char* folder : {"", ".", "..", "a/0badcafe_gen_2", "../_gen_2", "0badcafe_gen_22", "a\\_gen_2"})
    ExpectCorrupt(with(2, folder), "folder");
  for (const char* file : {"", "a/x.lance", "../x.lance", "x.lanc", "x"}) ExpectCorrupt(with(3, file), "data file");
  ExpectCorrupt(with(4, "4"), "epoch 4");
  ExpectCorrupt(with(5, "0"), "0 batches");
  ExpectCorrupt(with(5, "many"), "capacity");
}

TEST(WalEntry, CompressedEntriesAreCorrupt) {
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  options.codec = arrow::util::Codec::Create(arrow::Compression::ZSTD).ValueOrDie();
  auto schema = arrow::schema({arrow::field("id", arrow::int64())}, arrow::key_value_metadata({{"writer_epoch", "1"}}));
  ExpectCorrupt(Stream(schema, {Batch(schema, "[[5]]")}, options), "compressed");
  // The same inside a dictionary.
  auto coded = arrow::schema({arrow::field("word", arrow::dictionary(arrow::int8(), arrow::utf8()))},
                             arrow::key_value_metadata({{"writer_epoch", "1"}}));
  auto words =
      arrow::DictionaryArray::FromArrays(arrow::json::ArrayFromJSONString(arrow::int8(), "[0]").ValueOrDie(),
                                         arrow::json::ArrayFromJSONString(arrow::utf8(), R"(["a"])").ValueOrDie())
          .ValueOrDie();
  auto batch = arrow::RecordBatch::Make(coded, 1, arrow::ArrayVector{words});
  EXPECT_EQ(DecodeWalEntry(Stream(coded, {batch})).ValueOrDie().num_rows(), 1u);
  ExpectCorrupt(Stream(coded, {batch}, options), "compressed");
}

TEST(WalEntry, ValuesAreChecked) {
  auto schema =
      arrow::schema({arrow::field("text", arrow::utf8())}, arrow::key_value_metadata({{"writer_epoch", "1"}}));
  std::string bytes = Stream(schema, {Batch(schema, R"([["abcdefgh"]])")})->ToString();
  // The stored offsets are 0, 8; let the second one point behind the text.
  const std::string stored("\x00\x00\x00\x00\x08\x00\x00\x00", 8);
  size_t at = bytes.rfind(stored);
  ASSERT_NE(at, std::string::npos);
  bytes[at + 5] = '\x7f';
  ExpectCorrupt(arrow::Buffer::FromString(bytes), "does not decode");
  // Text that is no UTF-8.
  std::string broken = Stream(schema, {Batch(schema, R"([["abcdefgh"]])")})->ToString();
  broken[broken.find("abcdefgh")] = '\xff';
  ExpectCorrupt(arrow::Buffer::FromString(broken), "UTF8");
}

}  // namespace
}  // namespace javelin::memwal
