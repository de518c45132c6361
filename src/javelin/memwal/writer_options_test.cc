#include "javelin/memwal/writer_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "javelin/base/error.h"

namespace javelin::memwal {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

arrow::Status Refusal(const WriterOptions& options, const std::map<std::string, std::string>& stored = {}) {
  return ResolveWriterOptions(options, stored).status();
}

void ExpectInvalid(const arrow::Status& status, const std::vector<std::string>& words) {
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(KindOf(status), ErrorKind::kInvalidInput) << status.ToString();
  for (const std::string& word : words) EXPECT_THAT(status.message(), HasSubstr(word));
}

TEST(WriterOptions, BuiltInDefaults) {
  auto options = ResolveWriterOptions({}, {}).ValueOrDie();
  EXPECT_EQ(options.shard_spec_id, 0u);
  EXPECT_TRUE(options.durable_write);
  EXPECT_EQ(options.commit_mode, CommitMode::kInterval);
  EXPECT_EQ(options.max_wal_buffer_size, 10'485'760u);
  EXPECT_EQ(options.max_wal_flush_interval, milliseconds(100));
  EXPECT_EQ(options.max_wal_persist_retries, 3u);
  EXPECT_EQ(options.wal_persist_retry_base_delay, milliseconds(50));
  EXPECT_EQ(options.max_memtable_size, 268'435'456u);
  EXPECT_EQ(options.max_memtable_rows, 100'000u);
  EXPECT_EQ(options.max_memtable_batches, 8'000u);
  EXPECT_EQ(options.max_unflushed_memtable_bytes, 1'073'741'824u);
  EXPECT_EQ(options.manifest_scan_batch_size, 1u);
  EXPECT_EQ(options.backpressure_log_interval, milliseconds(30'000));
  EXPECT_TRUE(options.enable_memtable);
}

TEST(WriterOptions, ExplicitOverStoredOverBuiltIn) {
  WriterOptions given;
  given.max_memtable_rows = 7;
  auto options =
      ResolveWriterOptions(given, {{"max_memtable_rows", "10"}, {"max_memtable_batches", "11"}}).ValueOrDie();
  EXPECT_EQ(options.max_memtable_rows, 7u);
  EXPECT_EQ(options.max_memtable_batches, 11u);
  EXPECT_EQ(options.max_memtable_size, 268'435'456u);
}

TEST(WriterOptions, DurableWriteNeedsATick) {
  for (bool enable_memtable : {true, false}) {
    WriterOptions given;
    given.enable_memtable = enable_memtable;
    given.max_wal_flush_interval = Duration::zero();
    ExpectInvalid(Refusal(given), {"max_wal_flush_interval", "durable_write"});
    ExpectInvalid(Refusal({}, {{"max_wal_flush_interval_ms", "0"}}), {"max_wal_flush_interval"});

    given.durable_write = false;
    EXPECT_TRUE(Refusal(given).ok());
    given.durable_write = true;
    given.commit_mode = CommitMode::kEager;
    EXPECT_TRUE(Refusal(given).ok());
  }
}

TEST(WriterOptions, StoredSetWithoutIntervalMeansNoTickerOnlyWithoutDurability) {
  EXPECT_EQ(ResolveWriterOptions({}, {{"durable_write", "false"}})->max_wal_flush_interval, Duration::zero());
  EXPECT_EQ(ResolveWriterOptions({}, {{"durable_write", "true"}})->max_wal_flush_interval, milliseconds(100));
}

TEST(WriterOptions, ZeroesAreRefusedByName) {
  WriterOptions given;
  given.max_memtable_size = 0;
  ExpectInvalid(Refusal(given), {"max_memtable_size"});
  given = {};
  given.max_memtable_rows = 0;
  ExpectInvalid(Refusal(given), {"max_memtable_rows"});
  given = {};
  given.max_memtable_batches = 0;
  ExpectInvalid(Refusal(given), {"max_memtable_batches"});
  given = {};
  given.manifest_scan_batch_size = 0;
  ExpectInvalid(Refusal(given), {"manifest_scan_batch_size"});
  ExpectInvalid(Refusal({}, {{"max_memtable_batches", "0"}}), {"max_memtable_batches"});
}

TEST(WriterOptions, AStoredNumberCannotAskForAllMemory) {
  ExpectInvalid(Refusal({}, {{"max_memtable_batches", "1152921504606846976"}}), {"max_memtable_batches", "16777216"});
  ExpectInvalid(Refusal({}, {{"max_memtable_rows", "4294967296"}}), {"max_memtable_rows", "4294967295"});
}

TEST(WriterOptions, NegativeDurationsAreRefused) {
  WriterOptions given;
  given.max_wal_flush_interval = milliseconds(-1);
  ExpectInvalid(Refusal(given), {"max_wal_flush_interval"});
  given = {};
  given.wal_persist_retry_base_delay = milliseconds(-1);
  ExpectInvalid(Refusal(given), {"wal_persist_retry_base_delay"});
  given = {};
  given.backpressure_log_interval = milliseconds(-1);
  ExpectInvalid(Refusal(given), {"backpressure_log_interval"});
}

TEST(WriterOptions, CeilingMustHoldOneMemTable) {
  WriterOptions given;
  given.max_memtable_size = 1'000;
  given.max_unflushed_memtable_bytes = 33'767;
  ExpectInvalid(Refusal(given), {"max_unflushed_memtable_bytes", "33768"});
  given.max_unflushed_memtable_bytes = 33'768;
  EXPECT_TRUE(Refusal(given).ok());
  // No overflow at the upper end.
  given.max_memtable_size = UINT64_MAX;
  given.max_unflushed_memtable_bytes = UINT64_MAX;
  ExpectInvalid(Refusal(given), {"max_unflushed_memtable_bytes"});
}

TEST(WriterOptions, MalformedStoredValueNamesKeyAndValue) {
  ExpectInvalid(Refusal({}, {{"max_memtable_rows", "ten"}}), {"max_memtable_rows", "ten"});
  ExpectInvalid(Refusal({}, {{"max_memtable_rows", ""}}), {"max_memtable_rows"});
  ExpectInvalid(Refusal({}, {{"max_memtable_rows", "10 "}}), {"max_memtable_rows", "10 "});
  ExpectInvalid(Refusal({}, {{"max_memtable_rows", "-1"}}), {"max_memtable_rows", "-1"});
  ExpectInvalid(Refusal({}, {{"max_wal_persist_retries", "4294967296"}}), {"max_wal_persist_retries", "4294967296"});
  ExpectInvalid(Refusal({}, {{"durable_write", "yes"}}), {"durable_write", "yes"});
  ExpectInvalid(Refusal({}, {{"commit_mode", "fast"}}), {"commit_mode", "fast"});
  ExpectInvalid(Refusal({}, {{"max_wal_flush_interval_ms", "18446744073709551615"}}), {"max_wal_flush_interval_ms"});
  // Refused even if the caller overrides it: a table with a bad default should be noticed by the first who opens it.
  WriterOptions given;
  given.max_memtable_rows = 5;
  ExpectInvalid(Refusal(given, {{"max_memtable_rows", "ten"}}), {"max_memtable_rows", "ten"});
}

TEST(WriterOptions, UnknownStoredKeysAreIgnored) {
  EXPECT_TRUE(Refusal({}, {{"sync_indexed_write", "x"},
                           {"async_index_buffer_rows", "x"},
                           {"async_index_interval", "x"},
                           {"hnsw.vectors.num_edges", "x"},
                           {"stats_log_interval_ms", "x"},
                           {"something new", ""}})
                  .ok());
}

TEST(WriterOptions, StoredFormIsReadBack) {
  WriterOptions given;
  given.durable_write = false;
  given.commit_mode = CommitMode::kEager;
  given.max_wal_buffer_size = 0;
  given.max_wal_flush_interval = microseconds(1);
  given.max_wal_persist_retries = 9;
  given.wal_persist_retry_base_delay = milliseconds(7);
  given.max_memtable_size = 5'000;
  given.max_memtable_rows = 6;
  given.max_memtable_batches = 7;
  given.max_unflushed_memtable_bytes = 50'000;
  given.manifest_scan_batch_size = 3;
  given.backpressure_log_interval = milliseconds(11);
  given.enable_memtable = false;
  auto stored = ToStoredDefaults(ResolveWriterOptions(given, {}).ValueOrDie());
  EXPECT_EQ(stored,
            (std::map<std::string, std::string>{{"durable_write", "false"},
                                                {"commit_mode", "eager"},
                                                {"max_wal_buffer_size", "0"},
                                                {"max_wal_flush_interval_ms", "1"},  // rounded up, never to "none"
                                                {"max_wal_persist_retries", "9"},
                                                {"wal_persist_retry_base_delay_ms", "7"},
                                                {"max_memtable_size", "5000"},
                                                {"max_memtable_rows", "6"},
                                                {"max_memtable_batches", "7"},
                                                {"max_unflushed_memtable_bytes", "50000"},
                                                {"manifest_scan_batch_size", "3"},
                                                {"backpressure_log_interval_ms", "11"},
                                                {"stats_log_interval_ms", "60000"},
                                                {"enable_memtable", "false"}}));
  auto back = ResolveWriterOptions({}, stored).ValueOrDie();
  EXPECT_EQ(ToStoredDefaults(back), stored);
  EXPECT_EQ(back.commit_mode, CommitMode::kEager);
  EXPECT_FALSE(back.durable_write);
}

}  // namespace
}  // namespace javelin::memwal
