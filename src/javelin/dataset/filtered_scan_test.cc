// Scans with conditions, of fields of structs and of computed columns: the rows they return, what they read for it.
#include <random>

#include <arrow/json/from_string.h>

#include "javelin/dataset/conditions_internal.h"
#include "javelin/dataset/dataset_state_internal.h"
#include "javelin/dataset/dataset_world_internal.h"
#include "javelin/dataset/scan_internal.h"
#include "javelin/dataset/scanner.h"

namespace javelin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> Scan(const Dataset& dataset, const ScannerOptions& options) {
  ARROW_ASSIGN_OR_RAISE(const Scanner scanner, Scanner::Make(dataset, options));
  ARROW_ASSIGN_OR_RAISE(auto reader, scanner.ToReader());
  EXPECT_TRUE(scanner.schema()->Equals(*reader->schema(), /*check_metadata=*/true));
  return reader;
}

arrow::Result<uint64_t> Count(const Dataset& dataset, const std::string& filter) {
  ARROW_ASSIGN_OR_RAISE(const Scanner scanner, Scanner::Make(dataset, {.filter = filter}));
  return scanner.CountRows();
}

BatchPtr ScanAll(const Dataset& dataset, const ScannerOptions& options) {
  const auto reader = Scan(dataset, options);
  EXPECT_TRUE(reader.ok()) << reader.status().ToString();
  const auto rows = ReadAll(**reader);
  EXPECT_TRUE(rows.ok()) << rows.status().ToString();
  return *rows;
}

std::vector<TestRow> Rows(const Dataset& dataset, const ScannerOptions& options) {
  return FromBatch(*ScanAll(dataset, options));
}

std::vector<int64_t> Ids(const arrow::RecordBatch& batch) {
  const auto array = std::static_pointer_cast<arrow::Int64Array>(batch.GetColumnByName("id"));
  return std::vector<int64_t>(array->raw_values(), array->raw_values() + array->length());
}

std::vector<TestRow> Where(std::vector<TestRow> rows, const std::function<bool(const TestRow&)>& passes) {
  std::erase_if(rows, [&](const TestRow& row) { return !passes(row); });
  return rows;
}

class FilteredScans : public testing::Test {
 protected:
  // Three fragments of ten rows.
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(dataset_, world_.Write(MakeRows(0, 30), WriteMode::kCreate, {.max_rows_per_file = 10}));
    world_.counting().Reset();
  }

  DatasetWorld world_;
  std::shared_ptr<Dataset> dataset_;
};

TEST_F(FilteredScans, OnlyRowsThatPassInOrder) {
  for (const LateColumns late : {LateColumns::kAdaptive, LateColumns::kNever, LateColumns::kAlways}) {
    const ScannerOptions options{.filter = "id % 7 = 3 or id > 26", .late_columns = late};
    EXPECT_EQ(Rows(*dataset_, options),
              Where(MakeRows(0, 30), [](const TestRow& row) { return row.id % 7 == 3 || row.id > 26; }));
    // A null is not true, and neither is its negation.
    const ScannerOptions negated{.filter = "not (s = 's1')", .late_columns = late};
    EXPECT_EQ(Rows(*dataset_, negated),
              Where(MakeRows(0, 30), [](const TestRow& row) { return row.s.has_value() && *row.s != "s1"; }));
  }
}

TEST_F(FilteredScans, OffsetAndLimitCountRowsThatPass) {
  for (const LateColumns late : {LateColumns::kAdaptive, LateColumns::kNever, LateColumns::kAlways}) {
    const auto ids = [&](uint64_t offset, std::optional<uint64_t> limit, uint64_t batch) {
      ScannerOptions options{.limit = limit, .offset = offset, .batch_rows = batch};
      options.filter = "id % 3 = 0";
      options.late_columns = late;
      return Ids(*ScanAll(*dataset_, options));
    };
    for (const uint64_t batch : {1, 2, 8192}) {
      EXPECT_THAT(ids(2, 3, batch), ElementsAre(6, 9, 12));
      EXPECT_THAT(ids(8, 100, batch), ElementsAre(24, 27));
      EXPECT_THAT(ids(9, std::nullopt, batch), ElementsAre(27));
      EXPECT_THAT(ids(10, std::nullopt, batch), IsEmpty());
      EXPECT_THAT(ids(0, 0, batch), IsEmpty());
    }
  }
}

TEST_F(FilteredScans, BatchesHaveAtMostSoManyRows) {
  ScannerOptions options{.batch_rows = 4};
  options.filter = "id < 10 or id >= 15";
  ASSERT_OK_AND_ASSIGN(const auto reader, Scan(*dataset_, options));
  std::vector<int64_t> sizes;
  while (true) {
    BatchPtr batch;
    ASSERT_OK(reader->ReadNext(&batch));
    if (batch == nullptr) break;
    sizes.push_back(batch->num_rows());
  }
  EXPECT_THAT(sizes, testing::Each(testing::AllOf(testing::Ge(1), testing::Le(4))));
  EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), int64_t{0}), 25);
}

TEST_F(FilteredScans, WhatIsWrongIsSaidBeforeAnythingIsRead) {
  const auto error = [&](ScannerOptions options) { return Scan(*dataset_, options).status(); };
  ExpectError(error({.filter = "idd > 1"}), ErrorKind::kInvalidInput, "did you mean `id`");
  ExpectError(error({.filter = "id"}), ErrorKind::kInvalidInput, "condition");
  ExpectError(error({.filter = ""}), ErrorKind::kInvalidInput, "");
  ExpectError(error({.filter = "median(id) > 1"}), ErrorKind::kNotSupported, "median");
  ExpectError(error({.columns = {{"ids"}}, .filter = "id > 1"}), ErrorKind::kInvalidInput, "did you mean 'id'");
  ExpectError(error({.columns = {{"id.x"}}}), ErrorKind::kInvalidInput, "no fields");
  ExpectError(error({.columns = {{"`id"}}}), ErrorKind::kInvalidInput, "back-tick");
  ExpectError(error({.computed = {{{"a", "id + 1"}, {"a", "id"}}}}), ErrorKind::kInvalidInput, "twice");
  ExpectError(error({.computed = {{{"a", "ids + 1"}}}}), ErrorKind::kInvalidInput, "column 'a'");
  ExpectError(error({.columns = {{"id"}}, .computed = {{{"a", "id"}}}}), ErrorKind::kInvalidInput, "either");
  ExpectError(error({.fragments = {{FragmentId(0), FragmentId(0)}}}), ErrorKind::kInvalidInput, "twice");
  ExpectError(error({.fragments = {{FragmentId(7)}}}), ErrorKind::kInvalidInput, "7");
  ExpectError(Count(*dataset_, "idd > 1").status(), ErrorKind::kInvalidInput, "did you mean `id`");
  EXPECT_EQ(world_.counting().counts().total(), 0u);
}

TEST_F(FilteredScans, ConstantConditionsReadNothingMoreThanTheyMust) {
  EXPECT_EQ(Rows(*dataset_, {.filter = "1 = 1"}), MakeRows(0, 30));
  world_.counting().Reset();
  EXPECT_THAT(Rows(*dataset_, {.filter = "1 = 2"}), IsEmpty());
  ASSERT_OK_AND_ASSIGN(const uint64_t all, Count(*dataset_, "true"));
  ASSERT_OK_AND_ASSIGN(const uint64_t none, Count(*dataset_, "false"));
  EXPECT_EQ(all, 30u);
  EXPECT_EQ(none, 0u);
  EXPECT_EQ(world_.counting().counts().total(), 0u);
}

TEST_F(FilteredScans, AddressesAreNamesAndNeedNoFile) {
  ASSERT_OK_AND_ASSIGN(dataset_, world_.Delete(FragmentId(1), {0, 4}, table::DeletionFileType::kArrowArray));
  world_.counting().Reset();
  const uint64_t first = RowAddress(FragmentId(1), 0).packed();
  const std::string second_fragment = fmt::format("_rowaddr >= {} and _rowaddr < {}", first, first + 10);
  ASSERT_OK_AND_ASSIGN(const uint64_t count, Count(*dataset_, second_fragment));
  EXPECT_EQ(count, 8u);
  EXPECT_EQ(world_.counting().counts().get, 1u);  // the deletion file
  const BatchPtr rows = ScanAll(*dataset_, {.columns = {{"id"}}, .filter = second_fragment, .with_row_id = true});
  EXPECT_THAT(Ids(*rows), ElementsAre(11, 12, 13, 15, 16, 17, 18, 19));
  EXPECT_THAT(rows->schema()->field_names(), ElementsAre("id", "_rowid"));
  EXPECT_THAT(Ids(*ScanAll(*dataset_, {.columns = {{"id"}}, .filter = fmt::format("_rowid = {}", first + 1)})),
              ElementsAre(11));
}

TEST_F(FilteredScans, FragmentsInTheOrderAsked) {
  const ScannerOptions options{
      .columns = {{"id"}}, .filter = "id % 5 = 0", .fragments = {{FragmentId(2), FragmentId(0)}}};
  EXPECT_THAT(Ids(*ScanAll(*dataset_, options)), ElementsAre(20, 25, 0, 5));
  const ScannerOptions all{.limit = 12, .offset = 9, .fragments = {{FragmentId(2), FragmentId(0)}}};
  EXPECT_THAT(Ids(*ScanAll(*dataset_, all)), ElementsAre(29, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST_F(FilteredScans, ComputedColumns) {
  const ScannerOptions options{.computed = {{{"twice", "id * 2"}, {"u", "upper(s)"}, {"five", "5"}, {"id", "id"}}},
                               .filter = "id > 4",
                               .limit = 2,
                               .with_row_address = true};
  const BatchPtr rows = ScanAll(*dataset_, options);
  EXPECT_EQ(rows->schema()->ToString(),
            "twice: int64\nu: string\nfive: int64 not null\nid: int64 not null\n_rowaddr: uint64");
  EXPECT_EQ(rows->GetColumnByName("twice")->ToString(), "[\n  10,\n  12\n]");
  EXPECT_EQ(rows->GetColumnByName("u")->ToString(), "[\n  \"S5\",\n  \"S6\"\n]");
  // Without a condition too, and where no column is read at all.
  const BatchPtr constant = ScanAll(*dataset_, {.computed = {{{"x", "1"}}}});
  EXPECT_EQ(constant->num_rows(), 30);
}

TEST_F(FilteredScans, AFailureOfAValueStays) {
  ASSERT_OK_AND_ASSIGN(const auto reader, Scan(*dataset_, {.columns = {{"id"}}, .filter = "10 / (id - 15) > 1000"}));
  BatchPtr batch;
  ExpectError(reader->ReadNext(&batch), ErrorKind::kInvalidInput, "zero");
  ExpectError(reader->ReadNext(&batch), ErrorKind::kInvalidInput, "zero");
}

TEST_F(FilteredScans, FoundRowsAreAddresses) {
  const auto table = internal::DatasetState::Of(*dataset_);
  ASSERT_OK_AND_ASSIGN(const auto filter, internal::ParseCondition(*table, "id in (3, 4, 5, 29)"));
  ASSERT_OK_AND_ASSIGN(const auto rows, internal::FindRows(table, filter));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows.at(FragmentId(0)), table::OffsetSet::FromUnsorted({3, 4, 5}));
  EXPECT_EQ(rows.at(FragmentId(2)), table::OffsetSet::FromUnsorted({9}));
  ASSERT_OK_AND_ASSIGN(const uint64_t count, internal::CountRows(table, internal::AllFragments(*table), filter));
  EXPECT_EQ(count, 4u);
}

TEST(FoundRows, TakeMemoryForRunsOfNeighbours) {
  MemoryBudget budget(64 << 10);
  {
    internal::FoundRows rows(budget);
    for (uint32_t offset = 0; offset < 1'000'000; ++offset) ASSERT_OK(rows.Add(RowAddress(FragmentId(1), offset)));
    EXPECT_LT(budget.used(), 32 << 10);
    EXPECT_EQ(rows.Take().at(FragmentId(1)).size(), 1'000'000u);
  }
  EXPECT_EQ(budget.used(), 0);
  internal::FoundRows rows(budget);
  arrow::Status status;
  for (uint32_t offset = 0; offset < 100'000 && status.ok(); offset += 2)
    status = rows.Add(RowAddress(FragmentId(1), offset));
  ExpectError(status, ErrorKind::kOutOfMemory, "the rows of a condition");
}

class StructScans : public testing::TestWithParam<file::FileVersion> {
 protected:
  void SetUp() override {
    const auto inner = arrow::struct_({arrow::field("a", arrow::int64()), arrow::field("b", arrow::utf8())});
    const auto type = arrow::struct_({arrow::field("x", arrow::int64()), arrow::field("in", inner)});
    ASSERT_OK_AND_ASSIGN(const auto values,
                         arrow::json::ArrayFromJSONString(type, GetParam() >= file::FileVersion{2, 1} ? R"([
            {"x": 0, "in": {"a": 10, "b": "p"}}, null, {"x": 2, "in": null}, {"x": 3, "in": {"a": null, "b": "q"}}])"
                                                                                                      : R"([
            {"x": 0, "in": {"a": 10, "b": "p"}}, {"x": null, "in": {"a": 1, "b": null}},
            {"x": 2, "in": {"a": 2, "b": "r"}}, {"x": 3, "in": {"a": null, "b": "q"}}])"));
    ASSERT_OK_AND_ASSIGN(const auto ids, arrow::json::ArrayFromJSONString(arrow::int64(), "[0, 1, 2, 3]"));
    rows_ = arrow::RecordBatch::Make(arrow::schema({arrow::field("id", arrow::int64()), arrow::field("st", type)}), 4,
                                     {ids, values});
    ASSERT_OK_AND_ASSIGN(dataset_,
                         world_.WriteBatches({rows_}, WriteMode::kCreate, {.data_storage_version = GetParam()}));
  }

  DatasetWorld world_;
  BatchPtr rows_;
  std::shared_ptr<Dataset> dataset_;
};
INSTANTIATE_TEST_SUITE_P(Versions, StructScans,
                         testing::Values(file::FileVersion{2, 0}, file::FileVersion{2, 1}, file::FileVersion{2, 2}),
                         [](const auto& info) { return fmt::format("V2_{}", info.param.minor); });

TEST_P(StructScans, FieldsOfStructsAreColumns) {
  const auto structs = std::static_pointer_cast<arrow::StructArray>(rows_->column(1));
  ASSERT_OK_AND_ASSIGN(const auto x, structs->GetFlattenedField(0));
  ASSERT_OK_AND_ASSIGN(const auto in, structs->GetFlattenedField(1));
  ASSERT_OK_AND_ASSIGN(const auto b, std::static_pointer_cast<arrow::StructArray>(in)->GetFlattenedField(1));
  const BatchPtr rows = ScanAll(*dataset_, {.columns = {{"st.in.b", "id", "st.x", "`st`.in"}}});
  EXPECT_THAT(rows->schema()->field_names(), ElementsAre("st.in.b", "id", "st.x", "`st`.in"));
  EXPECT_TRUE(rows->column(0)->Equals(*b)) << rows->column(0)->ToString();
  EXPECT_TRUE(rows->column(2)->Equals(*x));
  EXPECT_TRUE(rows->column(3)->Equals(*in)) << rows->column(3)->ToString();
  for (const LateColumns late : {LateColumns::kNever, LateColumns::kAlways}) {
    // The condition reads one field, the result another of the same struct.
    const BatchPtr found =
        ScanAll(*dataset_, {.columns = {{"st.in.b", "st.x", "id"}}, .filter = "st.x = 3", .late_columns = late});
    ASSERT_EQ(found->num_rows(), 1);
    EXPECT_TRUE(found->column(0)->Equals(*b->Slice(3)));
    EXPECT_TRUE(found->column(1)->Equals(*x->Slice(3)));
    const BatchPtr whole = ScanAll(*dataset_, {.filter = "st.x = 3", .late_columns = late});
    EXPECT_TRUE(whole->Equals(*rows_->Slice(3))) << whole->ToString();
    const BatchPtr nulls = ScanAll(*dataset_, {.columns = {{"id"}}, .filter = "st.in.a is null", .late_columns = late});
    EXPECT_EQ(Ids(*nulls).back(), 3);
  }
  ExpectError(Scan(*dataset_, {.columns = {{"st.y"}}}).status(), ErrorKind::kInvalidInput, "no field `y`");
}

// Wide rows, of which few pass.
class WideScans : public testing::Test {
 protected:
  static constexpr int64_t kRows = 4000;
  static constexpr int32_t kWidth = 1000;

  void SetUp() override {
    arrow::Int64Builder ids;
    arrow::FixedSizeBinaryBuilder values(arrow::fixed_size_binary(kWidth));
    std::mt19937_64 random(7);
    std::string value(kWidth, '\0');
    for (int64_t i = 0; i < kRows; ++i) {
      ASSERT_OK(ids.Append(i));
      for (char& byte : value) byte = static_cast<char>(random());
      ASSERT_OK(values.Append(value));
    }
    ASSERT_OK_AND_ASSIGN(const auto id, ids.Finish());
    ASSERT_OK_AND_ASSIGN(const auto wide, values.Finish());
    rows_ = arrow::RecordBatch::Make(
        arrow::schema({arrow::field("id", arrow::int64()), arrow::field("wide", wide->type())}), kRows, {id, wide});
    ASSERT_OK_AND_ASSIGN(dataset_, world_.WriteBatches({rows_}, WriteMode::kCreate));
  }
  uint64_t BytesOf(const ScannerOptions& options, int64_t rows) {
    // A session of its own, which keeps nothing of what others read.
    const auto session = std::make_shared<Session>(MakeResources(MakeThreadRuntime()));
    const auto dataset = Dataset::OpenAt(session, world_.location()).ValueOrDie();
    world_.counting().Reset();
    EXPECT_EQ(ScanAll(*dataset, options)->num_rows(), rows);
    return world_.counting().counts().bytes_read;
  }

  DatasetWorld world_;
  BatchPtr rows_;
  std::shared_ptr<Dataset> dataset_;
};

TEST_F(WideScans, ColumnsOfTheResultAreReadOfRowsThatPass) {
  const uint64_t all = BytesOf({}, kRows);
  EXPECT_GE(all, static_cast<uint64_t>(kRows) * kWidth * 9 / 10);
  EXPECT_LT(BytesOf({.filter = "id = 1234"}, 1), all / 20);
  EXPECT_GE(BytesOf({.filter = "id = 1234", .late_columns = LateColumns::kNever}, 1), all * 9 / 10);
  // Only what the result and the condition need.
  EXPECT_LT(BytesOf({.columns = {{"id"}}, .filter = "id > 10"}, kRows - 11), all / 20);
  const auto session = std::make_shared<Session>(MakeResources(MakeThreadRuntime()));
  ASSERT_OK_AND_ASSIGN(const auto dataset, Dataset::OpenAt(session, world_.location()));
  world_.counting().Reset();
  ASSERT_OK_AND_ASSIGN(const uint64_t count, Count(*dataset, "id > 10"));
  EXPECT_EQ(count, static_cast<uint64_t>(kRows - 11));
  EXPECT_LT(world_.counting().counts().bytes_read, all / 20);
}

TEST_F(WideScans, SmallMemoryMakesSmallerPieces) {
  const auto session = std::make_shared<Session>(MakeResources(MakeThreadRuntime(), 1 << 20));
  ASSERT_OK_AND_ASSIGN(const auto dataset, Dataset::OpenAt(session, world_.location()));
  ASSERT_OK_AND_ASSIGN(const auto reader, Scan(*dataset, {.filter = "id >= 0", .late_columns = LateColumns::kAlways}));
  int64_t rows = 0;
  while (true) {
    BatchPtr batch;
    ASSERT_OK(reader->ReadNext(&batch));
    if (batch == nullptr) break;
    EXPECT_TRUE(batch->Equals(*rows_->Slice(rows, batch->num_rows())));
    rows += batch->num_rows();
  }
  EXPECT_EQ(rows, kRows);
}

// Random tables, conditions and options against a model that looks at each row.
TEST(FilteredScanModel, RandomScans) {
  std::mt19937_64 random(1);
  const auto draw = [&](uint64_t bound) { return random() % bound; };
  for (int round = 0; round < 30; ++round) {
    DatasetWorld world;
    const auto count = static_cast<int64_t>(1 + draw(200));
    std::vector<TestRow> rows = MakeRows(0, count);
    ASSERT_OK_AND_ASSIGN(auto dataset, world.Write(rows, WriteMode::kCreate, {.max_rows_per_file = 1 + draw(60)}));
    if (draw(2) == 0) {
      std::vector<uint32_t> gone;
      const table::Fragment& fragment = dataset->manifest().fragments[0];
      for (uint32_t offset = 0; offset < fragment.physical_rows; ++offset) {
        if (draw(3) == 0) gone.push_back(offset);
      }
      if (!gone.empty() && gone.size() < fragment.physical_rows) {
        ASSERT_OK_AND_ASSIGN(dataset, world.Delete(fragment.id, gone, table::DeletionFileType::kBitmap));
        const std::set<int64_t> ids(gone.begin(), gone.end());
        std::erase_if(rows, [&](const TestRow& row) { return ids.contains(row.id); });
      }
    }
    for (int scan = 0; scan < 20; ++scan) {
      const auto modulus = static_cast<int64_t>(1 + draw(20)), least = static_cast<int64_t>(draw(200));
      ScannerOptions options{.limit = draw(2) == 0 ? std::nullopt : std::optional(draw(100)),
                             .offset = draw(2) == 0 ? 0 : draw(50),
                             .batch_rows = 1 + draw(50),
                             .batch_bytes = draw(2) == 0 ? 16u << 20 : 1 + draw(2000)};
      options.filter = fmt::format("id % {} = 0 and (s is null or id >= {})", modulus, least);
      options.late_columns = std::vector{LateColumns::kAdaptive, LateColumns::kNever, LateColumns::kAlways}[draw(3)];
      std::vector<TestRow> expected = Where(
          rows, [&](const TestRow& row) { return row.id % modulus == 0 && (!row.s.has_value() || row.id >= least); });
      ASSERT_OK_AND_ASSIGN(const uint64_t passing, Count(*dataset, *options.filter));
      EXPECT_EQ(passing, expected.size());
      expected.erase(expected.begin(),
                     expected.begin() + static_cast<int64_t>(std::min(options.offset, expected.size())));
      if (options.limit && *options.limit < expected.size()) expected.resize(*options.limit);
      ASSERT_EQ(Rows(*dataset, options), expected) << *options.filter;
    }
  }
}

// More rows than the first run has, so that the way of reading changes on the way.
TEST(FilteredScanRuns, ManyRowsPassThenFew) {
  DatasetWorld world;
  constexpr int64_t kRows = 300'000;
  ASSERT_OK_AND_ASSIGN(const auto dataset,
                       world.Write(MakeRows(0, kRows), WriteMode::kCreate, {.max_rows_per_file = 70'000}));
  ScannerOptions options;
  options.filter = "id < 150000 or id % 10000 = 1";
  EXPECT_EQ(Rows(*dataset, options),
            Where(MakeRows(0, kRows), [](const TestRow& row) { return row.id < 150000 || row.id % 10000 == 1; }));
  options.filter = "id % 10000 = 1 or id > 250000";
  options.offset = 3;
  options.limit = 40'000;
  std::vector<TestRow> expected =
      Where(MakeRows(0, kRows), [](const TestRow& row) { return row.id > 250000 || row.id % 10000 == 1; });
  expected.erase(expected.begin(), expected.begin() + 3);
  expected.resize(40'000);
  EXPECT_EQ(Rows(*dataset, options), expected);
}

}  // namespace
}  // namespace javelin
