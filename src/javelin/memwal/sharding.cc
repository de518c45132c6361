#include "javelin/memwal/sharding.h"

#include <charconv>
#include <cstring>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include "javelin/base/error.h"
#include "javelin/file/pick_rows.h"
#include "javelin/memwal/bucket_hash.h"

namespace javelin::memwal {

namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;

struct Evaluated {
  ArrayPtr values;
  bool nullable = false;
};

// The struct child as a column of its own: rows of a null parent are null.
arrow::Result<Evaluated> Child(const Evaluated& parent, std::string_view name, const std::string& path) {
  if (parent.values->type_id() != arrow::Type::STRUCT)
    return InvalidInput("sharding column '{}' is not in the rows: '{}' has no parent of type struct", path, name);
  const auto& type = static_cast<const arrow::StructType&>(*parent.values->type());
  const int index = type.GetFieldIndex(std::string(name));
  if (index < 0) return InvalidInput("sharding column '{}' is not in the rows; add it", path);
  ARROW_ASSIGN_OR_RAISE(auto values, static_cast<const arrow::StructArray&>(*parent.values).GetFlattenedField(index));
  return Evaluated{std::move(values), parent.nullable || type.field(index)->nullable()};
}

// A column by dotted path. A top-level column may itself have a dot in its name, as rows from elsewhere do.
arrow::Result<Evaluated> FindColumn(const arrow::RecordBatch& batch, const std::string& path) {
  const auto top_level = [&](const std::string& name) -> arrow::Result<Evaluated> {
    const auto found = batch.schema()->GetAllFieldIndices(name);
    if (found.size() > 1) return InvalidInput("the rows hold the sharding column '{}' {} times", name, found.size());
    if (found.empty()) return InvalidInput("sharding column '{}' is not in the rows; add it", path);
    return Evaluated{batch.column(found[0]), batch.schema()->field(found[0])->nullable()};
  };
  size_t dot = path.find('.');
  if (dot == std::string::npos || !batch.schema()->GetAllFieldIndices(path).empty()) return top_level(path);
  ARROW_ASSIGN_OR_RAISE(Evaluated found, top_level(path.substr(0, dot)));
  while (dot != std::string::npos) {
    const size_t end = path.find('.', dot + 1);
    const size_t length = end == std::string::npos ? end : end - dot - 1;
    ARROW_ASSIGN_OR_RAISE(found, Child(found, std::string_view(path).substr(dot + 1, length), path));
    dot = end;
  }
  return found;
}

// The dotted path of a field; empty if the schema has no such field.
std::string PathOf(const std::vector<file::Field>& fields, FieldId id) {
  for (const file::Field& field : fields) {
    if (field.id == id) return field.name;
    const std::string below = PathOf(field.children, id);
    if (!below.empty()) return field.name + "." + below;
  }
  return "";
}

arrow::Result<std::string> SourceColumn(const table::ShardingField& field, const file::Schema& schema) {
  const auto column = field.parameters.find("column");
  if (column != field.parameters.end()) return column->second;
  if (field.source_ids.size() != 1)
    return InvalidInput("sharding field '{}' has {} source columns; transform '{}' takes one", field.field_id,
                        field.source_ids.size(), *field.transform);
  std::string path = PathOf(schema.fields(), FieldId(field.source_ids.front()));
  if (path.empty())
    return InvalidInput("sharding field '{}' reads field id {}, which the table does not have", field.field_id,
                        field.source_ids.front());
  return path;
}

arrow::Result<uint32_t> BucketCount(const table::ShardingField& field) {
  const auto found = field.parameters.find("num_buckets");
  if (found == field.parameters.end())
    return InvalidInput("sharding field '{}' has no parameter 'num_buckets'", field.field_id);
  std::string_view text = found->second;
  if (text.size() > 1 && text.front() == '+') text.remove_prefix(1);
  uint32_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 1 || count > kMostBuckets)
    return InvalidInput("sharding field '{}' has num_buckets '{}'; it must be a number from 1 to {}", field.field_id,
                        found->second, kMostBuckets);
  return count;
}

arrow::Result<ArrayPtr> Zeros(int64_t rows) {
  arrow::Int32Builder builder;
  ARROW_RETURN_NOT_OK(builder.AppendEmptyValues(rows));
  return builder.Finish();
}

arrow::Result<Evaluated> Evaluate(const table::ShardingField& field, const file::Schema& schema,
                                  const arrow::RecordBatch& batch) {
  if (field.expression.has_value())
    return InvalidInput("sharding field '{}' is an expression ('{}'); only transforms can be evaluated", field.field_id,
                        *field.expression);
  if (field.transform == "unsharded") {
    ARROW_ASSIGN_OR_RAISE(auto zeros, Zeros(batch.num_rows()));
    return Evaluated{std::move(zeros), false};
  }
  const bool bucket = field.transform == "bucket";
  if (!bucket && field.transform != "identity")
    return InvalidInput("sharding field '{}' has transform '{}'; it must be unsharded, identity or bucket",
                        field.field_id, field.transform.value_or(""));
  ARROW_ASSIGN_OR_RAISE(const std::string path, SourceColumn(field, schema));
  uint32_t count = 0;
  if (bucket) {
    ARROW_ASSIGN_OR_RAISE(count, BucketCount(field));
  }
  ARROW_ASSIGN_OR_RAISE(Evaluated source, FindColumn(batch, path));
  const arrow::DataType& type = *source.values->type();
  if (bucket ? !IsBucketType(type) : IdentityTypeName(type).empty())
    return InvalidInput("sharding column '{}' has type {}, which transform '{}' does not take", path, type.ToString(),
                        *field.transform);
  if (!bucket) return source;
  ARROW_ASSIGN_OR_RAISE(auto buckets, EvaluateBucket(*source.values, count));
  return Evaluated{std::move(buckets), false};
}

// The bytes of a value that tell it from the others of its column, and that a shard manifest keeps.
ShardValue ValueAt(const arrow::Array& values, int64_t row) {
  if (values.IsNull(row)) return std::nullopt;
  switch (values.type_id()) {
    case arrow::Type::BOOL: return std::string(1, static_cast<const arrow::BooleanArray&>(values).Value(row) ? 1 : 0);
    case arrow::Type::STRING: return static_cast<const arrow::StringArray&>(values).GetString(row);
    case arrow::Type::LARGE_STRING: return static_cast<const arrow::LargeStringArray&>(values).GetString(row);
    default: {
      const auto width = static_cast<size_t>(static_cast<const arrow::FixedWidthType&>(*values.type()).bit_width() / 8);
      const auto position = static_cast<size_t>(values.offset() + row);
      return std::string(reinterpret_cast<const char*>(values.data()->buffers[1]->data()) + position * width, width);
    }
  }
}

// The rows with these numbers, ascending; the batch itself if that is all of them.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> TakeRows(const std::shared_ptr<arrow::RecordBatch>& batch,
                                                            const std::vector<int64_t>& rows) {
  const auto count = static_cast<int64_t>(rows.size());
  if (rows.back() - rows.front() + 1 == count) return batch->Slice(rows.front(), count);
  arrow::Int64Builder numbers;
  ARROW_RETURN_NOT_OK(numbers.AppendValues(rows));
  ARROW_ASSIGN_OR_RAISE(const auto indices, numbers.Finish());
  return file::TakeRows(batch, *indices);
}

}  // namespace

std::string_view IdentityTypeName(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::INT8: return "int8";
    case arrow::Type::INT16: return "int16";
    case arrow::Type::INT32: return "int32";
    case arrow::Type::INT64: return "int64";
    case arrow::Type::UINT8: return "uint8";
    case arrow::Type::UINT16: return "uint16";
    case arrow::Type::UINT32: return "uint32";
    case arrow::Type::UINT64: return "uint64";
    case arrow::Type::BOOL: return "boolean";
    case arrow::Type::STRING: return "utf8";
    case arrow::Type::LARGE_STRING: return "large_utf8";
    default: return "";
  }
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> EvaluateShardingSpec(const table::ShardingSpec& spec,
                                                                        const file::Schema& schema,
                                                                        const arrow::RecordBatch& batch) {
  if (spec.fields.empty()) return InvalidInput("sharding spec {} has no field to evaluate", spec.spec_id);
  std::set<std::string> names;
  arrow::FieldVector fields;
  arrow::ArrayVector columns;
  for (const table::ShardingField& field : spec.fields) {
    if (!names.insert(field.field_id).second)
      return InvalidInput("sharding spec {} has two fields '{}'", spec.spec_id, field.field_id);
    ARROW_ASSIGN_OR_RAISE(Evaluated evaluated, Evaluate(field, schema, batch));
    fields.push_back(arrow::field(field.field_id, evaluated.values->type(), evaluated.nullable));
    columns.push_back(std::move(evaluated.values));
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), batch.num_rows(), std::move(columns));
}

arrow::Result<std::vector<ShardRows>> RouteRows(const table::ShardingSpec& spec, const file::Schema& schema,
                                                const std::shared_ptr<arrow::RecordBatch>& batch) {
  ARROW_ASSIGN_OR_RAISE(const auto evaluated, EvaluateShardingSpec(spec, schema, *batch));
  std::map<std::vector<ShardValue>, size_t> known;
  std::vector<std::vector<int64_t>> rows_of;
  std::vector<ShardRows> shards;
  for (int64_t row = 0; row < batch->num_rows(); ++row) {
    std::vector<ShardValue> values;
    for (const auto& column : evaluated->columns()) values.push_back(ValueAt(*column, row));
    const auto [found, is_new] = known.try_emplace(std::move(values), shards.size());
    if (is_new) {
      ShardRows& shard = shards.emplace_back();
      for (size_t i = 0; i < found->first.size(); ++i) shard.values[spec.fields[i].field_id] = found->first[i];
      rows_of.emplace_back();
    }
    rows_of[found->second].push_back(row);
  }
  for (size_t i = 0; i < shards.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(shards[i].rows, TakeRows(batch, rows_of[i]));
  }
  return shards;
}

}  // namespace javelin::memwal
