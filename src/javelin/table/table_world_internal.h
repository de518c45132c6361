// A small table without data files, for tests of versions and commits.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "javelin/store/counting_store.h"
#include "javelin/store/fault_store.h"
#include "javelin/store/stores.h"
#include "javelin/table/commit.h"
#include "javelin/table/test_support_internal.h"

namespace javelin::table {

// A folder that is removed again.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "javelin-table-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

enum class StoreKind { kMemory, kLocal };

// A store that counts and fails on demand, and commits of made-up fragments to a table in it.
class TableWorld {
 public:
  explicit TableWorld(StoreKind kind = StoreKind::kMemory)
      : resources_(MakeResources(MakeThreadRuntime())),
        inner_(kind == StoreKind::kMemory ? MakeMemoryStore(resources_)
                                          : MakeLocalStore(resources_, folder_.path(), {.sync = false})),
        faults_(std::make_shared<FaultStore>(*resources_.runtime, inner_)),
        counting_(std::make_shared<CountingStore>(*resources_.runtime, faults_)),
        location_{counting_, "t", "test://t"} {}

  const Resources& resources() const { return resources_; }
  const StoreLocation& location() const { return location_; }
  ObjectStore& inner() { return *inner_; }
  FaultStore& faults() { return *faults_; }
  CountingStore& counting() { return *counting_; }

  static file::Schema TwoColumns() {
    return file::Schema::FromArrow(
               *arrow::schema({arrow::field("a", arrow::int64(), false), arrow::field("b", arrow::utf8())}))
        .ValueOrDie();
  }
  static Fragment Rows(uint64_t rows, std::vector<int32_t> fields = {0, 1}) {
    DataFile file{fmt::format("file-of-{}.lance", rows), fields, {}, {2, 2}, 1000, std::nullopt};
    for (size_t i = 0; i < fields.size(); ++i) file.column_indices.push_back(static_cast<int32_t>(i));
    return {FragmentId(0), {file}, std::nullopt, rows, ""};
  }
  static Transaction AppendOf(uint64_t rows) {
    Transaction transaction;
    transaction.operation = Append{{Rows(rows)}};
    return transaction;
  }
  static Transaction CreateOf(uint64_t rows) {
    Overwrite overwrite;
    overwrite.fragments = {Rows(rows)};
    overwrite.schema = TwoColumns();
    overwrite.data_format_version = "2.2";
    Transaction transaction;
    transaction.operation = overwrite;
    return transaction;
  }

  arrow::Result<LoadedManifest> Create(uint64_t rows = 1, CommitOptions options = {}) {
    return CommitTransaction(resources_, location_, nullptr, CreateOf(rows), options);
  }
  arrow::Result<LoadedManifest> Commit(const LoadedManifest& read, Transaction transaction,
                                       CommitOptions options = {}) {
    return CommitTransaction(resources_, location_, &read, std::move(transaction), options);
  }
  // Writes the next version as another program would, whatever the operation's bytes are.
  void PlantVersion(const LoadedManifest& head, const std::optional<std::string>& transaction,
                    const std::function<void(Manifest&)>& change = {});

 private:
  Resources resources_;
  TemporaryFolder folder_;
  std::shared_ptr<ObjectStore> inner_;
  std::shared_ptr<FaultStore> faults_;
  std::shared_ptr<CountingStore> counting_;
  StoreLocation location_;
};

}  // namespace javelin::table
