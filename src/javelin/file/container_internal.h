// The container of a data file: footer, tables, descriptor and column metadata (docs/format.md, "Data files").
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/result.h>

#include "javelin/base/resources.h"
#include "javelin/file/data_file_reader.h"
#include "javelin/file/schema.h"
#include "javelin/store/object_store.h"

namespace javelin::file {

inline constexpr uint64_t kFooterBytes = 40;
inline constexpr uint64_t kBufferAlignment = 64;
inline constexpr char kMagic[] = "LANC";
// One request of this size opens most files, and is all that a small file needs.
inline constexpr uint64_t kTailBytes = 64u << 10;

struct PageMetadata {
  std::vector<ByteRange> buffers;  // absolute, inside the file
  uint64_t first_row = 0;
  uint64_t num_rows = 0;      // 2.0: items at this level
  std::string encoding_name;  // e.g. "lance.encodings21.PageLayout"
  std::string encoding;       // that message, serialised
};

struct ColumnMetadata {
  std::vector<PageMetadata> pages;
  uint64_t num_rows = 0;     // sum over the pages
  bool plain_values = true;  // false: blobs of 2.0 or a zone index, which need more than the pages
  bool blobs = false;        // of 2.0: the pages hold where values lie
};

struct Container {
  FileVersion version;
  uint64_t file_size = 0;
  uint64_t num_rows = 0;
  Schema schema;
  std::vector<ColumnMetadata> columns;
  ByteRange tail;        // what was read of the file's end, at most kTailBytes ...
  BufferPtr tail_bytes;  // ... and its bytes
};

// Reads and checks a file's container: one request, or a second one where the tail does not hold all of it.
arrow::Result<Container> OpenContainer(const Resources& resources, ObjectStore& store, const std::string& key,
                                       std::optional<uint64_t> known_size);

// True if a field is one physical column (2.1 and later: a leaf, a packed struct or a blob).
bool IsLeafColumn(const Field& field);
// The columns of a schema in file order, as field ids.
std::vector<FieldId> PhysicalColumns(const Schema& schema, FileVersion version);

}  // namespace javelin::file
