#include "javelin/base/error.h"
#include "javelin/table/apply_internal.h"
#include "javelin/table/compaction_progress.h"
#include "javelin/table/row_lineage_internal.h"

namespace javelin::table {

namespace {

arrow::Status CheckNamedOnce(const std::vector<Fragment>& updated, const std::vector<FragmentId>& removed) {
  std::set<FragmentId> named(removed.begin(), removed.end());
  for (const Fragment& fragment : updated) named.insert(fragment.id);
  if (named.size() == removed.size() + updated.size()) return arrow::Status::OK();
  return InvalidInput("an update names a fragment twice");
}

// The fragment of `next`, whose rows must be masked as the update knows: as in the version that it was built against,
// but for masks that it was merged with.
arrow::Result<Fragment*> FindAsKnown(FragmentId id, const ApplyContext& context, Manifest& next) {
  const Fragment* read = FindFragment(*context.read, id);
  if (read == nullptr)
    return InvalidInput("an update of fragment {}, which version {} does not have", id, context.read->version);
  std::optional<DeletionFile> known = read->deletion_file;
  if (context.merged != nullptr && context.merged->contains(id)) known = context.merged->at(id);
  Fragment* found = FindFragment(next, id);
  if (found == nullptr || found->deletion_file != known)
    return Changed(fmt::format("rows of fragment {}", id), context);
  return found;
}

// Only the deletion file is taken: whatever else of the fragment another commit changed stays as it made it.
arrow::Status Mask(const Fragment& updated, const ApplyContext& context, Manifest& next) {
  ARROW_ASSIGN_OR_RAISE(Fragment * found, FindAsKnown(updated.id, context, next));
  if (!updated.deletion_file) return InvalidInput("an update of fragment {} without a deletion file", updated.id);
  found->deletion_file = updated.deletion_file;
  return arrow::Status::OK();
}

arrow::Status MaskAll(const std::vector<Fragment>& updated, const ApplyContext& context, Manifest& next) {
  for (const Fragment& fragment : updated) ARROW_RETURN_NOT_OK(Mask(fragment, context, next));
  return arrow::Status::OK();
}

arrow::Status RemoveAll(const std::vector<FragmentId>& ids, const ApplyContext& context, Manifest& next) {
  for (FragmentId id : ids) ARROW_RETURN_NOT_OK(FindAsKnown(id, context, next).status());
  const std::set<FragmentId> removed(ids.begin(), ids.end());
  std::erase_if(next.fragments, [&](const Fragment& fragment) { return removed.contains(fragment.id); });
  return arrow::Status::OK();
}

// Columns of whole fragments were replaced.
arrow::Status ReplaceColumns(const Update& update, const ApplyContext& context, Manifest& next) {
  std::vector<uint32_t> ids;
  for (const Fragment& updated : update.updated_fragments) {
    ARROW_ASSIGN_OR_RAISE(Fragment * found, FindAsKnown(updated.id, context, next));
    if (found->files != FindFragment(*context.read, updated.id)->files)
      return Changed(fmt::format("columns of fragment {}", updated.id), context);
    found->files = updated.files;
    found->deletion_file = updated.deletion_file;
    if (HasStableRowIds(next)) {
      const auto offsets = update.updated_offsets.find(updated.id);
      ARROW_ASSIGN_OR_RAISE(
          found->lineage,
          LineageOfUpdatedRows(*found, offsets == update.updated_offsets.end() ? nullptr : &offsets->second,
                               next.version));
    }
    ids.push_back(static_cast<uint32_t>(updated.id.value()));
  }
  DropDeadFiles(nullptr, next);
  PruneCoverage({update.fields_modified.begin(), update.fields_modified.end()}, OffsetSet::FromUnsorted(std::move(ids)),
                next);
  return arrow::Status::OK();
}

}  // namespace

// Indices keep their coverage: masked rows are left out by whoever reads, and a coverage may name fragments that are
// gone.
arrow::Status ApplyDelete(const Delete& deletion, const ApplyContext& context, Manifest& next) {
  ARROW_RETURN_NOT_OK(CheckNamedOnce(deletion.updated_fragments, deletion.deleted_fragment_ids));
  KeepFragmentIds(next);
  ARROW_RETURN_NOT_OK(MaskAll(deletion.updated_fragments, context, next));
  ARROW_RETURN_NOT_OK(RemoveAll(deletion.deleted_fragment_ids, context, next));
  RetainRelevantIndices(next);
  return arrow::Status::OK();
}

// As for Delete; new fragments are in no coverage.
arrow::Status ApplyUpdate(const Update& update, const ApplyContext& context, Manifest& next) {
  ARROW_RETURN_NOT_OK(CheckNamedOnce(update.updated_fragments, update.removed_fragment_ids));
  ARROW_RETURN_NOT_OK(CheckNewRows(update.new_fragments, context));
  const uint64_t first_id = NextFragmentId(next);
  KeepFragmentIds(next);
  ARROW_RETURN_NOT_OK(update.rewrites_columns ? ReplaceColumns(update, context, next)
                                              : MaskAll(update.updated_fragments, context, next));
  ARROW_RETURN_NOT_OK(RemoveAll(update.removed_fragment_ids, context, next));
  ARROW_RETURN_NOT_OK(AddFragments(update.new_fragments, first_id, next));
  RetainRelevantIndices(next);
  return RecordProgress(update.compacted_sstables, context.system_index_uuid, next);
}

}  // namespace javelin::table
