// The deleted rows of a fragment (docs/format.md, "Tables: deletion files").
#pragma once

#include <cstdint>
#include <string>

#include <arrow/buffer.h>
#include <arrow/result.h>

#include "javelin/base/ids.h"
#include "javelin/table/manifest.h"
#include "javelin/table/offset_set.h"

namespace javelin::table {

// "{fragment}-{read version}-{id}.arrow" or ".bin", below `_deletions/`.
std::string DeletionFileName(FragmentId fragment, const DeletionFile& file);

// The offsets of the deleted rows. Corruption: the bytes do not decode, an offset is not below `physical_rows`, or the
// number of rows is not the one the manifest gives (where it gives one). Does no I/O.
arrow::Result<OffsetSet> DecodeDeletionFile(const DeletionFile& file, const std::shared_ptr<arrow::Buffer>& bytes,
                                            uint64_t physical_rows);

struct EncodedDeletionFile {
  DeletionFileType type = DeletionFileType::kArrowArray;
  std::shared_ptr<arrow::Buffer> bytes;
};
// All deleted rows of a fragment as the released writer stores so many: an Arrow file below 5000 rows, else a Roaring
// bitmap. InvalidInput for an empty set, which has no file. Does no I/O.
arrow::Result<EncodedDeletionFile> EncodeDeletionFile(const OffsetSet& deleted);

}  // namespace javelin::table
