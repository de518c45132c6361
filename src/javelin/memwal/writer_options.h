// Options of a shard writer: what a caller may set, and what they resolve to.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <arrow/result.h>

#include "javelin/base/runtime.h"

namespace javelin::memwal {

// kInterval: one append per tick. kEager: an append starts as soon as something is pending and none is under way; what
// arrives meanwhile shares the next one.
enum class CommitMode { kInterval, kEager };

// As given by a caller. What is absent comes from the table's stored writer defaults, then from the built-in ones.
struct WriterOptions {
  std::optional<uint32_t> shard_spec_id;  // absent or 0 = the table's only spec
  std::optional<bool> durable_write;      // true: put returns when the rows are in the log
  std::optional<CommitMode> commit_mode;
  std::optional<uint64_t> max_wal_buffer_size;     // bytes; 0 = no size trigger
  std::optional<Duration> max_wal_flush_interval;  // zero = no ticker (only without durable_write)
  std::optional<uint32_t> max_wal_persist_retries;
  std::optional<Duration> wal_persist_retry_base_delay;
  std::optional<uint64_t> max_memtable_size;  // bytes
  std::optional<uint64_t> max_memtable_rows;
  std::optional<uint64_t> max_memtable_batches;
  std::optional<uint64_t> max_unflushed_memtable_bytes;
  std::optional<uint32_t> manifest_scan_batch_size;
  std::optional<Duration> backpressure_log_interval;  // a put that waits for room counts a warning each; zero = none
  std::optional<Duration> frozen_memtable_grace;      // flushed MemTables answer reads so long; zero = not at all
  std::optional<bool> enable_memtable;
  friend bool operator==(const WriterOptions&, const WriterOptions&) = default;
};

// Every value decided. Defaults: docs/format.md, "MemWAL: writer options".
struct ResolvedWriterOptions {
  uint32_t shard_spec_id = 0;
  bool durable_write = true;
  CommitMode commit_mode = CommitMode::kInterval;
  uint64_t max_wal_buffer_size = 10u << 20;
  Duration max_wal_flush_interval = std::chrono::milliseconds(100);
  uint32_t max_wal_persist_retries = 3;
  Duration wal_persist_retry_base_delay = std::chrono::milliseconds(50);
  uint64_t max_memtable_size = 256u << 20;
  uint64_t max_memtable_rows = 100'000;
  uint64_t max_memtable_batches = 8'000;
  uint64_t max_unflushed_memtable_bytes = 1u << 30;
  uint32_t manifest_scan_batch_size = 1;
  Duration backpressure_log_interval = std::chrono::seconds(30);
  Duration frozen_memtable_grace = Duration::zero();
  bool enable_memtable = true;
};

// Explicit options over the table's stored defaults over the built-in ones, then validated. InvalidInput names the
// option (or the stored key and value) and what is allowed; nothing was touched. Unknown stored keys are ignored.
arrow::Result<ResolvedWriterOptions> ResolveWriterOptions(const WriterOptions& options,
                                                          const std::map<std::string, std::string>& stored_defaults);

// The stored form: all of them, decimal or true / false.
std::map<std::string, std::string> ToStoredDefaults(const ResolvedWriterOptions& options);

}  // namespace javelin::memwal
