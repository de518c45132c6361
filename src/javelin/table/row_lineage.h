// Stable row ids and the version sequences of a fragment (docs/format.md, "Tables: row ids").
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/result.h>

#include "javelin/base/ids.h"
#include "javelin/table/manifest.h"

namespace javelin::table {

// Field ids of lineage columns in a data file, when a sequence is stored there instead of in the manifest.
inline constexpr FieldId kRowIdColumn{-3};
inline constexpr FieldId kCreatedVersionColumn{-4};
inline constexpr FieldId kUpdatedVersionColumn{-5};

// The stable ids of a fragment's rows in physical order, as runs of consecutive numbers.
class RowIdSequence {
 public:
  // Corruption if the bytes do not decode. Memory is bounded by a small multiple of the bytes.
  static arrow::Result<RowIdSequence> Decode(std::string_view bytes);

  uint64_t size() const { return runs_.empty() ? 0 : runs_.back().before + runs_.back().count; }
  // Ids of the rows [first, first + ids.size()), which must exist.
  void Read(uint64_t first, std::span<uint64_t> ids) const;

 private:
  struct Run {
    uint64_t start = 0;
    uint64_t count = 0;
    uint64_t before = 0;  // rows ahead of it
  };
  friend class RowIdDecoder;
  std::vector<Run> runs_;
};

enum class RowIdsKept { kNowhere, kInManifest, kInColumn };
RowIdsKept WhereRowIdsAre(const Fragment& fragment);
// Of a fragment whose ids are in the manifest; Corruption unless there is exactly one for each of its physical rows.
arrow::Result<RowIdSequence> DecodeRowIds(const Fragment& fragment, uint64_t physical_rows);
bool HasSpilledLineage(const Fragment& fragment);

// The versions that created, or last updated, a fragment's rows in physical order. Rows behind the last one known have
// its version; where none is known it is 1.
class RowVersions {
 public:
  // Corruption if the bytes do not decode.
  static arrow::Result<RowVersions> Decode(std::string_view bytes);
  // Of the rows [first, first + versions.size()).
  void Read(uint64_t first, std::span<uint64_t> versions) const;

 private:
  struct Run {
    uint64_t end = 0;  // rows up to here
    uint64_t version = 0;
  };
  std::vector<Run> runs_;
};

// nullopt: they lie in the column of that name of a data file.
arrow::Result<std::optional<RowVersions>> DecodeCreatedVersions(const Fragment& fragment);
arrow::Result<std::optional<RowVersions>> DecodeUpdatedVersions(const Fragment& fragment);

// The lineage of new rows: ids [first_row_id, first_row_id + rows), created and last updated in `version`.
std::string LineageOfNewRows(uint64_t first_row_id, uint64_t rows, TableVersion version);

// What a row keeps when it is replaced by a new version of itself.
struct RowOrigin {
  uint64_t row_id = 0;
  uint64_t created_version = 0;
  friend bool operator==(const RowOrigin&, const RowOrigin&) = default;
};
// The lineage that a transaction gives a new fragment whose first rows replace these; the rest are new.
std::string LineageOfReplacedRows(std::span<const RowOrigin> rows);
// The lineage of a fragment of `rows` rows committed as `version`: that of its transaction (empty: all rows are new)
// where it says, else ids from `*next_row_id` on, which moves. InvalidInput: the transaction's is for more rows;
// NotSupported: row ids are used up.
arrow::Result<std::string> CompleteLineage(std::string_view of_transaction, uint64_t rows, TableVersion version,
                                           uint64_t* next_row_id);

}  // namespace javelin::table
