// Logical type strings of schema fields and the Arrow types they name.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

namespace javelin::file {

// True for the logical types whose Arrow type is built from child fields: struct, list, large_list, their `.struct`
// forms, map, and a fixed-size list of structs.
bool HasChildFields(std::string_view logical_type);

// The dimension of "fixed_size_list:struct:n", or NotSupported.
arrow::Result<int32_t> StructListDimension(std::string_view logical_type);

// The Arrow type of a logical type without child fields. NotSupported names the string.
arrow::Result<std::shared_ptr<arrow::DataType>> TypeOfLogical(std::string_view logical_type);

// The type as it comes back from a file: views become plain, an extension its storage, items of a fixed-size list of
// primitives nullable and called "item". Types with child fields are returned as they are.
std::shared_ptr<arrow::DataType> CanonicalType(const std::shared_ptr<arrow::DataType>& type);

// True for types whose values all have one width in bits that a data file stores as such (also bool, not dictionary).
bool IsFixedWidthPrimitive(const arrow::DataType& type);

inline constexpr std::string_view kExtensionNameMetadata = "ARROW:extension:name";
inline constexpr std::string_view kExtensionDataMetadata = "ARROW:extension:metadata";
inline constexpr std::string_view kBfloat16Extension = "lance.bfloat16";
inline constexpr std::string_view kJsonExtension = "lance.json";
inline constexpr std::string_view kArrowJsonExtension = "arrow.json";
inline constexpr std::string_view kBlobExtension = "lance.blob.v2";

}  // namespace javelin::file
