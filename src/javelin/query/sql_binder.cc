// Values: literals, names, casts, elements. Operators: sql_operators.cc.
#include "javelin/query/sql_binder.h"

#include <charconv>

#include <arrow/builder.h>
#include <arrow/scalar.h>

#include "javelin/query/sql_cast.h"
#include "javelin/query/sql_coerce.h"
#include "javelin/query/sql_evaluate.h"
#include "javelin/query/sql_parser_internal.h"
#include "javelin/query/sql_types.h"

namespace javelin::query {

using TypePtr = std::shared_ptr<arrow::DataType>;

bool IsLiteral(const SqlNode& node) {
  switch (node.kind) {
    case SqlKind::kNumber:
    case SqlKind::kString:
    case SqlKind::kHexString:
    case SqlKind::kBoolean:
    case SqlKind::kNull: return true;
    case SqlKind::kArray:
    case SqlKind::kNegate:
    case SqlKind::kBinary:
      for (const SqlNodePtr& child : node.children)
        if (!IsLiteral(*child)) return false;
      return true;
    default: return false;
  }
}

std::shared_ptr<BoundExpression> SqlBinder::Make(BoundKind kind, TypePtr type, SqlSpan span,
                                                 std::vector<BoundPtr> children) const {
  auto node = std::make_shared<BoundExpression>();
  node->kind = kind;
  node->type = std::move(type);
  node->span = span;
  node->children = std::move(children);
  return node;
}

BoundPtr SqlBinder::Literal(std::shared_ptr<arrow::Scalar> value, SqlSpan span) const {
  auto node = Make(BoundKind::kLiteral, value->type, span);
  node->literal = std::move(value);
  return node;
}

arrow::Result<BoundPtr> SqlBinder::Fold(BoundPtr node) const {
  if (node->kind == BoundKind::kLiteral || node->kind == BoundKind::kColumn) return node;
  for (const BoundPtr& child : node->children)
    if (child->kind != BoundKind::kLiteral) return node;
  const SqlColumnLookup none = [](const std::string&, const std::string&) { return nullptr; };
  ARROW_ASSIGN_OR_RAISE(const arrow::Datum value, EvaluateSql(*node, text_, 1, none, arrow::default_memory_pool()));
  if (value.is_scalar()) return Literal(value.scalar(), node->span);
  ARROW_ASSIGN_OR_RAISE(const auto scalar, value.make_array()->GetScalar(0));
  return Literal(scalar, node->span);
}

arrow::Result<BoundPtr> SqlBinder::Cast(BoundPtr value, const TypePtr& type, bool try_cast) const {
  if (value->type->Equals(*type)) return value;
  if (!CanSqlCast(*value->type, *type)) {
    return Error(value->span, fmt::format("{} cannot be cast to {}", value->type->ToString(), type->ToString()));
  }
  const SqlSpan span = value->span;
  auto node = Make(BoundKind::kCast, type, span, {std::move(value)});
  node->try_cast = try_cast;
  return Fold(node);
}

arrow::Result<BoundPtr> SqlBinder::Value(const SqlNode& node) {
  switch (node.kind) {
    case SqlKind::kNumber: return Number(node);
    case SqlKind::kString: return Literal(arrow::MakeScalar(node.text), node.span);
    case SqlKind::kHexString: return Hex(node);
    case SqlKind::kBoolean: return Literal(arrow::MakeScalar(node.text == "true"), node.span);
    case SqlKind::kNull: return Literal(arrow::MakeNullScalar(arrow::null()), node.span);
    case SqlKind::kName: return Name(node);
    case SqlKind::kTypedLiteral:
    case SqlKind::kCast: return CastNode(node);
    case SqlKind::kField: return Field(node);
    case SqlKind::kElement: return Element(node);
    case SqlKind::kArray: return Array(node);
    case SqlKind::kNegate: return Negate(node);
    case SqlKind::kBinary: return Binary(node);
    case SqlKind::kAnd:
    case SqlKind::kOr: return Chain(node);
    case SqlKind::kDistinct: return Distinct(node);
    case SqlKind::kBetween: return Between(node);
    case SqlKind::kIn: return In(node);
    case SqlKind::kLike: return Like(node);
    case SqlKind::kIsNull: return IsNull(node);
    case SqlKind::kNot: {
      ARROW_ASSIGN_OR_RAISE(BoundPtr condition, Condition(*node.children[0]));
      return Not(std::move(condition), node.span);
    }
    case SqlKind::kIsTrue:
    case SqlKind::kIsFalse: {
      ARROW_ASSIGN_OR_RAISE(BoundPtr condition, Condition(*node.children[0]));
      const auto kind = node.kind == SqlKind::kIsTrue ? BoundKind::kIsTrue : BoundKind::kIsFalse;
      auto bound = Make(kind, arrow::boolean(), node.span, {std::move(condition)});
      bound->negated = node.negated;
      return Fold(bound);
    }
    case SqlKind::kCall: {
      std::vector<BoundPtr> arguments;
      for (const SqlNodePtr& child : node.children) {
        ARROW_ASSIGN_OR_RAISE(arguments.emplace_back(), Value(*child));
      }
      return BindFunction(*this, node, std::move(arguments));
    }
  }
  return Internal("an expression of unknown kind");
}

arrow::Result<BoundPtr> SqlBinder::ValueAs(const SqlNode& node, const TypePtr& type) {
  ARROW_ASSIGN_OR_RAISE(BoundPtr value, Value(node));
  const TypePtr computed = SqlTypeOf(type);
  if (value->kind == BoundKind::kLiteral && IsLiteral(node)) {
    if (const auto fitting = CoerceLiteral(value->literal, computed)) {
      value = Literal(fitting, node.span);
    } else if (!IsText(*value->type)) {
      return Error(node.span, fmt::format("{} is no value of {}", Written(node.span), type->ToString()));
    }
  }
  ARROW_ASSIGN_OR_RAISE(value, Cast(std::move(value), computed));
  if (computed->Equals(*type)) return value;
  if (type->id() == arrow::Type::DICTIONARY || type->id() == arrow::Type::EXTENSION) {
    return Unsupported(node.span, fmt::format("values of {} are not computed", type->ToString()));
  }
  return BoundPtr(Make(BoundKind::kCast, type, node.span, {std::move(value)}));
}

arrow::Result<BoundPtr> SqlBinder::Number(const SqlNode& node) const {
  const std::string& digits = node.text;
  const char* end = digits.data() + digits.size();
  int64_t whole = 0;
  if (const auto read = std::from_chars(digits.data(), end, whole); read.ec == std::errc() && read.ptr == end) {
    return Literal(arrow::MakeScalar(whole), node.span);
  }
  uint64_t large = 0;
  if (const auto read = std::from_chars(digits.data(), end, large); read.ec == std::errc() && read.ptr == end) {
    return Literal(arrow::MakeScalar(large), node.span);
  }
  double number = 0;
  const auto read = std::from_chars(digits.data(), end, number);
  if (read.ptr != end || (read.ec != std::errc() && read.ec != std::errc::result_out_of_range)) {
    return Error(node.span, "a malformed number");
  }
  if (read.ec == std::errc::result_out_of_range) return Error(node.span, "a number that no double can hold");
  return Literal(arrow::MakeScalar(number), node.span);
}

arrow::Result<BoundPtr> SqlBinder::Hex(const SqlNode& node) const {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; };
  std::string bytes;
  // An odd first digit is a byte of its own, as in the peer.
  size_t at = node.text.size() % 2;
  if (at == 1) bytes.push_back(static_cast<char>(digit(node.text[0])));
  for (; at < node.text.size(); at += 2) {
    bytes.push_back(static_cast<char>(digit(node.text[at]) * 16 + digit(node.text[at + 1])));
  }
  return Literal(std::make_shared<arrow::BinaryScalar>(arrow::Buffer::FromString(std::move(bytes))), node.span);
}

arrow::Result<BoundPtr> SqlBinder::CastNode(const SqlNode& node) {
  const auto type = TypeOfSqlName(node.type);
  if (!type.ok()) return Error(node.type.span, type.status().message());
  if (node.kind == SqlKind::kTypedLiteral) {
    ARROW_ASSIGN_OR_RAISE(const BoundPtr value, Cast(Literal(arrow::MakeScalar(node.text), node.span), *type));
    return Literal(value->literal, node.span);
  }
  ARROW_ASSIGN_OR_RAISE(BoundPtr value, Value(*node.children[0]));
  return Cast(std::move(value), *type, node.try_cast);
}

arrow::Result<BoundPtr> SqlBinder::Array(const SqlNode& node) {
  std::vector<BoundPtr> items;
  for (const SqlNodePtr& child : node.children) {
    ARROW_ASSIGN_OR_RAISE(items.emplace_back(), Value(*child));
  }
  SqlNode call{.kind = SqlKind::kCall, .span = node.span, .text = "make_array"};
  return BindFunction(*this, call, std::move(items));
}

arrow::Result<BoundPtr> SqlBinder::Element(const SqlNode& node) {
  ARROW_ASSIGN_OR_RAISE(BoundPtr list, Value(*node.children[0]));
  ARROW_ASSIGN_OR_RAISE(BoundPtr position, Value(*node.children[1]));
  if (node.children[0]->kind == SqlKind::kCall && node.children[0]->text == "regexp_match") {
    return Unsupported(node.span, "what regexp_match found; it says only whether there is a match");
  }
  if (!IsList(*list->type)) {
    return Error(node.children[0]->span, fmt::format("{} has no elements: it is no list", list->type->ToString()));
  }
  if (!arrow::is_integer(position->type->id()) && !query::IsNull(*position->type)) {
    return Error(node.children[1]->span, "the position in a list is a whole number");
  }
  ARROW_ASSIGN_OR_RAISE(position, Cast(std::move(position), arrow::int64()));
  const TypePtr stored = list->type->field(0)->type();
  const BoundPtr element = Make(BoundKind::kElement, stored, node.span, {std::move(list), std::move(position)});
  ARROW_ASSIGN_OR_RAISE(BoundPtr folded, Fold(element));
  return Cast(std::move(folded), SqlTypeOf(stored));
}

arrow::Result<BoundPtr> SqlBinder::Field(const SqlNode& node) {
  ARROW_ASSIGN_OR_RAISE(BoundPtr value, Value(*node.children[0]));
  if (value->kind == BoundKind::kColumn) {
    // st['x'] is st.x
    SqlNode name{.kind = SqlKind::kName, .span = node.span, .path = value->column.path, .quoted = true};
    name.path.push_back(node.text);
    for (const Scope::Column& column : scope_.columns()) {
      if (column.name == name.path[0] && column.relation == value->column.relation) return ColumnOf(column, name, 1);
    }
  }
  if (value->type->id() != arrow::Type::STRUCT) {
    return Error(node.span, fmt::format("{} has no fields: it is no struct", value->type->ToString()));
  }
  const auto& type = static_cast<const arrow::StructType&>(*value->type);
  const auto field = type.GetFieldByName(node.text);
  if (field == nullptr) {
    return Error(node.span, fmt::format("the struct has no field `{}`; it has {}", node.text, type.ToString()));
  }
  auto bound = Make(BoundKind::kField, field->type(), node.span, {std::move(value)});
  bound->text = node.text;
  ARROW_ASSIGN_OR_RAISE(BoundPtr folded, Fold(bound));
  return Cast(std::move(folded), SqlTypeOf(field->type()));
}

}  // namespace javelin::query
