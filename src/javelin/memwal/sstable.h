// One published SSTable, open for reading.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/base/resources.h"
#include "javelin/dataset/dataset.h"
#include "javelin/file/data_file_reader.h"
#include "javelin/index/key_index.h"
#include "javelin/store/block_cache.h"
#include "javelin/store/object_store.h"
#include "javelin/table/manifest.h"
#include "javelin/table/offset_set.h"

namespace javelin::memwal {

// Immutable, so that one serves all readers of a session. Reads may block; contexts T, S.
class SsTable {
 public:
  // Reads the one manifest by its name, and the deletion file if there is one; the data file is opened when something
  // of it is asked for, and read through `blocks`, where given. Errors, here and there, name the folder: NotFound
  // (retired since it was listed), Corruption, NotSupported (not one fragment of one data file).
  static arrow::Result<std::shared_ptr<SsTable>> Open(const Resources& resources, std::shared_ptr<ObjectStore> store,
                                                      std::string folder, std::shared_ptr<BlockCache> blocks = nullptr);

  // Opens the data file, which the first read does otherwise.
  arrow::Status OpenDataFile() const { return In(File()).status(); }
  bool DataFileIsOpen() const;

  // The key of every row, and which rows are deletions.
  struct Keys {
    index::KeyIndex index;
    std::vector<bool> tombstones;  // by row
  };
  static constexpr uint64_t kKeyRowsAtOnce = 1u << 20;
  // Read from the columns of these fields (in key order) on first use, then kept; `rows_at_once` (not 0) bounds the
  // memory that the reading takes besides. Corruption: a column is missing or holds a null. NotSupported: it has
  // another type.
  arrow::Result<std::shared_ptr<const Keys>> GetKeys(const std::vector<file::Field>& key,
                                                     uint64_t rows_at_once = kKeyRowsAtOnce) const;
  // Null if they were not read yet.
  std::shared_ptr<const Keys> KnownKeys() const;

  // OK if the rows were written under this primary key (empty: none), by which it is decided which of them count.
  // NotSupported: the table's key was changed since, or the type of one of its columns.
  arrow::Status CheckKey(const std::vector<file::Field>& key) const;

  // OK if its columns are those of this version of the table, or gone from it: CheckColumnsStay, once a version.
  arrow::Status CheckColumns(const Dataset& table) const;

  // The columns that it was written under, with the marker of deletions.
  const file::Schema& schema() const { return schema_; }
  uint64_t num_rows() const { return num_rows_; }
  const table::OffsetSet& superseded() const { return superseded_; }
  // Stored bytes of a row.
  uint64_t bytes_per_row() const { return data_.size_bytes / std::max<uint64_t>(1, num_rows()); }

  // Rows [first, first + count) / these rows in the order asked, with the fields of `columns` by id; what the SSTable
  // does not have is null. NotSupported: a column that has another type here.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Read(const file::Schema& columns, uint64_t first,
                                                          uint64_t count) const;
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Take(const file::Schema& columns,
                                                          std::span<const uint64_t> rows) const;

  // All rows, and the keys as GetKeys, in one read where the keys are not here yet.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadWithKeys(const file::Schema& columns,
                                                                  const std::vector<file::Field>& key) const;

  // Memory that it holds now.
  uint64_t memory_bytes() const;

 private:
  SsTable(const Resources& resources, std::shared_ptr<ObjectStore> store, std::string folder,
          std::shared_ptr<BlockCache> blocks)
      : resources_(resources),
        store_(std::move(store)),
        folder_(std::move(folder)),
        blocks_(std::move(blocks)),
        mutex_(*resources_.runtime) {}
  arrow::Status Load();
  arrow::Result<std::shared_ptr<file::DataFileReader>> File() const;
  std::shared_ptr<const Keys> KeepKeys(std::shared_ptr<const Keys> keys) const;
  // The one way by which keys are read: with other columns of the same rows, or with none.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadAddingKeys(const file::Schema& columns,
                                                                    const std::vector<file::Field>& key, uint64_t first,
                                                                    uint64_t count, Keys* keys) const;
  arrow::Status In(const arrow::Status& status) const;
  template <typename Value>
  arrow::Result<Value> In(arrow::Result<Value> result) const {
    if (!result.ok()) return In(result.status());
    return result;
  }
  arrow::Status CheckTypes(std::span<const file::Field> columns) const;

  const Resources resources_;
  const std::shared_ptr<ObjectStore> store_;
  const std::string folder_;
  const std::shared_ptr<BlockCache> blocks_;
  table::DataFile data_;
  uint64_t num_rows_ = 0;
  file::Schema schema_;          // with the marker of deletions
  bool ids_kept_ = false;        // as CheckColumnsStay asks
  std::vector<FieldId> key_;     // in key order
  file::ColumnOfField columns_;  // without the marker of deletions
  uint32_t tombstone_column_ = 0;
  table::OffsetSet superseded_;
  mutable Mutex mutex_;
  mutable std::shared_ptr<file::DataFileReader> file_;   // once it is open; guarded by mutex_
  mutable std::shared_ptr<const Keys> keys_;             // guarded by mutex_
  mutable std::optional<TableVersion> columns_checked_;  // guarded by mutex_
};

}  // namespace javelin::memwal
