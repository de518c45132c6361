// Fsst: Variable whose values are codes of a symbol table.
#include "javelin/base/error.h"
#include "javelin/file/encodings_internal.h"

namespace javelin::file {

namespace {

arrow::Status AppendDecoded(const FsstTable& table, Bytes value, ValueSink& out) {
  if (table.stored_plain()) return out.AppendValue(value);
  ARROW_ASSIGN_OR_RAISE(uint8_t* target, out.BeginValue(FsstTable::Capacity(value.size())));
  const size_t size = table.Decode(value, target);
  if (size == FsstTable::kMalformed) return Corruption("an FSST string has an unknown code or ends inside an escape");
  return out.CommitValue(size);
}

class FsstDecoder final : public MiniBlockDecoder {
 public:
  FsstDecoder(FsstTable table, unsigned width) : table_(table), width_(width) {}

  arrow::Status Decode(std::span<const Bytes> buffers, uint64_t num_values, std::span<const Slice> slices,
                       DecodeContext&, ValueSink& out) const override {
    ARROW_ASSIGN_OR_RAISE(VariableView view, ViewMiniBlock(buffers[0], width_, num_values));
    for (const Slice& slice : slices) {
      for (uint64_t i = slice.first; i < slice.end(); ++i)
        ARROW_RETURN_NOT_OK(AppendDecoded(table_, view.value(i), out));
    }
    return arrow::Status::OK();
  }

 private:
  FsstTable table_;
  unsigned width_;
};

class FsstValue final : public VariableValueDecoder {
 public:
  explicit FsstValue(FsstTable table) : table_(table) {}
  arrow::Status Decode(Bytes value, DecodeContext&, ValueSink& out) const override {
    return AppendDecoded(table_, value, out);
  }

 private:
  FsstTable table_;
};

arrow::Result<FsstTable> LoadTable(const pb::Fsst& encoding, const ValueShape& shape) {
  if (shape.kind != ValueShape::Kind::kVariable) return DoesNotFit("Fsst", shape);
  if (!encoding.values().has_variable() || encoding.values().variable().has_values()) {
    return NotSupported("Fsst over {} is not readable", NameOf(encoding.values()));
  }
  FsstTable table;
  const std::string& bytes = encoding.symbol_table();
  const char* wrong = table.Parse({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  if (wrong != nullptr) return Corruption("{}", wrong);
  return table;
}

}  // namespace

arrow::Result<MiniBlockDecoderPtr> MakeFsstMiniBlock(const pb::Fsst& encoding, const ValueShape& shape) {
  ARROW_ASSIGN_OR_RAISE(FsstTable table, LoadTable(encoding, shape));
  ARROW_ASSIGN_OR_RAISE(unsigned width, OffsetBytes(encoding.values().variable()));
  return std::make_unique<FsstDecoder>(table, width);
}

arrow::Result<VariableValueDecoderPtr> MakeFsstValue(const pb::Fsst& encoding, const ValueShape& shape) {
  ARROW_ASSIGN_OR_RAISE(FsstTable table, LoadTable(encoding, shape));
  return std::make_unique<FsstValue>(table);
}

}  // namespace javelin::file
