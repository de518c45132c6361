#include "javelin/memwal/fresh_view.h"

#include "javelin/base/error.h"
#include "javelin/memwal/fresh_view_internal.h"
#include "javelin/memwal/shard_writer.h"

namespace javelin::memwal {

namespace {

FreshView::Impl::Logs HeldOfLogs(const ViewParts& parts) {
  FreshView::Impl::Logs logs;
  for (const ShardMemory& shard : parts.memory) logs.in_memory.insert(shard.shard);
  for (const ShardManifest& manifest : parts.manifests) {
    logs.covered_through.emplace(manifest.shard_id, manifest.replay_after);
  }
  return logs;
}

arrow::Status CheckSnapshots(const std::vector<ShardSnapshot>& snapshots) {
  std::set<Uuid> shards;
  for (const ShardSnapshot& snapshot : snapshots) {
    const std::string shard = snapshot.shard.ToString();
    if (!shards.insert(snapshot.shard).second) return InvalidInput("shard {} is given twice", shard);
    std::set<Generation> generations;
    for (const SsTableEntry& sstable : snapshot.sstables) {
      if (sstable.generation == Generation(0))
        return InvalidInput("shard {}: generations count from 1, SSTable '{}' is given 0", shard, sstable.path);
      if (!generations.insert(sstable.generation).second)
        return InvalidInput("shard {}: generation {} is given twice", shard, sstable.generation);
      if (sstable.path.find('/') != std::string::npos || !CheckKey(sstable.path).ok())
        return InvalidInput("shard {}: '{}' is no name of a folder below the shard", shard, sstable.path);
    }
  }
  return arrow::Status::OK();
}

}  // namespace

arrow::Result<std::shared_ptr<FreshView>> FreshView::Open(const Dataset& dataset, const FreshOptions& options) {
  ARROW_RETURN_NOT_OK(dataset.session()->runtime().CheckProcess());
  ARROW_ASSIGN_OR_RAISE(const ViewParts parts, ReadAllShards(dataset, options));
  ARROW_ASSIGN_OR_RAISE(auto impl, Assemble(parts));
  impl->logs = HeldOfLogs(parts);
  return std::shared_ptr<FreshView>(new FreshView(std::move(impl)));
}

arrow::Result<std::shared_ptr<FreshView>> FreshView::OpenForWriter(const ShardWriter& writer,
                                                                   const std::vector<ShardSnapshot>& others) {
  ARROW_RETURN_NOT_OK(writer.dataset().session()->runtime().CheckProcess());
  ARROW_RETURN_NOT_OK(CheckSnapshots(others));
  ARROW_ASSIGN_OR_RAISE(const ViewParts parts, ReadShardOf(writer.dataset(), writer.state()));
  std::vector<ShardSnapshot> foreign = others;
  std::erase_if(foreign, [&](const ShardSnapshot& other) { return parts.FindMemory(other.shard) != nullptr; });
  ARROW_ASSIGN_OR_RAISE(auto impl, Assemble(parts, foreign));
  return std::shared_ptr<FreshView>(new FreshView(std::move(impl)));
}

arrow::Result<std::shared_ptr<FreshView>> FreshView::OfSnapshots(std::shared_ptr<Dataset> base,
                                                                 const std::vector<ShardSnapshot>& snapshots) {
  ARROW_RETURN_NOT_OK(CheckSnapshots(snapshots));
  ViewParts parts{{}, {}, std::move(base), {}};
  ARROW_ASSIGN_OR_RAISE(parts.details, table::ReadMemWalDetails(parts.base->manifest()));
  ARROW_ASSIGN_OR_RAISE(auto impl, Assemble(parts, snapshots));
  return std::shared_ptr<FreshView>(new FreshView(std::move(impl)));
}

const std::vector<std::string>& FreshView::tiers() const { return impl_->tiers; }
const Dataset& FreshView::base() const { return *impl_->base; }
std::shared_ptr<arrow::Schema> FreshView::arrow_schema() const { return impl_->base->arrow_schema(); }

namespace {
// Keeps the view alive for as long as its reader.
class ViewReader final : public arrow::RecordBatchReader {
 public:
  ViewReader(std::shared_ptr<const FreshView::Impl> view, std::shared_ptr<arrow::RecordBatchReader> reader)
      : view_(std::move(view)), reader_(std::move(reader)) {}
  std::shared_ptr<arrow::Schema> schema() const override { return reader_->schema(); }
  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override { return reader_->ReadNext(batch); }

 private:
  const std::shared_ptr<const FreshView::Impl> view_;
  const std::shared_ptr<arrow::RecordBatchReader> reader_;
};
}  // namespace

arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> FreshView::Scan(const ScanOptions& options,
                                                                         bool with_generation) const {
  if (impl_->only_base && !with_generation) return impl_->base->Scan(options);
  query::SourceScan scan;
  ARROW_ASSIGN_OR_RAISE(scan.columns, impl_->Project(options.columns));
  scan.offset = options.offset;
  scan.limit = options.limit;
  scan.batch_rows = options.batch_rows;
  scan.batch_bytes = options.batch_bytes;
  scan.with_row_id = options.with_row_id;
  scan.with_row_address = options.with_row_address;
  ARROW_ASSIGN_OR_RAISE(auto reader, impl_->fold->Scan(std::move(scan), with_generation));
  return std::make_shared<ViewReader>(impl_, std::move(reader));
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> FreshView::Get(
    const arrow::RecordBatch& keys, const std::optional<std::vector<std::string>>& columns) const {
  ARROW_ASSIGN_OR_RAISE(const auto encoded, impl_->EncodeKeys(keys));
  ARROW_ASSIGN_OR_RAISE(const auto target, impl_->Project(columns));
  return impl_->fold->Get(encoded, target);
}

arrow::Result<uint64_t> FreshView::CountRows() const { return impl_->fold->CountRows(); }

arrow::Result<file::Schema> FreshView::Impl::Project(const std::optional<std::vector<std::string>>& columns) const {
  if (!columns.has_value()) return base->schema();
  return base->schema().Select(*columns);
}

arrow::Result<std::vector<std::string>> FreshView::Impl::EncodeKeys(const arrow::RecordBatch& batch) const {
  if (key_names.empty()) return InvalidInput("{} has no primary key; rows cannot be looked up by key", base->uri());
  if (!keys.has_value()) return NotSupported("the primary key of {} has a type that cannot be looked up", base->uri());
  arrow::ArrayVector columns;
  for (const std::string& name : key_names) {
    auto column = batch.GetColumnByName(name);
    if (column == nullptr) return InvalidInput("the keys must hold the column '{}' exactly once", name);
    const auto& type = base->schema().FindByName(name)->type;
    if (!column->type()->Equals(type)) {
      return InvalidInput("key column '{}' is {}, the table's is {}", name, column->type()->ToString(),
                          type->ToString());
    }
    if (column->null_count() > 0) return InvalidInput("key column '{}' holds a null", name);
    columns.push_back(std::move(column));
  }
  std::vector<std::string> encoded;
  ARROW_RETURN_NOT_OK(keys->Encode(columns, &encoded));
  return encoded;
}

}  // namespace javelin::memwal
