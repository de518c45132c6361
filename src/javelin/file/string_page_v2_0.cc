// Pages of version 2.0 of strings and binary values: end offsets and bytes, which may be compressed, or codes of FSST.
#include "javelin/file/encodings_internal.h"
#include "javelin/file/flat_v2_0_internal.h"

namespace javelin::file {

namespace {

using Encoding = pb20::ArrayEncoding;

constexpr uint64_t kOffsetBytes = 8;

// End offsets of rows in a buffer of bytes; `adjustment` added to the end of a null.
struct BinaryForm {
  FlatBuffer ends;
  FlatBuffer bytes;
  uint64_t adjustment = 1;
  VariableValueDecoderPtr codes;  // of FSST strings; null: the bytes are the strings
};

arrow::Result<BinaryForm> ParseBinary(const pb20::Binary& encoding, const PageMetadata& page) {
  BinaryForm form;
  ARROW_ASSIGN_OR_RAISE(form.ends, ParseNoNullFlat(encoding.indices(), page));
  ARROW_ASSIGN_OR_RAISE(form.bytes, ParseNoNullFlat(encoding.bytes(), page));
  form.adjustment = encoding.null_adjustment();
  if (!form.ends.plain()) return NotSupported("compressed or packed offsets of strings are not readable");
  if (!form.bytes.plain() && !form.bytes.compressed()) return NotSupported("packed bytes of strings are not readable");
  if (form.ends.bits() != 64 || form.bytes.bits() != 8 || form.adjustment == 0)
    return Corruption("a page of strings has odd offsets or bytes");
  ARROW_RETURN_NOT_OK(form.ends.MustHold(page.num_rows));
  return form;
}

// The rows of a slice and the one before them, whose end is where they begin.
Slice WithPrevious(const Slice& slice) { return slice.first == 0 ? slice : Slice{slice.first - 1, slice.count + 1}; }

// Ends of one slice as read, and where its first row begins.
struct SliceEnds {
  const uint8_t* ends = nullptr;  // of the slice's rows
  uint64_t count = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
};

arrow::Status CheckInside(const SliceEnds& slice, uint64_t size) {
  if (slice.end <= size) return arrow::Status::OK();
  return Corruption("strings lie at {} to {} of {} bytes", slice.begin, slice.end, size);
}

arrow::Result<SliceEnds> ReadEnds(const BinaryForm& form, const Slice& slice, const BufferPtr& read) {
  SliceEnds result{read->data(), slice.count, 0, 0};
  if (slice.first > 0) {
    result.begin = LoadAt<uint64_t>(read->data()) % form.adjustment;
    result.ends += kOffsetBytes;
  }
  result.end = LoadElement<uint64_t>(result.ends, slice.count - 1) % form.adjustment;
  if (result.begin > result.end) return Corruption("strings lie at {} to {}", result.begin, result.end);
  if (!form.bytes.compressed()) ARROW_RETURN_NOT_OK(CheckInside(result, form.bytes.range().length));
  return result;
}

// `bytes`: from the slice's first row on.
arrow::Status AppendStrings(const BinaryForm& form, const SliceEnds& slice, Bytes bytes, DecodeContext& context,
                            ValueSink& out) {
  uint64_t start = slice.begin;
  for (uint64_t row = 0; row < slice.count; ++row) {
    const uint64_t stored = LoadElement<uint64_t>(slice.ends, row);
    const uint64_t end = stored % form.adjustment;
    if (end < start || end > slice.end) return Corruption("the offsets of a page of strings do not ascend");
    const Bytes value = bytes.subspan(start - slice.begin, end - start);
    start = end;
    if (stored >= form.adjustment) {
      ARROW_RETURN_NOT_OK(out.validity().AppendNull(1));
      ARROW_RETURN_NOT_OK(out.AppendPlaceholders(1));
      continue;
    }
    ARROW_RETURN_NOT_OK(out.validity().AppendValid(1));
    ARROW_RETURN_NOT_OK(form.codes == nullptr ? out.AppendValue(value) : form.codes->Decode(value, context, out));
  }
  return arrow::Status::OK();
}

class BinaryPage final : public PageReader {
 public:
  BinaryPage(BinaryForm form, uint64_t num_rows) : form_(std::move(form)), num_rows_(num_rows) {}
  std::unique_ptr<PageScan> Scan(std::vector<Slice> rows) const override;
  const BinaryForm& form() const { return form_; }
  uint64_t num_rows() const { return num_rows_; }

 private:
  BinaryForm form_;
  uint64_t num_rows_;
};

// Round one: offsets; round two: the bytes between them. All bytes come in round one where all are needed.
class BinaryScan final : public PageScan {
 public:
  BinaryScan(const BinaryPage& page, std::vector<Slice> rows) : form_(page.form()), rows_(std::move(rows)) {
    whole_ = form_.bytes.compressed() || (rows_.size() == 1 && rows_[0].count == page.num_rows());
  }

  arrow::Result<std::vector<ByteRange>> Wanted() override {
    std::vector<ByteRange> ranges;
    if (!bytes_.empty()) return ranges;
    if (slices_.empty()) {
      for (const Slice& slice : rows_) {
        const Slice wanted = WithPrevious(slice);
        ranges.push_back(form_.ends.Wanted(std::span(&wanted, 1))[0]);
      }
      if (whole_) ranges.push_back(form_.bytes.range());
      return ranges;
    }
    for (const SliceEnds& slice : slices_)
      ranges.push_back({form_.bytes.range().offset + slice.begin, slice.end - slice.begin});
    return ranges;
  }

  arrow::Status Supply(std::vector<BufferPtr> bytes) override {
    if (!slices_.empty()) {
      bytes_ = std::move(bytes);
      return arrow::Status::OK();
    }
    for (size_t i = 0; i < rows_.size(); ++i) {
      ARROW_ASSIGN_OR_RAISE(SliceEnds ends, ReadEnds(form_, rows_[i], bytes[i]));
      slices_.push_back(ends);
    }
    if (whole_) bytes_ = {bytes.back()};
    ends_bytes_ = std::move(bytes);
    return arrow::Status::OK();
  }

  arrow::Status Decode(DecodeContext& context, LeafSink& leaf) override {
    ScratchLease scratch(context);
    Bytes plain;
    if (whole_) {
      ARROW_ASSIGN_OR_RAISE(plain, form_.bytes.All(bytes_[0], context, *scratch));
    }
    for (size_t i = 0; i < slices_.size(); ++i) {
      if (whole_) ARROW_RETURN_NOT_OK(CheckInside(slices_[i], plain.size()));
      const Bytes bytes = whole_ ? plain.subspan(slices_[i].begin) : ViewOf(bytes_[i]);
      ARROW_RETURN_NOT_OK(AppendStrings(form_, slices_[i], bytes, context, leaf.values()));
    }
    return arrow::Status::OK();
  }

 private:
  const BinaryForm& form_;
  std::vector<Slice> rows_;
  bool whole_ = false;                 // bytes_ is the buffer of all strings
  std::vector<BufferPtr> ends_bytes_;  // what slices_ points into
  std::vector<SliceEnds> slices_;
  std::vector<BufferPtr> bytes_;
};

std::unique_ptr<PageScan> BinaryPage::Scan(std::vector<Slice> rows) const {
  return std::make_unique<BinaryScan>(*this, std::move(rows));
}

}  // namespace

arrow::Result<PageReaderPtr> MakeBinaryPage20(const pb20::Binary& encoding, const PageSpec& spec) {
  if (spec.shape.kind != ValueShape::Kind::kVariable) return Corruption("strings stand for {}", ToString(spec.shape));
  ARROW_ASSIGN_OR_RAISE(BinaryForm form, ParseBinary(encoding, spec.page));
  return std::make_shared<BinaryPage>(std::move(form), spec.page.num_rows);
}

arrow::Result<PageReaderPtr> MakeFsstPage20(const pb20::Fsst& encoding, const PageSpec& spec) {
  if (!encoding.binary().has_binary()) return NotSupported("Fsst over {} is not readable", NameOf(encoding.binary()));
  ARROW_ASSIGN_OR_RAISE(BinaryForm form, ParseBinary(encoding.binary().binary(), spec.page));
  // Table and codes are those of 2.1.
  pb::Fsst same;
  same.set_symbol_table(encoding.symbol_table());
  same.mutable_values()->mutable_variable();
  ARROW_ASSIGN_OR_RAISE(form.codes, MakeFsstValue(same, spec.shape));
  return std::make_shared<BinaryPage>(std::move(form), spec.page.num_rows);
}

}  // namespace javelin::file
