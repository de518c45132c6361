#include "javelin/base/error.h"
#include "javelin/table/apply_internal.h"
#include "javelin/table/index_entry.h"
#include "javelin/table/row_lineage.h"
#include "javelin/table/wire_internal.h"

namespace javelin::table {

namespace {

OffsetSet IdsOf(const std::vector<Fragment>& fragments) {
  std::vector<uint32_t> ids;
  for (const Fragment& fragment : fragments) ids.push_back(static_cast<uint32_t>(fragment.id.value()));
  return OffsetSet::FromUnsorted(std::move(ids));
}

// ---- fragments ----

// The rows were read as the group says, so that is how they must still be.
arrow::Status RemoveOld(const Rewrite::Group& group, const ApplyContext& context, Manifest& next) {
  std::set<FragmentId> old;
  for (const Fragment& fragment : group.old_fragments) {
    const Fragment* found = FindFragment(next, fragment.id);
    if (found == nullptr || found->deletion_file != fragment.deletion_file)
      return Changed(fmt::format("rows of fragment {}", fragment.id), context);
    if (!old.insert(fragment.id).second) return InvalidInput("a rewrite names fragment {} twice", fragment.id);
  }
  std::erase_if(next.fragments, [&](const Fragment& fragment) { return old.contains(fragment.id); });
  return arrow::Status::OK();
}

arrow::Status AddNew(const Rewrite::Group& group, uint64_t first_unreserved, Manifest& next) {
  for (Fragment fragment : group.new_fragments) {
    if (fragment.id.value() >= first_unreserved || FindFragment(next, fragment.id) != nullptr)
      return InvalidInput("fragment id {} of a rewrite was not reserved", fragment.id);
    if (!HasStableRowIds(next)) {
      fragment.lineage.clear();
    } else if (WhereRowIdsAre(fragment) == RowIdsKept::kNowhere) {
      return InvalidInput("fragment {} of a rewrite has no row ids", fragment.id);
    }
    const auto place = std::lower_bound(next.fragments.begin(), next.fragments.end(), fragment.id,
                                        [](const Fragment& other, FragmentId id) { return other.id < id; });
    next.fragments.insert(place, std::move(fragment));
  }
  return arrow::Status::OK();
}

// ---- indices ----

IndexEntry Rewritten(const IndexEntry& index, const Rewrite::RewrittenIndex& rewritten) {
  wire::IndexMetadata message;
  static_cast<void>(Parse(index.encoded, message, "an index entry"));
  message.mutable_uuid()->set_uuid(rewritten.new_uuid);
  message.mutable_index_details()->set_type_url(rewritten.details_type_url);
  message.mutable_index_details()->set_value(rewritten.details);
  message.set_index_version(static_cast<int32_t>(rewritten.version));
  message.clear_files();
  for (const IndexFile& file : rewritten.files) {
    wire::IndexFile* out = message.add_files();
    out->set_path(file.path);
    out->set_size_bytes(file.size_bytes);
  }
  message.clear_base_id();  // the new files lie in this table
  IndexEntry out = index;
  out.uuid = rewritten.new_uuid;
  out.details_type_url = rewritten.details_type_url;
  out.details = rewritten.details;
  out.encoded = Serialize(message);
  return out;
}

// Moves the coverage from the old to the new fragments; false: it covers a group in part.
bool Follow(const Rewrite& rewrite, OffsetSet& coverage) {
  for (const Rewrite::Group& group : rewrite.groups) {
    const OffsetSet old = IdsOf(group.old_fragments);
    if (!coverage.Intersects(old)) continue;
    if (!coverage.ContainsAll(old)) return false;
    coverage = coverage.Without(old).With(IdsOf(group.new_fragments));
  }
  return true;
}

arrow::Status FollowIndex(const Rewrite& rewrite, bool was_rewritten, bool stable_row_ids, IndexEntry& index) {
  std::optional<OffsetSet> coverage = CoverageOf(index);
  if (!coverage) {
    if (was_rewritten || stable_row_ids) return arrow::Status::OK();
    return InvalidInput("the rewrite moves rows, and index '{}' does not say whether it covers them", index.name);
  }
  const OffsetSet before = *coverage;
  if (!Follow(rewrite, *coverage))
    return InvalidInput("index '{}' covers a group of rewritten fragments in part; rewrite them apart", index.name);
  if (*coverage == before) return arrow::Status::OK();
  if (!was_rewritten && !stable_row_ids)
    return InvalidInput("the rewrite moves rows that index '{}' covers, and brings no new index", index.name);
  index = WithCoverage(index, *coverage);
  return arrow::Status::OK();
}

arrow::Status ReplaceReuseEntry(const IndexEntry& entry, Manifest& next) {
  std::erase_if(next.indices, [](const IndexEntry& index) { return index.name == kFragmentReuseIndexName; });
  if (entry.name != kFragmentReuseIndexName) return InvalidInput("'{}' is no fragment reuse entry", entry.name);
  next.indices.push_back(entry);
  return arrow::Status::OK();
}

}  // namespace

arrow::Status ApplyRewrite(const Rewrite& rewrite, const ApplyContext& context, Manifest& next) {
  const uint64_t first_unreserved = NextFragmentId(next);
  KeepFragmentIds(next);
  for (const Rewrite::Group& group : rewrite.groups) ARROW_RETURN_NOT_OK(RemoveOld(group, context, next));
  for (const Rewrite::Group& group : rewrite.groups) ARROW_RETURN_NOT_OK(AddNew(group, first_unreserved, next));
  if (rewrite.fragment_reuse) return ReplaceReuseEntry(*rewrite.fragment_reuse, next);
  std::set<std::string> rewritten;
  for (const Rewrite::RewrittenIndex& change : rewrite.rewritten_indices) {
    for (IndexEntry& index : next.indices) {
      if (index.uuid != change.old_uuid) continue;
      index = Rewritten(index, change);
      rewritten.insert(change.new_uuid);
    }
    if (!rewritten.contains(change.new_uuid)) return Changed("an index that the rewrite replaces", context);
  }
  for (IndexEntry& index : next.indices) {
    if (IsSystemIndex(index)) continue;
    ARROW_RETURN_NOT_OK(FollowIndex(rewrite, rewritten.contains(index.uuid), HasStableRowIds(next), index));
  }
  return arrow::Status::OK();
}

arrow::Status ApplyReserveFragments(const ReserveFragments& reserve, const ApplyContext&, Manifest& next) {
  const uint64_t first = NextFragmentId(next);
  if (first + reserve.num_fragments > uint64_t{UINT32_MAX} + 1)
    return NotSupported("the table has used up its fragment ids");
  if (first + reserve.num_fragments > 0)
    next.max_fragment_id = static_cast<uint32_t>(first + reserve.num_fragments - 1);
  return arrow::Status::OK();
}

}  // namespace javelin::table
