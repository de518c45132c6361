// Batches whose descriptions of blobs become bytes.
#include <algorithm>
#include <list>
#include <optional>

#include <arrow/api.h>
#include <arrow/util/byte_size.h>

#include "javelin/base/error.h"
#include "javelin/dataset/blob_objects_internal.h"
#include "javelin/dataset/blobs.h"
#include "javelin/dataset/projection_internal.h"
#include "javelin/file/blob_arrays.h"
#include "javelin/file/blob_field.h"

namespace javelin {

namespace {

using file::ArrayOfField;
using file::BlobKind;
using file::BlobRows;
using internal::BlobDescriptions;
using internal::BlobObjects;
using internal::BlobPiece;
using internal::BlobPlace;
using internal::DatasetState;

// What a read gave of a blob field is where each value lies.
bool IsDescribed(const file::Field& field, const arrow::Array& array) {
  return array.type()->Equals(*file::BlobDescriptionType(file::BlobKindOf(field)));
}

// Calls `found(descriptions, rows)` for the columns of descriptions in a batch, in pre-order.
template <typename Found>
arrow::Status VisitDescriptions(const Dataset& dataset, const arrow::RecordBatch& batch, const Found& found) {
  const auto visit = [&](const file::Field& field, const arrow::Array& array, const BlobRows& rows) -> arrow::Status {
    if (!IsDescribed(field, array)) return arrow::Status::OK();
    return found(BlobDescriptions(field, static_cast<const arrow::StructArray&>(array)), rows);
  };
  std::optional<BlobRows> all;
  for (int i = 0; i < batch.num_columns(); ++i) {
    const file::Field* field = dataset.schema().FindByName(batch.column_name(i));
    if (field == nullptr || !file::HoldsBlobs(*field)) continue;
    if (!all) all = file::AllRows(batch.num_rows());
    ARROW_RETURN_NOT_OK(file::VisitBlobArrays(*field, *batch.column(i), *all, visit));
  }
  return arrow::Status::OK();
}

// The blobs of one array of descriptions: where each lies (none: null), then its bytes.
struct BlobValues {
  std::vector<std::optional<BlobPlace>> places;
  std::vector<BufferPtr> bytes;
  uint64_t total = 0;
};

class BatchReader {
 public:
  BatchReader(const Dataset& dataset, const arrow::RecordBatch& rows)
      : dataset_(dataset),
        rows_(rows),
        pool_(dataset.session()->resources().pool),
        objects_(DatasetState::Of(dataset)) {}

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Read() {
    ARROW_RETURN_NOT_OK(Locate());
    ARROW_ASSIGN_OR_RAISE(const auto memory, Fetch());
    auto next = blobs_.begin();
    const auto replace = [&](const file::Field& field, const ArrayOfField& described,
                             const BlobRows&) -> arrow::Result<ArrayOfField> {
      if (!IsDescribed(field, *described.array)) return described;
      ARROW_ASSIGN_OR_RAISE(auto bytes, Build(*next++));
      const bool is_v2 = file::BlobKindOf(field) == BlobKind::kV2;
      return ArrayOfField{arrow::field(described.field->name(), arrow::large_binary(), described.field->nullable(),
                                       is_v2 ? nullptr : described.field->metadata()),
                          std::move(bytes)};
    };
    const BlobRows all = file::AllRows(rows_.num_rows());
    arrow::FieldVector fields = rows_.schema()->fields();
    arrow::ArrayVector columns = rows_.columns();
    for (size_t i = 0; i < columns.size(); ++i) {
      const file::Field* field = dataset_.schema().FindByName(fields[i]->name());
      if (field == nullptr || !file::HoldsBlobs(*field)) continue;
      ARROW_ASSIGN_OR_RAISE(ArrayOfField made,
                            file::ReplaceBlobArrays(*field, {fields[i], columns[i]}, all, replace, pool_));
      fields[i] = std::move(made.field);
      columns[i] = std::move(made.array);
    }
    return arrow::RecordBatch::Make(arrow::schema(std::move(fields), rows_.schema()->metadata()), rows_.num_rows(),
                                    std::move(columns));
  }

 private:
  arrow::Status Locate() {
    const auto addresses =
        std::dynamic_pointer_cast<arrow::UInt64Array>(rows_.GetColumnByName(std::string(internal::kRowAddressName)));
    std::vector<BlobPlace*> places;
    const auto locate = [&](const BlobDescriptions& descriptions, const BlobRows& rows) -> arrow::Status {
      if (addresses == nullptr || addresses->null_count() != 0)
        return InvalidInput("the bytes of blob column '{}' take the column `_rowaddr` beside it",
                            descriptions.field().name);
      BlobValues& values = blobs_.emplace_back();
      values.places.resize(rows.size());
      for (size_t i = 0; i < rows.size(); ++i) {
        if (rows[i] == file::kNoRow) continue;
        ARROW_ASSIGN_OR_RAISE(values.places[i], objects_.Place(descriptions, static_cast<int64_t>(i),
                                                               RowAddress(addresses->Value(rows[i]))));
        if (values.places[i]) places.push_back(&*values.places[i]);
      }
      return arrow::Status::OK();
    };
    ARROW_RETURN_NOT_OK(VisitDescriptions(dataset_, rows_, locate));
    return objects_.MeasureWhole(places);
  }

  // Of all columns, from each object at once. The memory is for the bytes as they come and as they are handed out.
  arrow::Result<MemoryReservation> Fetch() {
    std::vector<BlobPiece> pieces;
    std::vector<BufferPtr*> targets;
    uint64_t total = 0;
    for (BlobValues& values : blobs_) {
      values.bytes.resize(values.places.size());
      for (size_t i = 0; i < values.places.size(); ++i) {
        if (!values.places[i] || values.places[i]->range.length == 0) continue;
        pieces.push_back({values.places[i]->object, values.places[i]->range, targets.size()});
        targets.push_back(&values.bytes[i]);
        values.total = std::min(kMost, values.total + std::min(kMost, values.places[i]->range.length));
      }
      total = std::min(kMost, total + values.total);
    }
    std::ranges::sort(pieces, [](const BlobPiece& a, const BlobPiece& b) { return a < b; });
    ARROW_ASSIGN_OR_RAISE(auto memory, objects_.Reserve(pieces, total));
    ARROW_ASSIGN_OR_RAISE(auto bytes, objects_.Read(pieces));
    for (size_t i = 0; i < pieces.size(); ++i) *targets[pieces[i].slot] = std::move(bytes[i]);
    return memory;
  }

  arrow::Result<std::shared_ptr<arrow::Array>> Build(BlobValues& values) {
    arrow::LargeBinaryBuilder builder(pool_);
    ARROW_RETURN_NOT_OK(builder.Reserve(static_cast<int64_t>(values.places.size())));
    ARROW_RETURN_NOT_OK(builder.ReserveData(static_cast<int64_t>(values.total)));
    for (size_t i = 0; i < values.places.size(); ++i) {
      if (!values.places[i]) {
        builder.UnsafeAppendNull();
      } else if (values.bytes[i] == nullptr) {
        builder.UnsafeAppendEmptyValue();
      } else {
        builder.UnsafeAppend(values.bytes[i]->data(), values.bytes[i]->size());
        values.bytes[i] = nullptr;
      }
    }
    return builder.Finish();
  }

  static constexpr uint64_t kMost = INT64_MAX / 2;

  const Dataset& dataset_;
  const arrow::RecordBatch& rows_;
  arrow::MemoryPool* const pool_;
  BlobObjects objects_;
  std::list<BlobValues> blobs_;  // of the columns of descriptions, in pre-order
};

}  // namespace

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadBlobs(const Dataset& dataset,
                                                             const std::shared_ptr<arrow::RecordBatch>& rows) {
  return BatchReader(dataset, *rows).Read();
}

arrow::Result<int64_t> RowsThatFitWithBlobs(const Dataset& dataset, const arrow::RecordBatch& rows, uint64_t bytes) {
  constexpr int64_t kFirstRows = 64;
  const int64_t count = rows.num_rows();
  if (count == 0) return 0;
  ARROW_ASSIGN_OR_RAISE(const int64_t other_bytes, arrow::util::ReferencedBufferSize(rows));
  uint64_t left = bytes;
  // Rows that do not come with the ones before are not looked at.
  for (int64_t first = 0, many = kFirstRows; first < count; first += many, many *= 2) {
    const auto some = rows.Slice(first, many);
    std::vector<uint64_t> wanted(static_cast<size_t>(some->num_rows()), static_cast<uint64_t>(other_bytes / count));
    const auto add = [&](const BlobDescriptions& descriptions, const BlobRows& owners) {
      for (size_t i = 0; i < owners.size(); ++i) {
        const auto index = static_cast<int64_t>(i);
        if (owners[i] == file::kNoRow || descriptions.IsNull(index)) continue;
        uint64_t& of_row = wanted[static_cast<size_t>(owners[i])];
        if (__builtin_add_overflow(of_row, descriptions.size(index).value_or(bytes), &of_row)) of_row = UINT64_MAX;
      }
      return arrow::Status::OK();
    };
    ARROW_RETURN_NOT_OK(VisitDescriptions(dataset, *some, add));
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i] > left) return std::max<int64_t>(first + static_cast<int64_t>(i), 1);
      left -= wanted[i];
    }
  }
  return count;
}

}  // namespace javelin
