// Makes the index files of an SSTable from its keys, so that a test can compare them with those of the released peer.
//
//   index_tool key-filter IN OUT        the key filter over the rows of the IPC stream IN, whose columns are the key
//   index_tool key-index IN FOLDER      the two files of the key index over the same
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
#include "javelin/index/bloom_filter.h"
#include "javelin/index/btree_files.h"
#include "javelin/index/key_hash.h"

namespace {

using namespace javelin;
using Columns = std::vector<std::shared_ptr<arrow::Array>>;

arrow::Result<Columns> ReadKey(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFound("cannot read {}", path);
  const BufferPtr bytes = arrow::Buffer::FromString(std::string(std::istreambuf_iterator<char>(file), {}));
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.use_threads = false;
  ARROW_ASSIGN_OR_RAISE(auto reader, arrow::ipc::RecordBatchStreamReader::Open(
                                         std::make_shared<arrow::io::BufferReader>(bytes), options));
  ARROW_ASSIGN_OR_RAISE(auto table, reader->ToTable());
  ARROW_ASSIGN_OR_RAISE(const auto batch, table->CombineChunksToBatch());
  return batch->columns();
}

arrow::Status WriteFile(const std::string& path, const arrow::Buffer& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return file.good() ? arrow::Status::OK() : MakeError(ErrorKind::kIO, "cannot write " + path);
}

arrow::Status WriteKeyFilter(const Columns& key, const std::string& out) {
  std::vector<std::shared_ptr<arrow::DataType>> types;
  for (const auto& column : key) types.push_back(column->type());
  ARROW_ASSIGN_OR_RAISE(const auto hasher, index::KeyHasher::Make(types));
  ARROW_ASSIGN_OR_RAISE(const auto hashes, hasher.Hash(key));
  index::BloomFilter filter;
  filter.Add(hashes);
  return WriteFile(out, *filter.ToBytes());
}

arrow::Status WriteKeyIndex(const Columns& key, const std::string& folder) {
  const Resources resources = MakeResources(MakeThreadRuntime());
  ARROW_ASSIGN_OR_RAISE(const auto values, index::KeyIndexValues(key, resources.pool));
  arrow::UInt64Builder rows;
  for (int64_t row = 0; row < values->length(); ++row) ARROW_RETURN_NOT_OK(rows.Append(static_cast<uint64_t>(row)));
  ARROW_ASSIGN_OR_RAISE(const auto numbers, rows.Finish());
  ARROW_ASSIGN_OR_RAISE(const auto files,
                        index::EncodeBTree(resources, values, std::static_pointer_cast<arrow::UInt64Array>(numbers),
                                           index::kKeyIndexPageRows));
  ARROW_RETURN_NOT_OK(WriteFile(folder + "/" + index::kBTreePageDataName, *files.page_data));
  return WriteFile(folder + "/" + index::kBTreePageLookupName, *files.page_lookup);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("index files for the interop tests");
  app.require_subcommand(1);
  std::string in, out;
  for (const char* name : {"key-filter", "key-index"}) {
    CLI::App* command = app.add_subcommand(name);
    command->add_option("in", in)->required();
    command->add_option("out", out)->required();
  }
  CLI11_PARSE(app, argc, argv);
  const bool filter = app.get_subcommands().front()->get_name() == "key-filter";
  const auto key = ReadKey(in);
  const arrow::Status status = !key.ok() ? key.status() : filter ? WriteKeyFilter(*key, out) : WriteKeyIndex(*key, out);
  if (status.ok()) return 0;
  std::cerr << nlohmann::json{{"kind", std::string(ToString(KindOf(status)))}, {"message", status.message()}}.dump()
            << "\n";
  return 2;
}
