// Shards with SSTables, for the tests of compaction.
#pragma once

#include <string>
#include <vector>

#include "javelin/memwal/compactor.h"
#include "javelin/memwal/writer_test_world.h"

namespace javelin::memwal::test {

inline Uuid ShardId() { return Must(Uuid::Parse(kShard)); }

// Rows of the table, in its order.
inline std::string Base(const Process& process, const ScanOptions& options = {}) {
  return Text(*Collect(process.Table()->Scan(options)));
}

// Puts the batches, then makes them one SSTable.
inline void FlushRows(ShardWriter& writer, const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches) {
  ASSERT_OK(writer.Put(batches));
  ASSERT_OK(writer.Flush());
}
inline void FlushRows(ShardWriter& writer, const std::string& json) { FlushRows(writer, {Rows(json)}); }

// One generation each, written by a writer that is closed afterwards.
inline void FlushGenerations(const Process& process, const std::vector<std::string>& generations) {
  const auto writer = process.Open();
  for (const std::string& json : generations) FlushRows(*writer, json);
  ASSERT_OK(writer->Close());
}

inline ShardManifest TipOf(const Process& process) {
  ShardManifestStore manifests(process.session->resources(), process.Table()->location().store, "table", ShardId());
  return *Must(manifests.RefreshLatest());
}
inline std::vector<Generation> Listed(const Process& process) {
  std::vector<Generation> generations;
  for (const SsTableEntry& entry : TipOf(process).sstables) generations.push_back(entry.generation);
  return generations;
}
inline Generation Recorded(const Process& process) {
  return Must(table::ReadMemWalDetails(process.Table()->manifest()))->CompactedThrough(ShardId());
}

inline CompactOptions KeepFolders() { return {}; }
inline CompactOptions AtOnce() {
  CompactOptions options;
  options.retired_grace = Duration::zero();
  return options;
}
inline ShardCompaction Compact(const Process& process, const CompactOptions& options = {}) {
  const auto report = Must(CompactShards(*process.Table(), options));
  EXPECT_EQ(report.shards.size(), 1u);
  return report.shards.at(0);
}
inline std::vector<Generation> Generations(uint64_t first, uint64_t last) {
  std::vector<Generation> generations;
  for (uint64_t i = first; i <= last; ++i) generations.push_back(Generation(i));
  return generations;
}

// ReserveFragments{1}: a transaction that nothing conflicts with.
inline const std::string kReserve("\x12\x01x\xda\x06\x02\x08\x01", 8);

// The next version of the table, as somebody else would put it.
inline PutRequest NextVersion(const Dataset& table, const std::function<void(table::Manifest&)>& change,
                              const std::string& transaction = kReserve) {
  table::Manifest manifest = table.manifest();
  manifest.version = manifest.version.Next();
  change(manifest);
  const std::string name = fmt::format("{:020}.manifest", UINT64_MAX - manifest.version.value());
  return {table.Key("_versions/" + name), Must(table::EncodeManifestFile(manifest, transaction))};
}
inline void PlantVersion(World& world, const Dataset& table, const std::function<void(table::Manifest&)>& change) {
  const PutRequest version = NextVersion(table, change);
  ASSERT_OK(world.store->raw().PutIfAbsent(version.key, version.bytes));
}

// How many objects lie below folders of SSTables.
inline size_t SsTableObjects(World& world) {
  size_t count = 0;
  for (const auto& object : Must(ListAll(world.store->raw(), {})).objects) {
    if (object.key.find("_gen_") != std::string::npos) ++count;
  }
  return count;
}

inline uint64_t SsTableBytes(World& world) {
  uint64_t bytes = 0;
  for (const auto& object : Must(ListAll(world.store->raw(), {})).objects) {
    if (object.key.find("_gen_") != std::string::npos) bytes += object.size;
  }
  return bytes;
}

}  // namespace javelin::memwal::test
