#include <chrono>

#include "javelin/base/error.h"
#include "javelin/base/nearest_name.h"
#include "javelin/table/references_internal.h"
#include "javelin/table/versions.h"

namespace javelin::table {

namespace {
constexpr std::string_view kSuffix = ".json";

std::string FolderKey(const StoreLocation& root, std::string_view folder) {
  return TableKey(root, fmt::format("_refs/{}/", folder));
}
}  // namespace

std::string ReferenceKey(const StoreLocation& root, std::string_view folder, std::string_view name) {
  return fmt::format("{}{}{}", FolderKey(root, folder), name, kSuffix);
}

arrow::Result<std::vector<std::string>> ListReferenceNames(const StoreLocation& root, std::string_view folder) {
  const std::string prefix = FolderKey(root, folder);
  ARROW_ASSIGN_OR_RAISE(const ListPage page, ListAll(*root.store, {.prefix = prefix, .recursive = false}));
  std::vector<std::string> names;
  for (const ObjectInfo& object : page.objects) {
    if (!object.key.ends_with(kSuffix)) continue;
    names.push_back(object.key.substr(prefix.size(), object.key.size() - prefix.size() - kSuffix.size()));
  }
  return names;
}

arrow::Result<References> LoadReferences(const StoreLocation& root, std::string_view folder) {
  ARROW_ASSIGN_OR_RAISE(const std::vector<std::string> names, ListReferenceNames(root, folder));
  std::vector<std::string> keys;
  for (const std::string& name : names) keys.push_back(ReferenceKey(root, folder, name));
  References references;
  const auto files = root.store->GetMany(keys);
  for (size_t i = 0; i < names.size(); ++i) {
    if (HasKind(files[i].status(), ErrorKind::kNotFound)) continue;  // deleted meanwhile
    ARROW_RETURN_NOT_OK(files[i].status());
    references[names[i]] = (*files[i])->ToString();
  }
  return references;
}

std::string DidYouMean(std::string_view name, const std::vector<std::string>& names) {
  const std::string nearest = NearestName(name, names);
  return nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest);
}

arrow::Result<std::string> LoadReference(const StoreLocation& root, std::string_view folder, std::string_view name) {
  ARROW_ASSIGN_OR_RAISE(const BufferPtr bytes, root.store->Get(ReferenceKey(root, folder, name)));
  return bytes->ToString();
}

arrow::Result<nlohmann::json> ParseReference(const std::string& text, std::string_view what) {
  nlohmann::json value = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!value.is_object()) return Corruption("{} is no JSON object", what);
  return value;
}

BufferPtr PrintReference(const nlohmann::ordered_json& value) { return arrow::Buffer::FromString(value.dump(2)); }

nlohmann::ordered_json ToJson(const std::map<std::string, std::string>& metadata) {
  auto object = nlohmann::ordered_json::object();
  for (const auto& [key, value] : metadata) object[key] = value;
  return object;
}

std::string TextOf(const nlohmann::json& object, const char* member) {
  const auto found = object.find(member);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

uint64_t NumberOf(const nlohmann::json& object, const char* member) {
  const auto found = object.find(member);
  return found != object.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

std::map<std::string, std::string> MetadataOf(const nlohmann::json& object) {
  std::map<std::string, std::string> metadata;
  const auto found = object.find("metadata");
  if (found == object.end() || !found->is_object()) return metadata;
  for (const auto& [key, value] : found->items()) {
    if (value.is_string()) metadata[key] = value.get<std::string>();
  }
  return metadata;
}

std::string ToRfc3339(int64_t nanoseconds) {
  using namespace std::chrono;
  const sys_time<std::chrono::nanoseconds> time{std::chrono::nanoseconds(nanoseconds)};
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
}

bool IsReferenceWord(std::string_view word) {
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  return !word.empty() && std::all_of(word.begin(), word.end(), is_allowed) && !word.ends_with(".lock");
}

}  // namespace javelin::table
