// `javelin compact`: moves flushed rows into the table and says what was done to each shard.
#include <iostream>

#include "cli/commands.h"
#include "cli/json_values.h"
#include "javelin/base/error.h"
#include "javelin/dataset/dataset.h"
#include "javelin/memwal/compactor.h"

namespace javelin::cli {

namespace {

Json Numbers(const std::vector<Generation>& generations) {
  Json numbers = Json::array();
  for (const Generation generation : generations) numbers.push_back(generation.value());
  return numbers;
}

Json ShardJson(const memwal::ShardCompaction& shard) {
  return {{"shard_id", shard.shard.ToString()},
          {"passes", shard.passes},
          {"generations", Numbers(shard.generations)},
          {"rows_read", shard.rows_read},
          {"rows_upserted", shard.rows_upserted},
          {"rows_deleted", shard.rows_deleted},
          {"compacted_through", shard.compacted_through.value()},
          {"retired", Numbers(shard.retired)},
          {"awaiting_indexes", shard.awaiting_indexes},
          {"folders_deleted", shard.folders_deleted},
          {"skipped", shard.skipped.empty() ? Json(nullptr) : Json(shard.skipped)}};
}

std::string Line(const memwal::ShardCompaction& shard, bool dry_run) {
  std::string line = shard.shard.ToString() + ": ";
  if (!shard.skipped.empty()) {
    line += "nothing to move, " + shard.skipped;
  } else if (dry_run) {
    line += fmt::format("would move {} SSTables of {} rows", shard.generations.size(), shard.rows_read);
  } else {
    line +=
        fmt::format("moved {} SSTables of {} rows in {} commits: {} keys written, {} deleted", shard.generations.size(),
                    shard.rows_read, shard.passes, shard.rows_upserted, shard.rows_deleted);
  }
  const char* would = dry_run ? "would be " : "";
  line +=
      fmt::format("; {} {}retired, {} folders {}deleted", shard.retired.size(), would, shard.folders_deleted, would);
  if (shard.awaiting_indexes > 0) line += fmt::format("; {} wait for indexes", shard.awaiting_indexes);
  return line;
}

}  // namespace

arrow::Status Compact(const std::shared_ptr<Session>& session, const CompactCommandOptions& options) {
  memwal::CompactOptions compact;
  compact.dry_run = options.dry_run;
  if (options.max_bytes.has_value()) compact.max_bytes_per_pass = *options.max_bytes;
  if (options.retired_grace_seconds.has_value()) {
    constexpr uint64_t kMost = 9'000'000'000;  // a Duration holds a little more
    if (*options.retired_grace_seconds > kMost)
      return InvalidInput("--retired-grace must be at most {} seconds, got {}", kMost, *options.retired_grace_seconds);
    compact.retired_grace = std::chrono::seconds(*options.retired_grace_seconds);
  }
  if (options.shard.has_value()) {
    ARROW_ASSIGN_OR_RAISE(compact.shard, table::Uuid::Parse(*options.shard));
  }
  ARROW_ASSIGN_OR_RAISE(const auto dataset, Dataset::Open(session, options.uri));
  ARROW_ASSIGN_OR_RAISE(const auto report, memwal::CompactShards(*dataset, compact));
  if (options.json) {
    Json shards = Json::array();
    for (const auto& shard : report.shards) shards.push_back(ShardJson(shard));
    const Json document = {{"uri", dataset->uri()},
                           {"version", report.dataset->version().value()},
                           {"dry_run", options.dry_run},
                           {"shards", std::move(shards)}};
    std::cout << document.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
    return arrow::Status::OK();
  }
  std::cout << fmt::format("version: {}\nshards ({})\n", report.dataset->version(), report.shards.size());
  for (const auto& shard : report.shards) std::cout << "  " << Line(shard, options.dry_run) << '\n';
  return arrow::Status::OK();
}

}  // namespace javelin::cli
