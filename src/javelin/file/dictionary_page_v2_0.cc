// Pages of version 2.0 that hold indices into a dictionary, which is a page of its own inside this one.
#include <algorithm>

#include "javelin/file/dictionary_type_internal.h"
#include "javelin/file/flat_v2_0_internal.h"

namespace javelin::file {

namespace {

using Encoding = pb20::ArrayEncoding;
using Kind = ValueShape::Kind;

struct Form {
  FlatBuffer indices;
  PageReaderPtr items;
  ValueShape shape;  // of an item
  uint64_t num_items = 0;
  bool null_is_zero = false;  // index 0 is null and index i is item i - 1; else index i is item i, which may be null
};

// The items of a page, ready to be copied by number.
class Items {
 public:
  Items(const ValueShape& shape, std::shared_ptr<arrow::ArrayData> array) : shape_(shape), array_(std::move(array)) {}

  std::shared_ptr<arrow::ArrayData> WithoutNullsAtEnd() const {
    int64_t length = array_->length;
    while (length > 0 && IsNull(static_cast<uint64_t>(length - 1))) --length;
    return array_->Slice(0, length);
  }

  bool has_nulls() const { return array_->null_count != 0; }
  bool IsNull(uint64_t index) const {
    const BufferPtr& validity = array_->buffers[0];
    return validity != nullptr && !GetBit(validity->data(), index);
  }

  arrow::Status Append(uint64_t index, ValueSink& out) const {
    const uint8_t* values = array_->buffers[1]->data();
    if (shape_.kind == Kind::kVariable) {
      const auto width = static_cast<unsigned>(shape_.bytes());
      const uint64_t begin = LoadUnsigned(values + index * width, width);
      const uint64_t end = LoadUnsigned(values + (index + 1) * width, width);
      return out.AppendValue({array_->buffers[2]->data() + begin, end - begin});
    }
    if (shape_.bits == 1) return out.AppendBits(values, index, 1);
    ARROW_ASSIGN_OR_RAISE(uint8_t* target, out.AppendFixed(1));
    std::memcpy(target, values + index * shape_.bytes(), shape_.bytes());
    return arrow::Status::OK();
  }

 private:
  const ValueShape& shape_;
  std::shared_ptr<arrow::ArrayData> array_;
};

class DictionaryPage final : public PageReader {
 public:
  explicit DictionaryPage(Form form) : form_(std::move(form)) {}
  std::unique_ptr<PageScan> Scan(std::vector<Slice> rows) const override;
  const Form& form() const { return form_; }

 private:
  Form form_;
};

// Round one: the indices of the rows, and what the items ask for; later rounds are theirs.
class DictionaryScan final : public PageScan {
 public:
  DictionaryScan(const Form& form, std::vector<Slice> rows) : form_(form), rows_(std::move(rows)) {
    if (form_.num_items > 0) items_ = form_.items->Scan({{0, form_.num_items}});
  }

  arrow::Result<std::vector<ByteRange>> Wanted() override {
    std::vector<ByteRange> ranges;
    if (indices_.empty()) ranges = form_.indices.Wanted(rows_);
    num_index_ranges_ = ranges.size();
    if (items_ == nullptr) return ranges;
    ARROW_ASSIGN_OR_RAISE(const std::vector<ByteRange> more, items_->Wanted());
    ranges.insert(ranges.end(), more.begin(), more.end());
    return ranges;
  }

  arrow::Status Supply(std::vector<BufferPtr> bytes) override {
    const auto items_begin = bytes.begin() + static_cast<ptrdiff_t>(num_index_ranges_);
    std::vector<BufferPtr> of_items(items_begin, bytes.end());
    if (indices_.empty()) indices_.assign(bytes.begin(), items_begin);
    return of_items.empty() ? arrow::Status::OK() : items_->Supply(std::move(of_items));
  }

  arrow::Status Decode(DecodeContext& context, LeafSink& leaf) override {
    ValueSink& out = leaf.values();
    ARROW_ASSIGN_OR_RAISE(const Items items, DecodeItems(context));
    ScratchLease scratch(context);
    ARROW_ASSIGN_OR_RAISE(auto pieces, form_.indices.Pieces(rows_, indices_, context, *scratch));
    const auto width = static_cast<unsigned>(form_.indices.bits() / 8);
    const auto without_nulls = items.WithoutNullsAtEnd();
    if (leaf.dictionary() != nullptr && leaf.dictionary()->Holds(static_cast<uint64_t>(without_nulls->length)))
      return AppendIndices(items, without_nulls, pieces, context, leaf);
    for (size_t i = 0; i < rows_.size(); ++i) {
      for (uint64_t row = 0; row < rows_[i].count; ++row)
        ARROW_RETURN_NOT_OK(AppendOne(items, LoadUnsigned(pieces[i].bytes + row * width, width), out));
    }
    return arrow::Status::OK();
  }

 private:
  // Of a dictionary column, which keeps them. A null item makes null values.
  arrow::Status AppendIndices(const Items& items, const std::shared_ptr<arrow::ArrayData>& without_nulls,
                              std::span<const FlatBuffer::Piece> pieces, DecodeContext& context, LeafSink& leaf) const {
    SinkMemory memory(context.memory.pool(), context.memory.budget());
    ARROW_ASSIGN_OR_RAISE(const bool distinct, AreDistinct(*without_nulls, form_.shape, memory));
    const auto width = static_cast<unsigned>(form_.indices.bits() / 8);
    LevelBuffer nulls(memory);
    for (size_t i = 0; i < rows_.size(); ++i) {
      const Bytes indices(pieces[i].bytes, rows_[i].count * width);
      uint64_t highest = 0;
      for (uint64_t row = 0; row < rows_[i].count; ++row)
        highest = std::max(highest, LoadUnsigned(indices.data() + row * width, width));
      if (highest >= form_.num_items) return NoItem(highest);
      if (items.has_nulls()) {
        nulls.Truncate(0);
        ARROW_ASSIGN_OR_RAISE(uint16_t* is_null, nulls.Append(rows_[i].count));
        for (uint64_t row = 0; row < rows_[i].count; ++row)
          is_null[row] = items.IsNull(LoadUnsigned(indices.data() + row * width, width));
        ARROW_RETURN_NOT_OK(leaf.values().validity().AppendLevels(nulls.levels(), 0));
      } else {
        ARROW_RETURN_NOT_OK(leaf.values().validity().AppendValid(rows_[i].count));
      }
      ARROW_RETURN_NOT_OK(leaf.dictionary()->Append(without_nulls, distinct, indices, width));
    }
    return arrow::Status::OK();
  }

  arrow::Status NoItem(uint64_t index) const {
    return Corruption("a value has index {} in a dictionary of {} items", index, form_.num_items);
  }

  arrow::Result<Items> DecodeItems(DecodeContext& context) {
    LeafSink items(form_.shape, kFlatColumn, context.memory, 0);
    if (items_ != nullptr) ARROW_RETURN_NOT_OK(items_->Decode(context, items));
    ARROW_ASSIGN_OR_RAISE(auto array, items.values().Finish(StorageTypeOf(form_.shape)));
    if (static_cast<uint64_t>(array->length) != form_.num_items)
      return Corruption("a dictionary of {} items decodes to {}", form_.num_items, array->length);
    return Items(form_.shape, std::move(array));
  }

  arrow::Status AppendOne(const Items& items, uint64_t index, ValueSink& out) const {
    const bool null = form_.null_is_zero && index == 0;
    const uint64_t item = index - (form_.null_is_zero && !null);
    if (!null && item >= form_.num_items) return NoItem(index);
    if (null || items.IsNull(item)) {
      ARROW_RETURN_NOT_OK(out.validity().AppendNull(1));
      return out.AppendPlaceholders(1);
    }
    ARROW_RETURN_NOT_OK(out.validity().AppendValid(1));
    return items.Append(item, out);
  }

  const Form& form_;
  std::vector<Slice> rows_;
  std::unique_ptr<PageScan> items_;  // null: there are none
  size_t num_index_ranges_ = 0;      // of those last wanted
  std::vector<BufferPtr> indices_;
};

std::unique_ptr<PageScan> DictionaryPage::Scan(std::vector<Slice> rows) const {
  return std::make_unique<DictionaryScan>(form_, std::move(rows));
}

arrow::Result<PageReaderPtr> MakeItems(const Encoding& encoding, uint64_t num_items, const PageSpec& spec) {
  const Kind kind = spec.shape.kind;
  if (encoding.has_dictionary() || (kind != Kind::kVariable && kind != Kind::kFixed))
    return NotSupported("a dictionary of {} for {} is not readable", NameOf(encoding), ToString(spec.shape));
  // Other items take bytes.
  if (encoding.nullable().has_all_nulls() && num_items > spec.page.num_rows)
    return Corruption("a page of {} rows has a dictionary of {} nulls", spec.page.num_rows, num_items);
  PageMetadata page{.buffers = spec.page.buffers, .num_rows = num_items};
  return MakeArrayEncodingPage(encoding, {page, spec.version, spec.shape, spec.layers, spec.environment});
}

}  // namespace

arrow::Result<PageReaderPtr> MakeDictionaryPage20(const pb20::Dictionary& encoding, const PageSpec& spec) {
  Form form{
      .shape = spec.shape, .num_items = encoding.num_dictionary_items(), .null_is_zero = !spec.shape.in_dictionary};
  ARROW_ASSIGN_OR_RAISE(form.indices, ParseNoNullFlat(encoding.indices(), spec.page));
  const uint64_t bits = form.indices.bits();
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64) return Corruption("dictionary indices have {} bits", bits);
  ARROW_RETURN_NOT_OK(form.indices.MustHold(spec.page.num_rows));
  ARROW_ASSIGN_OR_RAISE(form.items, MakeItems(encoding.items(), form.num_items, spec));
  return std::make_shared<DictionaryPage>(std::move(form));
}

}  // namespace javelin::file
