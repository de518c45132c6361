// What the parts of a view fold into.
#include "javelin/base/error.h"
#include "javelin/memwal/column_history.h"
#include "javelin/memwal/fresh_view_internal.h"
#include "javelin/memwal/sources_internal.h"

namespace javelin::memwal {

namespace {

// The key of the base table must be the one that the MemTables index.
arrow::Status CheckKeys(const ViewParts& parts, const std::vector<file::Field>& key) {
  for (const ShardMemory& memory : parts.memory) {
    for (const MemTableView& table : memory.tables) {
      const ShardSchemas& schemas = table.table->schemas();
      bool same = schemas.key_columns().size() == key.size();
      for (size_t i = 0; same && i < key.size(); ++i) {
        const file::Field& field = schemas.storage_fields().fields()[schemas.key_columns()[i]];
        same = field.id == key[i].id && field.type->Equals(key[i].type);
      }
      if (!same)
        return NotSupported("the primary key of {} was changed while shard {} has a writer", parts.base->uri(),
                            memory.shard.ToString());
      if (!HaveColumnLeft(parts.base->schema(), NamesOf(schemas.storage_fields())))
        return NotSupported("{} has none of the columns any more that shard {} has a writer for; close the writer",
                            parts.base->uri(), memory.shard.ToString());
    }
  }
  return arrow::Status::OK();
}

// Field ids say which column is which as long as the table keeps its rules for shards. Without MemWAL it may have cast
// a column, which then has another id, or begun anew with the same ids for other columns.
arrow::Status CheckSameColumns(const ViewParts& parts) {
  if (parts.details.has_value() || parts.memory.empty()) return arrow::Status::OK();
  ARROW_ASSIGN_OR_RAISE(const auto present, ShardSchemas::Make(parts.base->schema()));
  for (const ShardMemory& memory : parts.memory) {
    for (const MemTableView& table : memory.tables) {
      if (table.table->schemas() == present) continue;
      return NotSupported(
          "the columns of {} were changed after MemWAL was taken off it, while shard {} has a writer; "
          "close the writer to read the table",
          parts.base->uri(), memory.shard.ToString());
    }
  }
  return arrow::Status::OK();
}

// Empty without a primary key that rows can be looked up by.
std::vector<file::Field> KeyOf(const Dataset& base) {
  std::vector<file::Field> key;
  for (const file::Field* field : base.schema().PrimaryKey()) {
    if (!index::IsKeyType(*field->type)) return {};
    key.push_back(*field);
  }
  return key;
}

class Assembly {
 public:
  explicit Assembly(const ViewParts& parts)
      : parts_(parts),
        base_(parts.base),
        key_(KeyOf(*base_)),
        cache_(SsTableCache::Of(*base_->session())),
        ahead_(std::make_shared<SsTablesAhead>(base_->session()->runtime(), cache_, base_->location().store)) {}

  const std::vector<file::Field>& key() const { return key_; }

  // A table without MemWAL was overwritten, and what its shards hold belongs to what was there before. Only a writer
  // that is still at work shows its rows.
  // `next`: the generation that the shard flushes next.
  void AddShard(const Uuid& shard, std::vector<SsTableEntry> sstables, Generation next, const ShardMemory* memory) {
    if (!parts_.details.has_value() && memory == nullptr) return;
    query::Shard sources;
    const Generation compacted = parts_.CompactedThrough(shard);
    std::optional<Generation> oldest_in_memory;
    if (memory != nullptr) {
      for (const MemTableView& view : memory->tables) {
        // One in grace may be in the base already, where its rows may have changed since.
        if (view.generation <= compacted) break;
        const bool listed = std::any_of(sstables.begin(), sstables.end(), [&](const SsTableEntry& sstable) {
          return sstable.generation == view.generation;
        });
        if (view.generation < next && !listed) break;  // in grace, and retired by others since
        oldest_in_memory = view.generation;
        if (view.visible_rows == 0) continue;
        sources.push_back(MakeMemTableSource(view));
        tiers_.push_back(fmt::format("MemTable of shard {}: generation {}, {} rows", shard.ToString(), view.generation,
                                     view.visible_rows));
      }
    }
    std::erase_if(sstables, [&](const SsTableEntry& sstable) {
      return sstable.generation <= compacted ||
             (oldest_in_memory.has_value() && sstable.generation >= *oldest_in_memory);
    });
    std::sort(sstables.begin(), sstables.end(),
              [](const SsTableEntry& a, const SsTableEntry& b) { return a.generation > b.generation; });
    const ShardPaths paths(base_->location().root, shard);
    const auto folder_of = [&](const SsTableEntry& sstable) { return JoinKey(paths.shard_folder, sstable.path); };
    for (const SsTableEntry& sstable : sstables) {
      SsTablePlace place{folder_of(sstable), sstable.generation};
      // Most lookups are of what came last: the newest one is opened at once.
      place.ask_filter = &sstable != &sstables.front() && KeyFilterPays(sstable);
      sstables_.insert(place.folder);
      const size_t number = ahead_->Add(place.folder);
      sources.push_back(MakeSsTableSource(cache_, base_, std::move(place), key_, ahead_, number));
      tiers_.push_back(
          fmt::format("SSTable of shard {}: generation {}, {}", shard.ToString(), sstable.generation, sstable.path));
    }
    if (!sources.empty()) shards_.push_back(std::move(sources));
  }

  arrow::Result<std::shared_ptr<FreshView::Impl>> Finish() {
    auto view = std::make_shared<FreshView::Impl>();
    view->base = base_;
    for (const file::Field* field : base_->schema().PrimaryKey()) view->key_names.push_back(field->name);
    std::vector<std::shared_ptr<arrow::DataType>> types;
    for (const file::Field& field : key_) types.push_back(field.type);
    if (!types.empty()) {
      ARROW_ASSIGN_OR_RAISE(view->keys, index::KeyEncoder::Make(std::move(types)));
    }
    view->only_base = shards_.empty();
    view->tiers = std::move(tiers_);
    view->sstables = std::move(sstables_);
    view->ahead = ahead_;
    view->tiers.push_back(fmt::format("Base table: version {}", base_->version()));
    auto base = MakeBaseSource(base_, view->keys, view->key_names);
    view->fold = std::make_unique<query::Fold>(std::move(shards_), std::move(base), view->keys.has_value());
    return view;
  }

 private:
  const ViewParts& parts_;
  const std::shared_ptr<Dataset> base_;
  const std::vector<file::Field> key_;
  const std::shared_ptr<SsTableCache> cache_;
  const std::shared_ptr<SsTablesAhead> ahead_;
  std::vector<query::Shard> shards_;
  std::vector<std::string> tiers_;
  std::set<std::string> sstables_;
};

}  // namespace

arrow::Result<std::shared_ptr<FreshView::Impl>> Assemble(const ViewParts& parts,
                                                         const std::vector<ShardSnapshot>& others) {
  Assembly assembly(parts);
  ARROW_RETURN_NOT_OK(CheckKeys(parts, assembly.key()));
  ARROW_RETURN_NOT_OK(CheckSameColumns(parts));
  for (const ShardManifest& manifest : parts.manifests) {
    assembly.AddShard(manifest.shard_id, manifest.sstables, manifest.current_generation,
                      parts.FindMemory(manifest.shard_id));
  }
  for (const ShardSnapshot& snapshot : others)
    assembly.AddShard(snapshot.shard, snapshot.sstables, Generation(1), nullptr);
  return assembly.Finish();
}

}  // namespace javelin::memwal
