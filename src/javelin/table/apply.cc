#include "javelin/table/apply.h"

#include "javelin/base/error.h"
#include "javelin/table/apply_internal.h"
#include "javelin/table/catch_up.h"
#include "javelin/table/feature_flags.h"
#include "javelin/table/field_ids.h"
#include "javelin/table/index_entry.h"
#include "javelin/table/row_lineage.h"

namespace javelin::table {

namespace {

constexpr char kLibraryName[] = "javelin";

// What every new version takes over from the one before it.
Manifest Successor(const Transaction& transaction, const ApplyContext& context) {
  Manifest next = context.head == nullptr ? Manifest{} : *context.head;
  next.version = next.version.Next();
  next.timestamp_ns = context.now_ns;
  next.transaction_file = TransactionFileName(transaction);
  next.writer_version = ThisWriter();
  return next;
}

bool HasStableRowIds(const Manifest& manifest) { return (manifest.reader_feature_flags & flag::kStableRowIds) != 0; }

}  // namespace

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

// ---- Append ----

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

namespace {

arrow::Status Apply(const Append& append, const ApplyContext& context, Manifest& next) {
  if (context.head == nullptr) return InvalidInput("an append needs a table");
  ARROW_RETURN_NOT_OK(CheckNewRows(append.fragments, context));
  return AddFragments(append.fragments, NextFragmentId(*context.head), next);
}

// ---- Overwrite ----

// Of a table that keeps its field ids the columns of an overwrite are new ones, also under the same names.
arrow::Status CheckIdsAreNew(const file::Schema& schema, const Manifest& next) {
  if (!next.max_allocated_field_id) return arrow::Status::OK();
  for (const file::Field& field : schema.fields()) {
    if (field.id.value() <= *next.max_allocated_field_id)
      return RetryableConflict("field id {} was given to another column since the rows were written; write them again",
                               field.id);
  }
  return arrow::Status::OK();
}

arrow::Status Apply(const Overwrite& overwrite, const ApplyContext& context, Manifest& next) {
  ARROW_RETURN_NOT_OK(CheckIdsAreNew(overwrite.schema, next));
  if (context.head != nullptr && !overwrite.initial_bases.empty())
    return InvalidInput("base paths can be given only when the table is created");
  const uint64_t first_id = NextFragmentId(next);
  next.fragments.clear();
  next.indices.clear();
  next.schema = overwrite.schema;
  for (const auto& [key, value] : overwrite.config_upserts) next.config[key] = value;
  if (context.head == nullptr) next.base_paths = overwrite.initial_bases;
  if (!overwrite.data_format_version.empty()) next.data_format_version = overwrite.data_format_version;
  return AddFragments(overwrite.fragments, first_id, next);
}

// ---- CreateIndex ----

auto FindByUuid(std::vector<IndexEntry>& indices, const std::string& uuid) {
  return std::find_if(indices.begin(), indices.end(), [&](const IndexEntry& index) { return index.uuid == uuid; });
}

auto FindByName(std::vector<IndexEntry>& indices, std::string_view name) {
  return std::find_if(indices.begin(), indices.end(), [&](const IndexEntry& index) { return index.name == name; });
}

arrow::Status RemoveIndex(const IndexEntry& removed, Manifest& next) {
  auto found = removed.name == kMemWalIndexName ? FindByName(next.indices, removed.name)
                                                : FindByUuid(next.indices, removed.uuid);
  if (found != next.indices.end()) {
    next.indices.erase(found);
  } else if (FindByName(next.indices, removed.name) != next.indices.end()) {
    return RetryableConflict("index '{}' was rebuilt since; run the operation again on the newest version",
                             removed.name);
  }
  return arrow::Status::OK();
}

// A new MemWAL entry in the place of the old one: progress and catch-up are those of the version this lands on, because
// a copy that was read earlier may hold positions that have been withdrawn since.
arrow::Result<IndexEntry> InheritProgress(const IndexEntry& entry, const Manifest& head) {
  const IndexEntry* current = head.FindIndex(kMemWalIndexName);
  if (current == nullptr) return entry;
  ARROW_ASSIGN_OR_RAISE(const MemWalDetails progress, DecodeMemWalDetails(current->details));
  ARROW_ASSIGN_OR_RAISE(MemWalDetails details, DecodeMemWalDetails(entry.details));
  if (details.compacted_sstables == progress.compacted_sstables && details.index_catchup == progress.index_catchup)
    return entry;
  details.compacted_sstables = progress.compacted_sstables;
  details.index_catchup = progress.index_catchup;
  return WithDetails(entry, EncodeMemWalDetails(details));
}

arrow::Status AddMemWalEntry(const IndexEntry& added, const Manifest& head, Manifest& next) {
  if (next.FindIndex(kMemWalIndexName) != nullptr) return InvalidInput("MemWAL is already initialized on this table");
  ARROW_ASSIGN_OR_RAISE(IndexEntry entry, InheritProgress(added, head));
  const IndexEntry* current = head.FindIndex(kMemWalIndexName);
  size_t place = current == nullptr ? next.indices.size() : static_cast<size_t>(current - head.indices.data());
  place = std::min(place, next.indices.size());
  next.indices.insert(next.indices.begin() + static_cast<ptrdiff_t>(place), std::move(entry));
  return arrow::Status::OK();
}

arrow::Status AddIndex(const IndexEntry& added, const Manifest& head, Manifest& next) {
  if (FindByUuid(next.indices, added.uuid) != next.indices.end())
    return InvalidInput("index '{}' has a UUID that is in use", added.name);
  if (added.name == kMemWalIndexName) return AddMemWalEntry(added, head, next);
  for (FieldId field : added.fields) {
    if (next.schema.FindById(field) == nullptr) {
      return RetryableConflict("index '{}' is on field id {}, which the table no longer has", added.name, field);
    }
  }
  next.indices.push_back(added);
  return arrow::Status::OK();
}

arrow::Status Apply(const CreateIndex& create, const ApplyContext& context, Manifest& next) {
  if (context.head == nullptr) return InvalidInput("an index needs a table");
  for (const IndexEntry& removed : create.removed_indices) ARROW_RETURN_NOT_OK(RemoveIndex(removed, next));
  for (const IndexEntry& added : create.new_indices) ARROW_RETURN_NOT_OK(AddIndex(added, *context.head, next));
  return arrow::Status::OK();
}

arrow::Status ApplyOperation(const Operation& operation, const ApplyContext& context, Manifest& next) {
  if (const auto* append = std::get_if<Append>(&operation)) return Apply(*append, context, next);
  if (const auto* overwrite = std::get_if<Overwrite>(&operation)) return Apply(*overwrite, context, next);
  if (const auto* create = std::get_if<CreateIndex>(&operation)) return Apply(*create, context, next);
  if (const auto* update = std::get_if<Update>(&operation)) return ApplyUpdate(*update, context, next);
  return NotSupported("committing an operation of kind {}", NameOf(operation));
}

}  // namespace

WriterVersion ThisWriter() { return {kLibraryName, JAVELIN_VERSION}; }

arrow::Result<Manifest> ApplyTransaction(const Transaction& transaction, const ApplyContext& context) {
  Manifest next = Successor(transaction, context);
  ARROW_RETURN_NOT_OK(ApplyOperation(transaction.operation, context, next));
  KeepFieldIds(context.head, next);
  RecomputeFlags(context.head, next);
  if (context.head != nullptr) RefreshCatchUp(*context.read, context.head->indices, context.system_index_uuid, next);
  return next;
}

}  // namespace javelin::table
