#include "javelin/table/versions.h"

#include <charconv>

#include "javelin/base/error.h"
#include "javelin/table/manifest_codec.h"

namespace javelin::table {

namespace {

constexpr std::string_view kVersionsFolder = "_versions/";
constexpr std::string_view kTransactionsFolder = "_transactions/";
constexpr std::string_view kSuffix = ".manifest";
constexpr size_t kV2Digits = 20;
constexpr uint64_t kDetachedBit = uint64_t{1} << 63;
constexpr uint64_t kTailBytes = 64 << 10;
constexpr uint32_t kFirstPageKeys = 16;  // the newest V2 name comes first; a few more for foreign names in front of it
constexpr int kMaxOlderVersionsTried = 16;

std::optional<uint64_t> ParseDigits(std::string_view digits) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

std::optional<ManifestName> ParseKey(const StoreLocation& table, const std::string& key) {
  return ParseManifestName(std::string_view(key).substr(TableKey(table, kVersionsFolder).size()));
}

arrow::Status MixedSchemes(const StoreLocation& table) {
  return Corruption("table '{}' has manifests of both naming schemes (12.manifest and {}); finish its migration first",
                    table.uri, ToFileName({TableVersion(12), NamingScheme::kV2}));
}

arrow::Status NoVersion(const StoreLocation& table) {
  return NotFound("there is no table at '{}': it has no version", table.uri);
}

std::string DetachedKey(const StoreLocation& table, TableVersion version) {
  return TableKey(table, fmt::format("{}d{}{}", kVersionsFolder, version.value(), kSuffix));
}

arrow::Result<std::string> ReadWhole(ObjectStore& store, const std::string& key) {
  ARROW_ASSIGN_OR_RAISE(const ObjectTail tail, store.GetTail(key, kTailBytes));
  const uint64_t size = static_cast<uint64_t>(tail.bytes->size());
  if (size == tail.object_size) return tail.bytes->ToString();
  const ByteRange rest{0, tail.object_size - size};
  ARROW_ASSIGN_OR_RAISE(const std::vector<BufferPtr> head, store.GetRanges(key, {&rest, 1}));
  return head[0]->ToString() + tail.bytes->ToString();
}

arrow::Result<LoadedManifest> LoadFrom(const StoreLocation& table, const std::string& key, const ManifestName& name) {
  ARROW_ASSIGN_OR_RAISE(const std::string bytes, ReadWhole(*table.store, key));
  const std::string object = table.store->Describe(key);
  auto decoded = DecodeManifestFile(bytes);
  if (!decoded.ok())
    return WithField(WithContext(decoded.status(), fmt::format("manifest '{}'", object)), "path", object);
  if (decoded->manifest.version != name.version) {
    return Corruption("manifest '{}' says that it is version {}", object, decoded->manifest.version);
  }
  return LoadedManifest{
      std::make_shared<const Manifest>(std::move(decoded->manifest)), name.scheme, std::move(decoded->transaction), {}};
}

arrow::Status NoSuchVersion(const StoreLocation& table, TableVersion version) {
  return MakeError(ErrorKind::kNotFound, fmt::format("table '{}' has no version {}", table.uri, version),
                   {{"version", fmt::format("{}", version)}});
}

// A manifest as a listing shows it.
struct ListedManifest {
  ManifestName name;
  std::string identity;
};

// Stores without etags know when an object was made.
std::string IdentityOf(const ObjectInfo& object) {
  return object.etag.empty() ? fmt::format("{} {}", object.size, object.modified_ns) : object.etag;
}

// All of them, newest first; empty if there is no table.
arrow::Result<std::vector<ListedManifest>> ListManifests(const StoreLocation& table) {
  ARROW_ASSIGN_OR_RAISE(const ListPage page,
                        ListAll(*table.store, {.prefix = TableKey(table, kVersionsFolder), .recursive = false}));
  std::vector<ListedManifest> manifests;
  for (const ObjectInfo& object : page.objects) {
    if (const auto name = ParseKey(table, object.key)) manifests.push_back({*name, IdentityOf(object)});
  }
  for (const ListedManifest& manifest : manifests) {
    if (manifest.name.scheme != manifests.front().name.scheme) return MixedSchemes(table);
  }
  std::sort(manifests.begin(), manifests.end(),
            [](const auto& a, const auto& b) { return a.name.version > b.name.version; });
  return manifests;
}

// The newest first and some that follow it, in one request where the store lists in order. NotFound: there is none.
arrow::Result<std::vector<ListedManifest>> ListNewest(const StoreLocation& table) {
  if (table.store->lists_in_order()) {
    ListRequest request{.prefix = TableKey(table, kVersionsFolder), .recursive = false, .max_keys = kFirstPageKeys};
    ARROW_ASSIGN_OR_RAISE(const ListPage page, table.store->List(request));
    std::vector<ListedManifest> manifests;
    for (const ObjectInfo& object : page.objects) {
      const auto name = ParseKey(table, object.key);
      if (!name) continue;
      if (name->scheme == NamingScheme::kV1) break;  // V1 names do not sort by version
      manifests.push_back({*name, IdentityOf(object)});
    }
    if (!manifests.empty()) return manifests;
    if (page.objects.empty() && page.next_page_token.empty()) return NoVersion(table);
  }
  ARROW_ASSIGN_OR_RAISE(auto manifests, ListManifests(table));
  if (manifests.empty()) return NoVersion(table);
  return manifests;
}

// Says which older version can still be opened.
arrow::Status TornLatest(const StoreLocation& table, const ManifestName& latest, const arrow::Status& status) {
  ARROW_ASSIGN_OR_RAISE(std::vector<ManifestName> versions, ListVersions(table));
  int tried = 0;
  for (auto name = versions.rbegin(); name != versions.rend() && tried < kMaxOlderVersionsTried; ++name) {
    if (name->version >= latest.version) continue;
    ++tried;
    if (!LoadVersion(table, *name).ok()) continue;
    return WithField(
        WithContext(status, fmt::format("the newest version {} is damaged; the last good version is {}, open that one",
                                        latest.version, name->version)),
        "last_good_version", fmt::format("{}", name->version));
  }
  return WithContext(status, fmt::format("the newest version {} is damaged and none of the {} before it can be read",
                                         latest.version, tried));
}

}  // namespace

std::string ToFileName(const ManifestName& name) {
  const bool is_v1 = name.scheme == NamingScheme::kV1;
  std::string text = std::to_string(is_v1 ? name.version.value() : UINT64_MAX - name.version.value());
  if (!is_v1) text.insert(0, kV2Digits - text.size(), '0');
  return text += kSuffix;
}

std::optional<ManifestName> ParseManifestName(std::string_view file_name) {
  if (!file_name.ends_with(kSuffix)) return std::nullopt;
  const std::string_view stem = file_name.substr(0, file_name.size() - kSuffix.size());
  const std::optional<uint64_t> number = ParseDigits(stem);
  if (!number) return std::nullopt;
  ManifestName name;
  name.scheme = stem.size() == kV2Digits ? NamingScheme::kV2 : NamingScheme::kV1;
  name.version = TableVersion(name.scheme == NamingScheme::kV2 ? UINT64_MAX - *number : *number);
  const bool is_version = name.version.value() != 0 && !IsDetached(name.version);
  const bool is_padded = name.scheme == NamingScheme::kV1 && stem.starts_with('0');  // no name that ToFileName gives
  return is_version && !is_padded ? std::optional(name) : std::nullopt;
}

bool IsDetached(TableVersion version) { return (version.value() & kDetachedBit) != 0; }

std::string TableKey(const StoreLocation& table, std::string_view name) { return JoinKey(table.root, name); }

std::string ManifestKey(const StoreLocation& table, const ManifestName& name) {
  return TableKey(table, std::string(kVersionsFolder) + ToFileName(name));
}

arrow::Result<ManifestName> FindLatestVersion(const StoreLocation& table) {
  ARROW_ASSIGN_OR_RAISE(const std::vector<ListedManifest> newest, ListNewest(table));
  return newest.front().name;
}

arrow::Result<std::vector<ManifestName>> ListVersions(const StoreLocation& table) {
  ARROW_ASSIGN_OR_RAISE(const std::vector<ListedManifest> listed, ListManifests(table));
  std::vector<ManifestName> versions;
  for (auto manifest = listed.rbegin(); manifest != listed.rend(); ++manifest) versions.push_back(manifest->name);
  return versions;
}

arrow::Result<LoadedManifest> LoadVersion(const StoreLocation& table, const ManifestName& name) {
  auto loaded = LoadFrom(table, ManifestKey(table, name), name);
  if (HasKind(loaded.status(), ErrorKind::kNotFound)) return NoSuchVersion(table, name.version);
  return loaded;
}

arrow::Result<LoadedManifest> LoadVersion(const StoreLocation& table, TableVersion version) {
  if (IsDetached(version)) {
    auto loaded = LoadFrom(table, DetachedKey(table, version), {version, NamingScheme::kV2});
    return HasKind(loaded.status(), ErrorKind::kNotFound) ? NoSuchVersion(table, version) : loaded;
  }
  auto loaded = LoadVersion(table, ManifestName{version, NamingScheme::kV2});
  return HasKind(loaded.status(), ErrorKind::kNotFound) ? LoadVersion(table, ManifestName{version, NamingScheme::kV1})
                                                        : loaded;
}

arrow::Result<LoadedManifest> LoadLatestVersion(const StoreLocation& table, const LoadedManifest* known) {
  ARROW_ASSIGN_OR_RAISE(const std::vector<ListedManifest> newest, ListNewest(table));
  const ManifestName& latest = newest.front().name;
  if (known != nullptr && !known->identity.empty() && newest.front().identity == known->identity &&
      latest == ManifestName{known->manifest->version, known->scheme})
    return *known;
  auto loaded = LoadVersion(table, latest);
  if (HasKind(loaded.status(), ErrorKind::kCorruption)) return TornLatest(table, latest, loaded.status());
  if (loaded.ok()) loaded->identity = newest.front().identity;
  return loaded;
}

arrow::Result<Transaction> LoadTransaction(const StoreLocation& table, const LoadedManifest& loaded) {
  std::string bytes;
  if (loaded.transaction) {
    bytes = *loaded.transaction;
  } else if (const std::string& file = loaded.manifest->transaction_file; !file.empty()) {
    ARROW_ASSIGN_OR_RAISE(const BufferPtr buffer,
                          table.store->Get(TableKey(table, fmt::format("{}{}", kTransactionsFolder, file))));
    bytes = buffer->ToString();
  } else {
    return NotFound("version {} of '{}' has no transaction record", loaded.manifest->version, table.uri);
  }
  auto transaction = DecodeTransaction(bytes);
  if (!transaction.ok())
    return WithContext(transaction.status(), fmt::format("version {} of '{}'", loaded.manifest->version, table.uri));
  return transaction;
}

void WriteVersionHint(const StoreLocation& table, TableVersion version) {
  if (table.store->lists_in_order()) return;
  const std::string text = fmt::format("{{\"version\":{}}}", version.value());
  const arrow::Status ignored = table.store->Put(
      TableKey(table, fmt::format("{}latest_version_hint.json", kVersionsFolder)), arrow::Buffer::FromString(text));
  static_cast<void>(ignored);
}

}  // namespace javelin::table
