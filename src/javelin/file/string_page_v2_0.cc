// Pages of version 2.0 of strings and binary values: end offsets and bytes, or indices into a dictionary of such.
#include "javelin/file/flat_v2_0_internal.h"

namespace javelin::file {

namespace {

using Encoding = pb20::ArrayEncoding;

constexpr uint64_t kOffsetBytes = 8;

// End offsets of rows in a buffer of bytes; `adjustment` added to the end of a null.
struct BinaryForm {
  FlatBuffer ends;
  ByteRange bytes;
  uint64_t adjustment = 1;
};

arrow::Result<BinaryForm> ParseBinary(const pb20::Binary& encoding, const PageMetadata& page, uint64_t num_rows) {
  BinaryForm form;
  ARROW_ASSIGN_OR_RAISE(form.ends, ParseNoNullFlat(encoding.indices(), page));
  ARROW_ASSIGN_OR_RAISE(FlatBuffer bytes, ParseNoNullFlat(encoding.bytes(), page));
  form.bytes = bytes.range();
  form.adjustment = encoding.null_adjustment();
  if (form.ends.compressed() || bytes.compressed())
    return NotSupported("compressed strings of version 2.0 are not readable");
  if (form.ends.bits() != 64 || bytes.bits() != 8 || form.adjustment == 0)
    return Corruption("a page of strings has odd offsets or bytes");
  if (form.ends.capacity() < num_rows)
    return Corruption("{} bytes of offsets do not cover {} rows", form.ends.range().length, num_rows);
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

arrow::Result<SliceEnds> ReadEnds(const BinaryForm& form, const Slice& slice, const BufferPtr& read) {
  SliceEnds result{read->data(), slice.count, 0, 0};
  if (slice.first > 0) {
    result.begin = LoadAt<uint64_t>(read->data()) % form.adjustment;
    result.ends += kOffsetBytes;
  }
  result.end = LoadElement<uint64_t>(result.ends, slice.count - 1) % form.adjustment;
  if (result.begin > result.end || result.end > form.bytes.length) {
    return Corruption("strings lie at {} to {} of {} bytes", result.begin, result.end, form.bytes.length);
  }
  return result;
}

bool IsNull(const BinaryForm& form, const SliceEnds& slice, uint64_t row) {
  return LoadElement<uint64_t>(slice.ends, row) >= form.adjustment;
}

// `bytes`: from the slice's first row on.
arrow::Status AppendStrings(const BinaryForm& form, const SliceEnds& slice, Bytes bytes, ValueSink& out) {
  uint64_t start = slice.begin;
  for (uint64_t row = 0; row < slice.count; ++row) {
    const uint64_t stored = LoadElement<uint64_t>(slice.ends, row);
    const uint64_t end = stored % form.adjustment;
    if (end < start || end > slice.end) return Corruption("the offsets of a page of strings do not ascend");
    ARROW_RETURN_NOT_OK(IsNull(form, slice, row) ? out.validity().AppendNull(1) : out.validity().AppendValid(1));
    ARROW_RETURN_NOT_OK(out.AppendValue(bytes.subspan(start - slice.begin, end - start)));
    start = end;
  }
  return arrow::Status::OK();
}

class BinaryPage final : public PageReader {
 public:
  BinaryPage(BinaryForm form, uint64_t num_rows) : form_(form), num_rows_(num_rows) {}
  std::unique_ptr<PageScan> Scan(std::vector<Slice> rows) const override;
  const BinaryForm& form() const { return form_; }
  uint64_t num_rows() const { return num_rows_; }

 private:
  BinaryForm form_;
  uint64_t num_rows_;
};

// Round one: offsets; round two: the bytes between them. A whole page is read in one round.
class BinaryScan final : public PageScan {
 public:
  BinaryScan(const BinaryPage& page, std::vector<Slice> rows) : page_(page), rows_(std::move(rows)) {
    whole_ = rows_.size() == 1 && rows_[0].count == page_.num_rows();
  }

  arrow::Result<std::vector<ByteRange>> Wanted() override {
    std::vector<ByteRange> ranges;
    if (!bytes_.empty()) return ranges;
    const BinaryForm& form = page_.form();
    if (slices_.empty()) {
      for (const Slice& slice : rows_) {
        const Slice wanted = WithPrevious(slice);
        ranges.push_back(form.ends.Wanted(std::span(&wanted, 1))[0]);
      }
      if (whole_) ranges.push_back(form.bytes);
      return ranges;
    }
    for (const SliceEnds& slice : slices_) ranges.push_back({form.bytes.offset + slice.begin, slice.end - slice.begin});
    return ranges;
  }

  arrow::Status Supply(std::vector<BufferPtr> bytes) override {
    if (!slices_.empty()) {
      bytes_ = std::move(bytes);
      return arrow::Status::OK();
    }
    for (size_t i = 0; i < rows_.size(); ++i) {
      ARROW_ASSIGN_OR_RAISE(SliceEnds ends, ReadEnds(page_.form(), rows_[i], bytes[i]));
      slices_.push_back(ends);
    }
    if (whole_) bytes_ = {bytes.back()};
    ends_bytes_ = std::move(bytes);
    return arrow::Status::OK();
  }

  arrow::Status Decode(DecodeContext&, LeafSink& leaf) override {
    ValueSink& out = leaf.values();
    for (size_t i = 0; i < slices_.size(); ++i) {
      ARROW_RETURN_NOT_OK(
          AppendStrings(page_.form(), slices_[i], ViewOf(bytes_[i]).subspan(whole_ ? slices_[i].begin : 0), out));
    }
    return arrow::Status::OK();
  }

 private:
  const BinaryPage& page_;
  std::vector<Slice> rows_;
  bool whole_ = false;
  std::vector<BufferPtr> ends_bytes_;  // what slices_ points into
  std::vector<SliceEnds> slices_;
  std::vector<BufferPtr> bytes_;
};

std::unique_ptr<PageScan> BinaryPage::Scan(std::vector<Slice> rows) const {
  return std::make_unique<BinaryScan>(*this, std::move(rows));
}

// ---- dictionaries: index 0 is null, index i is item i - 1 ----

class DictionaryPage final : public PageReader {
 public:
  DictionaryPage(FlatBuffer indices, BinaryForm items, uint64_t num_items)
      : indices_(indices), items_(items), num_items_(num_items) {}
  std::unique_ptr<PageScan> Scan(std::vector<Slice> rows) const override;

  std::vector<ByteRange> Wanted(std::span<const Slice> rows) const {
    std::vector<ByteRange> ranges = indices_.Wanted(rows);
    if (num_items_ == 0) return ranges;
    const Slice all{0, num_items_};
    ranges.push_back(items_.ends.Wanted(std::span(&all, 1))[0]);
    ranges.push_back(items_.bytes);
    return ranges;
  }

  arrow::Status Decode(std::span<const Slice> rows, std::span<const BufferPtr> answers, DecodeContext& context,
                       ValueSink& out) const {
    ValueSink items(out.shape(), context.memory);
    SliceEnds ends;
    if (num_items_ > 0) {
      ARROW_ASSIGN_OR_RAISE(ends, ReadEnds(items_, {0, num_items_}, answers[answers.size() - 2]));
      ARROW_RETURN_NOT_OK(AppendStrings(items_, ends, ViewOf(answers.back()), items));
    }
    ScratchLease scratch(context);
    ARROW_ASSIGN_OR_RAISE(auto pieces, indices_.Pieces(rows, answers, context, *scratch));
    const auto index_bytes = static_cast<unsigned>(indices_.bits() / 8);
    for (size_t i = 0; i < rows.size(); ++i) {
      for (uint64_t row = 0; row < rows[i].count; ++row) {
        const uint64_t index = LoadUnsigned(pieces[i].bytes + row * index_bytes, index_bytes);
        if (index > num_items_)
          return Corruption("a value has index {} in a dictionary of {} items", index, num_items_);
        // A column of nulls only has one item, which is null too.
        if (index == 0 || IsNull(items_, ends, index - 1)) {
          ARROW_RETURN_NOT_OK(out.validity().AppendNull(1));
          ARROW_RETURN_NOT_OK(out.AppendPlaceholders(1));
        } else {
          ARROW_RETURN_NOT_OK(out.validity().AppendValid(1));
          ARROW_RETURN_NOT_OK(out.AppendValue(items.variable_value(index - 1)));
        }
      }
    }
    return arrow::Status::OK();
  }

 private:
  FlatBuffer indices_;
  BinaryForm items_;
  uint64_t num_items_;
};

class DictionaryScan final : public PageScan {
 public:
  DictionaryScan(const DictionaryPage& page, std::vector<Slice> rows) : page_(page), rows_(std::move(rows)) {}
  arrow::Result<std::vector<ByteRange>> Wanted() override {
    return bytes_.empty() ? page_.Wanted(rows_) : std::vector<ByteRange>{};
  }
  arrow::Status Supply(std::vector<BufferPtr> bytes) override {
    bytes_ = std::move(bytes);
    return arrow::Status::OK();
  }
  arrow::Status Decode(DecodeContext& context, LeafSink& out) override {
    return page_.Decode(rows_, bytes_, context, out.values());
  }

 private:
  const DictionaryPage& page_;
  std::vector<Slice> rows_;
  std::vector<BufferPtr> bytes_;
};

std::unique_ptr<PageScan> DictionaryPage::Scan(std::vector<Slice> rows) const {
  return std::make_unique<DictionaryScan>(*this, std::move(rows));
}

}  // namespace

arrow::Result<PageReaderPtr> MakeBinaryPage20(const pb20::Binary& encoding, const PageSpec& spec) {
  if (spec.shape.kind != ValueShape::Kind::kVariable) return Corruption("strings stand for {}", ToString(spec.shape));
  ARROW_ASSIGN_OR_RAISE(BinaryForm form, ParseBinary(encoding, spec.page, spec.page.num_rows));
  return std::make_shared<BinaryPage>(form, spec.page.num_rows);
}

arrow::Result<PageReaderPtr> MakeDictionaryPage20(const pb20::Dictionary& encoding, const PageSpec& spec) {
  if (spec.shape.kind != ValueShape::Kind::kVariable || !encoding.items().has_binary()) {
    return NotSupported("a dictionary of {} is not readable", NameOf(encoding.items()));
  }
  ARROW_ASSIGN_OR_RAISE(FlatBuffer indices, ParseNoNullFlat(encoding.indices(), spec.page));
  if (indices.bits() != 8 && indices.bits() != 16 && indices.bits() != 32 && indices.bits() != 64) {
    return Corruption("dictionary indices have {} bits", indices.bits());
  }
  if (!indices.compressed() && indices.capacity() < spec.page.num_rows) {
    return Corruption("{} bytes of indices do not cover {} rows", indices.range().length, spec.page.num_rows);
  }
  const uint64_t num_items = encoding.num_dictionary_items();
  ARROW_ASSIGN_OR_RAISE(BinaryForm items, ParseBinary(encoding.items().binary(), spec.page, num_items));
  return std::make_shared<DictionaryPage>(indices, items, num_items);
}

}  // namespace javelin::file
