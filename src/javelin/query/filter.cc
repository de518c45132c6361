#include "javelin/query/filter.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/compute/api.h>
#include <arrow/compute/initialize.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>

#include "javelin/query/sql_binder.h"
#include "javelin/query/sql_evaluate.h"
#include "javelin/query/sql_parser.h"
#include "javelin/query/sql_types.h"
#include "javelin/query/sql_values.h"

namespace javelin::query {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;

void Collect(const BoundExpression& node, std::vector<SqlColumn>* columns) {
  if (node.kind == BoundKind::kColumn && std::find(columns->begin(), columns->end(), node.column) == columns->end()) {
    columns->push_back(node.column);
  }
  for (const BoundPtr& child : node.children) Collect(*child, columns);
}

arrow::Result<ArrayPtr> Rows(const Expression& expression, int64_t rows, const SqlColumnLookup& columns,
                             arrow::MemoryPool* pool) {
  if (pool == nullptr) pool = arrow::default_memory_pool();
  ARROW_ASSIGN_OR_RAISE(const arrow::Datum value,
                        EvaluateSql(*expression.root(), expression.text(), rows, columns, pool));
  ARROW_ASSIGN_OR_RAISE(ArrayPtr array, AsArray(value, rows, pool));
  if (array->length() != rows || !array->type()->Equals(*expression.type())) {
    return Internal("{} rows of {} where {} rows of {} were promised", array->length(), array->type()->ToString(), rows,
                    expression.type()->ToString());
  }
  return array;
}

arrow::Result<std::shared_ptr<arrow::BooleanArray>> WithoutNulls(ArrayPtr mask, arrow::MemoryPool* pool) {
  if (pool == nullptr) pool = arrow::default_memory_pool();
  if (mask->null_count() > 0) {
    arrow::compute::ExecContext exec(pool);
    exec.set_use_threads(false);
    ARROW_ASSIGN_OR_RAISE(const arrow::Datum filled,
                          arrow::compute::CallFunction("coalesce", {mask, arrow::Datum(false)}, &exec));
    mask = filled.make_array();
  }
  return std::static_pointer_cast<arrow::BooleanArray>(mask);
}

SqlColumnLookup ColumnsOf(const arrow::RecordBatch& batch) {
  return [&batch](const std::string&, const std::string& name) { return batch.GetColumnByName(name); };
}

SqlColumnLookup ColumnsOf(const arrow::RecordBatch& source, const arrow::RecordBatch& target) {
  return [&](const std::string& relation, const std::string& name) {
    return (relation == "source" ? source : target).GetColumnByName(name);
  };
}

SqlCompare Turned(SqlCompare compare) {
  switch (compare) {
    case SqlCompare::kLess: return SqlCompare::kGreater;
    case SqlCompare::kLessEqual: return SqlCompare::kGreaterEqual;
    case SqlCompare::kGreater: return SqlCompare::kLess;
    case SqlCompare::kGreaterEqual: return SqlCompare::kLessEqual;
    default: return compare;
  }
}

}  // namespace

Scope Scope::Of(const file::Schema& schema) {
  Scope scope;
  scope.schema_ = std::make_shared<file::Schema>(schema);
  for (const file::Field& field : scope.schema_->fields())
    scope.columns_.push_back({"", field.name, field.type, field.id, &field});
  return scope;
}

void Scope::AddAll(const arrow::Schema& schema, const std::string& relation) {
  for (const auto& field : schema.fields()) columns_.push_back({relation, field->name(), field->type()});
}

Scope Scope::Of(const arrow::Schema& schema) {
  Scope scope;
  scope.AddAll(schema, "");
  return scope;
}

Scope Scope::OfMerge(const arrow::Schema& source, const arrow::Schema& target) {
  Scope scope;
  scope.AddAll(source, "source");
  scope.AddAll(target, "target");
  return scope;
}

Scope& Scope::Add(std::string name, std::shared_ptr<arrow::DataType> type) {
  std::erase_if(columns_, [&](const Column& column) { return column.name == name; });
  columns_.push_back({"", std::move(name), std::move(type)});
  return *this;
}

Expression::Expression(std::shared_ptr<const std::string> text, BoundPtr root)
    : text_(std::move(text)), root_(std::move(root)) {
  Collect(*root_, &columns_);
}

arrow::Result<Expression> Expression::Bind(std::string_view text, const Scope& scope, const SqlOptions& options,
                                           const std::shared_ptr<arrow::DataType>* wanted, bool condition) {
  ARROW_RETURN_NOT_OK(arrow::compute::Initialize());
  ARROW_ASSIGN_OR_RAISE(const SqlNodePtr tree, ParseSql(text));
  SqlBinder binder(text, scope, options);
  BoundPtr root;
  if (wanted != nullptr) {
    ARROW_ASSIGN_OR_RAISE(root, binder.ValueAs(*tree, *wanted));
  } else if (condition) {
    if (tree->kind == SqlKind::kNull) return binder.Error(tree->span, "a condition is expected here, this is null");
    ARROW_ASSIGN_OR_RAISE(root, binder.Condition(*tree));
  } else {
    ARROW_ASSIGN_OR_RAISE(root, binder.Value(*tree));
  }
  return Expression(std::make_shared<const std::string>(text), std::move(root));
}

arrow::Result<Expression> Expression::Parse(std::string_view text, const Scope& scope, const SqlOptions& options) {
  return Bind(text, scope, options, nullptr, false);
}

arrow::Result<Expression> Expression::ParseAs(std::string_view text, const Scope& scope,
                                              const std::shared_ptr<arrow::DataType>& type, const SqlOptions& options) {
  return Bind(text, scope, options, &type, false);
}

arrow::Result<ArrayPtr> Expression::Evaluate(const arrow::RecordBatch& batch, arrow::MemoryPool* pool) const {
  return Rows(*this, batch.num_rows(), ColumnsOf(batch), pool);
}

arrow::Result<ArrayPtr> Expression::Evaluate(const arrow::RecordBatch& source, const arrow::RecordBatch& target,
                                             arrow::MemoryPool* pool) const {
  if (source.num_rows() != target.num_rows()) {
    return InvalidInput("{} source rows do not go with {} target rows", source.num_rows(), target.num_rows());
  }
  return Rows(*this, source.num_rows(), ColumnsOf(source, target), pool);
}

arrow::Result<Filter> Filter::Parse(std::string_view text, const Scope& scope, const SqlOptions& options) {
  ARROW_ASSIGN_OR_RAISE(Expression expression, Bind(text, scope, options, nullptr, true));
  return Filter(std::move(expression));
}

arrow::Result<std::shared_ptr<arrow::BooleanArray>> Filter::Mask(const arrow::RecordBatch& batch,
                                                                 arrow::MemoryPool* pool) const {
  ARROW_ASSIGN_OR_RAISE(ArrayPtr mask, Evaluate(batch, pool));
  return WithoutNulls(std::move(mask), pool);
}

arrow::Result<std::shared_ptr<arrow::BooleanArray>> Filter::Mask(const arrow::RecordBatch& source,
                                                                 const arrow::RecordBatch& target,
                                                                 arrow::MemoryPool* pool) const {
  ARROW_ASSIGN_OR_RAISE(ArrayPtr mask, Evaluate(source, target, pool));
  return WithoutNulls(std::move(mask), pool);
}

std::vector<BoundPtr> Filter::Conjuncts() const {
  if (root()->kind == BoundKind::kAnd) return root()->children;
  return {root()};
}

std::optional<bool> Filter::Constant() const {
  if (root()->kind != BoundKind::kLiteral) return std::nullopt;
  return root()->literal->is_valid && static_cast<const arrow::BooleanScalar&>(*root()->literal).value;
}

std::optional<ColumnCondition> AsColumnCondition(const BoundExpression& node) {
  const auto of = [](ColumnCondition::Kind kind, const BoundExpression& column) {
    return ColumnCondition{.kind = kind, .column = column.column, .type = column.type};
  };
  const auto is = [](const BoundPtr& child, BoundKind kind) { return child->kind == kind; };
  switch (node.kind) {
    case BoundKind::kColumn: {
      if (node.type->id() != arrow::Type::BOOL) return std::nullopt;
      auto condition = of(ColumnCondition::Kind::kCompare, node);
      condition.value = arrow::MakeScalar(true);
      return condition;
    }
    case BoundKind::kCompare: {
      const bool turned = is(node.children[0], BoundKind::kLiteral);
      const BoundPtr &column = node.children[turned ? 1 : 0], &value = node.children[turned ? 0 : 1];
      if (!is(column, BoundKind::kColumn) || !is(value, BoundKind::kLiteral)) return std::nullopt;
      auto condition = of(ColumnCondition::Kind::kCompare, *column);
      condition.compare = turned ? Turned(node.compare) : node.compare;
      condition.value = value->literal;
      return condition;
    }
    case BoundKind::kIn: {
      if (!is(node.children[0], BoundKind::kColumn)) return std::nullopt;
      auto condition = of(ColumnCondition::Kind::kIn, *node.children[0]);
      condition.values = node.values;
      condition.null_among = node.null_among;
      condition.negated = node.negated;
      return condition;
    }
    case BoundKind::kIsNull: {
      if (!is(node.children[0], BoundKind::kColumn)) return std::nullopt;
      auto condition = of(ColumnCondition::Kind::kIsNull, *node.children[0]);
      condition.negated = node.negated;
      return condition;
    }
    default: return std::nullopt;
  }
}

}  // namespace javelin::query
