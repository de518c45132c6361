#include "rows.h"

#include <arrow/api.h>
#include <fmt/format.h>

namespace javelin::simulation {

namespace {

std::string TextOf(int64_t operation, int32_t ordinal) {
  return fmt::format("{}/{}", operation, ordinal) +
         std::string(static_cast<size_t>((operation * 7 + ordinal) % 23), '.');
}

template <typename Builder, typename Value>
void Append(Builder& builder, const Value& value) {
  if (!builder.Append(value).ok()) std::abort();  // out of memory in a test
}

template <typename Builder>
std::shared_ptr<arrow::Array> Finish(Builder& builder) {
  return builder.Finish().ValueOrDie();
}

template <typename ArrayType>
arrow::Result<std::shared_ptr<ArrayType>> Column(const arrow::RecordBatch& batch, const std::string& name,
                                                 arrow::Type::type type) {
  auto column = batch.GetColumnByName(name);
  if (column == nullptr) return arrow::Status::Invalid("no column '", name, "'");
  if (column->type_id() != type)
    return arrow::Status::Invalid("column '", name, "' has type ", column->type()->ToString());
  return std::static_pointer_cast<ArrayType>(column);
}

struct Columns {
  std::shared_ptr<arrow::Int64Array> id, op;
  std::shared_ptr<arrow::Int32Array> ordinal;
  std::shared_ptr<arrow::StringArray> text;

  static arrow::Result<Columns> Of(const arrow::RecordBatch& batch) {
    Columns columns;
    ARROW_ASSIGN_OR_RAISE(columns.id, Column<arrow::Int64Array>(batch, "id", arrow::Type::INT64));
    ARROW_ASSIGN_OR_RAISE(columns.op, Column<arrow::Int64Array>(batch, "op", arrow::Type::INT64));
    ARROW_ASSIGN_OR_RAISE(columns.ordinal, Column<arrow::Int32Array>(batch, "ordinal", arrow::Type::INT32));
    ARROW_ASSIGN_OR_RAISE(columns.text, Column<arrow::StringArray>(batch, "text", arrow::Type::STRING));
    return columns;
  }

  arrow::Result<RowVersion> Version(int64_t row) const {
    if (id->IsNull(row)) return arrow::Status::Invalid("row ", row, " has no key");
    if (op->IsNull(row) || ordinal->IsNull(row) || text->IsNull(row)) {
      return arrow::Status::Invalid("the row of key ", id->Value(row), " has nulls");
    }
    RowVersion version{op->Value(row), ordinal->Value(row)};
    if (text->GetView(row) != TextOf(version.operation, version.ordinal)) {
      return arrow::Status::Invalid("the row of key ", id->Value(row), " says operation ", version.operation, " row ",
                                    version.ordinal, " but its text is '", text->GetString(row), "'");
    }
    return version;
  }
};

arrow::Result<BatchOrigin> TraceDelete(const arrow::RecordBatch& batch, const arrow::BooleanArray& tombstones) {
  ARROW_ASSIGN_OR_RAISE(auto id, Column<arrow::Int64Array>(batch, "id", arrow::Type::INT64));
  BatchOrigin origin;
  origin.is_delete = true;
  for (int64_t row = 0; row < batch.num_rows(); ++row) {
    if (!tombstones.Value(row)) return arrow::Status::Invalid("a batch holds rows and tombstones");
    for (int column = 0; column < batch.num_columns(); ++column) {
      const std::string& name = batch.column_name(column);
      if (name != "id" && name != "_tombstone" && batch.column(column)->IsValid(row)) {
        return arrow::Status::Invalid("a tombstone has a value in column '", name, "'");
      }
    }
    if (id->Value(row) >= 0) origin.keys.push_back(id->Value(row));
  }
  int64_t marker = id->Value(batch.num_rows() - 1);
  if (marker >= 0) return arrow::Status::Invalid("a batch of tombstones does not end in its marker");
  origin.operation = (-marker - 1) / kBatchesOfADelete;
  origin.batch_number = static_cast<int32_t>((-marker - 1) % kBatchesOfADelete);
  return origin;
}

}  // namespace

std::string Describe(const TableState& state) {
  std::string text;
  for (const auto& [key, version] : state) {
    text += fmt::format("{}{}={}/{}", text.empty() ? "" : " ", key, version.operation, version.ordinal);
  }
  return "{" + text + "}";
}

std::shared_ptr<arrow::Schema> TableSchema() {
  auto key = arrow::field("id", arrow::int64(), false,
                          arrow::key_value_metadata({{"lance-schema:unenforced-primary-key", "true"}}));
  return arrow::schema({key, arrow::field("op", arrow::int64()), arrow::field("ordinal", arrow::int32()),
                        arrow::field("text", arrow::utf8())});
}

std::shared_ptr<arrow::RecordBatch> MakePutBatch(int64_t operation, int32_t first_ordinal,
                                                 const std::vector<int64_t>& keys) {
  arrow::Int64Builder id, op;
  arrow::Int32Builder ordinal;
  arrow::StringBuilder text;
  int32_t next = first_ordinal;
  for (int64_t key : keys) {
    Append(id, key);
    Append(op, operation);
    Append(ordinal, next);
    Append(text, TextOf(operation, next));
    ++next;
  }
  return arrow::RecordBatch::Make(TableSchema(), static_cast<int64_t>(keys.size()),
                                  {Finish(id), Finish(op), Finish(ordinal), Finish(text)});
}

std::shared_ptr<arrow::RecordBatch> MakeKeyBatch(const std::vector<int64_t>& keys) {
  arrow::Int64Builder id;
  for (int64_t key : keys) Append(id, key);
  return arrow::RecordBatch::Make(arrow::schema({TableSchema()->field(0)}), static_cast<int64_t>(keys.size()),
                                  {Finish(id)});
}

std::shared_ptr<arrow::RecordBatch> MakeDeleteBatch(int64_t operation, int32_t batch_number,
                                                    const std::vector<int64_t>& keys) {
  std::vector<int64_t> with_marker = keys;
  with_marker.push_back(MarkerKey(operation, batch_number));
  return MakeKeyBatch(with_marker);
}

arrow::Result<BatchOrigin> TraceBatch(const arrow::RecordBatch& batch) {
  if (batch.num_rows() == 0) return arrow::Status::Invalid("a batch without rows");
  ARROW_ASSIGN_OR_RAISE(auto tombstones, Column<arrow::BooleanArray>(batch, "_tombstone", arrow::Type::BOOL));
  if (tombstones->null_count() != 0) return arrow::Status::Invalid("`_tombstone` has nulls");
  if (tombstones->Value(0)) return TraceDelete(batch, *tombstones);
  ARROW_ASSIGN_OR_RAISE(Columns columns, Columns::Of(batch));
  BatchOrigin origin;
  for (int64_t row = 0; row < batch.num_rows(); ++row) {
    if (tombstones->Value(row)) return arrow::Status::Invalid("a batch holds rows and tombstones");
    ARROW_ASSIGN_OR_RAISE(RowVersion version, columns.Version(row));
    if (row == 0) {
      origin.operation = version.operation;
      origin.first_ordinal = version.ordinal;
    } else if (version.operation != origin.operation || version.ordinal != origin.first_ordinal + row) {
      return arrow::Status::Invalid("a batch mixes operations ", origin.operation, " and ", version.operation,
                                    ", or loses the order of rows");
    }
    origin.keys.push_back(columns.id->Value(row));
  }
  return origin;
}

arrow::Status AddRows(const arrow::RecordBatch& rows, TableState* state) {
  ARROW_ASSIGN_OR_RAISE(Columns columns, Columns::Of(rows));
  for (int64_t row = 0; row < rows.num_rows(); ++row) {
    ARROW_ASSIGN_OR_RAISE(RowVersion version, columns.Version(row));
    int64_t key = columns.id->Value(row);
    if (key < 0) return arrow::Status::Invalid("a row with the key of a marker: ", key);
    if (!state->emplace(key, version).second) return arrow::Status::Invalid("key ", key, " comes twice");
  }
  return arrow::Status::OK();
}

}  // namespace javelin::simulation
