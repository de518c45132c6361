#include "javelin/file/struct_packer_internal.h"

#include <algorithm>
#include <limits>

#include <arrow/type.h>

#include "javelin/base/error.h"
#include "javelin/file/leaf_view_internal.h"

namespace javelin::file {

namespace {

using arrow::ArrayData;
using Kind = ValueShape::Kind;

const ValueShape& Innermost(const ValueShape& shape) {
  return shape.kind == Kind::kList ? Innermost(*shape.item) : shape;
}

// Bytes of one value, or of its length where it is of any.
uint64_t WidthOf(const ValueShape& shape) {
  return shape.kind == Kind::kList ? shape.dimension * WidthOf(*shape.item) : shape.bytes();
}

// The children of a struct are not sliced along with it.
std::vector<LeafView> FieldViews(const ArrayData& structs, const std::vector<ValueShape>& shapes) {
  std::vector<LeafView> views;
  for (size_t i = 0; i < shapes.size(); ++i)
    views.push_back(ViewLeaf(*structs.child_data[i]->Slice(structs.offset, structs.length), shapes[i]));
  return views;
}

const uint8_t* ValuesOf(const LeafView& view) { return view.items == nullptr ? view.values : ValuesOf(*view.items); }

uint64_t StringBytes(const LeafView& view, uint64_t first, uint64_t count) {
  return count == 0 ? 0 : view.Offset(first + count) - view.Offset(first);
}

void DescribeValue(const ValueShape& shape, pb::CompressiveEncoding& encoding) {
  switch (shape.kind) {
    case Kind::kVariable:
      encoding.mutable_variable()->mutable_offsets()->mutable_flat()->set_bits_per_value(shape.bits);
      break;
    case Kind::kList:
      encoding.mutable_fixed_size_list()->set_items_per_value(shape.dimension);
      DescribeValue(*shape.item, *encoding.mutable_fixed_size_list()->mutable_values());
      break;
    default: encoding.mutable_flat()->set_bits_per_value(shape.bits);
  }
}

void DescribeValue(const ValueShape& shape, lance::encodings::ArrayEncoding& encoding) {
  lance::encodings::ArrayEncoding& values = *encoding.mutable_nullable()->mutable_no_nulls()->mutable_values();
  if (shape.kind == Kind::kList) {
    values.mutable_fixed_size_list()->set_dimension(static_cast<uint32_t>(shape.dimension));
    DescribeValue(*shape.item, *values.mutable_fixed_size_list()->mutable_items());
    return;
  }
  values.mutable_flat()->set_bits_per_value(shape.bits);
  values.mutable_flat()->mutable_buffer();
}

}  // namespace

arrow::Result<StructPacker> StructPacker::Make(const Field& field) {
  StructPacker packer;
  for (const Field& child : field.children) {
    auto shape = ShapeOf(*child.type);
    if (!shape.ok() || Innermost(*shape).bits == 0 || Innermost(*shape).bits % 8 != 0)
      return NotSupported("packed struct '{}' has a field '{}' of type {}, which cannot be packed; do not pack it",
                          field.name, child.name, child.type->ToString());
    packer.is_fixed_ &= shape->kind == Kind::kFixed;
    packer.fixed_bytes_ += WidthOf(*shape);
    packer.fields_.push_back(std::move(*shape));
  }
  if (packer.fixed_bytes_ > std::numeric_limits<int32_t>::max())
    return NotSupported("packed struct '{}' is too wide to be written", field.name);
  return packer;
}

ValueShape StructPacker::shape() const {
  if (is_fixed_) return FixedShape(fixed_bytes_ * 8);
  return {.kind = Kind::kVariable, .bits = 32};
}

void StructPacker::Describe(pb::CompressiveEncoding& encoding) const {
  if (is_fixed_) {
    pb::PackedStruct* packed = encoding.mutable_packed_struct();
    for (const ValueShape& field : fields_) packed->add_bits_per_value(field.bits);
    packed->mutable_values()->mutable_flat()->set_bits_per_value(fixed_bytes_ * 8);
    return;
  }
  for (const ValueShape& shape : fields_) {
    auto* field = encoding.mutable_variable_packed_struct()->add_fields();
    DescribeValue(shape, *field->mutable_value());
    if (shape.kind == Kind::kVariable) {
      field->set_bits_per_length(shape.bits);
    } else {
      field->set_bits_per_value(WidthOf(shape) * 8);
    }
  }
}

bool StructPacker::has_strings() const {
  return std::ranges::any_of(fields_, [](const ValueShape& field) { return field.kind == Kind::kVariable; });
}

std::vector<uint64_t> StructPacker::widths() const {
  std::vector<uint64_t> widths;
  for (const ValueShape& field : fields_) widths.push_back(WidthOf(field));
  return widths;
}

void StructPacker::Describe(lance::encodings::PackedStruct& encoding) const {
  encoding.mutable_buffer();
  for (const ValueShape& field : fields_) DescribeValue(field, *encoding.add_inner());
}

arrow::Result<std::shared_ptr<ArrayData>> StructPacker::Pack(const ArrayData& structs, std::span<const Slice> runs,
                                                             arrow::MemoryPool* pool) const {
  if (!is_fixed_) return PackVariable(structs, runs, pool);
  const uint64_t count = TotalCount(runs);
  const auto type = arrow::fixed_size_binary(static_cast<int32_t>(fixed_bytes_));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bytes,
                        arrow::AllocateBuffer(static_cast<int64_t>(count * fixed_bytes_), pool));
  uint64_t field_at = 0;
  const std::vector<LeafView> views = FieldViews(structs, fields_);
  for (size_t i = 0; i < fields_.size(); ++i) {
    const uint64_t width = WidthOf(fields_[i]);
    uint8_t* target = bytes->mutable_data() + field_at;
    for (const Slice& run : runs) {
      for (uint64_t row = run.first; row < run.end(); ++row, target += fixed_bytes_)
        std::memcpy(target, views[i].values + row * width, width);
    }
    field_at += width;
  }
  return ArrayData::Make(type, static_cast<int64_t>(count), {nullptr, std::move(bytes)}, 0);
}

arrow::Result<std::shared_ptr<ArrayData>> StructPacker::PackVariable(const ArrayData& structs,
                                                                     std::span<const Slice> runs,
                                                                     arrow::MemoryPool* pool) const {
  const std::vector<LeafView> views = FieldViews(structs, fields_);
  uint64_t size = 0;
  for (const Slice& run : runs) size += PackedBytes(structs, run.first, run.count);
  if (size > static_cast<uint64_t>(std::numeric_limits<int32_t>::max()))
    return InvalidInput("a row of a packed struct is larger than 2 GiB");
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bytes, arrow::AllocateBuffer(static_cast<int64_t>(size), pool));
  std::vector<int32_t> offsets = {0};
  uint8_t* target = bytes->mutable_data();
  for (const Slice& run : runs) {
    for (uint64_t row = run.first; row < run.end(); ++row) {
      for (size_t i = 0; i < fields_.size(); ++i) {
        const bool variable = fields_[i].kind == Kind::kVariable;
        const uint64_t width = variable ? StringBytes(views[i], row, 1) : WidthOf(fields_[i]);
        if (variable) {
          std::memcpy(target, &width, fields_[i].bytes());
          target += fields_[i].bytes();
        }
        const uint8_t* source = variable ? views[i].values + views[i].Offset(row) : ValuesOf(views[i]) + row * width;
        if (width > 0) std::memcpy(target, source, width);
        target += width;
      }
      offsets.push_back(static_cast<int32_t>(target - bytes->mutable_data()));
    }
  }
  const auto count = static_cast<int64_t>(offsets.size()) - 1;
  return ArrayData::Make(arrow::binary(), count,
                         {nullptr, arrow::Buffer::FromVector(std::move(offsets)), std::move(bytes)}, 0);
}

uint64_t StructPacker::PackedBytes(const ArrayData& structs, uint64_t first, uint64_t count) const {
  uint64_t bytes = count * fixed_bytes_;
  for (size_t i = 0; i < fields_.size() && count > 0; ++i) {
    if (fields_[i].kind != Kind::kVariable) continue;
    const ArrayData& strings = *structs.child_data[i];
    const auto width = static_cast<unsigned>(fields_[i].bytes());
    const uint8_t* offsets =
        strings.buffers[1]->data() +
        static_cast<uint64_t>(strings.offset + structs.offset + static_cast<int64_t>(first)) * width;
    bytes += LoadUnsigned(offsets + count * width, width) - LoadUnsigned(offsets, width);
  }
  return bytes;
}

}  // namespace javelin::file
