#include "javelin/base/error.h"
#include "javelin/file/data_file_writer.h"
#include "javelin/memwal/shard_writer_internal.h"

namespace javelin::memwal {

namespace {
using Batches = std::vector<std::shared_ptr<arrow::RecordBatch>>;

arrow::Status CheckBatches(const Batches& batches, const ResolvedWriterOptions& options, uint64_t* rows) {
  if (batches.empty()) return InvalidInput("the put has no batches; give at least one");
  for (size_t i = 0; i < batches.size(); ++i) {
    if (batches[i] == nullptr) return InvalidInput("batch {} of the put is null; leave it out", i);
    if (batches[i]->num_rows() == 0) return InvalidInput("batch {} of the put has no rows; leave it out", i);
    *rows += static_cast<uint64_t>(batches[i]->num_rows());
  }
  // A put is never split, so it must fit into an empty MemTable.
  if (*rows > options.max_memtable_rows) {
    return InvalidInput("a put of {} rows exceeds max_memtable_rows = {}; split it", *rows, options.max_memtable_rows);
  }
  if (batches.size() > options.max_memtable_batches) {
    return InvalidInput("a put of {} batches exceeds max_memtable_batches = {}; combine them", batches.size(),
                        options.max_memtable_batches);
  }
  return arrow::Status::OK();
}
}  // namespace

arrow::Result<Ticket> ShardWriter::Impl::Put(const Batches& batches, bool deletes, Then then) {
  Runtime& runtime = state->runtime();
  ARROW_RETURN_NOT_OK(runtime.CheckProcess());
  ARROW_RETURN_NOT_OK(state->Usable());
  const Stopwatch watch(runtime);
  Incoming incoming{.given = batches, .deletes = deletes};
  ARROW_RETURN_NOT_OK(Shape(state->resident()->active()->context(), &incoming));
  std::vector<std::shared_ptr<MemTable>> frozen;
  ARROW_ASSIGN_OR_RAISE(auto ticket, InsertWhenThereIsRoom(&incoming, then, &frozen));
  // The rows are in: whatever happens from here on, the tasks must learn of them.
  const auto inserted = runtime.SyncPoint("put.inserted");
  for (const auto& table : frozen) ARROW_RETURN_NOT_OK(DispatchFrozen(*table));
  HandOn(ticket->durable_target, incoming.rows, then);
  ARROW_RETURN_NOT_OK(inserted);
  counters.Update([&](WriterStats& stats) {
    ++stats.put_count;
    stats.put_time_ns += watch.Nanoseconds();
  });
  return Ticket(std::move(ticket));
}

void ShardWriter::Impl::HandOn(GlobalBatch target, uint64_t rows, Then then) {
  // A change of thread costs more than indexing this many rows.
  constexpr uint64_t kFewRows = 64;
  if (then == Then::kWait && rows <= kFewRows) {
    index.RequestHere(target);
  } else {
    index.Request(target);
  }
  if (then == Then::kWait) {
    wal.RowsAddedHere();
  } else {
    wal.RowsAdded();
  }
}

arrow::Status ShardWriter::Impl::Shape(std::shared_ptr<const MemTableContext> context, Incoming* incoming) const {
  if (incoming->context == context) return arrow::Status::OK();
  const auto shape = [&]() -> arrow::Status {
    incoming->rows = 0;
    incoming->shaped.clear();
    ARROW_RETURN_NOT_OK(CheckBatches(incoming->given, plan.options, &incoming->rows));
    const ShardSchemas& schemas = *context->schemas;
    for (const auto& batch : incoming->given) {
      ARROW_ASSIGN_OR_RAISE(auto stored, incoming->deletes ? schemas.ShapeDelete(*batch) : schemas.ShapePut(*batch));
      // Else they could never be flushed. Tombstones have no values that matter.
      if (!incoming->deletes)
        ARROW_RETURN_NOT_OK(file::CheckRowsFit(*stored, schemas.storage_fields(), context->file_version));
      incoming->shaped.push_back(std::move(stored));
    }
    return arrow::Status::OK();
  };
  if (const auto failure = shape(); !failure.ok()) {
    const auto named = WithField(WithContext(failure, "shard " + shard_id), "shard", shard_id);
    return WithField(named, "table_version", fmt::format("{}", context->table_version));
  }
  incoming->context = std::move(context);
  return arrow::Status::OK();
}

// Who waits for its rows anyway waits for room too.
arrow::Result<std::shared_ptr<const Ticket::State>> ShardWriter::Impl::InsertWhenThereIsRoom(
    Incoming* incoming, Then then, std::vector<std::shared_ptr<MemTable>>* frozen) {
  while (true) {
    auto ticket = Insert(incoming, frozen);
    if (ticket.ok()) return ticket;
    for (const auto& table : std::exchange(*frozen, {})) ARROW_RETURN_NOT_OK(DispatchFrozen(*table));
    if (then == Then::kGoOn || !HasKind(ticket.status(), ErrorKind::kBackpressure)) return ticket;
    const Stopwatch watch(state->runtime());
    const bool room = WaitForRoom();
    counters.Update([&](WriterStats& stats) {
      ++stats.backpressure_waits;
      stats.backpressure_wait_ns += watch.Nanoseconds();
    });
    if (!room) return ticket;
  }
}

bool ShardWriter::Impl::WaitForRoom() {
  constexpr Duration kPatience = std::chrono::seconds(1);  // while no flush makes room
  Runtime& runtime = state->runtime();
  std::optional<TimePoint> stuck_since;
  const Duration between_warnings = plan.options.backpressure_log_interval;  // zero = none
  TimePoint warn_at = runtime.Now() + between_warnings;
  while (true) {
    Event moved(runtime);
    const uint64_t interest = state->waiters().Register([moved]() mutable { moved.Set(); });
    const bool over = !state->Usable().ok() || HasRoom(*state->resident());
    if (flush.MayMakeRoom()) {
      stuck_since.reset();
    } else if (!stuck_since.has_value()) {
      stuck_since = runtime.Now();
    }
    const bool stuck = stuck_since.has_value() && runtime.Now() - *stuck_since >= kPatience;
    if (!over && !stuck) moved.Wait(runtime.Now() + kPatience);
    state->waiters().Remove(interest);
    if (between_warnings > Duration::zero() && runtime.Now() >= warn_at) {
      counters.Update([](WriterStats& stats) { ++stats.backpressure_warnings; });
      warn_at += between_warnings;
    }
    if (over) return true;
    if (stuck) return false;
  }
}

bool ShardWriter::Impl::HasRoom(const ResidentSet& resident) const {
  return resident.resident_bytes() < plan.options.max_unflushed_memtable_bytes;
}

arrow::Result<std::shared_ptr<const Ticket::State>> ShardWriter::Impl::Insert(
    Incoming* incoming, std::vector<std::shared_ptr<MemTable>>* frozen) {
  std::lock_guard lock(mutex);
  ARROW_RETURN_NOT_OK(state->Usable());
  if (!accepting) return Closed("the writer of shard {} is being closed", shard_id);
  // An active table may outgrow the ceiling alone: after a replay, or when its indexes have caught up. Nothing else
  // would ever make room then.
  if (!HasRoom(*state->resident()) && MustFreeze(*state->resident()->active(), plan.limits, 0, 0))
    frozen->push_back(FreezeLocked());
  ARROW_RETURN_NOT_OK(CheckRoom(*state->resident()));
  // The schema may have changed since the rows were shaped.
  ARROW_RETURN_NOT_OK(Shape(state->resident()->active()->context(), incoming));
  if (MustFreeze(*state->resident()->active(), plan.limits, incoming->shaped.size(), incoming->rows))
    frozen->push_back(FreezeLocked());
  const std::shared_ptr<MemTable> active = state->resident()->active();
  active->Insert(incoming->shaped);
  // Remembered before the freeze below can swap the table: its own end is what this put waits for.
  auto ticket = std::make_shared<Ticket::State>();
  ticket->writer = state;
  ticket->durable_write = plan.options.durable_write;
  ticket->indexed = active->indexed_cursor();
  ticket->indexed_target = active->store().committed();
  ticket->durable_target = active->store().global_end();
  ticket->token = fmt::format("{}:{}:{}", shard_id, state->epoch(), ticket->durable_target);
  SignalSize(*active);
  if (MustFreeze(*active, plan.limits, 1, 1)) frozen->push_back(FreezeLocked());
  return ticket;
}

// Nothing of the put was accepted if this fails.
arrow::Status ShardWriter::Impl::CheckRoom(const ResidentSet& resident) {
  if (HasRoom(resident)) return arrow::Status::OK();
  const uint64_t limit = plan.options.max_unflushed_memtable_bytes;
  const uint64_t frozen = resident.frozen_bytes();
  const uint64_t active = resident.active()->resident_bytes();
  counters.Update([](WriterStats& stats) { ++stats.backpressure_refusals; });
  return MakeError(ErrorKind::kBackpressure,
                   fmt::format("shard {} holds {} bytes in memory ({} active, {} in {} frozen MemTables), its limit "
                               "max_unflushed_memtable_bytes is "
                               "{}; the put was not accepted, retry later",
                               shard_id, frozen + active, active, frozen, resident.tables.size() - 1, limit),
                   {{"shard", shard_id},
                    {"active_bytes", fmt::format("{}", active)},
                    {"frozen_bytes", fmt::format("{}", frozen)},
                    {"frozen_count", fmt::format("{}", resident.tables.size() - 1)},
                    {"limit_bytes", fmt::format("{}", limit)}});
}

std::shared_ptr<MemTable> ShardWriter::Impl::FreezeLocked(std::shared_ptr<const MemTableContext> next) {
  std::shared_ptr<MemTable> outgoing;
  state->UpdateResident([&](ResidentSet& set) {
    outgoing = set.active();
    if (next == nullptr) next = outgoing->context();
    set.tables.push_back(
        std::make_shared<MemTable>(std::move(next), outgoing->generation().Next(), outgoing->store().global_end()));
  });
  size_signals = 0;
  return outgoing;
}

arrow::Result<std::optional<Generation>> ShardWriter::Impl::FreezeActive() {
  ARROW_RETURN_NOT_OK(state->Usable());
  std::shared_ptr<MemTable> frozen;
  std::optional<Generation> last;
  {
    std::lock_guard lock(mutex);
    const auto set = state->resident();
    if (set->active()->store().committed().value() > 0) {
      frozen = FreezeLocked();
      last = frozen->generation();
    } else if (set->tables.size() > 1) {
      last = set->tables[set->tables.size() - 2]->generation();
    }
  }
  if (frozen != nullptr) ARROW_RETURN_NOT_OK(DispatchFrozen(*frozen));
  return last;
}

arrow::Status ShardWriter::Impl::DispatchFrozen(const MemTable& frozen) {
  const GlobalBatch end = frozen.store().global_end();
  auto sent = state->runtime().SyncPoint("freeze.swapped");
  if (sent.ok() && frozen.indexed() < frozen.store().committed() && !index.Request(end))
    sent = Closed("the index task has ended");
  if (sent.ok() && state->durable_end() < end) {
    if (wal.running()) {
      (void)wal.AppendThrough(end);
    } else {
      sent = Closed("the log task has ended");
    }
  }
  if (sent.ok()) flush.Request();
  if (sent.ok() || state->ended()) return arrow::Status::OK();
  state->Poison(
      AsKind(sent, ErrorKind::kFencedPersistenceFailure,
             fmt::format("generation {} was frozen but not handed on; reopen the writer", frozen.generation())));
  return state->poison();
}

void ShardWriter::Impl::SignalSize(const MemTable& active) {
  if (plan.options.max_wal_buffer_size == 0) return;
  const uint64_t crossed = active.store().row_bytes() / plan.options.max_wal_buffer_size;
  if (crossed <= size_signals) return;
  size_signals = crossed;
  wal.Request();
}

arrow::Result<Ticket> ShardWriter::PutAsync(const Batches& batches, Room room) {
  return impl_->Put(batches, /*deletes=*/false, room == Room::kWait ? Impl::Then::kWait : Impl::Then::kGoOn);
}
arrow::Result<Ticket> ShardWriter::DeleteAsync(const Batches& keys, Room room) {
  return impl_->Put(keys, /*deletes=*/true, room == Room::kWait ? Impl::Then::kWait : Impl::Then::kGoOn);
}

arrow::Status ShardWriter::Put(const Batches& batches) {
  ARROW_ASSIGN_OR_RAISE(const Ticket ticket, PutAsync(batches, Room::kWait));
  return ticket.Wait();
}

arrow::Status ShardWriter::Delete(const Batches& keys) {
  ARROW_ASSIGN_OR_RAISE(const Ticket ticket, DeleteAsync(keys, Room::kWait));
  return ticket.Wait();
}

}  // namespace javelin::memwal
