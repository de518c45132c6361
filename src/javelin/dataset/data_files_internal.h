// Writes rows into new data files of a table, a fragment each.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/base/resources.h"
#include "javelin/file/data_file_writer.h"
#include "javelin/store/stores.h"
#include "javelin/table/manifest.h"

namespace javelin::internal {

struct DataFileLimits {
  uint64_t max_rows = 0;
  uint64_t max_bytes = 0;
};

class DataFilesWriter {
 public:
  DataFilesWriter(const Resources& resources, const StoreLocation& table, file::Schema schema,
                  file::FileVersion version, DataFileLimits limits)
      : resources_(resources), table_(table), schema_(std::move(schema)), version_(version), limits_(limits) {}

  // All rows of `data`, whose columns must be the schema's. Data files appear one by one; nothing refers to them yet.
  arrow::Status Write(const arrow::RecordBatch& batch);
  // The fragments written, ids not assigned.
  arrow::Result<std::vector<table::Fragment>> Finish();
  // Removes what was written, as far as that works: nothing will refer to it.
  void Discard();

 private:
  arrow::Status StartFile();
  // An object that Discard takes away.
  arrow::Result<std::unique_ptr<ObjectWriter>> Open(const std::string& key);
  arrow::Status FinishFile();
  // How many of `rows` rows that take `bytes` go into the file under way.
  uint64_t Room(uint64_t rows, uint64_t bytes) const;

  const Resources& resources_;
  const StoreLocation& table_;
  const file::Schema schema_;
  const file::FileVersion version_;
  const DataFileLimits limits_;
  std::string path_;                              // of the file under way
  std::unique_ptr<file::DataFileWriter> writer_;  // of the file under way
  std::vector<std::string> keys_;                 // of all data files and their sidecars, under way or finished
  std::vector<table::Fragment> fragments_;
};

}  // namespace javelin::internal
