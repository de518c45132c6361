// What a ticket waits for.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "javelin/memwal/shard_writer.h"
#include "javelin/memwal/writer_state.h"

namespace javelin::memwal {

// Targets are remembered at the insert, before a freeze can swap the active MemTable: `indexed` counts the batches of
// that one table, `durable` those of the writer (row V5). Holds cursors only, so that a ticket that is kept keeps no
// rows.
struct Ticket::State {
  std::shared_ptr<WriterState> writer;
  bool durable_write = true;
  std::shared_ptr<const MonotonicCount> indexed;
  LocalBatch indexed_target;
  GlobalBatch durable_target;
  std::string token;

  // What Wait would return now; nullopt = it would wait.
  std::optional<arrow::Status> Outcome() const;
};

}  // namespace javelin::memwal
