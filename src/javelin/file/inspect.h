// What a data file holds and how it is encoded, for people and tests.
#pragma once

#include <memory>
#include <string>

#include <arrow/result.h>

#include "javelin/base/resources.h"
#include "javelin/store/object_store.h"

namespace javelin::file {

// JSON: version, bytes, rows, schema, and for each column its pages with their rows, buffer sizes and encoding. Reads
// the metadata only. Errors as DataFileReader::Open.
arrow::Result<std::string> InspectDataFile(const Resources& resources, ObjectStore& store, const std::string& key);

}  // namespace javelin::file
