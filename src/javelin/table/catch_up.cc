#include "javelin/table/catch_up.h"

#include "javelin/table/index_entry.h"

namespace javelin::table {

namespace {

using Segments = std::vector<const IndexEntry*>;

std::map<std::string_view, Segments> UserIndices(const std::vector<IndexEntry>& indices) {
  std::map<std::string_view, Segments> by_name;
  for (const IndexEntry& index : indices) {
    if (!IsSystemIndex(index)) by_name[index.name].push_back(&index);
  }
  return by_name;
}

// Compares the whole stored metadata: a bitmap can be pruned in place under the same UUID.
bool SameSegments(const Segments& a, const Segments& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const IndexEntry* x, const IndexEntry* y) { return x->encoded == y->encoded; });
}

// Do the segments together cover all these fragments? Without fragments or without a bitmap nothing is proven.
bool Covers(const Segments& segments, const OffsetSet& fragments) {
  if (fragments.empty()) return false;
  OffsetSet missing = fragments;
  for (const IndexEntry* segment : segments) {
    const std::optional<OffsetSet> coverage = CoverageOf(*segment);
    if (!coverage) return false;
    missing = missing.Without(*coverage);
  }
  return missing.empty();
}

Generation RecordedFor(const std::vector<IndexCatchup>& catchup, std::string_view index, const Uuid& shard) {
  Generation recorded;
  for (const IndexCatchup& entry : catchup) {
    if (entry.index_name != index) continue;
    for (const CompactedSsTable& position : entry.caught_up) {
      if (position.shard_id == shard) recorded = std::max(recorded, position.generation);
    }
  }
  return recorded;
}

OffsetSet FragmentIds(const Manifest& manifest) {
  std::vector<uint32_t> ids;
  for (const Fragment& fragment : manifest.fragments) ids.push_back(static_cast<uint32_t>(fragment.id.value()));
  return OffsetSet::FromUnsorted(std::move(ids));
}

MemWalDetails DetailsOf(const Manifest& manifest) {
  auto details = ReadMemWalDetails(manifest);
  return details.ok() && *details ? **std::move(details) : MemWalDetails{};
}

}  // namespace

std::vector<IndexCatchup> DeriveCatchUp(const CatchUpInputs& inputs) {
  const OffsetSet required = FragmentIds(inputs.read);
  const MemWalDetails at_read = DetailsOf(inputs.read);
  const auto before = UserIndices(inputs.before);
  std::vector<IndexCatchup> derived;
  for (const auto& [name, segments] : UserIndices(inputs.after)) {
    const auto old = before.find(name);
    const bool unchanged = old != before.end() && SameSegments(old->second, segments);
    const bool proven = Covers(segments, required);
    IndexCatchup entry{std::string(name), {}};
    for (const CompactedSsTable& compacted : inputs.details.compacted_sstables) {
      const Generation prior =
          unchanged ? RecordedFor(inputs.details.index_catchup, name, compacted.shard_id) : Generation();
      const Generation credited =
          proven ? std::min(at_read.CompactedThrough(compacted.shard_id), compacted.generation) : Generation();
      const Generation through = std::min(std::max(prior, credited), compacted.generation);
      if (through != Generation()) entry.caught_up.push_back({compacted.shard_id, through});
    }
    if (!entry.caught_up.empty()) derived.push_back(std::move(entry));
  }
  return derived;
}

void RefreshCatchUp(const Manifest& read, const std::vector<IndexEntry>& before, const Uuid& new_uuid, Manifest& next) {
  for (IndexEntry& index : next.indices) {
    if (index.name != kMemWalIndexName) continue;
    auto details = DecodeMemWalDetails(index.details);
    if (!details.ok() || (details->compacted_sstables.empty() && details->index_catchup.empty())) return;
    std::vector<IndexCatchup> derived = DeriveCatchUp({read, before, next.indices, *details});
    if (derived == details->index_catchup) return;
    details->index_catchup = std::move(derived);
    index = Reissued(WithDetails(index, EncodeMemWalDetails(*details)), new_uuid, next.version.value(),
                     next.timestamp_ns / 1'000'000);
    return;
  }
}

}  // namespace javelin::table
