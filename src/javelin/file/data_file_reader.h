// Reads Lance data files of versions 2.0, 2.1 and 2.2 (docs/format.md, "Data files").
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/base/resources.h"
#include "javelin/file/schema.h"
#include "javelin/store/object_store.h"

namespace javelin {
class BlockCache;  // store/block_cache.h
}

namespace javelin::file {

struct FileVersion {
  uint16_t major = 2;
  uint16_t minor = 2;
  friend auto operator<=>(const FileVersion&, const FileVersion&) = default;
};
std::string ToString(FileVersion version);  // "2.2"
// The version that a name of the ecosystem means, in any case: "2.1", "stable" (2.2), "next" (2.3), "legacy" (0.1).
// InvalidInput: no such name. Whether it can be read or written is another question.
arrow::Result<FileVersion> ParseFileVersion(std::string_view name);
// The version that a footer or a manifest names in one of its ways, as it is read here; 2.0 has two names.
// NotSupported: the legacy version 0.1, or one that is not known.
arrow::Result<FileVersion> ReadableVersion(FileVersion named);

// Which physical column holds which field: DataFile.fields / column_indices of a manifest.
using ColumnOfField = std::map<FieldId, uint32_t>;

class DataFileReader {
 public:
  // One request for a file whose tail holds everything (64 KiB), else one more for its metadata. `known_size` (from a
  // manifest) only saves work; a wrong one is Corruption. What Read and Take ask for comes through `blocks`, where
  // given; the object must never change. Errors name the object: Corruption, NotSupported (legacy 0.1, 2.3 and later),
  // NotFound and other store errors.
  static arrow::Result<std::shared_ptr<DataFileReader>> Open(const Resources& resources,
                                                             std::shared_ptr<ObjectStore> store, std::string key,
                                                             std::optional<uint64_t> known_size = {},
                                                             std::shared_ptr<BlockCache> blocks = nullptr);
  virtual ~DataFileReader() = default;

  virtual FileVersion version() const = 0;
  virtual uint64_t num_rows() const = 0;
  virtual uint32_t num_columns() const = 0;
  // What it keeps between reads: the tail, the metadata, and what it has learned of its pages.
  virtual uint64_t memory_bytes() const = 0;
  // The schema written in the file itself, for self-described files.
  virtual const Schema& schema() const = 0;
  // The columns of schema() in file order, for self-described files.
  virtual ColumnOfField DefaultColumns() const = 0;

  // Rows [first_row, first_row + num_rows) of the fields of `projection`, decoded. A field of the projection without a
  // column in `columns` reads as null (Corruption if it is not nullable). Reads only the byte ranges it needs.
  // Result schema = projection.ToArrow(). Thread-safe.
  virtual arrow::Result<std::shared_ptr<arrow::RecordBatch>> Read(const Schema& projection,
                                                                  const ColumnOfField& columns, uint64_t first_row,
                                                                  uint64_t num_rows) = 0;
  // The given rows, any order, repeats allowed; result in the order asked. Row >= num_rows() is InvalidInput.
  virtual arrow::Result<std::shared_ptr<arrow::RecordBatch>> Take(const Schema& projection,
                                                                  const ColumnOfField& columns,
                                                                  std::span<const uint64_t> rows) = 0;
};

}  // namespace javelin::file
