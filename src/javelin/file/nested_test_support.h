// For tests of nested columns: random types, and arrays with slices, offsets and values under nulls at every level.
#pragma once

#include <memory>
#include <vector>

#include <arrow/api.h>

#include "javelin/file/file_test_support.h"

namespace javelin::file::testing {

class RandomNested {
 public:
  // Types and values that the version holds: no maps before 2.2, no null structs in 2.0.
  explicit RandomNested(uint64_t seed, FileVersion version = {2, 2}) : leaves_(seed), version_(version) {}

  uint64_t Below(uint64_t limit) { return leaves_.Below(limit); }

  // At most `depth` structs and lists around each leaf.
  std::shared_ptr<arrow::DataType> Type(int depth) {
    const uint64_t kind = depth == 0 ? 0 : Below(version_ < FileVersion{2, 2} ? 6 : 7);
    switch (kind) {
      case 1:
      case 2: {
        arrow::FieldVector fields;
        for (uint64_t i = 0, count = 1 + Below(3); i < count; ++i)
          fields.push_back(arrow::field(fmt::format("f{}", i), Type(depth - 1)));
        return arrow::struct_(fields);
      }
      case 3:
      case 4: return arrow::list(arrow::field("item", Type(depth - 1)));
      case 5: return arrow::large_list(arrow::field("item", Type(depth - 1)));
      case 6: return arrow::map(arrow::utf8(), arrow::field("value", Type(depth - 1)));
      default: {
        const auto types = RandomColumns::Types();
        return types[Below(types.size())];
      }
    }
  }

  // Shares of lists without items and of nulls.
  struct Shape {
    double null_part = 0;
    double empty_part = 0;
    uint64_t max_items = 4;
    Spread spread = Spread::kAny;
    bool garbage = true;  // slices inside, values under null lists
  };

  std::shared_ptr<arrow::Array> Make(const std::shared_ptr<arrow::DataType>& type, int64_t length, const Shape& shape,
                                     bool nullable = true) {
    const int64_t before = shape.garbage ? static_cast<int64_t>(Below(4)) : 0;
    const int64_t total = before + length + (shape.garbage ? static_cast<int64_t>(Below(3)) : 0);
    std::shared_ptr<arrow::Array> array;
    switch (type->id()) {
      case arrow::Type::STRUCT: {
        std::vector<std::shared_ptr<arrow::ArrayData>> children;
        for (const auto& field : type->fields())
          children.push_back(Make(field->type(), total, shape, field->nullable())->data());
        array = arrow::MakeArray(arrow::ArrayData::Make(
            type, total, {Validity(total, nullable && version_ > FileVersion{2, 0}, shape)}, children));
        break;
      }
      case arrow::Type::LIST:
      case arrow::Type::MAP: array = List<int32_t>(type, total, nullable, shape); break;
      case arrow::Type::LARGE_LIST: array = List<int64_t>(type, total, nullable, shape); break;
      default: array = leaves_.Make(type, total, nullable ? shape.null_part : 0, shape.spread);
    }
    return array->Slice(before, length);
  }

 private:
  bool Chance(double part) { return static_cast<double>(Below(10000)) < part * 10000; }

  BufferPtr Validity(int64_t length, bool nullable, const Shape& shape) {
    if (!nullable || shape.null_part == 0) return nullptr;
    auto bits = arrow::AllocateEmptyBitmap(length).ValueOrDie();
    for (int64_t i = 0; i < length; ++i) {
      if (!Chance(shape.null_part)) bits->mutable_data()[i / 8] |= static_cast<uint8_t>(1 << (i % 8));
    }
    return bits;
  }

  template <typename Offset>
  std::shared_ptr<arrow::Array> List(const std::shared_ptr<arrow::DataType>& type, int64_t length, bool nullable,
                                     const Shape& shape) {
    BufferPtr validity = Validity(length, nullable, shape);
    std::vector<Offset> offsets = {static_cast<Offset>(shape.garbage ? Below(3) : 0)};
    for (int64_t i = 0; i < length; ++i) {
      const bool null = validity != nullptr && (validity->data()[i / 8] >> (i % 8) & 1) == 0;
      const bool empty = Chance(shape.empty_part) || (null && (!shape.garbage || Below(2) == 0));
      offsets.push_back(
          static_cast<Offset>(offsets.back() + static_cast<Offset>(empty ? 0 : 1 + Below(shape.max_items))));
    }
    auto items = Make(type->field(0)->type(), offsets.back(), shape, type->field(0)->nullable());
    return arrow::MakeArray(arrow::ArrayData::Make(
        type, length, {validity, arrow::Buffer::FromVector(std::move(offsets))}, {items->data()}));
  }

  RandomColumns leaves_;
  FileVersion version_;
};

}  // namespace javelin::file::testing
