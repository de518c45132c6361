// Parts of applying a transaction that several operations share. `next` starts as a copy of the version that the commit
// lands on, flags included.
#pragma once

#include <set>
#include <vector>

#include <arrow/status.h>

#include "javelin/table/apply.h"
#include "javelin/table/offset_set.h"

namespace javelin::table {

bool HasStableRowIds(const Manifest& manifest);
uint64_t NextFragmentId(const Manifest& manifest);
// nullptr: there is none.
Fragment* FindFragment(Manifest& manifest, FragmentId id);
const Fragment* FindFragment(const Manifest& manifest, FragmentId id);
// Raises the largest fragment id ever used to what `next` holds; before fragments are removed from it.
void KeepFragmentIds(Manifest& next);
// "… changed since version N": the operation has to run again.
arrow::Status Changed(std::string_view what, const ApplyContext& context);

// RetryableConflict: the schema changed so that the new rows no longer fit; InvalidInput: they never did.
arrow::Status CheckNewRows(const std::vector<Fragment>& fragments, const ApplyContext& context);
// Gives new fragments their ids, from `first_id`, and on tables that have them their rows' ids.
arrow::Status AddFragments(std::vector<Fragment> fragments, uint64_t first_id, Manifest& next);

// Takes the fragments out of the coverage of the indices on these fields.
void PruneCoverage(const std::set<FieldId>& fields, const OffsetSet& fragments, Manifest& next);
// Drops indices on fields that are gone, and of an index in several segments those that cover no fragment any more, but
// for the oldest.
void RetainRelevantIndices(Manifest& next);
// Drops data files none of whose columns are live: superseded ones only, or with `schema` none in it. A fragment keeps
// its first file, which says how many rows there are.
void DropDeadFiles(const file::Schema* schema, Manifest& next);

arrow::Status ApplyOverwrite(const Overwrite& overwrite, const ApplyContext& context, Manifest& next);
arrow::Status ApplyCreateIndex(const CreateIndex& create, const ApplyContext& context, Manifest& next);
arrow::Status ApplyDelete(const Delete& deletion, const ApplyContext& context, Manifest& next);
arrow::Status ApplyUpdate(const Update& update, const ApplyContext& context, Manifest& next);
arrow::Status ApplyRewrite(const Rewrite& rewrite, const ApplyContext& context, Manifest& next);
arrow::Status ApplyMerge(const Merge& merge, const ApplyContext& context, Manifest& next);
arrow::Status ApplyProject(const Project& project, const ApplyContext& context, Manifest& next);
arrow::Status ApplyRestore(const Restore& restore, const ApplyContext& context, Manifest& next);
arrow::Status ApplyReserveFragments(const ReserveFragments& reserve, const ApplyContext& context, Manifest& next);
arrow::Status ApplyUpdateConfig(const UpdateConfig& config, const ApplyContext& context, Manifest& next);
arrow::Status ApplyDataReplacement(const DataReplacement& replacement, const ApplyContext& context, Manifest& next);
arrow::Status ApplyUpdateMemWalState(const UpdateMemWalState& state, const ApplyContext& context, Manifest& next);
arrow::Status ApplyClone(const Clone& clone, const ApplyContext& context, Manifest& next);
arrow::Status ApplyUpdateBases(const UpdateBases& bases, const ApplyContext& context, Manifest& next);

}  // namespace javelin::table
