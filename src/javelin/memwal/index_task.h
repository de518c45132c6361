// The one consumer that brings rows into the in-memory indexes (rows V7, V9, V11).
#pragma once

#include <memory>

#include "javelin/base/runtime.h"
#include "javelin/memwal/writer_counters.h"
#include "javelin/memwal/writer_state.h"

namespace javelin::memwal {

// Every request names a global batch count, none names a table: it is handled by bringing the tables up to it, oldest
// first. So requests may arrive in any order, yet rows become readable in the order of the puts.
class IndexTask {
 public:
  IndexTask(std::shared_ptr<WriterState> state, WriterCounters* counters);

  // Asks for every batch below `target`. False once the task was stopped. Any context.
  bool Request(GlobalBatch target);
  // The same for a caller that will wait for the rows: applied on its thread if the task is idle. Context T.
  void RequestHere(GlobalBatch target);
  // The same with an answer: OK, or the writer's terminal failure. Any context.
  Cell<Unit> ApplyThrough(GlobalBatch target);
  // Drops what is queued, lets the running job end. Context T.
  void Stop() { strand_.Close(); }

 private:
  arrow::Status Run(GlobalBatch target);
  arrow::Status Apply(MemTable& table);

  const std::shared_ptr<WriterState> state_;
  WriterCounters* const counters_;
  Strand strand_;
};

}  // namespace javelin::memwal
