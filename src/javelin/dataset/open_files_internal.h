// The data files that a session has open. They never change, so only memory limits how long they are kept.
#pragma once

#include <memory>

#include <arrow/result.h>

#include "javelin/dataset/dataset_state_internal.h"
#include "javelin/dataset/session.h"
#include "javelin/file/data_file_reader.h"
#include "javelin/store/object_cache.h"
#include "javelin/table/manifest.h"

namespace javelin::internal {

class OpenFiles final : public SessionPart {
 public:
  explicit OpenFiles(const Resources& resources)
      : files_(*resources.runtime, static_cast<uint64_t>(resources.memory->limit()) / 8) {}

  // The reader of a data file of the table; no request if the session has it. Contexts T, S.
  static arrow::Result<std::shared_ptr<file::DataFileReader>> Get(const DatasetState& table,
                                                                  const table::DataFile& file);

 private:
  ObjectCache<file::DataFileReader> files_;
};

}  // namespace javelin::internal
