// What commits look at inside an index entry; everything else of it is carried unread.
#pragma once

#include <optional>
#include <string_view>

#include "javelin/table/manifest.h"
#include "javelin/table/offset_set.h"
#include "javelin/table/uuid.h"

namespace javelin::table {

inline constexpr std::string_view kFragmentReuseIndexName = "__lance_frag_reuse";

// Not made by users and without fields: MemWAL, fragment reuse.
bool IsSystemIndex(const IndexEntry& index);

// The fragments an index covers; nullopt where the entry does not say or does not decode, which proves nothing.
std::optional<OffsetSet> CoverageOf(const IndexEntry& index);
// The same entry over other fragments; every other byte of meaning is kept.
IndexEntry WithCoverage(const IndexEntry& index, const OffsetSet& fragments);

// The same entry with other details / as a new one: readers keep decoded entries by UUID.
IndexEntry WithDetails(const IndexEntry& index, std::string details);
IndexEntry Reissued(const IndexEntry& index, const Uuid& uuid, uint64_t dataset_version, int64_t created_at_ms);

}  // namespace javelin::table
