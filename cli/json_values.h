// Arrow values as JSON and as text.
#pragma once

#include <string>

#include <arrow/result.h>
#include <arrow/type_fwd.h>
#include <nlohmann/json.hpp>

namespace javelin::cli {

using Json = nlohmann::ordered_json;

// Numbers and booleans as such, strings, null; not-a-number and infinities as "NaN", "Infinity", "-Infinity"; binary as
// base64; lists as arrays, structs as objects, maps as arrays of [key, value]; dates, times and decimals as text.
arrow::Result<Json> ToJson(const arrow::Array& array, int64_t row);

// A JSON text in one line. Bytes that are no UTF-8 come out as U+FFFD.
std::string Dump(const Json& value);

// Strings as they are, null as `null_text`, everything else as JSON.
arrow::Result<std::string> ToText(const arrow::Array& array, int64_t row, const std::string& null_text);

}  // namespace javelin::cli
