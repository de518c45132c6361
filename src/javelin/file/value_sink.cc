#include "javelin/file/value_sink_internal.h"

#include <limits>

#include <arrow/type.h>

#include "javelin/base/error.h"

namespace javelin::file {

namespace {
using Kind = ValueShape::Kind;

// Arrow wants typed access to be aligned; 8 bytes serve every type we have (decimals are read bytewise).
constexpr uint64_t kAlignment = 8;

// At most so many times the bytes that are there are foreseen.
constexpr uint64_t kMostForeseen = 16;

bool IsAligned(const uint8_t* address) { return reinterpret_cast<uintptr_t>(address) % kAlignment == 0; }
}  // namespace

ValueSink::ValueSink(ValueShape shape, SinkMemory& memory, uint64_t expected)
    : shape_(std::move(shape)),
      expected_(expected),
      validity_(memory, expected),
      bits_(memory, expected),
      values_(memory),
      offsets_(memory) {
  if (shape_.kind == Kind::kList)
    items_ = std::make_unique<ValueSink>(*shape_.item, memory, SaturatedProduct(expected, shape_.dimension));
  for (const ValueShape& field : shape_.fields) fields_.push_back(std::make_unique<ValueSink>(field, memory, expected));
}

void ValueSink::Expect(uint64_t count) {
  expected_ = SaturatedSum(length_, count);
  validity_.Expect(SaturatedSum(validity_.length(), count));
  bits_.Expect(expected_);
  if (items_ != nullptr) items_->Expect(SaturatedProduct(count, shape_.dimension));
  for (const auto& field : fields_) field->Expect(count);
}

// More than is asked for where the bytes that are there show how many all values will take.
arrow::Status ValueSink::GrowBytes(uint64_t bytes) {
  const uint64_t size = SaturatedSum(values_.size(), bytes);
  if (values_.size() == 0 || length_ == 0 || length_ >= expected_) return values_.Reserve(size);
  const uint64_t all =
      std::min(SaturatedProduct(values_.size() / length_ + 1, expected_), SaturatedProduct(size, kMostForeseen));
  return values_.Reserve(size, all + all / 32);
}

arrow::Status ValueSink::Unshare() {
  if (shared_values_ == nullptr) return arrow::Status::OK();
  BufferPtr shared = std::move(shared_values_);
  shared_values_ = nullptr;
  ARROW_RETURN_NOT_OK(values_.Resize(static_cast<uint64_t>(shared->size())));
  std::memcpy(values_.data(), shared->data(), static_cast<size_t>(shared->size()));
  return arrow::Status::OK();
}

arrow::Status ValueSink::AppendPlaceholders(uint64_t count) {
  switch (shape_.kind) {
    case Kind::kNull: length_ += count; return arrow::Status::OK();
    case Kind::kVariable:
      for (uint64_t i = 0; i < count; ++i) ARROW_RETURN_NOT_OK(AppendOffset());
      return arrow::Status::OK();
    case Kind::kFixed: {
      if (shape_.bits == 1) return AppendBitRun(false, count);
      ARROW_ASSIGN_OR_RAISE(uint8_t* target, AppendFixed(count));
      std::memset(target, 0, count * shape_.bytes());
      return arrow::Status::OK();
    }
    case Kind::kList: {
      uint64_t items;
      if (__builtin_mul_overflow(count, shape_.dimension, &items))
        return OutOfMemory("{} rows are too many to read at once; ask for fewer rows", count);
      ARROW_RETURN_NOT_OK(items_->validity().AppendValid(items));
      ARROW_RETURN_NOT_OK(items_->AppendPlaceholders(items));
      length_ += count;
      return arrow::Status::OK();
    }
    case Kind::kStruct:
      for (const auto& field : fields_) {
        ARROW_RETURN_NOT_OK(field->validity().AppendValid(count));
        ARROW_RETURN_NOT_OK(field->AppendPlaceholders(count));
      }
      length_ += count;
      return arrow::Status::OK();
  }
  return arrow::Status::OK();
}

// Values of FixedBytes each.
arrow::Status ValueSink::AppendStrided(const uint8_t* values, uint64_t stride, uint64_t count) {
  if (shape_.kind == Kind::kList && stride == FixedBytes(shape_)) {
    const uint64_t items = count * shape_.dimension;
    ARROW_RETURN_NOT_OK(items_->validity().AppendValid(items));
    ARROW_RETURN_NOT_OK(items_->AppendStrided(values, FixedBytes(*shape_.item), items));
    length_ += count;
    return arrow::Status::OK();
  }
  if (shape_.kind == Kind::kList) {
    for (uint64_t i = 0; i < count; ++i) ARROW_RETURN_NOT_OK(AppendStrided(values + i * stride, FixedBytes(shape_), 1));
    return arrow::Status::OK();
  }
  const uint64_t width = shape_.bytes();
  ARROW_ASSIGN_OR_RAISE(uint8_t* target, AppendFixed(count));
  for (uint64_t i = 0; i < count; ++i) std::memcpy(target + i * width, values + i * stride, width);
  return arrow::Status::OK();
}

arrow::Status ValueSink::AppendPackedRows(const uint8_t* rows, uint64_t stride, uint64_t count) {
  for (const auto& field : fields_) {
    ARROW_RETURN_NOT_OK(field->validity().AppendValid(count));
    ARROW_RETURN_NOT_OK(field->AppendStrided(rows, stride, count));
    rows += FixedBytes(field->shape());
  }
  length_ += count;
  return arrow::Status::OK();
}

arrow::Result<uint8_t*> ValueSink::AppendFixed(uint64_t count) {
  ARROW_RETURN_NOT_OK(Unshare());
  uint64_t added;
  if (__builtin_mul_overflow(count, shape_.bytes(), &added))
    return OutOfMemory("{} values are too many to read at once; ask for fewer rows", count);
  const uint64_t start = values_.size();
  ARROW_RETURN_NOT_OK(values_.Resize(SaturatedSum(start, added), SaturatedProduct(expected_, shape_.bytes())));
  length_ += count;
  return values_.data() + start;
}

arrow::Status ValueSink::AppendBits(const uint8_t* bits, uint64_t first, uint64_t count) {
  length_ += count;
  return bits_.AppendBits(bits, first, count);
}

arrow::Status ValueSink::AppendBitRun(bool value, uint64_t count) {
  length_ += count;
  return bits_.AppendRun(value, count);
}

arrow::Status ValueSink::AppendShared(const BufferPtr& bytes, uint64_t count) {
  if (count == 0) return arrow::Status::OK();
  if (length_ > 0 || !IsAligned(bytes->data())) {
    ARROW_ASSIGN_OR_RAISE(uint8_t* target, AppendFixed(count));
    std::memcpy(target, bytes->data(), static_cast<size_t>(bytes->size()));
    return arrow::Status::OK();
  }
  shared_values_ = bytes;
  length_ = count;
  return arrow::Status::OK();
}

// Room for the ends of `count` more values; the start of the first is there already.
arrow::Result<uint8_t*> ValueSink::GrowOffsets(uint64_t count) {
  const uint64_t width = shape_.bytes();
  if (width == 4 && values_.size() > static_cast<uint64_t>(std::numeric_limits<int32_t>::max())) {
    return InvalidInput(
        "the rows asked for hold more than 2 GiB in one string or binary column; read fewer rows at once");
  }
  const bool first = offsets_.is_null();
  ARROW_RETURN_NOT_OK(offsets_.Resize((length_ + count + 1) * width, SaturatedProduct(expected_ + 1, width)));
  if (first) std::memset(offsets_.data(), 0, width);
  return offsets_.data() + (length_ + 1) * width;
}

// Ends the value that is open: its end is the start of the next.
arrow::Status ValueSink::AppendOffset() {
  ARROW_ASSIGN_OR_RAISE(uint8_t* target, GrowOffsets(1));
  if (shape_.bits == 32) {
    StoreAt<uint32_t>(target, static_cast<uint32_t>(values_.size()));
  } else {
    StoreAt<uint64_t>(target, values_.size());
  }
  ++length_;
  return arrow::Status::OK();
}

arrow::Status ValueSink::AppendValue(Bytes value) {
  if (!value.empty()) {
    ARROW_RETURN_NOT_OK(ReserveBytes(value.size()));
    std::memcpy(values_.data() + values_.size(), value.data(), value.size());
    values_.Add(value.size());
  }
  return AppendOffset();
}

arrow::Result<uint8_t*> ValueSink::BeginValue(uint64_t capacity) {
  ARROW_RETURN_NOT_OK(ReserveBytes(std::max<uint64_t>(capacity, 1)));
  return values_.data() + values_.size();
}

arrow::Status ValueSink::CommitValue(uint64_t size) {
  values_.Add(size);
  return AppendOffset();
}

arrow::Result<ValueSink::Strings> ValueSink::AppendStrings(uint64_t count, uint64_t bytes) {
  ARROW_RETURN_NOT_OK(ReserveBytes(SaturatedSum(bytes, kOverrun)));
  const uint64_t begin = values_.size();
  values_.Add(bytes);
  ARROW_ASSIGN_OR_RAISE(uint8_t* ends, GrowOffsets(count));
  length_ += count;
  return Strings{values_.data() + begin, ends, begin};
}

template <typename Offset>
arrow::Status ValueSink::AppendValues(const uint8_t* offsets, uint64_t count, Bytes bytes) {
  if (count == 0) return arrow::Status::OK();
  const uint64_t begin = LoadElement<Offset>(offsets, 0);
  const uint64_t size = LoadElement<Offset>(offsets, count) - begin;
  ARROW_ASSIGN_OR_RAISE(const Strings out, AppendStrings(count, size));
  if (size > 0) std::memcpy(out.bytes, bytes.data() + begin, size);
  const uint64_t shift = out.begin - begin;  // wraps around where begin is larger; the sum is right again
  if (shape_.bits == 32) {
    for (uint64_t i = 0; i < count; ++i) {
      StoreAt<uint32_t>(out.ends + i * 4, static_cast<uint32_t>(LoadElement<Offset>(offsets, i + 1) + shift));
    }
  } else {
    for (uint64_t i = 0; i < count; ++i)
      StoreAt<uint64_t>(out.ends + i * 8, LoadElement<Offset>(offsets, i + 1) + shift);
  }
  return arrow::Status::OK();
}
template arrow::Status ValueSink::AppendValues<uint32_t>(const uint8_t*, uint64_t, Bytes);
template arrow::Status ValueSink::AppendValues<uint64_t>(const uint8_t*, uint64_t, Bytes);

Bytes ValueSink::fixed_values() const {
  if (shared_values_ != nullptr) return {shared_values_->data(), static_cast<size_t>(shared_values_->size())};
  return {values_.data(), values_.size()};
}

arrow::Result<std::shared_ptr<arrow::ArrayData>> ValueSink::Finish(const std::shared_ptr<arrow::DataType>& type) {
  const auto length = static_cast<int64_t>(length_);
  if (shape_.kind == Kind::kNull) return arrow::ArrayData::Make(type, length, {nullptr}, length);
  if (validity_.length() != length_) {
    return Corruption("{} values were decoded for {} rows", length_, validity_.length());
  }
  const BufferPtr validity = validity_.Finish();
  const auto nulls = static_cast<int64_t>(validity_.null_count());
  static const BufferPtr kNoBytes = std::make_shared<arrow::Buffer>(reinterpret_cast<const uint8_t*>(""), 0);
  const BufferPtr values = shared_values_ != nullptr ? shared_values_ : values_.is_null() ? kNoBytes : values_.Finish();
  switch (shape_.kind) {
    case Kind::kFixed:
      return arrow::ArrayData::Make(type, length, {validity, shape_.bits == 1 ? bits_.Finish() : values}, nulls);
    case Kind::kVariable:
      if (length_ == 0) ARROW_RETURN_NOT_OK(GrowOffsets(0));
      return arrow::ArrayData::Make(type, length, {validity, offsets_.Finish(), values}, nulls);
    case Kind::kStruct: {
      std::vector<std::shared_ptr<arrow::ArrayData>> children;
      for (size_t i = 0; i < fields_.size(); ++i) {
        ARROW_ASSIGN_OR_RAISE(auto child, fields_[i]->Finish(type->field(static_cast<int>(i))->type()));
        if (child->length != length)
          return Corruption("field {} of {} packed structs has {} values", i, length, child->length);
        children.push_back(std::move(child));
      }
      return arrow::ArrayData::Make(type, length, {validity}, std::move(children), nulls);
    }
    default: {
      const auto& list_type = static_cast<const arrow::FixedSizeListType&>(*type);
      ARROW_ASSIGN_OR_RAISE(auto items, items_->Finish(list_type.value_type()));
      return arrow::ArrayData::Make(type, length, {validity}, {std::move(items)}, nulls);
    }
  }
}

}  // namespace javelin::file
