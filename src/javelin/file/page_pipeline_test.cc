// Pages on their way to a file: what they hold of the budget, which ones close early, and that time does not show.
#include <gmock/gmock.h>

#include "javelin/file/container_internal.h"
#include "javelin/file/file_test_support.h"

namespace javelin::file {
namespace {

using namespace testing;

constexpr int64_t kMiB = 1 << 20;

// Notes what of the budget is used whenever a piece of the file is written.
class WatchingWriter final : public ObjectWriter {
 public:
  WatchingWriter(std::shared_ptr<std::string> out, const MemoryBudget& budget, int64_t& most)
      : inner_(std::move(out)), budget_(budget), most_(most) {}
  arrow::Status Write(BufferPtr bytes) override {
    most_ = std::max(most_, budget_.used());
    bytes_written_ += static_cast<uint64_t>(bytes->size());
    return inner_.Write(std::move(bytes));
  }
  arrow::Status Finish() override { return arrow::Status::OK(); }

 private:
  BytesWriter inner_;
  const MemoryBudget& budget_;
  int64_t& most_;
};

class PagePipelineTest : public ::testing::Test {
 protected:
  // Writes the batch `times` times. The rows must come back, and nothing of the budget stay in use.
  void Write(const Resources& resources, const arrow::RecordBatch& batch, int times) {
    const int64_t before = resources.memory->used();
    schema_ = Schema::FromArrow(*batch.schema()).ValueOrDie();
    auto bytes = std::make_shared<std::string>();
    most_ = 0;
    auto sink = std::make_unique<WatchingWriter>(bytes, *resources.memory, most_);
    auto writer = DataFileWriter::Make(resources, std::move(sink), schema_).ValueOrDie();
    for (int i = 0; i < times; ++i) ASSERT_TRUE(writer->Write(batch).ok());
    ASSERT_TRUE(writer->Finish().ok());
    EXPECT_EQ(resources.memory->used(), before);
    file_ = *bytes;
    const Resources plenty = TestResources();
    auto reader = DataFileReader::Open(plenty, StoreOf(file_), "f.lance").ValueOrDie();
    const auto rows = static_cast<uint64_t>(batch.num_rows());
    ASSERT_EQ(reader->num_rows(), rows * static_cast<uint64_t>(times));
    for (int i = 0; i < times; ++i) {
      auto read = reader->Read(schema_, reader->DefaultColumns(), static_cast<uint64_t>(i) * rows, rows).ValueOrDie();
      ASSERT_TRUE(read->Equals(batch)) << i;
    }
  }

  size_t PagesOf(size_t column) {
    const Resources plenty = TestResources();
    return OpenContainer(plenty, *StoreOf(file_), "f.lance", {}).ValueOrDie().columns[column].pages.size();
  }

  static std::shared_ptr<arrow::RecordBatch> Batch(std::vector<std::shared_ptr<arrow::Array>> arrays) {
    arrow::FieldVector fields;
    for (size_t i = 0; i < arrays.size(); ++i) fields.push_back(arrow::field(fmt::format("c{}", i), arrays[i]->type()));
    const int64_t rows = arrays[0]->length();
    return arrow::RecordBatch::Make(arrow::schema(fields), rows, std::move(arrays));
  }

  Schema schema_;
  std::string file_;
  int64_t most_ = 0;  // of the budget, in use while the last file was written
};

TEST_F(PagePipelineTest, ManyColumnsShareAPartOfTheBudget) {
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (uint64_t i = 0; i < 200; ++i)
    arrays.push_back(RandomColumns(i).Make(arrow::int64(), 400, i % 3 == 0 ? 0.1 : 0, Spread::kAny));
  const Resources resources = TestResources(16 * kMiB);  // of which rows on their way to pages get an eighth
  Write(resources, *Batch(arrays), 16);                  // 10 MB
  EXPECT_GT(most_, kMiB);
  EXPECT_LE(most_, 2 * 2 * kMiB);  // rows, and the pages that come of them
  for (size_t column : {0u, 100u, 199u})
    EXPECT_THAT(PagesOf(column), ::testing::AllOf(::testing::Ge(5u), ::testing::Le(16u)));
}

TEST_F(PagePipelineTest, WithEnoughMemoryPagesAreWhole) {
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (uint64_t i = 0; i < 200; ++i) arrays.push_back(RandomColumns(i).Make(arrow::int64(), 400, 0, Spread::kAny));
  Write(TestResources(256 * kMiB), *Batch(arrays), 16);
  EXPECT_EQ(PagesOf(0), 1u);
  EXPECT_EQ(most_, 16 * 200 * (400 * 8 + 512) + 8 * 16 * (400 * 8 + 512));  // all rows, and eight pages at once
}

TEST_F(PagePipelineTest, TheFattestColumnsCloseEarly) {
  const auto fat = RandomColumns(1).Make(arrow::fixed_size_binary(300), 1000, 0, Spread::kAny);
  const auto thin = RandomColumns(2).Make(arrow::int64(), 1000, 0, Spread::kAny);
  Write(TestResources(8 * kMiB), *Batch({thin, fat, thin}), 10);
  EXPECT_EQ(PagesOf(0), 1u);
  EXPECT_GE(PagesOf(1), 3u);
  EXPECT_EQ(PagesOf(2), 1u);
}

TEST_F(PagePipelineTest, ABudgetThatOthersUseUpMakesPagesSmaller) {
  const auto fat = RandomColumns(1).Make(arrow::fixed_size_binary(300), 1000, 0, Spread::kAny);
  const Resources resources = TestResources(256 * kMiB);
  const MemoryReservation others = MemoryReservation::Make(*resources.memory, 256 * kMiB, "others").ValueOrDie();
  Write(resources, *Batch({fat}), 10);
  EXPECT_GE(PagesOf(0), 3u);
  EXPECT_EQ(most_, 256 * kMiB);
}

TEST_F(PagePipelineTest, TimeDoesNotShow) {
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (const auto& type : RandomColumns::Types())
    arrays.push_back(RandomColumns(7).Make(type, 3000, 0.1, Spread::kSmall));
  const auto batch = Batch(arrays);
  const DataFileWriteOptions options{.page_bytes = 8 << 10};
  auto bytes_with = [&](std::shared_ptr<Runtime> runtime) {
    return WriteFile(MakeResources(std::move(runtime), 256 * kMiB), {batch, batch->Slice(100)}, options)
        .ValueOrDie()
        .bytes;
  };
  const std::string expected = bytes_with(MakeThreadRuntime({.cpu_threads = 1}));
  for (int round = 0; round < 3; ++round) EXPECT_EQ(bytes_with(MakeThreadRuntime({.cpu_threads = 4})), expected);
}

}  // namespace
}  // namespace javelin::file
