// Writes, reads and describes tables for the interop tests. Rows come and go as Arrow IPC files.
//
//   table_tool create|append|overwrite URI IN.arrow [--version N] [--max-rows N] [--v1]
//       --version N: append through a handle at that version, which may be stale
//   table_tool change URI IN.arrow [--mask N,N,...] [--replace N,N,...] [--compacted SHARD:GENERATION,...]
//   [--version N] [--max-rows N]
//       the rows of IN come, those at the addresses go; the first of IN are new versions of those replaced
//   table_tool scan URI OUT.arrow [--version N] [--columns a,b] [--row-id] [--row-address] [--limit N] [--offset N]
//   [--batch-rows N] table_tool take URI OUT.arrow N,N,... [--version N] [--columns a,b] table_tool take-addresses URI
//   OUT.arrow N,N,... [--version N] [--columns a,b] table_tool count URI [--version N] table_tool info URI [--version
//   N]                                JSON: the manifest table_tool versions URI JSON: their numbers table_tool race
//   URI IN.arrow TASKS APPENDS                       so many tasks append the rows so often
//
// Failures print one JSON line {"kind": ..., "message": ...} to stderr and exit 2.
#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/api.h>
#include <nlohmann/json.hpp>

#include "javelin/base/error.h"
#include "javelin/dataset/dataset.h"
#include "javelin/dataset/row_change.h"
#include "javelin/table/manifest.h"

namespace {

using namespace javelin;
using nlohmann::json;

struct Arguments {
  std::string uri, file;
  std::vector<uint64_t> numbers;
  std::vector<uint64_t> masked, replaced;
  std::vector<std::string> columns, compacted;
  std::optional<uint64_t> version, limit;
  uint64_t offset = 0, batch_rows = 8192, max_rows = 1 << 20;
  bool row_id = false, row_address = false, v1 = false;

  std::optional<std::vector<std::string>> Columns() const {
    return columns.empty() ? std::nullopt : std::optional(columns);
  }
};

arrow::Status WriteArrow(const std::shared_ptr<arrow::Schema>& schema, const arrow::RecordBatchVector& batches,
                         const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(const auto sink, arrow::io::BufferOutputStream::Create());
  ARROW_ASSIGN_OR_RAISE(const auto writer, arrow::ipc::MakeFileWriter(sink, schema));
  for (const auto& batch : batches) ARROW_RETURN_NOT_OK(batch->ValidateFull());
  // An IPC file has one dictionary for a column.
  arrow::RecordBatchVector joined = batches;
  if (batches.size() > 1 && schema->num_fields() > 0) {
    joined.resize(1);
    ARROW_ASSIGN_OR_RAISE(joined[0], arrow::ConcatenateRecordBatches(batches));
  }
  for (const auto& batch : joined) ARROW_RETURN_NOT_OK(writer->WriteRecordBatch(*batch));
  ARROW_RETURN_NOT_OK(writer->Close());
  ARROW_ASSIGN_OR_RAISE(const auto bytes, sink->Finish());
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  return out.good() ? arrow::Status::OK() : arrow::Status::IOError("cannot write ", path);
}

arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> ReadArrow(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto source = std::make_shared<arrow::io::BufferReader>(arrow::Buffer::FromString(std::move(bytes)));
  ARROW_ASSIGN_OR_RAISE(const auto reader, arrow::ipc::RecordBatchFileReader::Open(source));
  arrow::RecordBatchVector batches;
  for (int i = 0; i < reader->num_record_batches(); ++i) {
    ARROW_ASSIGN_OR_RAISE(batches.emplace_back(), reader->ReadRecordBatch(i));
  }
  return arrow::RecordBatchReader::Make(std::move(batches), reader->schema());
}

class Tool {
 public:
  explicit Tool(const Arguments& arguments) : arguments_(arguments), session_(Session::Make()) {}

  arrow::Result<std::shared_ptr<Dataset>> Open() {
    OpenOptions options;
    if (arguments_.version) options.version = TableVersion(*arguments_.version);
    return Dataset::Open(session_, arguments_.uri, options);
  }

  arrow::Status Write(WriteMode mode) {
    ARROW_ASSIGN_OR_RAISE(const auto rows, ReadArrow(arguments_.file));
    const WriteOptions options{
        .mode = mode, .max_rows_per_file = arguments_.max_rows, .enable_v2_manifest_paths = !arguments_.v1};
    std::shared_ptr<Dataset> written;
    if (arguments_.version) {
      ARROW_ASSIGN_OR_RAISE(const auto stale, Open());
      ARROW_ASSIGN_OR_RAISE(written, stale->Append(*rows, options));
    } else {
      ARROW_ASSIGN_OR_RAISE(written, Dataset::Write(session_, arguments_.uri, *rows, options));
    }
    std::cout << json{{"version", written->version().value()}}.dump() << "\n";
    return arrow::Status::OK();
  }

  arrow::Status Change() {
    ARROW_ASSIGN_OR_RAISE(const auto rows, ReadArrow(arguments_.file));
    RowChange change{rows.get(), {}, {}};
    for (uint64_t address : arguments_.masked) change.masked.push_back(RowAddress(address));
    for (uint64_t address : arguments_.replaced) change.replaced.push_back(RowAddress(address));
    for (const std::string& mark : arguments_.compacted) {
      ARROW_ASSIGN_OR_RAISE(const auto shard, table::Uuid::Parse(mark.substr(0, mark.find(':'))));
      change.compacted.push_back({shard, Generation(std::stoull(mark.substr(mark.find(':') + 1)))});
    }
    ARROW_ASSIGN_OR_RAISE(const auto read, Open());
    ARROW_ASSIGN_OR_RAISE(const auto changed,
                          CommitRowChange(*read, change, {.max_rows_per_file = arguments_.max_rows}));
    std::cout << json{{"version", changed->version().value()}}.dump() << "\n";
    return arrow::Status::OK();
  }

  arrow::Status Scan() {
    ARROW_ASSIGN_OR_RAISE(const auto dataset, Open());
    const ScanOptions options{.columns = arguments_.Columns(),
                              .limit = arguments_.limit,
                              .offset = arguments_.offset,
                              .with_row_id = arguments_.row_id,
                              .with_row_address = arguments_.row_address,
                              .batch_rows = arguments_.batch_rows};
    ARROW_ASSIGN_OR_RAISE(const auto reader, dataset->Scan(options));
    ARROW_ASSIGN_OR_RAISE(const auto batches, reader->ToRecordBatches());
    return WriteArrow(reader->schema(), batches, arguments_.file);
  }

  arrow::Status Take(bool by_address) {
    ARROW_ASSIGN_OR_RAISE(const auto dataset, Open());
    std::shared_ptr<arrow::RecordBatch> batch;
    if (by_address) {
      std::vector<RowAddress> addresses;
      for (uint64_t number : arguments_.numbers) addresses.push_back(RowAddress(number));
      ARROW_ASSIGN_OR_RAISE(batch, dataset->TakeAddresses(addresses, arguments_.Columns()));
    } else {
      ARROW_ASSIGN_OR_RAISE(batch, dataset->Take(arguments_.numbers, arguments_.Columns()));
    }
    return WriteArrow(batch->schema(), {batch}, arguments_.file);
  }

  arrow::Status Count() {
    ARROW_ASSIGN_OR_RAISE(const auto dataset, Open());
    ARROW_ASSIGN_OR_RAISE(const uint64_t count, dataset->CountRows());
    std::cout << count << "\n";
    return arrow::Status::OK();
  }

  arrow::Status Info() {
    ARROW_ASSIGN_OR_RAISE(const auto dataset, Open());
    const table::Manifest& manifest = dataset->manifest();
    json indices = json::array(), fragments = json::array();
    for (const auto& index : manifest.indices) indices.push_back({{"name", index.name}, {"bytes", Hex(index.encoded)}});
    for (const auto& fragment : manifest.fragments) {
      fragments.push_back(
          {{"id", fragment.id.value()}, {"rows", fragment.physical_rows}, {"files", fragment.files.size()}});
    }
    ARROW_ASSIGN_OR_RAISE(const auto mem_wal, table::ReadMemWalDetails(manifest));
    json progress = json::object(), catch_up = json::object();
    if (mem_wal) {
      progress = Generations(mem_wal->compacted_sstables);
      for (const auto& entry : mem_wal->index_catchup) catch_up[entry.index_name] = Generations(entry.caught_up);
    }
    std::cout << json{{"version", manifest.version.value()},
                      {"progress", progress},
                      {"catch_up", catch_up},
                      {"reader_flags", manifest.reader_feature_flags},
                      {"writer_flags", manifest.writer_feature_flags},
                      {"format", manifest.data_format_version},
                      {"next_row_id", manifest.next_row_id},
                      {"config", manifest.config},
                      {"indices", indices},
                      {"fragments", fragments}}
                     .dump()
              << "\n";
    return arrow::Status::OK();
  }

  arrow::Status Versions() {
    ARROW_ASSIGN_OR_RAISE(const auto dataset, Open());
    ARROW_ASSIGN_OR_RAISE(const auto versions, dataset->Versions());
    json numbers = json::array();
    for (const auto& version : versions) numbers.push_back(version.version.value());
    std::cout << numbers.dump() << "\n";
    return arrow::Status::OK();
  }

  arrow::Status Race() {
    std::vector<arrow::Status> results(arguments_.numbers.at(0));
    std::vector<TaskHandle> tasks;
    for (arrow::Status& result : results) {
      tasks.push_back(session_->runtime().Spawn("append", [&] { result = AppendOften(); }));
    }
    for (TaskHandle& task : tasks) task.Join();
    for (const arrow::Status& result : results) ARROW_RETURN_NOT_OK(result);
    return arrow::Status::OK();
  }

 private:
  arrow::Status AppendOften() {
    for (uint64_t i = 0; i < arguments_.numbers.at(1); ++i) {
      ARROW_ASSIGN_OR_RAISE(const auto rows, ReadArrow(arguments_.file));
      ARROW_RETURN_NOT_OK(
          Dataset::Write(session_, arguments_.uri, *rows, {.mode = WriteMode::kAppend, .max_commit_retries = 200})
              .status());
    }
    return arrow::Status::OK();
  }

  static json Generations(const std::vector<table::CompactedSsTable>& sstables) {
    json generations = json::object();
    for (const auto& sstable : sstables) generations[sstable.shard_id.ToString()] = sstable.generation.value();
    return generations;
  }

  static std::string Hex(const std::string& bytes) {
    std::string text;
    for (unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
    return text;
  }

  const Arguments& arguments_;
  std::shared_ptr<Session> session_;
};

CLI::App* Command(CLI::App& app, Arguments& arguments, const std::string& name, bool with_file, bool with_numbers) {
  CLI::App* command = app.add_subcommand(name);
  command->add_option("uri", arguments.uri)->required();
  if (with_file) command->add_option("file", arguments.file)->required();
  if (with_numbers) command->add_option("numbers", arguments.numbers)->required()->delimiter(',');
  command->add_option("--version", arguments.version);
  command->add_option("--columns", arguments.columns)->delimiter(',');
  command->add_option("--mask", arguments.masked)->delimiter(',');
  command->add_option("--replace", arguments.replaced)->delimiter(',');
  command->add_option("--compacted", arguments.compacted)->delimiter(',');
  command->add_option("--limit", arguments.limit);
  command->add_option("--offset", arguments.offset);
  command->add_option("--batch-rows", arguments.batch_rows);
  command->add_option("--max-rows", arguments.max_rows);
  command->add_flag("--row-id", arguments.row_id);
  command->add_flag("--row-address", arguments.row_address);
  command->add_flag("--v1", arguments.v1);
  return command;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("tables for the interop tests");
  app.require_subcommand(1);
  Arguments arguments;
  Tool tool(arguments);
  std::map<std::string, std::function<arrow::Status()>> commands;
  auto add = [&](const std::string& name, bool with_file, bool with_numbers, std::function<arrow::Status()> run) {
    Command(app, arguments, name, with_file, with_numbers);
    commands[name] = std::move(run);
  };
  add("create", true, false, [&] { return tool.Write(WriteMode::kCreate); });
  add("append", true, false, [&] { return tool.Write(WriteMode::kAppend); });
  add("overwrite", true, false, [&] { return tool.Write(WriteMode::kOverwrite); });
  add("change", true, false, [&] { return tool.Change(); });
  add("scan", true, false, [&] { return tool.Scan(); });
  add("take", true, true, [&] { return tool.Take(false); });
  add("take-addresses", true, true, [&] { return tool.Take(true); });
  add("count", false, false, [&] { return tool.Count(); });
  add("info", false, false, [&] { return tool.Info(); });
  add("versions", false, false, [&] { return tool.Versions(); });
  add("race", true, true, [&] { return tool.Race(); });
  CLI11_PARSE(app, argc, argv);
  const arrow::Status status = commands.at(app.get_subcommands().front()->get_name())();
  if (status.ok()) return 0;
  std::cerr << json{{"kind", std::string(ToString(KindOf(status)))}, {"message", status.message()}}.dump() << "\n";
  return 2;
}
