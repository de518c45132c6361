// Which tables we may read and write, by the feature words of their manifest (docs/format.md, "Tables: feature flags").
//
// A bit that we do not know means the table holds something that we would read or write wrongly, so it is refused by
// name.
#pragma once

#include <cstdint>
#include <string_view>

#include <arrow/status.h>

#include "javelin/table/manifest.h"

namespace javelin::table {

namespace flag {
inline constexpr uint64_t kDeletionFiles = 1;
inline constexpr uint64_t kStableRowIds = 2;
inline constexpr uint64_t kOldV2Files = 4;  // ignored and cleared
inline constexpr uint64_t kTableConfig = 8;
inline constexpr uint64_t kBasePaths = 16;
inline constexpr uint64_t kNoTransactionFiles = 32;
inline constexpr uint64_t kDataOverlays = 64;  // refused
inline constexpr uint64_t kCoveringIndices = 128;
inline constexpr uint64_t kMixedFileVersions = 256;       // paired, sticky
inline constexpr uint64_t kStableIdsAndReuseIndex = 512;  // refused
inline constexpr uint64_t kTaggedReuseIndex = 1024;       // paired, sticky
inline constexpr uint64_t kSpilledLineage = 2048;
inline constexpr uint64_t kManagedBlobs = 16384;  // paired, sticky
inline constexpr uint64_t kLastingFieldIds =
    32768;  // writer word only, sticky; set if and only if the manifest has the mark
inline constexpr uint64_t kZoneWriteSeed = 65536;  // paired, refused
}  // namespace flag

// At open. Corruption: a paired bit in one word only, or bit 32768 that disagrees with the manifest; NotSupported: a
// bit of the reader word that we do not handle.
arrow::Status CheckReadable(const Manifest& manifest);
// Before the first byte of a change is written. NotSupported: a bit of the writer word that we do not handle.
arrow::Status CheckWritable(const Manifest& manifest);

// Sets both words of `next` from what it holds, and keeps what `previous` (nullptr = none) had for good.
void RecomputeFlags(const Manifest* previous, Manifest& next);

}  // namespace javelin::table
