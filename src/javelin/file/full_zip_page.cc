// Full-zip pages: large values one behind the other, each with its definition level in front where the page has nulls.
#include <mutex>

#include "javelin/file/encodings_internal.h"
#include "javelin/file/page_layouts_internal.h"

namespace javelin::file {

namespace {

// An index up to this size is read whole and kept; of a larger one only the entries that are needed.
constexpr uint64_t kKeepIndexBytes = 64u << 10;

struct Form {
  uint64_t control_bytes = 0;  // 0: no levels, all values valid
  uint64_t num_rows = 0;
  ByteRange data;
};

// The definition level in a control word; only 0 and 1 can occur in a plain column.
arrow::Result<uint16_t> LevelOf(const uint8_t* control, uint64_t control_bytes) {
  const uint64_t level = LoadUnsigned(control, static_cast<unsigned>(control_bytes));
  if (level > 1) return Corruption("a value has definition level {}, its column knows 0 and 1", level);
  return static_cast<uint16_t>(level);
}

// ---- fixed width: row i lies at i * stride ----

class FixedPage final : public PageReader {
 public:
  FixedPage(Form form, FixedValueDecoderPtr decoder) : form_(form), decoder_(std::move(decoder)) {}
  std::unique_ptr<PageScan> Scan(std::vector<Slice> rows) const override;

  uint64_t stride() const { return form_.control_bytes + decoder_->bytes(); }
  ByteRange RangeOf(const Slice& rows) const {
    return {form_.data.offset + rows.first * stride(), rows.count * stride()};
  }

  arrow::Status Decode(const BufferPtr& bytes, uint64_t count, ValueSink& out) const {
    if (form_.control_bytes == 0) {
      ARROW_RETURN_NOT_OK(out.validity().AppendValid(count));
      return decoder_->is_plain() ? AppendPlain(bytes, count, out)
                                  : decoder_->Decode(bytes->data(), stride(), count, out);
    }
    std::vector<uint16_t> levels(count);
    for (uint64_t i = 0; i < count; ++i) {
      ARROW_ASSIGN_OR_RAISE(levels[i], LevelOf(bytes->data() + i * stride(), form_.control_bytes));
    }
    ARROW_RETURN_NOT_OK(out.validity().AppendLevels(levels));
    return decoder_->Decode(bytes->data() + form_.control_bytes, stride(), count, out);
  }

 private:
  // The bytes of the page are the values themselves.
  static arrow::Status AppendPlain(const BufferPtr& bytes, uint64_t count, ValueSink& out) {
    if (out.shape().kind != ValueShape::Kind::kList) return out.AppendShared(bytes, count);
    const uint64_t items = count * out.shape().dimension;
    ARROW_RETURN_NOT_OK(out.items().validity().AppendValid(items));
    ARROW_RETURN_NOT_OK(AppendPlain(bytes, items, out.items()));
    out.CommitLists(count);
    return arrow::Status::OK();
  }

  Form form_;
  FixedValueDecoderPtr decoder_;
};

class FixedScan final : public PageScan {
 public:
  FixedScan(const FixedPage& page, std::vector<Slice> rows) : page_(page), rows_(std::move(rows)) {}

  arrow::Result<std::vector<ByteRange>> Wanted() override {
    std::vector<ByteRange> ranges;
    if (!bytes_.empty()) return ranges;
    for (const Slice& slice : rows_) ranges.push_back(page_.RangeOf(slice));
    return ranges;
  }

  arrow::Status Supply(std::vector<BufferPtr> bytes) override {
    bytes_ = std::move(bytes);
    return arrow::Status::OK();
  }

  arrow::Status Decode(DecodeContext&, ValueSink& out) override {
    for (size_t i = 0; i < rows_.size(); ++i) ARROW_RETURN_NOT_OK(page_.Decode(bytes_[i], rows_[i].count, out));
    return arrow::Status::OK();
  }

 private:
  const FixedPage& page_;
  std::vector<Slice> rows_;
  std::vector<BufferPtr> bytes_;
};

std::unique_ptr<PageScan> FixedPage::Scan(std::vector<Slice> rows) const {
  return std::make_unique<FixedScan>(*this, std::move(rows));
}

// ---- variable width: rows found through an index of byte offsets ----

class VariablePage final : public PageReader {
 public:
  VariablePage(Form form, ByteRange index, uint64_t index_width, uint64_t length_bytes, VariableValueDecoderPtr decoder,
               std::shared_ptr<PageEnvironment> environment)
      : form_(form),
        index_(index),
        index_width_(index_width),
        length_bytes_(length_bytes),
        decoder_(std::move(decoder)),
        environment_(std::move(environment)) {}
  std::unique_ptr<PageScan> Scan(std::vector<Slice> rows) const override;

  const Form& form() const { return form_; }
  bool keeps_index() const { return index_.length <= kKeepIndexBytes; }
  ByteRange index() const { return index_; }

  BufferPtr kept_index() const {
    std::lock_guard lock(environment_->mutex);
    return kept_index_;
  }
  void KeepIndex(BufferPtr index) const {
    std::lock_guard lock(environment_->mutex);
    if (kept_index_ == nullptr) environment_->kept_bytes += static_cast<uint64_t>(index->size());
    kept_index_ = std::move(index);
  }

  // Where the index holds the start of the first and the end of the last row of a slice.
  ByteRange FirstEntry(const Slice& rows) const { return {index_.offset + rows.first * index_width_, index_width_}; }
  ByteRange LastEntry(const Slice& rows) const { return {index_.offset + rows.end() * index_width_, index_width_}; }
  // The bytes of a slice, from those two entries.
  arrow::Result<ByteRange> RangeOf(const uint8_t* first_entry, const uint8_t* last_entry) const {
    const uint64_t begin = LoadUnsigned(first_entry, static_cast<unsigned>(index_width_));
    const uint64_t end = LoadUnsigned(last_entry, static_cast<unsigned>(index_width_));
    if (begin > end || end > form_.data.length)
      return Corruption("rows lie at {} to {} of a page of {} bytes", begin, end, form_.data.length);
    return ByteRange{form_.data.offset + begin, end - begin};
  }

  // `bytes` hold exactly the slice's rows.
  arrow::Status Decode(Bytes bytes, uint64_t count, DecodeContext& context, ValueSink& out) const {
    uint64_t at = 0;
    for (uint64_t row = 0; row < count; ++row) {
      if (bytes.size() - at < form_.control_bytes)
        return Corruption("row {} of {} begins behind the end of its bytes", row, count);
      if (form_.control_bytes > 0) {
        ARROW_ASSIGN_OR_RAISE(uint16_t level, LevelOf(bytes.data() + at, form_.control_bytes));
        at += form_.control_bytes;
        if (level != 0) {
          ARROW_RETURN_NOT_OK(out.validity().AppendNull(1));
          ARROW_RETURN_NOT_OK(out.AppendPlaceholders(1));
          continue;
        }
      }
      if (bytes.size() - at < length_bytes_)
        return Corruption("row {} of {} begins behind the end of its bytes", row, count);
      const uint64_t size = LoadUnsigned(bytes.data() + at, static_cast<unsigned>(length_bytes_));
      at += length_bytes_;
      if (size > bytes.size() - at)
        return Corruption("a value of {} bytes does not fit the {} bytes of its page", size, bytes.size());
      ARROW_RETURN_NOT_OK(out.validity().AppendValid(1));
      ARROW_RETURN_NOT_OK(decoder_->Decode(bytes.subspan(at, size), context, out));
      at += size;
    }
    if (at != bytes.size()) return Corruption("{} rows end at {} of {} bytes", count, at, bytes.size());
    return arrow::Status::OK();
  }

 private:
  Form form_;
  ByteRange index_;
  uint64_t index_width_;
  uint64_t length_bytes_;  // of the length in front of each value
  VariableValueDecoderPtr decoder_;
  std::shared_ptr<PageEnvironment> environment_;
  mutable BufferPtr kept_index_;  // guarded by the environment's mutex
};

class VariableScan final : public PageScan {
 public:
  VariableScan(const VariablePage& page, std::vector<Slice> rows)
      : page_(page), rows_(std::move(rows)), index_(page.kept_index()) {
    // A whole page is read front to back; its index is not needed.
    if (rows_.size() == 1 && rows_[0].count == page_.form().num_rows) ranges_ = {page_.form().data};
  }

  arrow::Result<std::vector<ByteRange>> Wanted() override {
    if (!bytes_.empty()) return std::vector<ByteRange>{};
    if (ranges_.empty() && index_ != nullptr) ARROW_RETURN_NOT_OK(FindRanges());
    if (!ranges_.empty()) return ranges_;
    if (page_.keeps_index()) return std::vector<ByteRange>{page_.index()};
    std::vector<ByteRange> entries;
    for (const Slice& slice : rows_) {
      entries.push_back(page_.FirstEntry(slice));
      entries.push_back(page_.LastEntry(slice));
    }
    return entries;
  }

  arrow::Status Supply(std::vector<BufferPtr> bytes) override {
    if (!ranges_.empty()) {
      bytes_ = std::move(bytes);
      return arrow::Status::OK();
    }
    if (page_.keeps_index()) {
      index_ = bytes[0];
      page_.KeepIndex(index_);
      return arrow::Status::OK();
    }
    for (size_t i = 0; i < rows_.size(); ++i) {
      ARROW_ASSIGN_OR_RAISE(ByteRange range, page_.RangeOf(bytes[2 * i]->data(), bytes[2 * i + 1]->data()));
      ranges_.push_back(range);
    }
    return arrow::Status::OK();
  }

  arrow::Status Decode(DecodeContext& context, ValueSink& out) override {
    for (size_t i = 0; i < rows_.size(); ++i)
      ARROW_RETURN_NOT_OK(page_.Decode(ViewOf(bytes_[i]), rows_[i].count, context, out));
    return arrow::Status::OK();
  }

 private:
  arrow::Status FindRanges() {
    for (const Slice& slice : rows_) {
      const uint64_t origin = page_.index().offset;
      ARROW_ASSIGN_OR_RAISE(ByteRange range, page_.RangeOf(index_->data() + (page_.FirstEntry(slice).offset - origin),
                                                           index_->data() + (page_.LastEntry(slice).offset - origin)));
      ranges_.push_back(range);
    }
    return arrow::Status::OK();
  }

  const VariablePage& page_;
  std::vector<Slice> rows_;
  BufferPtr index_;  // null: not kept
  std::vector<ByteRange> ranges_;
  std::vector<BufferPtr> bytes_;
};

std::unique_ptr<PageScan> VariablePage::Scan(std::vector<Slice> rows) const {
  return std::make_unique<VariableScan>(*this, std::move(rows));
}

uint64_t ControlBytes(uint32_t bits) { return bits == 0 ? 0 : bits <= 8 ? 1 : bits <= 16 ? 2 : 4; }

arrow::Result<PageReaderPtr> MakeFixed(const pb::FullZipLayout& layout, const PageSpec& spec, Form form) {
  ARROW_ASSIGN_OR_RAISE(FixedValueDecoderPtr decoder, MakeFixedValueDecoder(layout.value_compression(), spec.shape));
  if (layout.bits_per_value() % 8 != 0 || layout.bits_per_value() / 8 != decoder->bytes()) {
    return Corruption("a full-zip page has values of {} bits, its encoding makes {} bytes", layout.bits_per_value(),
                      decoder->bytes());
  }
  const uint64_t stride = form.control_bytes + decoder->bytes();
  uint64_t size;
  if (__builtin_mul_overflow(stride, form.num_rows, &size) || size != form.data.length) {
    return Corruption("a full-zip page of {} rows of {} bytes has {} bytes", form.num_rows, stride, form.data.length);
  }
  return std::make_shared<FixedPage>(form, std::move(decoder));
}

arrow::Result<PageReaderPtr> MakeVariable(const pb::FullZipLayout& layout, const PageSpec& spec, Form form) {
  ARROW_ASSIGN_OR_RAISE(VariableValueDecoderPtr decoder,
                        MakeVariableValueDecoder(layout.value_compression(), spec.shape));
  if (layout.bits_per_offset() != 32 && layout.bits_per_offset() != 64) {
    return Corruption("a full-zip page has lengths of {} bits", layout.bits_per_offset());
  }
  if (spec.page.buffers.size() < 2) return Corruption("a full-zip page of variable width has no index");
  const ByteRange index = spec.page.buffers[1];
  const uint64_t entries = form.num_rows + 1;
  const uint64_t width = entries == 0 ? 0 : index.length / entries;
  if (index.length % entries != 0 || (width != 1 && width != 2 && width != 4 && width != 8)) {
    return Corruption("the index of a full-zip page of {} rows has {} bytes", form.num_rows, index.length);
  }
  return std::make_shared<VariablePage>(form, index, width, layout.bits_per_offset() / 8, std::move(decoder),
                                        spec.environment);
}

}  // namespace

arrow::Result<PageReaderPtr> MakeFullZipPage(const pb::FullZipLayout& layout, const PageSpec& spec) {
  ARROW_ASSIGN_OR_RAISE(bool nullable, SingleItemLayerIsNullable(layout.layers()));
  if (layout.bits_rep() > 0) return NotSupported("columns with lists are not readable");
  if (layout.bits_def() > 1 || (layout.bits_def() == 1) != nullable) {
    return Corruption("the definition levels of a page do not match its layers");
  }
  if (layout.num_items() != spec.page.num_rows || layout.num_visible_items() != spec.page.num_rows) {
    return Corruption("a page of {} rows has {} items, {} of them visible", spec.page.num_rows, layout.num_items(),
                      layout.num_visible_items());
  }
  if (spec.page.buffers.empty()) return Corruption("a full-zip page has no buffer");
  const Form form{
      .control_bytes = ControlBytes(layout.bits_def()), .num_rows = spec.page.num_rows, .data = spec.page.buffers[0]};
  switch (layout.details_case()) {
    case pb::FullZipLayout::kBitsPerValue: return MakeFixed(layout, spec, form);
    case pb::FullZipLayout::kBitsPerOffset: return MakeVariable(layout, spec, form);
    default: return Corruption("a full-zip page does not say how wide its values are");
  }
}

}  // namespace javelin::file
