// Constant pages: all rows null, or one value for all rows that are not.
#include "javelin/file/page_layouts_internal.h"

namespace javelin::file {

namespace {

constexpr uint64_t kLevelBytes = 2;

struct Form {
  bool all_null = false;
  std::string value;  // of the one value, where it is in the layout itself
  std::optional<ByteRange> value_buffer;
  std::optional<ByteRange> levels;  // a raw 16-bit definition level per row
};

class ConstantPage final : public PageReader {
 public:
  explicit ConstantPage(Form form) : form_(std::move(form)) {}
  std::unique_ptr<PageScan> Scan(std::vector<Slice> rows) const override;
  const Form& form() const { return form_; }

 private:
  Form form_;
};

// The one value of a string page: the number of Arrow buffers, their sizes, the buffers (offsets [0, n] and n bytes).
arrow::Result<Bytes> StringValue(Bytes block, uint64_t offset_bytes) {
  const uint64_t header = 4 + 2 * 4;
  if (block.size() < header || LoadAt<uint32_t>(block.data()) != 2)
    return Corruption("a constant string of {} bytes has no header", block.size());
  const uint64_t offsets_size = LoadAt<uint32_t>(block.data() + 4);
  const uint64_t bytes_size = LoadAt<uint32_t>(block.data() + 8);
  if (offsets_size != 2 * offset_bytes || block.size() != header + offsets_size + bytes_size) {
    return Corruption("a constant string of {} bytes claims {} and {}", block.size(), offsets_size, bytes_size);
  }
  const uint8_t* offsets = block.data() + header;
  const uint64_t begin = LoadUnsigned(offsets, static_cast<unsigned>(offset_bytes));
  const uint64_t end = LoadUnsigned(offsets + offset_bytes, static_cast<unsigned>(offset_bytes));
  if (begin > end || end > bytes_size)
    return Corruption("a constant string lies at {} to {} of {} bytes", begin, end, bytes_size);
  return Bytes(offsets + offsets_size + begin, end - begin);
}

arrow::Result<Bytes> FixedValue(Bytes block, uint64_t value_bytes) {
  const uint64_t header = 4 + 4;
  if (block.size() != header + value_bytes || LoadAt<uint32_t>(block.data()) != 1 ||
      LoadAt<uint32_t>(block.data() + 4) != value_bytes) {
    return Corruption("a constant of {} bytes does not hold a value of {}", block.size(), value_bytes);
  }
  return block.subspan(header);
}

arrow::Status AppendConstant(Bytes value, uint64_t count, ValueSink& out) {
  if (out.shape().kind == ValueShape::Kind::kVariable) {
    uint64_t total;
    if (__builtin_mul_overflow(count, value.size(), &total))
      return OutOfMemory("{} rows are too many to read at once", count);
    ARROW_RETURN_NOT_OK(out.ReserveBytes(total));
    for (uint64_t i = 0; i < count; ++i) ARROW_RETURN_NOT_OK(out.AppendValue(value));
    return arrow::Status::OK();
  }
  if (out.shape().bits == 1) return out.AppendBitRun(value[0] & 1, count);
  ARROW_ASSIGN_OR_RAISE(uint8_t* target, out.AppendFixed(count));
  if (value.size() == 8) {
    const uint64_t word = LoadAt<uint64_t>(value.data());
    for (uint64_t i = 0; i < count; ++i) StoreAt<uint64_t>(target + i * 8, word);
    return arrow::Status::OK();
  }
  for (uint64_t i = 0; i < count; ++i) std::memcpy(target + i * value.size(), value.data(), value.size());
  return arrow::Status::OK();
}

class ConstantScan final : public PageScan {
 public:
  ConstantScan(const ConstantPage& page, std::vector<Slice> rows) : page_(page), rows_(std::move(rows)) {}

  arrow::Result<std::vector<ByteRange>> Wanted() override {
    std::vector<ByteRange> ranges;
    if (!bytes_.empty()) return ranges;
    const Form& form = page_.form();
    if (form.value_buffer) ranges.push_back(*form.value_buffer);
    if (form.levels) {
      for (const Slice& slice : rows_)
        ranges.push_back({form.levels->offset + slice.first * kLevelBytes, slice.count * kLevelBytes});
    }
    return ranges;
  }

  arrow::Status Supply(std::vector<BufferPtr> bytes) override {
    bytes_ = std::move(bytes);
    return arrow::Status::OK();
  }

  arrow::Status Decode(DecodeContext&, ValueSink& out) override {
    const uint64_t count = TotalCount(rows_);
    if (page_.form().all_null) {
      if (out.shape().kind != ValueShape::Kind::kNull) ARROW_RETURN_NOT_OK(out.validity().AppendNull(count));
      return out.AppendPlaceholders(count);
    }
    ARROW_ASSIGN_OR_RAISE(Bytes value, Value(out.shape()));
    ARROW_RETURN_NOT_OK(AppendValidity(count, out));
    return AppendConstant(value, count, out);
  }

 private:
  arrow::Result<Bytes> Value(const ValueShape& shape) const {
    const Form& form = page_.form();
    if (!form.value_buffer) return Bytes(reinterpret_cast<const uint8_t*>(form.value.data()), form.value.size());
    const Bytes block = ViewOf(bytes_[0]);
    return shape.kind == ValueShape::Kind::kVariable ? StringValue(block, shape.bytes())
                                                     : FixedValue(block, BytesForBits(shape.bits));
  }

  arrow::Status AppendValidity(uint64_t count, ValueSink& out) const {
    if (!page_.form().levels) return out.validity().AppendValid(count);
    for (size_t i = page_.form().value_buffer ? 1 : 0; i < bytes_.size(); ++i) {
      std::vector<uint16_t> levels(static_cast<size_t>(bytes_[i]->size()) / kLevelBytes);
      std::memcpy(levels.data(), bytes_[i]->data(), levels.size() * kLevelBytes);
      for (uint16_t level : levels) {
        if (level > 1) return Corruption("a value has definition level {}, its column knows 0 and 1", level);
      }
      ARROW_RETURN_NOT_OK(out.validity().AppendLevels(levels));
    }
    return arrow::Status::OK();
  }

  const ConstantPage& page_;
  std::vector<Slice> rows_;
  std::vector<BufferPtr> bytes_;
};

std::unique_ptr<PageScan> ConstantPage::Scan(std::vector<Slice> rows) const {
  return std::make_unique<ConstantScan>(*this, std::move(rows));
}

arrow::Result<PageReaderPtr> MakeAllNull(const PageSpec& spec, bool nullable) {
  if (!nullable) return Corruption("a page without values claims that all are valid");
  return std::make_shared<ConstantPage>(Form{.all_null = true});
}

// Buffers: [value] or none, then [repetition, definition] or none.
arrow::Result<PageReaderPtr> MakeScalar(const pb::ConstantLayout& layout, const PageSpec& spec, bool nullable) {
  if (spec.version < FileVersion{2, 2})
    return Corruption("a page of version {} holds a constant, which came with 2.2", ToString(spec.version));
  const ValueShape& shape = spec.shape;
  if (shape.kind != ValueShape::Kind::kFixed && shape.kind != ValueShape::Kind::kVariable) {
    return Corruption("a page of {} holds a constant", ToString(shape));
  }
  const auto& buffers = spec.page.buffers;
  const bool has_buffer = buffers.size() % 2 == 1;
  if (buffers.size() > 3 || has_buffer == layout.has_inline_value()) {
    return Corruption("a page with {}constant value has {} buffers", layout.has_inline_value() ? "an inline " : "a ",
                      buffers.size());
  }
  Form form;
  if (has_buffer) {
    form.value_buffer = buffers[0];
  } else {
    form.value = layout.inline_value();
    if (shape.kind == ValueShape::Kind::kVariable)
      return NotSupported("constant strings inside the layout are not readable");
    if (form.value.size() != BytesForBits(shape.bits)) {
      return Corruption("a constant of {} bytes stands for {}", form.value.size(), ToString(shape));
    }
  }
  if (buffers.size() >= 2) {
    if (buffers[has_buffer].length > 0) return NotSupported("columns with lists are not readable");
    const ByteRange levels = buffers[has_buffer + 1];
    if (levels.length > 0) form.levels = levels;
  }
  const uint64_t wanted = nullable ? spec.page.num_rows : 0;
  if ((form.levels ? form.levels->length : 0) / kLevelBytes != wanted) {
    return Corruption("{} bytes of levels do not cover {} rows", form.levels ? form.levels->length : 0, wanted);
  }
  return std::make_shared<ConstantPage>(std::move(form));
}

}  // namespace

arrow::Result<PageReaderPtr> MakeConstantPage(const pb::ConstantLayout& layout, const PageSpec& spec) {
  if (spec.version < FileVersion{2, 2} && (layout.has_rep_compression() || layout.has_def_compression())) {
    return Corruption("a page of version {} has compressed levels, which came with 2.2", ToString(spec.version));
  }
  ARROW_ASSIGN_OR_RAISE(bool nullable, SingleItemLayerIsNullable(layout.layers()));
  const bool scalar = layout.has_inline_value() || spec.page.buffers.size() == 1 || spec.page.buffers.size() == 3;
  return scalar ? MakeScalar(layout, spec, nullable) : MakeAllNull(spec, nullable);
}

}  // namespace javelin::file
