// A writer of the shard as scripted tests use it: one call after the other, each recorded in the world's history.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "world.h"

namespace javelin::simulation {

class ShardUser {
 public:
  // In the actor that uses it; opens the table.
  ShardUser(World& world, std::string name);

  arrow::Status Open(const memwal::WriterOptions& options = {});
  arrow::Status Put(std::vector<std::vector<int64_t>> batches) { return Do(false, std::move(batches)); }
  arrow::Status Delete(std::vector<std::vector<int64_t>> batches) { return Do(true, std::move(batches)); }
  arrow::Status Flush();
  // Makes SSTables of all that was put.
  arrow::Status Publish();
  arrow::Status Close();
  // As the end of its process would: nothing is drained.
  void Drop() { writer_.reset(); }
  // What its own view shows; recorded as a scan as well.
  arrow::Result<TableState> Read();

  // ---- without a writer ----

  // What was done to the shard; folders of retired SSTables go at once, or stay.
  arrow::Result<memwal::ShardCompaction> Compact(bool collect = true);
  // Number of folders.
  arrow::Result<uint64_t> Collect();
  arrow::Status Seal();
  arrow::Status Unseal();
  // SSTables over the base; recorded as a scan.
  arrow::Result<TableState> ReadPublished();
  arrow::Result<TableState> ReadBase();

  const Dataset& dataset() const { return *dataset_; }
  memwal::ShardWriter& writer() { return *writer_; }
  // Of the last put or delete.
  int64_t operation() const { return operation_; }

 private:
  arrow::Status Do(bool is_delete, std::vector<std::vector<int64_t>> batches);
  arrow::Status Record(const std::string& call, Moment started, const arrow::Status& status);

  World& world_;
  const std::string name_;
  std::shared_ptr<Dataset> dataset_;
  std::shared_ptr<memwal::ShardWriter> writer_;
  int number_ = -1;
  int64_t operation_ = 0;
};

}  // namespace javelin::simulation
