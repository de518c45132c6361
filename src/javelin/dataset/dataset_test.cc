// Opening, writing and versions.
#include "javelin/dataset/dataset.h"

#include <random>

#include "javelin/dataset/dataset_world_internal.h"
#include "javelin/table/feature_flags.h"
#include "javelin/table/transaction.h"
#include "javelin/table/versions.h"

namespace javelin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::SizeIs;

class Datasets : public testing::TestWithParam<StoreKind> {
 protected:
  DatasetWorld world_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Stores, Datasets, testing::Values(StoreKind::kMemory, StoreKind::kLocal),
                         [](const auto& info) { return info.param == StoreKind::kMemory ? "Memory" : "Local"; });

TEST_P(Datasets, CreateAndReadBack) {
  const auto rows = MakeRows(0, 100);
  ASSERT_OK_AND_ASSIGN(const auto created, world_.Write(rows, WriteMode::kCreate));
  EXPECT_EQ(created->version(), TableVersion(1));
  EXPECT_EQ(created->uri(), "test://t");
  EXPECT_TRUE(created->arrow_schema()->Equals(*TestSchema()));
  ASSERT_OK_AND_ASSIGN(const auto opened, world_.Open());
  EXPECT_EQ(world_.Rows(*opened), rows);
  EXPECT_EQ(world_.Rows(*created), rows);
  ASSERT_OK_AND_ASSIGN(const uint64_t count, opened->CountRows());
  EXPECT_EQ(count, 100u);
}

TEST_P(Datasets, TheManifestOfACreate) {
  ASSERT_OK_AND_ASSIGN(const auto dataset, world_.Write(MakeRows(0, 10), WriteMode::kCreate));
  const table::Manifest& manifest = dataset->manifest();
  ASSERT_THAT(manifest.fragments, SizeIs(1));
  const table::Fragment& fragment = manifest.fragments[0];
  EXPECT_EQ(fragment.physical_rows, 10u);
  ASSERT_THAT(fragment.files, SizeIs(1));
  EXPECT_THAT(fragment.files[0].path, MatchesRegex("[01]{24}[0-9a-f]{26}\\.lance"));
  EXPECT_THAT(fragment.files[0].fields, ElementsAre(0, 1));
  EXPECT_THAT(fragment.files[0].column_indices, ElementsAre(0, 1));
  EXPECT_EQ(fragment.files[0].version, (file::FileVersion{2, 2}));
  ASSERT_OK_AND_ASSIGN(const ObjectInfo info, world_.inner().Head("t/data/" + fragment.files[0].path));
  EXPECT_EQ(fragment.files[0].size_bytes, info.size);
  EXPECT_EQ(manifest.data_format_version, "2.2");
  EXPECT_EQ(manifest.reader_feature_flags, 0u);
  EXPECT_EQ(manifest.writer_feature_flags, 0u);
}

TEST_P(Datasets, CreateOnAnExistingTableWritesNothing) {
  ASSERT_OK(world_.Write(MakeRows(0, 1), WriteMode::kCreate).status());
  world_.counting().Reset();
  ExpectError(world_.Write(MakeRows(0, 1), WriteMode::kCreate).status(), ErrorKind::kAlreadyExists, "test://t");
  EXPECT_THAT(world_.counting().LogText(), ElementsAre("list t/_versions/"));
}

TEST_P(Datasets, AppendAndOverwriteNeedOrMakeTheTable) {
  ExpectError(world_.Write(MakeRows(0, 1), WriteMode::kAppend).status(), ErrorKind::kNotFound, "test://t");
  ASSERT_OK_AND_ASSIGN(const auto made, world_.Write(MakeRows(0, 3), WriteMode::kOverwrite));
  EXPECT_EQ(made->version(), TableVersion(1));
}

TEST_P(Datasets, AppendThenOverwrite) {
  ASSERT_OK(world_.Write(MakeRows(0, 10), WriteMode::kCreate).status());
  ASSERT_OK_AND_ASSIGN(const auto appended, world_.Write(MakeRows(10, 5), WriteMode::kAppend));
  EXPECT_EQ(world_.Rows(*appended), MakeRows(0, 15));
  const auto other = arrow::schema({arrow::field("x", arrow::float64())});
  const auto batch = arrow::RecordBatch::Make(other, 2, {arrow::MakeArrayOfNull(arrow::float64(), 2).ValueOrDie()});
  ASSERT_OK_AND_ASSIGN(const auto replaced, world_.WriteBatches({batch}, WriteMode::kOverwrite));
  EXPECT_EQ(replaced->version(), TableVersion(3));
  EXPECT_TRUE(replaced->arrow_schema()->Equals(*other));
  EXPECT_EQ(replaced->schema().fields()[0].id, FieldId(0));  // ids start again
  EXPECT_EQ(replaced->manifest().fragments[0].id, FragmentId(2));
  EXPECT_EQ(world_.Rows(*appended), MakeRows(0, 15));  // the old version still reads
}

TEST_P(Datasets, EmptyInput) {
  ASSERT_OK_AND_ASSIGN(const auto created, world_.Write({}, WriteMode::kCreate));
  EXPECT_THAT(created->manifest().fragments, IsEmpty());
  EXPECT_EQ(created->manifest().max_fragment_id, std::nullopt);
  EXPECT_EQ(world_.Rows(*created), std::vector<TestRow>{});
  ASSERT_OK_AND_ASSIGN(const auto appended, world_.Write({}, WriteMode::kAppend));
  EXPECT_EQ(appended->version(), TableVersion(2));
  ASSERT_OK_AND_ASSIGN(const auto filled, world_.Write(MakeRows(0, 2), WriteMode::kAppend));
  EXPECT_EQ(filled->manifest().fragments[0].id, FragmentId(0));
  EXPECT_EQ(world_.Rows(*filled), MakeRows(0, 2));
}

TEST_P(Datasets, VersionsAndCheckout) {
  ASSERT_OK_AND_ASSIGN(const auto first, world_.Write(MakeRows(0, 2), WriteMode::kCreate));
  ASSERT_OK(world_.Write(MakeRows(2, 2), WriteMode::kAppend).status());
  ASSERT_OK(world_.Write(MakeRows(4, 2), WriteMode::kAppend).status());
  ASSERT_OK_AND_ASSIGN(const auto versions, first->Versions());
  ASSERT_THAT(versions, SizeIs(3));
  for (size_t i = 0; i < versions.size(); ++i) EXPECT_EQ(versions[i].version, TableVersion(i + 1));
  EXPECT_LE(versions[0].timestamp_ns, versions[2].timestamp_ns);
  for (size_t i = 0; i < versions.size(); ++i) {
    const table::ManifestSummary& summary = versions[i].summary;
    EXPECT_EQ(summary.fragments, i + 1);
    EXPECT_EQ(summary.data_files, i + 1);
    EXPECT_EQ(summary.data_file_rows, 2 * (i + 1));
    EXPECT_EQ(summary.rows, 2 * (i + 1));
    EXPECT_GT(summary.data_file_bytes, 100 * (i + 1));
    EXPECT_EQ(summary.deletion_files + summary.deleted_rows, 0u);
  }
  ASSERT_OK_AND_ASSIGN(const auto second, first->Checkout(TableVersion(2)));
  EXPECT_EQ(world_.Rows(*second), MakeRows(0, 4));
  ASSERT_OK_AND_ASSIGN(const auto latest, first->CheckoutLatest());
  EXPECT_EQ(latest->version(), TableVersion(3));
  ASSERT_OK_AND_ASSIGN(const auto by_number,
                       Dataset::OpenAt(world_.session(), world_.location(), {.version = TableVersion(1)}));
  EXPECT_EQ(world_.Rows(*by_number), MakeRows(0, 2));
  ExpectError(first->Checkout(TableVersion(9)).status(), ErrorKind::kNotFound, "no version 9");
}

TEST_P(Datasets, AVersionThatWasAskedForByNumberIsPinned) {
  ASSERT_OK_AND_ASSIGN(const auto first, world_.Write(MakeRows(0, 2), WriteMode::kCreate));
  EXPECT_FALSE(first->is_pinned());
  ASSERT_OK_AND_ASSIGN(const auto opened, world_.Open());
  EXPECT_FALSE(opened->is_pinned());
  ASSERT_OK(world_.Write(MakeRows(2, 2), WriteMode::kAppend).status());
  EXPECT_FALSE(opened->is_pinned()) << "it was the newest when it was opened";
  ASSERT_OK_AND_ASSIGN(const auto by_number,
                       Dataset::OpenAt(world_.session(), world_.location(), {.version = TableVersion(2)}));
  EXPECT_TRUE(by_number->is_pinned());
  ASSERT_OK_AND_ASSIGN(const auto checked_out, opened->Checkout(TableVersion(1)));
  EXPECT_TRUE(checked_out->is_pinned());
  EXPECT_FALSE(checked_out->At(checked_out->loaded())->is_pinned());
  ASSERT_OK_AND_ASSIGN(const auto latest, checked_out->CheckoutLatest());
  EXPECT_FALSE(latest->is_pinned());
  ASSERT_OK_AND_ASSIGN(const auto written, by_number->Append(*ReaderOf({ToBatch(MakeRows(4, 1))})));
  EXPECT_FALSE(written->is_pinned()) << "its own version is the newest";
}

TEST_P(Datasets, NotFoundNamesTheTable) {
  ExpectError(world_.Open().status(), ErrorKind::kNotFound, "there is no table at 'test://t'");
}

TEST_P(Datasets, V1NamesWhenAskedFor) {
  ASSERT_OK(world_.Write(MakeRows(0, 1), WriteMode::kCreate, {.enable_v2_manifest_paths = false}).status());
  ASSERT_OK(world_.Write(MakeRows(1, 1), WriteMode::kAppend).status());
  ASSERT_OK(world_.inner().Head("t/_versions/2.manifest").status());
  ASSERT_OK_AND_ASSIGN(const auto latest, world_.Open());
  EXPECT_EQ(world_.Rows(*latest), MakeRows(0, 2));
}

TEST_P(Datasets, ExactRequests) {
  const std::vector<std::string> hint = GetParam() == StoreKind::kLocal
                                            ? std::vector<std::string>{"put t/_versions/latest_version_hint.json"}
                                            : std::vector<std::string>{};
  auto take_log = [&](std::vector<std::string> expected, const Dataset& made) {
    expected.push_back("put t/data/" + made.manifest().fragments.back().files[0].path);
    expected.push_back("list t/_versions/");
    expected.push_back("put t/_transactions/" + made.manifest().transaction_file);
    expected.push_back("put_if_absent " +
                       table::ManifestKey(world_.location(), {made.version(), table::NamingScheme::kV2}));
    expected.insert(expected.end(), hint.begin(), hint.end());
    EXPECT_EQ(world_.counting().LogText(), expected);
    world_.counting().Reset();
  };
  const std::string first_manifest =
      "get " + table::ManifestKey(world_.location(), {TableVersion(1), table::NamingScheme::kV2});
  ASSERT_OK_AND_ASSIGN(const auto created, world_.Write(MakeRows(0, 10), WriteMode::kCreate));
  take_log({"list t/_versions/"}, *created);
  ASSERT_OK_AND_ASSIGN(const auto opened, world_.Open());
  EXPECT_THAT(world_.counting().LogText(), ElementsAre("list t/_versions/", first_manifest));
  world_.counting().Reset();
  // Through an open handle.
  ASSERT_OK_AND_ASSIGN(const auto appended, opened->Append(*ReaderOf({ToBatch(MakeRows(10, 1))})));
  take_log({}, *appended);
  // By name.
  ASSERT_OK_AND_ASSIGN(const auto again, world_.Write(MakeRows(11, 1), WriteMode::kAppend));
  take_log({"list t/_versions/",
            "get " + table::ManifestKey(world_.location(), {TableVersion(2), table::NamingScheme::kV2})},
           *again);
  // Counting asks nobody; a scan reads each small file once.
  ASSERT_OK_AND_ASSIGN(const uint64_t count, again->CountRows());
  EXPECT_EQ(count, 12u);
  EXPECT_EQ(world_.counting().counts().total(), 0u);
  EXPECT_EQ(world_.Rows(*again), MakeRows(0, 12));
  EXPECT_EQ(world_.counting().counts().get, 3u);
  EXPECT_EQ(world_.counting().counts().total(), 3u);
}

TEST_P(Datasets, WritesThroughAnOldHandleMeetWhatWasCommittedSince) {
  ASSERT_OK_AND_ASSIGN(const auto old, world_.Write(MakeRows(0, 3), WriteMode::kCreate));
  ASSERT_OK(old->Append(*ReaderOf({ToBatch(MakeRows(3, 1))})).status());
  ASSERT_OK_AND_ASSIGN(const auto appended, old->Append(*ReaderOf({ToBatch(MakeRows(4, 1))})));
  EXPECT_EQ(world_.Rows(*appended), MakeRows(0, 5));
  ASSERT_OK_AND_ASSIGN(const auto overwritten, old->Overwrite(*ReaderOf({ToBatch(MakeRows(9, 1))})));
  EXPECT_EQ(overwritten->version(), TableVersion(4));
  EXPECT_EQ(world_.Rows(*overwritten), MakeRows(9, 1));
  ExpectError(old->Append(*ReaderOf({ToBatch(MakeRows(5, 1))})).status(), ErrorKind::kIncompatibleConflict,
              "Overwrite");
  ExpectError(old->Overwrite(*ReaderOf({ToBatch(MakeRows(5, 1))})).status(), ErrorKind::kRetryableConflict,
              "Overwrite");
  ASSERT_OK_AND_ASSIGN(const auto latest, old->CheckoutLatest());
  EXPECT_EQ(latest->version(), TableVersion(4));
}

// ---- what an append accepts ----

BatchPtr OneColumn(const std::string& name, const std::shared_ptr<arrow::Array>& column, bool nullable = true) {
  return arrow::RecordBatch::Make(arrow::schema({arrow::field(name, column->type(), nullable)}), column->length(),
                                  {column});
}

TEST_P(Datasets, ColumnsMayComeInAnyOrderAndNullableOnesMayBeMissing) {
  ASSERT_OK(world_.Write(MakeRows(0, 3), WriteMode::kCreate).status());
  const BatchPtr rows = ToBatch(MakeRows(3, 3));
  const auto swapped = arrow::RecordBatch::Make(arrow::schema({rows->schema()->field(1), rows->schema()->field(0)}), 3,
                                                {rows->column(1), rows->column(0)});
  ASSERT_OK_AND_ASSIGN(const auto first, world_.WriteBatches({swapped}, WriteMode::kAppend));
  EXPECT_EQ(world_.Rows(*first), MakeRows(0, 6));
  ASSERT_OK_AND_ASSIGN(const auto second,
                       world_.WriteBatches({OneColumn("id", rows->column(0), false)}, WriteMode::kAppend));
  EXPECT_THAT(second->manifest().fragments[2].files[0].fields, ElementsAre(0));
  EXPECT_EQ(world_.Rows(*second), Both(MakeRows(0, 6), {{3, {}}, {4, {}}, {5, {}}}));
}

TEST_P(Datasets, AppendsThatDoNotFitAreRefusedBeforeAnyWrite) {
  ASSERT_OK_AND_ASSIGN(const auto dataset, world_.Write(MakeRows(0, 3), WriteMode::kCreate));
  const BatchPtr rows = ToBatch(MakeRows(3, 3));
  auto refuse = [&](const std::vector<std::shared_ptr<arrow::Field>>& fields, arrow::ArrayVector columns,
                    const std::string& part) {
    world_.counting().Reset();
    const auto batch = arrow::RecordBatch::Make(arrow::schema(fields), 3, std::move(columns));
    ExpectError(dataset->Append(*ReaderOf({batch})).status(), ErrorKind::kInvalidInput, part);
    EXPECT_EQ(world_.counting().counts().total(), 0u);
  };
  const auto id = arrow::field("id", arrow::int64(), false), s = arrow::field("s", arrow::utf8());
  refuse({id, s, arrow::field("extra", arrow::int64())}, {rows->column(0), rows->column(1), rows->column(0)},
         "'extra' is not in the table");
  refuse({s}, {rows->column(1)}, "'id' is missing");
  refuse({id, arrow::field("s", arrow::int64())}, {rows->column(0), rows->column(0)},
         "'s' has type int64, the table has string");
  refuse({id, id}, {rows->column(0), rows->column(0)}, "id");
}

TEST_P(Datasets, NullsWhereTheTableForbidsThemAreRefusedAndLeaveNoFile) {
  ASSERT_OK_AND_ASSIGN(const auto dataset, world_.Write(MakeRows(0, 3), WriteMode::kCreate));
  arrow::Int64Builder builder;
  ASSERT_OK(builder.Append(7));
  ASSERT_OK(builder.AppendNull());
  const BatchPtr good = OneColumn("id", arrow::MakeArrayFromScalar(arrow::Int64Scalar(1), 2).ValueOrDie());
  const BatchPtr bad = OneColumn("id", builder.Finish().ValueOrDie());
  const auto reader = ReaderOf({good, bad});
  ExpectError(dataset->Append(*reader, {.max_rows_per_file = 2}).status(), ErrorKind::kInvalidInput,
              "'id' has a null, which the table forbids; give every row a value");
  ASSERT_OK_AND_ASSIGN(const ListPage files, ListAll(world_.inner(), {.prefix = "t/data/"}));
  EXPECT_THAT(files.objects, SizeIs(1));
  // Without nulls, a nullable column fits a column that must not be null.
  ASSERT_OK(dataset->Append(*ReaderOf({good})).status());
}

TEST_P(Datasets, AColumnThatCannotBeWrittenLeavesNothing) {
  const auto point = arrow::field("p", arrow::list(arrow::struct_({})));
  const auto batch =
      arrow::RecordBatch::Make(arrow::schema({point}), 2, {arrow::MakeArrayOfNull(point->type(), 2).ValueOrDie()});
  ExpectError(world_.WriteBatches({batch}, WriteMode::kCreate).status(), ErrorKind::kNotSupported, "'p'");
  ExpectError(world_.WriteBatches({batch->Slice(0, 0)}, WriteMode::kCreate).status(), ErrorKind::kNotSupported, "'p'");
  ASSERT_OK_AND_ASSIGN(const ListPage all, ListAll(world_.inner(), {.prefix = "t/"}));
  EXPECT_THAT(all.objects, IsEmpty());
}

TEST_P(Datasets, AListIsNotMadeWithTheMetadataOfPackedStructs) {
  const auto list = arrow::field("l", arrow::list(arrow::int8()), true,
                                 arrow::key_value_metadata({{"lance-encoding:packed", "true"}}));
  const auto batch = OneColumn("l", arrow::MakeArrayOfNull(list->type(), 2).ValueOrDie());
  const auto declared = batch->ReplaceSchema(arrow::schema({list})).ValueOrDie();
  ExpectError(world_.WriteBatches({declared}, WriteMode::kCreate).status(), ErrorKind::kInvalidInput,
              "the metadata of 'l', a list, has the key 'lance-encoding:packed'");
  ASSERT_OK(world_.WriteBatches({batch}, WriteMode::kCreate).status());
  ExpectError(world_.WriteBatches({declared}, WriteMode::kOverwrite).status(), ErrorKind::kInvalidInput, "'l'");
  ASSERT_OK(world_.WriteBatches({declared}, WriteMode::kAppend).status());  // the table does not say so
}

TEST_P(Datasets, ViewsAreStoredAsPlainStrings) {
  ASSERT_OK(world_.Write(MakeRows(0, 3), WriteMode::kCreate).status());
  arrow::StringViewBuilder builder;
  ASSERT_OK(builder.Append("short"));
  ASSERT_OK(builder.AppendNull());
  ASSERT_OK(builder.Append("a string that is longer than a view holds in place"));
  const BatchPtr ids = ToBatch(MakeRows(3, 3));
  const auto batch =
      arrow::RecordBatch::Make(arrow::schema({ids->schema()->field(0), arrow::field("s", arrow::utf8_view())}), 3,
                               {ids->column(0), builder.Finish().ValueOrDie()});
  ASSERT_OK_AND_ASSIGN(const auto dataset, world_.WriteBatches({batch}, WriteMode::kAppend));
  EXPECT_EQ(world_.Rows(*dataset),
            Both(MakeRows(0, 3), {{3, "short"}, {4, {}}, {5, "a string that is longer than a view holds in place"}}));
}

TEST_P(Datasets, TablesOfUnwrittenDataFilesAreNotAppendedTo) {
  ASSERT_OK(world_.Write(MakeRows(0, 3), WriteMode::kCreate).status());
  for (std::string version : {"2.3", "4.0", "0.1"}) {
    ASSERT_OK(world_.Plant([&](table::Manifest& next) { next.data_format_version = version; }).status());
    world_.counting().Reset();
    ExpectError(world_.Write(MakeRows(3, 1), WriteMode::kAppend).status(), ErrorKind::kNotSupported, version);
    EXPECT_EQ(world_.counting().counts().put, 0u);
  }
  // Legacy files and others have no table in common.
  const WriteOptions as_2_2{.data_storage_version = file::FileVersion{2, 2}};
  ExpectError(world_.Write(MakeRows(3, 1), WriteMode::kAppend, as_2_2).status(), ErrorKind::kNotSupported, "0.1");
  ASSERT_OK_AND_ASSIGN(const auto replaced, world_.Write(MakeRows(0, 1), WriteMode::kOverwrite, as_2_2));
  EXPECT_EQ(replaced->manifest().data_format_version, "2.2");
}

TEST_P(Datasets, NewFilesHaveTheVersionOfTheTableUnlessAskedOtherwise) {
  auto version_of = [](const Dataset& dataset) { return dataset.manifest().fragments.back().files[0].version; };
  for (const file::FileVersion version : {file::FileVersion{2, 0}, {2, 1}}) {
    ASSERT_OK_AND_ASSIGN(auto dataset,
                         world_.Write(MakeRows(0, 3), WriteMode::kOverwrite, {.data_storage_version = version}));
    EXPECT_EQ(dataset->manifest().data_format_version, file::ToString(version));
    EXPECT_EQ(version_of(*dataset), version);
    ASSERT_OK_AND_ASSIGN(dataset, world_.Write(MakeRows(0, 2), WriteMode::kOverwrite));
    EXPECT_EQ(dataset->manifest().data_format_version, file::ToString(version));
    ASSERT_OK_AND_ASSIGN(dataset, world_.Write(MakeRows(2, 1), WriteMode::kAppend));
    EXPECT_EQ(version_of(*dataset), version);
    ASSERT_OK_AND_ASSIGN(
        dataset, world_.Write(MakeRows(3, 1), WriteMode::kAppend, {.data_storage_version = file::FileVersion{2, 2}}));
    EXPECT_EQ(version_of(*dataset), (file::FileVersion{2, 2}));
    EXPECT_EQ(dataset->manifest().data_format_version, file::ToString(version));
    EXPECT_NE(dataset->manifest().reader_feature_flags & table::flag::kMixedFileVersions, 0u);
    EXPECT_EQ(world_.Rows(*dataset), MakeRows(0, 4));
  }
}

TEST_P(Datasets, OptionsAreChecked) {
  ExpectError(world_.Write({}, WriteMode::kCreate, {.data_storage_version = file::FileVersion{2, 3}}).status(),
              ErrorKind::kNotSupported, "2.3");
  ExpectError(world_.Write({}, WriteMode::kCreate, {.max_rows_per_file = 0}).status(), ErrorKind::kInvalidInput,
              "max_rows_per_file");
  ExpectError(world_.Write({}, WriteMode::kCreate, {.max_bytes_per_file = 0}).status(), ErrorKind::kInvalidInput,
              "max_bytes_per_file");
  ExpectError(world_.Write({}, WriteMode::kCreate, {.max_commit_retries = -1}).status(), ErrorKind::kInvalidInput,
              "max_commit_retries");
}

// ---- files ----

TEST_P(Datasets, FilesAreSplitByRows) {
  ASSERT_OK_AND_ASSIGN(const auto dataset, world_.WriteBatches({ToBatch(MakeRows(0, 25)), ToBatch(MakeRows(25, 7))},
                                                               WriteMode::kCreate, {.max_rows_per_file = 10}));
  std::vector<uint64_t> rows;
  for (const auto& fragment : dataset->manifest().fragments) rows.push_back(fragment.physical_rows);
  EXPECT_THAT(rows, ElementsAre(10, 10, 10, 2));
  EXPECT_EQ(world_.Rows(*dataset), MakeRows(0, 32));
}

TEST_P(Datasets, FilesAreSplitByBytes) {
  std::vector<TestRow> rows;
  for (int64_t id = 0; id < 200; ++id)
    rows.push_back({id, std::string(10'000, static_cast<char>('a' + id % 26)) + std::to_string(id)});
  ASSERT_OK_AND_ASSIGN(const auto dataset, world_.Write(rows, WriteMode::kCreate, {.max_bytes_per_file = 500'000}));
  EXPECT_GE(dataset->manifest().fragments.size(), 4u);
  EXPECT_LE(dataset->manifest().fragments.size(), 6u);
  EXPECT_EQ(world_.Rows(*dataset), rows);
}

class FailingReader final : public arrow::RecordBatchReader {
 public:
  std::shared_ptr<arrow::Schema> schema() const override { return TestSchema(); }
  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override {
    if (given_++ == 3) return arrow::Status::IOError("the source broke");
    *out = ToBatch(MakeRows(0, 10));
    return arrow::Status::OK();
  }

 private:
  int given_ = 0;
};

TEST_P(Datasets, ASourceThatBreaksLeavesNothing) {
  FailingReader reader;
  const arrow::Status status =
      Dataset::WriteAt(world_.session(), world_.location(), reader, {.max_rows_per_file = 10}).status();
  EXPECT_THAT(status.message(), HasSubstr("the source broke"));
  ASSERT_OK_AND_ASSIGN(const ListPage all, ListAll(world_.inner(), {.prefix = "t/"}));
  EXPECT_THAT(all.objects, IsEmpty());
}

// ---- commits through a handle ----

TEST_P(Datasets, AStaleHandleAppendsBehindTheOthers) {
  ASSERT_OK_AND_ASSIGN(const auto first, world_.Write(MakeRows(0, 2), WriteMode::kCreate));
  ASSERT_OK(first->Append(*ReaderOf({ToBatch(MakeRows(2, 2))})).status());
  ASSERT_OK_AND_ASSIGN(const auto third, first->Append(*ReaderOf({ToBatch(MakeRows(4, 2))})));
  EXPECT_EQ(third->version(), TableVersion(3));
  EXPECT_EQ(world_.Rows(*third), MakeRows(0, 6));
}

TEST_P(Datasets, AConflictRemovesTheNewFiles) {
  ASSERT_OK_AND_ASSIGN(const auto first, world_.Write(MakeRows(0, 2), WriteMode::kCreate));
  ASSERT_OK(world_.Write(MakeRows(7, 1), WriteMode::kOverwrite).status());
  ExpectError(first->Append(*ReaderOf({ToBatch(MakeRows(2, 2))})).status(), ErrorKind::kIncompatibleConflict,
              "Overwrite at version 2");
  ASSERT_OK_AND_ASSIGN(const ListPage files, ListAll(world_.inner(), {.prefix = "t/data/"}));
  EXPECT_THAT(files.objects, SizeIs(2));
}

TEST_P(Datasets, ATransactionBelongsToItsVersion) {
  ASSERT_OK_AND_ASSIGN(const auto first, world_.Write(MakeRows(0, 2), WriteMode::kCreate));
  table::Transaction transaction;
  transaction.operation = table::Append{};
  transaction.read_version = TableVersion(5);
  ExpectError(first->Commit(transaction).status(), ErrorKind::kInvalidInput, "version 5");
  transaction.read_version = TableVersion(1);
  ASSERT_OK_AND_ASSIGN(const auto second, first->Commit(transaction));
  EXPECT_EQ(second->version(), TableVersion(2));
}

// ---- faults ----

// Every request of a create and of an append fails once, or loses its answer once. Success = the rows are there;
// failure = they are not, and trying again works; unknown = one of the two.
TEST_P(Datasets, TheNthRequestFails) {
  for (bool create : {true, false}) {
    for (auto action : {FaultRule::Action::kFail, FaultRule::Action::kLoseAnswer}) {
      uint64_t faults = 1;
      for (uint64_t n = 1; faults != 0; ++n) {
        SCOPED_TRACE(
            fmt::format("create {} lose answer {} request {}", create, action == FaultRule::Action::kLoseAnswer, n));
        DatasetWorld world(GetParam());
        const std::vector<TestRow> before = create ? std::vector<TestRow>{} : MakeRows(0, 3);
        if (!create) {
          ASSERT_OK(world.Write(before, WriteMode::kCreate).status());
        }
        world.faults().AddRule({.first = n, .action = action});
        const auto mode = create ? WriteMode::kCreate : WriteMode::kAppend;
        const auto written = world.Write(MakeRows(3, 3), mode);
        faults = world.faults().faults();
        world.faults().ClearRules();
        if (written.ok()) {
          EXPECT_EQ(world.Rows(**world.Open()), Both(before, MakeRows(3, 3)));
          continue;
        }
        EXPECT_EQ(KindOf(written.status()), ErrorKind::kTransient) << written.status().ToString();
        const auto opened = world.Open();
        EXPECT_EQ(opened.ok(), !create);
        if (opened.ok()) {
          EXPECT_EQ(world.Rows(**opened), before);
        }
        ASSERT_OK_AND_ASSIGN(const auto again, world.Write(MakeRows(3, 3), mode));
        EXPECT_EQ(world.Rows(*again), Both(before, MakeRows(3, 3)));
      }
    }
  }
}

// ---- many writers, and a model ----

TEST_P(Datasets, EightWritersAppendToOneTable) {
  constexpr int64_t kTasks = 8, kAppends = 4, kRows = 10;
  ASSERT_OK(world_.Write({}, WriteMode::kCreate).status());
  std::vector<arrow::Status> results(kTasks);
  std::vector<TaskHandle> tasks;
  for (int64_t task = 0; task < kTasks; ++task) {
    tasks.push_back(world_.session()->runtime().Spawn("append", [&, task] {
      auto dataset = world_.Open();
      for (int64_t i = 0; i < kAppends && dataset.ok(); ++i) {
        const auto reader = ReaderOf({ToBatch(MakeRows((task * kAppends + i) * kRows, kRows))});
        dataset = (*dataset)->Append(*reader, {.max_commit_retries = 200});
      }
      results[static_cast<size_t>(task)] = dataset.status();
    }));
  }
  for (TaskHandle& task : tasks) task.Join();
  for (const arrow::Status& status : results) ASSERT_OK(status);
  ASSERT_OK_AND_ASSIGN(const auto latest, world_.Open());
  EXPECT_EQ(latest->version(), TableVersion(1 + kTasks * kAppends));
  ASSERT_OK_AND_ASSIGN(const auto versions, latest->Versions());
  EXPECT_THAT(versions, SizeIs(1 + kTasks * kAppends));
  std::vector<TestRow> rows = world_.Rows(*latest);
  std::sort(rows.begin(), rows.end());
  EXPECT_EQ(rows, MakeRows(0, kTasks * kAppends * kRows));
}

TEST_P(Datasets, RandomOperationsAgainstAModel) {
  std::mt19937_64 random(20260101);
  for (int round = 0; round < 5; ++round) {
    DatasetWorld world(GetParam());
    std::vector<std::vector<TestRow>> versions;  // the rows of each
    std::shared_ptr<Dataset> handle;
    for (int step = 0; step < 30; ++step) {
      const auto rows = MakeRows(static_cast<int64_t>(random() % 1000), static_cast<int64_t>(random() % 20));
      const WriteOptions options{.max_rows_per_file = 1 + random() % 12};
      const bool overwrite = versions.empty() || random() % 8 == 0;
      const auto written = !overwrite && random() % 2 == 0 && handle->version() == TableVersion(versions.size())
                               ? handle->Append(*ReaderOf({ToBatch(rows)}), options)
                               : world.Write(rows, overwrite ? WriteMode::kOverwrite : WriteMode::kAppend, options);
      ASSERT_OK(written.status());
      versions.push_back(overwrite ? rows : Both(versions.back(), rows));
      handle = *written;
      if (random() % 3 == 0) {
        ASSERT_OK_AND_ASSIGN(handle, world.Open());
      }
      ASSERT_EQ(handle->version(), TableVersion(versions.size()));
      const uint64_t any = 1 + random() % versions.size();
      ASSERT_OK_AND_ASSIGN(const auto past, handle->Checkout(TableVersion(any)));
      const std::vector<TestRow>& expected = versions[any - 1];
      ASSERT_EQ(world.Rows(*past, {.batch_rows = 1 + random() % 10}), expected);
      ASSERT_OK_AND_ASSIGN(const uint64_t count, past->CountRows());
      ASSERT_EQ(count, expected.size());
      if (expected.empty()) continue;
      std::vector<uint64_t> picks(random() % 5);
      std::vector<TestRow> picked;
      for (uint64_t& pick : picks) picked.push_back(expected[pick = random() % expected.size()]);
      ASSERT_OK_AND_ASSIGN(const BatchPtr taken, past->Take(picks));
      ASSERT_EQ(FromBatch(*taken), picked);
    }
  }
}

}  // namespace
}  // namespace javelin
