// The distinct values of a page whose chunks hold indices.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include <arrow/result.h>

#include "javelin/file/decoder_internal.h"
#include "javelin/file/leaf_sink_internal.h"

namespace javelin::file {

class PageDictionary {
 public:
  // Decodes `num_items` values from a block.
  static arrow::Result<std::shared_ptr<const PageDictionary>> Decode(const BlockDecoder& decoder, Bytes block,
                                                                     uint64_t num_items, const ValueShape& shape,
                                                                     const Resources& resources);
  // Appends the item of each index (numbers of `index_bytes` bytes), or the index where that is kept. An index outside
  // the dictionary is only good where `levels` (may be empty: all valid) says null.
  arrow::Status Append(Bytes indices, uint64_t index_bytes, std::span<const uint16_t> levels, LeafSink& out) const;

  uint64_t memory_bytes() const { return memory_.bytes(); }

 private:
  template <typename Index>
  arrow::Status AppendOf(Bytes indices, std::span<const uint16_t> levels, LeafSink& out) const;

  PageDictionary(const ValueShape& shape, const Resources& resources)
      : memory_(resources.pool, resources.memory.get()), items_(shape, memory_) {}
  SinkMemory memory_;
  ValueSink items_;
  std::shared_ptr<arrow::ArrayData> array_;  // of the items
  bool distinct_ = false;                    // see DictionarySink; not known of other columns
};

}  // namespace javelin::file
