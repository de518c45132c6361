// Reads and writes single MemWAL objects, so that a test in another language can compare them with those of the
// released peer.
//
//   wal_tool decode-entry IN ROWS AGAIN      header of the WAL entry IN as JSON; its rows as a plain IPC stream in
//   ROWS; the entry
//                                            encoded again in AGAIN
//   wal_tool decode-manifest IN AGAIN        the shard manifest IN as JSON; encoded again in AGAIN
//   wal_tool make-shard TABLE SHARD SPEC STEP...   claims the shard of the table folder TABLE, then per STEP appends
//   the rows of an
//                                            IPC stream file as one entry of generation 1, or for the word `claim`
//                                            claims the shard again with a sentinel; prints positions and epochs
//   wal_tool buckets COUNT IN                buckets of the first column of the IPC stream IN, as JSON
#include <fstream>
#include <iostream>

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/api.h>
#include <nlohmann/json.hpp>

#include "javelin/base/error.h"
#include "javelin/memwal/bucket_hash.h"
#include "javelin/memwal/wal_log.h"
#include "javelin/store/stores.h"

namespace javelin::memwal {
namespace {

using nlohmann::json;

arrow::Result<BufferPtr> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFound("cannot read {}", path);
  return arrow::Buffer::FromString(std::string(std::istreambuf_iterator<char>(file), {}));
}

arrow::Status WriteFile(const std::string& path, const arrow::Buffer& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return file.good() ? arrow::Status::OK() : MakeError(ErrorKind::kIO, "cannot write " + path);
}

using Batches = std::vector<std::shared_ptr<arrow::RecordBatch>>;

arrow::Result<std::pair<std::shared_ptr<arrow::Schema>, Batches>> ReadStream(const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(BufferPtr bytes, ReadFile(path));
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.use_threads = false;
  ARROW_ASSIGN_OR_RAISE(auto reader, arrow::ipc::RecordBatchStreamReader::Open(
                                         std::make_shared<arrow::io::BufferReader>(bytes), options));
  ARROW_ASSIGN_OR_RAISE(Batches batches, reader->ToRecordBatches());
  return std::pair(reader->schema(), std::move(batches));
}

arrow::Status WriteStream(const std::string& path, const std::shared_ptr<arrow::Schema>& schema,
                          const Batches& batches) {
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  options.use_threads = false;
  ARROW_ASSIGN_OR_RAISE(auto sink, arrow::io::BufferOutputStream::Create());
  ARROW_ASSIGN_OR_RAISE(auto writer, arrow::ipc::MakeStreamWriter(sink, schema, options));
  for (const auto& batch : batches) ARROW_RETURN_NOT_OK(writer->WriteRecordBatch(*batch));
  ARROW_RETURN_NOT_OK(writer->Close());
  ARROW_ASSIGN_OR_RAISE(BufferPtr bytes, sink->Finish());
  return WriteFile(path, *bytes);
}

template <typename Number>
json OrNull(const std::optional<Number>& value) {
  if (!value.has_value()) return nullptr;
  if constexpr (requires { value->value(); }) {
    return value->value();
  } else {
    return *value;
  }
}

arrow::Result<json> DecodeEntry(const std::vector<std::string>& arguments) {
  ARROW_ASSIGN_OR_RAISE(BufferPtr bytes, ReadFile(arguments.at(0)));
  ARROW_ASSIGN_OR_RAISE(WalEntry entry, DecodeWalEntry(bytes));
  ARROW_RETURN_NOT_OK(WriteStream(arguments.at(1), entry.schema, entry.batches));
  ARROW_ASSIGN_OR_RAISE(BufferPtr again, EncodeWalEntry(entry));
  ARROW_RETURN_NOT_OK(WriteFile(arguments.at(2), *again));
  return json{{"writer_epoch", entry.writer_epoch.value()},
              {"generation", OrNull(entry.generation)},
              {"fence_sentinel", entry.fence_sentinel},
              {"has_target", entry.target.has_value()},
              {"batches", entry.batches.size()}};
}

arrow::Result<json> DecodeManifest(const std::vector<std::string>& arguments) {
  ARROW_ASSIGN_OR_RAISE(BufferPtr bytes, ReadFile(arguments.at(0)));
  ARROW_ASSIGN_OR_RAISE(ShardManifest manifest, DecodeShardManifest(*bytes));
  ARROW_RETURN_NOT_OK(WriteFile(arguments.at(1), *EncodeShardManifest(manifest)));
  json tables = json::array();
  for (const SsTableEntry& table : manifest.sstables) {
    tables.push_back({{"generation", table.generation.value()},
                      {"path", table.path},
                      {"in_memory_bytes", OrNull(table.in_memory_bytes)},
                      {"physical_rows", OrNull(table.physical_rows)},
                      {"primary_key_bytes", OrNull(table.primary_key_bytes)}});
  }
  return json{{"shard", manifest.shard_id.ToString()},
              {"version", manifest.version.value()},
              {"spec", manifest.shard_spec_id},
              {"epoch", manifest.writer_epoch.value()},
              {"replay_after", manifest.replay_after.value()},
              {"last_seen", manifest.wal_position_last_seen.value()},
              {"generation", manifest.current_generation.value()},
              {"sealed", manifest.status == ShardStatus::kSealed},
              {"sstables", tables},
              {"unknown_bytes", manifest.unknown_fields.size()}};
}

arrow::Result<json> MakeShard(const std::vector<std::string>& arguments) {
  Resources resources = MakeResources(MakeThreadRuntime());
  std::shared_ptr<ObjectStore> store = MakeLocalStore(resources, arguments.at(0));
  ARROW_ASSIGN_OR_RAISE(Uuid shard, Uuid::Parse(arguments.at(1)));
  const uint32_t spec = static_cast<uint32_t>(std::stoul(arguments.at(2)));
  auto manifests = std::make_shared<ShardManifestStore>(resources, store, "", shard);
  ARROW_ASSIGN_OR_RAISE(ShardManifest manifest, manifests->ClaimEpoch(spec));
  auto log = std::make_unique<WalLog>(resources, store, manifests, "", manifest.writer_epoch);
  json steps = json::array();
  for (size_t i = 3; i < arguments.size(); ++i) {
    if (arguments[i] == "claim") {
      ARROW_ASSIGN_OR_RAISE(manifest, manifests->ClaimEpoch(spec));
      log = std::make_unique<WalLog>(resources, store, manifests, "", manifest.writer_epoch);
      ARROW_ASSIGN_OR_RAISE(auto sentinel, log->WriteSentinel(manifest));
      steps.push_back({{"epoch", manifest.writer_epoch.value()}, {"position", sentinel.position.value()}});
      continue;
    }
    WalEntry entry{.generation = Generation(1)};
    ARROW_ASSIGN_OR_RAISE(std::tie(entry.schema, entry.batches), ReadStream(arguments[i]));
    ARROW_ASSIGN_OR_RAISE(AppendResult appended, log->Append(entry));
    steps.push_back(
        {{"epoch", manifest.writer_epoch.value()}, {"position", appended.position.value()}, {"bytes", appended.bytes}});
  }
  return steps;
}

arrow::Result<json> Buckets(const std::vector<std::string>& arguments) {
  const uint32_t count = static_cast<uint32_t>(std::stoul(arguments.at(0)));
  ARROW_ASSIGN_OR_RAISE(auto stream, ReadStream(arguments.at(1)));
  json buckets = json::array();
  for (const auto& batch : stream.second) {
    ARROW_ASSIGN_OR_RAISE(auto column, EvaluateBucket(*batch->column(0), count));
    for (int64_t row = 0; row < column->length(); ++row)
      buckets.push_back(static_cast<const arrow::Int32Array&>(*column).Value(row));
  }
  return buckets;
}

arrow::Result<json> Run(const std::string& command, const std::vector<std::string>& arguments) {
  if (command == "decode-entry" && arguments.size() == 3) return DecodeEntry(arguments);
  if (command == "decode-manifest" && arguments.size() == 2) return DecodeManifest(arguments);
  if (command == "make-shard" && arguments.size() >= 3) return MakeShard(arguments);
  if (command == "buckets" && arguments.size() == 2) return Buckets(arguments);
  return InvalidInput("unknown command '{}' or wrong number of arguments; see the head of wal_tool.cc", command);
}

}  // namespace
}  // namespace javelin::memwal

int main(int count, char** values) {
  std::vector<std::string> arguments(values + 1, values + count);
  const std::string command = arguments.empty() ? "" : arguments.front();
  if (!arguments.empty()) arguments.erase(arguments.begin());
  auto answer = javelin::memwal::Run(command, arguments);
  if (!answer.ok()) {
    std::cerr << javelin::ToString(javelin::KindOf(answer.status())) << ": " << answer.status().message() << "\n";
    return 1;
  }
  std::cout << answer->dump() << "\n";
  return 0;
}
