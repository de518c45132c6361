#include "writer_actor.h"

#include "compactor_actor.h"
#include "sealer_actor.h"

#include <arrow/api.h>

namespace javelin::simulation {

namespace {

using std::chrono::milliseconds;

// What a call may meet in a world whose store and SyncPoints fail.
constexpr std::initializer_list<ErrorKind> kPutFailures = {ErrorKind::kFencedPeerClaimedEpoch,
                                                           ErrorKind::kFencedPersistenceFailure,
                                                           ErrorKind::kClosed,
                                                           ErrorKind::kTransient,
                                                           ErrorKind::kBackpressure,
                                                           ErrorKind::kCancelled,
                                                           ErrorKind::kIO};
// A close also publishes: the answer to that may be lost.
constexpr std::initializer_list<ErrorKind> kCloseFailures = {ErrorKind::kFencedPeerClaimedEpoch,
                                                             ErrorKind::kFencedPersistenceFailure,
                                                             ErrorKind::kClosed,
                                                             ErrorKind::kTransient,
                                                             ErrorKind::kIO,
                                                             ErrorKind::kOutcomeUnknown};
constexpr std::initializer_list<ErrorKind> kOpenFailures = {
    ErrorKind::kFencedPeerClaimedEpoch, ErrorKind::kClaimLost,      ErrorKind::kTransient, ErrorKind::kIO,
    ErrorKind::kOutcomeUnknown,         ErrorKind::kVersionConflict};

// 16 ms .. 1 s, seldom less: ticks cost time while an actor waits for a stalled one.
Duration DrawInterval(SeededRandom& random) {
  return Duration(random.OneIn(20) ? random.Magnitude(20, 23) : random.Magnitude(24, 29));
}

memwal::WriterOptions DrawOptions(SeededRandom& random) {
  memwal::WriterOptions options;
  options.durable_write = !random.OneIn(5);
  options.commit_mode = random.OneIn(2) ? memwal::CommitMode::kEager : memwal::CommitMode::kInterval;
  options.max_wal_flush_interval = DrawInterval(random);
  options.max_wal_persist_retries = static_cast<uint32_t>(random.Below(4));
  options.wal_persist_retry_base_delay = milliseconds(random.Between(1, 200));
  // Small enough to freeze every few puts; a put of 9 rows in 3 batches must fit.
  options.max_memtable_rows = static_cast<uint64_t>(random.OneIn(3) ? 1000 : random.Between(9, 24));
  options.max_memtable_batches = static_cast<uint64_t>(random.OneIn(3) ? 1000 : random.Between(3, 8));
  options.max_memtable_size = random.OneIn(3) ? 400u : 1u << 20;
  options.max_wal_buffer_size = random.OneIn(3) ? 300u : 1u << 20;
  if (random.OneIn(8)) options.max_unflushed_memtable_bytes = *options.max_memtable_size + 100'000;
  if (random.OneIn(3)) options.frozen_memtable_grace = milliseconds(random.Between(1, 5000));
  options.manifest_scan_batch_size = static_cast<uint32_t>(random.Between(1, 3));
  return options;
}

}  // namespace

WriterPlan DrawWriterPlan(SeededRandom& random, std::string name, uint64_t stream) {
  WriterPlan plan;
  plan.name = std::move(name);
  plan.stream = stream;
  plan.start = milliseconds(random.OneIn(3) ? 0 : random.Between(0, 4000));
  plan.openings = static_cast<int>(random.Between(1, 3));
  plan.putters = static_cast<int>(random.Between(1, 4));
  plan.operations = static_cast<int>(random.Between(2, 6));
  plan.keys = random.Between(kBaseKeys, kMostKeys);
  plan.pause_ms = static_cast<uint64_t>(random.OneIn(2) ? 30 : 300);
  plan.retries = random.OneIn(3);
  plan.reads = !random.OneIn(4);
  plan.compacts = random.OneIn(4);
  plan.ending = static_cast<Ending>(random.Below(4));
  plan.options = DrawOptions(random);
  return plan;
}

void WriterActor::Run() {
  auto session = world_.NewSession(plan_.retries);
  SeededRandom random(world_.seed(), plan_.stream * 1000 + static_cast<uint64_t>(life_));
  arrow::Result<std::shared_ptr<Dataset>> dataset = arrow::Status::Invalid("never opened");
  for (int attempt = 0; attempt < 20 && !dataset.ok(); ++attempt) {
    if (attempt > 0) world_.runtime().Sleep(milliseconds(200));
    dataset = world_.OpenTable(session);
    world_.Expect("opening the table", dataset.status(), {ErrorKind::kTransient, ErrorKind::kIO});
  }
  for (int opening = 0; dataset.ok() && opening < plan_.openings; ++opening) {
    RunOpening(**dataset, opening);
    world_.runtime().Sleep(milliseconds(random.Between(0, 2000)));
  }
}

void WriterActor::RunOpening(const Dataset& dataset, int opening) {
  int number = world_.history.StartOpen(plan_.name, *plan_.options.durable_write);
  auto opened = memwal::ShardWriter::Open(dataset, std::string(kShard), plan_.options);
  if (HasKind(opened.status(), ErrorKind::kSealed) && world_.history.seals_may_happen()) {
    ++world_.coverage.opens_refused;
    return;
  }
  world_.Expect("opening the shard", opened.status(), kOpenFailures);
  if (!opened.ok()) {
    ++world_.coverage.open_failed;
    return;
  }
  ++world_.coverage.opened;
  std::shared_ptr<memwal::ShardWriter> writer = *opened;
  world_.history.Opened(world_.runtime(), number, writer->epoch());

  std::vector<TaskHandle> tasks;
  uint64_t stream = (plan_.stream * 1000 + static_cast<uint64_t>(life_)) * 100 + static_cast<uint64_t>(opening) * 10;
  for (int task = 0; task < plan_.putters; ++task) {
    auto putter = std::make_shared<Putter>(world_, plan_, writer, number, stream + static_cast<uint64_t>(task) + 1);
    tasks.push_back(world_.runtime().Spawn(fmt::format("{} putter {}", plan_.name, task), [putter] { putter->Run(); }));
  }
  if (plan_.reads) {
    // Nothing of this object: in a crash its frame may go before the task meets a point where it ends.
    tasks.push_back(
        world_.runtime().Spawn(plan_.name + " reader", [&world = world_, plan = plan_, writer, number, stream] {
          SeededRandom random(world.seed(), stream);
          CursorWatch watch(world, *writer);
          for (int i = 0; i < plan.operations && ReadOnce(world, *writer, number); ++i) {
            watch.Look();
            world.runtime().Sleep(milliseconds(random.Between(0, static_cast<int64_t>(plan.pause_ms) * 2)));
          }
          watch.Look();
        }));
  }
  if (plan_.compacts) {
    tasks.push_back(world_.runtime().Spawn(plan_.name + " compactor", [&world = world_, plan = plan_, writer, stream] {
      SeededRandom random(world.seed(), stream + 8);
      for (int i = 0; i < plan.operations; ++i) {
        world.runtime().Sleep(milliseconds(random.Between(0, static_cast<int64_t>(plan.pause_ms) * 2)));
        CompactOnce(world, writer->dataset(), {.retired_grace = Duration::zero()}, random);
      }
    }));
  }
  if (plan_.ending == Ending::kCloseWhileBusy) {
    SeededRandom random(world_.seed(), stream + 9);
    world_.runtime().Sleep(milliseconds(random.Between(0, static_cast<int64_t>(plan_.pause_ms) * plan_.operations)));
    End(*writer, number);
  }
  for (TaskHandle& task : tasks) task.Join();
  world_.coverage.freezes += writer->memtable_stats().frozen_count;
  if (plan_.ending != Ending::kCloseWhileBusy) End(*writer, number);
}

void WriterActor::End(memwal::ShardWriter& writer, int number) {
  if (plan_.ending == Ending::kAbort) return writer.Abort();
  if (plan_.ending == Ending::kDrop) return;
  if (plan_.ending == Ending::kSeal) return Seal(writer, number);
  Moment started = world_.history.Now();
  arrow::Status status = writer.Close();
  world_.Expect("closing the writer", status, kCloseFailures);
  world_.history.CallEnded(world_.runtime(), number, started, status, "close");
  if (status.ok()) world_.history.Flushed(world_.runtime(), number, started);
  arrow::Status again = writer.Close();
  if (!world_.runtime().Unwinding() && again.ToString() != status.ToString()) {
    world_.history.Violated("a second close ended with " + again.ToString() + ", the first with " + status.ToString());
  }
}

// Everything it took is in SSTables then, and somebody else unseals the shard, or it does so itself.
void WriterActor::Seal(memwal::ShardWriter& writer, int number) {
  const Moment started = world_.history.Now();
  const auto sealed = memwal::SealShard(writer);
  // The close came first, and tells the same again.
  if (const arrow::Status closed = writer.Close(); closed.ok()) {
    world_.history.Flushed(world_.runtime(), number, started);
    ExpectSeal(world_, sealed.status());
  } else {
    world_.Expect("closing the writer to seal its shard", closed, kCloseFailures);
    world_.history.CallEnded(world_.runtime(), number, started, closed, "close");
  }
  world_.runtime().Sleep(milliseconds(plan_.pause_ms));
  Unseal(world_, writer.dataset());
}

Putter::Putter(World& world, const WriterPlan& plan, std::shared_ptr<memwal::ShardWriter> writer, int number,
               uint64_t stream)
    : world_(world), plan_(plan), writer_(std::move(writer)), number_(number), random_(world.seed(), stream) {}

void Putter::Run() {
  for (int i = 0; i < plan_.operations; ++i) {
    world_.runtime().Sleep(milliseconds(random_.Between(0, static_cast<int64_t>(plan_.pause_ms))));
    if (!(random_.OneIn(15) ? RunRefused() : RunOne())) return;
  }
}

std::vector<std::vector<int64_t>> Putter::DrawBatches() {
  std::vector<std::vector<int64_t>> batches(random_.OneIn(3) ? static_cast<size_t>(random_.Between(2, 3)) : 1);
  for (auto& batch : batches) {
    for (int64_t row = random_.Between(1, 2); row > 0; --row) batch.push_back(random_.Between(0, plan_.keys - 1));
  }
  return batches;
}

bool Putter::RunOne() {
  const Operation& operation = world_.history.Start(number_, random_.OneIn(4), DrawBatches());
  const int64_t id = operation.id;
  const Moment started = operation.started;
  const bool deletes = operation.is_delete;
  auto batches = MakeBatches(operation);
  if (!random_.OneIn(4)) {
    return Finished(id, started, deletes ? writer_->Delete(batches) : writer_->Put(batches),
                    deletes ? "delete" : "put");
  }
  auto ticket = deletes ? writer_->DeleteAsync(batches) : writer_->PutAsync(batches);
  if (!ticket.ok()) return Finished(id, started, ticket.status(), "put without waiting");
  world_.history.Accepted(world_.runtime(), id);
  if (random_.OneIn(2)) world_.runtime().Sleep(milliseconds(random_.Between(0, static_cast<int64_t>(plan_.pause_ms))));
  return Finished(id, started, ticket->Wait(), "waiting for a ticket");
}

bool Putter::Finished(int64_t operation, Moment started, const arrow::Status& status, const std::string& call) {
  world_.Expect(call, status, kPutFailures);
  world_.history.Finished(world_.runtime(), operation, status);
  world_.history.CallEnded(world_.runtime(), number_, started, status, call);
  if (world_.runtime().Unwinding()) return false;
  if (status.ok()) {
    ++world_.coverage.acknowledged;
    return true;
  }
  ++(HasKind(status, ErrorKind::kBackpressure) ? world_.coverage.backpressure : world_.coverage.unknown);
  if (HasKind(status, ErrorKind::kFencedPeerClaimedEpoch)) ++world_.coverage.fenced;
  if (HasKind(status, ErrorKind::kFencedPersistenceFailure)) ++world_.coverage.lost_persistence;
  return HasKind(status, ErrorKind::kBackpressure) || HasKind(status, ErrorKind::kTransient);
}

// Input that must be refused whole and leave the writer as it was.
bool Putter::RunRefused() {
  std::vector<std::vector<int64_t>> keys{{0}, {1, 0}};
  if (random_.OneIn(2)) keys[1].resize(2000, 1);  // more rows than a MemTable takes
  const Operation& operation = world_.history.Start(number_, false, keys);
  const int64_t id = operation.id;
  const Moment started = operation.started;
  auto batches = MakeBatches(operation);
  if (keys[1].size() == 2) {
    auto reordered = batches[1]->SelectColumns({1, 0, 2, 3});
    batches[1] = reordered.ValueOrDie();
  }
  arrow::Status status = writer_->Put(batches);
  if (status.ok()) world_.history.Violated("a put of rows that do not fit was accepted");
  world_.Expect("a put of rows that do not fit", status,
                {ErrorKind::kInvalidInput, ErrorKind::kFencedPeerClaimedEpoch, ErrorKind::kFencedPersistenceFailure,
                 ErrorKind::kClosed});
  world_.history.Finished(world_.runtime(), id, status);
  world_.history.CallEnded(world_.runtime(), number_, started, status, "a put of rows that do not fit");
  if (HasKind(status, ErrorKind::kInvalidInput)) ++world_.coverage.refused;
  return HasKind(status, ErrorKind::kInvalidInput);
}

void CursorWatch::Look() {
  memwal::MemTableStats stats = writer_.memtable_stats();
  if (stats.durable_batch_count < durable_) {
    world_.history.Violated(fmt::format("the durable count falls from {} to {}", durable_, stats.durable_batch_count));
  }
  durable_ = std::max(durable_, stats.durable_batch_count);
  auto views = writer_.Snapshot();
  if (!views.ok()) return;
  for (const memwal::MemTableView& view : *views) {
    uint64_t& before = visible_[view.generation.value()];
    if (view.visible_batches < before) {
      world_.history.Violated(
          fmt::format("generation {} shows {} batches after {}", view.generation, view.visible_batches, before));
    }
    before = view.visible_batches;
  }
}

}  // namespace javelin::simulation
