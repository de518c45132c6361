#include <arrow/array.h>
#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "javelin/base/error.h"
#include "javelin/file/array_shape.h"

namespace javelin::file {

namespace {

using arrow::ArrayData;
using arrow::Type;

const arrow::DataType& StorageOf(const arrow::DataType& type) {
  if (type.id() != Type::EXTENSION) return type;
  return StorageOf(*static_cast<const arrow::ExtensionType&>(type).storage_type());
}

// Types whose arrays have child arrays, one per child field.
bool IsNested(const arrow::DataType& type) {
  switch (type.id()) {
    case Type::STRUCT:
    case Type::LIST:
    case Type::LARGE_LIST:
    case Type::FIXED_SIZE_LIST:
    case Type::MAP: return true;
    default: return false;
  }
}

std::shared_ptr<arrow::DataType> WithChildren(const arrow::DataType& type, const arrow::FieldVector& children) {
  switch (type.id()) {
    case Type::STRUCT: return arrow::struct_(children);
    case Type::LIST: return arrow::list(children[0]);
    case Type::LARGE_LIST: return arrow::large_list(children[0]);
    case Type::FIXED_SIZE_LIST:
      return arrow::fixed_size_list(children[0], static_cast<const arrow::FixedSizeListType&>(type).list_size());
    default:
      return std::make_shared<arrow::MapType>(children[0], static_cast<const arrow::MapType&>(type).keys_sorted());
  }
}

bool SameShape(const arrow::DataType& given, const arrow::DataType& wanted) {
  if (!IsNested(wanted)) return given.Equals(wanted);
  if (given.id() != wanted.id() || given.num_fields() != wanted.num_fields()) return false;
  if (wanted.id() == Type::FIXED_SIZE_LIST) {
    return static_cast<const arrow::FixedSizeListType&>(given).list_size() ==
           static_cast<const arrow::FixedSizeListType&>(wanted).list_size();
  }
  if (wanted.id() != Type::STRUCT) return true;
  for (int i = 0; i < wanted.num_fields(); ++i) {
    if (given.field(i)->name() != wanted.field(i)->name()) return false;
  }
  return true;
}

// Child slots [first, end) that belong to the rows of a list-like parent.
template <typename Offset>
std::pair<int64_t, int64_t> OffsetRange(const ArrayData& parent) {
  const Offset* offsets = parent.GetValues<Offset>(1);
  if (parent.length == 0 || offsets == nullptr) return {0, 0};
  return {offsets[0], offsets[parent.length]};
}

std::pair<int64_t, int64_t> ChildRange(const ArrayData& parent) {
  switch (parent.type->id()) {
    case Type::LARGE_LIST: return OffsetRange<int64_t>(parent);
    case Type::LIST:
    case Type::MAP: return OffsetRange<int32_t>(parent);
    case Type::FIXED_SIZE_LIST: {
      int64_t size = static_cast<const arrow::FixedSizeListType&>(*parent.type).list_size();
      return {parent.offset * size, (parent.offset + parent.length) * size};
    }
    default: return {parent.offset, parent.offset + parent.length};
  }
}

// True if a child slot is null although its parent's row is there. A null parent of a list may still own slots; a null
// in those counts too, because nothing well made puts one there.
bool HasForbiddenNull(const ArrayData& parent, const ArrayData& child) {
  if (child.GetNullCount() == 0) return false;
  auto [first, end] = ChildRange(parent);
  bool row_per_slot = parent.type->id() == Type::STRUCT;
  for (int64_t slot = first; slot < end; ++slot) {
    if (child.IsValid(slot)) continue;
    if (!row_per_slot || parent.IsValid(slot - first)) return true;
  }
  return false;
}

}  // namespace

std::shared_ptr<arrow::Field> WithoutExtensions(const std::shared_ptr<arrow::Field>& field) {
  const arrow::DataType& type = *field->type();
  if (type.id() == Type::EXTENSION) {
    const auto& extension = static_cast<const arrow::ExtensionType&>(type);
    auto metadata = arrow::key_value_metadata(
        {{"ARROW:extension:name", extension.extension_name()}, {"ARROW:extension:metadata", extension.Serialize()}});
    return WithoutExtensions(field->WithType(extension.storage_type())->WithMergedMetadata(metadata));
  }
  if (!IsNested(type)) return field;
  arrow::FieldVector children;
  bool changed = false;
  for (const auto& child : type.fields()) {
    children.push_back(WithoutExtensions(child));
    changed |= children.back() != child;
  }
  return changed ? field->WithType(WithChildren(type, children)) : field;
}

arrow::Result<std::shared_ptr<ArrayData>> ShapeArray(const ArrayData& data, const arrow::Field& target,
                                                     const std::string& path) {
  const arrow::DataType& wanted = *target.type();
  const arrow::DataType& given = StorageOf(*data.type);
  if (!SameShape(given, StorageOf(wanted))) {
    return InvalidInput("column '{}' has type {}, the table has {}; cast it to the type of the table", path,
                        data.type->ToString(), wanted.ToString());
  }
  std::shared_ptr<ArrayData> shaped = data.Copy();
  shaped->type = target.type();
  if (!IsNested(wanted)) return shaped;
  for (int i = 0; i < wanted.num_fields(); ++i) {
    const arrow::Field& child = *wanted.field(i);
    std::string child_path = path + "." + child.name();
    ARROW_ASSIGN_OR_RAISE(shaped->child_data[i], ShapeArray(*data.child_data[i], child, child_path));
    if (!child.nullable() && HasForbiddenNull(*shaped, *data.child_data[i])) {
      return InvalidInput("column '{}' has a null, which the table forbids; give every row a value", child_path);
    }
  }
  return shaped;
}

arrow::Status CheckUtf8(const ArrayData& data, const std::string& path) {
  arrow::Status valid;
  if (data.type->id() == Type::STRING) valid = arrow::StringArray(data.Copy()).ValidateUTF8();
  if (data.type->id() == Type::LARGE_STRING) valid = arrow::LargeStringArray(data.Copy()).ValidateUTF8();
  if (!valid.ok())
    return InvalidInput("column '{}' holds text that is no UTF-8 ({}); store other bytes as binary", path,
                        valid.message());
  for (const auto& child : data.child_data) ARROW_RETURN_NOT_OK(CheckUtf8(*child, path));
  return arrow::Status::OK();
}

}  // namespace javelin::file
