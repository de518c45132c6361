#include "javelin/file/page_dictionary_internal.h"

#include <arrow/type.h>

#include "javelin/base/error.h"

namespace javelin::file {

namespace {

// Indices as they are stored, of 1, 2, 4 or 8 bytes. One outside the dictionary stands for a null and reads as 0.
class Indices {
 public:
  Indices(Bytes bytes, uint64_t width, uint64_t num_items)
      : bytes_(bytes), width_(static_cast<unsigned>(width)), num_items_(num_items) {}
  uint64_t count() const { return bytes_.size() / width_; }
  uint64_t Stored(uint64_t i) const { return LoadUnsigned(bytes_.data() + i * width_, width_); }
  uint64_t operator[](uint64_t i) const {
    const uint64_t index = Stored(i);
    return index < num_items_ ? index : 0;
  }

  arrow::Status Check(std::span<const uint16_t> levels) const {
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
  unsigned width_;
  uint64_t num_items_;
};

// Copies items of a width that the compiler knows; 0 = any.
template <uint64_t kWidth>
void CopyItems(const uint8_t* items, uint64_t width, const Indices& indices, uint8_t* target) {
  const uint64_t step = kWidth == 0 ? width : kWidth;
  for (uint64_t i = 0, count = indices.count(); i < count; ++i, target += step)
    std::memcpy(target, items + indices[i] * step, step);
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
  if (shape.is_fixed(1)) {
    ARROW_RETURN_NOT_OK(dictionary->items_.validity().AppendValid(num_items));
    ARROW_ASSIGN_OR_RAISE(const auto array, dictionary->items_.Finish(arrow::boolean()));
    dictionary->bits_ = array->buffers[1];
  }
  return dictionary;
}

arrow::Status PageDictionary::Append(Bytes indices, uint64_t index_bytes, std::span<const uint16_t> levels,
                                     ValueSink& out) const {
  const Indices wanted(indices, index_bytes, items_.length());
  ARROW_RETURN_NOT_OK(wanted.Check(levels));
  const uint64_t count = wanted.count();
  if (items_.shape().kind == ValueShape::Kind::kVariable) {
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < count; ++i) bytes += items_.variable_value(wanted[i]).size();
    ARROW_RETURN_NOT_OK(out.ReserveBytes(bytes));
    for (uint64_t i = 0; i < count; ++i) ARROW_RETURN_NOT_OK(out.AppendValue(items_.variable_value(wanted[i])));
    return arrow::Status::OK();
  }
  if (bits_ != nullptr) {
    for (uint64_t i = 0; i < count; ++i) ARROW_RETURN_NOT_OK(out.AppendBits(bits_->data(), wanted[i], 1));
    return arrow::Status::OK();
  }
  const uint64_t width = items_.shape().bytes();
  const uint8_t* items = items_.fixed_values().data();
  ARROW_ASSIGN_OR_RAISE(uint8_t* target, out.AppendFixed(count));
  switch (width) {
    case 4: CopyItems<4>(items, width, wanted, target); break;
    case 8: CopyItems<8>(items, width, wanted, target); break;
    case 16: CopyItems<16>(items, width, wanted, target); break;
    default: CopyItems<0>(items, width, wanted, target); break;
  }
  return arrow::Status::OK();
}

}  // namespace javelin::file
