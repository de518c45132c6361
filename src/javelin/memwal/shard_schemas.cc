#include "javelin/memwal/shard_schemas.h"

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include "javelin/base/error.h"
#include "javelin/file/array_shape.h"
#include "javelin/file/blob_field.h"
#include "javelin/file/data_file_writer.h"
#include "javelin/file/schema_align.h"
#include "javelin/index/key_encoding.h"
#include "javelin/memwal/column_history.h"

namespace javelin::memwal {

namespace {

file::Field TombstoneField() {
  file::Field field;
  field.name = std::string(kTombstoneColumn);
  field.logical_type = "bool";
  field.type = arrow::boolean();
  return field;
}

arrow::Result<std::vector<int>> KeyColumns(const file::Schema& schema) {
  std::vector<int> columns;
  for (const file::Field* key : schema.PrimaryKey()) {
    const auto& fields = schema.fields();
    auto found =
        std::find_if(fields.begin(), fields.end(), [&](const file::Field& field) { return field.id == key->id; });
    if (found == fields.end()) {
      return InvalidInput("primary key column '{}' lies inside another column; shards need top-level key columns",
                          key->name);
    }
    if (!index::IsKeyType(*key->type)) {
      return InvalidInput(
          "primary key column '{}' has type {}: unsupported type for hashing; use integers, booleans, strings or "
          "binary",
          key->name, key->type->ToString());
    }
    columns.push_back(static_cast<int>(found - fields.begin()));
  }
  return columns;
}

arrow::Status CheckNoNull(const arrow::ArrayData& data, const std::string& name) {
  if (data.GetNullCount() == 0) return arrow::Status::OK();
  return InvalidInput("column '{}' has {} null values, which the table forbids; give every row a value", name,
                      data.GetNullCount());
}

// Arrow's own array of nulls lends one buffer to all of its parts, so that offsets of no lists have a size that is none
// of offsets. Who reads the log takes buffers at their word; the released peer ends its process over it.
arrow::Result<std::shared_ptr<arrow::ArrayData>> Nulls(const std::shared_ptr<arrow::DataType>& type, int64_t length) {
  std::unique_ptr<arrow::ArrayBuilder> builder;
  ARROW_RETURN_NOT_OK(arrow::MakeBuilderExactIndex(arrow::default_memory_pool(), type, &builder));
  ARROW_RETURN_NOT_OK(builder->AppendNulls(length));
  ARROW_ASSIGN_OR_RAISE(const auto nulls, builder->Finish());
  return nulls->data();
}

// NotSupported: a field whose rows shards cannot bring together.
arrow::Status CheckFields(const std::vector<file::Field>& fields) {
  for (const file::Field& field : fields) {
    if (file::BlobKindOf(field) != file::BlobKind::kNone)
      return NotSupported("'{}' is a column of blobs, which shards do not hold", field.name);
    if (field.type->id() == arrow::Type::STRUCT && field.children.empty())
      return NotSupported("'{}' is a struct without fields, which cannot be null as it would be in deleted rows",
                          field.name);
    if (field.logical_type.starts_with("fixed_size_list:struct")) {
      return NotSupported(
          "'{}' is a fixed-size list of structs, which data files cannot hold beside other columns; make it a list",
          field.name);
    }
    if (field.type->id() == arrow::Type::DICTIONARY &&
        static_cast<const arrow::DictionaryType&>(*field.type).index_type()->byte_width() < 4) {
      return NotSupported(
          "'{}' is a dictionary with indices of less than 32 bits; rows of many puts come to share one dictionary, for "
          "which they are too few: use 32 bits",
          field.name);
    }
    ARROW_RETURN_NOT_OK(CheckFields(field.children));
  }
  return arrow::Status::OK();
}

bool SameColumnNames(const arrow::Schema& batch, const arrow::Schema& table) {
  return std::equal(batch.fields().begin(), batch.fields().end(), table.fields().begin(), table.fields().end(),
                    [](const auto& given, const auto& expected) { return given->name() == expected->name(); });
}

// A writer keeps the columns that it began with until it is told.
constexpr std::string_view kEvolveHint = " (if the columns of the table were changed since, evolve the writer first)";

// What keeps the columns of a batch from being those of the table, each once, in the same order.
arrow::Status ColumnsDiffer(const arrow::Schema& batch, const arrow::Schema& table) {
  for (const std::string& name : table.field_names()) {
    if (!batch.GetAllFieldIndices(name).empty()) continue;
    return InvalidInput(
        "column '{}' of the table is missing from the batch; give every column, with nulls where a row has no value{}",
        name, kEvolveHint);
  }
  const std::vector<std::string> given = batch.field_names();
  for (const std::string& name : given) {
    if (table.GetFieldIndex(name) < 0)
      return InvalidInput("column '{}' of the batch does not exist in the table; leave it out{}", name, kEvolveHint);
    if (std::count(given.begin(), given.end(), name) > 1)
      return InvalidInput("column '{}' is in the batch more than once; give it once", name);
  }
  int first = 0;
  while (given[first] == table.field(first)->name()) ++first;
  return InvalidInput(
      "column {} of the batch is '{}', the table has '{}' there; give the columns in the order of the table: {}", first,
      given[first], table.field(first)->name(), fmt::join(table.field_names(), ", "));
}

arrow::Result<std::shared_ptr<arrow::Array>> TombstoneValues(bool value, int64_t rows) {
  return arrow::MakeArrayFromScalar(arrow::BooleanScalar(value), rows);
}

}  // namespace

arrow::Status CheckStorable(const file::Schema& table, file::FileVersion version) {
  ARROW_RETURN_NOT_OK(file::CheckWritable(table, version));
  return CheckFields(table.fields());
}

arrow::Result<ShardSchemas> ShardSchemas::Make(const file::Schema& table_schema) {
  if (table_schema.FindByName(kTombstoneColumn) != nullptr) {
    return InvalidInput(
        "a table with a column named '{}' cannot have shards: the name marks deleted rows; rename the column",
        kTombstoneColumn);
  }
  ShardSchemas schemas;
  ARROW_ASSIGN_OR_RAISE(schemas.key_columns_, KeyColumns(table_schema));
  schemas.logical_ = table_schema.ToArrow();

  // A tombstone has null everywhere but in the key, so all other columns must be able to hold one.
  std::vector<file::Field> fields = table_schema.fields();
  for (size_t i = 0; i < fields.size(); ++i) {
    bool is_key = std::find(schemas.key_columns_.begin(), schemas.key_columns_.end(), i) != schemas.key_columns_.end();
    fields[i].nullable = !is_key;
  }
  auto with_ids = file::Schema(fields, table_schema.metadata()).ToArrowWithIds();
  auto tombstone = arrow::field(std::string(kTombstoneColumn), arrow::boolean(), /*nullable=*/false);
  ARROW_ASSIGN_OR_RAISE(schemas.storage_, with_ids->AddField(with_ids->num_fields(), tombstone));
  fields.push_back(TombstoneField());
  schemas.storage_fields_ = file::Schema(std::move(fields), table_schema.metadata());
  return schemas;
}

bool operator==(const ShardSchemas& a, const ShardSchemas& b) {
  return a.storage_fields_ == b.storage_fields_ && a.logical_->Equals(*b.logical_, /*check_metadata=*/true);
}

arrow::Status ShardSchemas::CheckSuccessor(const ShardSchemas& next) const {
  const auto ids = [](const ShardSchemas& schemas) {
    std::vector<FieldId> key;
    for (const int column : schemas.key_columns_) key.push_back(schemas.storage_fields_.fields()[column].id);
    return key;
  };
  if (ids(*this) != ids(next)) {
    return InvalidInput("the primary key of the table was changed; rows of this shard are known by the old one");
  }
  if (!HaveColumnLeft(next.storage_fields_, NamesOf(storage_fields_)))
    return InvalidInput("no column of the table is left of those that rows of this shard have");
  for (int i = 0; i < next.logical_->num_fields(); ++i) {
    if (next.logical_->field(i)->nullable()) continue;
    const file::Field* before = storage_fields_.FindById(next.storage_fields_.fields()[i].id);
    if (before == nullptr || logical_->GetFieldByName(before->name)->nullable()) {
      return InvalidInput(
          "column '{}' of the table must not be null now, but rows of this shard may have no value there",
          next.logical_->field(i)->name());
    }
  }
  file::AlignOptions options;
  options.defaults[std::string(kTombstoneColumn)] = std::make_shared<arrow::BooleanScalar>(false);
  return file::SchemaAlignment::Make(*storage_, next.storage_fields_, options).status();
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ShardSchemas::ShapePut(const arrow::RecordBatch& batch) const {
  ARROW_RETURN_NOT_OK(AsKind(batch.Validate(), ErrorKind::kInvalidInput, "the batch is not valid"));
  if (!SameColumnNames(*batch.schema(), *logical_)) return ColumnsDiffer(*batch.schema(), *logical_);
  std::vector<std::shared_ptr<arrow::ArrayData>> columns;
  for (int i = 0; i < batch.num_columns(); ++i) {
    const arrow::Field& expected = *logical_->field(i);
    ARROW_ASSIGN_OR_RAISE(auto column, file::ShapeArray(*batch.column_data(i), *storage_->field(i), expected.name()));
    ARROW_RETURN_NOT_OK(file::CheckUtf8(*column, expected.name()));
    if (!expected.nullable()) ARROW_RETURN_NOT_OK(CheckNoNull(*column, expected.name()));
    columns.push_back(std::move(column));
  }
  ARROW_ASSIGN_OR_RAISE(auto tombstones, TombstoneValues(false, batch.num_rows()));
  columns.push_back(tombstones->data());
  return arrow::RecordBatch::Make(storage_, batch.num_rows(), std::move(columns));
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ShardSchemas::ShapeDelete(const arrow::RecordBatch& keys) const {
  if (!has_key()) {
    return InvalidInput(
        "delete requires a primary key, and this table has none; create the table with the field metadata {} = true on "
        "the columns of its key",
        file::kPrimaryKeyMetadata);
  }
  ARROW_RETURN_NOT_OK(AsKind(keys.Validate(), ErrorKind::kInvalidInput, "the batch of keys is not valid"));
  std::vector<std::shared_ptr<arrow::ArrayData>> columns(storage_->num_fields());
  for (int key : key_columns_) {
    const arrow::Field& expected = *storage_->field(key);
    std::vector<int> found = keys.schema()->GetAllFieldIndices(expected.name());
    if (found.size() != 1) {
      return InvalidInput("the batch of keys has the key column '{}' {} times; give every key column exactly once",
                          expected.name(), found.size());
    }
    ARROW_ASSIGN_OR_RAISE(columns[key], file::ShapeArray(*keys.column_data(found[0]), expected, expected.name()));
    ARROW_RETURN_NOT_OK(file::CheckUtf8(*columns[key], expected.name()));
    ARROW_RETURN_NOT_OK(CheckNoNull(*columns[key], expected.name()));
  }
  for (int i = 0; i + 1 < storage_->num_fields(); ++i) {
    if (columns[i] != nullptr) continue;
    ARROW_ASSIGN_OR_RAISE(columns[i], Nulls(storage_->field(i)->type(), keys.num_rows()));
  }
  ARROW_ASSIGN_OR_RAISE(auto tombstones, TombstoneValues(true, keys.num_rows()));
  columns.back() = tombstones->data();
  return arrow::RecordBatch::Make(storage_, keys.num_rows(), std::move(columns));
}

}  // namespace javelin::memwal
