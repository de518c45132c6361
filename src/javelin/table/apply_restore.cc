#include "javelin/base/error.h"
#include "javelin/table/apply_internal.h"
#include "javelin/table/feature_flags.h"
#include "javelin/table/index_entry.h"
#include "javelin/table/mem_wal_details.h"
#include "javelin/table/wire_internal.h"

namespace javelin::table {

namespace {

// ---- Restore ----

// Rows that were flushed since lie in SSTables that the older version knows nothing of.
arrow::Status CheckKeepsMemWal(const Manifest& source, const Manifest& head) {
  if (head.FindIndex(kMemWalIndexName) == nullptr || source.FindIndex(kMemWalIndexName) != nullptr)
    return arrow::Status::OK();
  return InvalidInput(
      "version {} is from before MemWAL was initialized, so its rows were never checked against it; drop MemWAL before "
      "restoring that version",
      source.version);
}

arrow::Status CheckCanBeRestored(const Manifest& source, const Manifest& head) {
  ARROW_RETURN_NOT_OK(CheckReadable(source));
  ARROW_RETURN_NOT_OK(CheckWritable(source));
  if (HasStableRowIds(head) != HasStableRowIds(source))
    return InvalidInput("version {} {} stable row ids and the newest version {}", source.version,
                        HasStableRowIds(source) ? "has" : "has no", HasStableRowIds(source) ? "has none" : "has them");
  return CheckKeepsMemWal(source, head);
}

// ---- Clone ----

uint32_t UnusedBaseId(const Manifest& manifest) {
  uint32_t id = 0;
  while (std::any_of(manifest.base_paths.begin(), manifest.base_paths.end(),
                     [&](const BasePath& base) { return base.id == id; }))
    ++id;
  return id;
}

IndexEntry WithBase(const IndexEntry& index, uint32_t base) {
  wire::IndexMetadata message;
  if (!Parse(index.encoded, message, "an index entry").ok() || message.has_base_id()) return index;
  message.set_base_id(base);
  IndexEntry out = index;
  out.encoded = Serialize(message);
  return out;
}

void LieInBase(uint32_t base, Manifest& manifest) {
  for (Fragment& fragment : manifest.fragments) {
    for (DataFile& file : fragment.files) {
      if (!file.base_id) file.base_id = base;
    }
    if (fragment.deletion_file && !fragment.deletion_file->base_id) fragment.deletion_file->base_id = base;
  }
  for (IndexEntry& index : manifest.indices) index = WithBase(index, base);
}

}  // namespace

arrow::Status ApplyRestore(const Restore& restore, const ApplyContext& context, Manifest& next) {
  if (context.source == nullptr || context.source->version != restore.version)
    return InvalidInput("version {} was not given", restore.version);
  const Manifest& source = *context.source;
  ARROW_RETURN_NOT_OK(CheckCanBeRestored(source, *context.head));
  KeepFragmentIds(next);
  Manifest restored = source;
  restored.version = next.version;
  restored.timestamp_ns = next.timestamp_ns;
  restored.transaction_file = next.transaction_file;
  restored.writer_version = next.writer_version;
  restored.branch = next.branch;
  restored.max_fragment_id = std::max(source.max_fragment_id, next.max_fragment_id);
  restored.next_row_id = std::max(source.next_row_id, next.next_row_id);
  restored.max_allocated_field_id = std::max(source.max_allocated_field_id, next.max_allocated_field_id);
  next = std::move(restored);
  return arrow::Status::OK();
}

arrow::Status ApplyClone(const Clone& clone, const ApplyContext& context, Manifest& next) {
  if (context.head != nullptr) return InvalidInput("a clone is the first version of its table");
  if (!clone.is_shallow) return NotSupported("a clone that copies its files");
  if (context.source == nullptr || context.source->version != clone.ref_version)
    return InvalidInput("version {} to be cloned was not given", clone.ref_version);
  Manifest cloned = *context.source;
  ARROW_RETURN_NOT_OK(CheckWritable(cloned));
  cloned.timestamp_ns = next.timestamp_ns;
  cloned.transaction_file = next.transaction_file;
  cloned.writer_version = next.writer_version;
  cloned.branch = clone.branch_name;
  const uint32_t base = UnusedBaseId(cloned);
  LieInBase(base, cloned);
  cloned.base_paths.push_back({base, clone.ref_name, /*is_dataset_root=*/true, clone.ref_path});
  next = std::move(cloned);
  return arrow::Status::OK();
}

}  // namespace javelin::table
