// What a view does not hold: rows that lie only in logs.
#include "javelin/base/error.h"
#include "javelin/memwal/fresh_view_moment_internal.h"
#include "javelin/memwal/shard_listing.h"
#include "javelin/memwal/wal_tailer.h"
#include "javelin/memwal/writer_registry.h"

namespace javelin::memwal {

namespace {

arrow::Result<uint64_t> EntriesWithRowsAfter(const Dataset& dataset, const Uuid& shard, WalPosition through) {
  const StoreLocation& location = dataset.location();
  auto manifests = WriterRegistry::Of(*dataset.session())->ReaderManifestStore(location, shard);
  WalTailer tailer(dataset.session()->resources(), location.store, std::move(manifests), location.root);
  ARROW_ASSIGN_OR_RAISE(const WalBacklog backlog, tailer.BacklogAfter(through));
  return backlog.entries_with_rows;
}

}  // namespace

arrow::Result<std::vector<UnseenLog>> FreshView::UnseenLogs() const {
  const auto view = moment_->Fix();
  if (!view->logs.has_value())
    return InvalidInput("this view of {} was not made over all shards, so it knows nothing of their logs",
                        base().uri());
  const Impl::Logs& logs = *view->logs;
  ARROW_ASSIGN_OR_RAISE(const auto shards, ListShards(base()));
  std::vector<UnseenLog> unseen;
  for (const Uuid& shard : shards) {
    if (logs.in_memory.contains(shard)) continue;
    const auto covered = logs.covered_through.find(shard);
    const WalPosition through = covered == logs.covered_through.end() ? WalPosition(0) : covered->second;
    ARROW_ASSIGN_OR_RAISE(const uint64_t entries, EntriesWithRowsAfter(base(), shard, through));
    if (entries > 0) unseen.push_back({shard, entries});
  }
  return unseen;
}

}  // namespace javelin::memwal
