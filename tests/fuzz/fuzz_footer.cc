// Opening an arbitrary byte string as a data file: footer, tables, descriptor, column metadata.
#include "javelin/base/error.h"
#include "javelin/file/data_file_reader.h"
#include "javelin/file/inspect.h"
#include "javelin/store/stores.h"

using namespace javelin;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Resources resources = MakeResources(MakeThreadRuntime({.cpu_threads = 1}), 64 << 20);
  static const std::shared_ptr<ObjectStore> store = MakeMemoryStore(resources);
  if (!store->Put("f.lance", arrow::Buffer::FromString(std::string(reinterpret_cast<const char*>(data), size))).ok())
    return 0;
  auto reader = file::DataFileReader::Open(resources, store, "f.lance");
  if (!reader.ok()) {
    if (KindOf(reader.status()) == ErrorKind::kInternal) __builtin_trap();
    return 0;
  }
  (*reader)->DefaultColumns();
  (*reader)->schema().ToArrow()->ToString();
  (void)file::InspectDataFile(resources, *store, "f.lance");
  return 0;
}
