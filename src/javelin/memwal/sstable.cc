#include "javelin/memwal/sstable.h"

#include <numeric>

#include "javelin/base/error.h"
#include "javelin/index/key_encoding.h"
#include "javelin/memwal/column_history.h"
#include "javelin/memwal/shard_schemas.h"
#include "javelin/table/apply.h"
#include "javelin/table/deletion_vector.h"
#include "javelin/table/manifest.h"
#include "javelin/table/versions.h"

namespace javelin::memwal {

namespace {

// Only a key may not be null: the row of a deletion is null in every other column, whatever the table asks for.
file::Schema AllNullable(const file::Schema& columns) {
  auto fields = columns.fields();
  for (file::Field& field : fields) field.nullable = true;
  return {std::move(fields), columns.metadata()};
}

// Under this id the marker of deletions is read; no column of a table has it.
constexpr FieldId kTombstoneId(std::numeric_limits<int32_t>::max());

file::Field TombstoneMarker() {
  file::Field field;
  field.id = kTombstoneId;
  field.name = std::string(kTombstoneColumn);
  field.logical_type = "bool";
  field.type = arrow::boolean();
  return field;
}

}  // namespace

arrow::Result<std::shared_ptr<SsTable>> SsTable::Open(const Resources& resources, std::shared_ptr<ObjectStore> store,
                                                      std::string folder, std::shared_ptr<BlockCache> blocks) {
  std::shared_ptr<SsTable> table(new SsTable(resources, std::move(store), std::move(folder), std::move(blocks)));
  ARROW_RETURN_NOT_OK(table->In(table->Load()));
  return table;
}

arrow::Status SsTable::In(const arrow::Status& status) const {
  if (status.ok()) return status;
  return WithField(WithContext(status, fmt::format("SSTable {}", store_->Describe(folder_))), "path", folder_);
}

arrow::Status SsTable::Load() {
  const StoreLocation place{store_, folder_, store_->Describe(folder_)};
  ARROW_ASSIGN_OR_RAISE(const auto loaded, table::LoadVersion(place, table::ManifestName{TableVersion(1)}));
  const table::Manifest& manifest = *loaded.manifest;
  if (manifest.fragments.size() != 1 || manifest.fragments[0].files.size() != 1 ||
      manifest.fragments[0].files[0].base_id.has_value()) {
    return NotSupported("an SSTable is one fragment of one data file; this one has {} fragments",
                        manifest.fragments.size());
  }
  schema_ = manifest.schema;
  // Our writers see to it before they take rows; of those of others nobody knows.
  ids_kept_ = manifest.writer_version.has_value() && manifest.writer_version->library == table::ThisWriter().library;
  for (const file::Field* field : schema_.PrimaryKey()) key_.push_back(field->id);
  const file::Field* tombstone = manifest.schema.FindByName(kTombstoneColumn);
  if (tombstone == nullptr) return Corruption("there is no column '{}'", kTombstoneColumn);
  const table::Fragment& fragment = manifest.fragments[0];
  data_ = fragment.files[0];
  for (size_t i = 0; i < data_.fields.size(); ++i) {
    if (data_.fields[i] >= 0 && data_.column_indices[i] >= 0)
      columns_.emplace(FieldId(data_.fields[i]), static_cast<uint32_t>(data_.column_indices[i]));
  }
  // The id of the marker is that of the next column which the table gets: it is nobody's but ours.
  auto marker = columns_.extract(tombstone->id);
  if (marker.empty()) return Corruption("the data file has no column '{}'", kTombstoneColumn);
  tombstone_column_ = marker.mapped();
  num_rows_ = fragment.physical_rows;
  if (num_rows_ == 0) {  // not said
    ARROW_ASSIGN_OR_RAISE(const auto file, File());
    num_rows_ = file->num_rows();
  }
  if (!fragment.deletion_file.has_value()) return arrow::Status::OK();
  const std::string name = "_deletions/" + table::DeletionFileName(fragment.id, *fragment.deletion_file);
  ARROW_ASSIGN_OR_RAISE(const BufferPtr bytes, store_->Get(JoinKey(folder_, name)));
  ARROW_ASSIGN_OR_RAISE(superseded_, table::DecodeDeletionFile(*fragment.deletion_file, bytes, num_rows_));
  return arrow::Status::OK();
}

bool SsTable::DataFileIsOpen() const {
  std::lock_guard lock(mutex_);
  return file_ != nullptr;
}

// Two readers may both open it; the first one is kept.
arrow::Result<std::shared_ptr<file::DataFileReader>> SsTable::File() const {
  {
    std::lock_guard lock(mutex_);
    if (file_ != nullptr) return file_;
  }
  const std::optional<uint64_t> size = data_.size_bytes != 0 ? std::optional(data_.size_bytes) : std::nullopt;
  ARROW_ASSIGN_OR_RAISE(
      auto file, file::DataFileReader::Open(resources_, store_, JoinKey(folder_, "data/" + data_.path), size, blocks_));
  if (file->num_rows() != num_rows_ && num_rows_ != 0)
    return Corruption("the data file has {} rows, the manifest says {}", file->num_rows(), num_rows_);
  std::lock_guard lock(mutex_);
  if (file_ == nullptr) file_ = std::move(file);
  return file_;
}

arrow::Status SsTable::CheckKey(const std::vector<file::Field>& key) const {
  const bool same = std::equal(key.begin(), key.end(), key_.begin(), key_.end(),
                               [](const file::Field& field, FieldId id) { return field.id == id; });
  if (same) return In(CheckTypes(key));
  return In(NotSupported("the primary key of the table was changed after these rows were written"));
}

arrow::Status SsTable::CheckColumns(const Dataset& table) const {
  {
    std::lock_guard lock(mutex_);
    if (columns_checked_ == table.version()) return arrow::Status::OK();
  }
  ARROW_RETURN_NOT_OK(In(CheckColumnsStay(table, NamesOf(schema_), ids_kept_)));
  std::lock_guard lock(mutex_);
  columns_checked_ = table.version();
  return arrow::Status::OK();
}

// A column keeps its type under its id as long as somebody keeps count of the ids; bytes of one type read as another
// would be any values at all.
arrow::Status SsTable::CheckTypes(std::span<const file::Field> columns) const {
  for (const file::Field& wanted : columns) {
    const file::Field* held = columns_.contains(wanted.id) ? schema_.FindById(wanted.id) : nullptr;
    if (held == nullptr || held->type->Equals(wanted.type)) continue;
    return NotSupported("column '{}' has the type {} now, its rows here were written as {}", wanted.name,
                        wanted.type->ToString(), held->type->ToString());
  }
  return arrow::Status::OK();
}

std::shared_ptr<const SsTable::Keys> SsTable::KnownKeys() const {
  std::lock_guard lock(mutex_);
  return keys_;
}

// Two readers may both read them; the first ones are kept.
std::shared_ptr<const SsTable::Keys> SsTable::KeepKeys(std::shared_ptr<const Keys> keys) const {
  std::lock_guard lock(mutex_);
  if (keys_ == nullptr) keys_ = std::move(keys);
  return keys_;
}

arrow::Result<std::shared_ptr<const SsTable::Keys>> SsTable::GetKeys(const std::vector<file::Field>& key,
                                                                     uint64_t rows_at_once) const {
  if (auto known = KnownKeys()) return known;
  auto keys = std::make_shared<Keys>();
  for (uint64_t first = 0; first < num_rows(); first += rows_at_once) {
    const uint64_t count = std::min(rows_at_once, num_rows() - first);
    ARROW_RETURN_NOT_OK(In(ReadAddingKeys({}, key, first, count, keys.get())).status());
  }
  return KeepKeys(std::move(keys));
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> SsTable::ReadWithKeys(const file::Schema& columns,
                                                                         const std::vector<file::Field>& key) const {
  if (KnownKeys() != nullptr) return Read(columns, 0, num_rows());
  auto keys = std::make_shared<Keys>();
  ARROW_ASSIGN_OR_RAISE(auto rows, In(ReadAddingKeys(columns, key, 0, num_rows(), keys.get())));
  KeepKeys(std::move(keys));
  return rows;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> SsTable::ReadAddingKeys(const file::Schema& columns,
                                                                           const std::vector<file::Field>& key,
                                                                           uint64_t first, uint64_t count,
                                                                           Keys* keys) const {
  ARROW_RETURN_NOT_OK(CheckTypes(columns.fields()));
  ARROW_RETURN_NOT_OK(CheckTypes(key));
  std::vector<file::Field> fields = AllNullable(columns).fields();
  std::vector<int> shown(fields.size());
  std::iota(shown.begin(), shown.end(), 0);
  std::vector<int> of_keys;  // where the key columns are, and the marker of deletions behind them
  const auto want = [&](file::Field field) {
    const auto known =
        std::find_if(fields.begin(), fields.end(), [&](const auto& other) { return other.id == field.id; });
    of_keys.push_back(static_cast<int>(known - fields.begin()));
    if (known == fields.end()) fields.push_back(std::move(field));
  };
  std::vector<std::shared_ptr<arrow::DataType>> types;
  for (const file::Field& field : key) {
    if (!columns_.contains(field.id)) return Corruption("the key column '{}' is missing", field.name);
    types.push_back(field.type);
    want(field);
  }
  want(TombstoneMarker());
  ARROW_ASSIGN_OR_RAISE(const auto encoder, index::KeyEncoder::Make(std::move(types)));
  file::ColumnOfField places = columns_;
  places.emplace(kTombstoneId, tombstone_column_);
  ARROW_ASSIGN_OR_RAISE(const auto file, File());
  ARROW_ASSIGN_OR_RAISE(const auto rows,
                        file->Read(file::Schema(std::move(fields), columns.metadata()), places, first, count));
  arrow::ArrayVector values;
  for (const int column : of_keys) {
    if (rows->column(column)->null_count() > 0) return Corruption("null in column '{}'", rows->column_name(column));
    values.push_back(rows->column(column));
  }
  const auto marks = std::static_pointer_cast<arrow::BooleanArray>(values.back());
  values.pop_back();
  std::vector<std::string> encoded;
  ARROW_RETURN_NOT_OK(encoder.Encode(values, &encoded));
  for (const std::string& bytes : encoded) ARROW_RETURN_NOT_OK(keys->index.Add(bytes));
  for (int64_t i = 0; i < marks->length(); ++i) keys->tombstones.push_back(marks->Value(i));
  return rows->SelectColumns(shown);
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> SsTable::Read(const file::Schema& columns, uint64_t first,
                                                                 uint64_t count) const {
  ARROW_RETURN_NOT_OK(In(CheckTypes(columns.fields())));
  ARROW_ASSIGN_OR_RAISE(const auto file, In(File()));
  return In(file->Read(AllNullable(columns), columns_, first, count));
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> SsTable::Take(const file::Schema& columns,
                                                                 std::span<const uint64_t> rows) const {
  ARROW_RETURN_NOT_OK(In(CheckTypes(columns.fields())));
  ARROW_ASSIGN_OR_RAISE(const auto file, In(File()));
  return In(file->Take(AllNullable(columns), columns_, rows));
}

uint64_t SsTable::memory_bytes() const {
  constexpr uint64_t kBytesOfAColumn = 512;  // of the schema and the tables of ids, about
  std::lock_guard lock(mutex_);
  return schema_.fields().size() * kBytesOfAColumn + (file_ == nullptr ? 0 : file_->memory_bytes()) +
         (keys_ == nullptr ? 0 : keys_->index.memory_bytes() + keys_->tombstones.size() / 8);
}

}  // namespace javelin::memwal
