#include <algorithm>
#include <map>

#include <arrow/array.h>
#include <arrow/compute/api.h>
#include <arrow/compute/initialize.h>
#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/key_value_metadata.h>

#include "javelin/base/error.h"
#include "javelin/file/array_shape.h"
#include "javelin/file/byte_span_internal.h"
#include "javelin/file/schema_internal.h"

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

// Strings as views, which are stored as plain ones.
bool IsViewOf(const arrow::DataType& given, const arrow::DataType& wanted) {
  return (given.id() == Type::STRING_VIEW && wanted.id() == Type::STRING) ||
         (given.id() == Type::BINARY_VIEW && wanted.id() == Type::BINARY);
}

arrow::Result<std::shared_ptr<ArrayData>> WithoutViews(const ArrayData& views,
                                                       const std::shared_ptr<arrow::DataType>& plain,
                                                       const std::string& path) {
  ARROW_RETURN_NOT_OK(arrow::compute::Initialize());
  const std::shared_ptr<ArrayData> storage = views.Copy();
  storage->type = StorageOf(*views.type).GetSharedPtr();
  const auto cast = arrow::compute::Cast(arrow::Datum(storage), plain);
  if (!cast.ok()) return AsKind(cast.status(), ErrorKind::kInvalidInput, "column '" + path + "' holds views");
  return cast->array();
}

bool SameShape(const arrow::DataType& given, const arrow::DataType& wanted) {
  if (given.id() == Type::DICTIONARY && wanted.id() == Type::DICTIONARY) {  // ordered or not
    const auto& a = static_cast<const arrow::DictionaryType&>(given);
    const auto& b = static_cast<const arrow::DictionaryType&>(wanted);
    return a.index_type()->Equals(b.index_type()) && StorageOf(*a.value_type()).Equals(b.value_type());
  }
  if (!IsNested(wanted)) return given.Equals(wanted) || IsViewOf(given, wanted);
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

// A struct without fields, or one around such.
bool HoldsNothing(const arrow::DataType& type) {
  if (type.id() != Type::STRUCT) return false;
  if (type.num_fields() == 0) return true;
  return std::any_of(type.fields().begin(), type.fields().end(),
                     [](const auto& field) { return HoldsNothing(*field->type()); });
}

// The arrays around one, from the inside.
struct Parents {
  const ArrayData* array = nullptr;
  bool is_packed = false;  // a struct of which only the whole can be null, or inside one
  const Parents* outer = nullptr;
};

bool IsPacked(const arrow::Field& field) {
  if (field.type()->id() != Type::STRUCT || field.metadata() == nullptr) return false;
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : field.metadata()->sorted_pairs()) metadata.emplace(key, value);
  return AsksForPacking(metadata);
}

template <typename Offset>
int64_t ListOf(const ArrayData& parent, int64_t slot) {
  const Offset* offsets = parent.GetValues<Offset>(1);
  return std::upper_bound(offsets, offsets + parent.length + 1, slot) - offsets - 1;
}

// The row of the parent that a slot of its child belongs to; may lie outside of its rows.
int64_t ParentRow(const ArrayData& parent, int64_t slot) {
  switch (parent.type->id()) {
    case Type::LARGE_LIST: return ListOf<int64_t>(parent, slot);
    case Type::LIST:
    case Type::MAP: return ListOf<int32_t>(parent, slot);
    case Type::FIXED_SIZE_LIST:
      return slot / static_cast<const arrow::FixedSizeListType&>(*parent.type).list_size() - parent.offset;
    default: return slot - parent.offset;
  }
}

// True for a slot that no row reaches, or only one that is null somewhere above it.
bool IsHidden(const Parents* parents, int64_t slot) {
  for (; parents != nullptr; parents = parents->outer) {
    const ArrayData& parent = *parents->array;
    if (parent.length == 0) return true;
    slot = ParentRow(parent, slot);
    if (slot < 0 || slot >= parent.length || parent.IsNull(slot)) return true;
  }
  return false;
}

// True if a slot is null that its rows reach. `around`: the parent first.
bool HasVisibleNull(const ArrayData& child, const Parents& around) {
  if (child.GetNullCount() == 0) return false;
  const auto [first, end] = ChildRange(*around.array);
  for (int64_t slot = first; slot < end; ++slot) {
    if (child.IsNull(slot) && !IsHidden(&around, slot)) return true;
  }
  return false;
}

// Leaves every valid index standing for an item that is there and not null.
arrow::Status ShapeDictionary(ArrayData& data, const Parents* parents, const std::string& path) {
  const ArrayData& items = *data.dictionary;
  const auto width =
      static_cast<unsigned>(static_cast<const arrow::DictionaryType&>(*data.type).index_type()->byte_width());
  std::shared_ptr<arrow::Buffer> validity;
  for (int64_t i = 0; i < data.length; ++i) {
    if (!data.IsValid(i)) continue;
    const auto at = static_cast<uint64_t>(data.offset + i);
    const uint64_t index = LoadUnsigned(data.buffers[1]->data() + at * width, width);
    const bool outside = index >= static_cast<uint64_t>(items.length);
    // Builders put zeros under nulls, also where there is no item.
    if (outside && !IsHidden(parents, i))
      return InvalidInput("column '{}' has an index outside of its dictionary of {} items", path, items.length);
    if (!outside && items.IsValid(static_cast<int64_t>(index))) continue;
    if (validity == nullptr) {
      ARROW_ASSIGN_OR_RAISE(validity, arrow::AllocateEmptyBitmap(data.offset + data.length));
      for (int64_t k = 0; k < data.length; ++k)
        arrow::bit_util::SetBitTo(validity->mutable_data(), data.offset + k, data.IsValid(k));
    }
    arrow::bit_util::ClearBit(validity->mutable_data(), data.offset + i);
  }
  if (validity == nullptr) return arrow::Status::OK();
  data.buffers[0] = std::move(validity);
  data.null_count = arrow::kUnknownNullCount;
  return arrow::Status::OK();
}

arrow::Result<std::shared_ptr<ArrayData>> Shape(const ArrayData& data, const arrow::Field& target,
                                                const Parents* parents, const std::string& path) {
  const arrow::DataType& wanted = *target.type();
  const arrow::DataType& given = StorageOf(*data.type);
  if (!SameShape(given, StorageOf(wanted))) {
    return InvalidInput("column '{}' has type {}, the table has {}; cast it to the type of the table", path,
                        data.type->ToString(), wanted.ToString());
  }
  if (IsViewOf(given, wanted)) return WithoutViews(data, target.type(), path);
  std::shared_ptr<ArrayData> shaped = data.Copy();
  shaped->type = target.type();
  if (wanted.id() == Type::DICTIONARY) ARROW_RETURN_NOT_OK(ShapeDictionary(*shaped, parents, path));
  if (!IsNested(wanted)) return shaped;
  if (parents == nullptr && HoldsNothing(wanted) && shaped->GetNullCount() > 0)
    return InvalidInput("column '{}' has a null, which a struct without fields forbids; give every row a value", path);
  const bool is_packed = IsPacked(target) || (parents != nullptr && parents->is_packed);
  const Parents around{shaped.get(), is_packed, parents};
  for (int i = 0; i < wanted.num_fields(); ++i) {
    const arrow::Field& child = *wanted.field(i);
    std::string child_path = path + "." + child.name();
    ARROW_ASSIGN_OR_RAISE(shaped->child_data[i], Shape(*data.child_data[i], child, &around, child_path));
    const ArrayData& inside = *shaped->child_data[i];
    if (!child.nullable() && HasForbiddenNull(*shaped, inside))
      return InvalidInput("column '{}' has a null, which the table forbids; give every row a value", child_path);
    if ((is_packed || HoldsNothing(*child.type())) && HasVisibleNull(inside, around)) {
      return InvalidInput("column '{}' has a null, which {} forbids; give every row a value", child_path,
                          is_packed ? "the packed struct around it" : "a struct without fields");
    }
  }
  return shaped;
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
  return Shape(data, target, /*parents=*/nullptr, path);
}

arrow::Status CheckUtf8(const ArrayData& data, const std::string& path) {
  arrow::Status valid;
  if (data.type->id() == Type::STRING) valid = arrow::StringArray(data.Copy()).ValidateUTF8();
  if (data.type->id() == Type::LARGE_STRING) valid = arrow::LargeStringArray(data.Copy()).ValidateUTF8();
  if (!valid.ok())
    return InvalidInput("column '{}' holds text that is no UTF-8 ({}); store other bytes as binary", path,
                        valid.message());
  if (data.dictionary != nullptr) ARROW_RETURN_NOT_OK(CheckUtf8(*data.dictionary, path));
  for (const auto& child : data.child_data) ARROW_RETURN_NOT_OK(CheckUtf8(*child, path));
  return arrow::Status::OK();
}

}  // namespace javelin::file
