// A field as its leaf columns, and their leaves as one Arrow array again.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <arrow/array/data.h>
#include <arrow/result.h>

#include "javelin/file/leaf_sink_internal.h"
#include "javelin/file/schema.h"

namespace javelin::file {

struct LeafColumn {
  const Field* field = nullptr;
  ValueShape shape;  // of what is stored; a dictionary is stored as its values
  ColumnLayers layers;
  std::vector<const Field*> lists;  // the lists and maps around it, the outermost first
};

// The leaves of a field in file order. NotSupported: a kind of nesting that is not read.
arrow::Result<std::vector<LeafColumn>> LeafColumnsOf(const Field& field);

// Where the leaf goes as it is read; `rows` are those of its pages. `keep_whole`: see DictionarySink.
std::unique_ptr<LeafSink> MakeLeafSink(const LeafColumn& leaf, uint64_t rows, bool keep_whole, SinkMemory& memory);

// The array of a field from what was read of its leaves, which are used up; in the order of LeafColumnsOf, null for one
// that the file does not have: it reads as null. `memory`: for what has to be made anew. Corruption: leaves that
// disagree about what lies around them.
arrow::Result<std::shared_ptr<arrow::ArrayData>> AssembleField(const Field& field,
                                                               std::span<const std::unique_ptr<LeafSink>> leaves,
                                                               uint64_t num_rows, SinkMemory& memory);

}  // namespace javelin::file
