#include "javelin/file/page_dictionary_internal.h"

#include <algorithm>

#include "javelin/base/error.h"
#include "javelin/file/dictionary_type_internal.h"

namespace javelin::file {

namespace {

// Indices as they are stored. One outside the dictionary stands for a null and reads as 0.
template <typename Index>
class Indices {
 public:
  Indices(Bytes bytes, uint64_t num_items) : bytes_(bytes), num_items_(num_items) {}
  uint64_t count() const { return bytes_.size() / sizeof(Index); }
  uint64_t Stored(uint64_t i) const { return LoadElement<Index>(bytes_.data(), i); }
  uint64_t operator[](uint64_t i) const {
    const uint64_t index = Stored(i);
    return index < num_items_ ? index : 0;
  }

  arrow::Status Check(std::span<const uint16_t> levels) const {
    Index highest = 0;
    for (uint64_t i = 0, size = count(); i < size; ++i)
      highest = std::max(highest, LoadElement<Index>(bytes_.data(), i));
    if (highest < num_items_) return arrow::Status::OK();
    for (uint64_t i = 0, size = count(); i < size; ++i) {
      if (Stored(i) < num_items_) continue;
      const bool null = i < levels.size() && levels[i] != 0;
      if (!null || num_items_ == 0)
        return Corruption("a value has index {} in a dictionary of {} items", Stored(i), num_items_);
    }
    return arrow::Status::OK();
  }

 private:
  Bytes bytes_;
  uint64_t num_items_;
};

// Copies items of a width that the compiler knows; 0 = any.
template <uint64_t kWidth, typename Index>
void CopyItems(const uint8_t* items, uint64_t width, const Indices<Index>& indices, uint8_t* target) {
  const uint64_t step = kWidth == 0 ? width : kWidth;
  for (uint64_t i = 0, count = indices.count(); i < count; ++i, target += step)
    std::memcpy(target, items + indices[i] * step, step);
}

template <typename Index>
arrow::Status AppendFixedItems(const ValueSink& items, const Indices<Index>& indices, ValueSink& out) {
  const uint64_t width = items.shape().bytes();
  const uint8_t* values = items.fixed_values().data();
  ARROW_ASSIGN_OR_RAISE(uint8_t* target, out.AppendFixed(indices.count()));
  switch (width) {
    case 4: CopyItems<4>(values, width, indices, target); break;
    case 8: CopyItems<8>(values, width, indices, target); break;
    case 16: CopyItems<16>(values, width, indices, target); break;
    default: CopyItems<0>(values, width, indices, target); break;
  }
  return arrow::Status::OK();
}

// Copies strings one after the other. Most are short: those take one store of a size that the compiler knows, which
// writes over what comes next; both sides have room for it.
template <typename Offset, typename Index>
arrow::Status AppendStringItems(const ValueSink& items, const Indices<Index>& indices, ValueSink& out) {
  const uint8_t* const offsets = items.offsets();
  const uint8_t* const bytes = items.variable_bytes().data();
  const auto begin_of = [offsets](uint64_t item) { return LoadElement<Offset>(offsets, item); };
  const uint64_t count = indices.count();
  uint64_t total = 0;
  for (uint64_t i = 0; i < count; ++i) total += begin_of(indices[i] + 1) - begin_of(indices[i]);
  ARROW_ASSIGN_OR_RAISE(ValueSink::Strings strings, out.AppendStrings(count, total));
  uint64_t end = strings.begin;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t begin = begin_of(indices[i]);
    const uint64_t size = begin_of(indices[i] + 1) - begin;
    if (size <= ValueSink::kOverrun) {
      std::memcpy(strings.bytes, bytes + begin, ValueSink::kOverrun);
    } else {
      std::memcpy(strings.bytes, bytes + begin, size);
    }
    strings.bytes += size;
    end += size;
    StoreAt<Offset>(strings.ends + i * sizeof(Offset), static_cast<Offset>(end));
  }
  return arrow::Status::OK();
}

}  // namespace

arrow::Result<std::shared_ptr<const PageDictionary>> PageDictionary::Decode(const BlockDecoder& decoder, Bytes block,
                                                                            uint64_t num_items, const ValueShape& shape,
                                                                            const Resources& resources) {
  std::shared_ptr<PageDictionary> dictionary(new PageDictionary(shape, resources));
  Decompressor decompressor;
  DecodeContext context(dictionary->memory_, decompressor);
  ARROW_RETURN_NOT_OK(decoder.Decode(block, num_items, context, dictionary->items_));
  if (dictionary->items_.length() != num_items) {
    return Corruption("a dictionary of {} items decodes to {}", num_items, dictionary->items_.length());
  }
  if (shape.kind == ValueShape::Kind::kVariable)
    ARROW_RETURN_NOT_OK(dictionary->items_.ReserveBytes(ValueSink::kOverrun));
  ARROW_RETURN_NOT_OK(dictionary->items_.validity().AppendValid(num_items));
  ARROW_ASSIGN_OR_RAISE(dictionary->array_, dictionary->items_.Finish(StorageTypeOf(shape)));
  if (shape.in_dictionary) {
    SinkMemory scratch(resources.pool, resources.memory.get());
    ARROW_ASSIGN_OR_RAISE(dictionary->distinct_, AreDistinct(*dictionary->array_, shape, scratch));
  }
  return dictionary;
}

template <typename Index>
arrow::Status PageDictionary::AppendOf(Bytes indices, std::span<const uint16_t> levels, LeafSink& leaf) const {
  const Indices<Index> wanted(indices, items_.length());
  ARROW_RETURN_NOT_OK(wanted.Check(levels));
  if (wanted.count() == 0) return arrow::Status::OK();
  if (DictionarySink* sink = leaf.dictionary(); sink != nullptr && sink->Holds(items_.length()))
    return sink->Append(array_, distinct_, indices, sizeof(Index));
  ValueSink& out = leaf.values();
  if (items_.shape().kind == ValueShape::Kind::kVariable) {
    return items_.shape().bits == 32 ? AppendStringItems<uint32_t>(items_, wanted, out)
                                     : AppendStringItems<uint64_t>(items_, wanted, out);
  }
  if (!items_.shape().is_fixed(1)) return AppendFixedItems(items_, wanted, out);
  const uint8_t* bits = array_->buffers[1]->data();
  for (uint64_t i = 0; i < wanted.count(); ++i) ARROW_RETURN_NOT_OK(out.AppendBits(bits, wanted[i], 1));
  return arrow::Status::OK();
}

arrow::Status PageDictionary::Append(Bytes indices, uint64_t index_bytes, std::span<const uint16_t> levels,
                                     LeafSink& out) const {
  switch (index_bytes) {
    case 1: return AppendOf<uint8_t>(indices, levels, out);
    case 2: return AppendOf<uint16_t>(indices, levels, out);
    case 4: return AppendOf<uint32_t>(indices, levels, out);
    default: return AppendOf<uint64_t>(indices, levels, out);
  }
}

}  // namespace javelin::file
