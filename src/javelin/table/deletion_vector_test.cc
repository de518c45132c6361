#include "javelin/table/deletion_vector.h"

#include <arrow/io/memory.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/compression.h>

#include "javelin/table/test_support_internal.h"

namespace javelin::table {
namespace {

using Buffer = std::shared_ptr<arrow::Buffer>;

std::shared_ptr<arrow::Schema> RowIdSchema() {
  return arrow::schema({arrow::field("row_id", arrow::uint32(), /*nullable=*/false)});
}

Buffer ArrowFile(const std::shared_ptr<arrow::Schema>& schema, const std::shared_ptr<arrow::Array>& column,
                 arrow::Compression::type compression = arrow::Compression::UNCOMPRESSED) {
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  options.use_threads = false;
  if (compression != arrow::Compression::UNCOMPRESSED)
    options.codec = arrow::util::Codec::Create(compression).ValueOrDie();
  auto sink = arrow::io::BufferOutputStream::Create().ValueOrDie();
  auto writer = arrow::ipc::MakeFileWriter(sink, schema, options).ValueOrDie();
  EXPECT_TRUE(writer->WriteRecordBatch(*arrow::RecordBatch::Make(schema, column->length(), {column})).ok());
  EXPECT_TRUE(writer->Close().ok());
  return sink->Finish().ValueOrDie();
}

std::shared_ptr<arrow::Array> Offsets(const std::vector<uint32_t>& values) {
  arrow::UInt32Builder builder;
  EXPECT_TRUE(builder.AppendValues(values).ok());
  return builder.Finish().ValueOrDie();
}

DeletionFile Entry(DeletionFileType type, uint64_t rows = 0) { return {type, 4, 99, rows, std::nullopt}; }

TEST(DeletionFile, Names) {
  EXPECT_EQ(DeletionFileName(FragmentId(3), Entry(DeletionFileType::kArrowArray)), "3-4-99.arrow");
  EXPECT_EQ(DeletionFileName(FragmentId(0), Entry(DeletionFileType::kBitmap)), "0-4-99.bin");
}

TEST(DeletionFile, ArrowInEveryCompression) {
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < 3000; row += 2) rows.push_back(row);
  for (auto compression : {arrow::Compression::UNCOMPRESSED, arrow::Compression::LZ4_FRAME, arrow::Compression::ZSTD}) {
    const Buffer file = ArrowFile(RowIdSchema(), Offsets(rows), compression);
    ASSERT_OK_AND_ASSIGN(const OffsetSet set,
                         DecodeDeletionFile(Entry(DeletionFileType::kArrowArray, rows.size()), file, 3000));
    EXPECT_EQ(set, OffsetSet::FromUnsorted(rows));
  }
}

TEST(DeletionFile, MemoryThatOthersHoldDoesNotCount) {
  ASSERT_OK_AND_ASSIGN(const auto held, arrow::AllocateBuffer(int64_t{8} << 20));
  const std::vector<uint32_t> rows(100, 7);
  const Buffer file = ArrowFile(RowIdSchema(), Offsets(rows), arrow::Compression::ZSTD);
  ASSERT_OK_AND_ASSIGN(const OffsetSet set, DecodeDeletionFile(Entry(DeletionFileType::kArrowArray), file, 100));
  EXPECT_EQ(set, OffsetSet::FromUnsorted(rows));
}

TEST(DeletionFile, Roaring) {
  OffsetSet rows;
  rows.Append(5, 9000);
  ASSERT_OK_AND_ASSIGN(const OffsetSet set, DecodeDeletionFile(Entry(DeletionFileType::kBitmap, rows.size()),
                                                               arrow::Buffer::FromString(EncodeRoaring(rows)), 9001));
  EXPECT_EQ(set, rows);
}

TEST(DeletionFile, WhatIsWrittenReadsBack) {
  for (uint32_t count : {1u, 4999u, 5000u, 70000u}) {
    OffsetSet rows;
    for (uint32_t i = 0; i < count; ++i) rows.Append(i * 3, i * 3);
    ASSERT_OK_AND_ASSIGN(const EncodedDeletionFile file, EncodeDeletionFile(rows));
    EXPECT_EQ(file.type, count < 5000 ? DeletionFileType::kArrowArray : DeletionFileType::kBitmap);
    ASSERT_OK_AND_ASSIGN(const OffsetSet back, DecodeDeletionFile(Entry(file.type, count), file.bytes, 3 * count));
    EXPECT_EQ(back, rows);
  }
  ExpectError(EncodeDeletionFile({}).status(), ErrorKind::kInvalidInput, "no rows");
}

TEST(DeletionFile, AbsentCountIsNotChecked) {
  ASSERT_OK_AND_ASSIGN(const OffsetSet set, DecodeDeletionFile(Entry(DeletionFileType::kArrowArray, 0),
                                                               ArrowFile(RowIdSchema(), Offsets({1, 2})), 3));
  EXPECT_EQ(set.size(), 2u);
}

TEST(DeletionFile, OtherSchemasAreCorruption) {
  auto refuse = [](const std::shared_ptr<arrow::Field>& field, const std::shared_ptr<arrow::Array>& column) {
    ExpectError(DecodeDeletionFile(Entry(DeletionFileType::kArrowArray), ArrowFile(arrow::schema({field}), column), 10)
                    .status(),
                ErrorKind::kCorruption, "row_id: uint32 not null");
  };
  refuse(arrow::field("row_id", arrow::uint32()), Offsets({1}));
  refuse(arrow::field("rowid", arrow::uint32(), false), Offsets({1}));
  refuse(arrow::field("row_id", arrow::int32(), false), Offsets({1})->View(arrow::int32()).ValueOrDie());
}

TEST(DeletionFile, ContradictionsAreCorruption) {
  const Buffer file = ArrowFile(RowIdSchema(), Offsets({1, 7}));
  ExpectError(DecodeDeletionFile(Entry(DeletionFileType::kArrowArray, 2), file, 7).status(), ErrorKind::kCorruption,
              "row 7");
  ExpectError(DecodeDeletionFile(Entry(DeletionFileType::kArrowArray, 3), file, 8).status(), ErrorKind::kCorruption,
              "manifest says 3");
  ExpectError(DecodeDeletionFile(Entry(DeletionFileType::kArrowArray), ArrowFile(RowIdSchema(), Offsets({1, 1, 1})), 2)
                  .status(),
              ErrorKind::kCorruption, "3 rows of 2");
}

TEST(DeletionFile, CutArrowFilesAreCorruptionAndFlippedOnesFailTyped) {
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < 500; ++row) rows.push_back(row * 7 % 4999);
  const std::string whole = ToText(ArrowFile(RowIdSchema(), Offsets(rows), arrow::Compression::ZSTD));
  const DeletionFile entry = Entry(DeletionFileType::kArrowArray, OffsetSet::FromUnsorted(rows).size());
  for (size_t length = 0; length < whole.size(); length += 5) {
    const auto decoded = DecodeDeletionFile(entry, arrow::Buffer::FromString(whole.substr(0, length)), 5000);
    ASSERT_TRUE(HasKind(decoded.status(), ErrorKind::kCorruption)) << length << decoded.status().ToString();
  }
  for (size_t position = 0; position < whole.size(); position += 3) {
    std::string flipped = whole;
    flipped[position] = static_cast<char>(flipped[position] ^ 0x41);
    const auto decoded = DecodeDeletionFile(entry, arrow::Buffer::FromString(flipped), 5000);
    ASSERT_TRUE(decoded.ok() || KindOf(decoded.status()) == ErrorKind::kCorruption)
        << position << decoded.status().ToString();
  }
}

}  // namespace
}  // namespace javelin::table
