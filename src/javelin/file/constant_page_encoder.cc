#include "javelin/file/chunk_encoder_internal.h"
#include "javelin/file/page_encoder_internal.h"

namespace javelin::file {

namespace {

using Kind = ValueShape::Kind;

constexpr uint64_t kMaxInlineBytes = 32;
// A constant page spends 16 bits on each level; from some size on chunks are smaller.
constexpr uint64_t kMaxEntriesWithLevels = 512;

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
  if (shape.is_fixed(0)) return true;
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

EncodedBuffer RawLevels(const std::vector<uint16_t>& levels) {
  std::vector<uint8_t> bytes;
  if (!levels.empty()) Append(bytes, levels.data(), levels.size() * sizeof(uint16_t));
  return OneBuffer(std::move(bytes));
}

// One block for the whole page.
EncodedBuffer PackedLevels(const std::vector<uint16_t>& levels, uint16_t max_level, pb::CompressiveEncoding& encoding) {
  const Slice all{0, levels.size()};
  const LevelEncoder encoder(levels, {&all, 1}, max_level);
  std::vector<uint8_t> bytes;
  encoder.Encode(all, bytes);
  encoder.Describe(encoding);
  return OneBuffer(std::move(bytes));
}

}  // namespace

void EncodeNoValues(const PageLevels& levels, const PageOptions& options, EncodedPage& page) {
  pb::ConstantLayout* layout = page.layout.mutable_constant_layout();
  for (pb::RepDefLayer layer : levels.layers) layout->add_layers(layer);
  if (levels.layers.size() == 1) return;
  if (options.version < FileVersion{2, 2}) {
    page.buffers.push_back(RawLevels(levels.rep));
    page.buffers.push_back(RawLevels(levels.def));
    return;
  }
  layout->set_num_rep_values(levels.rep.size());
  layout->set_num_def_values(levels.def.size());
  page.buffers.push_back(levels.rep.empty()
                             ? EncodedBuffer{}
                             : PackedLevels(levels.rep, levels.max_rep, *layout->mutable_rep_compression()));
  page.buffers.push_back(levels.def.empty()
                             ? EncodedBuffer{}
                             : PackedLevels(levels.def, levels.max_def, *layout->mutable_def_compression()));
}

bool EncodeOneValue(const LeafView& view, const ValueShape& shape, const PageLevels& levels, EncodedPage& page) {
  if (shape.kind != Kind::kFixed && shape.kind != Kind::kVariable) return false;
  const bool has_levels = !levels.rep.empty() || !levels.def.empty();
  // Values without bytes have no other form.
  if (has_levels && levels.num_entries() > kMaxEntriesWithLevels && !shape.is_fixed(0)) return false;
  const uint64_t first = FirstValid(view);
  if (!AllEqualTo(view, shape, first)) return false;
  // The block says its sizes in 32 bits.
  if (shape.kind == Kind::kVariable && view.Value(first).size() > std::numeric_limits<uint32_t>::max()) return false;
  pb::ConstantLayout* layout = page.layout.mutable_constant_layout();
  for (pb::RepDefLayer layer : levels.layers) layout->add_layers(layer);
  if (shape.kind == Kind::kVariable) {
    page.buffers.push_back(OneBuffer(StringBlock(view.Value(first), view.offset_bytes)));
  } else if (shape.bits == 1) {
    layout->set_inline_value(std::string(1, view.Bit(first) ? '\1' : '\0'));
  } else if (const Bytes value(view.values + first * shape.bytes(), shape.bytes()); value.size() <= kMaxInlineBytes) {
    layout->set_inline_value(value.data(), value.size());
  } else {
    page.buffers.push_back(OneBuffer(FixedBlock(value)));
  }
  if (has_levels) {
    page.buffers.push_back(RawLevels(levels.rep));
    page.buffers.push_back(RawLevels(levels.def));
  }
  return true;
}

}  // namespace javelin::file
