// Pages between the rows that fill them and the file: closed one after the other, encoded side by side, written in the
// order in which they were closed, so that equal input gives equal bytes whatever the timing.
//
// All work is done by calls of the writer's thread, with Runtime::Cpu, since a writer may run in a strand job, which
// must not wait for anything else. A closed page waits until there are enough for all cores.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <arrow/result.h>

#include "javelin/base/resources.h"
#include "javelin/file/container_writer_internal.h"
#include "javelin/file/page_encoder_internal.h"

namespace javelin::file {

// The rows of a page of a column, or of several where they do not go into one.
struct ClosedPage {
  size_t column = 0;
  std::string name;  // of the column
  uint64_t bytes = 0;
  std::function<arrow::Result<std::vector<EncodedPage>>()> encode;  // pure; on any thread
};

// Not thread-safe. Blocks in encoding and writing.
class PagePipeline {
 public:
  // Pages that wait take at most about `max_bytes`.
  PagePipeline(const Resources& resources, ContainerWriter& container, uint64_t max_bytes)
      : resources_(resources), container_(container), max_bytes_(max_bytes) {}

  // Encodes and writes what waits if that is enough.
  arrow::Status Add(ClosedPage page);
  // Encodes and writes all that waits. What pages become is counted in the budget meanwhile; without room there, one
  // after the other.
  arrow::Status Drain();
  // Of the rows that wait.
  uint64_t bytes() const { return bytes_; }

 private:
  arrow::Status WriteFirst(size_t count);

  const Resources& resources_;
  ContainerWriter& container_;
  const uint64_t max_bytes_;
  std::vector<ClosedPage> waiting_;
  uint64_t bytes_ = 0;
};

}  // namespace javelin::file
