#include "javelin/table/conflict_rules_internal.h"
#include "javelin/table/index_entry.h"

namespace javelin::table::conflict {

namespace {

template <typename Op>
const Op& As(const Operation& operation) {
  return std::get<Op>(operation);
}

Verdict AgainIf(bool conflict) { return conflict ? Verdict::kRetry : Verdict::kFine; }
Verdict NeverIf(bool conflict) { return conflict ? Verdict::kNever : Verdict::kFine; }

// ---- fragments ----

OffsetSet AsSet(const std::vector<FragmentId>& fragments) {
  std::vector<uint32_t> ids;
  for (FragmentId fragment : fragments) ids.push_back(static_cast<uint32_t>(fragment.value()));
  return OffsetSet::FromUnsorted(std::move(ids));
}

// The fragments that an operation changes or removes.
struct Touched {
  std::vector<FragmentId> removed, updated;

  OffsetSet All() const { return AsSet(removed).With(AsSet(updated)); }
};

const std::vector<Fragment>& UpdatedFragments(const Operation& operation) {
  if (const auto* deletion = std::get_if<Delete>(&operation)) return deletion->updated_fragments;
  return As<Update>(operation).updated_fragments;
}

Touched TouchedBy(const Operation& operation) {
  Touched touched;
  if (const auto* deletion = std::get_if<Delete>(&operation)) touched.removed = deletion->deleted_fragment_ids;
  if (const auto* update = std::get_if<Update>(&operation)) touched.removed = update->removed_fragment_ids;
  if (const auto* rewrite = std::get_if<Rewrite>(&operation)) touched.removed = rewrite->OldFragments();
  if (const auto* replacement = std::get_if<DataReplacement>(&operation)) {
    for (const auto& item : replacement->replacements) touched.updated.push_back(item.fragment);
  }
  if (const auto* overlay = std::get_if<DataOverlay>(&operation)) touched.updated = overlay->fragments;
  if (std::holds_alternative<Delete>(operation) || std::holds_alternative<Update>(operation)) {
    for (const Fragment& fragment : UpdatedFragments(operation)) touched.updated.push_back(fragment.id);
  }
  return touched;
}

bool RewritesColumns(const Operation& operation) {
  const auto* update = std::get_if<Update>(&operation);
  return update != nullptr && update->rewrites_columns;
}

// ---- configuration ----

std::set<std::string> KeysOf(const std::optional<MapUpdate>& update) {
  std::set<std::string> keys;
  if (!update) return keys;
  for (const auto& [key, value] : update->entries) keys.insert(key);
  return keys;
}
std::set<std::string> KeysOf(const std::map<std::string, std::string>& map) {
  std::set<std::string> keys;
  for (const auto& [key, value] : map) keys.insert(key);
  return keys;
}

template <typename Value>
bool Meet(const std::set<Value>& a, const std::set<Value>& b) {
  return std::any_of(a.begin(), a.end(), [&](const Value& value) { return b.contains(value); });
}

bool Replaces(const std::optional<MapUpdate>& update) { return update && update->replaces; }

// A map replaced whole has every key changed.
bool ChangeOneKey(const std::optional<MapUpdate>& a, const std::optional<MapUpdate>& b) {
  if (!a || !b) return false;
  const auto keys = KeysOf(a), others = KeysOf(b);
  return Meet(keys, others) || (Replaces(a) && (Replaces(b) || !others.empty())) || (Replaces(b) && !keys.empty());
}

bool TouchesSchema(const UpdateConfig& config) { return config.schema_metadata || !config.field_metadata.empty(); }

bool SetOneKey(const Overwrite& overwrite, const UpdateConfig& config) {
  return !overwrite.config_upserts.empty() &&
         (Replaces(config.config) || Meet(KeysOf(overwrite.config_upserts), KeysOf(config.config)));
}

// ---- indices ----

std::set<std::string_view> NamesOf(const std::vector<IndexEntry>& indices) {
  std::set<std::string_view> names;
  for (const IndexEntry& index : indices) names.insert(index.name);
  return names;
}

bool Lists(const DataFile& file, FieldId field) {
  return std::find(file.fields.begin(), file.fields.end(), field.value()) != file.fields.end();
}

bool OnReplacedField(const std::vector<IndexEntry>& indices, const DataReplacement& replacement) {
  for (const IndexEntry& index : indices) {
    for (FieldId field : index.fields) {
      for (const auto& item : replacement.replacements) {
        if (Lists(item.new_file, field)) return true;
      }
    }
  }
  return false;
}

bool InstallsMemWal(const Operation& operation) {
  return NamesOf(As<CreateIndex>(operation).new_indices).contains(kMemWalIndexName);
}

// Would the index hold addresses of rows that moved? With a fragment reuse entry only if a group is covered in part.
bool IsOverRewritten(const IndexEntry& index, const Rewrite& rewrite) {
  if (index.name == kMemWalIndexName) return false;
  const std::optional<OffsetSet> coverage = CoverageOf(index);
  if (!coverage) return true;
  for (const Rewrite::Group& group : rewrite.groups) {
    std::vector<FragmentId> ids;
    for (const Fragment& fragment : group.old_fragments) ids.push_back(fragment.id);
    const OffsetSet moved = AsSet(ids);
    const bool whole_group_is_translated = rewrite.fragment_reuse && coverage->ContainsAll(moved);
    if (coverage->Intersects(moved) && !whole_group_is_translated) return true;
  }
  return false;
}

// ---- progress ----

std::vector<CompactedSsTable> ProgressOf(const Operation& operation) {
  if (const auto* update = std::get_if<Update>(&operation)) return update->compacted_sstables;
  if (const auto* state = std::get_if<UpdateMemWalState>(&operation)) return state->compacted_sstables;
  if (const auto* create = std::get_if<CreateIndex>(&operation)) {
    for (const IndexEntry& index : create->new_indices) {
      if (index.name != kMemWalIndexName) continue;
      auto details = DecodeMemWalDetails(index.details);
      if (details.ok()) return details->compacted_sstables;
    }
  }
  return {};
}

}  // namespace

#define JAVELIN_RULE(name)                                                                 \
  Verdict name([[maybe_unused]] Operation& ours, [[maybe_unused]] const Operation& theirs, \
               [[maybe_unused]] const Transaction& transaction)

JAVELIN_RULE(Fine) { return Verdict::kFine; }
JAVELIN_RULE(Again) { return Verdict::kRetry; }
JAVELIN_RULE(Never) { return Verdict::kNever; }

JAVELIN_RULE(TheirNullability) {
  const auto* merge = std::get_if<Merge>(&theirs);
  return AgainIf(!(merge != nullptr ? merge->preserves_nullability : As<Project>(theirs).preserves_nullability));
}
JAVELIN_RULE(OurNullability) { return AgainIf(!As<Project>(ours).preserves_nullability); }

JAVELIN_RULE(OverwriteTwice) {
  const bool one_key = Meet(KeysOf(As<Overwrite>(ours).config_upserts), KeysOf(As<Overwrite>(theirs).config_upserts));
  return one_key ? Verdict::kNever : Verdict::kRetry;
}
JAVELIN_RULE(ConfigUnderOverwrite) { return NeverIf(SetOneKey(As<Overwrite>(ours), As<UpdateConfig>(theirs))); }
JAVELIN_RULE(OverwriteUnderConfig) {
  const auto& config = As<UpdateConfig>(ours);
  return NeverIf(TouchesSchema(config) || SetOneKey(As<Overwrite>(theirs), config));
}
JAVELIN_RULE(NeverIfOurSchemaConfig) { return NeverIf(TouchesSchema(As<UpdateConfig>(ours))); }
JAVELIN_RULE(AgainIfOurSchemaConfig) { return AgainIf(TouchesSchema(As<UpdateConfig>(ours))); }
JAVELIN_RULE(NeverIfTheirSchemaConfig) { return NeverIf(TouchesSchema(As<UpdateConfig>(theirs))); }
JAVELIN_RULE(AgainIfTheirSchemaConfig) { return AgainIf(TouchesSchema(As<UpdateConfig>(theirs))); }
JAVELIN_RULE(AgainIfTheirFieldConfig) { return AgainIf(!As<UpdateConfig>(theirs).field_metadata.empty()); }
JAVELIN_RULE(ConfigTwice) {
  const auto &mine = As<UpdateConfig>(ours), &other = As<UpdateConfig>(theirs);
  bool conflict = ChangeOneKey(mine.config, other.config) || ChangeOneKey(mine.table_metadata, other.table_metadata) ||
                  (mine.schema_metadata && other.schema_metadata);
  for (const auto& [field, update] : mine.field_metadata) conflict |= other.field_metadata.contains(field);
  return NeverIf(conflict);
}
JAVELIN_RULE(SameBases) {
  for (const BasePath& mine : As<UpdateBases>(ours).new_bases) {
    for (const BasePath& other : As<UpdateBases>(theirs).new_bases) {
      const bool same_id = mine.id != 0 && mine.id == other.id;
      if (same_id || (mine.name && mine.name == other.name) || mine.path == other.path) return Verdict::kNever;
    }
  }
  return Verdict::kFine;
}

JAVELIN_RULE(SameIndexName) {
  const auto &mine = As<CreateIndex>(ours), &other = As<CreateIndex>(theirs);
  const auto made = NamesOf(mine.new_indices), removed = NamesOf(mine.removed_indices);
  const auto others_made = NamesOf(other.new_indices), others_removed = NamesOf(other.removed_indices);
  return AgainIf(Meet(made, others_made) || Meet(made, others_removed) || Meet(removed, others_made));
}
JAVELIN_RULE(RewrittenUnderIndex) {
  const auto& indices = As<CreateIndex>(ours).new_indices;
  return AgainIf(std::any_of(indices.begin(), indices.end(),
                             [&](const IndexEntry& index) { return IsOverRewritten(index, As<Rewrite>(theirs)); }));
}
JAVELIN_RULE(IndexOverRewritten) {
  const auto& rewrite = As<Rewrite>(ours);
  for (const IndexEntry& index : As<CreateIndex>(theirs).new_indices) {
    if (index.name == kFragmentReuseIndexName ? rewrite.fragment_reuse.has_value() : IsOverRewritten(index, rewrite))
      return Verdict::kRetry;
  }
  return Verdict::kFine;
}
JAVELIN_RULE(ReplacedUnderIndex) {
  return AgainIf(OnReplacedField(As<CreateIndex>(ours).new_indices, As<DataReplacement>(theirs)));
}
JAVELIN_RULE(IndexOverReplaced) {
  return AgainIf(OnReplacedField(As<CreateIndex>(theirs).new_indices, As<DataReplacement>(ours)));
}
JAVELIN_RULE(OverlaidUnderIndex) { return AgainIf(!As<CreateIndex>(ours).new_indices.empty()); }
JAVELIN_RULE(PruneRewrittenColumns) {
  const auto& other = As<Update>(theirs);
  if (!other.rewrites_columns) return Verdict::kFine;
  const OffsetSet changed = AsSet(TouchedBy(theirs).updated);
  for (IndexEntry& index : std::get<CreateIndex>(ours).new_indices) {
    const bool on_changed_field = std::any_of(index.fields.begin(), index.fields.end(), [&](FieldId field) {
      return std::find(other.fields_modified.begin(), other.fields_modified.end(), field) !=
             other.fields_modified.end();
    });
    if (!on_changed_field) continue;
    const std::optional<OffsetSet> coverage = CoverageOf(index);
    if (!coverage) return Verdict::kRetry;
    index = WithCoverage(index, coverage->Without(changed));
  }
  return Verdict::kFine;
}
JAVELIN_RULE(AgainIfWeInstallMemWal) { return AgainIf(InstallsMemWal(ours)); }
JAVELIN_RULE(AgainIfTheyInstallMemWal) { return AgainIf(InstallsMemWal(theirs)); }

JAVELIN_RULE(FragmentsMeet) { return AgainIf(TouchedBy(ours).All().Intersects(TouchedBy(theirs).All())); }
JAVELIN_RULE(MaskedRows) {
  const Touched mine = TouchedBy(ours), other = TouchedBy(theirs);
  if (AsSet(mine.removed).Intersects(other.All()) || AsSet(other.removed).Intersects(mine.All()))
    return Verdict::kRetry;
  for (const Fragment& fragment : UpdatedFragments(ours)) {
    for (const Fragment& changed : UpdatedFragments(theirs)) {
      if (changed.id != fragment.id) continue;
      const bool only_masks = !RewritesColumns(ours) && !RewritesColumns(theirs) && changed.files == fragment.files;
      const bool known = transaction.affected_rows && transaction.affected_rows->contains(fragment.id);
      if (!only_masks || !known) return Verdict::kRetry;
    }
  }
  return Verdict::kFine;
}
JAVELIN_RULE(OverlaidRows) { return AgainIf(!TouchedBy(ours).All().empty()); }
JAVELIN_RULE(RewriteTwice) {
  return As<Rewrite>(ours).fragment_reuse ? Verdict::kRetry : FragmentsMeet(ours, theirs, transaction);
}
JAVELIN_RULE(UpdateTwice) {
  const auto &mine = As<Update>(ours), &other = As<Update>(theirs);
  bool keys_meet = false;
  if (mine.inserted_keys && !other.new_fragments.empty()) {
    keys_meet = !other.inserted_keys || MayShareKeys(*mine.inserted_keys, *other.inserted_keys);
  } else if (other.inserted_keys && !mine.inserted_keys) {
    keys_meet = !mine.new_fragments.empty();  // our new rows may have keys that it did not find
  }
  return std::max({AgainIf(keys_meet), MaskedRows(ours, theirs, transaction), Progress(ours, theirs, transaction)});
}
JAVELIN_RULE(AppendedKeys) { return AgainIf(As<Update>(ours).inserted_keys.has_value()); }
JAVELIN_RULE(TargetRemoved) { return NeverIf(TouchedBy(ours).All().Intersects(AsSet(TouchedBy(theirs).removed))); }
JAVELIN_RULE(TargetMoved) {
  return std::max(TargetRemoved(ours, theirs, transaction), FragmentsMeet(ours, theirs, transaction));
}
JAVELIN_RULE(ReplacedFieldGone) {
  for (const auto& item : As<DataReplacement>(ours).replacements) {
    for (int32_t field : item.new_file.fields) {
      if (field >= 0 && As<Project>(theirs).schema.FindById(FieldId(field)) == nullptr) return Verdict::kNever;
    }
  }
  return Verdict::kFine;
}
JAVELIN_RULE(ReplacedTwice) {
  for (const auto& mine : As<DataReplacement>(ours).replacements) {
    for (const auto& other : As<DataReplacement>(theirs).replacements) {
      if (mine.fragment != other.fragment) continue;
      for (int32_t field : mine.new_file.fields) {
        if (Lists(other.new_file, FieldId(field))) return Verdict::kRetry;
      }
    }
  }
  return Verdict::kFine;
}

JAVELIN_RULE(Progress) {
  Verdict verdict = Verdict::kFine;
  const std::vector<CompactedSsTable> others = ProgressOf(theirs);
  for (const CompactedSsTable& mine : ProgressOf(ours)) {
    for (const CompactedSsTable& other : others) {
      if (other.shard_id != mine.shard_id) continue;
      // One that is there already was compacted by somebody else; below ours, what we read is out of date.
      verdict = std::max(verdict, mine.generation <= other.generation ? Verdict::kNever : Verdict::kRetry);
    }
  }
  return verdict;
}

#undef JAVELIN_RULE

}  // namespace javelin::table::conflict
