// The JSON files that name versions and branches. Not for use outside module table.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <arrow/result.h>
#include <nlohmann/json.hpp>

#include "javelin/store/stores.h"

namespace javelin::table {

using References = std::map<std::string, std::string>;  // by the file's name without ".json", its bytes

// All files of a folder below `_refs/`; one LIST and a GET each.
arrow::Result<References> LoadReferences(const StoreLocation& root, std::string_view folder);
// The names alone; one LIST.
arrow::Result<std::vector<std::string>> ListReferenceNames(const StoreLocation& root, std::string_view folder);
// For the end of an error: "; did you mean 'x'?", or nothing if none of the names is near.
std::string DidYouMean(std::string_view name, const std::vector<std::string>& names);
// NotFound: there is none.
arrow::Result<std::string> LoadReference(const StoreLocation& root, std::string_view folder, std::string_view name);
std::string ReferenceKey(const StoreLocation& root, std::string_view folder, std::string_view name);

// Corruption, naming `what`, unless the text is a JSON object.
arrow::Result<nlohmann::json> ParseReference(const std::string& text, std::string_view what);
// As the released writer prints it.
BufferPtr PrintReference(const nlohmann::ordered_json& value);
nlohmann::ordered_json ToJson(const std::map<std::string, std::string>& metadata);
// Members that are missing or of another type give the default.
std::string TextOf(const nlohmann::json& object, const char* member);
uint64_t NumberOf(const nlohmann::json& object, const char* member);
std::map<std::string, std::string> MetadataOf(const nlohmann::json& object);

// "2026-01-02T03:04:05.000000006Z".
std::string ToRfc3339(int64_t nanoseconds);

// Letters, digits, '.', '_' and '-', at least one, and not ending in ".lock".
bool IsReferenceWord(std::string_view word);

}  // namespace javelin::table
