// 1-3, 16: the versions of the shard manifest, each by itself and against the one before it.
#include <algorithm>
#include <map>

#include "invariants.h"

namespace javelin::simulation {

namespace {

using memwal::ShardManifest;
using memwal::SsTableEntry;

bool Lists(const ShardManifest& manifest, const SsTableEntry& entry) {
  return std::find(manifest.sstables.begin(), manifest.sstables.end(), entry) != manifest.sstables.end();
}

// Some steps change one thing; `expected` is the manifest before with that change.
void CheckChangesNothingElse(const ShardManifest& after, ShardManifest expected, const char* step,
                             Violations* violations) {
  expected.version = after.version;
  if (!(expected == after)) Violate(violations, "manifest {}: {}", after.version, step);
}

void CheckEpoch(const ShardManifest& before, const ShardManifest& after, Violations* violations) {
  if (after.writer_epoch < before.writer_epoch || after.writer_epoch.value() > before.writer_epoch.value() + 1)
    Violate(violations, "manifest {}: epoch {} follows {}", after.version, after.writer_epoch, before.writer_epoch);
  if (after.writer_epoch <= before.writer_epoch) return;
  ShardManifest expected = before;
  expected.writer_epoch = after.writer_epoch;
  CheckChangesNothingElse(after, expected, "a claim changed more than the epoch", violations);
}

void CheckCursors(const ShardManifest& before, const ShardManifest& after, Violations* violations) {
  if (after.current_generation < before.current_generation)
    Violate(violations, "manifest {}: current_generation falls", after.version);
  if (after.replay_after < before.replay_after) Violate(violations, "manifest {}: replay_after falls", after.version);
  if (after.wal_position_last_seen < before.wal_position_last_seen)
    Violate(violations, "manifest {}: last seen falls", after.version);
}

// A flush adds one at the end; retiring takes some out and does nothing else.
void CheckList(const ShardManifest& before, const ShardManifest& after, Violations* violations) {
  std::vector<SsTableEntry> kept = before.sstables;
  std::erase_if(kept, [&](const SsTableEntry& entry) { return !Lists(after, entry); });
  if (kept.size() < before.sstables.size()) {
    ShardManifest expected = before;
    expected.sstables = kept;
    CheckChangesNothingElse(after, expected, "taking SSTables out changed more than the list", violations);
  } else if (!std::equal(kept.begin(), kept.end(), after.sstables.begin())) {
    Violate(violations, "manifest {}: the order of the SSTables changes", after.version);
  }
}

void CheckSuccessor(const ShardManifest& before, const ShardManifest& after, Violations* violations) {
  CheckEpoch(before, after, violations);
  CheckCursors(before, after, violations);
  CheckList(before, after, violations);
  if (after.shard_id != before.shard_id || after.shard_spec_id != before.shard_spec_id)
    Violate(violations, "manifest {}: shard id or spec changes", after.version);
  if (after.status == before.status) return;
  ShardManifest expected = before;
  expected.status = after.status;
  CheckChangesNothingElse(after, expected, "a seal or its end changed more than the status", violations);
}

// Published in order of generation, and nothing but published rows lies below the cursor of the replay.
void CheckSsTables(const ShardObjects& shard, const ShardManifest& manifest, Violations* violations) {
  Generation last;
  for (const SsTableEntry& sstable : manifest.sstables) {
    if (sstable.generation <= last || sstable.generation >= manifest.current_generation) {
      Violate(violations, "manifest {}: SSTable of generation {} behind {}, current is {}", manifest.version,
              sstable.generation, last, manifest.current_generation);
    }
    last = sstable.generation;
  }
  for (const LogEntry& entry : shard.log) {
    if (entry.position > manifest.replay_after || entry.entry.batches.empty()) continue;
    if (!entry.entry.generation.has_value() || *entry.entry.generation >= manifest.current_generation) {
      Violate(violations, "manifest {}: entry {} lies below the cursor {}, but its generation is not published",
              manifest.version, entry.position, manifest.replay_after);
    }
  }
}

// A generation is published once, whatever came between.
void CheckPublishedOnce(const ShardObjects& shard, Violations* violations) {
  std::map<Generation, SsTableEntry> published;
  for (const ShardManifest& manifest : shard.manifests) {
    for (const SsTableEntry& sstable : manifest.sstables) {
      const auto& first = published.emplace(sstable.generation, sstable).first->second;
      if (first == sstable) continue;
      Violate(violations, "manifest {}: generation {} is in {}, but was in {}", manifest.version, sstable.generation,
              sstable.path, first.path);
    }
  }
}

}  // namespace

Violations CheckSeals(const ShardObjects& shard, const History& history) {
  Violations violations;
  for (size_t i = 0; i < shard.manifests.size(); ++i) {
    const ShardManifest& manifest = shard.manifests[i];
    if (manifest.status != memwal::ShardStatus::kSealed) continue;
    if (!history.seals_may_happen())
      Violate(&violations, "manifest {}: sealed, but nobody seals here", manifest.version);
    const bool newest = i + 1 == shard.manifests.size();
    if (!newest && shard.manifests[i + 1].writer_epoch > manifest.writer_epoch)
      Violate(&violations, "manifest {}: claimed while it is sealed", shard.manifests[i + 1].version);
    const int64_t end = newest ? INT64_MAX : shard.manifest_written_ns.at(i + 1);
    for (const LogEntry& entry : shard.log) {
      const bool inside = entry.written_ns > shard.manifest_written_ns.at(i) && entry.written_ns < end;
      if (inside && !entry.entry.batches.empty())
        Violate(&violations, "entry {}: rows that came while manifest {} was sealed", entry.position, manifest.version);
    }
  }
  return violations;
}

Violations CheckManifests(const ShardObjects& shard) {
  Violations violations;
  for (const std::string& text : shard.undecodable) Violate(&violations, "does not decode: {}", text);
  for (size_t i = 0; i < shard.manifests.size(); ++i) {
    const ShardManifest& manifest = shard.manifests[i];
    ManifestVersion name = shard.manifest_names[i];
    if (manifest.version != name) Violate(&violations, "manifest file {} says version {}", name, manifest.version);
    if (name.value() != i + 1) Violate(&violations, "manifest versions have a gap before {}", name);
    if (manifest.wal_position_last_seen.value() > shard.log.size()) {
      Violate(&violations, "manifest {}: last seen {} is ahead of the log", name, manifest.wal_position_last_seen);
    }
    CheckSsTables(shard, manifest, &violations);
    if (i > 0) CheckSuccessor(shard.manifests[i - 1], manifest, &violations);
  }
  CheckPublishedOnce(shard, &violations);
  return violations;
}

}  // namespace javelin::simulation
