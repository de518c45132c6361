// What hostile files may take of memory: no more than the values can need, never more than the budget, and all of it
// is given back.
#include <gmock/gmock.h>

#include "lanceproto/encodings_v2_0.pb.h"
#include "lanceproto/encodings_v2_1.pb.h"

#include "javelin/file/crafted_page_internal.h"
#include "javelin/file/file_test_support.h"

namespace javelin::file {
namespace {

using namespace testing;

namespace pb = lance::encodings21;
namespace pb20 = lance::encodings;

constexpr int64_t kMiB = 1 << 20;

std::string Number(uint64_t number, size_t bytes) { return {reinterpret_cast<const char*>(&number), bytes}; }

// As many zeros, compressed, with their size in front.
std::string CompressedZeros(CompressionScheme scheme, uint64_t size) {
  const std::string zeros(size, '\0');
  std::vector<uint8_t> out;
  Compressor compressor;
  EXPECT_TRUE(compressor.Compress(scheme, 1, {reinterpret_cast<const uint8_t*>(zeros.data()), size}, out).ok());
  return {out.begin(), out.end()};
}

pb::CompressiveEncoding Zstd(pb::CompressiveEncoding values) {
  pb::CompressiveEncoding encoding;
  encoding.mutable_general()->mutable_compression()->set_scheme(pb::ZSTD);
  *encoding.mutable_general()->mutable_values() = std::move(values);
  return encoding;
}

pb::CompressiveEncoding Flat(uint64_t bits) {
  pb::CompressiveEncoding encoding;
  encoding.mutable_flat()->set_bits_per_value(bits);
  return encoding;
}

pb::CompressiveEncoding Variable() {
  pb::CompressiveEncoding encoding;
  *encoding.mutable_variable()->mutable_offsets() = Flat(32);
  return encoding;
}

// A mini-block page of one chunk without levels.
CraftedPage OneChunk(uint64_t num_rows, const pb::CompressiveEncoding& encoding,
                     const std::vector<std::string>& buffers) {
  pb::PageLayout layout;
  auto* mini_block = layout.mutable_mini_block_layout();
  *mini_block->mutable_value_compression() = encoding;
  mini_block->add_layers(pb::ALL_VALID_ITEM);
  mini_block->set_num_buffers(buffers.size());
  mini_block->set_num_items(num_rows);
  mini_block->set_has_large_chunk(true);
  std::string chunk = Number(0, 2);
  for (const std::string& buffer : buffers) chunk += Number(buffer.size(), 4);
  for (const std::string& buffer : buffers) {
    chunk.resize(RoundUp(chunk.size(), 8));
    chunk += buffer;
  }
  chunk.resize(RoundUp(chunk.size(), 8));
  return {.encoding = layout.SerializeAsString(),
          .buffers = {Number((chunk.size() / 8 - 1) << 4, 4), chunk},
          .num_rows = num_rows};
}

Field FieldOf(const std::shared_ptr<arrow::DataType>& type) {
  return Schema::FromArrow(*arrow::schema({arrow::field("c", type)})).ValueOrDie().fields().front();
}

arrow::Status ReadWith(int64_t limit, const CraftedPage& page, const std::shared_ptr<arrow::DataType>& type) {
  const Resources resources = TestResources(limit);
  const arrow::Status status = ReadCraftedPage(resources, page, FieldOf(type), {{0, page.num_rows}}).status();
  EXPECT_EQ(resources.memory->used(), 0);
  return status;
}

// The smallest budget with which a read succeeds: the most that it holds at once.
template <typename Read>
int64_t LeastBudget(const Read& read) {
  int64_t too_small = -1;
  int64_t enough = int64_t{1} << 32;
  EXPECT_TRUE(read(enough).ok());
  while (enough - too_small > 1) {
    const int64_t limit = too_small + (enough - too_small) / 2;
    const arrow::Status status = read(limit);
    if (!status.ok()) {
      EXPECT_EQ(KindOf(status), ErrorKind::kOutOfMemory) << status.ToString();
    }
    (status.ok() ? enough : too_small) = limit;
  }
  return enough;
}

// ---- one page ----

TEST(Bombs, FixedValuesCannotTakeMoreThanTheirNumber) {
  // Two rows of 8 bytes, out of which a frame of some KiB makes 64 MiB.
  for (const CompressionScheme scheme : {CompressionScheme::kZstd, CompressionScheme::kLz4}) {
    pb::CompressiveEncoding encoding = Zstd(Flat(64));
    if (scheme == CompressionScheme::kLz4) encoding.mutable_general()->mutable_compression()->set_scheme(pb::LZ4);
    const std::string bomb = CompressedZeros(scheme, 64 * kMiB);
    EXPECT_LT(bomb.size(), 300u << 10);
    EXPECT_KIND(ReadWith(1 << 30, OneChunk(2, encoding, {bomb}), arrow::int64()), ErrorKind::kCorruption,
                "67108864 bytes, its values take 79 at most");
    EXPECT_TRUE(ReadWith(1 << 30, OneChunk(2, encoding, {CompressedZeros(scheme, 16)}), arrow::int64()).ok());
  }
}

TEST(Bombs, EveryEncodingKnowsHowMuchItsValuesTake) {
  const std::string bomb = CompressedZeros(CompressionScheme::kZstd, 4 * kMiB);
  const auto refused = [&](const pb::CompressiveEncoding& encoding, const std::shared_ptr<arrow::DataType>& type,
                           const std::vector<std::string>& more = {}) {
    std::vector<std::string> buffers = {bomb};
    buffers.insert(buffers.end(), more.begin(), more.end());
    EXPECT_KIND(ReadWith(1 << 30, OneChunk(6, Zstd(encoding), buffers), type), ErrorKind::kCorruption, "at most");
  };
  refused(Flat(1), arrow::boolean());
  pb::CompressiveEncoding packed;
  packed.mutable_inline_bitpacking()->set_uncompressed_bits_per_value(32);
  refused(packed, arrow::int32());
  pb::CompressiveEncoding split;
  *split.mutable_byte_stream_split()->mutable_values() = Flat(32);
  refused(split, arrow::float32());
  pb::CompressiveEncoding runs;
  *runs.mutable_rle()->mutable_values() = Flat(64);
  *runs.mutable_rle()->mutable_run_lengths() = Flat(8);
  refused(runs, arrow::int64(), {std::string("\x06", 1)});
  pb::CompressiveEncoding lists;
  lists.mutable_fixed_size_list()->set_items_per_value(3);
  *lists.mutable_fixed_size_list()->mutable_values() = Flat(32);
  refused(lists, arrow::fixed_size_list(arrow::float32(), 3));
  lists.mutable_fixed_size_list()->set_has_validity(true);
  refused(lists, arrow::fixed_size_list(arrow::float32(), 3), {std::string(72, '\0')});
  refused(Zstd(Flat(16)), arrow::int16());
}

TEST(Bombs, StringsAreBoundedByTheBudget) {
  // One string of 8 MiB less its offsets.
  const uint64_t size = 8 * kMiB;
  std::string plain = Number(8, 4) + Number(size, 4);
  plain.resize(size);
  std::vector<uint8_t> compressed;
  Compressor compressor;
  ASSERT_TRUE(compressor
                  .Compress(CompressionScheme::kZstd, 1, {reinterpret_cast<const uint8_t*>(plain.data()), plain.size()},
                            compressed)
                  .ok());
  ASSERT_LT(compressed.size(), 10'000u);
  const CraftedPage page = OneChunk(1, Zstd(Variable()), {std::string(compressed.begin(), compressed.end())});
  // Decompressed, and once more as the column: nothing else but small tables.
  const int64_t least = LeastBudget([&](int64_t limit) { return ReadWith(limit, page, arrow::binary()); });
  EXPECT_GE(least, 2 * static_cast<int64_t>(size) - 8);
  EXPECT_LE(least, 2 * static_cast<int64_t>(size) + 1000);
}

TEST(Bombs, RunsOfOneValue) {
  // 255 values a byte: allowed, and no more than the column itself is taken.
  constexpr uint64_t kRuns = 8000;
  pb::CompressiveEncoding runs;
  *runs.mutable_rle()->mutable_values() = Flat(64);
  *runs.mutable_rle()->mutable_run_lengths() = Flat(8);
  const CraftedPage page = OneChunk(kRuns * 255, runs, {std::string(kRuns * 8, '\1'), std::string(kRuns, '\xFF')});
  const int64_t least = LeastBudget([&](int64_t limit) { return ReadWith(limit, page, arrow::int64()); });
  EXPECT_GE(least, static_cast<int64_t>(kRuns * 255 * 8));
  EXPECT_LE(least, static_cast<int64_t>(kRuns * 255 * 8) + 1000);
}

TEST(Bombs, LevelsOfAConstantPage) {
  // One row, whose list claims as many items as its levels like.
  constexpr uint64_t kLevels = 4 << 20;
  pb::PageLayout layout;
  auto* constant = layout.mutable_constant_layout();
  constant->add_layers(pb::NULLABLE_ITEM);
  constant->add_layers(pb::NULLABLE_LIST);
  *constant->mutable_rep_compression() = Zstd(Flat(16));
  *constant->mutable_def_compression() = Zstd(Flat(16));
  constant->set_num_rep_values(kLevels);
  constant->set_num_def_values(kLevels);
  const std::string zeros = CompressedZeros(CompressionScheme::kZstd, kLevels * 2);
  CraftedPage page{.encoding = layout.SerializeAsString(), .buffers = {zeros, zeros}, .num_rows = 1};
  EXPECT_KIND(ReadWith(kLevels * 2 - 1, page, arrow::list(arrow::int32())), ErrorKind::kOutOfMemory,
              "decompressed column data");
  EXPECT_KIND(ReadWith(1 << 30, page, arrow::list(arrow::int32())), ErrorKind::kCorruption, "rows");
  // Other than the layout says.
  constant->set_num_def_values(1000);
  constant->set_num_rep_values(1000);
  page.encoding = layout.SerializeAsString();
  EXPECT_KIND(ReadWith(1 << 30, page, arrow::list(arrow::int32())), ErrorKind::kCorruption, "at most");
}

TEST(Bombs, DictionariesOfMoreItemsThanTheirBlock) {
  CraftedPage page = OneChunk(2, Flat(8), {std::string(2, '\0')});
  pb::PageLayout layout;
  ASSERT_TRUE(layout.ParseFromString(page.encoding));
  auto* mini_block = layout.mutable_mini_block_layout();
  *mini_block->mutable_dictionary() = Flat(64);
  page.buffers.push_back(std::string(16, '\0'));
  const auto read = [&](uint64_t num_items) {
    mini_block->set_num_dictionary_items(num_items);
    page.encoding = layout.SerializeAsString();
    return ReadWith(kMiB, page, arrow::int64());
  };
  EXPECT_TRUE(read(2).ok());
  for (const uint64_t num_items : {uint64_t{3}, uint64_t{1} << 40, UINT64_MAX})
    EXPECT_KIND(read(num_items), ErrorKind::kCorruption, "cannot hold");
  *mini_block->mutable_dictionary() = Zstd(Flat(64));
  page.buffers.back() = CompressedZeros(CompressionScheme::kZstd, 4 * kMiB);
  EXPECT_KIND(read(2), ErrorKind::kCorruption, "at most");
  EXPECT_KIND(read(UINT64_MAX), ErrorKind::kOutOfMemory, "decompressed");
}

TEST(Bombs, PackedValuesOfADictionaryAreMadeAtOnce) {
  // 64 Mi items of one bit each: 8 MiB of zeros in a block of some hundred bytes, 512 MiB as values.
  constexpr uint64_t kItems = 64 << 20;
  CraftedPage page = OneChunk(2, Flat(8), {std::string(2, '\0')});
  pb::PageLayout layout;
  ASSERT_TRUE(layout.ParseFromString(page.encoding));
  auto* mini_block = layout.mutable_mini_block_layout();
  pb::CompressiveEncoding packed;
  packed.mutable_out_of_line_bitpacking()->set_uncompressed_bits_per_value(64);
  *packed.mutable_out_of_line_bitpacking()->mutable_values() = Flat(1);
  *mini_block->mutable_dictionary() = Zstd(packed);
  mini_block->set_num_dictionary_items(kItems);
  page.encoding = layout.SerializeAsString();
  page.buffers.push_back(CompressedZeros(CompressionScheme::kZstd, kItems / 8));
  ASSERT_LT(page.buffers.back().size(), 1000u);

  arrow::ProxyMemoryPool pool(arrow::default_memory_pool());
  Resources resources = TestResources(64 * kMiB);
  resources.pool = &pool;
  EXPECT_KIND(ReadCraftedPage(resources, page, FieldOf(arrow::int64()), {{0, 2}}).status(), ErrorKind::kOutOfMemory,
              "decoded column data");
  EXPECT_LT(pool.num_allocations(), 50);
}

// ---- growing ----

// Appends until the budget ends; how often memory was asked for.
struct Growth {
  uint64_t size = 0;
  int64_t allocations = 0;
};
Growth GrowToTheLimit(int64_t limit, uint64_t expected) {
  arrow::ProxyMemoryPool pool(arrow::default_memory_pool());
  const Resources resources = TestResources(limit);
  Growth growth;
  {
    SinkMemory memory(&pool, resources.memory.get());
    SinkBuffer buffer(memory);
    arrow::Status status;
    while ((status = buffer.Resize(growth.size + 100, expected)).ok()) {
      growth.size = buffer.size();
      EXPECT_GE(resources.memory->used(), pool.bytes_allocated());
    }
    EXPECT_EQ(KindOf(status), ErrorKind::kOutOfMemory) << status.ToString();
    EXPECT_LE(pool.max_memory(), limit);
  }
  EXPECT_EQ(resources.memory->used(), 0);
  growth.allocations = pool.num_allocations();
  return growth;
}

TEST(SinkBufferTest, NearTheLimitNotEverythingIsCopiedEachTime) {
  constexpr int64_t kLimit = 4 * kMiB;
  // While it grows both sizes are held.
  const Growth doubling = GrowToTheLimit(kLimit, 0);
  EXPECT_GE(doubling.size, static_cast<uint64_t>(kLimit) / 4);
  EXPECT_LE(doubling.allocations, 60);
  // More was foreseen than there is.
  const Growth foreseen = GrowToTheLimit(kLimit, uint64_t{1} << 40);
  EXPECT_GE(foreseen.size, static_cast<uint64_t>(kLimit) / 2);
  EXPECT_LE(foreseen.allocations, 60);
}

TEST(SinkBufferTest, WhatArrowRoundsUpIsCountedToo) {
  const Resources resources = TestResources(63);
  SinkMemory memory(arrow::default_memory_pool(), resources.memory.get());
  SinkBuffer buffer(memory);
  EXPECT_KIND(buffer.Resize(1), ErrorKind::kOutOfMemory, "decoded column data");
}

// ---- whole files ----

class FileMemory : public ::testing::Test {
 protected:
  // A whole read with a reader of its own.
  static arrow::Status ReadAll(int64_t limit, const WrittenFile& file) {
    const Resources resources = TestResources(limit);
    const arrow::Status status = [&] {
      ARROW_ASSIGN_OR_RAISE(auto reader, DataFileReader::Open(resources, StoreOf(file.bytes), "f.lance"));
      return reader->Read(file.schema, reader->DefaultColumns(), 0, reader->num_rows()).status();
    }();
    EXPECT_EQ(resources.memory->used(), 0);
    return status;
  }

  Resources resources_ = TestResources();
};

TEST_F(FileMemory, BytesThatAreFetchedAreCounted) {
  const WrittenFile file =
      WriteFile(resources_, {OneColumn(RandomColumns(1).Make(arrow::float64(), 500'000, 0, Spread::kAny))})
          .ValueOrDie();
  const auto size = static_cast<int64_t>(file.bytes.size());
  const int64_t least = LeastBudget([&](int64_t limit) { return ReadAll(limit, file); });
  // The file (of which the tail is held in any case) and the column.
  EXPECT_GE(least, size - 65'536 + 4'000'000);
  EXPECT_LE(least, size + 4'000'000 + 100'000);
  const arrow::Status status = ReadAll(size, file);
  EXPECT_EQ(FieldsOf(status)["path"], "f.lance");
}

TEST_F(FileMemory, WhatAReaderKeepsIsCountedUntilItGoes) {
  arrow::Int64Builder few;
  for (int64_t i = 0; i < 200'000; ++i) ASSERT_TRUE(few.Append((i * 7919 % 100) << 40).ok());
  const auto column = few.Finish().ValueOrDie();
  const WrittenFile file = WriteFile(resources_, {OneColumn(column)}).ValueOrDie();
  ASSERT_EQ(resources_.memory->used(), 0);
  auto reader = DataFileReader::Open(resources_, StoreOf(file.bytes), "f.lance").ValueOrDie();
  EXPECT_EQ(resources_.memory->used(), static_cast<int64_t>(reader->memory_bytes()));
  const int64_t opened = resources_.memory->used();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(reader->Read(file.schema, reader->DefaultColumns(), 0, 200'000).ok());
    // The table of its chunks and the dictionary; the idle decompressor is no part of the budget.
    EXPECT_GT(resources_.memory->used(), opened);
    EXPECT_LE(resources_.memory->used(), static_cast<int64_t>(reader->memory_bytes()));
    EXPECT_GE(resources_.memory->used(), static_cast<int64_t>(reader->memory_bytes()) - (96 << 10));
  }
  reader.reset();
  EXPECT_EQ(resources_.memory->used(), 0);
}

TEST_F(FileMemory, PagesAreParsedOneByOne) {
  // Each page has a symbol table of its own.
  arrow::StringBuilder texts;
  for (int i = 0; i < 100'000; ++i) ASSERT_TRUE(texts.Append(fmt::format("the text of row number {}", i)).ok());
  const WrittenFile file =
      WriteFile(resources_, {OneColumn(texts.Finish().ValueOrDie())}, {.page_bytes = 8 << 10}).ValueOrDie();
  const auto open = [&](int64_t limit) {
    return DataFileReader::Open(TestResources(limit), StoreOf(file.bytes), "f.lance").status();
  };
  const auto reader = DataFileReader::Open(resources_, StoreOf(file.bytes), "f.lance").ValueOrDie();
  const auto kept = static_cast<int64_t>(reader->memory_bytes());
  ASSERT_GT(kept, 128 << 10);
  const int64_t least = LeastBudget(open);
  EXPECT_LE(least, 4 * kept);
}

TEST_F(FileMemory, ABombNamesFileColumnAndPage) {
  const WrittenFile file =
      WriteFile(resources_, {OneColumn(RandomColumns(1).Make(arrow::utf8(), 100'000, 0, Spread::kSmall))}).ValueOrDie();
  auto reader = DataFileReader::Open(resources_, StoreOf(file.bytes), "f.lance").ValueOrDie();
  const int64_t needed = resources_.memory->used() + static_cast<int64_t>(file.bytes.size());
  const arrow::Status status = ReadAll(needed, file);
  EXPECT_KIND(status, ErrorKind::kOutOfMemory, "column 'c'");
  EXPECT_EQ(FieldsOf(status)["path"], "f.lance");
  EXPECT_EQ(FieldsOf(status)["column"], "c");
  EXPECT_EQ(FieldsOf(status)["page"], "0");
}

}  // namespace
}  // namespace javelin::file
