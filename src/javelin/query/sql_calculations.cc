// + - * / % ||, and the sign.
#include <arrow/scalar.h>

#include "javelin/query/sql_binder.h"
#include "javelin/query/sql_coerce.h"
#include "javelin/query/sql_kernels_internal.h"
#include "javelin/query/sql_types.h"

namespace javelin::query {
namespace {

using TypePtr = std::shared_ptr<arrow::DataType>;

bool IsTimed(const arrow::DataType& type) {
  return type.id() == arrow::Type::TIMESTAMP || type.id() == arrow::Type::DURATION;
}

arrow::TimeUnit::type UnitOf(const arrow::DataType& type) {
  return type.id() == arrow::Type::TIMESTAMP ? static_cast<const arrow::TimestampType&>(type).unit()
                                             : static_cast<const arrow::DurationType&>(type).unit();
}

TypePtr InUnit(const arrow::DataType& type, arrow::TimeUnit::type unit) {
  if (type.id() == arrow::Type::DURATION) return arrow::duration(unit);
  return arrow::timestamp(unit, static_cast<const arrow::TimestampType&>(type).timezone());
}

}  // namespace

arrow::Result<BoundPtr> SqlBinder::Arithmetic(const SqlNode& node) {
  const char op = node.text[0];
  ARROW_ASSIGN_OR_RAISE(BoundPtr left, Value(*node.children[0]));
  ARROW_ASSIGN_OR_RAISE(BoundPtr right, Value(*node.children[1]));
  const auto finish = [&](const TypePtr& type, BoundPtr a, BoundPtr b) {
    auto bound = Make(BoundKind::kArithmetic, type, node.span, {std::move(a), std::move(b)});
    bound->text = node.text;
    return Fold(bound);
  };
  if (query::IsNull(*left->type) && query::IsNull(*right->type)) {
    return Literal(arrow::MakeNullScalar(arrow::int64()), node.span);
  }
  const TypePtr common = CommonNumber(left->type, right->type);
  if (common != nullptr && IsDecimal(*common)) {
    if (common->id() == arrow::Type::DECIMAL256) {
      return Unsupported(node.span, "calculations with decimals of more than 38 digits");
    }
    // Each side keeps its own scale.
    for (BoundPtr* side : {&left, &right}) {
      if (IsDecimal(*(*side)->type)) continue;
      const TypePtr as = arrow::is_integer((*side)->type->id()) ? DecimalOfInteger(*(*side)->type) : common;
      ARROW_ASSIGN_OR_RAISE(*side, Cast(std::move(*side), as));
    }
    const TypePtr type = DecimalResult(op, *left->type, *right->type);
    if (type == nullptr) return Unsupported(node.span, "a decimal with more than 38 digits behind the point");
    return finish(type, std::move(left), std::move(right));
  }
  if (common != nullptr) {
    ARROW_ASSIGN_OR_RAISE(left, Cast(std::move(left), common));
    ARROW_ASSIGN_OR_RAISE(right, Cast(std::move(right), common));
    return finish(common, std::move(left), std::move(right));
  }
  return Temporal(op, left, right, node.span);
}

// moment - moment, moment +- duration, duration +- duration, date - date, date +- days.
arrow::Result<BoundPtr> SqlBinder::Temporal(char op, const BoundPtr& left, const BoundPtr& right, SqlSpan span) const {
  const auto finish = [&](const TypePtr& type, BoundPtr a, BoundPtr b) {
    auto bound = Make(BoundKind::kArithmetic, type, span, {std::move(a), std::move(b)});
    bound->text = std::string(1, op);
    return Fold(bound);
  };
  const arrow::DataType &a = *left->type, &b = *right->type;
  const bool sum = op == '+' || op == '-';
  if (op == '-' && a.id() == arrow::Type::TIMESTAMP && IsDate(b)) {
    ARROW_ASSIGN_OR_RAISE(const BoundPtr midnight, Cast(right, left->type));
    return Temporal(op, left, midnight, span);
  }
  if (op == '-' && IsDate(a) && b.id() == arrow::Type::TIMESTAMP) {
    ARROW_ASSIGN_OR_RAISE(const BoundPtr midnight, Cast(left, right->type));
    return Temporal(op, midnight, right, span);
  }
  if (sum && IsTimed(a) && IsTimed(b)) {
    const bool moments = a.id() == arrow::Type::TIMESTAMP && b.id() == arrow::Type::TIMESTAMP;
    const bool backwards = b.id() == arrow::Type::TIMESTAMP && a.id() == arrow::Type::DURATION && op == '-';
    if (!backwards && !(moments && op == '+')) {
      const auto unit = std::max(UnitOf(a), UnitOf(b));
      // Two moments as they are in Greenwich, so that a zone of one does not move the other.
      ARROW_ASSIGN_OR_RAISE(BoundPtr x, Cast(left, moments ? arrow::timestamp(unit) : InUnit(a, unit)));
      ARROW_ASSIGN_OR_RAISE(BoundPtr y, Cast(right, moments ? arrow::timestamp(unit) : InUnit(b, unit)));
      const TypePtr type = moments ? arrow::duration(unit) : a.id() == arrow::Type::TIMESTAMP ? x->type : y->type;
      return finish(type, std::move(x), std::move(y));
    }
  }
  if (sum && a.id() == arrow::Type::DATE32 && (arrow::is_integer(b.id()) || b.id() == arrow::Type::DATE32)) {
    const bool dates = b.id() == arrow::Type::DATE32;
    if (!(dates && op == '+')) {
      // By way of int32: Arrow reads a date as its days from there.
      ARROW_ASSIGN_OR_RAISE(BoundPtr days, Cast(left, arrow::int32()));
      ARROW_ASSIGN_OR_RAISE(days, Cast(std::move(days), arrow::int64()));
      BoundPtr other = right;
      if (dates) {
        ARROW_ASSIGN_OR_RAISE(other, Cast(std::move(other), arrow::int32()));
      }
      ARROW_ASSIGN_OR_RAISE(other, Cast(std::move(other), arrow::int64()));
      ARROW_ASSIGN_OR_RAISE(BoundPtr result, finish(arrow::int64(), std::move(days), std::move(other)));
      return dates ? arrow::Result<BoundPtr>(result) : Cast(std::move(result), arrow::date32());
    }
  }
  return Error(span, fmt::format("there is no {} {} {}", a.ToString(), op, b.ToString()));
}

arrow::Result<BoundPtr> SqlBinder::Concat(const SqlNode& node, BoundPtr left, BoundPtr right) const {
  const bool binary = IsBinary(*left->type) && IsBinary(*right->type);
  if (!binary && !IsText(*left->type) && !IsText(*right->type) && !query::IsNull(*left->type) &&
      !query::IsNull(*right->type)) {
    return Error(node.span, fmt::format("there is no {} || {}: one side at least must be a text",
                                        left->type->ToString(), right->type->ToString()));
  }
  const auto large = [](const arrow::DataType& type) { return arrow::is_large_binary_like(type.id()); };
  const bool wide = large(*left->type) || large(*right->type);
  const TypePtr type =
      binary ? (wide ? arrow::large_binary() : arrow::binary()) : (wide ? arrow::large_utf8() : arrow::utf8());
  ARROW_ASSIGN_OR_RAISE(left, Cast(std::move(left), type));
  ARROW_ASSIGN_OR_RAISE(right, Cast(std::move(right), type));
  auto bound = Make(BoundKind::kArithmetic, type, node.span, {std::move(left), std::move(right)});
  bound->text = "||";
  return Fold(bound);
}

arrow::Result<BoundPtr> SqlBinder::Negate(const SqlNode& node) {
  ARROW_ASSIGN_OR_RAISE(BoundPtr value, Value(*node.children[0]));
  const arrow::DataType& type = *value->type;
  const bool has_sign = arrow::is_signed_integer(type.id()) || IsFloat(type) || type.id() == arrow::Type::DECIMAL128 ||
                        type.id() == arrow::Type::DURATION || query::IsNull(type);
  if (!has_sign) return Error(node.span, fmt::format("{} has no negative values", type.ToString()));
  const TypePtr same = value->type;
  return Fold(Make(BoundKind::kNegate, same, node.span, {std::move(value)}));
}

}  // namespace javelin::query
