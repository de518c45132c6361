#include "javelin/memwal/replay.h"

#include "javelin/base/error.h"

namespace javelin::memwal {

Replay::Replay(std::shared_ptr<const MemTableContext> context, const ShardManifest& manifest, FreezeLimits limits)
    : context_(std::move(context)),
      first_generation_(manifest.current_generation),
      shard_(manifest.shard_id.ToString()),
      limits_(limits) {
  tables_.tables.push_back(
      std::make_shared<MemTable>(context_, first_generation_, GlobalBatch(context_->durable->Get())));
}

arrow::Result<bool> Replay::Skips(WalPosition position, const WalEntry& entry) const {
  const bool in_sstable = entry.generation.has_value() && *entry.generation < first_generation_;
  if (in_sstable || entry.batches.empty()) return true;
  if (entry.target.has_value()) {
    return NotSupported(
        "log entry {} of shard {} refers to blobs in {}/{}; tables with blob columns are not handled yet", position,
        shard_, entry.target->folder, entry.target->data_file);
  }
  return false;
}

arrow::Status Replay::Check(WalPosition position, const WalEntry& entry) {
  ARROW_ASSIGN_OR_RAISE(const bool skips, Skips(position, entry));
  return skips ? arrow::Status::OK() : Conform(position, entry).status();
}

arrow::Status Replay::Apply(WalPosition position, WalEntry entry) {
  ARROW_ASSIGN_OR_RAISE(const bool skips, Skips(position, entry));
  if (skips) return arrow::Status::OK();
  ARROW_ASSIGN_OR_RAISE(const auto batches, Conform(position, entry));
  if (batches.empty()) return arrow::Status::OK();
  MemTable& table = TableFor(entry, entry.num_rows());
  table.Insert(batches);
  table.NoteEntry(position);
  return arrow::Status::OK();
}

MemTable& Replay::TableFor(const WalEntry& entry, uint64_t rows) {
  const MemTable& current = *tables_.active();
  if (entry.generation.has_value()) {
    if (*entry.generation > current.generation()) Rotate(*entry.generation);
  } else if (MustFreeze(current, limits_, entry.batches.size(), rows)) {
    Rotate(current.generation().Next());
  }
  return *tables_.active();
}

// An empty MemTable is never frozen: its place is taken.
void Replay::Rotate(Generation generation) {
  const auto outgoing = tables_.active();
  if (outgoing->store().committed().value() == 0) tables_.tables.pop_back();
  tables_.tables.push_back(std::make_shared<MemTable>(context_, generation, outgoing->store().global_end()));
}

arrow::Result<std::vector<std::shared_ptr<arrow::RecordBatch>>> Replay::Conform(WalPosition position,
                                                                                const WalEntry& entry) {
  const auto context = fmt::format("log entry {} of shard {} does not fit the table", position, shard_);
  const ShardSchemas& schemas = *context_->schemas;
  if (aligned_schema_ == nullptr || !aligned_schema_->Equals(*entry.schema, /*check_metadata=*/true)) {
    file::AlignOptions options;
    options.defaults[std::string(kTombstoneColumn)] = std::make_shared<arrow::BooleanScalar>(false);
    auto alignment = file::SchemaAlignment::Make(*entry.schema, schemas.storage_fields(), options);
    if (!alignment.ok()) return AsKind(alignment.status(), ErrorKind::kWalCorrupt, context);
    alignment_ = std::move(*alignment);
    aligned_schema_ = entry.schema;
  }
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  for (const auto& batch : entry.batches) {
    if (batch->num_rows() == 0) continue;
    auto aligned = alignment_->Apply(*batch);
    if (!aligned.ok()) return AsKind(aligned.status(), ErrorKind::kWalCorrupt, context);
    for (int i = 0; i < schemas.storage()->num_fields(); ++i) {
      if (schemas.storage()->field(i)->nullable() || (*aligned)->column(i)->null_count() == 0) continue;
      return WalCorrupt("{}: null in column '{}'", context, schemas.storage()->field(i)->name());
    }
    batches.push_back(arrow::RecordBatch::Make(schemas.storage(), batch->num_rows(), (*aligned)->columns()));
  }
  return batches;
}

namespace {
arrow::Status BuildIndexes(MemTable& table) {
  const LocalBatch end = table.store().committed();
  ARROW_RETURN_NOT_OK(table.ApplyIndexes(end));
  table.AdvanceIndexed(end);
  return arrow::Status::OK();
}
}  // namespace

arrow::Result<std::shared_ptr<MemTable>> Replay::OldestFrozen() {
  if (tables_.tables.size() < 2) return nullptr;
  ARROW_RETURN_NOT_OK(BuildIndexes(*tables_.tables.front()));
  return tables_.tables.front();
}

arrow::Result<ResidentSet> Replay::Finish() {
  for (const auto& table : tables_.tables) ARROW_RETURN_NOT_OK(BuildIndexes(*table));
  return std::move(tables_);
}

}  // namespace javelin::memwal
