// One WAL object: an Arrow IPC stream of everything one append covers (docs/format.md, "MemWAL: WAL entries").
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/base/ids.h"
#include "javelin/store/object_store.h"

namespace javelin::memwal {

// Where the SSTable of a generation with blob columns will be written; all five keys or none.
struct WalTarget {
  Generation generation;
  std::string folder;
  std::string data_file;
  Epoch creator_epoch;
  uint64_t batch_capacity = 0;
  friend bool operator==(const WalTarget&, const WalTarget&) = default;
};

struct WalEntry {
  Epoch writer_epoch;
  std::optional<Generation> generation;  // absent in WAL-only mode and from older writers
  bool fence_sentinel = false;
  std::optional<WalTarget> target;
  std::shared_ptr<arrow::Schema> schema;  // without our reserved metadata keys; fields may carry lance:field_id
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;

  uint64_t num_rows() const;
};

// InvalidInput: no batches (unless a sentinel), a batch without rows, or schemas that differ.
arrow::Result<BufferPtr> EncodeWalEntry(const WalEntry& entry);
// Decodes from memory; batches are slices of `bytes`. WalCorrupt: anything that does not decode, missing or malformed
// writer_epoch, bad target (text names the fault; the caller adds shard and position).
arrow::Result<WalEntry> DecodeWalEntry(const BufferPtr& bytes);

}  // namespace javelin::memwal
