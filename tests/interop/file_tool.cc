// Reads, writes and describes single data files for the interop tests.
//
//   file_tool read FILE OUT.arrow [--rows a,b,c | --range first,count]    columns of the file's own schema
//   file_tool write IN.arrow OUT.lance [--page-bytes N]
//   file_tool inspect FILE                                                JSON: version, rows, columns, pages
//
// Failures print one JSON line {"kind": ..., "message": ...} to stderr and exit 2.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/api.h>
#include <nlohmann/json.hpp>

#include "javelin/base/error.h"
#include "javelin/file/blob_field.h"
#include "javelin/file/data_file_reader.h"
#include "javelin/file/data_file_writer.h"
#include "javelin/file/inspect.h"
#include "javelin/store/stores.h"

namespace {

using namespace javelin;
using nlohmann::json;

struct Place {
  std::shared_ptr<ObjectStore> store;
  std::string key;
};

Place PlaceOf(const Resources& resources, const std::string& path) {
  const auto absolute = std::filesystem::absolute(path);
  return {MakeLocalStore(resources, absolute.parent_path().string(), {.sync = false}), absolute.filename().string()};
}

std::vector<uint64_t> ParseNumbers(const std::string& text) {
  std::vector<uint64_t> numbers;
  for (size_t at = 0; at < text.size();) {
    size_t used = 0;
    numbers.push_back(std::stoull(text.substr(at), &used));
    at += used + 1;
  }
  return numbers;
}

arrow::Status WriteArrow(const arrow::RecordBatch& batch, const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(auto sink, arrow::io::BufferOutputStream::Create());
  ARROW_ASSIGN_OR_RAISE(auto writer, arrow::ipc::MakeFileWriter(sink, batch.schema()));
  ARROW_RETURN_NOT_OK(writer->WriteRecordBatch(batch));
  ARROW_RETURN_NOT_OK(writer->Close());
  ARROW_ASSIGN_OR_RAISE(auto bytes, sink->Finish());
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  return out.good() ? arrow::Status::OK() : arrow::Status::IOError("cannot write ", path);
}

arrow::Result<arrow::RecordBatchVector> ReadArrow(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  auto source = std::make_shared<arrow::io::BufferReader>(arrow::Buffer::FromString(std::move(bytes)));
  ARROW_ASSIGN_OR_RAISE(auto reader, arrow::ipc::RecordBatchFileReader::Open(source));
  arrow::RecordBatchVector batches;
  for (int i = 0; i < reader->num_record_batches(); ++i) {
    ARROW_ASSIGN_OR_RAISE(auto batch, reader->ReadRecordBatch(i));
    batches.push_back(std::move(batch));
  }
  if (batches.empty()) {
    ARROW_ASSIGN_OR_RAISE(auto empty, arrow::RecordBatch::MakeEmpty(reader->schema()));
    batches.push_back(std::move(empty));
  }
  return batches;
}

arrow::Status Read(const Resources& resources, const std::vector<std::string>& arguments) {
  const Place place = PlaceOf(resources, arguments[0]);
  ARROW_ASSIGN_OR_RAISE(auto reader, file::DataFileReader::Open(resources, place.store, place.key));
  const file::Schema schema = file::DescribeBlobs(reader->schema());
  const file::ColumnOfField columns = reader->DefaultColumns();
  std::shared_ptr<arrow::RecordBatch> batch;
  if (arguments.size() == 4 && arguments[2] == "--rows") {
    const std::vector<uint64_t> rows = ParseNumbers(arguments[3]);
    ARROW_ASSIGN_OR_RAISE(batch, reader->Take(schema, columns, rows));
  } else if (arguments.size() == 4) {
    const std::vector<uint64_t> range = ParseNumbers(arguments[3]);
    ARROW_ASSIGN_OR_RAISE(batch, reader->Read(schema, columns, range.at(0), range.at(1)));
  } else {
    ARROW_ASSIGN_OR_RAISE(batch, reader->Read(schema, columns, 0, reader->num_rows()));
  }
  ARROW_RETURN_NOT_OK(batch->ValidateFull());
  return WriteArrow(*batch, arguments[1]);
}

arrow::Status Write(const Resources& resources, const std::vector<std::string>& arguments) {
  ARROW_ASSIGN_OR_RAISE(arrow::RecordBatchVector batches, ReadArrow(arguments[0]));
  ARROW_ASSIGN_OR_RAISE(file::Schema schema, file::Schema::FromArrow(*batches[0]->schema()));
  file::DataFileWriteOptions options;
  for (size_t i = 2; i + 1 < arguments.size(); i += 2) {
    if (arguments[i] == "--page-bytes") options.page_bytes = std::stoull(arguments[i + 1]);
    if (arguments[i] == "--version") {
      ARROW_ASSIGN_OR_RAISE(options.version, file::ParseFileVersion(arguments[i + 1]));
    }
  }
  const Place place = PlaceOf(resources, arguments[1]);
  ARROW_ASSIGN_OR_RAISE(auto sink, place.store->OpenWriter(place.key));
  ARROW_ASSIGN_OR_RAISE(auto writer, file::DataFileWriter::Make(resources, std::move(sink), schema, options));
  for (const auto& batch : batches) ARROW_RETURN_NOT_OK(writer->Write(*batch));
  ARROW_ASSIGN_OR_RAISE(file::DataFileSummary summary, writer->Finish());
  std::cout << json{{"rows", summary.num_rows}, {"bytes", summary.size_bytes}}.dump() << "\n";
  return arrow::Status::OK();
}

arrow::Status Inspect(const Resources& resources, const std::vector<std::string>& arguments) {
  const Place place = PlaceOf(resources, arguments[0]);
  ARROW_ASSIGN_OR_RAISE(std::string text, file::InspectDataFile(resources, *place.store, place.key));
  std::cout << text << "\n";
  return arrow::Status::OK();
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + std::min(argc, 2), argv + argc);
  const std::string command = argc > 1 ? argv[1] : "";
  const Resources resources = MakeResources(MakeThreadRuntime());
  arrow::Status status;
  if (command == "read" && (arguments.size() == 2 || arguments.size() == 4)) {
    status = Read(resources, arguments);
  } else if (command == "write" && arguments.size() >= 2 && arguments.size() % 2 == 0) {
    status = Write(resources, arguments);
  } else if (command == "inspect" && arguments.size() == 1) {
    status = Inspect(resources, arguments);
  } else {
    std::cerr << "usage: file_tool read FILE OUT.arrow [--rows a,b,c | --range first,count] | write IN.arrow OUT.lance "
                 "[--page-bytes N] [--version V] | inspect FILE\n";
    return 1;
  }
  if (status.ok()) return 0;
  std::cerr << json{{"kind", std::string(ToString(KindOf(status)))}, {"message", status.message()}}.dump() << "\n";
  return 2;
}
