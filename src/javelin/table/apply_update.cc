#include "javelin/base/error.h"
#include "javelin/table/apply_internal.h"
#include "javelin/table/compaction_progress.h"

namespace javelin::table {

namespace {

auto Find(std::vector<Fragment>& fragments, FragmentId id) {
  auto found = std::lower_bound(fragments.begin(), fragments.end(), id,
                                [](const Fragment& fragment, FragmentId wanted) { return fragment.id < wanted; });
  return found != fragments.end() && found->id == id ? found : fragments.end();
}

const Fragment* Find(const Manifest& manifest, FragmentId id) {
  for (const Fragment& fragment : manifest.fragments) {
    if (fragment.id == id) return &fragment;
  }
  return nullptr;
}

arrow::Status CheckNamedOnce(const Update& update) {
  std::set<FragmentId> named(update.removed_fragment_ids.begin(), update.removed_fragment_ids.end());
  for (const Fragment& fragment : update.updated_fragments) named.insert(fragment.id);
  if (named.size() == update.removed_fragment_ids.size() + update.updated_fragments.size()) return arrow::Status::OK();
  return InvalidInput("an update names a fragment twice");
}

// The fragment of `next`, whose rows must be masked as they were in the version that the update was built against.
arrow::Result<std::vector<Fragment>::iterator> FindAsRead(FragmentId id, const ApplyContext& context, Manifest& next) {
  const Fragment* read = Find(*context.read, id);
  if (read == nullptr)
    return InvalidInput("an update of fragment {}, which version {} does not have", id, context.read->version);
  const auto found = Find(next.fragments, id);
  if (found == next.fragments.end() || found->deletion_file != read->deletion_file) {
    return RetryableConflict("rows of fragment {} changed since version {}; run the operation again", id,
                             context.read->version);
  }
  return found;
}

// Only the deletion file is taken: whatever else of the fragment another commit changed stays as it made it.
arrow::Status Mask(const Fragment& updated, const ApplyContext& context, Manifest& next) {
  ARROW_ASSIGN_OR_RAISE(const auto found, FindAsRead(updated.id, context, next));
  if (!updated.deletion_file) return InvalidInput("an update of fragment {} without a deletion file", updated.id);
  found->deletion_file = updated.deletion_file;
  return arrow::Status::OK();
}

arrow::Status Remove(FragmentId id, const ApplyContext& context, Manifest& next) {
  ARROW_ASSIGN_OR_RAISE(const auto found, FindAsRead(id, context, next));
  next.fragments.erase(found);
  return arrow::Status::OK();
}

}  // namespace

// Indices stay as they are: masked rows are left out by whoever reads, new fragments are in no coverage, and a coverage
// may name fragments that are gone.
arrow::Status ApplyUpdate(const Update& update, const ApplyContext& context, Manifest& next) {
  if (context.head == nullptr) return InvalidInput("an update needs a table");
  ARROW_RETURN_NOT_OK(CheckNamedOnce(update));
  ARROW_RETURN_NOT_OK(CheckNewRows(update.new_fragments, context));
  const uint64_t first_id = NextFragmentId(next);
  if (first_id > 0) next.max_fragment_id = static_cast<uint32_t>(first_id - 1);  // also of one that goes now
  for (const Fragment& fragment : update.updated_fragments) ARROW_RETURN_NOT_OK(Mask(fragment, context, next));
  for (FragmentId id : update.removed_fragment_ids) ARROW_RETURN_NOT_OK(Remove(id, context, next));
  ARROW_RETURN_NOT_OK(AddFragments(update.new_fragments, first_id, next));
  return RecordProgress(update.compacted_sstables, context.system_index_uuid, next);
}

}  // namespace javelin::table
