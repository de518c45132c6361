// 13-15: what compaction moved, took out of the list, and deleted.
#include <algorithm>

#include "invariants.h"

namespace javelin::simulation {

namespace {

// How far the base had come when something else was written.
Generation CompactedBy(const std::vector<BaseVersion>& base, int64_t written_ns) {
  Generation through;
  for (const BaseVersion& version : base) {
    if (version.written_ns <= written_ns) through = std::max(through, version.compacted_through);
  }
  return through;
}

bool ListsFolder(const memwal::ShardManifest& manifest, const std::string& folder) {
  return std::any_of(manifest.sstables.begin(), manifest.sstables.end(),
                     [&](const memwal::SsTableEntry& entry) { return entry.path == folder; });
}

}  // namespace

GenerationStates StatesByGeneration(const std::vector<LoggedOperation>& log, const History& history) {
  GenerationStates states{{Generation(0), history.base()}};
  TableState state = history.base();
  for (const LoggedOperation& logged : log) {
    history.operations().at(logged.operation).ApplyTo(&state);
    states[logged.generation] = state;
  }
  return states;
}

const TableState& StateThrough(const GenerationStates& states, Generation generation) {
  return std::prev(states.upper_bound(generation))->second;
}

Violations CheckBase(const ShardObjects& shard, const std::vector<LoggedOperation>& log, const History& history,
                     const std::vector<BaseVersion>& base) {
  Violations violations;
  const GenerationStates states = StatesByGeneration(log, history);
  Generation before;
  for (const BaseVersion& version : base) {
    const Generation through = version.compacted_through;
    if (through < before)
      Violate(&violations, "base {}: its mark falls from {} to {}", version.version, before, through);
    if (through > Generation(0) && (shard.manifests.empty() || through >= shard.manifests.back().current_generation))
      Violate(&violations, "base {}: generation {} was never published", version.version, through);
    if (version.rows != StateThrough(states, through)) {
      Violate(&violations, "base {}: holds {}, but the rows up to generation {} are {}", version.version,
              Describe(version.rows), through, Describe(StateThrough(states, through)));
    }
    before = std::max(before, through);
  }
  return violations;
}

Violations CheckRetired(const ShardObjects& shard, const std::vector<BaseVersion>& base) {
  Violations violations;
  for (size_t i = 0; i < shard.manifests.size(); ++i) {
    const memwal::ShardManifest& manifest = shard.manifests[i];
    const Generation through = CompactedBy(base, shard.manifest_written_ns.at(i));
    Generation expected = through.Next();
    for (const memwal::SsTableEntry& entry : manifest.sstables) {
      if (entry.generation == expected) expected = expected.Next();
    }
    if (expected < manifest.current_generation) {
      Violate(&violations, "manifest {}: generation {} is not listed, but the base held {} by then", manifest.version,
              expected, through);
    }
  }
  return violations;
}

Violations CheckFolders(const ShardObjects& shard, const History& history) {
  Violations violations;
  for (const FolderDeletion& deletion : history.deletions()) {
    for (const memwal::ShardManifest& manifest : shard.manifests) {
      if (manifest.version < deletion.newest || !ListsFolder(manifest, deletion.folder)) continue;
      Violate(&violations, "manifest {}: lists {}, which was deleted when manifest {} was the newest", manifest.version,
              deletion.folder, deletion.newest);
    }
  }
  if (shard.manifests.empty()) return violations;
  for (const memwal::SsTableEntry& entry : shard.manifests.back().sstables) {
    if (!shard.folders.contains(entry.path))
      Violate(&violations, "the newest manifest lists {}, which is not there", entry.path);
  }
  return violations;
}

}  // namespace javelin::simulation
