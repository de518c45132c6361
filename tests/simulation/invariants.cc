#include "invariants.h"

#include <algorithm>
#include <map>
#include <set>

namespace javelin::simulation {

namespace {

void Append(Violations* all, Violations more) { all->insert(all->end(), more.begin(), more.end()); }

bool HasRows(const LogEntry& entry) { return !entry.entry.batches.empty(); }

// Operations of a batch list: every operation whole, in order, none twice.
class EntryTracer {
 public:
  EntryTracer(const LogEntry& entry, const History& history, Violations* violations)
      : entry_(entry), history_(history), violations_(violations) {}

  std::vector<int64_t> Trace() {
    std::vector<int64_t> found;
    const auto& batches = entry_.entry.batches;
    for (size_t next = 0; next < batches.size();) {
      auto origin = TraceBatch(*batches[next]);
      if (!origin.ok()) {
        Violate(violations_, "entry {}: batch {}: {}", entry_.position, next, origin.status().ToString());
        return found;
      }
      auto operation = history_.operations().find(origin->operation);
      if (operation == history_.operations().end()) {
        Violate(violations_, "entry {}: operation {} was never run", entry_.position, origin->operation);
        return found;
      }
      if (!HoldsWhole(operation->second, next)) return found;
      found.push_back(origin->operation);
      next += operation->second.batches.size();
    }
    return found;
  }

 private:
  bool HoldsWhole(const Operation& operation, size_t first) {
    const auto& batches = entry_.entry.batches;
    int32_t ordinal = 0;
    for (size_t i = 0; i < operation.batches.size(); ++i) {
      BatchOrigin expected{operation.id, operation.is_delete, operation.is_delete ? static_cast<int32_t>(i) : 0,
                           operation.is_delete ? 0 : ordinal, operation.batches[i]};
      auto found =
          first + i < batches.size() ? TraceBatch(*batches[first + i]) : arrow::Status::Invalid("the entry ends");
      if (!found.ok() || !(*found == expected)) {
        Violate(violations_, "entry {}: operation {} is not whole at its batch {}: {}", entry_.position, operation.id,
                i, found.ok() ? "another batch" : found.status().ToString());
        return false;
      }
      ordinal += static_cast<int32_t>(operation.batches[i].size());
    }
    return true;
  }

  const LogEntry& entry_;
  const History& history_;
  Violations* violations_;
};

// Operations in the order of the log, with the place of each.
class Order {
 public:
  explicit Order(const std::vector<LoggedOperation>& log) {
    for (size_t i = 0; i < log.size(); ++i) place_.emplace(log[i].operation, i);
  }
  std::optional<size_t> PlaceOf(int64_t operation) const {
    auto found = place_.find(operation);
    if (found == place_.end()) return std::nullopt;
    return found->second;
  }

 private:
  std::map<int64_t, size_t> place_;
};

std::map<int, std::vector<const Operation*>> ByWriter(const History& history) {
  std::map<int, std::vector<const Operation*>> by_writer;
  for (const auto& [id, operation] : history.operations()) by_writer[operation.writer].push_back(&operation);
  return by_writer;
}

// What was accepted before another started must be in the log if the other is, and before it.
void CheckOrderOfOne(const std::vector<const Operation*>& operations, const Order& order, Violations* violations) {
  for (const Operation* later : operations) {
    auto place = order.PlaceOf(later->id);
    if (!place) continue;
    for (const Operation* earlier : operations) {
      bool precedes =
          earlier->accepted != 0 && earlier->accepted < later->started && earlier->outcome != Outcome::kRefused;
      if (!precedes) continue;
      auto earlier_place = order.PlaceOf(earlier->id);
      if (!earlier_place) {
        Violate(violations, "operation {} is in the log, but {}, accepted before it started, is not", later->id,
                earlier->id);
      } else if (*earlier_place > *place) {
        Violate(violations, "operation {} lies behind {} in the log, but was accepted before that one started",
                earlier->id, later->id);
      }
    }
  }
}

// The position below which everything belongs to earlier writers: the writer's last sentinel.
WalPosition SentinelOf(const ShardObjects& shard, Epoch epoch) {
  WalPosition found;
  for (const LogEntry& entry : shard.log) {
    if (entry.entry.fence_sentinel && entry.entry.writer_epoch == epoch) found = entry.position;
  }
  return found;
}

// Compares the scans of one writer with every prefix of its operations.
class ScanChecker {
 public:
  ScanChecker(const WriterRecord& writer, const ShardObjects& shard, const std::vector<LoggedOperation>& log,
              const History& history)
      : writer_(writer), history_(history), replayed_(history.base()) {
    WalPosition sentinel = SentinelOf(shard, writer.epoch);
    for (const LoggedOperation& logged : log) {
      const Operation& operation = history.operations().at(logged.operation);
      if (logged.position < sentinel) operation.ApplyTo(&replayed_);
      if (logged.epoch == writer.epoch) own_.push_back(&operation);
    }
    std::set<int64_t> in_log;
    for (const Operation* operation : own_) in_log.insert(operation->id);
    for (const auto& [id, operation] : history.operations()) {
      if (operation.writer == writer.number && !in_log.contains(id) && operation.outcome != Outcome::kRefused) {
        unlogged_.push_back(&operation);
      }
    }
  }

  void Check(const ScanRecord& scan, Violations* violations) const {
    bool may_see_unlogged = !writer_.durable_write;
    if (!MatchesPrefix(scan) && !(may_see_unlogged && MatchesWithUnlogged(scan))) {
      Violate(violations,
              "a scan of writer {} ({}, epoch {}) at moments {}-{} is no state it may have seen: {}; replayed {}; own "
              "operations: {}",
              writer_.number, writer_.actor, writer_.epoch, scan.started, scan.finished, Describe(scan.state),
              Describe(replayed_), DescribeOwn());
    }
  }

 private:
  // The first `least` operations were acknowledged before the scan started; behind `most` they started after it ended.
  bool MatchesPrefix(const ScanRecord& scan) const {
    TableState state = replayed_;
    size_t least = 0;
    for (size_t i = 0; i < own_.size(); ++i) {
      if (own_[i]->outcome == Outcome::kAcknowledged && own_[i]->finished < scan.started) least = i + 1;
    }
    for (size_t length = 0; length <= own_.size(); ++length) {
      if (length > 0) {
        if (own_[length - 1]->started > scan.finished) return false;
        own_[length - 1]->ApplyTo(&state);
      }
      if (length >= least && state == scan.state && NothingUnloggedIsDue(scan)) return true;
    }
    return false;
  }

  // An operation that was acknowledged without being durable is visible too, until the writer dies.
  bool NothingUnloggedIsDue(const ScanRecord& scan) const {
    return std::none_of(unlogged_.begin(), unlogged_.end(), [&](const Operation* operation) {
      return operation->outcome == Outcome::kAcknowledged && operation->finished < scan.started;
    });
  }

  // Operations that never reached the log have no order but that of real time, so each key is checked by itself: its
  // row must be one that no operation certainly replaced before the scan started.
  bool MatchesWithUnlogged(const ScanRecord& scan) const {
    TableState logged = replayed_;
    for (const Operation* operation : own_) operation->ApplyTo(&logged);
    std::set<int64_t> keys;
    for (const auto& [key, version] : logged) keys.insert(key);
    for (const auto& [key, version] : scan.state) keys.insert(key);
    return std::all_of(keys.begin(), keys.end(), [&](int64_t key) { return KeyIsPossible(key, scan); });
  }

  bool KeyIsPossible(int64_t key, const ScanRecord& scan) const {
    std::vector<const Operation*> touching;
    for (const auto* list : {&own_, &unlogged_}) {
      for (const Operation* operation : *list) {
        TableState probe{{key, RowVersion{-1, -1}}};
        operation->ApplyTo(&probe);
        if (operation->started < scan.finished && (!probe.contains(key) || probe[key].operation != -1))
          touching.push_back(operation);
      }
    }
    auto seen = scan.state.find(key);
    auto shows = [&](const TableState& state) {
      auto found = state.find(key);
      if (seen == scan.state.end()) return found == state.end();
      return found != state.end() && found->second == seen->second;
    };
    auto replaced = [&](Moment accepted) {
      return std::any_of(touching.begin(), touching.end(), [&](const Operation* other) {
        return other->outcome == Outcome::kAcknowledged && other->finished < scan.started && other->started > accepted;
      });
    };
    if (shows(replayed_) && !replaced(0)) return true;
    return std::any_of(touching.begin(), touching.end(), [&](const Operation* operation) {
      TableState state;
      operation->ApplyTo(&state);
      return shows(state) && !(operation->accepted != 0 && replaced(operation->accepted));
    });
  }

  std::string DescribeOwn() const {
    std::string text;
    for (const auto* list : {&own_, &unlogged_}) {
      for (const Operation* operation : *list) {
        text += fmt::format("{}{}@{}-{}{}", text.empty() ? "" : " ", operation->id, operation->started,
                            operation->finished, operation->outcome == Outcome::kAcknowledged ? "" : "?");
      }
      if (list == &own_) text += " | not in the log:";
    }
    return text;
  }

  const WriterRecord& writer_;
  const History& history_;
  TableState replayed_;
  std::vector<const Operation*> own_;       // in log order
  std::vector<const Operation*> unlogged_;  // in order of start
};

// Some number of whole generations: those that were published before it started, perhaps more.
void CheckScanOfPublished(const ScanRecord& scan, const GenerationStates& published, Violations* violations) {
  Generation generation = scan.published_before;
  for (; generation <= scan.published_after; generation = generation.Next()) {
    if (StateThrough(published, generation) == scan.state) return;
  }
  Violate(violations, "a scan without a writer saw {}, which no number of SSTables from {} to {} makes",
          Describe(scan.state), scan.published_before, scan.published_after);
}

}  // namespace

Violations CheckLog(const ShardObjects& shard) {
  Violations violations;
  Epoch rows_epoch, sentinel_epoch;
  Generation generation;
  for (size_t i = 0; i < shard.log.size(); ++i) {
    const LogEntry& entry = shard.log[i];
    Epoch epoch = entry.entry.writer_epoch;
    if (entry.position.value() != i + 1) {
      Violate(&violations, "the log has a gap before position {}", entry.position);
      return violations;
    }
    if (epoch > shard.TipEpoch() || epoch == Epoch())
      Violate(&violations, "entry {}: epoch {} was never claimed", entry.position, epoch);
    if (entry.entry.fence_sentinel != !HasRows(entry))
      Violate(&violations, "entry {}: rows in a sentinel, or none elsewhere", entry.position);
    if (!HasRows(entry)) {
      sentinel_epoch = std::max(sentinel_epoch, epoch);
      continue;
    }
    if (epoch < rows_epoch)
      Violate(&violations, "entry {}: epoch falls from {} to {}", entry.position, rows_epoch, epoch);
    if (epoch < sentinel_epoch) {
      Violate(&violations, "entry {}: rows of epoch {} above the sentinel of epoch {}", entry.position, epoch,
              sentinel_epoch);
    }
    if (!entry.entry.generation || *entry.entry.generation < generation || *entry.entry.generation == Generation()) {
      Violate(&violations, "entry {}: generation missing, or falls from {}", entry.position, generation);
    }
    rows_epoch = std::max(rows_epoch, epoch);
    generation = std::max(generation, entry.entry.generation.value_or(Generation()));
  }
  return violations;
}

std::vector<LoggedOperation> TraceLog(const ShardObjects& shard, const History& history, Violations* violations) {
  std::vector<LoggedOperation> traced;
  std::set<int64_t> seen;
  for (const LogEntry& entry : shard.log) {
    for (int64_t id : EntryTracer(entry, history, violations).Trace()) {
      const Operation& operation = history.operations().at(id);
      const WriterRecord& writer = history.writers().at(static_cast<size_t>(operation.writer));
      if (!seen.insert(id).second)
        Violate(violations, "operation {} is in the log twice, again at {}", id, entry.position);
      if (operation.outcome == Outcome::kRefused)
        Violate(violations, "operation {} was refused, but is in the log", id);
      if (writer.opened != 0 && writer.epoch != entry.entry.writer_epoch) {
        Violate(violations, "operation {} of epoch {} is in an entry of epoch {}", id, writer.epoch,
                entry.entry.writer_epoch);
      }
      traced.push_back({id, entry.position, entry.entry.writer_epoch, entry.entry.generation.value_or(Generation(0))});
    }
  }
  return traced;
}

Violations CheckOperations(const std::vector<LoggedOperation>& log, const History& history) {
  Violations violations;
  Order order(log);
  for (const auto& [writer, operations] : ByWriter(history)) {
    for (const Operation* operation : operations) {
      if (operation->durable != 0 && !order.PlaceOf(operation->id)) {
        Violate(&violations, "operation {} was acknowledged as durable, but is not in the log", operation->id);
      }
    }
    CheckOrderOfOne(operations, order, &violations);
  }
  return violations;
}

Violations CheckFences(const ShardObjects& shard, const History& history) {
  Violations violations;
  for (const WriterRecord& writer : history.writers()) {
    bool needs_sentinel = writer.opened != 0 && writer.epoch > Epoch(1);
    if (needs_sentinel && SentinelOf(shard, writer.epoch) == WalPosition()) {
      Violate(&violations, "epoch {} opened without a sentinel", writer.epoch);
    }
  }
  return violations;
}

TableState Replayed(const std::vector<LoggedOperation>& log, const History& history) {
  TableState state = history.base();
  for (const LoggedOperation& logged : log) history.operations().at(logged.operation).ApplyTo(&state);
  return state;
}

Violations CheckScans(const ShardObjects& shard, const std::vector<LoggedOperation>& log, const History& history) {
  Violations violations;
  std::map<int, ScanChecker> checkers;
  const GenerationStates published = StatesByGeneration(log, history);
  for (const ScanRecord& scan : history.scans()) {
    if (scan.writer < 0) {
      CheckScanOfPublished(scan, published, &violations);
      continue;
    }
    const WriterRecord& writer = history.writers().at(static_cast<size_t>(scan.writer));
    checkers.try_emplace(scan.writer, writer, shard, log, history).first->second.Check(scan, &violations);
  }
  return violations;
}

Violations CheckTails(const ShardObjects& shard, const std::vector<LoggedOperation>& log, const History& history) {
  Violations violations;
  for (const TailRecord& tail : history.tails()) {
    for (size_t i = 0; i < tail.digests.size(); ++i) {
      if (i >= shard.log.size() || shard.log[i].digest != tail.digests[i]) {
        Violate(&violations, "a tail at moments {}-{} read an entry {} that is not the one in the log", tail.started,
                tail.finished, i + 1);
      }
    }
    for (const LoggedOperation& logged : log) {
      const Operation& operation = history.operations().at(logged.operation);
      bool due = operation.durable != 0 && operation.durable < tail.started;
      if (due && logged.position >= tail.next) {
        Violate(&violations,
                "a tail that started at moment {} stopped at {}, below operation {} at {}, durable since moment {}",
                tail.started, tail.next, logged.operation, logged.position, operation.durable);
      }
    }
  }
  return violations;
}

Violations CheckEverything(const ShardObjects& shard, const History& history, const std::vector<BaseVersion>& base) {
  Violations violations = history.violations();
  Append(&violations, CheckManifests(shard));
  Append(&violations, CheckSeals(shard, history));
  Append(&violations, CheckLog(shard));
  auto log = TraceLog(shard, history, &violations);
  Append(&violations, CheckOperations(log, history));
  Append(&violations, CheckFences(shard, history));
  Append(&violations, CheckScans(shard, log, history));
  Append(&violations, CheckTails(shard, log, history));
  Append(&violations, CheckFolders(shard, history));
  if (base.empty()) return violations;
  Append(&violations, CheckBase(shard, log, history, base));
  Append(&violations, CheckRetired(shard, base));
  return violations;
}

}  // namespace javelin::simulation
