// Flushed MemTables stay readable for a while, so that a query which is split over several reads finds in memory what
// it found there before (option frozen_memtable_grace).
#pragma once

#include <memory>
#include <optional>

#include "javelin/base/runtime.h"
#include "javelin/memwal/writer_state.h"

namespace javelin::memwal {

// A sweep, a third of the grace apart but at least 100 ms, lets go of what has had its time; none runs while nothing
// is in grace. So a MemTable stays for the grace, and for a third of it or 100 ms more at most.
class GracePeriod {
 public:
  GracePeriod(std::shared_ptr<WriterState> state, Duration grace);

  // The MemTable, frozen until now, is an SSTable: from here on it is for readers only, if at all. Contexts T, S.
  void Begin(const std::shared_ptr<MemTable>& table);
  // Lets go of all of them. Context T.
  void Stop();

 private:
  void Arm();
  void Sweep();

  const std::shared_ptr<WriterState> state_;
  const Duration grace_;
  const Duration between_sweeps_;
  Mutex mutex_;
  bool stopped_ = false;          // guarded by mutex_
  std::optional<TimerId> timer_;  // of the next sweep; guarded by mutex_
  Strand strand_;                 // last: its jobs use everything above
};

}  // namespace javelin::memwal
