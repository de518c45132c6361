#include "javelin/dataset/fragment_reader_internal.h"

#include <numeric>

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>

#include "javelin/base/error.h"
#include "javelin/dataset/open_files_internal.h"
#include "javelin/file/array_bytes.h"

namespace javelin::internal {

namespace {

constexpr size_t kNoFile = SIZE_MAX;

void CollectIds(const file::Field& field, std::vector<FieldId>& ids) {
  ids.push_back(field.id);
  for (const file::Field& child : field.children) CollectIds(child, ids);
}

file::ColumnOfField ColumnsOf(const table::DataFile& file) {
  file::ColumnOfField columns;
  for (size_t i = 0; i < file.column_indices.size(); ++i) {
    // -2 marks superseded values; -1 a field without a column of its own.
    if (file.fields[i] == -2 || file.column_indices[i] < 0) continue;
    columns.emplace(FieldId(file.fields[i]), static_cast<uint32_t>(file.column_indices[i]));
  }
  return columns;
}

// A hidden column of row lineage.
file::Field LineageField(FieldId id, ColumnKind kind) {
  file::Field field;
  field.id = id;
  field.name = std::string(NameOf(kind));
  field.logical_type = "uint64";
  field.type = arrow::uint64();
  return field;
}

}  // namespace

// Decides for each output column where it comes from.
struct FragmentReader::Planner {
  FragmentReader& reader;
  const table::Fragment& fragment;
  std::vector<Source> files = {};

  arrow::Status Run() {
    for (const table::DataFile& file : fragment.files) {
      // A legacy file names no columns, and would never be opened: all of it would read as null.
      if (const auto readable = file::ReadableVersion(file.version); !readable.ok()) {
        return WithContext(readable.status(), fmt::format("data file '{}' of fragment {} of '{}'", file.path,
                                                          fragment.id, reader.table_->location.uri));
      }
      files.push_back({file, ColumnsOf(file), {}, {}, {}, nullptr});
    }
    const auto& columns = reader.projection_.columns();
    reader.missing_.resize(columns.size());
    for (size_t position = 0; position < columns.size(); ++position) {
      switch (columns[position].kind) {
        case ColumnKind::kField: ARROW_RETURN_NOT_OK(PlaceField(columns[position].field, position)); break;
        case ColumnKind::kRowId: ARROW_RETURN_NOT_OK(PlaceRowId(position)); break;
        case ColumnKind::kRowAddress: break;
        case ColumnKind::kCreatedVersion:
        case ColumnKind::kUpdatedVersion: ARROW_RETURN_NOT_OK(PlaceVersions(columns[position].kind, position)); break;
      }
    }
    for (Source& file : files) {
      if (file.fields.empty()) continue;
      file.projection = file::Schema(file.fields, {});
      reader.sources_.push_back(std::move(file));
    }
    return arrow::Status::OK();
  }

  arrow::Status PlaceField(const file::Field& field, size_t position) {
    ARROW_ASSIGN_OR_RAISE(const size_t file, FileOf(field));
    if (file == kNoFile) {
      if (!field.nullable)
        return Corruption("fragment {} of '{}' has no values of column '{}', which must not be null", fragment.id,
                          reader.table_->location.uri, field.name);
      reader.missing_[position] = field.type;
      return arrow::Status::OK();
    }
    files[file].fields.push_back(field);
    files[file].positions.push_back(position);
    return arrow::Status::OK();
  }

  arrow::Result<size_t> FileOf(const file::Field& field) {
    std::vector<FieldId> ids;
    CollectIds(field, ids);
    size_t found = kNoFile;
    for (size_t i = 0; i < files.size(); ++i) {
      const bool here = std::any_of(ids.begin(), ids.end(), [&](FieldId id) { return files[i].columns.contains(id); });
      if (!here) continue;
      if (found != kNoFile)
        return NotSupported("column '{}' of fragment {} of '{}' lies in several data files", field.name, fragment.id,
                            reader.table_->location.uri);
      found = i;
    }
    return found;
  }

  arrow::Status PlaceRowId(size_t position) {
    if (!reader.table_->has_stable_row_ids()) return arrow::Status::OK();
    if (table::WhereRowIdsAre(fragment) == table::RowIdsKept::kInColumn)
      return PlaceField(LineageField(table::kRowIdColumn, ColumnKind::kRowId), position);
    ARROW_ASSIGN_OR_RAISE(reader.row_ids_, table::DecodeRowIds(fragment, reader.rows_.physical()));
    return arrow::Status::OK();
  }

  // Tables without stable row ids keep no versions; they read as 1.
  arrow::Status PlaceVersions(ColumnKind kind, size_t position) {
    const bool created = kind == ColumnKind::kCreatedVersion;
    ARROW_ASSIGN_OR_RAISE(std::optional<table::RowVersions> versions,
                          created ? table::DecodeCreatedVersions(fragment) : table::DecodeUpdatedVersions(fragment));
    if (!versions) {
      const FieldId hidden = created ? table::kCreatedVersionColumn : table::kUpdatedVersionColumn;
      return PlaceField(LineageField(hidden, kind), position);
    }
    (created ? reader.created_ : reader.updated_) = *std::move(versions);
    return arrow::Status::OK();
  }
};

arrow::Result<std::unique_ptr<FragmentReader>> FragmentReader::Open(std::shared_ptr<const DatasetState> table,
                                                                    const table::Fragment& fragment,
                                                                    const Projection& projection) {
  std::unique_ptr<FragmentReader> reader(new FragmentReader(std::move(table), projection));
  reader->id_ = fragment.id;
  ARROW_ASSIGN_OR_RAISE(reader->rows_, FragmentRows::Load(*reader->table_, fragment));
  ARROW_RETURN_NOT_OK((Planner{*reader, fragment}).Run());
  for (Source& source : reader->sources_) ARROW_RETURN_NOT_OK(reader->OpenSource(source));
  return reader;
}

uint64_t FragmentReader::StoredBytesPerRow() const {
  uint64_t bytes = 0;
  for (const Source& source : sources_) bytes += source.file.size_bytes;
  return rows_.physical() == 0 ? 0 : bytes / rows_.physical();
}

arrow::Status FragmentReader::OpenSource(Source& source) {
  ARROW_ASSIGN_OR_RAISE(source.reader, OpenFiles::Get(*table_, source.file));
  if (source.reader->num_rows() != rows_.physical()) {
    ARROW_ASSIGN_OR_RAISE(const ObjectLocation place, table_->Locate(source.file));
    return Corruption("data file '{}' has {} rows, fragment {} has {}", place.store->Describe(place.key),
                      source.reader->num_rows(), id_, rows_.physical());
  }
  return arrow::Status::OK();
}

template <typename Fill>
arrow::Result<std::shared_ptr<arrow::RecordBatch>> FragmentReader::Assemble(
    size_t count, std::span<const std::shared_ptr<arrow::RecordBatch>> stored, Fill fill) const {
  const auto& columns = projection_.columns();
  const auto rows = static_cast<int64_t>(count);
  arrow::MemoryPool* pool = table_->session->resources().pool;
  std::vector<std::shared_ptr<arrow::Array>> arrays(columns.size());
  for (size_t i = 0; i < sources_.size(); ++i) {
    const std::vector<size_t>& positions = sources_[i].positions;
    for (size_t j = 0; j < positions.size(); ++j) arrays[positions[j]] = stored[i]->column(static_cast<int>(j));
  }
  for (size_t position = 0; position < columns.size(); ++position) {
    if (arrays[position] != nullptr) continue;
    if (missing_[position] != nullptr) {
      ARROW_ASSIGN_OR_RAISE(arrays[position], arrow::MakeArrayOfNull(missing_[position], rows, pool));
      continue;
    }
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> values,
                          arrow::AllocateBuffer(rows * static_cast<int64_t>(sizeof(uint64_t)), pool));
    fill(columns[position].kind, std::span(reinterpret_cast<uint64_t*>(values->mutable_data()), count));
    arrays[position] = std::make_shared<arrow::UInt64Array>(rows, std::move(values));
  }
  return arrow::RecordBatch::Make(projection_.arrow_schema(), rows, std::move(arrays));
}

void FragmentReader::FillSystemColumn(ColumnKind kind, uint64_t first, std::span<uint64_t> values) const {
  if (kind == ColumnKind::kCreatedVersion) return created_.Read(first, values);
  if (kind == ColumnKind::kUpdatedVersion) return updated_.Read(first, values);
  if (kind == ColumnKind::kRowId && row_ids_) return row_ids_->Read(first, values);
  std::iota(values.begin(), values.end(), RowAddress(id_, static_cast<uint32_t>(first)).packed());
}

std::vector<uint64_t> FragmentReader::PageEnds(uint64_t first, uint64_t end) const {
  std::vector<uint64_t> all;
  for (const Source& source : sources_) {
    const auto ends = file::BatchReader::Of(*source.reader).PageEnds(source.projection, source.columns, first, end);
    all.insert(all.end(), ends.begin(), ends.end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

arrow::Result<std::shared_ptr<FragmentReader::Fetched>> FragmentReader::Fetch(uint64_t first,
                                                                              std::vector<uint64_t> ends) const {
  auto fetched = std::make_shared<Fetched>(Fetched{first, std::move(ends), {}});
  for (const Source& source : sources_) {
    auto& reader = file::BatchReader::Of(*source.reader);
    ARROW_ASSIGN_OR_RAISE(auto batches, reader.Fetch(source.projection, source.columns, first, fetched->ends));
    fetched->of_sources.push_back(std::move(batches));
  }
  return fetched;
}

arrow::Result<arrow::RecordBatchVector> FragmentReader::Decode(Fetched& fetched) const {
  std::vector<arrow::RecordBatchVector> stored(fetched.ends.size());  // by batch
  auto of_sources = std::move(fetched.of_sources);                    // which end here, whatever comes
  for (auto& source : of_sources) {
    ARROW_ASSIGN_OR_RAISE(auto batches, source->Decode());
    source.reset();  // its bytes are not needed any more
    for (size_t i = 0; i < stored.size(); ++i) stored[i].push_back(std::move(batches[i]));
  }
  arrow::RecordBatchVector answer;
  for (uint64_t first = fetched.first; const uint64_t end : fetched.ends) {
    const auto fill = [&](ColumnKind kind, std::span<uint64_t> values) { FillSystemColumn(kind, first, values); };
    ARROW_ASSIGN_OR_RAISE(auto batch, Assemble(end - first, stored[answer.size()], fill));
    answer.push_back(std::move(batch));
    first = end;
  }
  return answer;
}

arrow::Result<MemoryReservation> FragmentReader::ReserveNulls(uint64_t rows) const {
  uint64_t bytes = 0;
  for (const auto& type : missing_) {
    if (type != nullptr) bytes += std::min(file::NullBytes(*type, rows), INT64_MAX - bytes);
  }
  return MemoryReservation::Make(*table_->session->resources().memory, static_cast<int64_t>(bytes),
                                 "columns that came later than a fragment");
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> FragmentReader::Take(std::span<const uint64_t> offsets) const {
  arrow::RecordBatchVector stored;
  for (const Source& source : sources_) {
    ARROW_ASSIGN_OR_RAISE(auto batch, source.reader->Take(source.projection, source.columns, offsets));
    stored.push_back(std::move(batch));
  }
  ARROW_ASSIGN_OR_RAISE(const auto memory, ReserveNulls(offsets.size()));
  return Assemble(offsets.size(), stored, [&](ColumnKind kind, std::span<uint64_t> values) {
    for (size_t i = 0; i < offsets.size(); ++i) FillSystemColumn(kind, offsets[i], values.subspan(i, 1));
  });
}

}  // namespace javelin::internal
