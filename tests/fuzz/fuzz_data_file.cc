// Opening an arbitrary byte string as a data file and reading every column: whole, a range, single rows.
#include "javelin/base/error.h"
#include "javelin/file/data_file_reader.h"
#include "javelin/store/stores.h"

using namespace javelin;

namespace {

// Enough for several chunks; more would only take time.
constexpr uint64_t kMaxRows = 5000;

void Check(const arrow::Result<std::shared_ptr<arrow::RecordBatch>>& batch) {
  if (!batch.ok()) {
    if (KindOf(batch.status()) == ErrorKind::kInternal) __builtin_trap();
    return;
  }
  if (!(*batch)->Validate().ok()) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Resources resources = MakeResources(MakeThreadRuntime({.cpu_threads = 1}), 64 << 20);
  static const std::shared_ptr<ObjectStore> store = MakeMemoryStore(resources);
  if (!store->Put("f.lance", arrow::Buffer::FromString(std::string(reinterpret_cast<const char*>(data), size))).ok())
    return 0;
  auto opened = file::DataFileReader::Open(resources, store, "f.lance");
  if (!opened.ok()) return 0;
  file::DataFileReader& reader = **opened;
  const file::ColumnOfField columns = reader.DefaultColumns();
  const uint64_t rows = std::min(reader.num_rows(), kMaxRows);
  for (const file::Field& field : reader.schema().fields()) {
    const file::Schema projection({field}, {});
    Check(reader.Read(projection, columns, 0, rows));
    if (rows == 0) continue;
    Check(reader.Read(projection, columns, rows / 3, rows / 2));
    const uint64_t single[] = {rows - 1, rows / 2, rows / 2, 0};
    Check(reader.Take(projection, columns, single));
  }
  return 0;
}
