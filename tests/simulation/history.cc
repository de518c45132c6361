#include "history.h"

#include <algorithm>

#include <fmt/format.h>

namespace javelin::simulation {

namespace {

bool IsTerminal(const arrow::Status& status) {
  return HasKind(status, ErrorKind::kFencedPeerClaimedEpoch) || HasKind(status, ErrorKind::kFencedPersistenceFailure);
}

// Kinds that say that nothing was inserted.
bool IsRefusal(const arrow::Status& status) {
  return HasKind(status, ErrorKind::kInvalidInput) || HasKind(status, ErrorKind::kBackpressure);
}

}  // namespace

int64_t Operation::num_rows() const {
  int64_t rows = 0;
  for (const auto& batch : batches) rows += static_cast<int64_t>(batch.size());
  return rows;
}

void Operation::ApplyTo(TableState* state) const {
  int32_t ordinal = 0;
  for (const auto& batch : batches) {
    for (int64_t key : batch) {
      if (is_delete) {
        state->erase(key);
      } else {
        (*state)[key] = RowVersion{id, ordinal};
      }
      ++ordinal;
    }
  }
}

int History::StartOpen(const std::string& actor, bool durable_write) {
  WriterRecord record;
  record.number = static_cast<int>(writers_.size());
  record.actor = actor;
  record.durable_write = durable_write;
  record.open_started = Now();
  writers_.push_back(std::move(record));
  return writers_.back().number;
}

void History::Opened(Runtime& runtime, int writer, Epoch epoch) {
  if (runtime.Unwinding()) return;
  writers_[writer].opened = Now();
  writers_[writer].epoch = epoch;
}

const Operation& History::Start(int writer, bool is_delete, std::vector<std::vector<int64_t>> batches) {
  return StartAs(static_cast<int64_t>(operations_.size()) + 1, writer, is_delete, std::move(batches));
}

const Operation& History::StartAs(int64_t id, int writer, bool is_delete, std::vector<std::vector<int64_t>> batches) {
  Operation operation;
  operation.id = id;
  operation.writer = writer;
  operation.is_delete = is_delete;
  operation.batches = std::move(batches);
  operation.started = Now();
  return operations_.emplace(operation.id, std::move(operation)).first->second;
}

void History::Accepted(Runtime& runtime, int64_t operation) {
  if (!runtime.Unwinding()) operations_.at(operation).accepted = Now();
}

void History::Finished(Runtime& runtime, int64_t operation, const arrow::Status& status) {
  if (runtime.Unwinding()) return;
  Operation& record = operations_.at(operation);
  record.finished = Now();
  if (status.ok()) {
    record.outcome = Outcome::kAcknowledged;
    if (record.accepted == 0) record.accepted = record.finished;
    if (writers_.at(static_cast<size_t>(record.writer)).durable_write) record.durable = record.finished;
  } else if (IsRefusal(status)) {
    record.outcome = Outcome::kRefused;
  }
}

void History::Flushed(Runtime& runtime, int writer, Moment started) {
  if (runtime.Unwinding()) return;
  Moment now = Now();
  for (auto& [id, operation] : operations_) {
    bool covered = operation.writer == writer && operation.accepted != 0 && operation.accepted < started;
    if (covered && operation.durable == 0 && operation.outcome != Outcome::kRefused) operation.durable = now;
  }
}

void History::CallEnded(Runtime& runtime, int writer, Moment started, const arrow::Status& status,
                        const std::string& call) {
  if (runtime.Unwinding()) return;
  WriterRecord& record = writers_[writer];
  if (record.terminal_failure.has_value()) {
    bool same = SameReason(status, *record.terminal_failure);
    bool must_be_same = IsTerminal(status) || started > record.failed;
    if (must_be_same && !same) {
      Violated(fmt::format("writer {} ({}) failed with '{}', but a later {} ended with '{}'", writer, record.actor,
                           record.terminal_failure->ToString(), call, status.ToString()));
    }
  } else if (IsTerminal(status)) {
    record.terminal_failure = status;
    record.failed = Now();
  }
}

void History::Scanned(Runtime& runtime, ScanRecord record) {
  if (!runtime.Unwinding()) scans_.push_back(std::move(record));
}

void History::Tailed(Runtime& runtime, TailRecord record) {
  if (!runtime.Unwinding()) tails_.push_back(std::move(record));
}

void History::DeletionSent(const std::string& folder, ManifestVersion newest) {
  const auto same = [&](const FolderDeletion& deletion) { return deletion.folder == folder; };
  if (std::none_of(deletions_.begin(), deletions_.end(), same)) deletions_.push_back({folder, newest});
}

bool History::IsOfDeletedFolder(const arrow::Status& status) const {
  const std::string text = status.ToString();
  return HasKind(status, ErrorKind::kNotFound) &&
         std::any_of(deletions_.begin(), deletions_.end(),
                     [&](const FolderDeletion& deletion) { return text.find(deletion.folder) != std::string::npos; });
}

void History::Violated(std::string text) { violations_.push_back(std::move(text)); }

const WriterRecord* History::WriterOfEpoch(Epoch epoch) const {
  for (const WriterRecord& writer : writers_) {
    if (writer.opened != 0 && writer.epoch == epoch) return &writer;
  }
  return nullptr;
}

bool SameReason(const arrow::Status& one, const arrow::Status& other) {
  if (one.ok() || other.ok()) return one.ok() && other.ok();
  return KindOf(one) == KindOf(other) && FieldsOf(one) == FieldsOf(other) &&
         (one.message().ends_with(other.message()) || other.message().ends_with(one.message()));
}

std::vector<std::shared_ptr<arrow::RecordBatch>> MakeBatches(const Operation& operation) {
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  int32_t ordinal = 0;
  for (size_t number = 0; number < operation.batches.size(); ++number) {
    const auto& keys = operation.batches[number];
    batches.push_back(operation.is_delete ? MakeDeleteBatch(operation.id, static_cast<int32_t>(number), keys)
                                          : MakePutBatch(operation.id, ordinal, keys));
    ordinal += static_cast<int32_t>(keys.size());
  }
  return batches;
}

}  // namespace javelin::simulation
