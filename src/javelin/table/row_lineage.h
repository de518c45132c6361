// Stable row ids and the version sequences of a fragment (docs/format.md, "Tables: row ids").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/result.h>

#include "javelin/base/ids.h"
#include "javelin/table/manifest.h"

namespace javelin::table {

// Field ids of lineage columns in a data file, when a sequence is stored there instead of in the manifest.
inline constexpr FieldId kRowIdColumn{-3};

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

// The lineage of new rows: ids [first_row_id, first_row_id + rows), created and last updated in `version`.
std::string LineageOfNewRows(uint64_t first_row_id, uint64_t rows, TableVersion version);

}  // namespace javelin::table
