#include "javelin/memwal/fresh_view.h"

#include "javelin/base/error.h"
#include "javelin/memwal/fresh_view_moment_internal.h"
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

using View = FreshView::Moment::View;

arrow::Result<View> TakeAllShards(const Dataset& dataset, const FreshOptions& options) {
  ARROW_ASSIGN_OR_RAISE(const ViewParts parts, ReadAllShards(dataset, options));
  ARROW_ASSIGN_OR_RAISE(auto view, Assemble(parts));
  view->logs = HeldOfLogs(parts);
  return view;
}

arrow::Result<View> TakeShardOf(const Dataset& dataset, const std::shared_ptr<WriterState>& writer,
                                std::vector<ShardSnapshot> others) {
  if (writer == nullptr) return NotFound("the writer of this view of {} is gone", dataset.uri());
  ARROW_ASSIGN_OR_RAISE(const ViewParts parts, ReadShardOf(dataset, writer));
  std::erase_if(others, [&](const ShardSnapshot& other) { return parts.FindMemory(other.shard) != nullptr; });
  return Assemble(parts, others);
}

// Nothing is read before the first batch is asked for.
arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> ScanView(const FreshView::Impl& view,
                                                                  const ScanOptions& options, bool with_generation) {
  if (view.only_base && !with_generation) return view.base->Scan(options);
  query::SourceScan scan;
  ARROW_ASSIGN_OR_RAISE(scan.columns, view.Project(options.columns));
  scan.offset = options.offset;
  scan.limit = options.limit;
  scan.batch_rows = options.batch_rows;
  scan.batch_bytes = options.batch_bytes;
  scan.with_row_id = options.with_row_id;
  scan.with_row_address = options.with_row_address;
  return view.fold->Scan(std::move(scan), with_generation);
}

// Keeps the view alive for as long as it reads; the first batch is its answer.
class ViewReader final : public arrow::RecordBatchReader {
 public:
  ViewReader(std::shared_ptr<FreshView::Moment> moment, ScanOptions options, bool with_generation,
             std::shared_ptr<arrow::Schema> schema)
      : moment_(std::move(moment)),
        options_(std::move(options)),
        with_generation_(with_generation),
        schema_(std::move(schema)) {}

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    if (scan_.reader != nullptr) return moment_->Explain(*scan_.view, scan_.reader->ReadNext(batch));
    ARROW_ASSIGN_OR_RAISE(scan_, moment_->Answer([&](const View& view) { return Begin(view); }));
    *batch = std::exchange(scan_.first, nullptr);
    return arrow::Status::OK();
  }

 private:
  struct Begun {
    View view;
    std::shared_ptr<arrow::RecordBatchReader> reader;
    std::shared_ptr<arrow::RecordBatch> first;
  };

  arrow::Result<Begun> Begin(const View& view) const {
    ARROW_ASSIGN_OR_RAISE(auto reader, ScanView(*view, options_, with_generation_));
    if (!reader->schema()->Equals(*schema_, /*check_metadata=*/false))
      return Internal("the view has other columns after it was taken anew: {}", reader->schema()->ToString());
    // What is gone shows before the first batch, which may come from memory.
    if (!options_.limit.has_value()) ARROW_RETURN_NOT_OK(view->ahead->OpenFrom(0));
    Begun begun{view, std::move(reader), nullptr};
    ARROW_RETURN_NOT_OK(begun.reader->ReadNext(&begun.first));
    return begun;
  }

  const std::shared_ptr<FreshView::Moment> moment_;
  const ScanOptions options_;
  const bool with_generation_;
  const std::shared_ptr<arrow::Schema> schema_;
  Begun scan_;
};

}  // namespace

arrow::Result<std::shared_ptr<FreshView>> FreshView::Open(const Dataset& dataset, const FreshOptions& options) {
  Runtime& runtime = dataset.session()->runtime();
  ARROW_RETURN_NOT_OK(runtime.CheckProcess());
  ARROW_ASSIGN_OR_RAISE(auto view, TakeAllShards(dataset, options));
  const auto retake = [asked = dataset] { return TakeAllShards(asked, {}); };
  return std::shared_ptr<FreshView>(new FreshView(std::make_shared<Moment>(runtime, std::move(view), retake)));
}

arrow::Result<std::shared_ptr<FreshView>> FreshView::OpenForWriter(const ShardWriter& writer,
                                                                   const std::vector<ShardSnapshot>& others) {
  Runtime& runtime = writer.dataset().session()->runtime();
  ARROW_RETURN_NOT_OK(runtime.CheckProcess());
  ARROW_RETURN_NOT_OK(CheckSnapshots(others));
  ARROW_ASSIGN_OR_RAISE(auto view, TakeShardOf(writer.dataset(), writer.state(), others));
  const std::weak_ptr<WriterState> state = writer.state();
  const auto retake = [dataset = writer.dataset(), state, others] {
    return TakeShardOf(dataset, state.lock(), others);
  };
  return std::shared_ptr<FreshView>(new FreshView(std::make_shared<Moment>(runtime, std::move(view), retake)));
}

arrow::Result<std::shared_ptr<FreshView>> FreshView::OfSnapshots(std::shared_ptr<Dataset> base,
                                                                 const std::vector<ShardSnapshot>& snapshots) {
  ARROW_RETURN_NOT_OK(CheckSnapshots(snapshots));
  ViewParts parts{{}, {}, std::move(base), {}};
  ARROW_ASSIGN_OR_RAISE(parts.details, table::ReadMemWalDetails(parts.base->manifest()));
  ARROW_ASSIGN_OR_RAISE(auto view, Assemble(parts, snapshots));
  Runtime& runtime = parts.base->session()->runtime();
  return std::shared_ptr<FreshView>(new FreshView(std::make_shared<Moment>(runtime, std::move(view), nullptr)));
}

const std::vector<std::string>& FreshView::tiers() const { return moment_->Fix()->tiers; }
const Dataset& FreshView::base() const { return *moment_->Fix()->base; }
std::shared_ptr<arrow::Schema> FreshView::arrow_schema() const { return moment_->Current()->base->arrow_schema(); }
std::vector<std::string> FreshView::key_columns() const { return moment_->Current()->key_names; }

arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> FreshView::Scan(const ScanOptions& options,
                                                                         bool with_generation) const {
  ARROW_ASSIGN_OR_RAISE(const auto reader, ScanView(*moment_->Current(), options, with_generation));
  return std::make_shared<ViewReader>(moment_, options, with_generation, reader->schema());
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> FreshView::Get(
    const arrow::RecordBatch& keys, const std::optional<std::vector<std::string>>& columns) const {
  return moment_->Answer([&](const View& view) -> arrow::Result<std::shared_ptr<arrow::RecordBatch>> {
    ARROW_ASSIGN_OR_RAISE(const auto encoded, view->EncodeKeys(keys));
    ARROW_ASSIGN_OR_RAISE(const auto target, view->Project(columns));
    return view->fold->Get(encoded, target);
  });
}

arrow::Result<uint64_t> FreshView::CountRows() const {
  return moment_->Answer([](const View& view) { return view->fold->CountRows(); });
}

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
