// What each command does. Results go to standard output, notices to standard error; a failure is returned for main to
// print.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/status.h>

#include "javelin/dataset/session.h"

namespace javelin::cli {

enum class RowFormat { kTable, kJsonLines, kCsv, kArrow };

struct InspectOptions {
  std::string uri;
  bool json = false;
};
// Schema, versions, fragments, indexes, MemWAL details and the state of every shard. Claims nothing.
arrow::Status Inspect(const std::shared_ptr<Session>& session, const InspectOptions& options);

struct WalOptions {
  std::string uri;
  std::string shard;
  bool json = false;
};
// The manifest versions and log entries of a shard. Claims nothing. What does not decode or is missing is shown in its
// place; the first such fault is returned after all was printed.
arrow::Status Wal(const std::shared_ptr<Session>& session, const WalOptions& options);

struct RowOptions {
  std::string uri;
  std::optional<std::vector<std::string>> columns;
  RowFormat format = RowFormat::kTable;
};

struct ScanCommandOptions {
  RowOptions rows;
  std::optional<uint64_t> limit;
  uint64_t offset = 0;
  bool base_only = false;  // the base table without its shards
};
arrow::Status Scan(const std::shared_ptr<Session>& session, const ScanCommandOptions& options);

struct GetCommandOptions {
  RowOptions rows;
  std::vector<std::string> keys;
};
arrow::Status Get(const std::shared_ptr<Session>& session, const GetCommandOptions& options);

struct CompactCommandOptions {
  std::string uri;
  std::optional<std::string> shard;
  std::optional<uint64_t> max_bytes;              // of one commit; the library's default if absent
  std::optional<uint64_t> retired_grace_seconds;  // the same
  bool dry_run = false;
  bool json = false;
};
// Moves the flushed rows of the shards into the table and prints what was done.
arrow::Status Compact(const std::shared_ptr<Session>& session, const CompactCommandOptions& options);

}  // namespace javelin::cli
