#include "javelin/dataset/update.h"

#include <algorithm>
#include <set>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>

#include "javelin/base/error.h"
#include "javelin/dataset/blobs.h"
#include "javelin/dataset/conditions_internal.h"
#include "javelin/dataset/row_rewrite_internal.h"
#include "javelin/file/blob_arrays.h"
#include "javelin/file/blob_field.h"

namespace javelin {

namespace internal {
namespace {

using BatchPtr = std::shared_ptr<arrow::RecordBatch>;

// A column and its new value.
struct Assignment {
  const file::Field* field = nullptr;
  int position = 0;  // among the columns of the table
  query::Expression value;
};

arrow::Result<const file::Field*> ColumnToSet(const file::Schema& schema, const std::string& name) {
  const file::Field* field = schema.FindByName(name);
  if (field == nullptr) {
    const size_t dot = name.find('.');
    if (dot != std::string::npos && schema.FindByName(name.substr(0, dot)) != nullptr)
      return NotSupported("'{}' is a field of a column; only whole columns can be set", name);
    return schema.Select({name}).status();
  }
  if (file::HoldsBlobs(*field)) return NotSupported("column '{}' holds blobs, which cannot be set", name);
  return field;
}

// JSON is stored as bytes in a form of its own, which no text of the language makes.
arrow::Status CheckJson(const file::Field& field, const query::Expression& value) {
  if (field.logical_type != "json") return arrow::Status::OK();
  const query::BoundExpression* node = value.root().get();
  while (node->kind == query::BoundKind::kCast) node = node->children[0].get();
  const bool is_null = node->kind == query::BoundKind::kLiteral && !node->literal->is_valid;
  const bool is_same = node->kind == query::BoundKind::kColumn && node->column.id == field.id;
  if (is_null || is_same) return arrow::Status::OK();
  return NotSupported("column '{}' is JSON, which can be set to null only", field.name);
}

arrow::Result<std::vector<Assignment>> Bind(const DatasetState& table, const std::vector<ComputedColumn>& set) {
  if (set.empty()) return InvalidInput("no column to set is given");
  const file::Schema& schema = table.manifest().schema;
  const query::Scope scope = ScopeOf(schema);
  const query::SqlOptions sql = SqlOptionsNow(table.session->runtime());
  std::vector<Assignment> assignments;
  std::set<std::string> seen;
  for (const ComputedColumn& column : set) {
    if (!seen.insert(column.name).second) return InvalidInput("column '{}' is to be set twice", column.name);
    ARROW_ASSIGN_OR_RAISE(const file::Field* field, ColumnToSet(schema, column.name));
    auto value = query::Expression::ParseAs(column.sql, scope, field->type, sql);
    if (!value.ok()) return WithContext(value.status(), fmt::format("column '{}'", column.name));
    ARROW_RETURN_NOT_OK(CheckJson(*field, *value));
    assignments.push_back({field, static_cast<int>(field - schema.fields().data()), *std::move(value)});
  }
  return assignments;
}

// The columns of the table and what is needed besides: where a row lies, what it hands on, what values are made of.
std::vector<std::string> ColumnsToRead(const DatasetState& table, const std::vector<Assignment>& assignments) {
  std::vector<std::string> names;
  for (const file::Field& field : table.manifest().schema.fields()) names.push_back(field.name);
  std::set<std::string> system = {std::string(kRowAddressName)};
  if (table.has_stable_row_ids()) system.insert({std::string(kRowIdName), std::string(kCreatedVersionName)});
  for (const Assignment& assignment : assignments) {
    for (const ColumnPath& path : PathsOf(assignment.value)) {
      if (KindOfName(path[0]) != ColumnKind::kField) system.insert(path[0]);
    }
  }
  names.insert(names.end(), system.begin(), system.end());
  return names;
}

// The rows that are updated, with their new values, and which they were.
class NewVersions final : public arrow::RecordBatchReader {
 public:
  static arrow::Result<std::unique_ptr<NewVersions>> Make(const Dataset& dataset, std::vector<Assignment> assignments,
                                                          const std::optional<std::string>& where) {
    std::unique_ptr<NewVersions> rows(new NewVersions(dataset, std::move(assignments)));
    ARROW_ASSIGN_OR_RAISE(
        const Scanner scanner,
        Scanner::Make(dataset, {.columns = ColumnsToRead(*rows->table_, rows->assignments_), .filter = where}));
    ARROW_ASSIGN_OR_RAISE(rows->rows_, scanner.ToReader());
    return rows;
  }

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  arrow::Status ReadNext(BatchPtr* out) override {
    *out = nullptr;
    if (rest_ == nullptr || rest_->num_rows() == 0) {
      ARROW_RETURN_NOT_OK(rows_->ReadNext(&rest_));
      if (rest_ == nullptr) return arrow::Status::OK();
    }
    int64_t count = rest_->num_rows();
    if (has_blobs_) {
      ARROW_ASSIGN_OR_RAISE(count, RowsThatFitWithBlobs(dataset_, *rest_, ScanOptions{}.batch_bytes));
    }
    const BatchPtr rows = rest_->Slice(0, count);
    rest_ = rest_->Slice(count);
    ARROW_RETURN_NOT_OK(Remember(*rows));
    return WithNewValues(rows).Value(out);
  }

  table::RowsByFragment TakeRows() { return found_.Take(); }
  uint64_t count() const { return count_; }
  const std::vector<table::RowOrigin>& origins() const { return origins_; }

 private:
  NewVersions(const Dataset& dataset, std::vector<Assignment> assignments)
      : dataset_(dataset),
        table_(DatasetState::Of(dataset)),
        assignments_(std::move(assignments)),
        found_(*table_->session->resources().memory),
        memory_(*table_->session->resources().memory, sizeof(table::RowOrigin), "ids of the rows of an update") {
    // As they are given: blobs as bytes.
    arrow::FieldVector fields;
    for (const file::Field& field : table_->manifest().schema.fields()) {
      has_blobs_ = has_blobs_ || file::HoldsBlobs(field);
      fields.push_back(file::FieldOfBlobBytes(field));
    }
    schema_ = arrow::schema(std::move(fields));
  }

  arrow::Status Remember(const arrow::RecordBatch& rows) {
    count_ += static_cast<uint64_t>(rows.num_rows());
    ARROW_RETURN_NOT_OK(found_.Add(Column(rows, kRowAddressName)));
    if (!table_->has_stable_row_ids()) return arrow::Status::OK();
    ARROW_RETURN_NOT_OK(memory_.ReserveFor(count_));
    const auto &ids = Column(rows, kRowIdName), &created = Column(rows, kCreatedVersionName);
    for (int64_t i = 0; i < rows.num_rows(); ++i) origins_.push_back({ids.Value(i), created.Value(i)});
    return arrow::Status::OK();
  }

  static const arrow::UInt64Array& Column(const arrow::RecordBatch& rows, std::string_view name) {
    return static_cast<const arrow::UInt64Array&>(*rows.column(rows.schema()->GetFieldIndex(std::string(name))));
  }

  arrow::Result<BatchPtr> WithNewValues(const BatchPtr& rows) const {
    BatchPtr old = rows;
    if (has_blobs_) {
      ARROW_ASSIGN_OR_RAISE(old, ReadBlobs(dataset_, rows));
    }
    arrow::ArrayVector arrays(old->columns().begin(), old->columns().begin() + schema_->num_fields());
    for (const Assignment& assignment : assignments_) {
      auto value = assignment.value.Evaluate(*rows, table_->session->resources().pool);
      if (!value.ok()) return WithContext(value.status(), fmt::format("column '{}'", assignment.field->name));
      arrays[static_cast<size_t>(assignment.position)] = *std::move(value);
    }
    return arrow::RecordBatch::Make(schema_, rows->num_rows(), std::move(arrays));
  }

  const Dataset& dataset_;
  const std::shared_ptr<const DatasetState> table_;
  const std::vector<Assignment> assignments_;
  std::shared_ptr<arrow::Schema> schema_;
  bool has_blobs_ = false;
  std::shared_ptr<arrow::RecordBatchReader> rows_;
  BatchPtr rest_;  // of the last batch of `rows_`
  FoundRows found_;
  uint64_t count_ = 0;
  std::vector<table::RowOrigin> origins_;  // with stable row ids
  GrowingMemory memory_;                   // for them
};

arrow::Result<UpdatedRows> UpdateOnce(const Dataset& dataset, const std::vector<ComputedColumn>& set,
                                      const std::optional<std::string>& where, const WriteOptions& options) {
  const auto table = DatasetState::Of(dataset);
  RowRewrite rewrite(table, options);
  ARROW_RETURN_NOT_OK(rewrite.Check());
  ARROW_ASSIGN_OR_RAISE(std::vector<Assignment> assignments, Bind(*table, set));
  for (const Assignment& assignment : assignments) AddFieldIds(*assignment.field, rewrite.update().changed_fields);
  ARROW_ASSIGN_OR_RAISE(const auto rows, NewVersions::Make(dataset, std::move(assignments), where));
  ARROW_RETURN_NOT_OK(rewrite.CheckNewRows(*rows->schema()));
  ARROW_RETURN_NOT_OK(rewrite.WriteRows(*rows));
  ARROW_RETURN_NOT_OK(rewrite.HandOn(rows->origins()));
  ARROW_ASSIGN_OR_RAISE(RowMasks masks, RowMasks::Make(*table, rows->TakeRows()));
  ARROW_RETURN_NOT_OK(rewrite.Mask(std::move(masks)));
  ARROW_ASSIGN_OR_RAISE(auto committed, rewrite.Commit());
  return UpdatedRows{table->At(std::move(committed)), rows->count()};
}

}  // namespace
}  // namespace internal

arrow::Result<UpdatedRows> UpdateRows(const Dataset& dataset, const std::vector<ComputedColumn>& set,
                                      const std::optional<std::string>& where, const WriteOptions& options,
                                      const ConflictRetry& retry) {
  ARROW_RETURN_NOT_OK(dataset.session()->runtime().CheckProcess());
  return RetryOnConflict<UpdatedRows>(
      dataset, retry, [&](const Dataset& version) { return internal::UpdateOnce(version, set, where, options); });
}

}  // namespace javelin
