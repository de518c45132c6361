// Functions that become other nodes, or that know more than their arguments.
#include <arrow/scalar.h>

#include "javelin/query/sql_functions_internal.h"
#include "javelin/query/sql_types.h"

namespace javelin::query {
namespace {

arrow::Result<std::string> TextLiteral(const SqlBinder& binder, const BoundPtr& argument, std::string_view what) {
  if (argument->kind != BoundKind::kLiteral || !IsText(*argument->type) || !argument->literal->is_valid) {
    return binder.Error(argument->span, fmt::format("{} is written as a text literal", what));
  }
  return std::string(static_cast<const arrow::BaseBinaryScalar&>(*argument->literal).view());
}

arrow::Result<BoundPtr> ArrowCast(const SqlBinder& binder, const SqlNode&, std::vector<BoundPtr>& arguments) {
  ARROW_ASSIGN_OR_RAISE(const std::string name, TextLiteral(binder, arguments[1], "the type of arrow_cast"));
  const auto type = TypeOfArrowName(name);
  if (!type.ok()) return binder.Error(arguments[1]->span, type.status().message());
  return binder.Cast(arguments[0], *type);
}

arrow::Result<BoundPtr> ArrowTypeOf(const SqlBinder& binder, const SqlNode& node, std::vector<BoundPtr>& arguments) {
  return binder.Literal(arrow::MakeScalar(ArrowNameOf(*arguments[0]->type)), node.span);
}

arrow::Result<BoundPtr> IsValid(const SqlBinder& binder, const SqlNode& node, std::vector<BoundPtr>& arguments) {
  auto bound = binder.Make(BoundKind::kIsNull, arrow::boolean(), node.span, {arguments[0]});
  bound->negated = true;
  return binder.Fold(bound);
}

arrow::Result<BoundPtr> ArrayElement(const SqlBinder& binder, const SqlNode& node, std::vector<BoundPtr>& arguments) {
  if (!IsList(*arguments[0]->type)) {
    return binder.Error(arguments[0]->span, fmt::format("{} is no list", arguments[0]->type->ToString()));
  }
  if (!arrow::is_integer(arguments[1]->type->id()) && !IsNull(*arguments[1]->type)) {
    return binder.Error(arguments[1]->span, "the position in a list is a whole number");
  }
  ARROW_ASSIGN_OR_RAISE(const BoundPtr position, binder.Cast(arguments[1], arrow::int64()));
  const auto stored = arguments[0]->type->field(0)->type();
  ARROW_ASSIGN_OR_RAISE(BoundPtr element,
                        binder.Fold(binder.Make(BoundKind::kElement, stored, node.span, {arguments[0], position})));
  return binder.Cast(std::move(element), SqlTypeOf(stored));
}

arrow::Result<BoundPtr> GetField(const SqlBinder& binder, const SqlNode& node, std::vector<BoundPtr>& arguments) {
  ARROW_ASSIGN_OR_RAISE(const std::string name, TextLiteral(binder, arguments[1], "the field of get_field"));
  const auto& type = arguments[0]->type;
  const auto field =
      type->id() == arrow::Type::STRUCT ? static_cast<const arrow::StructType&>(*type).GetFieldByName(name) : nullptr;
  if (field == nullptr) return binder.Error(node.span, fmt::format("{} has no field `{}`", type->ToString(), name));
  auto bound = binder.Make(BoundKind::kField, field->type(), node.span, {arguments[0]});
  bound->text = name;
  ARROW_ASSIGN_OR_RAISE(BoundPtr folded, binder.Fold(bound));
  return binder.Cast(std::move(folded), SqlTypeOf(field->type()));
}

arrow::Result<BoundPtr> Moment(const SqlBinder& binder, const SqlNode& node,
                               const std::shared_ptr<arrow::DataType>& type) {
  if (!binder.options().now_nanoseconds) {
    return binder.Unsupported(node.span, "the time is not known here: write it as timestamp '...'");
  }
  const auto now = std::make_shared<arrow::TimestampScalar>(*binder.options().now_nanoseconds,
                                                            arrow::timestamp(arrow::TimeUnit::NANO, "UTC"));
  return binder.Cast(binder.Literal(now, node.span), type);
}

arrow::Result<BoundPtr> Now(const SqlBinder& binder, const SqlNode& node, std::vector<BoundPtr>&) {
  return Moment(binder, node, arrow::timestamp(arrow::TimeUnit::NANO, "UTC"));
}

arrow::Result<BoundPtr> Today(const SqlBinder& binder, const SqlNode& node, std::vector<BoundPtr>&) {
  return Moment(binder, node, arrow::date32());
}

struct Special {
  std::string_view name;
  size_t arguments;
  arrow::Result<BoundPtr> (*bind)(const SqlBinder&, const SqlNode&, std::vector<BoundPtr>&);
};

constexpr Special kSpecials[] = {{"arrow_cast", 2, ArrowCast},
                                 {"arrow_typeof", 1, ArrowTypeOf},
                                 {"is_valid", 1, IsValid},
                                 {"array_element", 2, ArrayElement},
                                 {"array_extract", 2, ArrayElement},
                                 {"list_element", 2, ArrayElement},
                                 {"get_field", 2, GetField},
                                 {"now", 0, Now},
                                 {"current_timestamp", 0, Now},
                                 {"current_date", 0, Today},
                                 {"today", 0, Today}};

}  // namespace

arrow::Result<BoundPtr> BindSpecialFunction(const SqlBinder& binder, const SqlNode& node,
                                            std::vector<BoundPtr>* arguments) {
  for (const Special& special : kSpecials) {
    if (special.name != node.text) continue;
    if (arguments->size() != special.arguments) {
      return binder.Error(node.span, fmt::format("the function `{}` takes {} arguments, not {}", special.name,
                                                 special.arguments, arguments->size()));
    }
    return special.bind(binder, node, *arguments);
  }
  return nullptr;
}

std::vector<std::string_view> SpecialFunctionNames() {
  std::vector<std::string_view> names;
  for (const Special& special : kSpecials) names.push_back(special.name);
  return names;
}

}  // namespace javelin::query
