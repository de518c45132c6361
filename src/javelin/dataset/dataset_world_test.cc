// What the tests of this module share.
#include <arrow/io/memory.h>
#include <arrow/ipc/writer.h>

#include "javelin/dataset/dataset_world_internal.h"
#include "javelin/file/data_file_writer.h"
#include "javelin/table/deletion_vector.h"
#include "javelin/table/manifest_codec.h"
#include "javelin/table/versions.h"

namespace javelin {

std::ostream& operator<<(std::ostream& out, const TestRow& row) {
  return out << "{" << row.id << ", " << row.s.value_or("null") << "}";
}

std::shared_ptr<arrow::Schema> TestSchema() {
  return arrow::schema({arrow::field("id", arrow::int64(), /*nullable=*/false), arrow::field("s", arrow::utf8())});
}

BatchPtr ToBatch(const std::vector<TestRow>& rows) {
  arrow::Int64Builder ids;
  arrow::StringBuilder strings;
  for (const TestRow& row : rows) {
    EXPECT_TRUE(ids.Append(row.id).ok());
    EXPECT_TRUE((row.s ? strings.Append(*row.s) : strings.AppendNull()).ok());
  }
  return arrow::RecordBatch::Make(TestSchema(), static_cast<int64_t>(rows.size()),
                                  {ids.Finish().ValueOrDie(), strings.Finish().ValueOrDie()});
}

std::vector<TestRow> FromBatch(const arrow::RecordBatch& batch) {
  const auto ids = std::static_pointer_cast<arrow::Int64Array>(batch.GetColumnByName("id"));
  const auto strings = std::static_pointer_cast<arrow::StringArray>(batch.GetColumnByName("s"));
  std::vector<TestRow> rows;
  for (int64_t i = 0; i < batch.num_rows(); ++i) {
    rows.push_back({ids->Value(i), strings->IsNull(i) ? std::nullopt : std::optional(strings->GetString(i))});
  }
  return rows;
}

std::vector<TestRow> MakeRows(int64_t first, int64_t count) {
  std::vector<TestRow> rows;
  for (int64_t id = first; id < first + count; ++id) {
    rows.push_back({id, id % 7 == 3 ? std::nullopt : std::optional(fmt::format("s{}", id))});
  }
  return rows;
}

std::vector<TestRow> Without(std::vector<TestRow> rows, const std::set<int64_t>& ids) {
  std::erase_if(rows, [&](const TestRow& row) { return ids.contains(row.id); });
  return rows;
}

std::vector<TestRow> Both(std::vector<TestRow> a, const std::vector<TestRow>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::shared_ptr<arrow::RecordBatchReader> ReaderOf(arrow::RecordBatchVector batches) {
  auto schema = batches[0]->schema();
  return arrow::RecordBatchReader::Make(std::move(batches), schema).ValueOrDie();
}

arrow::Result<BatchPtr> ReadAll(arrow::RecordBatchReader& reader) {
  ARROW_ASSIGN_OR_RAISE(const auto batches, reader.ToRecordBatches());
  for (const auto& batch : batches) ARROW_RETURN_NOT_OK(batch->ValidateFull());
  if (batches.empty()) return arrow::RecordBatch::MakeEmpty(reader.schema());
  return arrow::ConcatenateRecordBatches(batches);
}

DatasetWorld::DatasetWorld(StoreKind kind) {
  const Resources resources = MakeResources(MakeThreadRuntime());
  session_ = std::make_shared<Session>(resources);
  std::string pattern = (std::filesystem::temp_directory_path() / "javelin-dataset-XXXXXX").string();
  folder_ = ::mkdtemp(pattern.data());
  inner_ =
      kind == StoreKind::kMemory ? MakeMemoryStore(resources) : MakeLocalStore(resources, folder_, {.sync = false});
  faults_ = std::make_shared<FaultStore>(*resources.runtime, inner_);
  counting_ = std::make_shared<CountingStore>(*resources.runtime, faults_);
  location_ = {counting_, "t", "test://t"};
}

DatasetWorld::~DatasetWorld() { std::filesystem::remove_all(folder_); }

arrow::Result<std::shared_ptr<Dataset>> DatasetWorld::WriteBatches(arrow::RecordBatchVector batches, WriteMode mode,
                                                                   WriteOptions options) {
  options.mode = mode;
  const auto reader = ReaderOf(std::move(batches));
  return Dataset::WriteAt(session_, location_, *reader, options);
}

arrow::Result<std::shared_ptr<Dataset>> DatasetWorld::Write(const std::vector<TestRow>& rows, WriteMode mode,
                                                            WriteOptions options) {
  return WriteBatches({ToBatch(rows)}, mode, std::move(options));
}

std::vector<TestRow> DatasetWorld::Rows(const Dataset& dataset, ScanOptions options) {
  const auto reader = dataset.Scan(options).ValueOrDie();
  return FromBatch(*ReadAll(*reader).ValueOrDie());
}

arrow::Result<std::shared_ptr<Dataset>> DatasetWorld::Plant(const std::function<void(table::Manifest&)>& change) {
  ARROW_ASSIGN_OR_RAISE(const table::LoadedManifest head, table::LoadLatestVersion({inner_, "t", "test://t"}));
  table::Manifest next = *head.manifest;
  next.version = next.version.Next();
  change(next);
  // ReserveFragments{1} read at the version before: a transaction that nothing conflicts with.
  const std::string transaction("\x12\x01x\xda\x06\x02\x08\x01", 8);
  ARROW_ASSIGN_OR_RAISE(const BufferPtr file, table::EncodeManifestFile(next, transaction));
  ARROW_RETURN_NOT_OK(inner_->PutIfAbsent(table::ManifestKey(location_, {next.version, head.scheme}), file));
  return Open();
}

arrow::Result<std::shared_ptr<Dataset>> DatasetWorld::Delete(FragmentId fragment, std::vector<uint32_t> offsets,
                                                             table::DeletionFileType type, bool count_known) {
  table::DeletionFile entry{type, 1, session_->runtime().Random(), count_known ? offsets.size() : 0, std::nullopt};
  BufferPtr bytes;
  if (type == table::DeletionFileType::kBitmap) {
    bytes = arrow::Buffer::FromString(table::EncodeRoaring(table::OffsetSet::FromUnsorted(offsets)));
  } else {
    const auto schema = arrow::schema({arrow::field("row_id", arrow::uint32(), false)});
    arrow::UInt32Builder builder;
    ARROW_RETURN_NOT_OK(builder.AppendValues(offsets));
    ARROW_ASSIGN_OR_RAISE(const auto column, builder.Finish());
    ARROW_ASSIGN_OR_RAISE(const auto sink, arrow::io::BufferOutputStream::Create());
    ARROW_ASSIGN_OR_RAISE(const auto writer, arrow::ipc::MakeFileWriter(sink, schema));
    ARROW_RETURN_NOT_OK(writer->WriteRecordBatch(*arrow::RecordBatch::Make(schema, column->length(), {column})));
    ARROW_RETURN_NOT_OK(writer->Close());
    ARROW_ASSIGN_OR_RAISE(bytes, sink->Finish());
  }
  ARROW_RETURN_NOT_OK(inner_->Put("t/_deletions/" + table::DeletionFileName(fragment, entry), bytes));
  return Plant([&](table::Manifest& next) {
    for (table::Fragment& candidate : next.fragments) {
      if (candidate.id == fragment) candidate.deletion_file = entry;
    }
    next.reader_feature_flags |= 1;
    next.writer_feature_flags |= 1;
  });
}

arrow::Result<table::DataFile> DatasetWorld::WriteFile(const StoreLocation& place, const std::string& name,
                                                       const file::Schema& schema, const arrow::RecordBatch& batch) {
  ARROW_ASSIGN_OR_RAISE(auto sink, place.store->OpenWriter(JoinKey(place.root, name)));
  ARROW_ASSIGN_OR_RAISE(const auto writer, file::DataFileWriter::Make(session_->resources(), std::move(sink), schema));
  ARROW_RETURN_NOT_OK(writer->Write(batch));
  ARROW_ASSIGN_OR_RAISE(const file::DataFileSummary summary, writer->Finish());
  table::DataFile file{
      name.substr(name.rfind('/') + 1), {}, summary.column_indices, summary.version, summary.size_bytes, std::nullopt};
  for (FieldId field : summary.fields) file.fields.push_back(field.value());
  return file;
}

}  // namespace javelin
