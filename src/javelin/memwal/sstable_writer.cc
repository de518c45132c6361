#include "javelin/memwal/sstable_writer.h"

#include <arrow/builder.h>
#include <arrow/util/bit_util.h>

#include "javelin/base/error.h"
#include "javelin/file/data_file_writer.h"
#include "javelin/index/bloom_filter.h"
#include "javelin/index/btree_files.h"
#include "javelin/index/key_hash.h"
#include "javelin/table/apply.h"
#include "javelin/table/deletion_vector.h"
#include "javelin/table/feature_flags.h"
#include "javelin/table/manifest_codec.h"
#include "javelin/table/uuid.h"
#include "javelin/table/versions.h"

namespace javelin::memwal {

namespace {

// All rows of a MemTable, on their way to the files of one folder. Each method makes one kind of file.
class SsTableFiles {
 public:
  SsTableFiles(const Resources& resources, ObjectStore& store, std::string folder, const MemTable& table)
      : resources_(resources), store_(store), folder_(std::move(folder)), table_(table) {
    const BatchStore& rows = table.store();
    for (uint64_t i = 0; i < rows.committed().value(); ++i) batches_.push_back(rows[i].batch);
  }

  arrow::Status WriteDataFile() {
    file_.path = RandomUuid().ToString() + ".lance";
    ARROW_ASSIGN_OR_RAISE(auto sink, store_.OpenWriter(JoinKey(folder_, "data/" + file_.path)));
    const file::Schema schema = SsTableSchema(table_.schemas());
    ARROW_ASSIGN_OR_RAISE(const auto writer, file::DataFileWriter::Make(resources_, std::move(sink), schema,
                                                                        {.version = table_.context()->file_version}));
    for (const auto& batch : batches_) {
      ARROW_ASSIGN_OR_RAISE(const auto rows, WithStorableTombstones(batch));
      ARROW_RETURN_NOT_OK(writer->Write(*rows));
    }
    ARROW_ASSIGN_OR_RAISE(const file::DataFileSummary summary, writer->Finish());
    for (const FieldId field : summary.fields) file_.fields.push_back(field.value());
    file_.column_indices = summary.column_indices;
    file_.version = summary.version;
    file_.size_bytes = summary.size_bytes;
    num_rows_ = summary.num_rows;
    return arrow::Status::OK();
  }

  // Key index and filter over all rows, superseded ones too; the deletion file takes those out.
  arrow::Status AddKeyFiles() {
    if (table_.key_index() == nullptr) return arrow::Status::OK();
    arrow::ArrayVector pieces;
    std::vector<std::shared_ptr<arrow::DataType>> types;
    index::BloomFilter filter;
    const auto& key_columns = table_.schemas().key_columns();
    for (const int column : key_columns) types.push_back(table_.schemas().storage()->field(column)->type());
    ARROW_ASSIGN_OR_RAISE(const auto hasher, index::KeyHasher::Make(types));
    for (const auto& batch : batches_) {
      arrow::ArrayVector columns;
      for (const int column : key_columns) columns.push_back(batch->column(column));
      ARROW_ASSIGN_OR_RAISE(const auto hashes, hasher.Hash(columns));
      filter.Add(hashes);
      ARROW_ASSIGN_OR_RAISE(auto values, index::KeyIndexValues(columns, resources_.pool));
      pieces.push_back(std::move(values));
    }
    ARROW_ASSIGN_OR_RAISE(const auto values, arrow::Concatenate(pieces, resources_.pool));
    ARROW_ASSIGN_OR_RAISE(const auto rows, RowNumbers());
    ARROW_ASSIGN_OR_RAISE(const auto files, index::EncodeBTree(resources_, values, rows, index::kKeyIndexPageRows));
    Add(fmt::format("_pk_index/{}", index::kBTreePageDataName), files.page_data);
    Add(fmt::format("_pk_index/{}", index::kBTreePageLookupName), files.page_lookup);
    Add("bloom_filter.bin", filter.ToBytes());
    return AddDeletionFile();
  }

  arrow::Status WriteSmallFiles() {
    for (const arrow::Status& written : store_.PutMany(small_)) ARROW_RETURN_NOT_OK(written);
    return arrow::Status::OK();
  }

  // Last, so that a folder with a manifest is whole.
  arrow::Status WriteManifest() {
    table::Manifest manifest;
    manifest.version = TableVersion(1);
    manifest.schema = SsTableSchema(table_.schemas());
    manifest.fragments = {{FragmentId(0), {file_}, deletion_, num_rows_, ""}};
    manifest.max_fragment_id = 0;
    manifest.timestamp_ns = resources_.runtime->WallTime().count();
    manifest.writer_version = table::ThisWriter();
    manifest.data_format_version = file::ToString(file_.version);
    table::RecomputeFlags(nullptr, manifest);
    ARROW_ASSIGN_OR_RAISE(const BufferPtr bytes, table::EncodeManifestFile(manifest, ""));
    return store_.Put(JoinKey(folder_, "_versions/" + table::ToFileName({TableVersion(1)})), bytes);
  }

  uint64_t num_rows() const { return num_rows_; }

 private:
  // Data files of 2.0 hold no null structs: those of tombstones, whose values nobody reads, are stored as structs.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> WithStorableTombstones(
      const std::shared_ptr<arrow::RecordBatch>& batch) const {
    if (table_.context()->file_version > file::FileVersion{2, 0}) return batch;
    const auto& tombstones = static_cast<const arrow::BooleanArray&>(*batch->columns().back());
    if (tombstones.true_count() == 0) return batch;
    std::vector<std::shared_ptr<arrow::ArrayData>> columns;
    for (int i = 0; i < batch->num_columns(); ++i) {
      ARROW_ASSIGN_OR_RAISE(auto column, WithoutNullStructs(batch->column_data(i), tombstones));
      columns.push_back(std::move(column));
    }
    return arrow::RecordBatch::Make(batch->schema(), batch->num_rows(), std::move(columns));
  }

  // Inside a null struct values are empty ones: of a dictionary the first item, which there must be if it is valid.
  arrow::Result<std::shared_ptr<arrow::ArrayData>> WithAnItem(const std::shared_ptr<arrow::ArrayData>& data) const {
    if (data->dictionary->length > 0) return data;
    std::unique_ptr<arrow::ArrayBuilder> items;
    ARROW_RETURN_NOT_OK(arrow::MakeBuilder(resources_.pool, data->dictionary->type, &items));
    ARROW_RETURN_NOT_OK(items->AppendEmptyValue());
    auto out = data->Copy();
    ARROW_RETURN_NOT_OK(items->FinishInternal(&out->dictionary));
    return out;
  }

  // Structs in `rows` are valid; what is inside stays null where it is.
  arrow::Result<std::shared_ptr<arrow::ArrayData>> WithoutNullStructs(const std::shared_ptr<arrow::ArrayData>& data,
                                                                      const arrow::BooleanArray& rows) const {
    if (data->type->id() == arrow::Type::DICTIONARY) return WithAnItem(data);
    if (data->type->id() != arrow::Type::STRUCT) return data;
    auto out = arrow::ArrayData::Make(data->type, data->length, {nullptr});
    for (const auto& child : data->child_data) {
      ARROW_ASSIGN_OR_RAISE(auto inside, WithoutNullStructs(child->Slice(data->offset, data->length), rows));
      out->child_data.push_back(std::move(inside));
    }
    if (data->GetNullCount() == 0) return out;
    ARROW_ASSIGN_OR_RAISE(out->buffers[0], arrow::AllocateEmptyBitmap(data->length, resources_.pool));
    for (int64_t i = 0; i < data->length; ++i) {
      if (data->IsValid(i) || rows.Value(i)) arrow::bit_util::SetBit(out->buffers[0]->mutable_data(), i);
    }
    return out;
  }

  void Add(std::string_view name, BufferPtr bytes) { small_.push_back({JoinKey(folder_, name), std::move(bytes)}); }

  arrow::Result<std::shared_ptr<arrow::UInt64Array>> RowNumbers() const {
    arrow::UInt64Builder rows(resources_.pool);
    ARROW_RETURN_NOT_OK(rows.Reserve(static_cast<int64_t>(num_rows_)));
    for (uint64_t row = 0; row < num_rows_; ++row) rows.UnsafeAppend(row);
    std::shared_ptr<arrow::UInt64Array> numbers;
    ARROW_RETURN_NOT_OK(rows.Finish(&numbers));
    return numbers;
  }

  arrow::Status AddDeletionFile() {
    const index::KeyIndex& keys = *table_.key_index();
    if (!keys.has_overrides() || resources_.runtime->PlantedBug("flush.keeps_superseded_rows"))
      return arrow::Status::OK();
    std::vector<uint32_t> superseded;
    for (uint64_t row = 0; row < num_rows_; ++row) {
      if (keys.FindNewest(keys.KeyOf(row), num_rows_) != row) superseded.push_back(static_cast<uint32_t>(row));
    }
    const auto set = table::OffsetSet::FromUnsorted(std::move(superseded));
    ARROW_ASSIGN_OR_RAISE(auto encoded, table::EncodeDeletionFile(set));
    deletion_ = table::DeletionFile{
        .type = encoded.type, .read_version = 1, .id = resources_.runtime->Random(), .num_deleted_rows = set.size()};
    Add("_deletions/" + table::DeletionFileName(FragmentId(0), *deletion_), std::move(encoded.bytes));
    return arrow::Status::OK();
  }

  Uuid RandomUuid() {
    const uint64_t high = resources_.runtime->Random();
    return Uuid::Random(high, resources_.runtime->Random());
  }

  const Resources& resources_;
  ObjectStore& store_;
  const std::string folder_;
  const MemTable& table_;
  arrow::RecordBatchVector batches_;
  table::DataFile file_;
  std::optional<table::DeletionFile> deletion_;
  std::vector<PutRequest> small_;
  uint64_t num_rows_ = 0;
};

}  // namespace

file::Schema SsTableSchema(const ShardSchemas& schemas) {
  std::vector<file::Field> fields = schemas.storage_fields().fields();
  fields.back().id = FieldId(schemas.storage_fields().MaxId().value() + 1);
  return {std::move(fields), schemas.storage_fields().metadata()};
}

arrow::Result<SsTableEntry> WriteSsTable(const Resources& resources, ObjectStore& store, const ShardPaths& paths,
                                         const MemTable& table) {
  if (table.store().committed().value() == 0)
    return InvalidInput("generation {} has no rows to flush", table.generation());
  Runtime& runtime = *resources.runtime;
  SsTableEntry entry;
  entry.generation = table.generation();
  entry.path = fmt::format("{:08x}_gen_{}", runtime.Random() & 0xffff'ffff, table.generation());
  SsTableFiles files(resources, store, JoinKey(paths.shard_folder, entry.path), table);
  ARROW_RETURN_NOT_OK(files.WriteDataFile());
  ARROW_RETURN_NOT_OK(runtime.SyncPoint("flush.data_written"));
  ARROW_RETURN_NOT_OK(files.AddKeyFiles());
  ARROW_RETURN_NOT_OK(files.WriteSmallFiles());
  ARROW_RETURN_NOT_OK(runtime.SyncPoint("flush.key_files_written"));
  ARROW_RETURN_NOT_OK(files.WriteManifest());
  ARROW_RETURN_NOT_OK(runtime.SyncPoint("flush.sstable_written"));
  entry.in_memory_bytes = table.store().row_bytes();
  entry.physical_rows = files.num_rows();
  entry.primary_key_bytes = table.key_index() == nullptr ? 0 : table.key_index()->memory_bytes();
  return entry;
}

}  // namespace javelin::memwal
