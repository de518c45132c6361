// A table manifest as plain values (docs/format.md, "Tables: manifest").
//
// Whatever we do not interpret is carried over unchanged: index entries keep their encoded bytes, fragments the encoded
// row id and version sequences.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "javelin/base/ids.h"
#include "javelin/file/data_file_reader.h"
#include "javelin/file/schema.h"

namespace javelin::table {

struct DataFile {
  std::string path;                     // below data/ of its base
  std::vector<int32_t> fields;          // -2 = superseded, -3..-5 = row lineage
  std::vector<int32_t> column_indices;  // -1 = no column of its own
  file::FileVersion version;
  uint64_t size_bytes = 0;  // 0 = unknown
  std::optional<uint32_t> base_id;
  friend bool operator==(const DataFile&, const DataFile&) = default;
};

enum class DeletionFileType { kArrowArray, kBitmap };

struct DeletionFile {
  DeletionFileType type = DeletionFileType::kArrowArray;
  uint64_t read_version = 0;
  uint64_t id = 0;
  uint64_t num_deleted_rows = 0;  // 0 = unknown
  std::optional<uint32_t> base_id;
  friend bool operator==(const DeletionFile&, const DeletionFile&) = default;
};

struct Fragment {
  FragmentId id;  // 0 in a transaction = not assigned
  std::vector<DataFile> files;
  std::optional<DeletionFile> deletion_file;
  uint64_t physical_rows = 0;  // deleted rows included
  std::string lineage;         // encoded DataFragment message that holds only the row id and version sequences
  friend bool operator==(const Fragment&, const Fragment&) = default;
};

struct IndexEntry {
  std::string uuid;  // 16 bytes
  std::string name;
  std::vector<FieldId> fields;  // empty = system index
  uint64_t dataset_version = 0;
  std::string details_type_url;
  std::string details;  // encoded message of that type
  std::string encoded;  // the whole IndexMetadata message as stored; what is written back
  friend bool operator==(const IndexEntry&, const IndexEntry&) = default;
};

inline constexpr std::string_view kMemWalIndexName = "__lance_mem_wal";
inline constexpr std::string_view kMemWalDetailsTypeUrl = "/lance.table.MemWalIndexDetails";

struct BasePath {
  uint32_t id = 0;
  std::optional<std::string> name;
  bool is_dataset_root = false;
  std::string path;
  friend bool operator==(const BasePath&, const BasePath&) = default;
};

struct WriterVersion {
  std::string library;
  std::string version;
};

struct Manifest {
  TableVersion version;
  file::Schema schema;
  std::vector<Fragment> fragments;  // sorted by id
  std::vector<IndexEntry> indices;  // in stored order
  int64_t timestamp_ns = 0;
  uint64_t reader_feature_flags = 0;
  uint64_t writer_feature_flags = 0;
  std::optional<uint32_t> max_fragment_id;
  std::string transaction_file;
  std::optional<WriterVersion> writer_version;
  uint64_t next_row_id = 0;
  std::string data_format_version;  // "2.2"
  std::map<std::string, std::string> config;
  std::map<std::string, std::string> table_metadata;
  std::vector<BasePath> base_paths;
  std::optional<std::string> branch;
  std::optional<int64_t> max_allocated_field_id;

  const IndexEntry* FindIndex(std::string_view name) const;
};

// How much a version holds, as far as its manifest says: what it does not know (0 above) counts as 0.
struct ManifestSummary {
  uint64_t fragments = 0, data_files = 0, deletion_files = 0;
  uint64_t data_file_bytes = 0;
  uint64_t data_file_rows = 0;  // deleted ones included
  uint64_t deleted_rows = 0;
  uint64_t rows = 0;
  friend bool operator==(const ManifestSummary&, const ManifestSummary&) = default;
};
ManifestSummary Summarize(const Manifest& manifest);

}  // namespace javelin::table
