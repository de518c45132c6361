// The two files of a BTree index (docs/format.md, "Indexes: BTree").
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/base/resources.h"
#include "javelin/store/object_store.h"

namespace javelin::index {

inline constexpr char kBTreePageDataName[] = "page_data.lance";
inline constexpr char kBTreePageLookupName[] = "page_lookup.lance";
inline constexpr uint64_t kKeyIndexPageRows = 8192;  // pages of `_pk_index`

struct BTreeFiles {
  BufferPtr page_data;    // all (value, row) pairs in order
  BufferPtr page_lookup;  // first and last value of each page
};

// Encodes the pairs (values[i], rows[i]), given in any order: sorted by value, nulls first, then by row; `page_rows` of
// them a page. The file version is 2.2. InvalidInput: different lengths, a null row, `page_rows` 0; NotSupported: a
// type that is no key type (key_encoding.h). Computes on the calling thread, does no I/O.
arrow::Result<BTreeFiles> EncodeBTree(const Resources& resources, const std::shared_ptr<arrow::Array>& values,
                                      const std::shared_ptr<arrow::UInt64Array>& rows, uint64_t page_rows);

// What the key index of an SSTable is over, one value a row: the key column itself, or for a composite key its bytes
// (KeyEncoder) as binary. InvalidInput: no column, a type that is no key type, columns of different length.
arrow::Result<std::shared_ptr<arrow::Array>> KeyIndexValues(const std::vector<std::shared_ptr<arrow::Array>>& columns,
                                                            arrow::MemoryPool* pool);

}  // namespace javelin::index
