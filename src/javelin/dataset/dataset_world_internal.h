// A session over a store that counts and fails on demand, tables of made-up rows in it, and short forms for tests.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <arrow/api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "javelin/base/error.h"
#include "javelin/dataset/dataset.h"
#include "javelin/store/counting_store.h"
#include "javelin/store/fault_store.h"
#include "javelin/table/manifest.h"

#define ASSERT_OK(expression)                        \
  do {                                               \
    const ::arrow::Status _status = (expression);    \
    ASSERT_TRUE(_status.ok()) << _status.ToString(); \
  } while (false)

#define JAVELIN_CONCAT_INNER(a, b) a##b
#define JAVELIN_CONCAT(a, b) JAVELIN_CONCAT_INNER(a, b)
#define ASSERT_OK_AND_ASSIGN(target, expression) \
  ASSERT_OK_AND_ASSIGN_IMPL(JAVELIN_CONCAT(_result, __LINE__), target, expression)
#define ASSERT_OK_AND_ASSIGN_IMPL(result, target, expression) \
  auto&& result = (expression);                               \
  ASSERT_TRUE(result.ok()) << result.status().ToString();     \
  target = std::move(result).ValueOrDie()

namespace javelin {

inline void ExpectError(const arrow::Status& status, ErrorKind kind, const std::string& part) {
  ASSERT_FALSE(status.ok()) << "expected " << ToString(kind);
  EXPECT_EQ(KindOf(status), kind) << status.ToString();
  EXPECT_THAT(status.message(), testing::HasSubstr(part));
}

using BatchPtr = std::shared_ptr<arrow::RecordBatch>;

// One row of the table that most tests use: id int64 not null, s utf8.
struct TestRow {
  int64_t id = 0;
  std::optional<std::string> s;
  friend auto operator<=>(const TestRow&, const TestRow&) = default;
};
std::ostream& operator<<(std::ostream& out, const TestRow& row);

std::shared_ptr<arrow::Schema> TestSchema();
BatchPtr ToBatch(const std::vector<TestRow>& rows);
std::vector<TestRow> FromBatch(const arrow::RecordBatch& batch);
// {first, "s<first>"}, {first + 1, ...}: every seventh string is null.
std::vector<TestRow> MakeRows(int64_t first, int64_t count);
// Those whose id is not among `ids`.
std::vector<TestRow> Without(std::vector<TestRow> rows, const std::set<int64_t>& ids);
// The rows of `a`, then those of `b`.
std::vector<TestRow> Both(std::vector<TestRow> a, const std::vector<TestRow>& b);
std::shared_ptr<arrow::RecordBatchReader> ReaderOf(arrow::RecordBatchVector batches);
// All batches of a reader as one.
arrow::Result<BatchPtr> ReadAll(arrow::RecordBatchReader& reader);

enum class StoreKind { kMemory, kLocal };

class DatasetWorld {
 public:
  explicit DatasetWorld(StoreKind kind = StoreKind::kMemory);
  ~DatasetWorld();

  const std::shared_ptr<Session>& session() const { return session_; }
  const StoreLocation& location() const { return location_; }
  ObjectStore& inner() { return *inner_; }
  FaultStore& faults() { return *faults_; }
  CountingStore& counting() { return *counting_; }

  arrow::Result<std::shared_ptr<Dataset>> Write(const std::vector<TestRow>& rows, WriteMode mode,
                                                WriteOptions options = {});
  arrow::Result<std::shared_ptr<Dataset>> WriteBatches(arrow::RecordBatchVector batches, WriteMode mode,
                                                       WriteOptions options = {});
  arrow::Result<std::shared_ptr<Dataset>> Open() { return Dataset::OpenAt(session_, location_); }
  std::vector<TestRow> Rows(const Dataset& dataset, ScanOptions options = {});

  // Writes the next version as another program would.
  arrow::Result<std::shared_ptr<Dataset>> Plant(const std::function<void(table::Manifest&)>& change);
  // Writes a deletion file for the fragment and the version that has it.
  arrow::Result<std::shared_ptr<Dataset>> Delete(FragmentId fragment, std::vector<uint32_t> offsets,
                                                 table::DeletionFileType type, bool count_known = true);
  // Writes a data file and returns its manifest entry.
  arrow::Result<table::DataFile> WriteFile(const StoreLocation& place, const std::string& name,
                                           const file::Schema& schema, const arrow::RecordBatch& batch);

 private:
  std::string folder_;
  std::shared_ptr<ObjectStore> inner_;
  std::shared_ptr<FaultStore> faults_;
  std::shared_ptr<CountingStore> counting_;
  std::shared_ptr<Session> session_;
  StoreLocation location_;
};

}  // namespace javelin
