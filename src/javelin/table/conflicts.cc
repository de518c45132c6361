#include "javelin/table/conflicts.h"

#include "javelin/base/error.h"
#include "javelin/table/index_entry.h"

namespace javelin::table {

namespace {

enum class Verdict { kFine, kRetry, kNever };  // from good to bad

// ---- Append: only what changes the meaning of the rows it brings ----

struct AgainstAppend {
  Verdict operator()(const Overwrite&) { return Verdict::kNever; }
  Verdict operator()(const Restore&) { return Verdict::kNever; }
  Verdict operator()(const UpdateMemWalState&) { return Verdict::kNever; }
  Verdict operator()(const Clone&) { return Verdict::kNever; }
  Verdict operator()(const UnknownOperation&) { return Verdict::kNever; }
  // New rows may lack or null a column that must not be null any more.
  Verdict operator()(const Merge& other) { return other.preserves_nullability ? Verdict::kFine : Verdict::kRetry; }
  Verdict operator()(const Project& other) { return other.preserves_nullability ? Verdict::kFine : Verdict::kRetry; }
  template <typename Other>
  Verdict operator()(const Other&) {
    return Verdict::kFine;
  }
};

// ---- Overwrite: it replaces whatever the others did, except another replacement and the configuration both set ----

struct AgainstOverwrite {
  const Overwrite& ours;

  Verdict operator()(const Overwrite& other) {
    for (const auto& [key, value] : ours.config_upserts) {
      if (other.config_upserts.contains(key)) return Verdict::kNever;
    }
    return Verdict::kRetry;
  }
  Verdict operator()(const UpdateConfig& other) {
    for (const auto& [key, value] : ours.config_upserts) {
      if (other.config && (other.config->replaces || other.config->entries.contains(key))) return Verdict::kNever;
    }
    return Verdict::kFine;
  }
  Verdict operator()(const UpdateMemWalState&) { return Verdict::kNever; }
  Verdict operator()(const Clone&) { return Verdict::kNever; }
  Verdict operator()(const UnknownOperation&) { return Verdict::kNever; }
  template <typename Other>
  Verdict operator()(const Other&) {
    return Verdict::kFine;
  }
};

// ---- CreateIndex: the index must still describe the data, and no other commit may have touched the same name ----

std::set<std::string_view> NamesOf(const std::vector<IndexEntry>& indices) {
  std::set<std::string_view> names;
  for (const IndexEntry& index : indices) names.insert(index.name);
  return names;
}

bool Meet(const std::set<std::string_view>& a, const std::set<std::string_view>& b) {
  return std::any_of(a.begin(), a.end(), [&](std::string_view name) { return b.contains(name); });
}

template <typename Id>
bool Meet(const std::vector<Id>& a, const std::vector<Id>& b) {
  return std::any_of(a.begin(), a.end(), [&](const Id& id) { return std::find(b.begin(), b.end(), id) != b.end(); });
}

bool Lists(const DataFile& file, FieldId field) {
  return std::find(file.fields.begin(), file.fields.end(), field.value()) != file.fields.end();
}

OffsetSet AsSet(const std::vector<FragmentId>& fragments) {
  std::vector<uint32_t> ids;
  for (FragmentId fragment : fragments) ids.push_back(static_cast<uint32_t>(fragment.value()));
  return OffsetSet::FromUnsorted(std::move(ids));
}

struct AgainstCreateIndex {
  CreateIndex& ours;

  Verdict operator()(const Overwrite&) { return Verdict::kNever; }
  Verdict operator()(const Restore&) { return Verdict::kNever; }
  Verdict operator()(const Clone&) { return Verdict::kNever; }
  Verdict operator()(const UnknownOperation&) { return Verdict::kNever; }

  Verdict operator()(const CreateIndex& other) {
    const auto made = NamesOf(ours.new_indices), removed = NamesOf(ours.removed_indices);
    const auto others_made = NamesOf(other.new_indices), others_removed = NamesOf(other.removed_indices);
    const bool same_name = Meet(made, others_made) || Meet(made, others_removed) || Meet(removed, others_made);
    return same_name ? Verdict::kRetry : Verdict::kFine;
  }
  // Rows moved: an index over the old fragments holds addresses that are gone.
  Verdict operator()(const Rewrite& other) {
    const OffsetSet moved = AsSet(other.OldFragments());
    for (const IndexEntry& index : ours.new_indices) {
      if (index.name == kMemWalIndexName) continue;
      const std::optional<OffsetSet> coverage = CoverageOf(index);
      if (!coverage || coverage->Intersects(moved)) return Verdict::kRetry;
    }
    return Verdict::kFine;
  }
  Verdict operator()(const DataReplacement& other) {
    for (const DataReplacement::Replacement& replacement : other.replacements) {
      for (const IndexEntry& index : ours.new_indices) {
        const bool indexed = std::any_of(index.fields.begin(), index.fields.end(),
                                         [&](FieldId field) { return Lists(replacement.new_file, field); });
        if (indexed) return Verdict::kRetry;
      }
    }
    return Verdict::kFine;
  }
  Verdict operator()(const Merge&) {
    return NamesOf(ours.new_indices).contains(kMemWalIndexName) ? Verdict::kRetry : Verdict::kFine;
  }
  Verdict operator()(const DataOverlay&) { return ours.new_indices.empty() ? Verdict::kFine : Verdict::kRetry; }
  // Values changed in place: the fragments leave the coverage of the indices on these fields.
  Verdict operator()(const Update& other) {
    if (!other.rewrites_columns) return Verdict::kFine;
    std::vector<FragmentId> changed;
    for (const Fragment& fragment : other.updated_fragments) changed.push_back(fragment.id);
    for (IndexEntry& index : ours.new_indices) {
      if (!Meet(index.fields, other.fields_modified)) continue;
      const std::optional<OffsetSet> coverage = CoverageOf(index);
      if (!coverage) return Verdict::kRetry;
      index = WithCoverage(index, coverage->Without(AsSet(changed)));
    }
    return Verdict::kFine;
  }
  template <typename Other>
  Verdict operator()(const Other&) {
    return Verdict::kFine;
  }
};

// ---- Update: the rows it masks must still lie where it read them, and its progress must still be progress ----

std::vector<FragmentId> Touched(std::vector<FragmentId> gone, const std::vector<Fragment>& changed) {
  for (const Fragment& fragment : changed) gone.push_back(fragment.id);
  return gone;
}

struct AgainstUpdate {
  const Update& ours;

  Verdict operator()(const Overwrite&) { return Verdict::kNever; }
  Verdict operator()(const Restore&) { return Verdict::kNever; }
  Verdict operator()(const Clone&) { return Verdict::kNever; }
  Verdict operator()(const UnknownOperation&) { return Verdict::kNever; }
  Verdict operator()(const Merge&) { return Verdict::kRetry; }
  Verdict operator()(const Project& other) { return other.preserves_nullability ? Verdict::kFine : Verdict::kRetry; }
  Verdict operator()(const Delete& other) {
    return IfTouched(Touched(other.deleted_fragment_ids, other.updated_fragments));
  }
  Verdict operator()(const Rewrite& other) { return IfTouched(other.OldFragments()); }
  Verdict operator()(const DataReplacement& other) {
    std::vector<FragmentId> changed;
    for (const DataReplacement::Replacement& replacement : other.replacements) changed.push_back(replacement.fragment);
    return IfTouched(changed);
  }
  Verdict operator()(const DataOverlay&) {
    return OurFragments().empty() ? Verdict::kFine : Verdict::kRetry;  // whichever it covers
  }
  Verdict operator()(const Update& other) {
    // Keys that it did not find and inserted may be keys of our new rows.
    const bool may_repeat_keys = other.inserted_keys.has_value() && !ours.new_fragments.empty();
    return std::max({IfTouched(Touched(other.removed_fragment_ids, other.updated_fragments)),
                     may_repeat_keys ? Verdict::kRetry : Verdict::kFine, OfProgress(other.compacted_sstables)});
  }
  Verdict operator()(const UpdateMemWalState& other) { return OfProgress(other.compacted_sstables); }
  template <typename Other>
  Verdict operator()(const Other&) {
    return Verdict::kFine;
  }

 private:
  std::vector<FragmentId> OurFragments() const { return Touched(ours.removed_fragment_ids, ours.updated_fragments); }

  Verdict IfTouched(const std::vector<FragmentId>& theirs) const {
    return AsSet(OurFragments()).Intersects(AsSet(theirs)) ? Verdict::kRetry : Verdict::kFine;
  }

  // A generation that is there already was compacted by somebody else; below ours, what we read is out of date.
  Verdict OfProgress(const std::vector<CompactedSsTable>& theirs) const {
    Verdict verdict = Verdict::kFine;
    for (const CompactedSsTable& mine : ours.compacted_sstables) {
      for (const CompactedSsTable& other : theirs) {
        if (other.shard_id != mine.shard_id) continue;
        verdict = std::max(verdict, mine.generation <= other.generation ? Verdict::kNever : Verdict::kRetry);
      }
    }
    return verdict;
  }
};

arrow::Result<Verdict> Judge(Operation& ours, const Operation& other) {
  if (std::holds_alternative<Append>(ours)) return std::visit(AgainstAppend{}, other);
  if (const auto* overwrite = std::get_if<Overwrite>(&ours)) return std::visit(AgainstOverwrite{*overwrite}, other);
  if (auto* create = std::get_if<CreateIndex>(&ours)) return std::visit(AgainstCreateIndex{*create}, other);
  if (const auto* update = std::get_if<Update>(&ours)) return std::visit(AgainstUpdate{*update}, other);
  return NotSupported("committing an operation of kind {}", NameOf(ours));
}

}  // namespace

arrow::Status Rebase(Transaction& ours, const Transaction& other, TableVersion other_version) {
  ARROW_ASSIGN_OR_RAISE(const Verdict verdict, Judge(ours.operation, other.operation));
  if (verdict == Verdict::kFine) return arrow::Status::OK();
  const ErrorFields fields = {{"version", fmt::format("{}", other_version)},
                              {"operation", std::string(NameOf(other.operation))}};
  if (verdict == Verdict::kRetry) {
    return MakeError(
        ErrorKind::kRetryableConflict,
        fmt::format("this {} was preempted by a concurrent {} at version {}; run it again on the newest version",
                    NameOf(ours.operation), NameOf(other.operation), other_version),
        fields);
  }
  return MakeError(ErrorKind::kIncompatibleConflict,
                   fmt::format("this {} is incompatible with a concurrent {} at version {}", NameOf(ours.operation),
                               NameOf(other.operation), other_version),
                   fields);
}

}  // namespace javelin::table
