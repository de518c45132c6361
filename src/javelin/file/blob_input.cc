#include "javelin/file/blob_input.h"

#include <array>
#include <charconv>

#include <arrow/array.h>
#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "javelin/base/error.h"
#include "javelin/file/blob_arrays.h"
#include "javelin/file/blob_field.h"
#include "javelin/file/logical_type_internal.h"
#include "javelin/file/schema_internal.h"

namespace javelin::file {

namespace {

constexpr std::string_view kInlineMost = "lance-encoding:blob-inline-size-threshold";
constexpr std::string_view kSharedMost = "lance-encoding:blob-dedicated-size-threshold";
constexpr std::string_view kSidecarMost = "lance-encoding:blob-pack-file-size-threshold";

constexpr size_t kShortForm = 2;  // data and uri alone

// data, uri, position, size
std::shared_ptr<arrow::DataType> LongForm() {
  return arrow::struct_({arrow::field("data", arrow::large_binary()), arrow::field("uri", arrow::utf8()),
                         arrow::field("position", arrow::uint64()), arrow::field("size", arrow::uint64())});
}

std::shared_ptr<arrow::DataType> ShortForm() {
  const arrow::FieldVector fields = LongForm()->fields();
  return arrow::struct_({fields.begin(), fields.begin() + kShortForm});
}

// The struct that `type` is a form of; null if it is none.
std::shared_ptr<arrow::DataType> FormOf(const arrow::DataType& type) {
  if (type.id() != arrow::Type::STRUCT) return nullptr;
  auto form = static_cast<size_t>(type.num_fields()) == kShortForm ? ShortForm() : LongForm();
  if (type.num_fields() != form->num_fields()) return nullptr;
  for (int i = 0; i < type.num_fields(); ++i) {
    const arrow::Field& part = *type.field(i);
    const bool must_be_nullable = static_cast<size_t>(i) < kShortForm;
    if (part.name() != form->field(i)->name() || !part.type()->Equals(*form->field(i)->type()) ||
        (must_be_nullable && !part.nullable()))
      return nullptr;
  }
  return form;
}

arrow::Result<uint64_t> SizeOf(const Field& field, std::string_view key, uint64_t otherwise, uint64_t least) {
  const auto found = field.metadata.find(std::string(key));
  if (found == field.metadata.end()) return otherwise;
  const std::string& text = found->second;
  const char* const first = text.data() + (text.starts_with('+') ? 1 : 0);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(first, text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least)
    return InvalidInput("'{}' of column '{}' is '{}'; give a number of bytes from {} on", key, field.name, text, least);
  return value;
}

arrow::Status CheckOne(const arrow::StructArray& values, int64_t row, const std::string& name) {
  const auto has = [&](int part) { return part < values.num_fields() && values.field(part)->IsValid(row); };
  if (has(0) == has(1))
    return InvalidInput("row {} of blob column '{}' must have either `data` or `uri`; for a null give a null struct",
                        row, name);
  if (has(2) != has(3) || (has(2) && !has(1)))
    return InvalidInput("row {} of blob column '{}' has a `position` or `size` that belongs to no `uri`; leave it out",
                        row, name);
  if (has(1))
    return NotSupported("row {} of blob column '{}' is outside of the table, at '{}'; give its bytes as `data`", row,
                        name, static_cast<const arrow::StringArray&>(*values.field(1)).GetView(row));
  return arrow::Status::OK();
}

}  // namespace

arrow::Result<BlobSizes> BlobSizes::Of(const Field& field) {
  BlobSizes sizes;
  ARROW_ASSIGN_OR_RAISE(sizes.inline_most, SizeOf(field, kInlineMost, sizes.inline_most, 0));
  ARROW_ASSIGN_OR_RAISE(sizes.shared_most, SizeOf(field, kSharedMost, sizes.shared_most, 1));
  ARROW_ASSIGN_OR_RAISE(sizes.sidecar_most, SizeOf(field, kSidecarMost, sizes.sidecar_most, 1));
  return sizes;
}

arrow::Result<std::shared_ptr<arrow::DataType>> BlobInputType(const Field& field, const arrow::DataType& given) {
  if (given.id() == arrow::Type::EXTENSION)
    return BlobInputType(field, *static_cast<const arrow::ExtensionType&>(given).storage_type());
  if (given.id() == arrow::Type::LARGE_BINARY) return arrow::large_binary();
  const bool is_v2 = BlobKindOf(field) == BlobKind::kV2;
  if (is_v2 && given.id() == arrow::Type::BINARY) return arrow::binary();
  if (auto form = is_v2 ? FormOf(given) : nullptr) return form;
  return InvalidInput("blob column '{}' cannot be given as {}; give large_binary{}", field.name, given.ToString(),
                      is_v2 ? ", or struct<data: large_binary, uri: string>" : "");
}

arrow::Result<std::shared_ptr<arrow::Field>> BlobInputField(const Field& field, const arrow::DataType& given) {
  auto target = ToArrowField(field);
  if (!HoldsBlobs(field)) return target;
  if (BlobKindOf(field) != BlobKind::kNone) {
    ARROW_ASSIGN_OR_RAISE(auto type, BlobInputType(field, given));
    return target->WithType(std::move(type));
  }
  if (given.id() == arrow::Type::EXTENSION)
    return BlobInputField(field, *static_cast<const arrow::ExtensionType&>(given).storage_type());
  // Where the types differ in more, the array will not fit.
  if (given.id() != target->type()->id() || given.num_fields() != static_cast<int>(field.children.size()))
    return target;
  arrow::FieldVector children;
  for (int i = 0; i < given.num_fields(); ++i) {
    ARROW_ASSIGN_OR_RAISE(children.emplace_back(),
                          BlobInputField(field.children[static_cast<size_t>(i)], *given.field(i)->type()));
  }
  switch (given.id()) {
    case arrow::Type::STRUCT: return target->WithType(arrow::struct_(std::move(children)));
    case arrow::Type::LIST: return target->WithType(arrow::list(std::move(children[0])));
    case arrow::Type::LARGE_LIST: return target->WithType(arrow::large_list(std::move(children[0])));
    default: return target;
  }
}

namespace {

arrow::Status CheckBlobField(const Field& field) {
  const bool is_v2 = BlobKindOf(field) == BlobKind::kV2;
  if (is_v2) ARROW_RETURN_NOT_OK(BlobSizes::Of(field).status());
  if (is_v2 ? FormOf(*field.type) != nullptr : field.type->id() == arrow::Type::LARGE_BINARY)
    return arrow::Status::OK();
  return InvalidInput("blob column '{}' has type {}; it must be {}", field.name, field.type->ToString(),
                      is_v2 ? LongForm()->ToString() : "large_binary");
}

}  // namespace

arrow::Status CheckBlobFields(const Field& field) {
  if (BlobKindOf(field) != BlobKind::kNone) return CheckBlobField(field);
  for (const Field& child : field.children) ARROW_RETURN_NOT_OK(CheckBlobFields(child));
  return arrow::Status::OK();
}

arrow::Status CheckBlobs(const Field& field, const arrow::ArrayData& values) {
  const auto check = [&](const Field& blob, const arrow::Array& array, const BlobRows& rows) -> arrow::Status {
    if (array.type_id() != arrow::Type::STRUCT) return arrow::Status::OK();
    const auto& structs = static_cast<const arrow::StructArray&>(array);
    for (int64_t i = 0; i < structs.length(); ++i) {
      if (rows[static_cast<size_t>(i)] != kNoRow && structs.IsValid(i))
        ARROW_RETURN_NOT_OK(CheckOne(structs, i, blob.name));
    }
    return arrow::Status::OK();
  };
  return VisitBlobArrays(field, *arrow::MakeArray(values.Copy()), AllRows(values.length), check);
}

arrow::Status CheckBlobMayFollow(const Field& given, const Field& table) {
  ARROW_RETURN_NOT_OK(BlobInputType(table, *given.type).status());
  const bool is_v2 = BlobKindOf(table) == BlobKind::kV2;
  const bool is_struct = given.type->id() == arrow::Type::STRUCT;
  const BlobKind mark = BlobKindOf(given);
  const bool fits = is_struct ? mark == BlobKind::kV2 || given.children.size() <= table.children.size()
                              : mark == BlobKind::kV1 || (mark == BlobKind::kNone && !is_v2);
  if (!fits)
    return InvalidInput("column '{}' of type {} is not marked as the blobs that the table has there; give the field {}",
                        given.name, given.type->ToString(),
                        is_struct ? "the extension lance.blob.v2" : "metadata lance-encoding:blob alone");
  if (!is_v2) return arrow::Status::OK();
  ARROW_ASSIGN_OR_RAISE(const BlobSizes sizes, BlobSizes::Of(table));
  const std::array<std::pair<std::string_view, uint64_t>, 3> known = {
      {{kInlineMost, sizes.inline_most}, {kSharedMost, sizes.shared_most}, {kSidecarMost, sizes.sidecar_most}}};
  for (const auto& [key, value] : known) {
    ARROW_ASSIGN_OR_RAISE(const uint64_t wish, SizeOf(given, key, value, 0));
    if (wish != value)
      return InvalidInput("'{}' of column '{}' is {}, the table has {}; leave it out", key, given.name, wish, value);
  }
  return arrow::Status::OK();
}

namespace {

bool IsMarked(const arrow::Field& field) {
  return field.metadata() != nullptr && field.metadata()->Contains(kBlobMetadata);
}

// A field of v1 as one of v2, at any depth.
arrow::Result<std::shared_ptr<arrow::Field>> AsV2(const std::shared_ptr<arrow::Field>& field) {
  const auto& type = field->type();
  if (!IsMarked(*field)) {
    const bool is_list = type->id() == arrow::Type::LIST || type->id() == arrow::Type::LARGE_LIST;
    if (!is_list && type->id() != arrow::Type::STRUCT) return field;
    arrow::FieldVector children;
    for (const auto& child : type->fields()) {
      ARROW_ASSIGN_OR_RAISE(children.emplace_back(), AsV2(child));
    }
    if (children == type->fields()) return field;
    if (!is_list) return field->WithType(arrow::struct_(std::move(children)));
    return field->WithType(type->id() == arrow::Type::LIST ? arrow::list(children[0]) : arrow::large_list(children[0]));
  }
  const bool plain = type->id() == arrow::Type::LARGE_BINARY || type->id() == arrow::Type::BINARY;
  auto form = plain ? ShortForm() : FormOf(*type);
  if (form == nullptr || field->metadata()->Contains(kExtensionNameMetadata))
    return InvalidInput("column '{}' of type {} has metadata '{}', which {}; leave it out", field->name(),
                        type->ToString(), kBlobMetadata,
                        form == nullptr ? "is for large_binary" : "does not go with an extension");
  auto metadata = field->metadata()->Copy();
  ARROW_RETURN_NOT_OK(metadata->Delete(std::string(kBlobMetadata)));
  metadata->Append(std::string(kExtensionNameMetadata), std::string(kBlobExtension));
  return field->WithType(std::move(form))->WithMetadata(std::move(metadata));
}

void NameListAs(const arrow::Field& given, Field& field) {
  constexpr std::string_view kOfStructs = ".struct";
  if (BlobKindOf(field) != BlobKind::kNone || !HoldsBlobs(field)) return;
  for (size_t i = 0; i < field.children.size(); ++i) {
    const arrow::Field& child = *given.type()->field(static_cast<int>(i));
    if (field.logical_type.ends_with(kOfStructs) && child.type()->id() != arrow::Type::STRUCT)
      field.logical_type.resize(field.logical_type.size() - kOfStructs.size());
    NameListAs(child, field.children[i]);
  }
}

}  // namespace

arrow::Result<std::shared_ptr<arrow::Schema>> BlobColumnsOfNewTable(const arrow::Schema& given, bool has_v2) {
  arrow::FieldVector fields = given.fields();
  for (auto& field : fields) {
    if (!has_v2) continue;
    ARROW_ASSIGN_OR_RAISE(field, AsV2(field));
  }
  return arrow::schema(std::move(fields), given.metadata());
}

Schema NameListsAsGiven(const Schema& columns, const arrow::Schema& given) {
  std::vector<Field> fields = columns.fields();
  for (size_t i = 0; i < fields.size(); ++i) NameListAs(*given.field(static_cast<int>(i)), fields[i]);
  return Schema(std::move(fields), columns.metadata());
}

}  // namespace javelin::file
