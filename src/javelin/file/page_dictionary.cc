#include "javelin/file/page_dictionary_internal.h"

#include "javelin/base/error.h"

namespace javelin::file {

namespace {

// Copies items of a width that the compiler knows; 0 = any.
template <uint64_t kWidth>
void CopyItems(const uint8_t* items, uint64_t width, std::span<const uint64_t> indices, uint8_t* target) {
  const uint64_t step = kWidth == 0 ? width : kWidth;
  for (uint64_t index : indices) {
    std::memcpy(target, items + index * step, step);
    target += step;
  }
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
  return dictionary;
}

arrow::Status PageDictionary::Append(Bytes indices, uint64_t index_bytes, std::span<const uint16_t> levels,
                                     ValueSink& out) const {
  const uint64_t count = indices.size() / index_bytes;
  const uint64_t num_items = items_.length();
  std::vector<uint64_t> wide(count);
  for (uint64_t i = 0; i < count; ++i) {
    wide[i] = LoadUnsigned(indices.data() + i * index_bytes, static_cast<unsigned>(index_bytes));
    if (wide[i] < num_items) continue;
    const bool null = i < levels.size() && levels[i] != 0;
    if (!null || num_items == 0)
      return Corruption("a value has index {} in a dictionary of {} items", wide[i], num_items);
    wide[i] = 0;
  }
  if (items_.shape().kind == ValueShape::Kind::kVariable) {
    uint64_t bytes = 0;
    for (uint64_t index : wide) bytes += items_.variable_value(index).size();
    ARROW_RETURN_NOT_OK(out.ReserveBytes(bytes));
    for (uint64_t index : wide) ARROW_RETURN_NOT_OK(out.AppendValue(items_.variable_value(index)));
    return arrow::Status::OK();
  }
  const uint64_t width = items_.shape().bytes();
  const uint8_t* items = items_.fixed_values().data();
  ARROW_ASSIGN_OR_RAISE(uint8_t* target, out.AppendFixed(count));
  switch (width) {
    case 4: CopyItems<4>(items, width, wide, target); break;
    case 8: CopyItems<8>(items, width, wide, target); break;
    case 16: CopyItems<16>(items, width, wide, target); break;
    default: CopyItems<0>(items, width, wide, target); break;
  }
  return arrow::Status::OK();
}

}  // namespace javelin::file
