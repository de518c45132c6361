#include "javelin/dataset/blob_objects_internal.h"

#include <algorithm>

#include <arrow/array.h>

#include "javelin/base/error.h"
#include "javelin/dataset/ahead_internal.h"
#include "javelin/store/coalesce.h"

namespace javelin::internal {

namespace {

// Objects that are asked at the same time.
constexpr size_t kObjectsAtOnce = 16;

constexpr auto kInline = static_cast<uint8_t>(file::BlobPlace::kInline);
constexpr auto kLastInTable = static_cast<uint8_t>(file::BlobPlace::kAlone);
constexpr auto kExternal = static_cast<uint8_t>(file::BlobPlace::kExternal);

arrow::Result<bool> IsInBases(const DatasetState& table, const ObjectLocation& object) {
  for (const table::BasePath& base : table.manifest().base_paths) {
    ARROW_ASSIGN_OR_RAISE(const StoreLocation place, table.session->stores().Resolve(base.path, table.storage_options));
    if (place.store == object.store && object.key.starts_with(place.root.empty() ? "" : place.root + "/")) return true;
  }
  return false;
}

// The object of a blob outside of the table: `name` below the base path of that id, or, with 0, at the absolute URI
// `name`. Whoever wrote the table would choose with a URI which objects this process opens: it must lie in a base path.
arrow::Result<ObjectLocation> LocateOutside(const DatasetState& table, const std::string& name, uint32_t base_id) {
  StoreRegistry& stores = table.session->stores();
  if (base_id != 0) {
    const auto base = std::ranges::find(table.manifest().base_paths, base_id, &table::BasePath::id);
    if (base == table.manifest().base_paths.end())
      return Corruption("it lies in base path {}, which the manifest does not list", base_id);
    ARROW_ASSIGN_OR_RAISE(const StoreLocation place, stores.Resolve(base->path, table.storage_options));
    ARROW_RETURN_NOT_OK(AsKind(CheckKey(name), ErrorKind::kCorruption, "a name below a base path"));
    return ObjectLocation{place.store, JoinKey(place.root, name)};
  }
  // What follows the path of a local file names nothing in it.
  const std::string uri = name.starts_with("file:") ? name.substr(0, name.find_first_of("?#")) : name;
  const size_t mark = uri.find("://");
  if (mark == std::string::npos) return NotSupported("it lies at no absolute URI, and in no base path of the table");
  const bool is_local = uri.starts_with("file:") && table.location.uri.starts_with('/');
  const bool has_store_of_table = is_local || table.location.uri.starts_with(uri.substr(0, mark + 3));
  const std::map<std::string, std::string> no_options;
  ARROW_ASSIGN_OR_RAISE(const StoreLocation place,
                        stores.Resolve(uri, has_store_of_table ? table.storage_options : no_options));
  ObjectLocation object{place.store, place.root};
  ARROW_ASSIGN_OR_RAISE(const bool is_inside, IsInBases(table, object));
  if (is_inside) return object;
  return NotSupported(
      "it lies outside of the base paths of the table, and is not read; read where it lies (blobs_descriptions), and "
      "open "
      "it if you trust who wrote the table");
}

}  // namespace

BlobDescriptions::BlobDescriptions(const file::Field& field, const arrow::StructArray& rows)
    : field_(field), rows_(rows), is_v2_(file::BlobKindOf(field) == file::BlobKind::kV2) {
  const int first = is_v2_ ? 1 : 0;
  positions_ = std::static_pointer_cast<arrow::UInt64Array>(rows.field(first));
  sizes_ = std::static_pointer_cast<arrow::UInt64Array>(rows.field(first + 1));
  if (!is_v2_) return;
  kinds_ = rows.field(0);
  ids_ = rows.field(3);
  uris_ = rows.field(4);
}

int64_t BlobDescriptions::length() const { return rows_.length(); }

bool BlobDescriptions::IsNull(int64_t row) const {
  return rows_.IsNull(row) || (!is_v2_ && sizes_->Value(row) == 0 && positions_->Value(row) != 0);
}

uint8_t BlobDescriptions::kind(int64_t row) const {
  return is_v2_ ? static_cast<const arrow::UInt8Array&>(*kinds_).Value(row) : kInline;
}

ByteRange BlobDescriptions::range(int64_t row) const { return {positions_->Value(row), sizes_->Value(row)}; }

uint32_t BlobDescriptions::blob_id(int64_t row) const {
  return is_v2_ ? static_cast<const arrow::UInt32Array&>(*ids_).Value(row) : 0;
}

std::string BlobDescriptions::uri(int64_t row) const {
  return is_v2_ ? static_cast<const arrow::StringArray&>(*uris_).GetString(row) : "";
}

std::optional<uint64_t> BlobDescriptions::size(int64_t row) const {
  if (kind(row) == kExternal && sizes_->Value(row) == 0) return std::nullopt;
  return sizes_->Value(row);
}

arrow::Result<std::optional<BlobPlace>> BlobObjects::Place(const BlobDescriptions& descriptions, int64_t index,
                                                           RowAddress row) {
  if (descriptions.IsNull(index)) return std::nullopt;
  const uint8_t kind = descriptions.kind(index);
  if (kind > kExternal)
    return NotSupported(
        "the blob of column '{}' in row {} is managed outside of the table (kind {}), which is not read",
        descriptions.field().name, row.packed(), kind);
  BlobPlace place{.range = descriptions.range(index)};
  uint64_t end = 0;
  if (__builtin_add_overflow(place.range.offset, place.range.length, &end))
    return Corruption("the blob of column '{}' in row {} lies at {}+{}", descriptions.field().name, row.packed(),
                      place.range.offset, place.range.length);
  if (kind == kExternal) {
    place.is_whole = place.range.length == 0;
    ARROW_ASSIGN_OR_RAISE(place.object, ObjectOutside(descriptions, index, row));
  } else if (place.range.length != 0) {
    ARROW_ASSIGN_OR_RAISE(place.object, ObjectInTable(descriptions, index, row.fragment()));
    ARROW_RETURN_NOT_OK(CheckInside(objects_[place.object], place.range));
  }
  return place;
}

size_t BlobObjects::Add(ObjectLocation location, std::optional<uint64_t> size, const std::string& column) {
  const auto store = std::ranges::find(stores_, location.store) - stores_.begin();
  if (static_cast<size_t>(store) == stores_.size()) stores_.push_back(location.store);
  const auto [found, is_new] = by_key_.emplace(std::pair(static_cast<size_t>(store), location.key), objects_.size());
  if (is_new) objects_.push_back({std::move(location.store), std::move(location.key), size, column});
  return found->second;
}

arrow::Result<size_t> BlobObjects::ObjectInTable(const BlobDescriptions& descriptions, int64_t index,
                                                 FragmentId fragment_id) {
  const file::Field& field = descriptions.field();
  const bool is_sidecar = descriptions.kind(index) != kInline;
  const InTable id{fragment_id, field.id, is_sidecar, is_sidecar ? descriptions.blob_id(index) : 0};
  if (const auto found = in_table_.find(id); found != in_table_.end()) return found->second;
  ARROW_ASSIGN_OR_RAISE(const table::Fragment* fragment, table_->GetFragment(fragment_id));
  const auto file = std::ranges::find_if(fragment->files, [&](const table::DataFile& one) {
    return std::ranges::find(one.fields, field.id.value()) != one.fields.end();
  });
  if (file == fragment->files.end())
    return InvalidInput("fragment {} of '{}' has no blobs of column '{}'", fragment_id, table_->location.uri,
                        field.name);
  ARROW_ASSIGN_OR_RAISE(ObjectLocation location, table_->Locate(*file));
  if (is_sidecar) location.key = file::BlobSidecarKey(location.key, id.blob_id);
  const bool is_known = !is_sidecar && file->size_bytes != 0;
  const size_t object = Add(std::move(location), is_known ? std::optional(file->size_bytes) : std::nullopt, field.name);
  in_table_.emplace(id, object);
  return object;
}

arrow::Result<size_t> BlobObjects::ObjectOutside(const BlobDescriptions& descriptions, int64_t index, RowAddress row) {
  const std::pair name(descriptions.blob_id(index), descriptions.uri(index));
  if (const auto found = outside_.find(name); found != outside_.end()) return found->second;
  auto location = LocateOutside(*table_, name.second, name.first);
  if (!location.ok())
    return WithContext(location.status(), fmt::format("the blob of column '{}' in row {}, '{}'",
                                                      descriptions.field().name, row.packed(), name.second));
  const size_t object = Add(*std::move(location), std::nullopt, descriptions.field().name);
  outside_.emplace(name, object);
  return object;
}

arrow::Status BlobObjects::MeasureWhole(std::span<BlobPlace* const> places) {
  std::vector<std::vector<size_t>> unknown(stores_.size());  // by store
  std::vector<bool> asked(objects_.size(), false);
  for (const BlobPlace* place : places) {
    if (!place->is_whole || objects_[place->object].size || asked[place->object]) continue;
    asked[place->object] = true;
    const auto store = std::ranges::find(stores_, objects_[place->object].store) - stores_.begin();
    unknown[static_cast<size_t>(store)].push_back(place->object);
  }
  for (size_t store = 0; store < stores_.size(); ++store) {
    std::vector<std::string> keys;
    for (const size_t object : unknown[store]) keys.push_back(objects_[object].key);
    if (keys.empty()) continue;
    const auto answers = stores_[store]->HeadMany(keys);
    for (size_t i = 0; i < answers.size(); ++i) {
      Object& object = objects_[unknown[store][i]];
      if (!answers[i].ok())
        return WithContext(answers[i].status(), fmt::format("a blob of column '{}'", object.column));
      object.size = answers[i]->size;
    }
  }
  for (BlobPlace* place : places) {
    if (place->is_whole) place->range = {0, *objects_[place->object].size};
  }
  return arrow::Status::OK();
}

uint64_t BlobObjects::BytesToRead(const BlobPiece* before, const BlobPiece& piece) {
  const bool may_join = before != nullptr && before->object == piece.object;
  const uint64_t from = may_join ? before->range.end() : piece.range.offset;
  if (may_join && piece.range == before->range) return 0;
  const uint64_t gap = piece.range.offset > from ? piece.range.offset - from : 0;
  return piece.range.length + (gap <= kCoalesceGap ? gap : 0);
}

arrow::Result<MemoryReservation> BlobObjects::Reserve(std::span<const BlobPiece> pieces, uint64_t more) const {
  constexpr uint64_t kMost = INT64_MAX;
  uint64_t bytes = std::min(more, kMost);
  for (size_t i = 0; i < pieces.size(); ++i) {
    const uint64_t wanted = std::min(kMost, BytesToRead(i == 0 ? nullptr : &pieces[i - 1], pieces[i]));
    bytes = std::min(bytes + wanted, kMost);
  }
  auto memory = MemoryReservation::Make(*table_->session->resources().memory, static_cast<int64_t>(bytes), "blobs");
  if (!memory.ok()) return Explain(pieces, memory.status());
  return memory;
}

arrow::Result<std::vector<BufferPtr>> BlobObjects::Read(std::span<const BlobPiece> pieces) const {
  // Of each object, what is asked for again once only.
  struct Asked {
    const Object* object;
    std::vector<ByteRange> ranges;
  };
  std::vector<Asked> asked;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const bool is_first = i == 0 || pieces[i].object != pieces[i - 1].object;
    if (is_first) asked.push_back({&objects_[pieces[i].object], {}});
    if (is_first || pieces[i].range != pieces[i - 1].range) asked.back().ranges.push_back(pieces[i].range);
  }
  std::vector<std::vector<BufferPtr>> answers;
  std::deque<Ahead<std::vector<BufferPtr>>> ahead;
  for (size_t next = 0; answers.size() < asked.size();) {
    const auto ask = [](const Asked& one) { return one.object->store->GetRanges(one.object->key, one.ranges); };
    for (; asked.size() > 1 && next < asked.size() && ahead.size() < kObjectsAtOnce; ++next)
      ahead.emplace_back(table_->session->runtime(), "blobs", [ask, &one = asked[next]] { return ask(one); });
    auto answer = ahead.empty() ? ask(asked[0]) : ahead.front().Get();
    if (!answer.ok()) return Explain(pieces, answer.status());
    answers.push_back(*std::move(answer));
    if (answers.back().size() != asked[answers.size() - 1].ranges.size())
      return Internal("the store answered other ranges than asked");
    if (!ahead.empty()) ahead.pop_front();
  }
  std::vector<BufferPtr> bytes;
  bytes.reserve(pieces.size());
  for (size_t i = 0, object = 0, range = 0; i < pieces.size(); ++i) {
    if (i > 0 && pieces[i].object != pieces[i - 1].object) {
      ++object;
      range = 0;
    } else if (i > 0 && pieces[i].range != pieces[i - 1].range) {
      ++range;
    }
    bytes.push_back(answers[object][range]);
    if (static_cast<uint64_t>(bytes.back()->size()) != pieces[i].range.length)
      return Internal("the store answered another range than asked");
  }
  return bytes;
}

arrow::Status BlobObjects::CheckInside(const Object& object, const ByteRange& range) const {
  if (!object.size || (range.offset <= *object.size && range.length <= *object.size - range.offset))
    return arrow::Status::OK();
  return Corruption("a blob of column '{}' lies at {}+{} of '{}', which has {} bytes", object.column, range.offset,
                    range.length, object.store->Describe(object.key), *object.size);
}

arrow::Status BlobObjects::Explain(std::span<const BlobPiece> pieces, const arrow::Status& otherwise) const {
  if (!HasKind(otherwise, ErrorKind::kIO) && !HasKind(otherwise, ErrorKind::kOutOfMemory)) return otherwise;
  std::optional<Object> measured;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (i == 0 || pieces[i].object != pieces[i - 1].object) {
      measured = objects_[pieces[i].object];
      const auto info = measured->store->Head(measured->key);
      if (info.ok()) measured->size = info->size;
    }
    ARROW_RETURN_NOT_OK(CheckInside(*measured, pieces[i].range));
  }
  return otherwise;
}

}  // namespace javelin::internal
