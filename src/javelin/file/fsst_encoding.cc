// Fsst: Variable whose values are codes of a symbol table.
#include "javelin/base/error.h"
#include "javelin/file/encodings_internal.h"

namespace javelin::file {

namespace {

arrow::Status Malformed() { return Corruption("an FSST string has an unknown code or ends inside an escape"); }

// Codes that are decoded in one go: room for what they may become is asked for once, and is small.
constexpr uint64_t kBatchCodes = 8u << 10;

// Of large values it pays to know what they become: eight times their codes may be much.
size_t RoomFor(const FsstTable& table, Bytes value) {
  return value.size() <= kBatchCodes ? FsstTable::Capacity(value.size())
                                     : table.DecodedSize(value) + FsstTable::Capacity(0);
}

arrow::Status AppendDecoded(const FsstTable& table, Bytes value, ValueSink& out) {
  if (table.stored_plain()) return out.AppendValue(value);
  ARROW_ASSIGN_OR_RAISE(uint8_t* target, out.BeginValue(RoomFor(table, value)));
  const size_t size = table.Decode(value, target);
  if (size == FsstTable::kMalformed) return Malformed();
  return out.CommitValue(size);
}

// Decodes the strings of a chunk batch by batch.
class Batches {
 public:
  Batches(const FsstTable& table, const VariableView& view, DecodeContext& context)
      : table_(table), view_(view), scratch_(context) {}

  arrow::Status Append(const Slice& slice, ValueSink& out) {
    for (uint64_t first = slice.first; first < slice.end();) {
      uint64_t count = 1;
      while (first + count < slice.end() && CodesOf(first, count + 1) <= kBatchCodes) ++count;
      if (count == 1) {
        ARROW_RETURN_NOT_OK(AppendDecoded(table_, view_.value(first), out));
      } else {
        ARROW_RETURN_NOT_OK(AppendBatch(first, count, out));
      }
      first += count;
    }
    return arrow::Status::OK();
  }

 private:
  uint64_t CodesOf(uint64_t first, uint64_t count) const { return view_.offset(first + count) - view_.offset(first); }

  arrow::Status AppendBatch(uint64_t first, uint64_t count, ValueSink& out) {
    ARROW_ASSIGN_OR_RAISE(uint8_t* room, scratch_->Room(FsstTable::Capacity(CodesOf(first, count))));
    ends_.assign(1, 0);
    for (uint64_t i = first; i < first + count; ++i) {
      const size_t size = table_.Decode(view_.value(i), room + ends_.back());
      if (size == FsstTable::kMalformed) return Malformed();
      ends_.push_back(ends_.back() + static_cast<uint32_t>(size));
    }
    return out.AppendValues<uint32_t>(reinterpret_cast<const uint8_t*>(ends_.data()), count, Bytes(room, ends_.back()));
  }

  const FsstTable& table_;
  const VariableView& view_;
  ScratchLease scratch_;
  std::vector<uint32_t> ends_;
};

class FsstDecoder final : public MiniBlockDecoder {
 public:
  FsstDecoder(FsstTable table, unsigned width) : table_(table), width_(width) {}
  uint64_t MostBytes(uint64_t) const override { return kAnySize; }

  arrow::Status Decode(std::span<const Bytes> buffers, uint64_t num_values, std::span<const Slice> slices,
                       DecodeContext& context, ValueSink& out) const override {
    ARROW_ASSIGN_OR_RAISE(VariableView view, ViewMiniBlock(buffers[0], width_, num_values, slices));
    if (table_.stored_plain()) {
      for (const Slice& slice : slices) ARROW_RETURN_NOT_OK(AppendSlice(view, slice, out));
      return arrow::Status::OK();
    }
    Batches batches(table_, view, context);
    for (const Slice& slice : slices) ARROW_RETURN_NOT_OK(batches.Append(slice, out));
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
