#include "javelin/file/leaf_view_internal.h"

namespace javelin::file {

namespace {

uint64_t CountNulls(const LeafView& view) {
  uint64_t nulls = 0;
  for (uint64_t i = 0; i < view.length; ++i) nulls += view.IsNull(i);
  return nulls;
}

LeafView ViewSlice(const arrow::ArrayData& data, const ValueShape& shape, uint64_t first, uint64_t length) {
  LeafView view;
  const uint64_t start = static_cast<uint64_t>(data.offset) + first;
  view.length = length;
  if (length == 0) return view;  // buffers may be absent
  if (data.buffers[0] != nullptr && data.GetNullCount() > 0) {
    view.validity = data.buffers[0]->data();
    view.validity_offset = start;
    const bool all = first == 0 && length == static_cast<uint64_t>(data.length);
    view.null_count = all ? static_cast<uint64_t>(data.GetNullCount()) : CountNulls(view);
  }
  switch (shape.kind) {
    case ValueShape::Kind::kNull: view.null_count = length; break;
    case ValueShape::Kind::kFixed:
      view.values = data.buffers[1]->data();
      if (shape.bits == 1) {
        view.bit_offset = start;
      } else {
        view.values += start * shape.bytes();
      }
      break;
    case ValueShape::Kind::kVariable:
      view.offset_bytes = static_cast<unsigned>(shape.bytes());
      view.offsets = data.buffers[1]->data() + start * shape.bytes();
      view.values = data.buffers[2] == nullptr ? nullptr : data.buffers[2]->data();
      break;
    case ValueShape::Kind::kList:
      view.items = std::make_unique<LeafView>(
          ViewSlice(*data.child_data[0], *shape.item, start * shape.dimension, length * shape.dimension));
      break;
    case ValueShape::Kind::kStruct: break;  // has no values of its own
  }
  return view;
}

}  // namespace

LeafView ViewLeaf(const arrow::ArrayData& data, const ValueShape& shape) {
  return ViewSlice(data, shape, 0, static_cast<uint64_t>(data.length));
}

}  // namespace javelin::file
