// What a test run did and saw, in the order in which it happened: writers, their operations, scans and tails. The
// invariants compare it with the objects of the store.
//
// Not locked: used by tasks of one Simulation, of which one runs at a time, or by one thread. No call blocks.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/status.h>

#include "javelin/base/error.h"
#include "javelin/base/ids.h"
#include "javelin/base/runtime.h"
#include "rows.h"

namespace javelin::simulation {

// A moment: moments of one history are ordered and never equal. 0 = never.
using Moment = uint64_t;

// One opening of the shard by one actor.
struct WriterRecord {
  int number = 0;
  std::string actor;
  bool durable_write = true;
  Moment open_started = 0;
  Moment opened = 0;
  Epoch epoch;                                    // once opened
  std::optional<arrow::Status> terminal_failure;  // the first that a call reported
  Moment failed = 0;
};

enum class Outcome {
  kUnknown,       // under way, failed half way, or its actor died: may be in the log or not
  kAcknowledged,  // put returned OK to a living actor
  kRefused,       // put said that nothing was accepted
};

struct Operation {
  int64_t id = 0;  // from 1; 0 is the base table
  int writer = 0;
  bool is_delete = false;
  std::vector<std::vector<int64_t>> batches;  // keys in order
  Moment started = 0;
  Moment accepted = 0;  // the writer has it: whatever starts later comes later in its log
  Moment finished = 0;  // the call, or the wait for it, returned
  Moment durable = 0;   // the writer has said by then that it is in the log
  Outcome outcome = Outcome::kUnknown;

  int64_t num_rows() const;
  // Applies the rows to a table.
  void ApplyTo(TableState* state) const;
};

struct ScanRecord {
  int writer = 0;  // whose view; -1 = of no writer: the base table alone
  Moment started = 0;
  Moment finished = 0;
  TableState state;
  // Without a writer: the newest generation that was published when it started, and when its view was made.
  Generation published_before, published_after;
};

// The first request to delete something of an SSTable's folder.
struct FolderDeletion {
  std::string folder;
  ManifestVersion newest;  // manifest of the shard at that moment
};

// A reader of the log that read every position from 1 to `next` (exclusive).
struct TailRecord {
  Moment started = 0;
  Moment finished = 0;
  WalPosition next;
  std::vector<std::string> digests;  // one per entry: what it says (Describe)
};

class History {
 public:
  explicit History(TableState base) : base_(std::move(base)) {}

  Moment Now() { return ++clock_; }

  int StartOpen(const std::string& actor, bool durable_write);
  // The following take the runtime of the caller's actor: what a dead actor does not live to see did not happen.
  void Opened(Runtime& runtime, int writer, Epoch epoch);

  // The operation gets its number here, because its rows carry it; or it has one already.
  const Operation& Start(int writer, bool is_delete, std::vector<std::vector<int64_t>> batches);
  const Operation& StartAs(int64_t id, int writer, bool is_delete, std::vector<std::vector<int64_t>> batches);
  void Accepted(Runtime& runtime, int64_t operation);
  void Finished(Runtime& runtime, int64_t operation, const arrow::Status& status);
  // FlushWal or Close returned OK: what was accepted before it started is durable.
  void Flushed(Runtime& runtime, int writer, Moment started);
  // Any call on a writer that started at `started` ended with `status`: the first terminal failure is the one that
  // every later call reports.
  void CallEnded(Runtime& runtime, int writer, Moment started, const arrow::Status& status, const std::string& call);

  void Scanned(Runtime& runtime, ScanRecord record);
  void Tailed(Runtime& runtime, TailRecord record);

  // From here on the shard may be sealed.
  void SealsMayHappen() { seals_may_happen_ = true; }
  bool seals_may_happen() const { return seals_may_happen_; }

  // Also of a dead actor: the request is on its way.
  void DeletionSent(const std::string& folder, ManifestVersion newest);
  // NotFound, and it names a folder that somebody deletes.
  bool IsOfDeletedFolder(const arrow::Status& status) const;

  // Something that must never happen was seen while the run was under way.
  void Violated(std::string text);

  const TableState& base() const { return base_; }
  const std::vector<WriterRecord>& writers() const { return writers_; }
  const std::map<int64_t, Operation>& operations() const { return operations_; }
  const std::vector<ScanRecord>& scans() const { return scans_; }
  const std::vector<TailRecord>& tails() const { return tails_; }
  const std::vector<FolderDeletion>& deletions() const { return deletions_; }
  const std::vector<std::string>& violations() const { return violations_; }
  const WriterRecord* WriterOfEpoch(Epoch epoch) const;

 private:
  TableState base_;
  Moment clock_ = 0;
  std::vector<WriterRecord> writers_;
  std::map<int64_t, Operation> operations_;
  std::vector<ScanRecord> scans_;
  std::vector<TailRecord> tails_;
  std::vector<FolderDeletion> deletions_;
  bool seals_may_happen_ = false;
  std::vector<std::string> violations_;
};

// The same failure, told with or without the context of the call that met it: equal kind and fields, and the shorter
// message ends the longer one.
bool SameReason(const arrow::Status& one, const arrow::Status& other);

// The batches of an operation as the writer gets them.
std::vector<std::shared_ptr<arrow::RecordBatch>> MakeBatches(const Operation& operation);

}  // namespace javelin::simulation
