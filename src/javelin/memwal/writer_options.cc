#include "javelin/memwal/writer_options.h"

#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "javelin/base/error.h"

namespace javelin::memwal {

namespace {

using StoredDefaults = std::map<std::string, std::string>;

// Names as users and the stored map know them; durations carry their unit in the stored name.
constexpr char kDurableWrite[] = "durable_write";
constexpr char kCommitMode[] = "commit_mode";
constexpr char kMaxWalBufferSize[] = "max_wal_buffer_size";
constexpr char kFlushInterval[] = "max_wal_flush_interval_ms";
constexpr char kPersistRetries[] = "max_wal_persist_retries";
constexpr char kRetryBaseDelay[] = "wal_persist_retry_base_delay_ms";
constexpr char kMaxMemTableSize[] = "max_memtable_size";
constexpr char kMaxMemTableRows[] = "max_memtable_rows";
constexpr char kMaxMemTableBatches[] = "max_memtable_batches";
constexpr char kMaxUnflushedBytes[] = "max_unflushed_memtable_bytes";
constexpr char kScanBatchSize[] = "manifest_scan_batch_size";
constexpr char kBackpressureLogInterval[] = "backpressure_log_interval_ms";
constexpr char kFrozenGrace[] = "frozen_memtable_grace_ms";
constexpr char kStatsLogInterval[] = "stats_log_interval_ms";
constexpr char kEnableMemTable[] = "enable_memtable";

// Every flushed MemTable carries a key filter of this size (docs/format.md, "MemWAL: key filter").
constexpr uint64_t kKeyFilterBytes = 32'768;
// One MemTable becomes one fragment, whose rows have 32-bit offsets.
constexpr uint64_t kMostMemTableRows = UINT32_MAX;
// A slot per batch is reserved when a MemTable starts; a stored number must not be able to ask for all memory.
constexpr uint64_t kMostMemTableBatches = 1u << 24;

arrow::Status Malformed(const std::string& key, const std::string& value, std::string_view expected) {
  return InvalidInput(
      "stored writer default {} = '{}' is not {}; correct the table's writer defaults or give the option", key, value,
      expected);
}

arrow::Result<uint64_t> ParseNumber(const std::string& key, const std::string& value, uint64_t most) {
  uint64_t number = 0;
  const char* end = value.data() + value.size();
  auto [stop, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || stop != end || number > most) {
    return Malformed(key, value, fmt::format("a decimal number from 0 to {}", most));
  }
  return number;
}

template <typename Number>
arrow::Status Load(const StoredDefaults& stored, const std::string& key, Number* target) {
  auto found = stored.find(key);
  if (found == stored.end()) return arrow::Status::OK();
  ARROW_ASSIGN_OR_RAISE(uint64_t number, ParseNumber(key, found->second, std::numeric_limits<Number>::max()));
  *target = static_cast<Number>(number);
  return arrow::Status::OK();
}

template <>
arrow::Status Load(const StoredDefaults& stored, const std::string& key, bool* target) {
  auto found = stored.find(key);
  if (found == stored.end()) return arrow::Status::OK();
  if (found->second != "true" && found->second != "false") return Malformed(key, found->second, "true or false");
  *target = found->second == "true";
  return arrow::Status::OK();
}

template <>
arrow::Status Load(const StoredDefaults& stored, const std::string& key, Duration* target) {
  auto found = stored.find(key);
  if (found == stored.end()) return arrow::Status::OK();
  constexpr uint64_t kMostMilliseconds = Duration::max() / std::chrono::milliseconds(1);
  ARROW_ASSIGN_OR_RAISE(uint64_t number, ParseNumber(key, found->second, kMostMilliseconds));
  *target = std::chrono::milliseconds(number);
  return arrow::Status::OK();
}

template <>
arrow::Status Load(const StoredDefaults& stored, const std::string& key, CommitMode* target) {
  auto found = stored.find(key);
  if (found == stored.end()) return arrow::Status::OK();
  if (found->second != "interval" && found->second != "eager")
    return Malformed(key, found->second, "interval or eager");
  *target = found->second == "eager" ? CommitMode::kEager : CommitMode::kInterval;
  return arrow::Status::OK();
}

arrow::Result<ResolvedWriterOptions> LoadStored(const StoredDefaults& stored) {
  ResolvedWriterOptions options;
  ARROW_RETURN_NOT_OK(Load(stored, kDurableWrite, &options.durable_write));
  ARROW_RETURN_NOT_OK(Load(stored, kCommitMode, &options.commit_mode));
  ARROW_RETURN_NOT_OK(Load(stored, kMaxWalBufferSize, &options.max_wal_buffer_size));
  // A stored set without an interval means "no ticker", which only a non-durable writer can have been given.
  if (!options.durable_write) options.max_wal_flush_interval = Duration::zero();
  ARROW_RETURN_NOT_OK(Load(stored, kFlushInterval, &options.max_wal_flush_interval));
  ARROW_RETURN_NOT_OK(Load(stored, kPersistRetries, &options.max_wal_persist_retries));
  ARROW_RETURN_NOT_OK(Load(stored, kRetryBaseDelay, &options.wal_persist_retry_base_delay));
  ARROW_RETURN_NOT_OK(Load(stored, kMaxMemTableSize, &options.max_memtable_size));
  ARROW_RETURN_NOT_OK(Load(stored, kMaxMemTableRows, &options.max_memtable_rows));
  ARROW_RETURN_NOT_OK(Load(stored, kMaxMemTableBatches, &options.max_memtable_batches));
  ARROW_RETURN_NOT_OK(Load(stored, kMaxUnflushedBytes, &options.max_unflushed_memtable_bytes));
  ARROW_RETURN_NOT_OK(Load(stored, kScanBatchSize, &options.manifest_scan_batch_size));
  ARROW_RETURN_NOT_OK(Load(stored, kBackpressureLogInterval, &options.backpressure_log_interval));
  ARROW_RETURN_NOT_OK(Load(stored, kFrozenGrace, &options.frozen_memtable_grace));
  ARROW_RETURN_NOT_OK(Load(stored, kEnableMemTable, &options.enable_memtable));
  return options;
}

template <typename Value>
void Override(const std::optional<Value>& given, Value* target) {
  if (given.has_value()) *target = *given;
}

void OverrideAll(const WriterOptions& given, ResolvedWriterOptions* options) {
  Override(given.shard_spec_id, &options->shard_spec_id);
  Override(given.durable_write, &options->durable_write);
  Override(given.commit_mode, &options->commit_mode);
  Override(given.max_wal_buffer_size, &options->max_wal_buffer_size);
  Override(given.max_wal_flush_interval, &options->max_wal_flush_interval);
  Override(given.max_wal_persist_retries, &options->max_wal_persist_retries);
  Override(given.wal_persist_retry_base_delay, &options->wal_persist_retry_base_delay);
  Override(given.max_memtable_size, &options->max_memtable_size);
  Override(given.max_memtable_rows, &options->max_memtable_rows);
  Override(given.max_memtable_batches, &options->max_memtable_batches);
  Override(given.max_unflushed_memtable_bytes, &options->max_unflushed_memtable_bytes);
  Override(given.manifest_scan_batch_size, &options->manifest_scan_batch_size);
  Override(given.backpressure_log_interval, &options->backpressure_log_interval);
  Override(given.frozen_memtable_grace, &options->frozen_memtable_grace);
  Override(given.enable_memtable, &options->enable_memtable);
}

arrow::Status CheckRange(std::string_view name, uint64_t value, uint64_t most) {
  if (value >= 1 && value <= most) return arrow::Status::OK();
  return InvalidInput("{} is {}; it must be from 1 to {}", name, value, most);
}

arrow::Status CheckDuration(std::string_view name, Duration value) {
  if (value >= Duration::zero()) return arrow::Status::OK();
  return InvalidInput("{} is {} ns; it must not be negative", name, value.count());
}

arrow::Status Validate(const ResolvedWriterOptions& options) {
  ARROW_RETURN_NOT_OK(CheckDuration("max_wal_flush_interval", options.max_wal_flush_interval));
  ARROW_RETURN_NOT_OK(CheckDuration("wal_persist_retry_base_delay", options.wal_persist_retry_base_delay));
  ARROW_RETURN_NOT_OK(CheckDuration("backpressure_log_interval", options.backpressure_log_interval));
  ARROW_RETURN_NOT_OK(CheckDuration("frozen_memtable_grace", options.frozen_memtable_grace));
  // Without a ticker nothing would ever append a small durable put, and its caller would wait for ever (row T4).
  if (options.durable_write && options.commit_mode == CommitMode::kInterval &&
      options.max_wal_flush_interval == Duration::zero()) {
    return InvalidInput(
        "durable_write needs max_wal_flush_interval > 0 in commit mode interval: without a tick a durable put would "
        "never "
        "return; set max_wal_flush_interval, use commit mode eager, or turn durable_write off");
  }
  ARROW_RETURN_NOT_OK(CheckRange(kMaxMemTableSize, options.max_memtable_size, UINT64_MAX));
  ARROW_RETURN_NOT_OK(CheckRange(kMaxMemTableRows, options.max_memtable_rows, kMostMemTableRows));
  ARROW_RETURN_NOT_OK(CheckRange(kMaxMemTableBatches, options.max_memtable_batches, kMostMemTableBatches));
  ARROW_RETURN_NOT_OK(CheckRange(kScanBatchSize, options.manifest_scan_batch_size, 1'000));
  // One full MemTable and its key filter must fit below the ceiling, or every put would wait for room that never comes.
  uint64_t ceiling = options.max_unflushed_memtable_bytes;
  if (ceiling < kKeyFilterBytes || ceiling - kKeyFilterBytes < options.max_memtable_size) {
    uint64_t room = UINT64_MAX - kKeyFilterBytes;
    uint64_t minimum = options.max_memtable_size > room ? UINT64_MAX : options.max_memtable_size + kKeyFilterBytes;
    return InvalidInput("max_unflushed_memtable_bytes is {}; with max_memtable_size {} it must be at least {}", ceiling,
                        options.max_memtable_size, minimum);
  }
  return arrow::Status::OK();
}

// Rounds up: a stored 0 would mean "no ticker".
std::string Milliseconds(Duration duration) {
  return fmt::to_string(std::chrono::ceil<std::chrono::milliseconds>(duration).count());
}

std::string Boolean(bool value) { return value ? "true" : "false"; }

}  // namespace

arrow::Result<ResolvedWriterOptions> ResolveWriterOptions(const WriterOptions& options,
                                                          const StoredDefaults& stored_defaults) {
  ARROW_ASSIGN_OR_RAISE(ResolvedWriterOptions resolved, LoadStored(stored_defaults));
  OverrideAll(options, &resolved);
  ARROW_RETURN_NOT_OK(Validate(resolved));
  return resolved;
}

StoredDefaults ToStoredDefaults(const ResolvedWriterOptions& options) {
  StoredDefaults stored{
      {kDurableWrite, Boolean(options.durable_write)},
      {kMaxWalBufferSize, fmt::to_string(options.max_wal_buffer_size)},
      {kFlushInterval, Milliseconds(options.max_wal_flush_interval)},
      {kPersistRetries, fmt::to_string(options.max_wal_persist_retries)},
      {kRetryBaseDelay, Milliseconds(options.wal_persist_retry_base_delay)},
      {kMaxMemTableSize, fmt::to_string(options.max_memtable_size)},
      {kMaxMemTableRows, fmt::to_string(options.max_memtable_rows)},
      {kMaxMemTableBatches, fmt::to_string(options.max_memtable_batches)},
      {kMaxUnflushedBytes, fmt::to_string(options.max_unflushed_memtable_bytes)},
      {kScanBatchSize, fmt::to_string(options.manifest_scan_batch_size)},
      {kBackpressureLogInterval, Milliseconds(options.backpressure_log_interval)},
      // Not an option here; the released peer expects every stored set to have it.
      {kStatsLogInterval, "60000"},
      {kEnableMemTable, Boolean(options.enable_memtable)},
  };
  // The peer does not store a grace and does not know commit modes, so only what is not its own way is stored.
  if (options.frozen_memtable_grace > Duration::zero())
    stored[kFrozenGrace] = Milliseconds(options.frozen_memtable_grace);
  if (options.commit_mode == CommitMode::kEager) stored[kCommitMode] = "eager";
  return stored;
}

}  // namespace javelin::memwal
