#include "javelin/base/error.h"
#include "javelin/table/apply_internal.h"
#include "javelin/table/feature_flags.h"
#include "javelin/table/index_entry.h"
#include "javelin/table/row_lineage.h"

namespace javelin::table {

bool HasStableRowIds(const Manifest& manifest) { return (manifest.reader_feature_flags & flag::kStableRowIds) != 0; }

uint64_t NextFragmentId(const Manifest& manifest) {
  uint64_t next = manifest.max_fragment_id ? uint64_t{*manifest.max_fragment_id} + 1 : 0;
  if (!manifest.fragments.empty()) next = std::max(next, manifest.fragments.back().id.value() + 1);
  return next;
}

arrow::Status AddFragments(std::vector<Fragment> fragments, uint64_t first_id, Manifest& next) {
  const bool stable_row_ids = HasStableRowIds(next);
  for (Fragment& fragment : fragments) {
    if (first_id > UINT32_MAX) return NotSupported("the table has used up its fragment ids");
    fragment.id = FragmentId(first_id);
    next.max_fragment_id = static_cast<uint32_t>(first_id++);
    if (stable_row_ids) {
      ARROW_ASSIGN_OR_RAISE(fragment.lineage,
                            CompleteLineage(fragment.lineage, fragment.physical_rows, next.version, &next.next_row_id));
    } else {
      fragment.lineage.clear();
    }
    next.fragments.push_back(std::move(fragment));
  }
  return arrow::Status::OK();
}

namespace {

arrow::Status NoLongerFits(const std::string& what) {
  return RetryableConflict("{} since the rows were written; write them again for the newest version", what);
}

// Field ids are used again after a column is dropped, so an id must still mean what it meant when the rows were
// written.
arrow::Status CheckFieldsStillMeanTheSame(const Fragment& fragment, const file::Schema& written,
                                          const file::Schema& now) {
  for (const DataFile& file : fragment.files) {
    for (int32_t id : file.fields) {
      const file::Field* then = written.FindById(FieldId(id));
      const file::Field* today = now.FindById(FieldId(id));
      if (then == nullptr)
        return InvalidInput("the new data file '{}' has field id {}, which the table does not know", file.path, id);
      if (today == nullptr) continue;
      if (today->name != then->name || !today->type->Equals(then->type)) {
        return NoLongerFits(fmt::format("field id {} was column '{}' and is now '{}'", id, then->name, today->name));
      }
    }
  }
  return arrow::Status::OK();
}

bool Lists(const Fragment& fragment, const file::Field& field) {
  for (const DataFile& file : fragment.files) {
    if (std::find(file.fields.begin(), file.fields.end(), field.id.value()) != file.fields.end()) return true;
  }
  return std::any_of(field.children.begin(), field.children.end(),
                     [&](const file::Field& child) { return Lists(fragment, child); });
}

}  // namespace

arrow::Status CheckNewRows(const std::vector<Fragment>& fragments, const ApplyContext& context) {
  for (const Fragment& fragment : fragments) {
    ARROW_RETURN_NOT_OK(CheckFieldsStillMeanTheSame(fragment, context.read->schema, context.head->schema));
    for (const file::Field& field : context.head->schema.fields()) {
      if (!field.nullable && !Lists(fragment, field))
        return NoLongerFits(fmt::format("column '{}' was added or must not be null", field.name));
    }
  }
  return arrow::Status::OK();
}

const Fragment* FindFragment(const Manifest& manifest, FragmentId id) {
  const auto found = std::lower_bound(manifest.fragments.begin(), manifest.fragments.end(), id,
                                      [](const Fragment& fragment, FragmentId wanted) { return fragment.id < wanted; });
  return found != manifest.fragments.end() && found->id == id ? &*found : nullptr;
}

Fragment* FindFragment(Manifest& manifest, FragmentId id) {
  return const_cast<Fragment*>(FindFragment(std::as_const(manifest), id));
}

void KeepFragmentIds(Manifest& next) {
  if (const uint64_t first = NextFragmentId(next); first > 0) next.max_fragment_id = static_cast<uint32_t>(first - 1);
}

arrow::Status Changed(std::string_view what, const ApplyContext& context) {
  return RetryableConflict("{} changed since version {}; run the operation again", what, context.read->version);
}

void PruneCoverage(const std::set<FieldId>& fields, const OffsetSet& fragments, Manifest& next) {
  for (IndexEntry& index : next.indices) {
    const bool concerned =
        std::any_of(index.fields.begin(), index.fields.end(), [&](FieldId field) { return fields.contains(field); });
    if (!concerned) continue;
    const std::optional<OffsetSet> coverage = CoverageOf(index);
    if (coverage && coverage->Intersects(fragments)) index = WithCoverage(index, coverage->Without(fragments));
  }
}

namespace {

bool IsOnLiveFields(const IndexEntry& index, const file::Schema& schema) {
  return std::all_of(index.fields.begin(), index.fields.end(),
                     [&](FieldId field) { return schema.FindById(field) != nullptr; });
}

// Covers no fragment that there is. Without a bitmap nothing is known, so it may.
bool CoversNothing(const IndexEntry& index, const OffsetSet& fragments) {
  const std::optional<OffsetSet> coverage = CoverageOf(index);
  return coverage && !coverage->Intersects(fragments);
}

}  // namespace

void RetainRelevantIndices(Manifest& next) {
  std::erase_if(next.indices,
                [&](const IndexEntry& index) { return !IsSystemIndex(index) && !IsOnLiveFields(index, next.schema); });
  // A reuse entry translates old fragments into new ones, so coverage alone does not tell.
  if (next.FindIndex(kFragmentReuseIndexName) != nullptr) return;
  std::vector<uint32_t> ids;
  for (const Fragment& fragment : next.fragments) ids.push_back(static_cast<uint32_t>(fragment.id.value()));
  const OffsetSet fragments = OffsetSet::FromUnsorted(std::move(ids));
  std::map<std::string, size_t> segments;
  for (const IndexEntry& index : next.indices) ++segments[index.name];
  std::set<std::string> kept;  // names with a segment that stays
  for (const IndexEntry& index : next.indices) {
    if (!CoversNothing(index, fragments)) kept.insert(index.name);
  }
  std::erase_if(next.indices, [&](const IndexEntry& index) {
    if (IsSystemIndex(index) || segments[index.name] == 1 || !CoversNothing(index, fragments)) return false;
    return !kept.insert(index.name).second;
  });
}

void DropDeadFiles(const file::Schema* schema, Manifest& next) {
  const auto is_live = [&](int32_t field) {
    if (field < 0)
      return field == kRowIdColumn.value() || field == kCreatedVersionColumn.value() ||
             field == kUpdatedVersionColumn.value();
    return schema == nullptr || schema->FindById(FieldId(field)) != nullptr;
  };
  for (Fragment& fragment : next.fragments) {
    std::vector<DataFile> live;
    for (const DataFile& file : fragment.files) {
      if (std::any_of(file.fields.begin(), file.fields.end(), is_live)) live.push_back(file);
    }
    if (live.empty() && !fragment.files.empty()) live.push_back(fragment.files.front());
    fragment.files = std::move(live);
  }
}

}  // namespace javelin::table
