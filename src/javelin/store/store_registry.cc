#include <filesystem>
#include <mutex>

#include "javelin/base/error.h"
#include "javelin/store/stores.h"

namespace javelin {

namespace {

struct ParsedUri {
  std::string scheme;  // "" = a plain path
  std::string rest;    // behind "scheme://"
};

arrow::Result<ParsedUri> ParseUri(const std::string& uri) {
  if (uri.empty()) return InvalidInput("the table's URI is empty");
  const size_t mark = uri.find("://");
  const auto is_scheme_char = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '+' || c == '-' || c == '.';
  };
  if (mark != std::string::npos && mark != 0 && std::all_of(uri.begin(), uri.begin() + mark, is_scheme_char)) {
    return ParsedUri{uri.substr(0, mark), uri.substr(mark + 3)};
  }
  if (uri.starts_with("file:") || uri.starts_with("memory:"))
    return InvalidInput("URI '{}' needs '//' behind its scheme", uri);
  return ParsedUri{"", uri};
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

arrow::Result<std::string> DecodePercent(const std::string& text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded.push_back(text[i]);
      continue;
    }
    const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = high < 0 ? -1 : HexDigit(text[i + 2]);
    if (low < 0) return InvalidInput("'{}' holds a '%' that no two hexadecimal digits follow", text);
    decoded.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return decoded;
}

// True for "/a/b": from the root, no part empty or only dots.
bool IsNormal(const std::string& path) {
  return path.starts_with('/') && !path.ends_with('/') && CheckKey(path.substr(1)).ok();
}

// Absolute, without trailing '/'. Only ".." needs the file system: it must mean what it means to the kernel.
arrow::Result<std::string> AbsolutePath(const std::string& path) {
  if (IsNormal(path)) return path;
  std::error_code error;
  std::filesystem::path absolute = std::filesystem::absolute(path, error);
  if (!error && path.find("..") != std::string::npos) absolute = std::filesystem::weakly_canonical(absolute, error);
  if (error) return InvalidInput("path '{}' cannot be made absolute: {}", path, error.message());
  std::string text = absolute.lexically_normal().string();
  while (text.ends_with('/')) text.pop_back();
  if (text.empty()) return InvalidInput("a table cannot be the root of the file system");
  return text;
}

arrow::Result<LocalStoreOptions> ParseLocalOptions(const std::map<std::string, std::string>& options) {
  LocalStoreOptions parsed;
  for (const auto& [name, value] : options) {
    if (name != "sync") return InvalidInput("unknown storage option '{}' for a local table; known: sync", name);
    if (value != "true" && value != "false")
      return InvalidInput("storage option 'sync' must be true or false, not '{}'", value);
    parsed.sync = value == "true";
  }
  return parsed;
}

std::string TrimSlashes(std::string text) {
  while (text.ends_with('/')) text.pop_back();
  return text.substr(std::min(text.size(), text.find_first_not_of('/')));
}

}  // namespace

StoreRegistry::StoreRegistry(Resources resources) : resources_(std::move(resources)), mutex_(*resources_.runtime) {}

arrow::Result<StoreLocation> StoreRegistry::Resolve(const std::string& uri,
                                                    const std::map<std::string, std::string>& options) {
  if (auto registered = ResolveRegistered(uri)) return *std::move(registered);
  ARROW_ASSIGN_OR_RAISE(const ParsedUri parsed, ParseUri(uri));
  if (parsed.scheme == "memory") return ResolveMemory(uri, parsed.rest, options);
  if (parsed.scheme.empty()) return ResolveLocal(parsed.rest, options);
  if (parsed.scheme != "file")
    return NotSupported("no store for scheme '{}' of '{}'; known: a path, file://, memory://", parsed.scheme, uri);
  ARROW_ASSIGN_OR_RAISE(std::string path, DecodePercent(parsed.rest));
  if (path.starts_with("localhost/")) path.erase(0, std::string("localhost").size());
  if (!path.starts_with('/')) return InvalidInput("'{}' names a host; a file URI is file:///absolute/path", uri);
  return ResolveLocal(path, options);
}

void StoreRegistry::Register(const std::string& uri_prefix, std::shared_ptr<ObjectStore> store) {
  std::lock_guard lock(mutex_);
  registered_[uri_prefix] = std::move(store);
}

// The longest prefix counts.
std::optional<StoreLocation> StoreRegistry::ResolveRegistered(const std::string& uri) {
  std::lock_guard lock(mutex_);
  for (auto entry = registered_.rbegin(); entry != registered_.rend(); ++entry) {
    if (uri.starts_with(entry->first))
      return StoreLocation{entry->second, TrimSlashes(uri.substr(entry->first.size())), uri};
  }
  return std::nullopt;
}

arrow::Result<StoreLocation> StoreRegistry::ResolveLocal(const std::string& path,
                                                         const std::map<std::string, std::string>& options) {
  ARROW_ASSIGN_OR_RAISE(const LocalStoreOptions parsed, ParseLocalOptions(options));
  ARROW_ASSIGN_OR_RAISE(const std::string absolute, AbsolutePath(path));
  // One store rooted at "/" serves all tables, so that tables may refer to each other's files by key.
  const std::string name = parsed.sync ? "file, sync" : "file, no sync";
  auto store = FindOrMake(name, [&] { return MakeLocalStore(resources_, "/", parsed); });
  return StoreLocation{std::move(store), absolute.substr(1), absolute};
}

arrow::Result<StoreLocation> StoreRegistry::ResolveMemory(const std::string& uri, const std::string& rest,
                                                          const std::map<std::string, std::string>& options) {
  if (!options.empty())
    return InvalidInput("unknown storage option '{}' for a table in memory", options.begin()->first);
  const size_t slash = rest.find('/');
  const std::string name = rest.substr(0, slash);
  const std::string root = slash == std::string::npos ? "" : TrimSlashes(rest.substr(slash));
  if (name.empty()) return InvalidInput("'{}' names no store; a memory URI is memory://name/table", uri);
  auto store = FindOrMake("memory " + name, [&] { return MakeMemoryStore(resources_, name); });
  return StoreLocation{std::move(store), root, uri};
}

std::shared_ptr<ObjectStore> StoreRegistry::FindOrMake(const std::string& name,
                                                       const std::function<std::shared_ptr<ObjectStore>()>& make) {
  std::lock_guard lock(mutex_);
  std::shared_ptr<ObjectStore>& store = stores_[name];
  if (store == nullptr) store = make();
  return store;
}

}  // namespace javelin
