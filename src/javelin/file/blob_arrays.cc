#include "javelin/file/blob_arrays.h"

#include <algorithm>
#include <numeric>

#include <arrow/type.h>
#include <arrow/util/bitmap_ops.h>

#include "javelin/base/error.h"
#include "javelin/file/blob_field.h"
#include "javelin/file/schema_internal.h"

namespace javelin::file {

namespace {

arrow::Status NotInThere(const Field& field) {
  return NotSupported(
      "blobs inside column '{}' of type {} are neither read nor written; they may lie in structs and lists", field.name,
      field.type->ToString());
}

BlobRows RowsOfFields(const arrow::StructArray& structs, const BlobRows& rows) {
  BlobRows of_fields = rows;
  for (int64_t i = 0; i < structs.length() && structs.null_count() > 0; ++i) {
    if (structs.IsNull(i)) of_fields[static_cast<size_t>(i)] = kNoRow;
  }
  return of_fields;
}

// The items of the lists, and nothing before or behind them.
template <typename ListArray>
std::shared_ptr<arrow::Array> ItemsOf(const ListArray& lists) {
  const auto first = lists.value_offset(0);
  return lists.values()->Slice(first, lists.value_offset(lists.length()) - first);
}

template <typename ListArray>
BlobRows RowsOfItems(const ListArray& lists, const BlobRows& rows) {
  const auto first = lists.value_offset(0);
  BlobRows of_items(static_cast<size_t>(lists.value_offset(lists.length()) - first), kNoRow);
  for (int64_t i = 0; i < lists.length(); ++i) {
    if (lists.IsNull(i)) continue;
    std::fill_n(of_items.begin() + (lists.value_offset(i) - first), lists.value_length(i),
                rows[static_cast<size_t>(i)]);
  }
  return of_items;
}

template <typename ListArray>
arrow::Status VisitItems(const Field& field, const arrow::Array& array, const BlobRows& rows,
                         const VisitBlobArray& visit) {
  const auto& lists = static_cast<const ListArray&>(array);
  return VisitBlobArrays(field.children[0], *ItemsOf(lists), RowsOfItems(lists, rows), visit);
}

// Without an offset; null if nothing is null.
arrow::Result<std::shared_ptr<arrow::Buffer>> ValidityOf(const arrow::Array& array, arrow::MemoryPool* pool) {
  if (array.null_count() == 0) return nullptr;
  if (array.offset() == 0) return array.null_bitmap();
  return arrow::internal::CopyBitmap(pool, array.null_bitmap_data(), array.offset(), array.length());
}

// With the blob fields of some kinds, at any depth, as they are stored.
Field Store(const Field& field, bool also_v1) {
  if (!HoldsBlobs(field)) return field;
  const BlobKind kind = BlobKindOf(field);
  if (kind == BlobKind::kV1 && !also_v1) return field;
  if (kind != BlobKind::kNone) return StoredBlob(field);
  Field stored = field;
  for (Field& child : stored.children) child = Store(child, also_v1);
  const auto type = BuildType(stored.logical_type, stored.children);
  if (!type.ok()) return field;  // blobs that are not written: a map of them
  stored.type = *type;
  return stored;
}

class Replacement {
 public:
  Replacement(const ReplaceBlobArray& replace, arrow::MemoryPool* pool) : replace_(replace), pool_(pool) {}

  arrow::Result<ArrayOfField> Run(const Field& field, const ArrayOfField& given, const BlobRows& rows) const {
    if (BlobKindOf(field) != BlobKind::kNone) return replace_(field, given, rows);
    if (!HoldsBlobs(field)) return given;
    switch (given.array->type_id()) {
      case arrow::Type::STRUCT: return Structs(field, given, rows);
      case arrow::Type::LIST: return Lists<arrow::ListArray>(field, given, rows);
      case arrow::Type::LARGE_LIST: return Lists<arrow::LargeListArray>(field, given, rows);
      default: return NotInThere(field);
    }
  }

 private:
  arrow::Result<ArrayOfField> Structs(const Field& field, const ArrayOfField& given, const BlobRows& rows) const {
    const auto& structs = static_cast<const arrow::StructArray&>(*given.array);
    if (structs.num_fields() != static_cast<int>(field.children.size())) return NotInThere(field);
    const BlobRows of_fields = RowsOfFields(structs, rows);
    arrow::FieldVector fields;
    arrow::ArrayVector arrays;
    for (int i = 0; i < structs.num_fields(); ++i) {
      ARROW_ASSIGN_OR_RAISE(ArrayOfField made, Run(field.children[static_cast<size_t>(i)],
                                                   {structs.type()->field(i), structs.field(i)}, of_fields));
      fields.push_back(std::move(made.field));
      arrays.push_back(std::move(made.array));
    }
    ARROW_ASSIGN_OR_RAISE(auto validity, ValidityOf(structs, pool_));
    auto type = arrow::struct_(std::move(fields));
    return ArrayOfField{given.field->WithType(type),
                        std::make_shared<arrow::StructArray>(type, structs.length(), std::move(arrays),
                                                             std::move(validity), structs.null_count())};
  }

  template <typename ListArray>
  arrow::Result<ArrayOfField> Lists(const Field& field, const ArrayOfField& given, const BlobRows& rows) const {
    using Type = typename ListArray::TypeClass;
    using Offset = typename ListArray::offset_type;
    const auto& lists = static_cast<const ListArray&>(*given.array);
    const auto& item = static_cast<const Type&>(*lists.type()).value_field();
    ARROW_ASSIGN_OR_RAISE(ArrayOfField items, Run(field.children[0], {item, ItemsOf(lists)}, RowsOfItems(lists, rows)));
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> offsets,
                          arrow::AllocateBuffer((lists.length() + 1) * static_cast<int64_t>(sizeof(Offset)), pool_));
    auto* const target = reinterpret_cast<Offset*>(offsets->mutable_data());
    for (int64_t i = 0; i <= lists.length(); ++i) target[i] = lists.value_offset(i) - lists.value_offset(0);
    ARROW_ASSIGN_OR_RAISE(auto validity, ValidityOf(lists, pool_));
    auto type = std::make_shared<Type>(std::move(items.field));
    return ArrayOfField{given.field->WithType(type),
                        std::make_shared<ListArray>(type, lists.length(), std::move(offsets), std::move(items.array),
                                                    std::move(validity), lists.null_count())};
  }

  const ReplaceBlobArray& replace_;
  arrow::MemoryPool* const pool_;
};

}  // namespace

Field StoreBlobs(const Field& field) { return Store(field, /*also_v1=*/true); }

Field FieldOfFile(const Field& field) { return Store(field, /*also_v1=*/false); }

std::shared_ptr<arrow::Field> FieldOfBlobBytes(const Field& field) {
  if (BlobKindOf(field) != BlobKind::kNone) return BlobBytesField(field);
  const auto plain = ToArrowField(field);
  if (!HoldsBlobs(field)) return plain;
  arrow::FieldVector children;
  for (const Field& child : field.children) children.push_back(FieldOfBlobBytes(child));
  switch (plain->type()->id()) {
    case arrow::Type::STRUCT: return plain->WithType(arrow::struct_(std::move(children)));
    case arrow::Type::LIST: return plain->WithType(arrow::list(std::move(children[0])));
    case arrow::Type::LARGE_LIST: return plain->WithType(arrow::large_list(std::move(children[0])));
    default: return plain;  // blobs that are neither read nor written
  }
}

BlobRows AllRows(int64_t count) {
  BlobRows rows(static_cast<size_t>(count));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

arrow::Status VisitBlobArrays(const Field& field, const arrow::Array& array, const BlobRows& rows,
                              const VisitBlobArray& visit) {
  if (BlobKindOf(field) != BlobKind::kNone) return visit(field, array, rows);
  if (!HoldsBlobs(field)) return arrow::Status::OK();
  switch (array.type_id()) {
    case arrow::Type::STRUCT: {
      const auto& structs = static_cast<const arrow::StructArray&>(array);
      if (structs.num_fields() != static_cast<int>(field.children.size())) return NotInThere(field);
      const BlobRows of_fields = RowsOfFields(structs, rows);
      for (int i = 0; i < structs.num_fields(); ++i)
        ARROW_RETURN_NOT_OK(
            VisitBlobArrays(field.children[static_cast<size_t>(i)], *structs.field(i), of_fields, visit));
      return arrow::Status::OK();
    }
    case arrow::Type::LIST: return VisitItems<arrow::ListArray>(field, array, rows, visit);
    case arrow::Type::LARGE_LIST: return VisitItems<arrow::LargeListArray>(field, array, rows, visit);
    default: return NotInThere(field);
  }
}

arrow::Result<ArrayOfField> ReplaceBlobArrays(const Field& field, const ArrayOfField& given, const BlobRows& rows,
                                              const ReplaceBlobArray& replace, arrow::MemoryPool* pool) {
  return Replacement(replace, pool).Run(field, given, rows);
}

}  // namespace javelin::file
