// Opening an arbitrary byte string as a data file and reading every column: whole, a range, single rows.
#include "fuzz_support.h"
#include "javelin/file/blob_field.h"
#include "javelin/file/data_file_reader.h"
#include "javelin/store/stores.h"

using namespace javelin;

namespace {

// Enough for several chunks; more would only take time.
constexpr uint64_t kMaxRows = 5000;

void Check(const arrow::Result<std::shared_ptr<arrow::RecordBatch>>& batch, uint64_t rows) {
  if (!batch.ok()) return fuzz::CheckRefusal(batch.status());
  for (const auto& column : (*batch)->columns()) fuzz::Check(column, rows);
}

void ReadColumns(const Resources& resources, std::shared_ptr<ObjectStore> store) {
  auto opened = file::DataFileReader::Open(resources, std::move(store), "f.lance");
  if (!opened.ok()) return fuzz::CheckRefusal(opened.status());
  file::DataFileReader& reader = **opened;
  const file::ColumnOfField columns = reader.DefaultColumns();
  const uint64_t rows = std::min(reader.num_rows(), kMaxRows);
  const file::Schema schema = file::DescribeBlobs(reader.schema());
  for (const file::Field& field : schema.fields()) {
    const file::Schema projection({field}, {});
    Check(reader.Read(projection, columns, 0, rows), rows);
    if (rows == 0) continue;
    Check(reader.Read(projection, columns, rows / 3, rows / 2), rows / 2);
    const uint64_t single[] = {rows - 1, rows / 2, rows / 2, 0};
    Check(reader.Take(projection, columns, single), std::size(single));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Watched watched;
  // What the store holds is not the reader's.
  static const Resources stored = MakeResources(MakeThreadRuntime({.cpu_threads = 1}));
  static const std::shared_ptr<ObjectStore> store = MakeMemoryStore(stored);
  if (!store->Put("f.lance", arrow::Buffer::FromString(std::string(reinterpret_cast<const char*>(data), size))).ok())
    return 0;
  ReadColumns(watched.resources, store);
  watched.Check(4 * size);
  return 0;
}
