#include "javelin/file/page_encoder_internal.h"

namespace javelin::file {

namespace {

using Kind = ValueShape::Kind;

constexpr uint64_t kMaxInlineBytes = 32;
// With nulls a constant page spends 16 bits on each row's level; from some size on chunks are smaller.
constexpr uint64_t kMaxRowsWithNulls = 512;

uint64_t FirstValid(const LeafView& view) {
  uint64_t index = 0;
  while (view.IsNull(index)) ++index;
  return index;
}

template <typename Equal>
bool AllEqual(const LeafView& view, uint64_t first, const Equal& equal) {
  for (uint64_t i = first + 1; i < view.length; ++i) {
    if (!view.IsNull(i) && !equal(i)) return false;
  }
  return true;
}

bool AllEqualTo(const LeafView& view, const ValueShape& shape, uint64_t first) {
  if (shape.kind == Kind::kVariable) {
    const Bytes value = view.Value(first);
    return AllEqual(view, first, [&](uint64_t i) {
      const Bytes other = view.Value(i);
      return other.size() == value.size() &&
             (value.empty() || std::memcmp(other.data(), value.data(), value.size()) == 0);
    });
  }
  if (shape.bits == 1) return AllEqual(view, first, [&](uint64_t i) { return view.Bit(i) == view.Bit(first); });
  const uint64_t width = shape.bytes();
  const uint8_t* value = view.values + first * width;
  return AllEqual(view, first, [&](uint64_t i) { return std::memcmp(view.values + i * width, value, width) == 0; });
}

void Append(std::vector<uint8_t>& out, const void* bytes, size_t size) {
  auto begin = static_cast<const uint8_t*>(bytes);
  out.insert(out.end(), begin, begin + size);
}

template <typename T>
void AppendNumber(std::vector<uint8_t>& out, T number) {
  Append(out, &number, sizeof(T));
}

// Number of Arrow buffers, their sizes, the buffers.
std::vector<uint8_t> StringBlock(Bytes value, unsigned offset_bytes) {
  std::vector<uint8_t> block;
  AppendNumber<uint32_t>(block, 2);
  AppendNumber<uint32_t>(block, 2 * offset_bytes);
  AppendNumber<uint32_t>(block, static_cast<uint32_t>(value.size()));
  for (uint64_t offset : {uint64_t{0}, static_cast<uint64_t>(value.size())}) Append(block, &offset, offset_bytes);
  if (!value.empty()) Append(block, value.data(), value.size());
  return block;
}

std::vector<uint8_t> FixedBlock(Bytes value) {
  std::vector<uint8_t> block;
  AppendNumber<uint32_t>(block, 1);
  AppendNumber<uint32_t>(block, static_cast<uint32_t>(value.size()));
  Append(block, value.data(), value.size());
  return block;
}

EncodedBuffer Levels(const LeafView& view) {
  std::vector<uint8_t> levels;
  for (uint64_t i = 0; i < view.length; ++i) AppendNumber<uint16_t>(levels, view.IsNull(i));
  return OneBuffer(std::move(levels));
}

}  // namespace

bool EncodeAllNull(const LeafView& view, EncodedPage& page) {
  if (view.null_count < view.length) return false;
  page.layout.mutable_constant_layout()->add_layers(pb::NULLABLE_ITEM);
  return true;
}

bool EncodeOneValue(const LeafView& view, const ValueShape& shape, EncodedPage& page) {
  if (shape.kind != Kind::kFixed && shape.kind != Kind::kVariable) return false;
  if (view.HasNulls() && view.length > kMaxRowsWithNulls) return false;
  const uint64_t first = FirstValid(view);
  if (!AllEqualTo(view, shape, first)) return false;
  pb::ConstantLayout* layout = page.layout.mutable_constant_layout();
  layout->add_layers(view.HasNulls() ? pb::NULLABLE_ITEM : pb::ALL_VALID_ITEM);
  if (shape.kind == Kind::kVariable) {
    page.buffers.push_back(OneBuffer(StringBlock(view.Value(first), view.offset_bytes)));
  } else if (shape.bits == 1) {
    layout->set_inline_value(std::string(1, view.Bit(first) ? '\1' : '\0'));
  } else if (const Bytes value(view.values + first * shape.bytes(), shape.bytes()); value.size() <= kMaxInlineBytes) {
    layout->set_inline_value(value.data(), value.size());
  } else {
    page.buffers.push_back(OneBuffer(FixedBlock(value)));
  }
  if (view.HasNulls()) {
    page.buffers.push_back(OneBuffer({}));
    page.buffers.push_back(Levels(view));
  }
  return true;
}

}  // namespace javelin::file
