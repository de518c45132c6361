// Reading: projection, limits, deleted rows, missing columns, base paths, row ids.
#include <random>

#include <arrow/util/byte_size.h>

#include "javelin/dataset/dataset_world_internal.h"
#include "javelin/dataset/file_blocks.h"
#include "javelin/file/counting_pool_test_support.h"
#include "javelin/table/feature_flags.h"
#include "javelin/table/offset_set.h"
#include "javelin/table/row_lineage.h"
#include "javelin/table/versions.h"
#include "lanceproto/table.pb.h"

namespace javelin {
namespace {

using table::DeletionFileType;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<uint64_t> Numbers(const arrow::RecordBatch& batch, const std::string& column) {
  const auto array = std::static_pointer_cast<arrow::UInt64Array>(batch.GetColumnByName(column));
  return std::vector<uint64_t>(array->raw_values(), array->raw_values() + array->length());
}

BatchPtr ScanAll(const Dataset& dataset, const ScanOptions& options) {
  return ReadAll(**dataset.Scan(options)).ValueOrDie();
}

uint64_t Address(uint64_t fragment, uint32_t offset) { return RowAddress(FragmentId(fragment), offset).packed(); }

class Scans : public testing::Test {
 protected:
  // Three fragments of ten rows.
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(dataset_, world_.Write(MakeRows(0, 30), WriteMode::kCreate, {.max_rows_per_file = 10}));
    world_.counting().Reset();
  }

  DatasetWorld world_;
  std::shared_ptr<Dataset> dataset_;
};

TEST_F(Scans, Projection) {
  EXPECT_THAT(ScanAll(*dataset_, {.columns = {{"s", "id"}}})->schema()->field_names(), ElementsAre("s", "id"));
  EXPECT_THAT(ScanAll(*dataset_, {.columns = {{"s"}}})->schema()->field_names(), ElementsAre("s"));
  ExpectError(dataset_->Scan({.columns = {{"S"}}}).status(), ErrorKind::kInvalidInput, "'S'");
  ExpectError(dataset_->Scan({.columns = {{"s", "s"}}}).status(), ErrorKind::kInvalidInput, "twice");
  ExpectError(dataset_->Scan({.batch_rows = 0}).status(), ErrorKind::kInvalidInput, "batch_rows");
}

TEST_F(Scans, NoColumnsStillCountRows) {
  const BatchPtr nothing = ScanAll(*dataset_, {.columns = {std::vector<std::string>{}}});
  EXPECT_EQ(nothing->num_columns(), 0);
  uint64_t rows = 0;
  ASSERT_OK_AND_ASSIGN(const auto reader, dataset_->Scan({.columns = {std::vector<std::string>{}}}));
  ASSERT_OK_AND_ASSIGN(const auto batches, reader->ToRecordBatches());
  for (const auto& batch : batches) rows += static_cast<uint64_t>(batch->num_rows());
  EXPECT_EQ(rows, 30u);
  EXPECT_EQ(world_.counting().counts().total(), 0u);
}

TEST_F(Scans, SystemColumns) {
  const BatchPtr last = ScanAll(*dataset_, {.with_row_id = true, .with_row_address = true});
  EXPECT_THAT(last->schema()->field_names(), ElementsAre("id", "s", "_rowid", "_rowaddr"));
  EXPECT_TRUE(last->schema()->field(2)->Equals(arrow::field("_rowid", arrow::uint64())));
  const std::vector<uint64_t> addresses = Numbers(*last, "_rowaddr");
  for (uint64_t i = 0; i < 30; ++i) EXPECT_EQ(addresses[i], Address(i / 10, static_cast<uint32_t>(i % 10)));
  EXPECT_EQ(Numbers(*last, "_rowid"), addresses);
  const BatchPtr named =
      ScanAll(*dataset_, {.columns = {{"_rowaddr", "s"}}, .with_row_id = true, .with_row_address = true});
  EXPECT_THAT(named->schema()->field_names(), ElementsAre("_rowaddr", "s", "_rowid"));
}

TEST_F(Scans, BatchesAreBoundedByRows) {
  ASSERT_OK_AND_ASSIGN(const auto reader, dataset_->Scan({.batch_rows = 4}));
  ASSERT_OK_AND_ASSIGN(const auto batches, reader->ToRecordBatches());
  std::vector<TestRow> rows;
  for (const auto& batch : batches) {
    EXPECT_LE(batch->num_rows(), 4);
    EXPECT_GT(batch->num_rows(), 0);
    rows = Both(rows, FromBatch(*batch));
  }
  EXPECT_EQ(rows, MakeRows(0, 30));
}

std::string Noise(uint64_t seed, size_t length) {
  std::mt19937_64 random(seed);
  std::string text;
  for (size_t i = 0; i < length; ++i) text.push_back(static_cast<char>(' ' + random() % 90));
  return text;
}

// What a scan asks of the pool, as a multiple of its answer: a copy too many shows here.
TEST(ScanMemory, RowsAreDecodedIntoTheirBatchesOnce) {
  constexpr int64_t kRows = 200'000;
  DatasetWorld world;
  arrow::Int64Builder numbers;
  arrow::StringBuilder texts;
  for (int64_t i = 0; i < kRows; ++i) {
    ASSERT_OK(numbers.Append(i * 7919 % 1'000'003));
    ASSERT_OK(texts.Append(Noise(static_cast<uint64_t>(i), 20)));
  }
  const auto schema = arrow::schema({arrow::field("id", arrow::int64()), arrow::field("s", arrow::utf8())});
  const BatchPtr rows =
      arrow::RecordBatch::Make(schema, kRows, {numbers.Finish().ValueOrDie(), texts.Finish().ValueOrDie()});
  for (const file::FileVersion version : {file::FileVersion{2, 0}, file::FileVersion{2, 2}}) {
    ASSERT_OK(world
                  .WriteBatches({rows}, version == file::FileVersion{2, 0} ? WriteMode::kCreate : WriteMode::kOverwrite,
                                {.data_storage_version = version})
                  .status());
    for (const char* column : {"id", "s"}) {
      file::testing::CountingPool pool;
      Resources resources = MakeResources(MakeThreadRuntime());
      resources.pool = &pool;
      ASSERT_OK_AND_ASSIGN(const auto dataset, Dataset::OpenAt(std::make_shared<Session>(resources), world.location()));
      for (const bool first : {true, false}) {  // which chunks there are is kept
        const int64_t before = pool.total_bytes_allocated();
        ASSERT_OK_AND_ASSIGN(const auto reader, dataset->Scan({.columns = {{column}}}));
        ASSERT_OK_AND_ASSIGN(const BatchPtr all, ReadAll(*reader));
        EXPECT_EQ(all->num_rows(), kRows);
        const int64_t answer = arrow::util::ReferencedBufferSize(*all).ValueOrDie();
        const double copies = static_cast<double>(pool.total_bytes_allocated() - before) / static_cast<double>(answer);
        // Text grows by halves and more, and what has grown counts anew.
        if (!first)
          EXPECT_LE(copies, column == std::string("id") ? 1.1 : 2.5) << column << " of " << file::ToString(version);
      }
    }
  }
}

TEST(ScanMemory, BatchesAreBoundedByBytesAndFewAreHeld) {
  DatasetWorld world;
  std::vector<TestRow> rows;
  for (int64_t id = 0; id < 3'000; ++id) rows.push_back({id, Noise(static_cast<uint64_t>(id), 5'000)});  // 15 MB
  ASSERT_OK_AND_ASSIGN(const auto dataset, world.Write(rows, WriteMode::kCreate));
  ASSERT_OK_AND_ASSIGN(const auto reader, dataset->Scan({.batch_bytes = 100'000}));
  const int64_t before = arrow::default_memory_pool()->bytes_allocated();
  int64_t most = 0;
  std::vector<TestRow> read;
  while (true) {
    ASSERT_OK_AND_ASSIGN(const auto batch, reader->Next());
    if (batch == nullptr) break;
    EXPECT_LE(arrow::util::ReferencedBufferSize(*batch).ValueOrDie(), 110'000);
    const auto kept = static_cast<int64_t>(FileBlocks(*dataset->session())->memory_bytes());
    most = std::max(most, arrow::default_memory_pool()->bytes_allocated() - before - kept);
    read = Both(read, FromBatch(*batch));
  }
  EXPECT_EQ(read, rows);
  EXPECT_LT(most, 5'000'000) << "three blocks of several batches, and what is decoded";
  EXPECT_LT(world.counting().counts().bytes_read, 16'000'000u);  // nothing is read twice
}

// ---- what is read and kept of large files ----

constexpr int64_t kWideRows = 3'000;
constexpr uint64_t kWideBytes = 4'096;

// Rows of 4 KiB in a file that is too large to be kept by a scan. What follows them fills the tail of the file.
BatchPtr MakeWideRows() {
  std::vector<float> values(kWideRows * kWideBytes / sizeof(float));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7919 % 1'000'003);
  const std::string noise = Noise(1, kWideRows * 64);
  arrow::FixedSizeBinaryBuilder pad(arrow::fixed_size_binary(64));
  for (int64_t row = 0; row < kWideRows; ++row) EXPECT_TRUE(pad.Append(noise.data() + row * 64).ok());
  const auto num_values = static_cast<int64_t>(values.size());
  const auto items = std::make_shared<arrow::FloatArray>(num_values, arrow::Buffer::FromVector(std::move(values)));
  const auto type = arrow::fixed_size_list(arrow::float32(), kWideBytes / sizeof(float));
  const auto vectors = arrow::FixedSizeListArray::FromArrays(items, type).ValueOrDie();
  const auto schema = arrow::schema({arrow::field("v", type), arrow::field("pad", pad.type())});
  return arrow::RecordBatch::Make(schema, kWideRows, arrow::ArrayVector{vectors, pad.Finish().ValueOrDie()});
}

class WideRows : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(dataset_, world_.WriteBatches({rows_}, WriteMode::kCreate));
    ASSERT_EQ(ScanAll(*dataset_, {.columns = {{"pad"}}, .limit = 1})->num_rows(), 1);  // the file is open now
    world_.counting().Reset();
  }
  // Takes `count` rows, each hundred rows from the next.
  void Take(int64_t count) {
    std::vector<uint64_t> rows;
    for (int64_t i = 0; i < count; ++i) rows.push_back(static_cast<uint64_t>(100 * i));
    ASSERT_OK_AND_ASSIGN(const BatchPtr taken, dataset_->Take(rows, {{"v"}}));
    for (int64_t i = 0; i < count; ++i)
      ASSERT_TRUE(taken->column(0)->RangeEquals(*rows_->column(0), i, i + 1, 100 * i)) << i;
  }
  uint64_t kept() const { return FileBlocks(*dataset_->session())->memory_bytes(); }

  DatasetWorld world_;
  const BatchPtr rows_ = MakeWideRows();
  std::shared_ptr<Dataset> dataset_;
};

TEST_F(WideRows, AScanReadsEachByteOnceAndKeepsNone) {
  const uint64_t before = kept();
  for (int scan = 0; scan < 2; ++scan) {
    world_.counting().Reset();
    EXPECT_TRUE(ScanAll(*dataset_, {.columns = {{"v"}}})->column(0)->Equals(rows_->column(0)));
    EXPECT_EQ(world_.counting().counts().bytes_read, kWideRows * kWideBytes);
    EXPECT_EQ(kept(), before);
  }
}

TEST_F(WideRows, BatchesEndWherePagesDoSoThatVectorsAreNotCopied) {
  const int64_t before = arrow::default_memory_pool()->bytes_allocated();
  ASSERT_OK_AND_ASSIGN(const auto reader, dataset_->Scan({.columns = {{"v"}}}));
  ASSERT_OK_AND_ASSIGN(const auto batches, reader->ToRecordBatches());
  EXPECT_LT(arrow::default_memory_pool()->bytes_allocated() - before, 100'000) << "of 12 MB";
  EXPECT_THAT(batches, SizeIs(2)) << "there are two pages";
  ASSERT_OK_AND_ASSIGN(const auto table, arrow::Table::FromRecordBatches(batches));
  EXPECT_TRUE(table->column(0)->Equals(arrow::ChunkedArray(rows_->column(0))));
  EXPECT_EQ(world_.counting().counts().get, 1u) << "both lie in one block";
}

TEST_F(WideRows, WhatComesNextIsReadWhileABatchIsWorkedOn) {
  ASSERT_OK_AND_ASSIGN(const auto reader, dataset_->Scan({.columns = {{"v"}}, .batch_bytes = 1 << 20}));
  const auto requests = [&] { return world_.counting().counts().get; };
  for (uint64_t batch = 1; batch <= 5; ++batch) {
    ASSERT_OK(reader->Next().status());
    for (int wait = 0; wait < 10'000 && requests() < batch + 2; ++wait)
      dataset_->session()->runtime().Sleep(std::chrono::milliseconds(1));
    ASSERT_EQ(requests(), batch + 2) << "this one, and two that nobody asked for yet";
  }
  ASSERT_OK(reader->Close());
  EXPECT_EQ(requests(), 7u);
}

TEST_F(WideRows, AScanReadsLessAtOnceWhereMemoryIsShort) {
  const auto open = [&](int64_t limit) {
    const auto session = std::make_shared<Session>(MakeResources(MakeThreadRuntime({.cpu_threads = 2}), limit));
    return Dataset::OpenAt(session, world_.location());
  };
  ASSERT_OK_AND_ASSIGN(const auto dataset, open(600'000));
  const auto& memory = *dataset->session()->resources().memory;
  std::optional<int64_t> kept;
  for (int scan = 0; scan < 2; ++scan) {
    world_.counting().Reset();
    EXPECT_TRUE(ScanAll(*dataset, {.columns = {{"v"}}})->column(0)->Equals(rows_->column(0)));
    EXPECT_EQ(memory.used(), kept.value_or(memory.used())) << "all that was reserved is given back";
    kept = memory.used();
  }
  ASSERT_OK_AND_ASSIGN(const auto poor, open(4'000));
  ExpectError(ReadAll(**poor->Scan({.columns = {{"v"}}})).status(), ErrorKind::kOutOfMemory, "");
}

TEST_F(WideRows, RowsFarApartAreReadAlone) {
  const uint64_t before = kept();
  for (int take = 0; take < 2; ++take) {
    world_.counting().Reset();
    Take(30);
    EXPECT_EQ(world_.counting().counts().bytes_read, 30 * kWideBytes);
    EXPECT_EQ(world_.counting().counts().get, 30u);
    EXPECT_EQ(kept(), before);
  }
}

TEST_F(WideRows, AFewRowsAreKeptWithWhatLiesAroundThem) {
  Take(7);
  EXPECT_EQ(world_.counting().counts().get, 7u);
  world_.counting().Reset();
  Take(7);
  EXPECT_EQ(world_.counting().counts().total(), 0u);
  Take(30);
  EXPECT_EQ(world_.counting().counts().bytes_read, 23 * kWideBytes) << "the others are here";
}

TEST_F(Scans, LimitAndOffset) {
  for (uint64_t offset : {0, 1, 9, 10, 11, 25, 29, 30, 31, 1000}) {
    for (uint64_t limit : {0, 1, 5, 10, 11, 29, 30, 100}) {
      const int64_t first = std::min<int64_t>(static_cast<int64_t>(offset), 30);
      const int64_t count = std::min<int64_t>(static_cast<int64_t>(limit), 30 - first);
      ASSERT_EQ(world_.Rows(*dataset_, {.limit = limit, .offset = offset, .batch_rows = 3}), MakeRows(first, count))
          << offset << " " << limit;
    }
  }
}

TEST_F(Scans, AScanReadsNoMoreFilesThanItNeeds) {
  EXPECT_EQ(world_.Rows(*dataset_, {.limit = 10}), MakeRows(0, 10));
  EXPECT_EQ(world_.counting().counts().total(), 1u);
  world_.counting().Reset();
  EXPECT_EQ(world_.Rows(*dataset_, {.offset = 20}), MakeRows(20, 10));
  EXPECT_EQ(world_.counting().counts().total(), 1u);
  world_.counting().Reset();
  ASSERT_OK(dataset_->Scan().status());
  EXPECT_EQ(world_.counting().counts().total(), 0u);
}

TEST_F(Scans, AClosedScanEnds) {
  ASSERT_OK_AND_ASSIGN(const auto reader, dataset_->Scan({.batch_rows = 2}));
  ASSERT_OK(reader->Next().status());
  ASSERT_OK(reader->Close());
  ASSERT_OK_AND_ASSIGN(const auto batch, reader->Next());
  EXPECT_EQ(batch, nullptr);
}

TEST_F(Scans, AFailedReadIsReportedNotSkipped) {
  world_.faults().AddRule({.method = "get", .first = 2});
  ASSERT_OK_AND_ASSIGN(const auto reader, dataset_->Scan());
  ExpectError(reader->ToRecordBatches().status(), ErrorKind::kTransient, "");
}

TEST_F(Scans, AnErrorComesBehindTheRowsBeforeItAndStays) {
  ASSERT_OK(world_.inner().Delete("t/data/" + dataset_->manifest().fragments[1].files[0].path));
  ASSERT_OK_AND_ASSIGN(const auto reader, dataset_->Scan());
  ASSERT_OK_AND_ASSIGN(const auto first, reader->Next());
  EXPECT_EQ(FromBatch(*first), MakeRows(0, 10));
  for (int again = 0; again < 2; ++again) ExpectError(reader->Next().status(), ErrorKind::kNotFound, "");
}

TEST_F(Scans, ADeletionFileIsReadOnce) {
  ASSERT_OK_AND_ASSIGN(const auto dataset, world_.Delete(FragmentId(1), {0, 3}, DeletionFileType::kBitmap));
  world_.counting().Reset();
  for (int take = 0; take < 2; ++take) {
    ASSERT_OK_AND_ASSIGN(const BatchPtr taken, dataset->Take(std::vector<uint64_t>{27, 0, 10}));
    EXPECT_EQ(FromBatch(*taken), (std::vector<TestRow>{MakeRows(29, 1)[0], MakeRows(0, 1)[0], MakeRows(11, 1)[0]}));
    EXPECT_EQ(world_.Rows(*dataset).size(), 28u);
    EXPECT_EQ(world_.counting().counts().get, 4u) << "three data files and the deletion file, once";
  }
}

TEST_F(Scans, AMissingOrForeignDataFileIsAnError) {
  const std::string path = "t/data/" + dataset_->manifest().fragments[1].files[0].path;
  ASSERT_OK_AND_ASSIGN(const BufferPtr bytes, world_.inner().Get(path));
  ASSERT_OK(world_.inner().Delete(path));
  ExpectError(ReadAll(**dataset_->Scan()).status(), ErrorKind::kNotFound, path);
  // A file with other rows than the manifest says.
  ASSERT_OK(world_.inner().Put(path, bytes));
  ASSERT_OK_AND_ASSIGN(const auto planted,
                       world_.Plant([](table::Manifest& next) { next.fragments[1].physical_rows = 9; }));
  ExpectError(ReadAll(**planted->Scan()).status(), ErrorKind::kCorruption, "has 10 rows, fragment 1 has 9");
}

// ---- deleted rows ----

TEST_F(Scans, DeletedRowsAreLeftOut) {
  ASSERT_OK(world_.Delete(FragmentId(0), {0, 1, 2, 5, 9}, DeletionFileType::kArrowArray).status());
  ASSERT_OK_AND_ASSIGN(const auto dataset, world_.Delete(FragmentId(2), {3}, DeletionFileType::kBitmap));
  const auto expected = Without(MakeRows(0, 30), {0, 1, 2, 5, 9, 23});
  EXPECT_EQ(world_.Rows(*dataset), expected);
  for (uint64_t batch_rows : {1, 2, 3, 7, 100}) EXPECT_EQ(world_.Rows(*dataset, {.batch_rows = batch_rows}), expected);
  ASSERT_OK_AND_ASSIGN(const uint64_t count, dataset->CountRows());
  EXPECT_EQ(count, 24u);
  for (uint64_t offset = 0; offset <= 25; ++offset) {
    for (uint64_t limit : {0, 1, 4, 30}) {
      const auto first = expected.begin() + static_cast<ptrdiff_t>(std::min<uint64_t>(offset, expected.size()));
      const auto end = expected.begin() + static_cast<ptrdiff_t>(std::min<uint64_t>(offset + limit, expected.size()));
      ASSERT_EQ(world_.Rows(*dataset, {.limit = limit, .offset = offset, .batch_rows = 2}),
                std::vector<TestRow>(first, std::max(first, end)));
    }
  }
  const BatchPtr addresses = ScanAll(*dataset, {.limit = 3, .with_row_address = true});
  EXPECT_THAT(Numbers(*addresses, "_rowaddr"), ElementsAre(Address(0, 3), Address(0, 4), Address(0, 6)));
}

TEST_F(Scans, CountsComeFromTheDeletionFileWhereTheManifestDoesNotSay) {
  ASSERT_OK_AND_ASSIGN(const auto dataset,
                       world_.Delete(FragmentId(0), {1, 2}, DeletionFileType::kArrowArray, /*count_known=*/false));
  world_.counting().Reset();
  ASSERT_OK_AND_ASSIGN(const uint64_t count, dataset->CountRows());
  EXPECT_EQ(count, 28u);
  EXPECT_EQ(world_.counting().counts().get, 1u);
}

TEST_F(Scans, RowsWithoutNumbersInTheManifest) {
  ASSERT_OK_AND_ASSIGN(const auto dataset, world_.Plant([](table::Manifest& next) {
    for (auto& fragment : next.fragments) {
      fragment.physical_rows = 0;
      fragment.files[0].size_bytes = 0;
    }
  }));
  ASSERT_OK_AND_ASSIGN(const uint64_t count, dataset->CountRows());
  EXPECT_EQ(count, 30u);
  EXPECT_EQ(world_.Rows(*dataset, {.offset = 15}), MakeRows(15, 15));
}

TEST_F(Scans, ABrokenDeletionFileIsCorruption) {
  ASSERT_OK_AND_ASSIGN(auto dataset, world_.Delete(FragmentId(0), {1, 200}, DeletionFileType::kBitmap));
  ExpectError(ReadAll(**dataset->Scan()).status(), ErrorKind::kCorruption, "row 200");
  ASSERT_OK_AND_ASSIGN(
      dataset, world_.Plant([](table::Manifest& next) { next.fragments[0].deletion_file->num_deleted_rows = 11; }));
  ExpectError(dataset->CountRows().status(), ErrorKind::kCorruption, "11 deleted");
  ASSERT_OK_AND_ASSIGN(dataset, world_.Plant([](table::Manifest& next) { next.fragments[0].deletion_file->id += 1; }));
  ExpectError(ReadAll(**dataset->Scan()).status(), ErrorKind::kNotFound, "_deletions/0-1-");
}

TEST(DeletedRows, RandomSetsAgainstAModel) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 20; ++round) {
    DatasetWorld world;
    const auto all = MakeRows(0, 60);
    ASSERT_OK_AND_ASSIGN(auto dataset, world.Write(all, WriteMode::kCreate, {.max_rows_per_file = 20}));
    std::set<int64_t> deleted;
    for (uint64_t fragment = 0; fragment < 3; ++fragment) {
      std::vector<uint32_t> offsets;
      for (uint32_t offset = 0; offset < 20; ++offset) {
        if (random() % 3 != 0) continue;
        offsets.push_back(offset);
        deleted.insert(static_cast<int64_t>(fragment * 20 + offset));
      }
      if (offsets.empty()) continue;
      const auto type = random() % 2 == 0 ? DeletionFileType::kArrowArray : DeletionFileType::kBitmap;
      ASSERT_OK_AND_ASSIGN(dataset, world.Delete(FragmentId(fragment), offsets, type, random() % 2 == 0));
    }
    const auto expected = Without(all, deleted);
    ASSERT_EQ(world.Rows(*dataset, {.batch_rows = 1 + random() % 9}), expected);
    std::vector<uint64_t> picks(10);
    std::vector<TestRow> picked;
    for (uint64_t& pick : picks) picked.push_back(expected[pick = random() % expected.size()]);
    ASSERT_OK_AND_ASSIGN(const BatchPtr taken, dataset->Take(picks));
    ASSERT_EQ(FromBatch(*taken), picked);
  }
}

// ---- take ----

TEST_F(Scans, TakeByPosition) {
  ASSERT_OK_AND_ASSIGN(const auto dataset, world_.Delete(FragmentId(1), {0, 3}, DeletionFileType::kArrowArray));
  ASSERT_OK_AND_ASSIGN(const BatchPtr taken, dataset->Take(std::vector<uint64_t>{27, 0, 10, 10, 12, 5}));
  EXPECT_EQ(FromBatch(*taken), (std::vector<TestRow>{MakeRows(29, 1)[0], MakeRows(0, 1)[0], MakeRows(11, 1)[0],
                                                     MakeRows(11, 1)[0], MakeRows(14, 1)[0], MakeRows(5, 1)[0]}));
  ASSERT_OK_AND_ASSIGN(const BatchPtr none, dataset->Take(std::vector<uint64_t>{}));
  EXPECT_EQ(none->num_rows(), 0);
  EXPECT_TRUE(none->schema()->Equals(*TestSchema()));
  ExpectError(dataset->Take(std::vector<uint64_t>{3, 28}).status(), ErrorKind::kInvalidInput,
              "row 28 does not exist; 'test://t' has 28 rows");
  ASSERT_OK_AND_ASSIGN(const BatchPtr narrow, dataset->Take(std::vector<uint64_t>{10}, {{"_rowaddr", "s"}}));
  EXPECT_THAT(Numbers(*narrow, "_rowaddr"), ElementsAre(Address(1, 1)));
  EXPECT_EQ(narrow->num_columns(), 2);
}

TEST_F(Scans, TakeByAddress) {
  ASSERT_OK_AND_ASSIGN(const auto dataset, world_.Delete(FragmentId(1), {0, 3}, DeletionFileType::kArrowArray));
  auto at = [](uint64_t fragment, uint32_t offset) { return RowAddress(FragmentId(fragment), offset); };
  ASSERT_OK_AND_ASSIGN(const BatchPtr taken,
                       dataset->TakeAddresses(std::vector<RowAddress>{at(2, 9), at(0, 1), at(2, 0), at(0, 1)}));
  EXPECT_EQ(FromBatch(*taken),
            (std::vector<TestRow>{MakeRows(29, 1)[0], MakeRows(1, 1)[0], MakeRows(20, 1)[0], MakeRows(1, 1)[0]}));
  ExpectError(dataset->TakeAddresses(std::vector<RowAddress>{at(0, 0), at(1, 3)}).status(), ErrorKind::kInvalidInput,
              "row 3 of fragment 1 of 'test://t' is deleted");
  ExpectError(dataset->TakeAddresses(std::vector<RowAddress>{at(0, 10)}).status(), ErrorKind::kInvalidInput,
              "has 10 rows");
  ExpectError(dataset->TakeAddresses(std::vector<RowAddress>{at(3, 0)}).status(), ErrorKind::kInvalidInput,
              "no fragment 3");
}

// Rows that take far more memory than what is stored of them.
TEST(TakeMemory, RowsThatAreAskedForManyTimes) {
  DatasetWorld world;
  const auto write = [&](const std::shared_ptr<arrow::DataType>& type, WriteMode mode) {
    auto values = arrow::MakeBuilder(type).ValueOrDie();
    EXPECT_TRUE(
        values
            ->AppendScalar(*arrow::MakeScalar(type, arrow::Buffer::FromString(std::string(1 << 20, 'x'))).ValueOrDie())
            .ok());
    const auto schema = arrow::schema({arrow::field("a", type)});
    return world.WriteBatches({arrow::RecordBatch::Make(schema, 1, {values->Finish().ValueOrDie()})}, mode)
        .ValueOrDie();
  };
  const int64_t before = arrow::default_memory_pool()->max_memory();
  const auto text = write(arrow::utf8(), WriteMode::kCreate);
  ExpectError(text->Take(std::vector<uint64_t>(2'048, 0)).status(), ErrorKind::kInvalidInput,
              "column 'a' would hold 2147483648 bytes, more than its 32-bit offsets count; read fewer rows at once, or "
              "cast it to large_string when it is written");
  const auto longer = write(arrow::large_utf8(), WriteMode::kOverwrite);
  EXPECT_EQ(longer->Take(std::vector<uint64_t>(3, 0)).ValueOrDie()->num_rows(), 3);  // the file is open from here on
  const int64_t used = longer->session()->resources().memory->used();
  ExpectError(longer->Take(std::vector<uint64_t>(1 << 20, 0)).status(), ErrorKind::kOutOfMemory, "a take needs");
  EXPECT_EQ(longer->session()->resources().memory->used(), used);
  EXPECT_LT(arrow::default_memory_pool()->max_memory(), before + (64 << 20));
}

// ---- columns in several files, or in none ----

file::Field ExtraField(FieldId id, std::string name, bool nullable) {
  file::Field field;
  field.id = id;
  field.name = std::move(name);
  field.logical_type = "int32";
  field.type = arrow::int32();
  field.nullable = nullable;
  return field;
}

file::Schema WithExtra(const file::Schema& schema, const file::Field& extra) {
  std::vector<file::Field> fields = schema.fields();
  fields.push_back(extra);
  return file::Schema(std::move(fields), {});
}

TEST_F(Scans, AColumnInAFileOfItsOwnAndMissingElsewhere) {
  const file::Field extra = ExtraField(FieldId(2), "extra", true);
  arrow::Int32Builder builder;
  for (int i = 0; i < 10; ++i) ASSERT_OK(builder.Append(100 + i));
  const file::Schema alone({extra}, {});
  const auto batch = arrow::RecordBatch::Make(alone.ToArrow(), 10, {builder.Finish().ValueOrDie()});
  ASSERT_OK_AND_ASSIGN(const table::DataFile file,
                       world_.WriteFile(world_.location(), "data/extra.lance", alone, *batch));
  auto plant = [&](bool nullable) {
    return world_.Plant([&](table::Manifest& next) {
      next.schema = WithExtra(dataset_->schema(), ExtraField(FieldId(2), "extra", nullable));
      next.fragments = dataset_->manifest().fragments;
      next.fragments[1].files.push_back(file);
    });
  };
  ASSERT_OK_AND_ASSIGN(const auto dataset, plant(true));
  // Only the file that has it is read.
  world_.counting().Reset();
  ScanAll(*dataset, {.columns = {{"extra"}}});
  EXPECT_THAT(world_.counting().LogText(), ElementsAre("get t/data/extra.lance"));
  const BatchPtr all = ScanAll(*dataset, {});
  EXPECT_EQ(FromBatch(*all), MakeRows(0, 30));
  const auto& column = static_cast<const arrow::Int32Array&>(*all->GetColumnByName("extra"));
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(column.IsNull(i), i < 10 || i >= 20);
    if (!column.IsNull(i)) {
      EXPECT_EQ(column.Value(i), 90 + i);
    }
  }
  // What a session has open is not opened again.
  world_.counting().Reset();
  EXPECT_EQ(FromBatch(*ScanAll(*dataset, {})), MakeRows(0, 30));
  EXPECT_THAT(world_.counting().LogText(), IsEmpty());
  ASSERT_OK_AND_ASSIGN(const BatchPtr taken, dataset->Take(std::vector<uint64_t>{12, 3}, {{"extra"}}));
  EXPECT_EQ(static_cast<const arrow::Int32Array&>(*taken->column(0)).Value(0), 102);
  EXPECT_TRUE(taken->column(0)->IsNull(1));
  // Appends without the column still fit.
  ASSERT_OK(dataset->Append(*ReaderOf({ToBatch(MakeRows(30, 1))})).status());

  ASSERT_OK_AND_ASSIGN(const auto required, plant(false));
  ExpectError(ReadAll(**required->Scan()).status(), ErrorKind::kCorruption, "no values of column 'extra'");
  EXPECT_EQ(world_.Rows(*required, {.columns = {{"id", "s"}}}), MakeRows(0, 30));
}

TEST_F(Scans, NullsOfAColumnThatCameLaterAreWithinMemory) {
  file::Field wide = ExtraField(FieldId(2), "wide", true);
  wide.type = arrow::fixed_size_list(arrow::field("item", arrow::float32()), 1 << 27);
  wide.logical_type = file::LogicalTypeOf(*wide.type).ValueOrDie();
  ASSERT_OK_AND_ASSIGN(const auto dataset, world_.Plant([&](table::Manifest& next) {
    next.schema = WithExtra(dataset_->schema(), wide);
    next.fragments = dataset_->manifest().fragments;
  }));
  ExpectError(dataset->Take(std::vector<uint64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}).status(), ErrorKind::kOutOfMemory,
              "columns that came later");
  EXPECT_EQ(FromBatch(*dataset->Take(std::vector<uint64_t>{3}, {{"id", "s"}}).ValueOrDie()), MakeRows(3, 1));
}

TEST_F(Scans, SupersededValuesAreNotRead) {
  // Column s of fragment 0 was rewritten: the old one is marked -2 and a new file has it.
  const file::Schema alone({*dataset_->schema().FindByName("s")}, {});
  std::vector<TestRow> rows = MakeRows(0, 10);
  for (TestRow& row : rows) row.s = "new " + std::to_string(row.id);
  const auto batch = arrow::RecordBatch::Make(alone.ToArrow(), 10, {ToBatch(rows)->column(1)});
  ASSERT_OK_AND_ASSIGN(const table::DataFile file,
                       world_.WriteFile(world_.location(), "data/new.lance", alone, *batch));
  ASSERT_OK_AND_ASSIGN(const auto dataset, world_.Plant([&](table::Manifest& next) {
    next.fragments[0].files[0].fields[1] = -2;
    next.fragments[0].files.push_back(file);
  }));
  EXPECT_EQ(world_.Rows(*dataset), Both(rows, MakeRows(10, 20)));
}

TEST_F(Scans, AColumnSplitOverFilesIsRefusedOnlyWhereItIsRead) {
  ASSERT_OK_AND_ASSIGN(const auto dataset, world_.Plant([&](table::Manifest& next) {
    table::DataFile copy = next.fragments[0].files[0];
    copy.fields = {-2, 1};
    next.fragments[0].files.push_back(copy);
  }));
  ExpectError(dataset->Scan({.columns = {{"s"}}}).ValueOrDie()->Next().status(), ErrorKind::kNotSupported, "'s'");
  EXPECT_EQ(ScanAll(*dataset, {.columns = {{"id"}}})->num_rows(), 30);
}

TEST_F(Scans, AFileOfAnUnknownVersionIsRefusedByName) {
  ASSERT_OK_AND_ASSIGN(const auto dataset,
                       world_.Plant([&](table::Manifest& next) { next.fragments[1].files[0].path = "future.lance"; }));
  ASSERT_OK_AND_ASSIGN(const BufferPtr bytes,
                       world_.inner().Get("t/data/" + dataset_->manifest().fragments[1].files[0].path));
  std::string future = bytes->ToString();
  future[future.size() - 6] = 9;  // minor version
  ASSERT_OK(world_.inner().Put("t/data/future.lance", arrow::Buffer::FromString(future)));
  ExpectError(ReadAll(**dataset->Scan()).status(), ErrorKind::kNotSupported, "future.lance");
}

// ---- base paths ----

TEST_F(Scans, FilesBelowBasePaths) {
  ASSERT_OK_AND_ASSIGN(const StoreLocation root, world_.session()->stores().Resolve("memory://elsewhere/table"));
  ASSERT_OK_AND_ASSIGN(const StoreLocation plain, world_.session()->stores().Resolve("memory://elsewhere/files"));
  ASSERT_OK_AND_ASSIGN(table::DataFile in_root,
                       world_.WriteFile(root, "data/a.lance", dataset_->schema(), *ToBatch(MakeRows(100, 4))));
  ASSERT_OK_AND_ASSIGN(table::DataFile in_plain,
                       world_.WriteFile(plain, "b.lance", dataset_->schema(), *ToBatch(MakeRows(200, 4))));
  in_root.base_id = 0;
  in_plain.base_id = 7;
  const auto deleted = arrow::Buffer::FromString(table::EncodeRoaring(table::OffsetSet::FromUnsorted({1})));
  ASSERT_OK(root.store->Put(JoinKey(root.root, "_deletions/3-1-5.bin"), deleted));
  ASSERT_OK_AND_ASSIGN(const auto dataset, world_.Plant([&](table::Manifest& next) {
    next.base_paths = {{0, std::nullopt, true, "memory://elsewhere/table"},
                       {7, "files", false, "memory://elsewhere/files"}};
    next.fragments.push_back(
        {FragmentId(3), {in_root}, table::DeletionFile{DeletionFileType::kBitmap, 1, 5, 1, 0}, 4, ""});
    next.fragments.push_back({FragmentId(4), {in_plain}, std::nullopt, 4, ""});
    next.max_fragment_id = 4;
    next.reader_feature_flags = next.writer_feature_flags = table::flag::kBasePaths | table::flag::kDeletionFiles;
  }));
  const auto expected = Both(Both(MakeRows(0, 30), Without(MakeRows(100, 4), {101})), MakeRows(200, 4));
  EXPECT_EQ(world_.Rows(*dataset), expected);
  // An append keeps the base paths and writes its own file below the table.
  ASSERT_OK_AND_ASSIGN(const auto appended, dataset->Append(*ReaderOf({ToBatch(MakeRows(300, 1))})));
  EXPECT_THAT(appended->manifest().base_paths, SizeIs(2));
  EXPECT_EQ(appended->manifest().fragments.back().files[0].base_id, std::nullopt);
  EXPECT_EQ(world_.Rows(*appended), Both(expected, MakeRows(300, 1)));
  ASSERT_OK_AND_ASSIGN(const auto lost, world_.Plant([](table::Manifest& next) { next.base_paths.pop_back(); }));
  ExpectError(ReadAll(**lost->Scan()).status(), ErrorKind::kCorruption, "base path 7");
}

// ---- stable row ids ----

TEST_F(Scans, StableRowIds) {
  ASSERT_OK_AND_ASSIGN(const auto dataset, world_.Plant([&](table::Manifest& next) {
    next.reader_feature_flags = next.writer_feature_flags = table::flag::kStableRowIds;
    next.next_row_id = 600;
    for (uint64_t i = 0; i < 3; ++i)
      next.fragments[i].lineage = table::LineageOfNewRows(500 - i * 100, 10, TableVersion(1));
  }));
  std::vector<uint64_t> expected;
  for (uint64_t i = 0; i < 30; ++i) expected.push_back(500 - i / 10 * 100 + i % 10);
  const BatchPtr all = ScanAll(*dataset, {.with_row_id = true, .with_row_address = true, .batch_rows = 4});
  EXPECT_EQ(Numbers(*all, "_rowid"), expected);
  EXPECT_EQ(Numbers(*all, "_rowaddr")[10], Address(1, 0));
  ASSERT_OK_AND_ASSIGN(const BatchPtr taken, dataset->Take(std::vector<uint64_t>{25, 3}, {{"_rowid"}}));
  EXPECT_THAT(Numbers(*taken, "_rowid"), ElementsAre(305, 503));
  ASSERT_OK_AND_ASSIGN(const auto appended, dataset->Append(*ReaderOf({ToBatch(MakeRows(30, 2))})));
  EXPECT_EQ(appended->manifest().next_row_id, 602u);
  EXPECT_THAT(Numbers(*ScanAll(*appended, {.offset = 30, .with_row_id = true}), "_rowid"), ElementsAre(600, 601));
  ASSERT_OK_AND_ASSIGN(const auto broken, world_.Plant([&](table::Manifest& next) {
    next.fragments[0].lineage = table::LineageOfNewRows(0, 9, TableVersion(1));
  }));
  ExpectError(ReadAll(**broken->Scan({.with_row_id = true})).status(), ErrorKind::kCorruption, "10 rows and 9 row ids");
  EXPECT_EQ(world_.Rows(*broken), MakeRows(0, 32));
}

TEST_F(Scans, StableRowIdsInAColumn) {
  file::Field hidden = ExtraField(table::kRowIdColumn, "_rowid", false);
  hidden.logical_type = "uint64";
  hidden.type = arrow::uint64();
  const file::Schema alone({hidden}, {});
  arrow::UInt64Builder builder;
  for (uint64_t i = 0; i < 10; ++i) ASSERT_OK(builder.Append(70 - i));
  const auto batch = arrow::RecordBatch::Make(alone.ToArrow(), 10, {builder.Finish().ValueOrDie()});
  ASSERT_OK_AND_ASSIGN(const table::DataFile file,
                       world_.WriteFile(world_.location(), "data/ids.lance", alone, *batch));
  ::lance::table::DataFragment spilled;
  spilled.mutable_row_ids_in_column();
  ASSERT_OK_AND_ASSIGN(const auto dataset, world_.Plant([&](table::Manifest& next) {
    next.reader_feature_flags = next.writer_feature_flags = table::flag::kStableRowIds | table::flag::kSpilledLineage;
    next.fragments.resize(1);
    next.fragments[0].files.push_back(file);
    next.fragments[0].lineage = spilled.SerializeAsString();
  }));
  EXPECT_THAT(Numbers(*ScanAll(*dataset, {.with_row_id = true}), "_rowid"),
              ElementsAre(70, 69, 68, 67, 66, 65, 64, 63, 62, 61));
  EXPECT_EQ(world_.Rows(*dataset), MakeRows(0, 10));
}

TEST_F(Scans, VersionsOfRows) {
  const std::vector<std::string> columns = {"_row_last_updated_at_version", "id", "_row_created_at_version"};
  ASSERT_OK_AND_ASSIGN(const auto plain, world_.Open());
  EXPECT_THAT(Numbers(*ScanAll(*plain, {.columns = columns}), columns[0]), testing::Each(1));
  ASSERT_OK_AND_ASSIGN(const auto dataset, world_.Plant([&](table::Manifest& next) {
    next.reader_feature_flags = next.writer_feature_flags = table::flag::kStableRowIds;
    next.next_row_id = 600;
    for (uint64_t i = 0; i < 3; ++i) {
      const std::vector<table::RowOrigin> origins(4, {100 * i, 5 + i});
      uint64_t next_id = 100 * i + 1;
      next.fragments[i].lineage =
          table::CompleteLineage(table::LineageOfReplacedRows(origins), 10, TableVersion(9), &next_id).ValueOrDie();
    }
  }));
  const BatchPtr all = ScanAll(*dataset, {.columns = columns, .batch_rows = 3});
  EXPECT_THAT(all->schema()->field_names(), testing::ElementsAreArray(columns));
  const auto created = Numbers(*all, columns[2]);
  for (uint64_t row = 0; row < 30; ++row) EXPECT_EQ(created[row], row % 10 < 4 ? 5 + row / 10 : 9) << row;
  EXPECT_THAT(Numbers(*all, columns[0]), testing::Each(9));
  ASSERT_OK_AND_ASSIGN(const BatchPtr taken, dataset->Take(std::vector<uint64_t>{25, 21, 3}, columns));
  EXPECT_THAT(Numbers(*taken, columns[2]), ElementsAre(9, 7, 5));
}

}  // namespace
}  // namespace javelin
