// Pieces of Schema that its conversions share.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/file/schema.h"

namespace javelin::file {

inline constexpr std::string_view kClusteringKeyPositionMetadata = "lance-schema:unenforced-clustering-key:position";
inline constexpr std::string_view kBlobMetadata = "lance-encoding:blob";
inline constexpr std::string_view kPackedMetadata = "lance-encoding:packed";
inline constexpr std::string_view kOldPackedMetadata = "packed";

// "true", "1", "yes" or "on", in any case.
bool IsTruthy(const std::map<std::string, std::string>& metadata, std::string_view key);
// Whether it asks, of a struct, for one column of all its fields.
inline bool AsksForPacking(const std::map<std::string, std::string>& metadata) {
  return IsTruthy(metadata, kPackedMetadata) || IsTruthy(metadata, kOldPackedMetadata);
}

// The Arrow type of a field with child fields. Corruption if the number or kind of children does not fit.
arrow::Result<std::shared_ptr<arrow::DataType>> AssembleType(
    const std::string& logical_type, const std::vector<std::shared_ptr<arrow::Field>>& children);

// The Arrow type of any field. NotSupported for an unknown logical type, Corruption as above.
arrow::Result<std::shared_ptr<arrow::DataType>> BuildType(const std::string& logical_type,
                                                          const std::vector<Field>& children);

}  // namespace javelin::file
