#include "cli/json_values.h"

#include <cmath>

#include <arrow/api.h>
#include <arrow/util/base64.h>

namespace javelin::cli {

namespace {

Json FloatToJson(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

// The shortest decimal that reads back as the same float, not that of the double it widens to.
Json FloatToJson(float value) {
  if (!std::isfinite(value)) return FloatToJson(static_cast<double>(value));
  return std::stod(fmt::format("{}", value));
}

arrow::Result<Json> ListToJson(const arrow::Array& values, int64_t first, int64_t count) {
  Json list = Json::array();
  for (int64_t i = 0; i < count; ++i) {
    ARROW_ASSIGN_OR_RAISE(Json item, ToJson(values, first + i));
    list.push_back(std::move(item));
  }
  return list;
}

arrow::Result<Json> StructToJson(const arrow::StructArray& array, int64_t row) {
  Json object = Json::object();
  for (int i = 0; i < array.num_fields(); ++i) {
    ARROW_ASSIGN_OR_RAISE(object[array.type()->field(i)->name()], ToJson(*array.field(i), row));
  }
  return object;
}

arrow::Result<Json> MapToJson(const arrow::MapArray& array, int64_t row) {
  Json pairs = Json::array();
  for (int64_t i = array.value_offset(row); i < array.value_offset(row) + array.value_length(row); ++i) {
    ARROW_ASSIGN_OR_RAISE(Json key, ToJson(*array.keys(), i));
    ARROW_ASSIGN_OR_RAISE(Json value, ToJson(*array.items(), i));
    pairs.push_back(Json::array({std::move(key), std::move(value)}));
  }
  return pairs;
}

template <typename ArrayType>
auto ValueAt(const arrow::Array& array, int64_t row) {
  return static_cast<const ArrayType&>(array).GetView(row);
}

template <typename ListType>
arrow::Result<Json> ListAt(const arrow::Array& array, int64_t row) {
  const auto& list = static_cast<const ListType&>(array);
  return ListToJson(*list.values(), list.value_offset(row), list.value_length(row));
}

}  // namespace

arrow::Result<Json> ToJson(const arrow::Array& array, int64_t row) {
  if (array.IsNull(row)) return Json(nullptr);
  switch (array.type_id()) {
    case arrow::Type::BOOL: return Json(ValueAt<arrow::BooleanArray>(array, row));
    case arrow::Type::INT8: return Json(ValueAt<arrow::Int8Array>(array, row));
    case arrow::Type::INT16: return Json(ValueAt<arrow::Int16Array>(array, row));
    case arrow::Type::INT32: return Json(ValueAt<arrow::Int32Array>(array, row));
    case arrow::Type::INT64: return Json(ValueAt<arrow::Int64Array>(array, row));
    case arrow::Type::UINT8: return Json(ValueAt<arrow::UInt8Array>(array, row));
    case arrow::Type::UINT16: return Json(ValueAt<arrow::UInt16Array>(array, row));
    case arrow::Type::UINT32: return Json(ValueAt<arrow::UInt32Array>(array, row));
    case arrow::Type::UINT64: return Json(ValueAt<arrow::UInt64Array>(array, row));
    case arrow::Type::HALF_FLOAT:
      return FloatToJson(arrow::util::Float16::FromBits(ValueAt<arrow::HalfFloatArray>(array, row)).ToFloat());
    case arrow::Type::FLOAT: return FloatToJson(ValueAt<arrow::FloatArray>(array, row));
    case arrow::Type::DOUBLE: return FloatToJson(ValueAt<arrow::DoubleArray>(array, row));
    case arrow::Type::STRING: return Json(std::string(ValueAt<arrow::StringArray>(array, row)));
    case arrow::Type::LARGE_STRING: return Json(std::string(ValueAt<arrow::LargeStringArray>(array, row)));
    case arrow::Type::BINARY: return Json(arrow::util::base64_encode(ValueAt<arrow::BinaryArray>(array, row)));
    case arrow::Type::LARGE_BINARY:
      return Json(arrow::util::base64_encode(ValueAt<arrow::LargeBinaryArray>(array, row)));
    case arrow::Type::FIXED_SIZE_BINARY:
      return Json(arrow::util::base64_encode(ValueAt<arrow::FixedSizeBinaryArray>(array, row)));
    case arrow::Type::LIST: return ListAt<arrow::ListArray>(array, row);
    case arrow::Type::LARGE_LIST: return ListAt<arrow::LargeListArray>(array, row);
    case arrow::Type::FIXED_SIZE_LIST: return ListAt<arrow::FixedSizeListArray>(array, row);
    case arrow::Type::MAP: return MapToJson(static_cast<const arrow::MapArray&>(array), row);
    case arrow::Type::STRUCT: return StructToJson(static_cast<const arrow::StructArray&>(array), row);
    case arrow::Type::DICTIONARY: {
      const auto& dictionary = static_cast<const arrow::DictionaryArray&>(array);
      return ToJson(*dictionary.dictionary(), dictionary.GetValueIndex(row));
    }
    case arrow::Type::EXTENSION: return ToJson(*static_cast<const arrow::ExtensionArray&>(array).storage(), row);
    default: break;
  }
  ARROW_ASSIGN_OR_RAISE(const auto scalar, array.GetScalar(row));
  return Json(scalar->ToString());
}

std::string Dump(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

arrow::Result<std::string> ToText(const arrow::Array& array, int64_t row, const std::string& null_text) {
  ARROW_ASSIGN_OR_RAISE(const Json value, ToJson(array, row));
  if (value.is_null()) return null_text;
  return value.is_string() ? value.get<std::string>() : Dump(value);
}

}  // namespace javelin::cli
