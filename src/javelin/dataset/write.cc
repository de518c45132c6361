#include "javelin/dataset/write_internal.h"

#include <algorithm>

#include <arrow/record_batch.h>

#include "javelin/base/error.h"
#include "javelin/dataset/data_files_internal.h"
#include "javelin/dataset/incoming_rows_internal.h"
#include "javelin/file/blob_field.h"
#include "javelin/file/blob_input.h"
#include "javelin/file/data_file_writer.h"
#include "javelin/table/commit.h"
#include "javelin/table/data_format.h"
#include "javelin/table/feature_flags.h"

namespace javelin::internal {

arrow::Status CheckWriteOptions(const WriteOptions& options) {
  if (options.max_rows_per_file == 0) return InvalidInput("max_rows_per_file must not be 0");
  if (options.max_bytes_per_file == 0) return InvalidInput("max_bytes_per_file must not be 0");
  if (options.max_commit_retries < 0)
    return InvalidInput("max_commit_retries must not be negative, it is {}", options.max_commit_retries);
  return arrow::Status::OK();
}

arrow::Status CheckCanFollow(const DatasetState& table) {
  ARROW_RETURN_NOT_OK(table::CheckWritable(table.manifest()));
  if (table::IsDetached(table.manifest().version))
    return NotSupported("a commit on the detached version {} of '{}'", table.manifest().version, table.location.uri);
  return arrow::Status::OK();
}

namespace {

bool HasBlobsV2(file::FileVersion version) { return version >= file::FileVersion{2, 2}; }

// What is asked for, else what the table has, else (no table) the default.
arrow::Result<file::FileVersion> VersionOfNewFiles(const DatasetState& table, const WriteOptions& options) {
  if (options.data_storage_version) return *options.data_storage_version;
  if (table.loaded.manifest == nullptr) return file::DataFileWriteOptions{}.version;
  return table::DataFormatOf(table.manifest());
}

bool HoldsBlobsV1(const file::Field& field) {
  return file::BlobKindOf(field) == file::BlobKind::kV1 || std::ranges::any_of(field.children, HoldsBlobsV1);
}

arrow::Status CheckColumns(const file::Schema& columns, file::FileVersion version) {
  for (const file::Field& field : columns.fields()) {
    if (HasBlobsV2(version) && HoldsBlobsV1(field))
      return NotSupported(
          "column '{}' has blobs as versions 2.0 and 2.1 hold them, which data files of version {} do not; write files "
          "of the table's version, or overwrite the table",
          field.name, file::ToString(version));
  }
  return file::CheckWritable(columns, version);
}

}  // namespace

arrow::Result<file::FileVersion> CheckAppendable(const DatasetState& table, const file::Schema& columns,
                                                 const WriteOptions& options) {
  ARROW_RETURN_NOT_OK(CheckCanFollow(table));
  ARROW_ASSIGN_OR_RAISE(const file::FileVersion own, table::DataFormatOf(table.manifest()));
  if (own < file::FileVersion{2, 0})
    return NotSupported("'{}' has data files of the legacy version 0.1, which others cannot join; overwrite it",
                        table.location.uri);
  ARROW_ASSIGN_OR_RAISE(const file::FileVersion version, VersionOfNewFiles(table, options));
  ARROW_RETURN_NOT_OK(CheckColumns(columns, version));
  return version;
}

namespace {

// What is written and how it is committed.
struct Plan {
  file::Schema written;  // the columns of the new files
  file::FileVersion version;
  table::Operation operation;
  bool creates = false;
};

// The columns of an overwrite. Those of a table that keeps its field ids count from behind the last one given.
arrow::Result<file::Schema> ColumnsOfOverwrite(const DatasetState& table, const arrow::Schema& given) {
  constexpr int64_t kRoom = 1 << 20;  // more than any table has columns
  const auto mark = table.loaded.manifest == nullptr ? std::nullopt : table.loaded.manifest->max_allocated_field_id;
  if (mark > INT32_MAX - kRoom) return NotSupported("'{}' has used up its field ids", table.location.uri);
  return file::Schema::FromArrow(given, FieldId(static_cast<int32_t>(mark.value_or(-1) + 1)));
}

arrow::Result<Plan> PlanWrite(const DatasetState& table, const arrow::Schema& given, const WriteOptions& options) {
  Plan plan;
  if (options.mode == WriteMode::kAppend) {
    ARROW_ASSIGN_OR_RAISE(plan.written, ColumnsOfAppend(given, table.manifest().schema));
    ARROW_ASSIGN_OR_RAISE(plan.version, CheckAppendable(table, plan.written, options));
    plan.operation = table::Append{};
    return plan;
  }
  plan.creates = table.loaded.manifest == nullptr;
  if (!plan.creates) ARROW_RETURN_NOT_OK(CheckCanFollow(table));
  ARROW_ASSIGN_OR_RAISE(plan.version, VersionOfNewFiles(table, options));
  ARROW_ASSIGN_OR_RAISE(const auto columns, file::BlobColumnsOfNewTable(given, HasBlobsV2(plan.version)));
  ARROW_ASSIGN_OR_RAISE(const file::Schema made, ColumnsOfOverwrite(table, *columns));
  plan.written = file::NameListsAsGiven(made, given);
  ARROW_RETURN_NOT_OK(file::CheckNewSchema(plan.written));
  ARROW_RETURN_NOT_OK(CheckColumns(plan.written, plan.version));
  table::Overwrite overwrite;
  overwrite.schema = plan.written;
  overwrite.data_format_version = file::ToString(plan.version);
  plan.operation = std::move(overwrite);
  return plan;
}

arrow::Status CopyRows(arrow::RecordBatchReader& data, const file::Schema& target, DataFilesWriter& writer) {
  ARROW_ASSIGN_OR_RAISE(const IncomingRows rows, IncomingRows::Make(*data.schema(), target));
  while (true) {
    std::shared_ptr<arrow::RecordBatch> batch;
    ARROW_RETURN_NOT_OK(data.ReadNext(&batch));
    if (batch == nullptr) return arrow::Status::OK();
    if (batch->num_rows() == 0) continue;
    ARROW_ASSIGN_OR_RAISE(const auto shaped, rows.Shape(*batch));
    ARROW_RETURN_NOT_OK(writer.Write(*shaped));
  }
}

}  // namespace

arrow::Result<std::vector<table::Fragment>> WriteFiles(arrow::RecordBatchReader& data, const file::Schema& target,
                                                       DataFilesWriter& writer) {
  ARROW_RETURN_NOT_OK(CopyRows(data, target, writer));
  return writer.Finish();
}

arrow::Result<table::LoadedManifest> WriteRows(const DatasetState& table, arrow::RecordBatchReader& data,
                                               const WriteOptions& options) {
  ARROW_RETURN_NOT_OK(CheckWriteOptions(options));
  ARROW_ASSIGN_OR_RAISE(Plan plan, PlanWrite(table, *data.schema(), options));
  const Resources& resources = table.session->resources();
  DataFilesWriter writer(resources, table.location, plan.written, plan.version,
                         {options.max_rows_per_file, options.max_bytes_per_file});
  auto fragments = WriteFiles(data, plan.written, writer);
  if (!fragments.ok()) {
    writer.Discard();
    return fragments.status();
  }

  table::Transaction transaction;
  if (auto* append = std::get_if<table::Append>(&plan.operation)) append->fragments = *std::move(fragments);
  if (auto* overwrite = std::get_if<table::Overwrite>(&plan.operation)) overwrite->fragments = *std::move(fragments);
  transaction.operation = std::move(plan.operation);
  const table::CommitOptions commit{
      .max_retries = options.max_commit_retries,
      .scheme_of_new_table = options.enable_v2_manifest_paths ? table::NamingScheme::kV2 : table::NamingScheme::kV1};
  auto committed = table::CommitTransaction(resources, table.location, plan.creates ? nullptr : &table.loaded,
                                            std::move(transaction), commit);
  // With an unknown outcome a manifest may refer to the files.
  if (!committed.ok() && !HasKind(committed.status(), ErrorKind::kOutcomeUnknown)) writer.Discard();
  return committed;
}

}  // namespace javelin::internal
