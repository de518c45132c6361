#include "javelin/file/dictionary_sink_internal.h"

#include <algorithm>
#include <limits>

#include <arrow/type.h>

#include "javelin/base/error.h"
#include "javelin/file/dictionary_type_internal.h"

namespace javelin::file {

namespace {

constexpr uint32_t kUnknown = ~uint32_t{0};
// What looking for an item takes at most: a place among those known, one among those found, hashes.
constexpr uint64_t kItemBytes = sizeof(uint32_t) + 2 * sizeof(Bytes) + 4 * sizeof(uint32_t);

arrow::Status AppendItem(Bytes item, ValueSink& out) {
  if (out.shape().kind == ValueShape::Kind::kVariable) return out.AppendValue(item);
  if (out.shape().bits == 1) return out.AppendBits(item.data(), 0, 1);
  ARROW_ASSIGN_OR_RAISE(uint8_t* target, out.AppendFixed(1));
  std::copy(item.begin(), item.end(), target);
  return arrow::Status::OK();
}

// Indices of another width; those of nulls that are outside of the dictionary become 0.
template <typename From, typename To>
void Convert(const uint8_t* from, uint64_t count, uint64_t num_items, uint8_t* to) {
  if (num_items == 0) {
    std::memset(to, 0, count * sizeof(To));
    return;
  }
  // Of the width of the indices, so that many are compared at once.
  const auto last = static_cast<From>(std::min<uint64_t>(num_items - 1, std::numeric_limits<From>::max()));
  for (uint64_t i = 0; i < count; ++i) {
    const From index = LoadElement<From>(from, i);
    StoreAt<To>(to + i * sizeof(To), static_cast<To>(index <= last ? index : From{0}));
  }
}

template <typename To>
void ConvertTo(Bytes indices, uint64_t index_bytes, uint64_t num_items, uint8_t* to) {
  const uint64_t count = indices.size() / index_bytes;
  switch (index_bytes) {
    case 1: return Convert<uint8_t, To>(indices.data(), count, num_items, to);
    case 2: return Convert<uint16_t, To>(indices.data(), count, num_items, to);
    case 4: return Convert<uint32_t, To>(indices.data(), count, num_items, to);
    default: return Convert<uint64_t, To>(indices.data(), count, num_items, to);
  }
}

}  // namespace

arrow::Result<bool> AreDistinct(const arrow::ArrayData& items, const ValueShape& shape, SinkMemory& memory) {
  const auto count = static_cast<uint64_t>(items.length);
  ARROW_RETURN_NOT_OK(memory.Reserve(SaturatedProduct(count, kItemBytes)));
  const LeafView view = ViewLeaf(items, shape);
  DistinctValues found;
  for (uint64_t i = 0; i < count; ++i) {
    if (view.IsNull(i) || found.Add(ItemAt(view, shape, i)) != i) return false;
  }
  return true;
}

DictionarySink::DictionarySink(const arrow::DictionaryType& type, ValueSink& values, SinkMemory& memory,
                               uint64_t expected, bool keep_whole)
    : index_type_(type.index_type()),
      index_bytes_(IndexBytes(type)),
      max_items_(MaxItems(type)),
      keep_whole_(keep_whole),
      values_(values),
      memory_(memory),
      expected_(expected),
      indices_(memory) {}

// Values that came since the last part, of pages without a dictionary.
arrow::Status DictionarySink::AddPlainPart() {
  const uint64_t count = values_.length() - num_plain_;
  if (count == 0) return arrow::Status::OK();
  ARROW_RETURN_NOT_OK(indices_.Resize(SaturatedSum(indices_.size(), SaturatedProduct(count, index_bytes_)),
                                      SaturatedProduct(expected_, index_bytes_)));
  parts_.push_back({.count = count});
  num_plain_ += count;
  return arrow::Status::OK();
}

arrow::Status DictionarySink::Append(const std::shared_ptr<arrow::ArrayData>& items, bool distinct, Bytes indices,
                                     uint64_t index_bytes) {
  if (indices.empty()) return arrow::Status::OK();
  ARROW_RETURN_NOT_OK(AddPlainPart());
  if (parts_.empty() || parts_.back().items != items) parts_.push_back({.items = items, .distinct = distinct});
  const uint64_t count = indices.size() / index_bytes;
  parts_.back().count += count;
  const uint64_t begin = indices_.size();
  ARROW_RETURN_NOT_OK(indices_.Resize(begin + count * index_bytes_, SaturatedProduct(expected_, index_bytes_)));
  uint8_t* target = indices_.data() + begin;
  const auto num_items = static_cast<uint64_t>(items->length);
  switch (index_bytes_) {
    case 1: ConvertTo<uint8_t>(indices, index_bytes, num_items, target); break;
    case 2: ConvertTo<uint16_t>(indices, index_bytes, num_items, target); break;
    case 4: ConvertTo<uint32_t>(indices, index_bytes, num_items, target); break;
    default: ConvertTo<uint64_t>(indices, index_bytes, num_items, target); break;
  }
  return arrow::Status::OK();
}

arrow::Status DictionarySink::Settle() {
  ARROW_RETURN_NOT_OK(AddPlainPart());
  if (values_.validity().length() != num_values())
    return Corruption("{} values were decoded for {} rows", num_values(), values_.validity().length());
  if (IsWhole()) return arrow::Status::OK();
  ARROW_RETURN_NOT_OK(NumberParts());
  if (found_.items().size() <= max_items_) return arrow::Status::OK();
  return InvalidInput(
      "the rows asked for hold {} distinct values, more than {} indices tell apart; read fewer rows at once",
      found_.items().size(), index_type_->ToString());
}

// The values of pages without a dictionary; null if there are none.
arrow::Result<std::shared_ptr<arrow::ArrayData>> DictionarySink::PlainValues() {
  if (num_plain_ == 0) return nullptr;
  // A sink finishes as many values as it has validity for, which is that of all pages.
  ARROW_RETURN_NOT_OK(values_.AppendPlaceholders(values_.validity().length() - num_plain_));
  ARROW_ASSIGN_OR_RAISE(auto plain, values_.Finish(StorageTypeOf(values_.shape())));
  plain->buffers[0] = nullptr;
  plain->null_count = 0;
  return plain;
}

// The items that occur get numbers of their own, in the order in which they are met.
arrow::Status DictionarySink::NumberParts() {
  const BufferPtr validity = values_.validity().Finish();
  ARROW_ASSIGN_OR_RAISE(const auto plain, PlainValues());
  uint64_t first = 0;
  uint64_t first_plain = 0;
  for (const Part& part : parts_) {
    const bool is_plain = part.items == nullptr;
    const auto items =
        is_plain ? plain->Slice(static_cast<int64_t>(first_plain), static_cast<int64_t>(part.count)) : part.items;
    const uint64_t most = std::min(part.count, static_cast<uint64_t>(items->length));
    ARROW_RETURN_NOT_OK(memory_.Reserve(SaturatedProduct(most, kItemBytes)));
    const Values values{ViewLeaf(*items, values_.shape()), first, part.count, is_plain,
                        validity == nullptr ? nullptr : validity->data()};
    switch (index_bytes_) {
      case 1: Number<uint8_t>(values); break;
      case 2: Number<uint16_t>(values); break;
      case 4: Number<uint32_t>(values); break;
      default: Number<uint64_t>(values); break;
    }
    first += part.count;
    first_plain += is_plain ? part.count : 0;
  }
  return arrow::Status::OK();
}

template <typename Index>
void DictionarySink::Number(const Values& values) {
  // Worth it where values are as many as items: each of these is looked for once.
  std::vector<uint32_t> known(values.is_plain || values.items.length > values.count ? 0 : values.items.length,
                              kUnknown);
  const auto number_of = [&](uint64_t item) { return found_.Add(ItemAt(values.items, values_.shape(), item)); };
  for (uint64_t i = 0; i < values.count; ++i) {
    const uint64_t row = values.first + i;
    uint8_t* place = indices_.data() + row * sizeof(Index);
    uint32_t number = 0;
    if (values.validity == nullptr || GetBit(values.validity, row)) {
      const uint64_t item = values.is_plain ? i : LoadAt<Index>(place);
      if (known.empty()) {
        number = number_of(item);
      } else {
        if (known[item] == kUnknown) known[item] = number_of(item);
        number = known[item];
      }
    }
    StoreAt<Index>(place, static_cast<Index>(number));
  }
}

arrow::Result<std::shared_ptr<arrow::ArrayData>> DictionarySink::Items(
    const std::shared_ptr<arrow::DataType>& type) const {
  if (IsWhole()) {
    auto items = parts_[0].items->Copy();
    items->type = type;
    return items;
  }
  const ValueShape& shape = values_.shape();
  ValueSink items(shape, memory_, found_.items().size());
  ARROW_RETURN_NOT_OK(items.validity().AppendValid(found_.items().size()));
  if (shape.kind == ValueShape::Kind::kVariable) ARROW_RETURN_NOT_OK(items.ReserveBytes(found_.total_bytes()));
  for (const Bytes item : found_.items()) ARROW_RETURN_NOT_OK(AppendItem(item, items));
  return items.Finish(type);
}

arrow::Result<std::shared_ptr<arrow::ArrayData>> DictionarySink::Finish(const std::shared_ptr<arrow::DataType>& type) {
  const BufferPtr validity = values_.validity().Finish();
  ARROW_RETURN_NOT_OK(indices_.Reserve(0));  // also where there are none
  ARROW_ASSIGN_OR_RAISE(auto items, Items(static_cast<const arrow::DictionaryType&>(*type).value_type()));
  return arrow::ArrayData::Make(type, static_cast<int64_t>(num_values()), {validity, indices_.Finish()}, {},
                                std::move(items), static_cast<int64_t>(values_.validity().null_count()));
}

}  // namespace javelin::file
