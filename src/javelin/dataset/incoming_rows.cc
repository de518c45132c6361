#include "javelin/dataset/incoming_rows_internal.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "javelin/base/error.h"
#include "javelin/file/array_shape.h"
#include "javelin/file/blob_field.h"
#include "javelin/file/blob_input.h"

namespace javelin::internal {

namespace {

// A list of blobs is one of structs, or not, by how they are given.
std::string_view WithoutItems(std::string_view logical_type) {
  constexpr std::string_view kOfStructs = ".struct";
  if (logical_type.ends_with(kOfStructs)) logical_type.remove_suffix(kOfStructs.size());
  return logical_type;
}

// Names, nullability and metadata may differ inside, but not what is stored; names of struct fields are what is stored.
// Blobs, which CheckBlobsFollow knows, may be given as other types.
bool SameStorage(const file::Field& a, const file::Field& b) {
  if (file::BlobKindOf(b) != file::BlobKind::kNone) return true;
  if (file::HoldsBlobs(b) ? WithoutItems(a.logical_type) != WithoutItems(b.logical_type)
                          : a.logical_type != b.logical_type)
    return false;
  if (a.children.size() != b.children.size()) return false;
  for (size_t i = 0; i < a.children.size(); ++i) {
    if (a.logical_type == "struct" && a.children[i].name != b.children[i].name) return false;
    if (!SameStorage(a.children[i], b.children[i])) return false;
  }
  return true;
}

// Of fields of the same storage.
arrow::Status CheckBlobsFollow(const file::Field& given, const file::Field& table) {
  if (file::BlobKindOf(table) != file::BlobKind::kNone) return file::CheckBlobMayFollow(given, table);
  if (!file::HoldsBlobs(table)) return arrow::Status::OK();
  for (size_t i = 0; i < table.children.size(); ++i)
    ARROW_RETURN_NOT_OK(CheckBlobsFollow(given.children[i], table.children[i]));
  return arrow::Status::OK();
}

bool IsJson(const file::Field& field) { return field.logical_type == "json"; }

// JSON is stored as bytes in a form of its own, which arrays of bytes or text do not have by themselves.
arrow::Status OtherType(const file::Field& given, const file::Field& table) {
  const auto name = [](const file::Field& field) { return IsJson(field) ? "lance.json" : field.type->ToString(); };
  return InvalidInput("column '{}' has type {}, the table has {}; {}", table.name, name(given), name(table),
                      IsJson(table) ? "text is not encoded here: give what a read of such a column returns, with the "
                                      "metadata ARROW:extension:name = lance.json of its field"
                                    : "cast it to the type of the table");
}

}  // namespace

arrow::Result<file::Schema> ColumnsGiven(const arrow::Schema& given, const file::Schema& table) {
  ARROW_ASSIGN_OR_RAISE(const file::Schema incoming, file::Schema::FromArrow(given));
  for (const file::Field& field : incoming.fields()) {
    const file::Field* known = table.FindByName(field.name);
    if (known == nullptr)
      return InvalidInput("column '{}' is not in the table; add it to the table first or leave it out", field.name);
    if (!SameStorage(field, *known)) return OtherType(field, *known);
    ARROW_RETURN_NOT_OK(CheckBlobsFollow(field, *known));
  }
  std::vector<file::Field> columns;
  for (const file::Field& field : table.fields()) {
    if (incoming.FindByName(field.name) != nullptr) columns.push_back(field);
  }
  return file::Schema(std::move(columns), table.metadata());
}

arrow::Status CheckNoneMissing(const file::Schema& columns, const file::Schema& table) {
  for (const file::Field& field : table.fields()) {
    if (!field.nullable && columns.FindByName(field.name) == nullptr)
      return InvalidInput("column '{}' is missing and must not be null; give every row a value", field.name);
  }
  return arrow::Status::OK();
}

arrow::Result<file::Schema> ColumnsOfAppend(const arrow::Schema& given, const file::Schema& table) {
  ARROW_ASSIGN_OR_RAISE(file::Schema columns, ColumnsGiven(given, table));
  ARROW_RETURN_NOT_OK(CheckNoneMissing(columns, table));
  return columns;
}

arrow::Result<IncomingRows> IncomingRows::Make(const arrow::Schema& given, const file::Schema& target) {
  IncomingRows rows;
  arrow::FieldVector fields;
  for (const file::Field& field : target.fields()) {
    const int place = given.GetFieldIndex(field.name);
    if (place < 0) return Internal("column '{}' is not among those given", field.name);
    rows.places_.push_back(place);
    ARROW_ASSIGN_OR_RAISE(fields.emplace_back(), file::BlobInputField(field, *given.field(place)->type()));
  }
  rows.target_ = arrow::schema(std::move(fields));
  return rows;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> IncomingRows::Shape(const arrow::RecordBatch& batch) const {
  std::vector<std::shared_ptr<arrow::ArrayData>> columns;
  for (int i = 0; i < target_->num_fields(); ++i) {
    const auto& field = target_->field(i);
    const arrow::ArrayData& column = *batch.column_data(places_[static_cast<size_t>(i)]);
    ARROW_ASSIGN_OR_RAISE(auto shaped, file::ShapeArray(column, *field, field->name()));
    ARROW_RETURN_NOT_OK(file::CheckUtf8(*shaped, field->name()));
    if (!field->nullable() && shaped->GetNullCount() != 0)
      return InvalidInput("column '{}' has a null, which the table forbids; give every row a value", field->name());
    columns.push_back(std::move(shaped));
  }
  return arrow::RecordBatch::Make(target_, batch.num_rows(), std::move(columns));
}

}  // namespace javelin::internal
