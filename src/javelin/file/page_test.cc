// Pages by their bytes: the vectors of the format, and pages the writer does not make.
#include <gmock/gmock.h>

#include "lanceproto/encodings_v2_0.pb.h"
#include "lanceproto/encodings_v2_1.pb.h"

#include "javelin/file/container_writer_internal.h"
#include "javelin/file/crafted_page_internal.h"
#include "javelin/file/file_test_support.h"
#include "javelin/file/fsst.h"
#include "javelin/file/page_encoder_internal.h"
#include "javelin/file/page_reader_internal.h"

namespace javelin::file {
namespace {

using namespace testing;

std::string Hex(std::string_view text) {
  std::string bytes;
  std::string digits;
  for (char c : text) {
    if (c == ' ') continue;
    digits.push_back(c);
    if (digits.size() == 2) {
      bytes.push_back(static_cast<char>(std::stoi(digits, nullptr, 16)));
      digits.clear();
    }
  }
  return bytes;
}

std::string BytesOf(const EncodedBuffer& buffer) {
  std::string bytes;
  for (const BufferPtr& piece : buffer.pieces) bytes += piece->ToString();
  return bytes;
}

class PageTest : public ::testing::Test {
 protected:
  // Decodes rows of a page given as layout and buffers.
  arrow::Result<std::shared_ptr<arrow::Array>> Decode(const pb::PageLayout& layout,
                                                      const std::vector<std::string>& buffers, uint64_t num_rows,
                                                      const std::shared_ptr<arrow::DataType>& type,
                                                      std::vector<Slice> rows = {}, FileVersion version = {2, 2}) {
    std::string file;
    PageMetadata page{
        .num_rows = num_rows, .encoding_name = "lance.encodings21.PageLayout", .encoding = layout.SerializeAsString()};
    for (const std::string& buffer : buffers) {
      page.buffers.push_back({file.size(), buffer.size()});
      file += buffer;
    }
    ARROW_ASSIGN_OR_RAISE(ValueShape shape, ShapeOf(*type));
    auto environment = std::make_shared<PageEnvironment>(resources_);
    ARROW_ASSIGN_OR_RAISE(auto reader, MakePageReader({page, version, shape, kFlatColumn, environment}));
    if (rows.empty()) rows = {{0, num_rows}};
    auto scan = reader->Scan(rows);
    ARROW_RETURN_NOT_OK(SupplyFrom(file, *scan, resources_.pool).status());
    SinkMemory memory(resources_.pool, resources_.memory.get());
    LeafSink sink(shape, kFlatColumn, memory, TotalCount(rows));
    Decompressor decompressor;
    DecodeContext context(memory, decompressor);
    ARROW_RETURN_NOT_OK(scan->Decode(context, sink));
    ARROW_ASSIGN_OR_RAISE(auto data, sink.values().Finish(type));
    auto array = arrow::MakeArray(data);
    ARROW_RETURN_NOT_OK(array->ValidateFull());
    return array;
  }

  EncodedPage Encode(const std::shared_ptr<arrow::Array>& array) {
    return EncodePage(ShapeOf(*array->type()).ValueOrDie(), {array->data()}, {.pool = resources_.pool}).ValueOrDie();
  }

  Resources resources_ = TestResources();
};

pb::PageLayout MiniBlock(uint64_t num_items, bool nullable) {
  pb::PageLayout layout;
  auto* mini_block = layout.mutable_mini_block_layout();
  if (nullable) mini_block->mutable_def_compression()->mutable_flat()->set_bits_per_value(16);
  mini_block->add_layers(nullable ? pb::NULLABLE_ITEM : pb::ALL_VALID_ITEM);
  mini_block->set_num_buffers(1);
  mini_block->set_num_items(num_items);
  mini_block->set_has_large_chunk(true);
  return layout;
}

std::shared_ptr<arrow::Array> Int64s(const std::vector<std::optional<int64_t>>& values) {
  arrow::Int64Builder builder;
  for (const auto& value : values) EXPECT_TRUE((value ? builder.Append(*value) : builder.AppendNull()).ok());
  return builder.Finish().ValueOrDie();
}

std::shared_ptr<arrow::Array> Strings(const std::vector<std::optional<std::string>>& values) {
  arrow::StringBuilder builder;
  for (const auto& value : values) EXPECT_TRUE((value ? builder.Append(*value) : builder.AppendNull()).ok());
  return builder.Finish().ValueOrDie();
}

std::string FsstTableBytes(const std::vector<std::string>& symbols, bool encoded = true) {
  std::string bytes(kFsstTableBytes, '\0');
  const uint64_t header = uint64_t{0x46535354} << 32 | uint64_t{encoded} << 24 | symbols.size();
  std::memcpy(bytes.data(), &header, 8);
  for (size_t i = 0; i < symbols.size(); ++i) {
    std::memcpy(bytes.data() + 8 + 8 * i, symbols[i].data(), symbols[i].size());
    bytes[8 + 8 * symbols.size() + i] = static_cast<char>(symbols[i].size());
  }
  return bytes;
}

TEST_F(PageTest, NullableInt64Vector) {
  pb::PageLayout layout = MiniBlock(3, true);
  layout.mutable_mini_block_layout()->mutable_value_compression()->mutable_flat()->set_bits_per_value(64);
  const std::string table = Hex("40 00 00 00");
  const std::string data =
      Hex("0300 0600 18000000  0000 0100 0000 FEFE  0100000000000000 0000000000000000 0300000000000000");
  auto expected = Int64s({1, std::nullopt, 3});
  EXPECT_TRUE(Decode(layout, {table, data}, 3, arrow::int64()).ValueOrDie()->Equals(*expected));
  EXPECT_TRUE(Decode(layout, {table, data}, 3, arrow::int64(), {{2, 1}}).ValueOrDie()->Equals(*expected->Slice(2, 1)));
  // What we write differs in its padding only.
  EncodedPage page = Encode(expected);
  EXPECT_EQ(BytesOf(page.buffers[0]), table);
  EXPECT_EQ(BytesOf(page.buffers[1]),
            Hex("0300 0600 18000000  0000 0100 0000 0000  0100000000000000 0000000000000000 0300000000000000"));
  EXPECT_EQ(page.layout.mini_block_layout().value_compression().flat().bits_per_value(), 64u);
}

TEST_F(PageTest, NullableStringVector) {
  pb::PageLayout layout = MiniBlock(3, true);
  layout.mutable_mini_block_layout()
      ->mutable_value_compression()
      ->mutable_variable()
      ->mutable_offsets()
      ->mutable_flat()
      ->set_bits_per_value(32);
  const std::string data =
      Hex("0300 0600 14000000  000001000000 FEFE  10000000 11000000 11000000 14000000 61 636363 FEFEFEFE");
  auto expected = Strings({"a", std::nullopt, "ccc"});
  EXPECT_TRUE(Decode(layout, {Hex("40000000"), data}, 3, arrow::utf8()).ValueOrDie()->Equals(*expected));
  EncodedPage page = Encode(expected);
  EXPECT_EQ(BytesOf(page.buffers[1]),
            Hex("0300 0600 14000000  000001000000 0000  10000000 11000000 11000000 14000000 61 636363 00000000"));
}

TEST_F(PageTest, PickedValuesAreLessWorkThanTheirChunk) {
  const auto work = [&](bool compressed, Slice rows) {
    pb::PageLayout layout = MiniBlock(1024, false);
    auto* values = layout.mutable_mini_block_layout()->mutable_value_compression();
    if (compressed) values->mutable_general()->mutable_compression()->set_scheme(pb::LZ4);
    (compressed ? values->mutable_general()->mutable_values() : values)->mutable_flat()->set_bits_per_value(64);
    const std::string table = Hex("00020000");  // 33 words; the last chunk takes what is left
    const std::string file = table + Hex("0000 00010000 FEFE") + std::string(256, '\0');
    const PageMetadata page{.buffers = {{0, 4}, {4, 264}},
                            .num_rows = 1024,
                            .encoding_name = "lance.encodings21.PageLayout",
                            .encoding = layout.SerializeAsString()};
    const ValueShape shape = ShapeOf(*arrow::int64()).ValueOrDie();
    const auto environment = std::make_shared<PageEnvironment>(resources_);
    const auto reader = MakePageReader({page, {2, 2}, shape, kFlatColumn, environment}).ValueOrDie();
    const auto scan = reader->Scan({rows});
    EXPECT_TRUE(SupplyFrom(file, *scan, resources_.pool).ok());
    return scan->Work(1'000'000);
  };
  EXPECT_EQ(work(false, {0, 1024}), 1'000'000u);
  EXPECT_EQ(work(false, {7, 512}), 1'000'000u);
  EXPECT_EQ(work(false, {7, 1}), 8'000'000u / 1024);
  EXPECT_EQ(work(true, {7, 1}), 1'000'000u) << "all of it is decompressed";
}

// One row of a chunk of many must not cost a look at all of them; what is looked at is checked.
TEST_F(PageTest, OffsetsAreCheckedOfTheValuesAskedFor) {
  pb::PageLayout layout = MiniBlock(3, false);
  const auto read = [&](const std::string& offsets, std::vector<Slice> rows) {
    const std::string data = Hex("0000 14000000 FEFE" + offsets + "61 626262 FEFEFEFE");
    return Decode(layout, {Hex("30000000"), data}, 3, arrow::utf8(), std::move(rows));
  };
  pb::Variable variable;
  variable.mutable_offsets()->mutable_flat()->set_bits_per_value(32);
  pb::Fsst fsst;
  *fsst.mutable_values()->mutable_variable() = variable;
  fsst.set_symbol_table(FsstTableBytes({}, false));
  for (const bool coded : {false, true}) {
    auto* values = layout.mutable_mini_block_layout()->mutable_value_compression();
    if (coded) *values->mutable_fsst() = fsst;
    if (!coded) *values->mutable_variable() = variable;
    const std::string behind = "10000000 11000000 15000000 14000000";   // the second value ends behind the buffer
    const std::string descend = "10000000 11000000 10000000 14000000";  // ... before it begins
    const std::string before = "0F000000 11000000 11000000 14000000";   // the first value begins inside the offsets
    EXPECT_TRUE(read(behind, {{0, 1}}).ValueOrDie()->Equals(*Strings({"a"})));
    EXPECT_TRUE(read(descend, {{0, 1}}).ValueOrDie()->Equals(*Strings({"a"})));
    EXPECT_TRUE(read(before, {{1, 2}}).ValueOrDie()->Equals(*Strings({"", "bbb"})));
    EXPECT_KIND(read(behind, {{1, 1}}).status(), ErrorKind::kCorruption, "do not ascend");
    EXPECT_KIND(read(behind, {{2, 1}}).status(), ErrorKind::kCorruption, "do not ascend");
    EXPECT_KIND(read(descend, {{1, 1}}).status(), ErrorKind::kCorruption, "do not ascend");
    EXPECT_KIND(read(before, {{0, 1}}).status(), ErrorKind::kCorruption, "do not ascend");
    for (const std::string& offsets : {behind, descend, before})
      EXPECT_KIND(read(offsets, {{0, 3}}).status(), ErrorKind::kCorruption, "do not ascend");
  }
}

TEST_F(PageTest, ConstantStringVector) {
  EncodedPage page = Encode(Strings({"hi", "hi", "hi"}));
  ASSERT_EQ(page.buffers.size(), 1u);
  const std::string block = Hex("02000000 08000000 02000000 00000000 02000000 68 69");
  EXPECT_EQ(BytesOf(page.buffers[0]), block);
  EXPECT_TRUE(Decode(page.layout, {block}, 3, arrow::utf8()).ValueOrDie()->Equals(*Strings({"hi", "hi", "hi"})));
}

TEST_F(PageTest, ContainerEncodingVectors) {
  auto bytes = std::make_shared<std::string>();
  ContainerWriter writer(std::make_unique<BytesWriter>(bytes), FileVersion{2, 2}, 1);
  ASSERT_TRUE(writer.WritePage(0, Encode(Int64s({1LL << 60, -1, 5}))).ok());
  Schema schema = Schema::FromArrow(*arrow::schema({arrow::field("c", arrow::int64())})).ValueOrDie();
  ASSERT_TRUE(writer.Finish(schema, 3).ok());
  std::string column = Hex("0A1F") + "/lance.encodings.ColumnEncoding" + Hex("12020A00");
  EXPECT_NE(bytes->find(column), std::string::npos);
  std::string page =
      Hex("0A1D") + "/lance.encodings21.PageLayout" + Hex("1211 0A0F 1A04 0A02 0840 3201 01 3801 4803 5001");
  EXPECT_NE(bytes->find(page), std::string::npos);
}

TEST_F(PageTest, VectorRowsWithNulls) {
  pb::PageLayout layout;
  auto* zip = layout.mutable_full_zip_layout();
  zip->set_bits_def(1);
  zip->set_bits_per_value(64);
  zip->set_num_items(2);
  zip->set_num_visible_items(2);
  zip->add_layers(pb::NULLABLE_ITEM);
  auto* list = zip->mutable_value_compression()->mutable_fixed_size_list();
  list->set_items_per_value(2);
  list->mutable_values()->mutable_flat()->set_bits_per_value(32);
  const std::string data = Hex("00 0000803F 00000040  01 0000000000000000");
  auto type = arrow::fixed_size_list(arrow::float32(), 2);
  auto array = Decode(layout, {data}, 2, type).ValueOrDie();
  EXPECT_TRUE(array->IsValid(0));
  EXPECT_TRUE(array->IsNull(1));
  const auto& floats =
      static_cast<const arrow::FloatArray&>(*static_cast<const arrow::FixedSizeListArray&>(*array).values());
  EXPECT_EQ(floats.Value(0), 1.0f);
  EXPECT_EQ(floats.Value(1), 2.0f);
}

TEST_F(PageTest, RunLengthValues) {
  pb::PageLayout layout = MiniBlock(6, false);
  layout.mutable_mini_block_layout()->set_num_buffers(2);
  auto* rle = layout.mutable_mini_block_layout()->mutable_value_compression()->mutable_rle();
  rle->mutable_values()->mutable_flat()->set_bits_per_value(64);
  rle->mutable_run_lengths()->mutable_flat()->set_bits_per_value(8);
  auto chunk = [](std::string lengths) {
    return Hex("0000 18000000 03000000") + Hex("000000000000") +
           Hex("0700000000000000 0800000000000000 0900000000000000") + Hex(lengths) + Hex("0000000000");
  };
  const std::string table = Hex("50000000");
  auto expected = Int64s({7, 7, 7, 8, 9, 9});
  EXPECT_TRUE(Decode(layout, {table, chunk("030102")}, 6, arrow::int64()).ValueOrDie()->Equals(*expected));
  EXPECT_TRUE(Decode(layout, {table, chunk("030102")}, 6, arrow::int64(), {{1, 1}, {3, 2}})
                  .ValueOrDie()
                  ->Equals(*Int64s({7, 8, 9})));
  EXPECT_KIND(Decode(layout, {table, chunk("030103")}, 6, arrow::int64()).status(), ErrorKind::kCorruption,
              "run lengths");
  EXPECT_KIND(Decode(layout, {table, chunk("030101")}, 6, arrow::int64()).status(), ErrorKind::kCorruption,
              "run lengths");
}

TEST_F(PageTest, ChunkTablesMustAddUp) {
  pb::PageLayout layout = MiniBlock(3, false);
  layout.mutable_mini_block_layout()->mutable_value_compression()->mutable_flat()->set_bits_per_value(64);
  // Two chunks of two and one value: 8 bytes of header, values.
  const std::string data =
      Hex("0000 10000000 0000") + std::string(16, '\1') + Hex("0000 08000000 0000") + std::string(8, '\1');
  auto decode = [&](std::string_view table) { return Decode(layout, {Hex(table), data}, 3, arrow::int64()).status(); };
  EXPECT_TRUE(decode("21000000 10000000").ok());
  EXPECT_KIND(decode("20000000 10000000"), ErrorKind::kCorruption, "chunk");  // log 0 before the last
  EXPECT_KIND(decode("22000000 10000000"), ErrorKind::kCorruption, "chunk");  // more values than the page has
  EXPECT_KIND(decode("21000000 11000000"), ErrorKind::kCorruption, "chunk");  // the last states another count
  EXPECT_KIND(decode("21000000 20000000"), ErrorKind::kCorruption, "bytes");  // more bytes than the page has
  EXPECT_KIND(decode("21000000"), ErrorKind::kCorruption, "chunk");
  EXPECT_KIND(decode("21000000 1000"), ErrorKind::kCorruption, "words");
  layout.mutable_mini_block_layout()->set_has_large_chunk(false);
  EXPECT_KIND(decode("21000000 10000000"), ErrorKind::kCorruption, "version");
}

TEST_F(PageTest, EncodingsMustFitTheColumn) {
  const std::vector<std::string> buffers = {Hex("20000000"), Hex("0000 08000000 0000") + std::string(16, '\1')};
  auto decode = [&](const pb::PageLayout& layout, std::shared_ptr<arrow::DataType> type) {
    return Decode(layout, buffers, 1, type).status();
  };
  pb::PageLayout layout = MiniBlock(1, false);
  auto* values = layout.mutable_mini_block_layout()->mutable_value_compression();
  values->mutable_flat()->set_bits_per_value(64);
  EXPECT_KIND(decode(layout, arrow::int32()), ErrorKind::kCorruption, "Flat(64)");
  EXPECT_KIND(decode(layout, arrow::utf8()), ErrorKind::kCorruption, "Flat(64)");
  EXPECT_KIND(decode(layout, arrow::null()), ErrorKind::kCorruption, "nulls");
  // Widths whose bits no int holds.
  values->mutable_flat()->set_bits_per_value(8);
  EXPECT_KIND(decode(layout, arrow::fixed_size_binary(536'870'913)), ErrorKind::kCorruption, "Flat(8)");
  EXPECT_KIND(decode(layout, arrow::fixed_size_binary(1 << 28)), ErrorKind::kCorruption, "Flat(8)");
  values->mutable_inline_bitpacking()->set_uncompressed_bits_per_value(64);
  EXPECT_KIND(decode(layout, arrow::int32()), ErrorKind::kCorruption, "InlineBitpacking(64)");
  EXPECT_KIND(decode(layout, arrow::int64()), ErrorKind::kCorruption, "bit-packed");
  values->mutable_packed_struct();
  EXPECT_KIND(decode(layout, arrow::int64()), ErrorKind::kCorruption, "PackedStruct");
  values->Clear();
  EXPECT_KIND(decode(layout, arrow::int64()), ErrorKind::kNotSupported, "does not know");
  values->mutable_fsst()->mutable_values()->mutable_variable()->mutable_offsets()->mutable_flat()->set_bits_per_value(
      32);
  EXPECT_KIND(decode(layout, arrow::utf8()), ErrorKind::kCorruption, "2312");
  layout.mutable_mini_block_layout()->add_layers(pb::NULLABLE_ITEM);
  EXPECT_KIND(decode(layout, arrow::utf8()), ErrorKind::kCorruption, "2 layers");
  pb::PageLayout blob;
  blob.mutable_blob_layout();
  EXPECT_KIND(decode(blob, arrow::large_binary()), ErrorKind::kCorruption, "a page of blobs stands for");
}

TEST_F(PageTest, ANullMayHaveAnyDictionaryIndex) {
  pb::PageLayout layout = MiniBlock(2, true);
  auto* mini_block = layout.mutable_mini_block_layout();
  mini_block->mutable_value_compression()->mutable_flat()->set_bits_per_value(32);
  mini_block->mutable_dictionary()->mutable_flat()->set_bits_per_value(64);
  mini_block->set_num_dictionary_items(1);
  auto chunk = [](std::string_view levels) {
    return Hex("0200 0400 08000000") + Hex(levels) + Hex("00000000") + Hex("00000000 FFFFFFFF");
  };
  const std::string items = Hex("2A00000000000000");
  EXPECT_TRUE(Decode(layout, {Hex("20000000"), chunk("00000100"), items}, 2, arrow::int64())
                  .ValueOrDie()
                  ->Equals(*Int64s({42, std::nullopt})));
  EXPECT_KIND(Decode(layout, {Hex("20000000"), chunk("00000000"), items}, 2, arrow::int64()).status(),
              ErrorKind::kCorruption, "index");
}

// ---- FSST ----

std::span<const uint8_t> AsBytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

TEST(Fsst, DecodesSymbolsAndEscapes) {
  FsstTable table;
  ASSERT_EQ(table.Parse(AsBytes(FsstTableBytes({"hello", " ", "w", "orldorld"}))), nullptr);
  auto decode = [&](std::string encoded) {
    std::string out(FsstTable::Capacity(encoded.size()), '\0');
    const size_t size = table.Decode(AsBytes(encoded), reinterpret_cast<uint8_t*>(out.data()));
    if (size != FsstTable::kMalformed) EXPECT_EQ(table.DecodedSize(AsBytes(encoded)), size);
    return size == FsstTable::kMalformed ? std::string("malformed") : out.substr(0, size);
  };
  EXPECT_EQ(decode(std::string("\0\1\2\3", 4)), "hello worldorld");
  EXPECT_EQ(decode(std::string("\xFFx\0\xFF\xFF\1", 6)), "xhello\xFF ");
  EXPECT_EQ(decode(""), "");
  EXPECT_EQ(decode("\xFF"), "malformed");
  EXPECT_EQ(decode(std::string("\0\0\0\0\xFF", 5)), "malformed");
  EXPECT_EQ(decode("\4"), "malformed");
}

TEST(Fsst, OddTablesAreRefused) {
  FsstTable table;
  EXPECT_NE(table.Parse(AsBytes(std::string(100, 'x'))), nullptr);
  EXPECT_NE(table.Parse(AsBytes(std::string(kFsstTableBytes, '\0'))), nullptr);
  std::string bytes = FsstTableBytes({"a"});
  bytes[16] = 9;
  EXPECT_NE(table.Parse(AsBytes(bytes)), nullptr);
  bytes[16] = 0;
  EXPECT_NE(table.Parse(AsBytes(bytes)), nullptr);
  ASSERT_EQ(table.Parse(AsBytes(FsstTableBytes({}, false))), nullptr);
  EXPECT_TRUE(table.stored_plain());
}

TEST_F(PageTest, FsstPages) {
  pb::PageLayout layout = MiniBlock(2, false);
  auto* fsst = layout.mutable_mini_block_layout()->mutable_value_compression()->mutable_fsst();
  fsst->mutable_values()->mutable_variable()->mutable_offsets()->mutable_flat()->set_bits_per_value(32);
  fsst->set_symbol_table(FsstTableBytes({"ab", "c"}));
  const std::string data = Hex("0000 10000000 0000 0C000000 0D000000 0F000000 00 0100 00");
  EXPECT_TRUE(Decode(layout, {Hex("20000000"), data}, 2, arrow::utf8()).ValueOrDie()->Equals(*Strings({"ab", "cab"})));
  EXPECT_TRUE(
      Decode(layout, {Hex("20000000"), data}, 2, arrow::utf8(), {{1, 1}}).ValueOrDie()->Equals(*Strings({"cab"})));
  // A table that is switched off leaves the bytes as they are.
  fsst->set_symbol_table(FsstTableBytes({}, false));
  EXPECT_TRUE(Decode(layout, {Hex("20000000"), data}, 2, arrow::binary()).ok());
}

TEST_F(PageTest, FsstStringsOfAnySizeInOneChunk) {
  pb::PageLayout layout = MiniBlock(6, false);
  auto* fsst = layout.mutable_mini_block_layout()->mutable_value_compression()->mutable_fsst();
  fsst->mutable_values()->mutable_variable()->mutable_offsets()->mutable_flat()->set_bits_per_value(32);
  fsst->set_symbol_table(FsstTableBytes({"abcdefgh", "c"}));
  // Small ones are decoded together, the large ones by themselves.
  const std::vector<std::string> codes = {
      {1, 1}, std::string(20'000, '\0'), "", std::string(5000, '\1'), std::string(5000, '\0'), "\xFFx"};
  auto chunk = [](const std::vector<std::string>& values) {
    std::string offsets;
    std::string bytes;
    auto end_value = [&] {
      const auto at = static_cast<uint32_t>((values.size() + 1) * 4 + bytes.size());
      offsets.append(reinterpret_cast<const char*>(&at), 4);
    };
    end_value();
    for (const std::string& value : values) {
      bytes += value;
      end_value();
    }
    std::string buffer = offsets + bytes;
    const auto size = static_cast<uint32_t>(buffer.size());
    buffer =
        std::string(2, '\0') + std::string(reinterpret_cast<const char*>(&size), 4) + std::string(2, '\0') + buffer;
    buffer.resize(RoundUp(buffer.size(), 8));
    return buffer;
  };
  auto decode = [&](const std::vector<std::string>& values, std::vector<Slice> rows) {
    const std::string data = chunk(values);
    const auto word = static_cast<uint32_t>((data.size() / 8 - 1) << 4);
    return Decode(layout, {std::string(reinterpret_cast<const char*>(&word), 4), data}, 6, arrow::utf8(), rows);
  };
  std::string many;
  for (int i = 0; i < 20'000; ++i) many += "abcdefgh";
  auto expected = Strings({"cc", many, "", std::string(5000, 'c'), many.substr(0, 40'000), "x"});
  EXPECT_TRUE(decode(codes, {}).ValueOrDie()->Equals(*expected));
  for (int64_t first = 0; first < 6; ++first) {
    for (int64_t count = 1; first + count <= 6; ++count) {
      EXPECT_TRUE(decode(codes, {{static_cast<uint64_t>(first), static_cast<uint64_t>(count)}})
                      .ValueOrDie()
                      ->Equals(*expected->Slice(first, count)));
    }
  }
  // Wherever the damage lies, alone or among others.
  for (size_t row = 0; row < codes.size(); ++row) {
    for (const char* bad : {"\2", "\xFF"}) {
      std::vector<std::string> damaged = codes;
      damaged[row] += bad;
      EXPECT_KIND(decode(damaged, {}).status(), ErrorKind::kCorruption, "FSST");
      EXPECT_KIND(decode(damaged, {{row, 1}}).status(), ErrorKind::kCorruption, "FSST");
    }
  }
}

// ---- compression ----

TEST(Compression, SizesAreNotBelieved) {
  Decompressor decompressor;
  ScratchBuffer scratch(nullptr);
  auto decompress = [&](CompressionScheme scheme, std::string bytes) {
    return decompressor.Decompress(scheme, AsBytes(bytes), scratch).status();
  };
  EXPECT_KIND(decompress(CompressionScheme::kLz4, Hex("FFFFFF7F 00")), ErrorKind::kCorruption, "claims");
  EXPECT_KIND(decompress(CompressionScheme::kLz4, "abc"), ErrorKind::kCorruption, "room");
  EXPECT_KIND(decompress(CompressionScheme::kZstd, Hex("FFFFFFFFFFFFFF7F 28B52FFD")), ErrorKind::kCorruption, "claims");
  EXPECT_KIND(decompress(CompressionScheme::kZstd, "abc"), ErrorKind::kCorruption, "room");
  // A skippable frame of nothing, which a decoder would pass over.
  EXPECT_KIND(decompress(CompressionScheme::kZstd, std::string(8, 0) + Hex("502A4D18 00000000")),
              ErrorKind::kCorruption, "no zstd frame");
}

TEST(Compression, RoundTripAndBareFrames) {
  Compressor compressor;
  Decompressor decompressor;
  ScratchBuffer scratch(nullptr);
  for (auto scheme : {CompressionScheme::kLz4, CompressionScheme::kZstd}) {
    for (size_t size : {size_t{0}, size_t{1}, size_t{1000}, size_t{300'000}}) {
      const std::string plain(size, 'q');
      std::vector<uint8_t> compressed;
      ASSERT_TRUE(compressor.Compress(scheme, 3, AsBytes(plain), compressed).ok());
      Bytes back = decompressor.Decompress(scheme, compressed, scratch).ValueOrDie();
      EXPECT_EQ(std::string(back.begin(), back.end()), plain);
      if (scheme == CompressionScheme::kZstd) {
        back = decompressor.Decompress(scheme, Bytes(compressed).subspan(8), scratch).ValueOrDie();
        EXPECT_EQ(std::string(back.begin(), back.end()), plain);
      }
      if (size == 0) continue;
      compressed.pop_back();
      EXPECT_FALSE(decompressor.Decompress(scheme, compressed, scratch).ok());
    }
  }
}

}  // namespace
}  // namespace javelin::file
