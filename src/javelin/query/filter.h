// Filters and computed values: SQL texts bound to the columns of a table (the language: docs/filters.md).
//
//   ARROW_ASSIGN_OR_RAISE(const Filter filter, Filter::Parse("id > 5 AND name LIKE 'a%'", Scope::Of(schema)));
//   read the columns filter.Columns() -> batch;  ARROW_ASSIGN_OR_RAISE(mask, filter.Mask(*batch));
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/file/schema.h"
#include "javelin/query/sql_bound.h"

namespace javelin::query {

// The names that an expression may use.
class Scope {
 public:
  struct Column {
    std::string relation;  // "source" or "target" in merge conditions, else empty
    std::string name;
    std::shared_ptr<arrow::DataType> type;
    FieldId id{-1};
    const file::Field* field = nullptr;  // children with their ids; null where the schema has none
  };

  // The columns of a table. The schema is copied.
  static Scope Of(const file::Schema& schema);
  // The columns of batches, system columns too if they are there.
  static Scope Of(const arrow::Schema& schema);
  // `source.x` and `target.x`; a bare name is a column that only one of them has. For merge conditions.
  static Scope OfMerge(const arrow::Schema& source, const arrow::Schema& target);

  // One more column, e.g. `_rowid`, `_rowaddr` (uint64). A name that is there already is replaced.
  Scope& Add(std::string name, std::shared_ptr<arrow::DataType> type);

  const std::vector<Column>& columns() const { return columns_; }

 private:
  void AddAll(const arrow::Schema& schema, const std::string& relation);
  std::vector<Column> columns_;
  std::shared_ptr<const file::Schema> schema_;  // what Column::field points into
};

struct SqlOptions {
  // The moment that now() means, in nanoseconds since 1970; without it now() is NotSupported.
  std::optional<int64_t> now_nanoseconds;
};

// A value for every row. Immutable and cheap to copy; safe to use from several threads.
class Expression {
 public:
  // Errors show the place in the text. InvalidInput: not an expression, unknown column (with the nearest name), types
  // that do not fit, a literal that the column's type cannot hold. NotSupported: SQL or a function that is not there.
  static arrow::Result<Expression> Parse(std::string_view text, const Scope& scope, const SqlOptions& options = {});
  // As Parse, for a value that goes into a column of the type (SET column = text): a literal must fit it, anything else
  // is cast. InvalidInput where no cast leads there.
  static arrow::Result<Expression> ParseAs(std::string_view text, const Scope& scope,
                                           const std::shared_ptr<arrow::DataType>& type,
                                           const SqlOptions& options = {});

  const std::string& text() const { return *text_; }
  const std::shared_ptr<arrow::DataType>& type() const { return root_->type; }
  const BoundPtr& root() const { return root_; }
  // What it reads, each once, in the order of the text. A field of a struct is named by its path: the rest of the
  // struct is not needed. Empty for constants.
  const std::vector<SqlColumn>& Columns() const { return columns_; }

  // One value for each row of the batch, which has the columns by name (a struct may have only the fields that are
  // read). Memory in proportion to the batch, from the pool. InvalidInput: a column is missing, a division by zero, a
  // value that a cast cannot take, ...
  arrow::Result<std::shared_ptr<arrow::Array>> Evaluate(const arrow::RecordBatch& batch,
                                                        arrow::MemoryPool* pool = nullptr) const;
  // Of a merge condition: row i of both batches. They have the same number of rows.
  arrow::Result<std::shared_ptr<arrow::Array>> Evaluate(const arrow::RecordBatch& source,
                                                        const arrow::RecordBatch& target,
                                                        arrow::MemoryPool* pool = nullptr) const;

 protected:
  Expression(std::shared_ptr<const std::string> text, BoundPtr root);
  static arrow::Result<Expression> Bind(std::string_view text, const Scope& scope, const SqlOptions& options,
                                        const std::shared_ptr<arrow::DataType>* wanted, bool condition);

 private:
  std::shared_ptr<const std::string> text_;
  BoundPtr root_;
  std::vector<SqlColumn> columns_;
};

// A condition: a row passes only where it is true, not where it is null.
class Filter : public Expression {
 public:
  // As Expression::Parse; InvalidInput if it is no condition.
  static arrow::Result<Filter> Parse(std::string_view text, const Scope& scope, const SqlOptions& options = {});

  // Which rows pass: as many values as the batch has rows, none of them null.
  arrow::Result<std::shared_ptr<arrow::BooleanArray>> Mask(const arrow::RecordBatch& batch,
                                                           arrow::MemoryPool* pool = nullptr) const;
  arrow::Result<std::shared_ptr<arrow::BooleanArray>> Mask(const arrow::RecordBatch& source,
                                                           const arrow::RecordBatch& target,
                                                           arrow::MemoryPool* pool = nullptr) const;

  // The conditions that must all hold: of `a AND b AND c` three, else the whole alone.
  std::vector<BoundPtr> Conjuncts() const;
  // True / false if it is so for every row whatever its values (`1=1`); null counts as false.
  std::optional<bool> Constant() const;

 private:
  explicit Filter(Expression expression) : Expression(std::move(expression)) {}
};

// A condition on one column that zone maps and indexes understand: column `compare` value, column [NOT] IN values,
// column IS [NOT] NULL.
struct ColumnCondition {
  enum class Kind { kCompare, kIn, kIsNull } kind;
  SqlColumn column;
  std::shared_ptr<arrow::DataType> type;  // what the column is compared as (SqlTypeOf its own)
  SqlCompare compare = SqlCompare::kEqual;
  std::shared_ptr<arrow::Scalar> value;  // of the type; may be null: then no row passes
  std::shared_ptr<arrow::Array> values;
  bool null_among = false;  // IN: a null was among the values; NOT IN then lets no row pass
  bool negated = false;     // NOT IN, IS NOT NULL
};

// Nothing if the node says something else. `5 < x` is the condition x > 5; a boolean column alone is x = true.
std::optional<ColumnCondition> AsColumnCondition(const BoundExpression& node);

}  // namespace javelin::query
