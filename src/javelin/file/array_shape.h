// Brings an array to a field of the same shape without copying values.
#pragma once

#include <memory>
#include <string>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

namespace javelin::file {

// The field as the format stores it: an extension type becomes its storage type plus the metadata keys that name it, at
// every level.
std::shared_ptr<arrow::Field> WithoutExtensions(const std::shared_ptr<arrow::Field>& field);

// The array under exactly the type of `target`: extension types give way to their storage, views of strings to plain
// strings, names of list items and
// field metadata are taken from the target. A value that stands for a null in its dictionary becomes null itself.
// InvalidInput naming `path`: another type, other struct fields, a null where the target forbids it (at any level), an
// index outside of its dictionary, a null inside a packed struct or around a struct without fields.
arrow::Result<std::shared_ptr<arrow::ArrayData>> ShapeArray(const arrow::ArrayData& data, const arrow::Field& target,
                                                            const std::string& path);

// InvalidInput naming `path` if text in it, at any level, is no UTF-8: others would refuse to read the whole column.
arrow::Status CheckUtf8(const arrow::ArrayData& data, const std::string& path);

}  // namespace javelin::file
