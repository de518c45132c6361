#include "javelin/table/row_rebase.h"

#include "javelin/base/error.h"

namespace javelin::table {

namespace {

const Fragment* Find(const Manifest& manifest, FragmentId id) {
  const auto found = std::lower_bound(manifest.fragments.begin(), manifest.fragments.end(), id,
                                      [](const Fragment& fragment, FragmentId wanted) { return fragment.id < wanted; });
  return found != manifest.fragments.end() && found->id == id ? &*found : nullptr;
}

class MaskRebaser {
 public:
  MaskRebaser(const RowsByFragment& affected, const Manifest& read, const Manifest& head, DeletionFiles& files,
              MergedMasks& merged)
      : affected_(affected), read_(read), head_(head), files_(files), merged_(merged) {}

  arrow::Status Run(std::vector<Fragment>& updated, std::vector<FragmentId>& removed) {
    std::vector<Fragment> kept;
    for (Fragment& fragment : updated) {
      ARROW_ASSIGN_OR_RAISE(const bool has_rows, Follow(fragment));
      if (has_rows) {
        kept.push_back(std::move(fragment));
      } else {
        removed.push_back(fragment.id);
      }
    }
    updated = std::move(kept);
    return arrow::Status::OK();
  }

 private:
  // False: no row of it is left.
  arrow::Result<bool> Follow(Fragment& ours) {
    const Fragment *now = Find(head_, ours.id), *then = Find(read_, ours.id);
    const auto rows = affected_.find(ours.id);
    if (now == nullptr || then == nullptr || rows == affected_.end()) return true;  // found out when it is applied
    const auto followed = merged_.find(ours.id);
    if (now->deletion_file == (followed != merged_.end() ? followed->second : then->deletion_file)) return true;
    OffsetSet deleted;
    if (now->deletion_file) {
      ARROW_ASSIGN_OR_RAISE(deleted, files_.Read(*now));
    }
    if (deleted.Intersects(rows->second)) {
      return MakeError(
          ErrorKind::kRetryableConflict,
          fmt::format("a row of fragment {} was deleted or replaced by another commit since version {}; run "
                      "the operation again on the newest version",
                      ours.id, read_.version),
          {{"fragment", fmt::format("{}", ours.id)}});
    }
    deleted = deleted.With(rows->second);
    merged_[ours.id] = now->deletion_file;
    if (now->physical_rows != 0 && deleted.size() >= now->physical_rows) return false;
    ARROW_ASSIGN_OR_RAISE(ours.deletion_file, files_.Write(ours.id, deleted, head_));
    return true;
  }

  const RowsByFragment& affected_;
  const Manifest& read_;
  const Manifest& head_;
  DeletionFiles& files_;
  MergedMasks& merged_;
};

}  // namespace

arrow::Status RebaseMasks(Transaction& ours, const Manifest& read, const Manifest& head, DeletionFiles& files,
                          MergedMasks& merged) {
  if (!ours.affected_rows || read.version == head.version) return arrow::Status::OK();
  MaskRebaser rebaser(*ours.affected_rows, read, head, files, merged);
  if (auto* deletion = std::get_if<Delete>(&ours.operation))
    return rebaser.Run(deletion->updated_fragments, deletion->deleted_fragment_ids);
  if (auto* update = std::get_if<Update>(&ours.operation); update != nullptr && !update->rewrites_columns)
    return rebaser.Run(update->updated_fragments, update->removed_fragment_ids);
  return arrow::Status::OK();
}

}  // namespace javelin::table
