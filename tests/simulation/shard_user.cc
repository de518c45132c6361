#include "shard_user.h"

#include "compactor_actor.h"

namespace javelin::simulation {

ShardUser::ShardUser(World& world, std::string name) : world_(world), name_(std::move(name)) {
  auto dataset = world_.OpenTable(world_.NewSession(false));
  world_.Expect(name_ + " opening the table", dataset.status(), {ErrorKind::kTransient});
  if (dataset.ok()) dataset_ = *dataset;
}

arrow::Status ShardUser::Open(const memwal::WriterOptions& options) {
  writer_.reset();
  if (dataset_ == nullptr) return Closed("the table could not be opened");
  number_ = world_.history.StartOpen(name_, options.durable_write.value_or(true));
  ARROW_ASSIGN_OR_RAISE(writer_, memwal::ShardWriter::Open(*dataset_, std::string(kShard), options));
  world_.history.Opened(world_.runtime(), number_, writer_->epoch());
  return arrow::Status::OK();
}

arrow::Status ShardUser::Record(const std::string& call, Moment started, const arrow::Status& status) {
  world_.history.CallEnded(world_.runtime(), number_, started, status, name_ + " " + call);
  return status;
}

arrow::Status ShardUser::Do(bool is_delete, std::vector<std::vector<int64_t>> keys) {
  if (writer_ == nullptr) return Closed("no open writer");
  const Operation& operation = world_.history.Start(number_, is_delete, std::move(keys));
  operation_ = operation.id;
  const Moment started = operation.started;
  auto batches = MakeBatches(operation);
  arrow::Status status = is_delete ? writer_->Delete(batches) : writer_->Put(batches);
  world_.history.Finished(world_.runtime(), operation_, status);
  return Record(is_delete ? "delete" : "put", started, status);
}

arrow::Status ShardUser::Flush() {
  if (writer_ == nullptr) return Closed("no open writer");
  const Moment started = world_.history.Now();
  arrow::Status status = Record("flush", started, writer_->FlushWal());
  if (status.ok()) world_.history.Flushed(world_.runtime(), number_, started);
  return status;
}

arrow::Status ShardUser::Publish() {
  if (writer_ == nullptr) return Closed("no open writer");
  const Moment started = world_.history.Now();
  arrow::Status status = Record("publish", started, writer_->Flush());
  if (status.ok()) world_.history.Flushed(world_.runtime(), number_, started);
  return status;
}

arrow::Status ShardUser::Close() {
  if (writer_ == nullptr) return Closed("no open writer");
  const Moment started = world_.history.Now();
  arrow::Status status = Record("close", started, writer_->Close());
  if (status.ok()) world_.history.Flushed(world_.runtime(), number_, started);
  writer_.reset();
  return status;
}

arrow::Result<memwal::ShardCompaction> ShardUser::Compact(bool collect) {
  if (dataset_ == nullptr) return Closed("the table could not be opened");
  memwal::CompactOptions options;
  if (collect) options.retired_grace = Duration::zero();
  const auto report = memwal::CompactShards(*dataset_, options);
  ExpectCompaction(world_, name_ + " compacting", report.status());
  ARROW_RETURN_NOT_OK(report);
  return report->shards.empty() ? memwal::ShardCompaction() : report->shards.front();
}

arrow::Result<uint64_t> ShardUser::Collect() {
  if (dataset_ == nullptr) return Closed("the table could not be opened");
  memwal::CompactOptions options;
  options.retired_grace = Duration::zero();
  auto collected = memwal::CollectRetired(*dataset_, options);
  ExpectCompaction(world_, name_ + " collecting", collected.status());
  return collected;
}

arrow::Status ShardUser::Seal() {
  world_.history.SealsMayHappen();
  return memwal::SealShard(*dataset_, std::string(kShard)).status();
}

arrow::Status ShardUser::Unseal() { return memwal::UnsealShard(*dataset_, std::string(kShard)).status(); }

arrow::Result<TableState> ShardUser::ReadPublished() {
  ScanRecord record;
  record.writer = -1;
  record.published_before = world_.Published();
  ARROW_ASSIGN_OR_RAISE(const auto view, memwal::FreshView::Open(*dataset_));
  (void)view->tiers();  // of now, whenever it is read
  record.published_after = world_.Published();
  ARROW_ASSIGN_OR_RAISE(record.state, ScanAll(*view));
  TableState state = record.state;
  world_.history.Scanned(world_.runtime(), std::move(record));
  return state;
}

arrow::Result<TableState> ShardUser::ReadBase() {
  ARROW_ASSIGN_OR_RAISE(const auto newest, dataset_->CheckoutLatest());
  ARROW_ASSIGN_OR_RAISE(const auto reader, newest->Scan());
  return ReadAll(*reader);
}

arrow::Result<TableState> ShardUser::Read() {
  if (writer_ == nullptr) return Closed("no open writer");
  ScanRecord record;
  record.writer = number_;
  record.started = world_.history.Now();
  auto view = memwal::FreshView::OpenForWriter(*writer_);
  if (view.ok()) (void)(*view)->tiers();  // of now, whenever it is read
  record.finished = world_.history.Now();
  ARROW_RETURN_NOT_OK(Record("view", record.started, view.status()));
  ARROW_ASSIGN_OR_RAISE(record.state, ScanAll(**view));
  TableState state = record.state;
  world_.history.Scanned(world_.runtime(), std::move(record));
  return state;
}

}  // namespace javelin::simulation
