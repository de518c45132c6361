// Calls -> kernels: the tables of functions, and how arguments become what a kernel takes.
#include "javelin/query/sql_functions.h"

#include <algorithm>

#include <arrow/scalar.h>

#include "javelin/base/nearest_name.h"
#include "javelin/query/sql_binder.h"
#include "javelin/query/sql_coerce.h"
#include "javelin/query/sql_functions_internal.h"
#include "javelin/query/sql_parser_internal.h"
#include "javelin/query/sql_types.h"

namespace javelin::query {
namespace {

using TypePtr = std::shared_ptr<arrow::DataType>;

// What the peer reads by a syntax of its own and refuses, and what to write instead.
constexpr std::pair<std::string_view, std::string_view> kInstead[] = {
    {"trim", "btrim"},      {"substr", "left and right"},   {"substring", "left and right"},
    {"position", "strpos"}, {"extract", "date_part"},       {"ceil", "round"},
    {"floor", "trunc"},     {"if", "AND, OR and coalesce"}, {"year", "date_part"},
    {"overlay", "replace"}, {"random", "a column"},         {"uuid", "a column"}};

const SqlFunction* Find(std::string_view name) {
  for (const auto& table :
       {TextFunctions(), MoreTextFunctions(), NumberFunctions(), ListFunctions(), TimeFunctions(), ChoiceFunctions()}) {
    for (const SqlFunction& function : table)
      if (function.name == name) return &function;
  }
  return nullptr;
}

std::vector<std::string_view> Names() {
  std::vector<std::string_view> names = SpecialFunctionNames();
  for (const auto& table :
       {TextFunctions(), MoreTextFunctions(), NumberFunctions(), ListFunctions(), TimeFunctions(), ChoiceFunctions()}) {
    for (const SqlFunction& function : table) names.push_back(function.name);
  }
  return names;
}

arrow::Status Unknown(const SqlBinder& binder, const SqlNode& node) {
  for (const auto& [name, instead] : kInstead) {
    if (node.text == name) {
      return binder.Unsupported(node.span,
                                fmt::format("there is no function `{}` in expressions; see {}", name, instead));
    }
  }
  const std::string nearest = NearestName(node.text, Names());
  return binder.Unsupported(
      node.span, nearest.empty() ? fmt::format("there is no function `{}`", node.text)
                                 : fmt::format("there is no function `{}`; did you mean `{}`?", node.text, nearest));
}

// The letters of the parameters, as many as there are arguments. Empty on a wrong number.
arrow::Result<std::string> LettersOf(const SqlBinder& binder, const SqlFunction& function, const SqlNode& node,
                                     size_t count) {
  std::string letters;
  size_t least = std::string::npos;
  bool more = false;
  for (const char c : function.parameters) {
    if (c == '?') {
      least = letters.size();
    } else if (c == '*') {
      more = true;
    } else {
      letters += c;
    }
  }
  const size_t most = letters.size();
  if (least == std::string::npos) least = more ? most - 1 : most;
  if (count < least || (count > most && !more)) {
    const std::string wanted = more            ? fmt::format("{} or more", least)
                               : least == most ? fmt::format("{}", most)
                                               : fmt::format("{} to {}", least, most);
    return binder.Error(node.span,
                        fmt::format("the function `{}` takes {} arguments, not {}", function.name, wanted, count));
  }
  while (letters.size() < count) letters += letters.back();
  letters.resize(count);
  return letters;
}

// The type that an argument becomes; null: it does not fit.
TypePtr TypeFor(char letter, const BoundPtr& argument, const std::vector<BoundPtr>& all) {
  const TypePtr& type = argument->type;
  const bool null = IsNull(*type);
  switch (letter) {
    case 't': return null ? arrow::utf8() : IsText(*type) ? type : nullptr;
    case 'b': return null ? arrow::utf8() : IsText(*type) || IsBinary(*type) ? type : nullptr;
    case 'x': return IsText(*type) ? type : arrow::utf8();
    case 'n': return null ? arrow::float64() : IsNumber(*type) ? type : nullptr;
    case 'i': return null || arrow::is_integer(type->id()) ? arrow::int64() : nullptr;
    case 'f': return null || IsNumber(*type) ? arrow::float64() : nullptr;
    case 'd': {
      if (null) return arrow::timestamp(arrow::TimeUnit::MICRO);
      return IsDate(*type) || type->id() == arrow::Type::TIMESTAMP ? type : nullptr;
    }
    case 'l': return null ? arrow::list(arrow::null()) : IsList(*type) ? type : nullptr;
    case 'e': return IsList(*all[0]->type) ? SqlTypeOf(all[0]->type->field(0)->type()) : nullptr;
    case 'm': return IsList(*all[0]->type) && (IsList(*type) || null) ? all[0]->type : nullptr;
    default: return type;
  }
}

arrow::Status FitArguments(const SqlBinder& binder, const SqlFunction& function, const SqlNode& node,
                           const std::string& letters, std::vector<BoundPtr>* arguments) {
  std::vector<BoundPtr> same;
  for (size_t i = 0; i < letters.size(); ++i) {
    BoundPtr& argument = (*arguments)[i];
    if (letters[i] == 's') {
      same.push_back(argument);
      continue;
    }
    const TypePtr type = TypeFor(letters[i], argument, *arguments);
    const bool element = letters[i] == 'e' || letters[i] == 'm';
    if (type == nullptr || (element && CommonType(argument->type, type) == nullptr &&
                            CoerceLiteral(arrow::MakeNullScalar(argument->type), type) == nullptr)) {
      return binder.Error(argument->span, fmt::format("the function `{}` does not take {} as argument {}",
                                                      function.name, argument->type->ToString(), i + 1));
    }
    if (element) {
      ARROW_RETURN_NOT_OK(FitElement(binder, type, &(*arguments)[0], &argument, letters[i] == 'm'));
    } else {
      ARROW_ASSIGN_OR_RAISE(argument, binder.Cast(argument, type));
    }
  }
  if (same.empty()) return arrow::Status::OK();
  // Literals count as what they are (a whole number is an int64), so that no literal makes a result narrow.
  TypePtr common = arrow::null();
  for (const BoundPtr& argument : same) {
    const TypePtr next = CommonType(common, argument->type);
    if (next == nullptr) {
      return binder.Error(node.span,
                          fmt::format("the function `{}` takes values of one type: {} and {} have none in common",
                                      function.name, common->ToString(), argument->type->ToString()));
    }
    common = next;
  }
  for (BoundPtr& argument : same) {
    ARROW_ASSIGN_OR_RAISE(argument, binder.Cast(argument, common));
  }
  size_t next = 0;
  for (size_t i = 0; i < letters.size(); ++i)
    if (letters[i] == 's') (*arguments)[i] = same[next++];
  return arrow::Status::OK();
}

TypePtr ResultType(char result, const std::vector<BoundPtr>& arguments) {
  const TypePtr first = arguments.empty() ? arrow::null() : arguments[0]->type;
  switch (result) {
    case 'T': return first->id() == arrow::Type::LARGE_STRING ? arrow::large_utf8() : arrow::utf8();
    case 'B': return arrow::boolean();
    case 'I': return arrow::int64();
    case 'J': return arrow::int32();
    case 'U': return arrow::uint64();
    case 'F': return arrow::float64();
    case 'D': return arrow::date32();
    case 'S': return arrow::timestamp(arrow::TimeUnit::NANO);
    case 'E': return IsList(*first) ? first->field(0)->type() : arrow::null();
    case 'L': return arrow::list(first);
    case 'M': {  // a moment of the second argument
      const TypePtr& type = arguments[1]->type;
      return IsDate(*type) ? arrow::timestamp(arrow::TimeUnit::MICRO) : type;
    }
    case 'P': {  // seconds since 1970 have a fraction, other parts are whole
      const auto& part = arguments[0]->literal;
      if (part == nullptr || !part->is_valid) return arrow::int32();
      const std::string name = LowerAscii(static_cast<const arrow::BaseBinaryScalar&>(*part).view());
      return name == "epoch" ? arrow::float64() : name == "nanosecond" ? arrow::int64() : arrow::int32();
    }
    default: return first;
  }
}

}  // namespace

// The list and the value (or other list) in one type: a literal follows the list, else both meet.
arrow::Status FitElement(const SqlBinder& binder, const TypePtr& type, BoundPtr* list, BoundPtr* value, bool is_list) {
  if ((*value)->kind == BoundKind::kLiteral) {
    if (const auto fitting = CoerceLiteral((*value)->literal, type)) {
      *value = binder.Literal(fitting, (*value)->span);
      return arrow::Status::OK();
    }
  }
  const TypePtr common = CommonType((*value)->type, type);
  if (common == nullptr) {
    return binder.Error((*value)->span,
                        fmt::format("{} is not found in {}", (*value)->type->ToString(), (*list)->type->ToString()));
  }
  ARROW_ASSIGN_OR_RAISE(*value, binder.Cast(*value, common));
  ARROW_ASSIGN_OR_RAISE(*list, binder.Cast(*list, is_list ? common : arrow::list(common)));
  return arrow::Status::OK();
}

arrow::Result<BoundPtr> BindFunction(const SqlBinder& binder, const SqlNode& node, std::vector<BoundPtr> arguments) {
  ARROW_ASSIGN_OR_RAISE(BoundPtr special, BindSpecialFunction(binder, node, &arguments));
  if (special != nullptr) return special;
  const SqlFunction* function = Find(node.text);
  if (function == nullptr) return Unknown(binder, node);
  ARROW_ASSIGN_OR_RAISE(const std::string letters, LettersOf(binder, *function, node, arguments.size()));
  ARROW_RETURN_NOT_OK(FitArguments(binder, *function, node, letters, &arguments));
  const TypePtr type = ResultType(function->result, arguments);
  auto call = binder.Make(BoundKind::kCall, type, node.span, std::move(arguments));
  call->text = node.text;
  call->kernel = function->kernel;
  ARROW_ASSIGN_OR_RAISE(BoundPtr folded, binder.Fold(call));
  return binder.Cast(std::move(folded), SqlTypeOf(type));
}

}  // namespace javelin::query
