// How far each index has caught up with compaction, derived in every commit (docs/format.md, "MemWAL: catch-up").
//
// No writer claims a position: an index whose segments together cover every fragment of the version a commit was built
// against holds everything that was compacted by then. An index that the commit leaves as it was keeps what it had.
#pragma once

#include <optional>
#include <vector>

#include "javelin/table/manifest.h"
#include "javelin/table/mem_wal_details.h"

namespace javelin::table {

struct CatchUpInputs {
  const Manifest& read;                   // the version the commit was built against
  const std::vector<IndexEntry>& before;  // indices of the version it lands on
  const std::vector<IndexEntry>& after;   // indices once it is applied
  const MemWalDetails& details;           // of the MemWAL entry in `after`
};

// What the commit records, by index name. Has no error of its own: what cannot be read proves nothing.
std::vector<IndexCatchup> DeriveCatchUp(const CatchUpInputs& inputs);

// Brings the MemWAL entry of `next` (if it has one with progress) up to date; leaves it alone, bytes and UUID, when
// nothing changes.
void RefreshCatchUp(const Manifest& read, const std::vector<IndexEntry>& before, const Uuid& new_uuid, Manifest& next);

}  // namespace javelin::table
