// PackedStruct and VariablePackedStruct: the fields of a row side by side.
#include <algorithm>

#include "javelin/base/error.h"
#include "javelin/file/encodings_internal.h"

namespace javelin::file {

namespace {

using Kind = ValueShape::Kind;

// The fields of a struct as values of one width, in which they lie one behind the other.
arrow::Result<ValueShape> ShapeOfRow(const pb::PackedStruct& encoding, const ValueShape& shape) {
  const uint64_t bytes = FixedBytes(shape);
  const auto& widths = encoding.bits_per_value();
  const auto is_of = [](const ValueShape& field, uint64_t bits) {
    return bits % 8 == 0 && FixedBytes(field) == bits / 8;
  };
  if (shape.kind != Kind::kStruct || bytes == 0 || bytes >> 56 != 0 ||
      !std::equal(shape.fields.begin(), shape.fields.end(), widths.begin(), widths.end(), is_of)) {
    return DoesNotFit(fmt::format("PackedStruct of {} fields", widths.size()), shape);
  }
  return FixedShape(bytes * 8);
}

class PackedStructMiniBlock final : public MiniBlockDecoder {
 public:
  PackedStructMiniBlock(MiniBlockDecoderPtr rows, ValueShape row) : rows_(std::move(rows)), row_(std::move(row)) {}

  size_t num_buffers() const override { return rows_->num_buffers(); }
  uint64_t MostBytes(uint64_t num_values) const override { return rows_->MostBytes(num_values); }
  arrow::Status Decode(std::span<const Bytes> buffers, uint64_t num_values, std::span<const Slice> slices,
                       DecodeContext& context, ValueSink& out) const override {
    SinkMemory memory(context.memory.pool(), context.memory.budget());
    ValueSink rows(row_, memory, TotalCount(slices));
    ARROW_RETURN_NOT_OK(rows_->Decode(buffers, num_values, slices, context, rows));
    return out.AppendPackedRows(rows.fixed_values().data(), row_.bytes(), rows.length());
  }

 private:
  MiniBlockDecoderPtr rows_;
  ValueShape row_;
};

class PackedStructValue final : public FixedValueDecoder {
 public:
  explicit PackedStructValue(uint64_t bytes) : bytes_(bytes) {}
  uint64_t bytes() const override { return bytes_; }
  arrow::Status Decode(const uint8_t* values, uint64_t stride, uint64_t count, ValueSink& out) const override {
    return out.AppendPackedRows(values, stride, count);
  }

 private:
  uint64_t bytes_;
};

// One field of a struct in a row of its own length: of one width, or with a length in front.
struct PackedField {
  FixedValueDecoderPtr fixed;
  VariableValueDecoderPtr variable;
  unsigned length_bytes = 0;
};

class VariablePackedStructValue final : public VariableValueDecoder {
 public:
  explicit VariablePackedStructValue(std::vector<PackedField> fields) : fields_(std::move(fields)) {}

  arrow::Status Decode(Bytes value, DecodeContext& context, ValueSink& out) const override {
    Bytes rest = value;
    for (size_t i = 0; i < fields_.size(); ++i) {
      const PackedField& field = fields_[i];
      uint64_t size = field.fixed != nullptr ? field.fixed->bytes() : 0;
      if (field.variable != nullptr) {
        if (rest.size() < field.length_bytes) return PastTheEnd(i, value);
        size = LoadUnsigned(rest.data(), field.length_bytes);
        rest = rest.subspan(field.length_bytes);
      }
      if (rest.size() < size) return PastTheEnd(i, value);
      ValueSink& sink = out.field(i);
      ARROW_RETURN_NOT_OK(sink.validity().AppendValid(1));
      ARROW_RETURN_NOT_OK(field.variable != nullptr ? field.variable->Decode(rest.first(size), context, sink)
                                                    : field.fixed->Decode(rest.data(), size, 1, sink));
      rest = rest.subspan(size);
    }
    if (!rest.empty()) return Corruption("a packed struct of {} bytes has {} too many", value.size(), rest.size());
    out.CommitStructs(1);
    return arrow::Status::OK();
  }

 private:
  static arrow::Status PastTheEnd(size_t field, Bytes value) {
    return Corruption("field {} of a packed struct ends behind its {} bytes", field, value.size());
  }

  std::vector<PackedField> fields_;
};

using FieldEncoding = pb::VariablePackedStruct::FieldEncoding;

arrow::Result<PackedField> MakeFixedField(const FieldEncoding& encoding, const ValueShape& shape) {
  PackedField field;
  ARROW_ASSIGN_OR_RAISE(field.fixed, MakeFixedValueDecoder(encoding.value(), shape));
  const uint64_t bits = encoding.bits_per_value();
  if (bits % 8 != 0 || bits / 8 != field.fixed->bytes())
    return Corruption("a packed field of {} bits is encoded in {} bytes", bits, field.fixed->bytes());
  return field;
}

arrow::Result<PackedField> MakeVariableField(const FieldEncoding& encoding, const ValueShape& shape) {
  PackedField field;
  const uint64_t bits = encoding.bits_per_length();
  if (bits != 32 && bits != 64) return Corruption("a packed field has lengths of {} bits", bits);
  field.length_bytes = static_cast<unsigned>(bits / 8);
  ARROW_ASSIGN_OR_RAISE(field.variable, MakeVariableValueDecoder(encoding.value(), shape));
  return field;
}

arrow::Result<PackedField> MakeField(const FieldEncoding& encoding, const ValueShape& shape) {
  switch (encoding.layout_case()) {
    case FieldEncoding::kBitsPerValue: return MakeFixedField(encoding, shape);
    case FieldEncoding::kBitsPerLength: return MakeVariableField(encoding, shape);
    default: return Corruption("a packed field does not say how wide it is");
  }
}

}  // namespace

arrow::Result<MiniBlockDecoderPtr> MakePackedStructMiniBlock(const pb::PackedStruct& encoding,
                                                             const ValueShape& shape) {
  ARROW_ASSIGN_OR_RAISE(ValueShape row, ShapeOfRow(encoding, shape));
  ARROW_ASSIGN_OR_RAISE(MiniBlockDecoderPtr rows, MakeMiniBlockDecoder(encoding.values(), row));
  return std::make_unique<PackedStructMiniBlock>(std::move(rows), std::move(row));
}

arrow::Result<FixedValueDecoderPtr> MakePackedStructValue(const pb::PackedStruct& encoding, const ValueShape& shape) {
  ARROW_ASSIGN_OR_RAISE(const ValueShape row, ShapeOfRow(encoding, shape));
  if (!encoding.values().has_flat() || encoding.values().flat().bits_per_value() != row.bits)
    return NotSupported("packed structs over {} are not readable", NameOf(encoding.values()));
  return std::make_unique<PackedStructValue>(row.bytes());
}

arrow::Result<VariableValueDecoderPtr> MakeVariablePackedStructValue(const pb::VariablePackedStruct& encoding,
                                                                     const ValueShape& shape) {
  if (shape.kind != Kind::kStruct || static_cast<size_t>(encoding.fields_size()) != shape.fields.size())
    return DoesNotFit(fmt::format("VariablePackedStruct of {} fields", encoding.fields_size()), shape);
  std::vector<PackedField> fields;
  for (size_t i = 0; i < shape.fields.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(PackedField field, MakeField(encoding.fields(static_cast<int>(i)), shape.fields[i]));
    fields.push_back(std::move(field));
  }
  return std::make_unique<VariablePackedStructValue>(std::move(fields));
}

}  // namespace javelin::file
