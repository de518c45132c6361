// The tree as written -> the tree with types: names are looked up, literals become values of the other side's type,
// constants are folded.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include <arrow/result.h>

#include "javelin/query/filter.h"
#include "javelin/query/sql_ast.h"
#include "javelin/query/sql_bound.h"

namespace javelin::query {

class SqlBinder {
 public:
  SqlBinder(std::string_view text, const Scope& scope, const SqlOptions& options)
      : text_(text), scope_(scope), options_(options) {}

  arrow::Result<BoundPtr> Value(const SqlNode& node);
  // As Value, a boolean.
  arrow::Result<BoundPtr> Condition(const SqlNode& node);
  // As Value, of the type: literals must fit, anything else is cast.
  arrow::Result<BoundPtr> ValueAs(const SqlNode& node, const std::shared_ptr<arrow::DataType>& type);

  // For functions too.
  const SqlOptions& options() const { return options_; }
  std::shared_ptr<BoundExpression> Make(BoundKind kind, std::shared_ptr<arrow::DataType> type, SqlSpan span,
                                        std::vector<BoundPtr> children = {}) const;
  BoundPtr Literal(std::shared_ptr<arrow::Scalar> value, SqlSpan span) const;
  // The node itself, or its value if all below it is constant. An error of the value is one of the text.
  arrow::Result<BoundPtr> Fold(BoundPtr node) const;
  // The value under another type; itself if it has that. InvalidInput if no cast leads there.
  arrow::Result<BoundPtr> Cast(BoundPtr value, const std::shared_ptr<arrow::DataType>& type,
                               bool try_cast = false) const;
  // Values as one type (a literal as that of the others if it fits). InvalidInput if there is none.
  arrow::Status ToCommonType(std::vector<BoundPtr>* values, SqlSpan span) const;
  arrow::Status Error(SqlSpan span, const std::string& message) const {
    return SqlErrorAt(ErrorKind::kInvalidInput, text_, span, message);
  }
  arrow::Status Unsupported(SqlSpan span, const std::string& message) const {
    return SqlErrorAt(ErrorKind::kNotSupported, text_, span, message);
  }
  std::string_view Written(SqlSpan span) const { return text_.substr(span.begin, span.end - span.begin); }

 private:
  arrow::Result<BoundPtr> Number(const SqlNode& node) const;
  arrow::Result<BoundPtr> Hex(const SqlNode& node) const;
  arrow::Result<BoundPtr> Name(const SqlNode& node) const;
  arrow::Result<BoundPtr> ColumnOf(const Scope::Column& column, const SqlNode& node, size_t used) const;
  arrow::Result<BoundPtr> NameInMerge(const SqlNode& node) const;
  arrow::Status UnknownColumn(const SqlNode& node, const std::string& relation, const std::string& name) const;
  arrow::Result<BoundPtr> Array(const SqlNode& node);
  arrow::Result<BoundPtr> CastNode(const SqlNode& node);
  arrow::Result<BoundPtr> Field(const SqlNode& node);
  arrow::Result<BoundPtr> Element(const SqlNode& node);

  arrow::Result<BoundPtr> Chain(const SqlNode& node);
  arrow::Result<BoundPtr> Binary(const SqlNode& node);
  arrow::Result<BoundPtr> Compare(SqlCompare compare, BoundPtr left, BoundPtr right, SqlSpan span) const;
  arrow::Result<BoundPtr> ConstantBeside(BoundPtr constant, const BoundPtr& other) const;
  arrow::Result<BoundPtr> Distinct(const SqlNode& node);
  arrow::Result<BoundPtr> Between(const SqlNode& node);
  arrow::Result<BoundPtr> In(const SqlNode& node);
  arrow::Result<BoundPtr> InValues(const SqlNode& node, const BoundPtr& value,
                                   const std::vector<BoundPtr>& items) const;
  arrow::Result<BoundPtr> Like(const SqlNode& node);
  arrow::Result<BoundPtr> IsNull(const SqlNode& node);
  arrow::Result<BoundPtr> Arithmetic(const SqlNode& node);
  arrow::Result<BoundPtr> Temporal(char op, const BoundPtr& left, const BoundPtr& right, SqlSpan span) const;
  arrow::Result<BoundPtr> Concat(const SqlNode& node, BoundPtr left, BoundPtr right) const;
  arrow::Result<BoundPtr> Negate(const SqlNode& node);
  arrow::Result<BoundPtr> Not(BoundPtr condition, SqlSpan span) const;

  // A literal beside the other side becomes a value of its type; of a column's type it must.
  arrow::Result<BoundPtr> LiteralBeside(const SqlNode& node, BoundPtr literal, const BoundPtr& other) const;
  // Both sides, literals fitted, of whatever types.
  arrow::Result<std::pair<BoundPtr, BoundPtr>> Sides(const SqlNode& left, const SqlNode& right);

  std::string_view text_;
  const Scope& scope_;
  const SqlOptions& options_;
};

// A literal, or arithmetic of literals.
bool IsLiteral(const SqlNode& node);

// The call with its arguments bound; sql_functions.cc. NotSupported: no such function (names the nearest).
arrow::Result<BoundPtr> BindFunction(const SqlBinder& binder, const SqlNode& node, std::vector<BoundPtr> arguments);

}  // namespace javelin::query
