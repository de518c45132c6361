#include "javelin/query/sql_types.h"

#include <charconv>
#include <map>

#include "javelin/base/error.h"
#include "javelin/query/sql_parser_internal.h"

namespace javelin::query {
namespace {

using arrow::TimeUnit;
using TypePtr = std::shared_ptr<arrow::DataType>;

arrow::Result<TypePtr> TimestampOf(const SqlTypeName& name) {
  if (name.arguments.empty()) return arrow::timestamp(TimeUnit::MICRO);
  if (name.arguments.size() == 1) {
    switch (name.arguments[0]) {
      case 0: return arrow::timestamp(TimeUnit::SECOND);
      case 3: return arrow::timestamp(TimeUnit::MILLI);
      case 6: return arrow::timestamp(TimeUnit::MICRO);
      case 9: return arrow::timestamp(TimeUnit::NANO);
      default: break;
    }
  }
  return InvalidInput("a timestamp has 0, 3, 6 or 9 digits behind the second");
}

arrow::Result<TypePtr> DecimalOf(const std::vector<int>& arguments) {
  if (arguments.size() != 2) return InvalidInput("a decimal needs a precision and a scale, as decimal(10, 2)");
  if (arguments[0] < 1 || arguments[0] > 38 || arguments[1] < 0 || arguments[1] > arguments[0]) {
    return InvalidInput("a decimal has a precision of 1 to 38 and a scale of 0 to the precision");
  }
  return arrow::decimal128(arguments[0], arguments[1]);
}

const std::map<std::string, TypePtr, std::less<>>& PlainArrowNames() {
  static const std::map<std::string, TypePtr, std::less<>> names = {
      {"Null", arrow::null()},       {"Boolean", arrow::boolean()},
      {"Int8", arrow::int8()},       {"Int16", arrow::int16()},
      {"Int32", arrow::int32()},     {"Int64", arrow::int64()},
      {"UInt8", arrow::uint8()},     {"UInt16", arrow::uint16()},
      {"UInt32", arrow::uint32()},   {"UInt64", arrow::uint64()},
      {"Float32", arrow::float32()}, {"Float64", arrow::float64()},
      {"Utf8", arrow::utf8()},       {"LargeUtf8", arrow::large_utf8()},
      {"Binary", arrow::binary()},   {"LargeBinary", arrow::large_binary()},
      {"Date32", arrow::date32()},   {"Date64", arrow::date64()}};
  return names;
}

constexpr std::pair<std::string_view, TimeUnit::type> kUnits[] = {
    {"Second", TimeUnit::SECOND}, {"s", TimeUnit::SECOND},          {"Millisecond", TimeUnit::MILLI},
    {"ms", TimeUnit::MILLI},      {"Microsecond", TimeUnit::MICRO}, {"us", TimeUnit::MICRO},
    {"µs", TimeUnit::MICRO},      {"Nanosecond", TimeUnit::NANO},   {"ns", TimeUnit::NANO}};

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

struct ArrowName {
  std::string_view head;
  std::vector<std::string_view> arguments;
};

std::optional<ArrowName> SplitArrowName(std::string_view name) {
  name = Trim(name);
  const size_t open = name.find('(');
  if (open == std::string_view::npos) return ArrowName{name, {}};
  if (name.back() != ')') return std::nullopt;
  ArrowName split{Trim(name.substr(0, open)), {}};
  std::string_view rest = name.substr(open + 1, name.size() - open - 2);
  while (true) {
    const size_t comma = rest.find(',');
    split.arguments.push_back(Trim(rest.substr(0, comma)));
    if (comma == std::string_view::npos) return split;
    rest.remove_prefix(comma + 1);
  }
}

// None, or Some("Europe/Paris"), or the name in quotes alone.
std::optional<std::string> TimeZoneOf(std::string_view argument) {
  if (argument == "None") return "";
  if (argument.starts_with("Some(") && argument.ends_with(")")) argument = argument.substr(5, argument.size() - 6);
  if (argument.size() < 2 || argument.front() != '"' || argument.back() != '"') return std::nullopt;
  return std::string(argument.substr(1, argument.size() - 2));
}

std::optional<int> NumberOf(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

arrow::Result<TypePtr> TimedType(const ArrowName& name, TimeUnit::type unit) {
  if (name.head == "Timestamp" && name.arguments.size() <= 2) {
    const auto zone = name.arguments.size() == 2 ? TimeZoneOf(name.arguments[1]) : std::optional<std::string>("");
    if (zone) return arrow::timestamp(unit, *zone);
  } else if (name.arguments.size() == 1) {
    if (name.head == "Duration") return arrow::duration(unit);
    if (name.head == "Time32" && unit <= TimeUnit::MILLI) return arrow::time32(unit);
    if (name.head == "Time64" && unit > TimeUnit::MILLI) return arrow::time64(unit);
  }
  return nullptr;
}

}  // namespace

arrow::Result<TypePtr> TypeOfSqlName(const SqlTypeName& name) {
  static const std::map<std::string, TypePtr, std::less<>> plain = {{"string", arrow::utf8()},
                                                                    {"binary", arrow::binary()},
                                                                    {"float", arrow::float32()},
                                                                    {"double", arrow::float64()},
                                                                    {"boolean", arrow::boolean()},
                                                                    {"tinyint", arrow::int8()},
                                                                    {"smallint", arrow::int16()},
                                                                    {"int", arrow::int32()},
                                                                    {"integer", arrow::int32()},
                                                                    {"bigint", arrow::int64()},
                                                                    {"tinyint unsigned", arrow::uint8()},
                                                                    {"smallint unsigned", arrow::uint16()},
                                                                    {"int unsigned", arrow::uint32()},
                                                                    {"integer unsigned", arrow::uint32()},
                                                                    {"bigint unsigned", arrow::uint64()},
                                                                    {"date", arrow::date32()}};
  if (name.name == "timestamp" || name.name == "datetime") return TimestampOf(name);
  if (name.name == "decimal") return DecimalOf(name.arguments);
  const auto found = plain.find(name.name);
  if (found == plain.end()) {
    return InvalidInput(
        "there is no type `{}`; types are boolean, [tiny|small|big]int [unsigned], float, double, decimal(precision, "
        "scale), string, binary, date, timestamp(digits)",
        name.name);
  }
  if (!name.arguments.empty()) return InvalidInput("the type `{}` takes no arguments", name.name);
  return found->second;
}

arrow::Result<TypePtr> TypeOfArrowName(std::string_view name) {
  const auto refuse = [&] { return InvalidInput("there is no Arrow type '{}' that a value can be cast to", name); };
  const std::optional<ArrowName> split = SplitArrowName(name);
  if (!split) return refuse();
  if (split->arguments.empty()) {
    const auto found = PlainArrowNames().find(split->head);
    return found == PlainArrowNames().end() ? refuse() : arrow::Result<TypePtr>(found->second);
  }
  if (split->head == "Decimal128" && split->arguments.size() == 2) {
    const auto precision = NumberOf(split->arguments[0]), scale = NumberOf(split->arguments[1]);
    if (!precision || !scale) return refuse();
    return DecimalOf({*precision, *scale});
  }
  if (split->head == "FixedSizeBinary" && split->arguments.size() == 1) {
    const auto width = NumberOf(split->arguments[0]);
    return width && *width > 0 ? arrow::Result<TypePtr>(arrow::fixed_size_binary(*width)) : refuse();
  }
  for (const auto& [unit_name, unit] : kUnits) {
    if (split->arguments[0] != unit_name) continue;
    ARROW_ASSIGN_OR_RAISE(const TypePtr type, TimedType(*split, unit));
    return type ? arrow::Result<TypePtr>(type) : refuse();
  }
  return refuse();
}

std::string ArrowNameOf(const arrow::DataType& type) {
  for (const auto& [name, plain] : PlainArrowNames())
    if (plain->Equals(type)) return name;
  switch (type.id()) {
    case arrow::Type::DECIMAL128: {
      const auto& decimal = static_cast<const arrow::DecimalType&>(type);
      return fmt::format("Decimal128({}, {})", decimal.precision(), decimal.scale());
    }
    case arrow::Type::FIXED_SIZE_BINARY:
      return fmt::format("FixedSizeBinary({})", static_cast<const arrow::FixedSizeBinaryType&>(type).byte_width());
    case arrow::Type::TIMESTAMP: {
      const auto& timestamp = static_cast<const arrow::TimestampType&>(type);
      const char* short_name[] = {"s", "ms", "µs", "ns"};
      return timestamp.timezone().empty()
                 ? fmt::format("Timestamp({})", short_name[timestamp.unit()])
                 : fmt::format("Timestamp({}, \"{}\")", short_name[timestamp.unit()], timestamp.timezone());
    }
    default: return type.ToString();
  }
}

TypePtr SqlTypeOf(const TypePtr& stored) {
  switch (stored->id()) {
    case arrow::Type::DICTIONARY: return SqlTypeOf(static_cast<const arrow::DictionaryType&>(*stored).value_type());
    case arrow::Type::HALF_FLOAT: return arrow::float32();
    case arrow::Type::DECIMAL32:
    case arrow::Type::DECIMAL64: {
      const auto& decimal = static_cast<const arrow::DecimalType&>(*stored);
      return arrow::decimal128(decimal.precision(), decimal.scale());
    }
    case arrow::Type::STRING_VIEW: return arrow::utf8();
    case arrow::Type::BINARY_VIEW: return arrow::binary();
    default: return stored;
  }
}

}  // namespace javelin::query
