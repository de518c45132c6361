#include "javelin/query/sql_evaluate.h"

#include <map>

#include <arrow/compute/api.h>
#include <arrow/compute/initialize.h>

#include "javelin/query/sql_cast.h"
#include "javelin/query/sql_kernels_internal.h"
#include "javelin/query/sql_types.h"
#include "javelin/query/sql_values.h"

namespace javelin::query {
namespace {

using arrow::compute::CallFunction;
using ArrayPtr = std::shared_ptr<arrow::Array>;

class Evaluator {
 public:
  Evaluator(std::string_view text, int64_t rows, const SqlColumnLookup& columns, arrow::MemoryPool* pool)
      : text_(text), columns_(columns), exec_(pool), evaluation_{rows, &exec_} {
    exec_.set_use_threads(false);
  }

  arrow::Result<arrow::Datum> Of(const BoundExpression& node) {
    if (node.kind == BoundKind::kLiteral) return arrow::Datum(node.literal);
    if (node.kind == BoundKind::kColumn) return Column(node);
    if (node.kind == BoundKind::kAnd || node.kind == BoundKind::kOr) return Chain(node);
    Arguments arguments;
    for (const BoundPtr& child : node.children) {
      ARROW_ASSIGN_OR_RAISE(arguments.emplace_back(), Of(*child));
    }
    auto result = Run(node, arguments);
    if (!result.ok()) return Placed(result.status(), node);
    return result;
  }

 private:
  // What Arrow and own kernels call invalid is a value that the expression cannot take.
  arrow::Status Placed(const arrow::Status& status, const BoundExpression& node) const {
    if (status.detail() != nullptr) return status;
    if (status.IsNotImplemented() || status.IsKeyError())
      return SqlErrorAt(ErrorKind::kNotSupported, text_, node.span, status.message());
    const bool of_a_value =
        status.IsInvalid() || status.IsTypeError() || status.IsIndexError() || status.IsCapacityError();
    if (!of_a_value) return status;
    return SqlErrorAt(ErrorKind::kInvalidInput, text_, node.span, status.message());
  }

  // One mask at a time, so that a long chain needs no more memory than a short one.
  arrow::Result<arrow::Datum> Chain(const BoundExpression& node) {
    const char* kernel = node.kind == BoundKind::kAnd ? "and_kleene" : "or_kleene";
    ARROW_ASSIGN_OR_RAISE(arrow::Datum mask, Of(*node.children[0]));
    for (size_t i = 1; i < node.children.size(); ++i) {
      ARROW_ASSIGN_OR_RAISE(const arrow::Datum next, Of(*node.children[i]));
      ARROW_ASSIGN_OR_RAISE(mask, CallFunction(kernel, {mask, next}, &exec_));
    }
    return mask;
  }

  arrow::Result<arrow::Datum> Run(const BoundExpression& node, const Arguments& arguments) {
    switch (node.kind) {
      case BoundKind::kCompare: return CompareKernel(node, arguments, evaluation_);
      case BoundKind::kDistinct: return DistinctKernel(node, arguments, evaluation_);
      case BoundKind::kNot: return CallFunction("invert", arguments, &exec_);
      case BoundKind::kIsNull: return CallFunction(node.negated ? "is_valid" : "is_null", arguments, &exec_);
      case BoundKind::kIsTrue:
      case BoundKind::kIsFalse: return IsTruth(node, arguments[0]);
      case BoundKind::kIn: return InKernel(node, arguments, evaluation_);
      case BoundKind::kLike: return LikeKernel(node, arguments, evaluation_);
      case BoundKind::kCast: return SqlCast(arguments[0], node.type, node.try_cast, evaluation_);
      case BoundKind::kArithmetic: return ArithmeticKernel(node, arguments, evaluation_);
      case BoundKind::kNegate: return NegateKernel(node, arguments, evaluation_);
      case BoundKind::kField: return FieldKernel(node, arguments, evaluation_);
      case BoundKind::kElement: return ElementKernel(node, arguments, evaluation_);
      case BoundKind::kCall: return node.kernel(node, arguments, evaluation_);
      default: return Internal("a node of kind {} has no kernel", static_cast<int>(node.kind));
    }
  }

  arrow::Result<arrow::Datum> IsTruth(const BoundExpression& node, const arrow::Datum& value) {
    const bool wanted = node.kind == BoundKind::kIsTrue;
    ARROW_ASSIGN_OR_RAISE(const arrow::Datum filled, CallFunction("coalesce", {value, arrow::Datum(!wanted)}, &exec_));
    return wanted != node.negated ? arrow::Result<arrow::Datum>(filled) : CallFunction("invert", {filled}, &exec_);
  }

  arrow::Result<arrow::Datum> Column(const BoundExpression& node) {
    const auto key = std::make_pair(node.column.relation, node.column.path);
    if (const auto found = read_.find(key); found != read_.end()) return found->second;
    ARROW_ASSIGN_OR_RAISE(const ArrayPtr array, ReadColumn(node));
    arrow::Datum value = array;
    if (!array->type()->Equals(*node.type)) {
      const auto cast = SqlCast(value, node.type, false, evaluation_);
      if (!cast.ok()) return Placed(cast.status(), node);
      value = *cast;
      if (value.is_scalar()) {
        ARROW_ASSIGN_OR_RAISE(const ArrayPtr all, AsArray(value, evaluation_.rows, evaluation_.pool()));
        value = all;
      }
    }
    read_.emplace(key, value);
    return value;
  }

  arrow::Result<ArrayPtr> ReadColumn(const BoundExpression& node) const {
    const std::vector<std::string>& path = node.column.path;
    const auto missing = [&](const std::string& name) {
      return SqlErrorAt(ErrorKind::kInvalidInput, text_, node.span, fmt::format("the rows have no column `{}`", name));
    };
    ArrayPtr array = columns_(node.column.relation, path[0]);
    if (array == nullptr) return missing(path[0]);
    for (size_t i = 1; i < path.size(); ++i) {
      if (array->type_id() != arrow::Type::STRUCT) return missing(path[i]);
      const auto& structs = static_cast<const arrow::StructArray&>(*array);
      const int index = structs.struct_type()->GetFieldIndex(path[i]);
      if (index < 0) return missing(path[i]);
      ARROW_ASSIGN_OR_RAISE(array, structs.GetFlattenedField(index, evaluation_.pool()));
    }
    return array;
  }

  std::string_view text_;
  const SqlColumnLookup& columns_;
  arrow::compute::ExecContext exec_;
  SqlEvaluation evaluation_;
  std::map<std::pair<std::string, std::vector<std::string>>, arrow::Datum> read_;
};

}  // namespace

arrow::Result<arrow::Datum> EvaluateSql(const BoundExpression& root, std::string_view text, int64_t rows,
                                        const SqlColumnLookup& columns, arrow::MemoryPool* pool) {
  ARROW_RETURN_NOT_OK(arrow::compute::Initialize());
  return Evaluator(text, rows, columns, pool).Of(root);
}

}  // namespace javelin::query
