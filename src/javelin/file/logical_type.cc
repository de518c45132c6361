#include "javelin/file/logical_type_internal.h"

#include <charconv>

#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "javelin/base/error.h"
#include "javelin/file/schema.h"

namespace javelin::file {

namespace {

using TypePtr = std::shared_ptr<arrow::DataType>;
using arrow::TimeUnit;
using arrow::Type;

// Nested fixed-size lists recurse once per level; no real type comes near this.
constexpr int kMaxNesting = 32;
constexpr std::string_view kFixedSizeList = "fixed_size_list:";

// Names without parameters. Views share the name of the plain type and come back as that, so they are not listed.
const std::vector<std::pair<std::string_view, TypePtr>>& PlainTypes() {
  static const std::vector<std::pair<std::string_view, TypePtr>> types = {
      {"null", arrow::null()},
      {"bool", arrow::boolean()},
      {"int8", arrow::int8()},
      {"int16", arrow::int16()},
      {"int32", arrow::int32()},
      {"int64", arrow::int64()},
      {"uint8", arrow::uint8()},
      {"uint16", arrow::uint16()},
      {"uint32", arrow::uint32()},
      {"uint64", arrow::uint64()},
      {"halffloat", arrow::float16()},
      {"float", arrow::float32()},
      {"double", arrow::float64()},
      {"string", arrow::utf8()},
      {"large_string", arrow::large_utf8()},
      {"binary", arrow::binary()},
      {"large_binary", arrow::large_binary()},
      {"date32:day", arrow::date32()},
      {"date64:ms", arrow::date64()},
      {"time32:s", arrow::time32(TimeUnit::SECOND)},
      {"time32:ms", arrow::time32(TimeUnit::MILLI)},
      {"time64:us", arrow::time64(TimeUnit::MICRO)},
      {"time64:ns", arrow::time64(TimeUnit::NANO)},
      {"duration:s", arrow::duration(TimeUnit::SECOND)},
      {"duration:ms", arrow::duration(TimeUnit::MILLI)},
      {"duration:us", arrow::duration(TimeUnit::MICRO)},
      {"duration:ns", arrow::duration(TimeUnit::NANO)},
  };
  return types;
}

std::string_view UnitName(TimeUnit::type unit) {
  switch (unit) {
    case TimeUnit::SECOND: return "s";
    case TimeUnit::MILLI: return "ms";
    case TimeUnit::MICRO: return "us";
    case TimeUnit::NANO: return "ns";
  }
  return "?";
}

std::optional<TimeUnit::type> UnitOf(std::string_view name) {
  for (TimeUnit::type unit : TimeUnit::values()) {
    if (UnitName(unit) == name) return unit;
  }
  return std::nullopt;
}

std::optional<int32_t> ParseInt(std::string_view text) {
  int32_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// Cuts `text` at its last ':' (rest, last part); no ':' gives an empty rest.
std::pair<std::string_view, std::string_view> SplitLast(std::string_view text) {
  size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return {{}, text};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

arrow::Status UnknownLogicalType(std::string_view logical_type) {
  return NotSupported("logical type '{}' is not known", logical_type);
}

arrow::Result<TypePtr> ParseTimestamp(std::string_view logical_type, std::string_view parameters) {
  size_t colon = parameters.find(':');
  if (colon == std::string_view::npos) return UnknownLogicalType(logical_type);
  auto unit = UnitOf(parameters.substr(0, colon));
  std::string zone(parameters.substr(colon + 1));
  if (!unit) return UnknownLogicalType(logical_type);
  if (zone == "-") return arrow::timestamp(*unit);
  return arrow::timestamp(*unit, zone);
}

arrow::Result<TypePtr> ParseDecimal(std::string_view logical_type, std::string_view parameters) {
  auto [width_and_precision, scale_text] = SplitLast(parameters);
  auto [width, precision_text] = SplitLast(width_and_precision);
  auto precision = ParseInt(precision_text);
  auto scale = ParseInt(scale_text);
  if (!precision || !scale) return UnknownLogicalType(logical_type);
  auto made = width == "128"   ? arrow::Decimal128Type::Make(*precision, *scale)
              : width == "256" ? arrow::Decimal256Type::Make(*precision, *scale)
                               : arrow::Result<TypePtr>(UnknownLogicalType(logical_type));
  if (!made.ok()) return UnknownLogicalType(logical_type);
  return made;
}

arrow::Result<TypePtr> ParseDictionary(std::string_view logical_type, std::string_view parameters) {
  auto [value_and_index, ordered] = SplitLast(parameters);
  auto [value_name, index_name] = SplitLast(value_and_index);
  if (ordered != "false" || value_name.find(':') != std::string_view::npos) return UnknownLogicalType(logical_type);
  ARROW_ASSIGN_OR_RAISE(TypePtr value, TypeOfLogical(value_name));
  ARROW_ASSIGN_OR_RAISE(TypePtr index, TypeOfLogical(index_name));
  auto made = arrow::DictionaryType::Make(index, value, /*ordered=*/false);
  if (!made.ok()) return UnknownLogicalType(logical_type);
  return made;
}

TypePtr Bfloat16List(int32_t dimension) {
  auto metadata = arrow::key_value_metadata({std::string(kExtensionNameMetadata), std::string(kExtensionDataMetadata)},
                                            {std::string(kBfloat16Extension), ""});
  return arrow::fixed_size_list(arrow::field("item", arrow::fixed_size_binary(2), true, metadata), dimension);
}

// What a fixed-size list without a column of its own for its items may hold. Of nulls it is read, but not written.
bool MayBeItem(const arrow::DataType& type) {
  if (type.id() == Type::FIXED_SIZE_LIST)
    return MayBeItem(*static_cast<const arrow::FixedSizeListType&>(type).value_type());
  return type.id() == Type::NA || IsFixedWidthPrimitive(type);
}

arrow::Result<TypePtr> Parse(std::string_view logical_type, int depth);

arrow::Result<TypePtr> ParseFixedSizeList(std::string_view logical_type, std::string_view parameters, int depth) {
  auto [inner_name, dimension_text] = SplitLast(parameters);
  auto dimension = ParseInt(dimension_text);
  if (!dimension || *dimension < 1 || depth >= kMaxNesting) return UnknownLogicalType(logical_type);
  if (inner_name == kBfloat16Extension) return Bfloat16List(*dimension);
  ARROW_ASSIGN_OR_RAISE(TypePtr inner, Parse(inner_name, depth + 1));
  if (!MayBeItem(*inner)) return UnknownLogicalType(logical_type);
  return arrow::fixed_size_list(arrow::field("item", inner), *dimension);
}

arrow::Result<TypePtr> Parse(std::string_view logical_type, int depth) {
  for (const auto& [name, type] : PlainTypes()) {
    if (name == logical_type) return type;
  }
  if (logical_type == "json" || logical_type == "blob") return arrow::large_binary();
  size_t colon = logical_type.find(':');
  if (colon == std::string_view::npos) return UnknownLogicalType(logical_type);
  std::string_view family = logical_type.substr(0, colon);
  std::string_view parameters = logical_type.substr(colon + 1);
  if (family == "timestamp") return ParseTimestamp(logical_type, parameters);
  if (family == "decimal") return ParseDecimal(logical_type, parameters);
  if (family == "fixed_size_list") return ParseFixedSizeList(logical_type, parameters, depth);
  if (family == "dict") return ParseDictionary(logical_type, parameters);
  if (family == "fixed_size_binary") {
    auto width = ParseInt(parameters);
    if (width && *width >= 0) return arrow::fixed_size_binary(*width);
  }
  return UnknownLogicalType(logical_type);
}

arrow::Status NotExpressible(const arrow::DataType& type) {
  return InvalidInput("type {} cannot be stored in a Lance table; cast the column to another type", type.ToString());
}

bool IsBfloat16Item(const arrow::Field& item) {
  if (item.type()->id() == Type::EXTENSION) {
    return static_cast<const arrow::ExtensionType&>(*item.type()).extension_name() == kBfloat16Extension;
  }
  if (item.metadata() == nullptr) return false;
  auto name = item.metadata()->Get(kExtensionNameMetadata);
  return name.ok() && *name == kBfloat16Extension;
}

// Plain values, or lists of such. Values without bytes are read, but released readers take none of them in lists.
bool IsListItem(const arrow::DataType& type) {
  if (type.id() == Type::FIXED_SIZE_LIST)
    return IsListItem(*static_cast<const arrow::FixedSizeListType&>(type).value_type());
  return type.id() == Type::NA || (IsFixedWidthPrimitive(type) && type.bit_width() > 0);
}

arrow::Result<std::string> FixedSizeListName(const arrow::FixedSizeListType& type) {
  if (type.list_size() < 1) return NotExpressible(type);
  const arrow::Field& item = *type.value_field();
  if (IsBfloat16Item(item)) return fmt::format("{}{}:{}", kFixedSizeList, kBfloat16Extension, type.list_size());
  TypePtr inner = CanonicalType(item.type());
  if (inner->id() != Type::STRUCT && !IsListItem(*inner)) return NotExpressible(type);
  ARROW_ASSIGN_OR_RAISE(std::string name, LogicalTypeOf(*inner));
  return fmt::format("{}{}:{}", kFixedSizeList, name, type.list_size());
}

arrow::Result<std::string> DictionaryName(const arrow::DictionaryType& type) {
  ARROW_ASSIGN_OR_RAISE(std::string value, LogicalTypeOf(*type.value_type()));
  ARROW_ASSIGN_OR_RAISE(std::string index, LogicalTypeOf(*type.index_type()));
  if (value.find(':') != std::string::npos || type.value_type()->num_fields() > 0) return NotExpressible(type);
  return fmt::format("dict:{}:{}:false", value, index);
}

std::string ListName(std::string_view name, const arrow::DataType& item) {
  return item.id() == Type::STRUCT ? fmt::format("{}.struct", name) : std::string(name);
}

}  // namespace

bool HasChildFields(std::string_view logical_type) {
  return logical_type == "struct" || logical_type == "list" || logical_type == "large_list" ||
         logical_type == "list.struct" || logical_type == "large_list.struct" || logical_type == "map" ||
         logical_type.starts_with("fixed_size_list:struct:");
}

arrow::Result<int32_t> StructListDimension(std::string_view logical_type) {
  auto dimension = ParseInt(SplitLast(logical_type).second);
  if (!dimension || *dimension < 1) return UnknownLogicalType(logical_type);
  return *dimension;
}

arrow::Result<TypePtr> TypeOfLogical(std::string_view logical_type) { return Parse(logical_type, 0); }

TypePtr CanonicalType(const TypePtr& type) {
  switch (type->id()) {
    case Type::EXTENSION: return CanonicalType(static_cast<const arrow::ExtensionType&>(*type).storage_type());
    case Type::STRING_VIEW: return arrow::utf8();
    case Type::BINARY_VIEW: return arrow::binary();
    case Type::DICTIONARY: {
      const auto& dictionary = static_cast<const arrow::DictionaryType&>(*type);
      return arrow::dictionary(dictionary.index_type(), CanonicalType(dictionary.value_type()), /*ordered=*/false);
    }
    case Type::FIXED_SIZE_LIST: {
      const auto& list = static_cast<const arrow::FixedSizeListType&>(*type);
      if (list.value_type()->id() == Type::STRUCT) return type;
      if (IsBfloat16Item(*list.value_field())) return Bfloat16List(list.list_size());
      return arrow::fixed_size_list(arrow::field("item", CanonicalType(list.value_type())), list.list_size());
    }
    default: return type;
  }
}

bool IsFixedWidthPrimitive(const arrow::DataType& type) {
  switch (type.id()) {
    case Type::BOOL:
    case Type::FIXED_SIZE_BINARY:
    case Type::DECIMAL128:
    case Type::DECIMAL256: return true;
    case Type::FIXED_SIZE_LIST:
      return IsFixedWidthPrimitive(*static_cast<const arrow::FixedSizeListType&>(type).value_type());
    default: return arrow::is_primitive(type.id()) && !arrow::is_interval(type.id());
  }
}

arrow::Result<std::string> LogicalTypeOf(const arrow::DataType& type) {
  for (const auto& [name, plain] : PlainTypes()) {
    if (plain->Equals(type)) return std::string(name);
  }
  switch (type.id()) {
    case Type::STRING_VIEW: return "string";
    case Type::BINARY_VIEW: return "binary";
    case Type::FIXED_SIZE_BINARY: {
      return fmt::format("fixed_size_binary:{}", static_cast<const arrow::FixedSizeBinaryType&>(type).byte_width());
    }
    case Type::TIMESTAMP: {
      const auto& timestamp = static_cast<const arrow::TimestampType&>(type);
      return fmt::format("timestamp:{}:{}", UnitName(timestamp.unit()),
                         timestamp.timezone().empty() ? "-" : timestamp.timezone());
    }
    case Type::DECIMAL128:
    case Type::DECIMAL256: {
      const auto& decimal = static_cast<const arrow::DecimalType&>(type);
      return fmt::format("decimal:{}:{}:{}", decimal.byte_width() * 8, decimal.precision(), decimal.scale());
    }
    case Type::EXTENSION: return LogicalTypeOf(*static_cast<const arrow::ExtensionType&>(type).storage_type());
    case Type::FIXED_SIZE_LIST: return FixedSizeListName(static_cast<const arrow::FixedSizeListType&>(type));
    case Type::DICTIONARY: return DictionaryName(static_cast<const arrow::DictionaryType&>(type));
    case Type::STRUCT: return "struct";
    case Type::LIST: return ListName("list", *static_cast<const arrow::ListType&>(type).value_type());
    case Type::LARGE_LIST: return ListName("large_list", *static_cast<const arrow::LargeListType&>(type).value_type());
    case Type::MAP:
      if (static_cast<const arrow::MapType&>(type).keys_sorted()) return NotExpressible(type);
      return "map";
    default: return NotExpressible(type);
  }
}

}  // namespace javelin::file
