// Whether the id of a dropped column may be given to another one.
//
// Lance gives a new column the id behind the largest that the schema and the data files name, unless the table keeps a
// mark of the largest ever given (manifest field 24 and feature bit 32768, docs/format.md). Rows that wait in a shard
// are matched to columns by id, and no data file names theirs: without the mark the values of a dropped column would
// turn up in the next one that is added.
#pragma once

#include "javelin/table/manifest.h"

namespace javelin::table {

// Gives `next` the mark if it has MemWAL, and raises one that it has; `head`: the version before it, or none.
void KeepFieldIds(const Manifest* head, Manifest& next);

}  // namespace javelin::table
