// Where a leaf column of one read goes: its values, and the structs and lists around them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <arrow/buffer.h>
#include <arrow/result.h>

#include "javelin/file/column_layers_internal.h"
#include "javelin/file/dictionary_sink_internal.h"
#include "javelin/file/value_sink_internal.h"

namespace javelin::file {

// 16-bit numbers one after the other, counted against the memory of the read.
class LevelBuffer {
 public:
  explicit LevelBuffer(SinkMemory& memory) : buffer_(memory) {}
  // Room for `count` more, to be filled by the caller at once.
  arrow::Result<uint16_t*> Append(uint64_t count);
  // From a file: little-endian, at any address. An odd byte at the end is left out.
  arrow::Status AppendBytes(Bytes bytes);
  arrow::Status Append(std::span<const uint16_t> levels);
  void Truncate(uint64_t size) { size_ = size; }
  std::span<uint16_t> levels() { return {reinterpret_cast<uint16_t*>(buffer_.data()), size_}; }
  uint64_t size() const { return size_; }

 private:
  SinkBuffer buffer_;
  uint64_t size_ = 0;
};

// Levels that were decoded into `sink`, 16-bit numbers.
inline std::span<const uint16_t> AsLevels(const ValueSink& sink) {
  const Bytes bytes = sink.fixed_values();
  return {reinterpret_cast<const uint16_t*>(bytes.data()), bytes.size() / sizeof(uint16_t)};
}

// Levels of whole rows of a page. One of each per entry, or none at all where the page has none.
struct Levels {
  explicit Levels(SinkMemory& memory) : rep(memory), def(memory) {}
  LevelBuffer rep;
  LevelBuffer def;
};

class LeafSink {
 public:
  // `expected`: rows.
  LeafSink(ValueShape shape, ColumnLayers column, SinkMemory& memory, uint64_t expected);

  ValueSink& values() { return values_; }
  // Of a dictionary column: from now on pages may give indices in place of values (DictionarySink).
  void KeepIndices(const arrow::DictionaryType& type, bool keep_whole);
  // Null where indices are not kept.
  DictionarySink* dictionary() { return dictionary_.get(); }
  const ColumnLayers& column() const { return column_; }

  // So many more values will come out of `bytes` bytes. Where lists say how many, only the file does: no more is
  // foreseen than its bytes justify.
  void Expect(uint64_t values, uint64_t bytes);

  // Adds `num_rows` rows of a page (PageRowsPerRow) to every layer; uses up the levels. The values they have slots for
  // are appended to `values` by the caller, their validity here. Corruption: levels that no such column can have, or of
  // other than `num_rows` rows.
  arrow::Status AppendRows(const PageLayers& page, Levels levels, uint64_t num_rows);

  // The same for version 2.0, which has no levels: slots that are all valid, or a list of so many items. `depth` as in
  // layer().
  arrow::Status AppendValidSlots(size_t depth, uint64_t count);
  arrow::Status AppendList(size_t depth, bool valid, uint64_t num_items);

  // After the last page, before anything is made of it; errors as DictionarySink::Settle.
  arrow::Status Settle() { return dictionary_ == nullptr ? arrow::Status::OK() : dictionary_->Settle(); }

  // What a layer holds: slots, or lists. Counted from the outside, 0 = the top-level field; not for the leaf.
  struct Layer {
    Layer(SinkMemory& memory, uint64_t most) : expected(most), validity(memory, most), offsets(memory) {}
    const uint64_t expected;
    ValiditySink validity;
    uint64_t length = 0;
    SinkBuffer offsets;         // of lists: where each begins
    uint64_t num_children = 0;  // of lists: slots of the layer inside
  };
  const Layer& layer(size_t depth) const { return *layers_[layers_.size() - 1 - depth]; }
  // The offsets of a list layer, one more than lists.
  arrow::Result<BufferPtr> FinishOffsets(size_t depth);

 private:
  arrow::Status AppendSlots(size_t index, const PageLayers::Layer& layer, std::span<const uint16_t> def,
                            uint64_t num_entries);
  // One entry for each slot of a fixed-size list of structs, out of one for each of its items. Returns how many.
  arrow::Result<uint64_t> CloseFixedSizeLists(uint64_t dimension, const PageLayers::Layer& layer,
                                              std::span<uint16_t> def, uint64_t num_entries) const;
  arrow::Result<uint64_t> CloseLists(size_t index, const PageLayers::Layer& layer, std::span<uint16_t> rep,
                                     std::span<uint16_t> def);
  template <typename Offset, bool kHasDef>
  arrow::Result<uint64_t> CloseListsOf(size_t index, const PageLayers::Layer& layer, std::span<uint16_t> rep,
                                       std::span<uint16_t> def);
  // Room for the offsets of `count` lists, to be filled by the caller at once.
  arrow::Result<uint8_t*> AppendOffsets(size_t index, uint64_t count);
  arrow::Status AppendOffset(size_t index);
  arrow::Status CheckOffset(size_t index) const;

  const ColumnLayers column_;
  const uint64_t expected_values_;
  SinkMemory* memory_;
  ValueSink values_;
  std::unique_ptr<DictionarySink> dictionary_;
  std::vector<std::unique_ptr<Layer>> layers_;  // the leaf first; that of the leaf is unused: its values know
};

}  // namespace javelin::file
