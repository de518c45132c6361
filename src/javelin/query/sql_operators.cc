// Conditions: logic, comparisons, IN, LIKE, IS.
#include <arrow/builder.h>
#include <arrow/scalar.h>
#include <arrow/util/float16.h>

#include "javelin/query/sql_binder.h"
#include "javelin/query/sql_coerce.h"
#include "javelin/query/sql_order.h"
#include "javelin/query/sql_types.h"

namespace javelin::query {
namespace {

using TypePtr = std::shared_ptr<arrow::DataType>;

bool IsConstant(const BoundExpression& node, bool value) {
  return node.kind == BoundKind::kLiteral && node.literal->is_valid &&
         static_cast<const arrow::BooleanScalar&>(*node.literal).value == value;
}

std::string ColumnText(const SqlColumn& column) {
  std::string text = column.relation;
  for (const std::string& part : column.path) text += (text.empty() ? "" : ".") + part;
  return text;
}

// Types of which Arrow makes sets.
bool HasSets(const arrow::DataType& type) {
  if (type.id() == arrow::Type::DURATION) return false;
  return IsNumber(type) || IsText(type) || IsBinary(type) || arrow::is_temporal(type.id()) ||
         type.id() == arrow::Type::FIXED_SIZE_BINARY || type.id() == arrow::Type::BOOL;
}

// The nearest value that a half float has: 0.1 beside a column of half floats is what the column makes of 0.1.
std::shared_ptr<arrow::Scalar> AsHalf(const std::shared_ptr<arrow::Scalar>& literal) {
  if (!literal->is_valid) return literal;
  const float value = static_cast<const arrow::FloatScalar&>(*literal).value;
  return std::make_shared<arrow::FloatScalar>(arrow::util::Float16(value).ToFloat());
}

SqlCompare CompareOf(std::string_view symbol) {
  if (symbol == "=") return SqlCompare::kEqual;
  if (symbol == "<>") return SqlCompare::kNotEqual;
  if (symbol == "<") return SqlCompare::kLess;
  if (symbol == "<=") return SqlCompare::kLessEqual;
  return symbol == ">" ? SqlCompare::kGreater : SqlCompare::kGreaterEqual;
}

// regexp_match gives what matched; as a condition it says whether anything did.
bool IsMatch(const SqlNode& node) { return node.kind == SqlKind::kCall && node.text == "regexp_match"; }

}  // namespace

arrow::Result<BoundPtr> SqlBinder::Condition(const SqlNode& node) {
  if (IsMatch(node)) {
    ARROW_ASSIGN_OR_RAISE(BoundPtr matched, Value(node));
    return Fold(Make(BoundKind::kIsTrue, arrow::boolean(), node.span, {std::move(matched)}));
  }
  ARROW_ASSIGN_OR_RAISE(BoundPtr value, Value(node));
  if (query::IsNull(*value->type)) return Literal(arrow::MakeNullScalar(arrow::boolean()), node.span);
  if (value->type->id() != arrow::Type::BOOL) {
    return Error(node.span, fmt::format("a condition is expected here, this is {}", value->type->ToString()));
  }
  return value;
}

arrow::Result<BoundPtr> SqlBinder::Not(BoundPtr condition, SqlSpan span) const {
  return Fold(Make(BoundKind::kNot, arrow::boolean(), span, {std::move(condition)}));
}

arrow::Result<BoundPtr> SqlBinder::Chain(const SqlNode& node) {
  const bool conjunction = node.kind == SqlKind::kAnd;
  std::vector<BoundPtr> conditions;
  bool decided = false;
  for (const SqlNodePtr& child : node.children) {
    ARROW_ASSIGN_OR_RAISE(BoundPtr condition, Condition(*child));
    decided = decided || IsConstant(*condition, !conjunction);
    if (IsConstant(*condition, conjunction)) continue;
    const BoundKind own = conjunction ? BoundKind::kAnd : BoundKind::kOr;
    if (condition->kind == own) {  // a AND (b AND c)
      conditions.insert(conditions.end(), condition->children.begin(), condition->children.end());
    } else {
      conditions.push_back(std::move(condition));
    }
  }
  if (decided) return Literal(arrow::MakeScalar(!conjunction), node.span);
  if (conditions.empty()) return Literal(arrow::MakeScalar(conjunction), node.span);
  if (conditions.size() == 1) return conditions[0];
  return Fold(Make(conjunction ? BoundKind::kAnd : BoundKind::kOr, arrow::boolean(), node.span, std::move(conditions)));
}

arrow::Result<BoundPtr> SqlBinder::LiteralBeside(const SqlNode& node, BoundPtr literal, const BoundPtr& other) const {
  if (!IsLiteral(node) || literal->kind != BoundKind::kLiteral) return literal;
  if (const auto fitting = CoerceLiteral(literal->literal, other->type)) {
    const bool half = other->kind == BoundKind::kColumn && other->stored->id() == arrow::Type::HALF_FLOAT;
    return Literal(half ? AsHalf(fitting) : fitting, node.span);
  }
  if (other->kind != BoundKind::kColumn) return literal;
  return Error(node.span, fmt::format("the literal {} is no value of the column `{}`, which is {}", Written(node.span),
                                      ColumnText(other->column), other->type->ToString()));
}

arrow::Result<std::pair<BoundPtr, BoundPtr>> SqlBinder::Sides(const SqlNode& left_node, const SqlNode& right_node) {
  ARROW_ASSIGN_OR_RAISE(BoundPtr left, Value(left_node));
  ARROW_ASSIGN_OR_RAISE(BoundPtr right, Value(right_node));
  if (!IsLiteral(left_node)) {
    ARROW_ASSIGN_OR_RAISE(right, LiteralBeside(right_node, std::move(right), left));
  } else if (!IsLiteral(right_node)) {
    ARROW_ASSIGN_OR_RAISE(left, LiteralBeside(left_node, std::move(left), right));
  }
  return std::pair(std::move(left), std::move(right));
}

arrow::Status SqlBinder::ToCommonType(std::vector<BoundPtr>* values, SqlSpan span) const {
  TypePtr common = arrow::null();
  // Literals last: they follow the others where they can.
  for (const bool literals : {false, true}) {
    for (const BoundPtr& value : *values) {
      if ((value->kind == BoundKind::kLiteral) != literals) continue;
      if (literals && !query::IsNull(*common) && CoerceLiteral(value->literal, common) != nullptr) continue;
      const TypePtr next = CommonType(common, value->type);
      if (next == nullptr) {
        return Error(span, fmt::format("{} and {} have no common type", common->ToString(), value->type->ToString()));
      }
      common = next;
    }
  }
  for (BoundPtr& value : *values) {
    const auto fitting = value->kind == BoundKind::kLiteral ? CoerceLiteral(value->literal, common) : nullptr;
    if (fitting != nullptr) {
      value = Literal(fitting, value->span);
    } else {
      ARROW_ASSIGN_OR_RAISE(value, Cast(std::move(value), common));
    }
  }
  return arrow::Status::OK();
}

// A constant beside another value takes its type where nothing is lost by it, so that columns are compared as they are.
// Moments do so even if digits are: the peer cuts them off too.
arrow::Result<BoundPtr> SqlBinder::ConstantBeside(BoundPtr constant, const BoundPtr& other) const {
  if (constant->kind != BoundKind::kLiteral || other->kind == BoundKind::kLiteral) return constant;
  const arrow::DataType &from = *constant->type, &to = *other->type;
  if (from.id() == arrow::Type::TIMESTAMP && to.id() == arrow::Type::TIMESTAMP) return Cast(constant, other->type);
  if ((arrow::is_integer(from.id()) && arrow::is_integer(to.id())) || (IsText(from) && IsText(to))) {
    if (const auto fitting = CoerceLiteral(constant->literal, other->type)) return Literal(fitting, constant->span);
  }
  return constant;
}

arrow::Result<BoundPtr> SqlBinder::Compare(SqlCompare compare, BoundPtr left, BoundPtr right, SqlSpan span) const {
  ARROW_ASSIGN_OR_RAISE(left, ConstantBeside(std::move(left), right));
  ARROW_ASSIGN_OR_RAISE(right, ConstantBeside(std::move(right), left));
  const TypePtr common = CommonType(left->type, right->type);
  if (common == nullptr) {
    return Error(span, fmt::format("{} cannot be compared with {}", left->type->ToString(), right->type->ToString()));
  }
  if (!HasOrder(*common)) return Unsupported(span, fmt::format("values of {} are not compared", common->ToString()));
  ARROW_ASSIGN_OR_RAISE(left, Cast(std::move(left), common));
  ARROW_ASSIGN_OR_RAISE(right, Cast(std::move(right), common));
  auto bound = Make(BoundKind::kCompare, arrow::boolean(), span, {std::move(left), std::move(right)});
  bound->compare = compare;
  return Fold(bound);
}

arrow::Result<BoundPtr> SqlBinder::Binary(const SqlNode& node) {
  const std::string& symbol = node.text;
  if (symbol == "||") {
    ARROW_ASSIGN_OR_RAISE(BoundPtr left, Value(*node.children[0]));
    ARROW_ASSIGN_OR_RAISE(BoundPtr right, Value(*node.children[1]));
    return Concat(node, std::move(left), std::move(right));
  }
  if (symbol.size() == 1 && std::string_view("+-*/%").find(symbol[0]) != std::string_view::npos)
    return Arithmetic(node);
  ARROW_ASSIGN_OR_RAISE(auto sides, Sides(*node.children[0], *node.children[1]));
  return Compare(CompareOf(symbol), std::move(sides.first), std::move(sides.second), node.span);
}

arrow::Result<BoundPtr> SqlBinder::Distinct(const SqlNode& node) {
  ARROW_ASSIGN_OR_RAISE(auto sides, Sides(*node.children[0], *node.children[1]));
  // As of `=`, for its checks.
  ARROW_ASSIGN_OR_RAISE(const BoundPtr compared, Compare(SqlCompare::kEqual, sides.first, sides.second, node.span));
  std::vector<BoundPtr> children = {sides.first, sides.second};
  if (compared->kind == BoundKind::kCompare) {
    children = compared->children;
  } else {
    ARROW_RETURN_NOT_OK(ToCommonType(&children, node.span));
  }
  auto bound = Make(BoundKind::kDistinct, arrow::boolean(), node.span, std::move(children));
  bound->negated = node.negated;
  return Fold(bound);
}

arrow::Result<BoundPtr> SqlBinder::Between(const SqlNode& node) {
  ARROW_ASSIGN_OR_RAISE(auto low, Sides(*node.children[0], *node.children[1]));
  ARROW_ASSIGN_OR_RAISE(auto high, Sides(*node.children[0], *node.children[2]));
  ARROW_ASSIGN_OR_RAISE(const BoundPtr from,
                        Compare(SqlCompare::kGreaterEqual, std::move(low.first), std::move(low.second), node.span));
  ARROW_ASSIGN_OR_RAISE(const BoundPtr to,
                        Compare(SqlCompare::kLessEqual, std::move(high.first), std::move(high.second), node.span));
  ARROW_ASSIGN_OR_RAISE(BoundPtr both, Fold(Make(BoundKind::kAnd, arrow::boolean(), node.span, {from, to})));
  return node.negated ? Not(std::move(both), node.span) : arrow::Result<BoundPtr>(both);
}

arrow::Result<BoundPtr> SqlBinder::In(const SqlNode& node) {
  ARROW_ASSIGN_OR_RAISE(BoundPtr value, Value(*node.children[0]));
  std::vector<BoundPtr> items;
  bool constant = true;
  for (size_t i = 1; i < node.children.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(BoundPtr item, Value(*node.children[i]));
    ARROW_ASSIGN_OR_RAISE(item, LiteralBeside(*node.children[i], std::move(item), value));
    constant = constant && item->kind == BoundKind::kLiteral;
    items.push_back(std::move(item));
  }
  if (constant) {
    std::vector<BoundPtr> all = items;
    all.push_back(value);
    ARROW_RETURN_NOT_OK(ToCommonType(&all, node.span));
    if (HasSets(*all.back()->type)) {
      const BoundPtr common = all.back();
      all.pop_back();
      return InValues(node, common, all);
    }
  }
  std::vector<BoundPtr> comparisons;
  for (BoundPtr& item : items) {
    ARROW_ASSIGN_OR_RAISE(comparisons.emplace_back(), Compare(SqlCompare::kEqual, value, std::move(item), node.span));
  }
  BoundPtr any = comparisons[0];
  if (comparisons.size() > 1) {
    ARROW_ASSIGN_OR_RAISE(any, Fold(Make(BoundKind::kOr, arrow::boolean(), node.span, std::move(comparisons))));
  }
  return node.negated ? Not(std::move(any), node.span) : arrow::Result<BoundPtr>(any);
}

arrow::Result<BoundPtr> SqlBinder::InValues(const SqlNode& node, const BoundPtr& value,
                                            const std::vector<BoundPtr>& items) const {
  ARROW_ASSIGN_OR_RAISE(const auto builder, arrow::MakeBuilder(value->type));
  auto bound = Make(BoundKind::kIn, arrow::boolean(), node.span, {value});
  for (const BoundPtr& item : items) {
    if (item->literal->is_valid) {
      ARROW_RETURN_NOT_OK(builder->AppendScalar(*item->literal));
    } else {
      bound->null_among = true;
    }
  }
  ARROW_RETURN_NOT_OK(builder->Finish(&bound->values));
  bound->negated = node.negated;
  return Fold(bound);
}

arrow::Result<BoundPtr> SqlBinder::Like(const SqlNode& node) {
  ARROW_ASSIGN_OR_RAISE(auto sides, Sides(*node.children[0], *node.children[1]));
  std::vector<BoundPtr> children = {std::move(sides.first), std::move(sides.second)};
  for (BoundPtr& child : children) {
    if (query::IsNull(*child->type)) child = Literal(arrow::MakeNullScalar(arrow::utf8()), child->span);
    if (!IsText(*child->type)) {
      return Error(child->span, fmt::format("LIKE compares texts, this is {}", child->type->ToString()));
    }
  }
  auto bound = Make(BoundKind::kLike, arrow::boolean(), node.span, std::move(children));
  bound->negated = node.negated;
  bound->any_case = node.any_case;
  return Fold(bound);
}

arrow::Result<BoundPtr> SqlBinder::IsNull(const SqlNode& node) {
  ARROW_ASSIGN_OR_RAISE(BoundPtr value, Value(*node.children[0]));
  if (IsMatch(*node.children[0])) {
    // No match is null for the peer, a match is a list.
    auto matched = Make(BoundKind::kIsTrue, arrow::boolean(), node.span, {std::move(value)});
    matched->negated = !node.negated;
    return Fold(matched);
  }
  auto bound = Make(BoundKind::kIsNull, arrow::boolean(), node.span, {std::move(value)});
  bound->negated = node.negated;
  return Fold(bound);
}

}  // namespace javelin::query
