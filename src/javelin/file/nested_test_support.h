// For tests of nested columns: random types, and arrays with slices, offsets and values under nulls at every level.
#pragma once

#include <memory>
#include <vector>

#include <arrow/api.h>
#include <arrow/compute/api.h>

#include "javelin/file/file_test_support.h"

namespace javelin::file::testing {

class RandomNested {
 public:
  // Types and values that the version holds: no maps before 2.2, no null structs in 2.0.
  explicit RandomNested(uint64_t seed, FileVersion version = {2, 2}) : leaves_(seed), version_(version) {}

  uint64_t Below(uint64_t limit) { return leaves_.Below(limit); }

  bool stored_otherwise = true;  // dictionaries and packed structs among the types

  // At most `depth` structs and lists around each leaf.
  std::shared_ptr<arrow::DataType> Type(int depth) {
    const uint64_t kind = depth == 0 ? 0 : Below(version_ < FileVersion{2, 2} ? 6 : stored_otherwise ? 8 : 7);
    switch (kind) {
      case 1:
      case 2: {
        arrow::FieldVector fields;
        for (uint64_t i = 0, count = 1 + Below(3); i < count; ++i)
          fields.push_back(stored_otherwise && Below(8) == 0 ? Packed(fmt::format("f{}", i))
                                                             : arrow::field(fmt::format("f{}", i), Type(depth - 1)));
        return arrow::struct_(fields);
      }
      case 3:
      case 4: return arrow::list(arrow::field("item", Type(depth - 1)));
      case 5: return arrow::large_list(arrow::field("item", Type(depth - 1)));
      case 6: return arrow::map(arrow::utf8(), arrow::field("value", Type(depth - 1)));
      case 7: return Dictionary();
      default: {
        const auto types = RandomColumns::Types(version_);
        return types[Below(types.size())];
      }
    }
  }

  // A packed struct; `variable`: with strings and fixed-size lists.
  std::shared_ptr<arrow::Field> Packed(const std::string& name, bool variable = false) {
    arrow::DataTypeVector types = {arrow::int8(),    arrow::int32(),           arrow::int64(),
                                   arrow::float64(), arrow::decimal128(30, 4), arrow::fixed_size_binary(5)};
    if (version_ == FileVersion{2, 0})
      types[4] = arrow::fixed_size_list(arrow::float32(), 2);  // not wide and narrow ones
    if (variable)
      types = {arrow::int16(), arrow::utf8(), arrow::large_binary(), arrow::fixed_size_list(arrow::float32(), 3)};
    arrow::FieldVector fields;
    for (uint64_t i = 0, count = 1 + Below(3); i < count; ++i)
      fields.push_back(arrow::field(fmt::format("f{}", i), types[Below(types.size())], /*nullable=*/false));
    return arrow::field(name, arrow::struct_(fields), true,
                        arrow::key_value_metadata({{"lance-encoding:packed", "true"}}));
  }

  // Fixed-size lists of structs, in one another and in structs, and no other lists.
  std::shared_ptr<arrow::DataType> StructList(int depth) {
    arrow::FieldVector fields;
    for (uint64_t i = 0, count = 1 + Below(3); i < count; ++i) {
      const std::string name = fmt::format("f{}", i);
      switch (depth == 0 ? 3 : Below(6)) {
        case 0: fields.push_back(arrow::field(name, StructList(depth - 1))); break;
        case 1: fields.push_back(Packed(name)); break;
        case 2: fields.push_back(arrow::field(name, arrow::struct_({arrow::field("x", StructList(depth - 1))}))); break;
        default: fields.push_back(arrow::field(name, Type(0)));
      }
    }
    return arrow::fixed_size_list(arrow::field("item", arrow::struct_(fields)), 1 + static_cast<int32_t>(Below(3)));
  }

  std::shared_ptr<arrow::DataType> Dictionary() {
    const arrow::DataTypeVector indices = {arrow::int8(),  arrow::int16(),  arrow::int32(),  arrow::int64(),
                                           arrow::uint8(), arrow::uint16(), arrow::uint32(), arrow::uint64()};
    const arrow::DataTypeVector items = {arrow::utf8(),         arrow::large_utf8(), arrow::binary(),
                                         arrow::large_binary(), arrow::int8(),       arrow::int64(),
                                         arrow::float32(),      arrow::float64(),    arrow::boolean()};
    return arrow::dictionary(indices[Below(indices.size())], items[Below(items.size())]);
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
      case arrow::Type::DICTIONARY: array = Dictionary(type, total, nullable, shape); break;
      case arrow::Type::FIXED_SIZE_LIST: {
        const auto& list = static_cast<const arrow::FixedSizeListType&>(*type);
        if (list.value_type()->id() != arrow::Type::STRUCT) {
          array = leaves_.Make(type, total, nullable ? shape.null_part : 0, shape.spread);
          break;
        }
        auto items = Make(list.value_type(), total * list.list_size(), shape, list.value_field()->nullable());
        array =
            arrow::MakeArray(arrow::ArrayData::Make(type, total, {Validity(total, nullable, shape)}, {items->data()}));
        break;
      }
      default: array = leaves_.Make(type, total, nullable ? shape.null_part : 0, shape.spread);
    }
    return array->Slice(before, length);
  }

 private:
  // Items may occur twice, be null, or stand for nothing.
  std::shared_ptr<arrow::Array> Dictionary(const std::shared_ptr<arrow::DataType>& type, int64_t length, bool nullable,
                                           const Shape& shape) {
    const auto& dictionary = static_cast<const arrow::DictionaryType&>(*type);
    const int64_t num_items = 1 + static_cast<int64_t>(Below(100));
    auto items = Make(dictionary.value_type(), num_items, shape, nullable);
    const int width = dictionary.index_type()->byte_width();
    auto indices = arrow::AllocateBuffer(length * width).ValueOrDie();
    for (int64_t i = 0; i < length; ++i) {
      const uint64_t index = Below(static_cast<uint64_t>(num_items));
      std::memcpy(indices->mutable_data() + i * width, &index, static_cast<size_t>(width));
    }
    return arrow::MakeArray(arrow::ArrayData::Make(type, length,
                                                   {Validity(length, nullable, shape), std::move(indices)}, {},
                                                   items->data(), arrow::kUnknownNullCount));
  }

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

// The array with values in place of dictionaries: two that say the same may number their items differently.
inline std::shared_ptr<arrow::ArrayData> WithoutDictionaries(const arrow::ArrayData& data) {
  if (data.type->id() == arrow::Type::DICTIONARY) {
    const arrow::DictionaryArray array(data.Copy());
    arrow::Int64Builder indices;  // builders put zeros under nulls, also where there is no item
    for (int64_t i = 0; i < array.length(); ++i) {
      const bool has_item = array.IsValid(i) && array.GetValueIndex(i) < array.dictionary()->length();
      EXPECT_TRUE((has_item ? indices.Append(array.GetValueIndex(i)) : indices.AppendNull()).ok());
    }
    return arrow::compute::Take(array.dictionary(), indices.Finish().ValueOrDie()).ValueOrDie().array();
  }
  auto plain = data.Copy();
  arrow::FieldVector fields = data.type->fields();
  for (size_t i = 0; i < data.child_data.size() && i < fields.size(); ++i) {
    plain->child_data[i] = WithoutDictionaries(*data.child_data[i]);
    fields[i] = fields[i]->WithType(plain->child_data[i]->type);
  }
  switch (data.type->id()) {
    case arrow::Type::STRUCT: plain->type = arrow::struct_(fields); break;
    case arrow::Type::LIST: plain->type = arrow::list(fields[0]); break;
    case arrow::Type::LARGE_LIST: plain->type = arrow::large_list(fields[0]); break;
    case arrow::Type::FIXED_SIZE_LIST:
      plain->type =
          arrow::fixed_size_list(fields[0], static_cast<const arrow::FixedSizeListType&>(*data.type).list_size());
      break;
    case arrow::Type::MAP: plain->type = std::make_shared<arrow::MapType>(fields[0]); break;
    default: break;
  }
  return plain;
}

// Equal types and values.
inline bool Same(const arrow::Array& left, const arrow::Array& right) {
  return left.type()->Equals(right.type()) &&
         arrow::MakeArray(WithoutDictionaries(*left.data()))
             ->Equals(arrow::MakeArray(WithoutDictionaries(*right.data())), arrow::EqualOptions().nans_equal(true));
}

}  // namespace javelin::file::testing
