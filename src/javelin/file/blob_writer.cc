#include "javelin/file/blob_writer_internal.h"

#include <arrow/api.h>
#include <arrow/buffer_builder.h>

#include "javelin/base/error.h"
#include "javelin/file/blob_field.h"
#include "javelin/file/blob_input.h"

namespace javelin::file {

namespace {

// The bytes of a column, whatever its form.
class BlobValues {
 public:
  explicit BlobValues(const arrow::ArrayData& data) : array_(arrow::MakeArray(data.Copy())) {
    bytes_ = data.type->id() == arrow::Type::STRUCT ? static_cast<const arrow::StructArray&>(*array_).field(0) : array_;
  }
  bool IsNull(int64_t row) const { return array_->IsNull(row); }
  BufferPtr At(int64_t row) const {
    if (bytes_->type_id() == arrow::Type::BINARY) return Slice(static_cast<const arrow::BinaryArray&>(*bytes_), row);
    return Slice(static_cast<const arrow::LargeBinaryArray&>(*bytes_), row);
  }

 private:
  template <typename ArrayType>
  static BufferPtr Slice(const ArrayType& array, int64_t row) {
    if (array.value_length(row) == 0) return std::make_shared<arrow::Buffer>(nullptr, 0);
    return arrow::SliceBuffer(array.value_data(), array.value_offset(row), array.value_length(row));
  }

  std::shared_ptr<arrow::Array> array_;
  std::shared_ptr<arrow::Array> bytes_;
};

template <typename Builder, typename Part>
arrow::Result<std::shared_ptr<arrow::Array>> Column(const auto& places, arrow::MemoryPool* pool, Part part) {
  Builder builder(pool);
  ARROW_RETURN_NOT_OK(builder.Reserve(static_cast<int64_t>(places.size())));
  for (const auto& place : places) builder.UnsafeAppend(place.*part);
  return builder.Finish();
}

// Rows of descriptions, null where the value is.
arrow::Result<std::shared_ptr<arrow::Array>> Rows(BlobKind kind, const arrow::ArrayVector& parts, const auto& places,
                                                  arrow::MemoryPool* pool) {
  arrow::TypedBufferBuilder<bool> valid(pool);
  ARROW_RETURN_NOT_OK(valid.Reserve(static_cast<int64_t>(places.size())));
  for (const auto& place : places) valid.UnsafeAppend(!place.is_null);
  BufferPtr validity;
  if (valid.false_count() > 0) {
    ARROW_ASSIGN_OR_RAISE(validity, valid.Finish());
  }
  return arrow::StructArray::Make(parts, BlobDescriptionType(kind)->fields(), std::move(validity));
}

}  // namespace

arrow::Result<std::shared_ptr<arrow::ArrayData>> BlobWriter::Write(const Field& field, const arrow::ArrayData& values) {
  const auto replace = [this](const Field& blob, const ArrayOfField& given, const BlobRows& rows) {
    return WriteBlobs(blob, given, rows);
  };
  const ArrayOfField given{ToArrowField(field), arrow::MakeArray(values.Copy())};
  ARROW_ASSIGN_OR_RAISE(const auto written, ReplaceBlobArrays(field, given, AllRows(values.length), replace, pool_));
  return written.array->data();
}

arrow::Result<ArrayOfField> BlobWriter::WriteBlobs(const Field& field, const ArrayOfField& given,
                                                   const BlobRows& rows) {
  const BlobKind kind = BlobKindOf(field);
  BlobSizes sizes;
  if (kind == BlobKind::kV2) {
    ARROW_ASSIGN_OR_RAISE(sizes, BlobSizes::Of(field));
  }
  // In 2.0 nulls have a place too, which nothing can have.
  const bool null_has_place = version_ == FileVersion{2, 0};
  const Place null{.is_null = !null_has_place, .position = null_has_place ? kNullBlobV20 : 0};
  const BlobValues values(*given.array->data());
  std::vector<Place> places;
  places.reserve(rows.size());
  for (int64_t i = 0; i < given.array->length(); ++i) {
    Place& place = places.emplace_back();
    if (rows[static_cast<size_t>(i)] == kNoRow || values.IsNull(i)) {
      place = null;
    } else if (kind == BlobKind::kV2) {
      ARROW_ASSIGN_OR_RAISE(place, WriteV2(values.At(i), sizes));
    } else {
      ARROW_ASSIGN_OR_RAISE(place, WriteV1(values.At(i)));
    }
  }
  ARROW_ASSIGN_OR_RAISE(auto described, kind == BlobKind::kV2 ? DescribeV2(places) : DescribeV1(places));
  return ArrayOfField{given.field->WithType(described->type()), described};
}

arrow::Result<BlobWriter::Place> BlobWriter::WriteV1(BufferPtr value) {
  Place place{.size = static_cast<uint64_t>(value->size())};
  if (place.size == 0) return place;  // an empty value lies nowhere
  ARROW_ASSIGN_OR_RAISE(place.position, container_.WriteBlob(std::move(value)));
  return place;
}

arrow::Result<BlobWriter::Place> BlobWriter::WriteV2(BufferPtr value, const BlobSizes& sizes) {
  const auto size = static_cast<uint64_t>(value->size());
  Place place;
  if (size > sizes.shared_most) {
    ARROW_ASSIGN_OR_RAISE(place, WriteAlone(std::move(value)));
  } else if (size > sizes.inline_most) {
    ARROW_ASSIGN_OR_RAISE(place, WriteShared(std::move(value), sizes.sidecar_most));
  } else {
    ARROW_ASSIGN_OR_RAISE(place.position, container_.WriteBlob(std::move(value)));
  }
  place.size = size;
  return place;
}

arrow::Result<std::shared_ptr<arrow::Array>> BlobWriter::DescribeV1(const std::vector<Place>& places) const {
  arrow::ArrayVector parts(2);
  ARROW_ASSIGN_OR_RAISE(parts[0], Column<arrow::UInt64Builder>(places, pool_, &Place::position));
  ARROW_ASSIGN_OR_RAISE(parts[1], Column<arrow::UInt64Builder>(places, pool_, &Place::size));
  return Rows(BlobKind::kV1, parts, places, pool_);
}

arrow::Result<std::shared_ptr<arrow::Array>> BlobWriter::DescribeV2(const std::vector<Place>& places) const {
  arrow::ArrayVector parts(5);
  ARROW_ASSIGN_OR_RAISE(parts[0], Column<arrow::UInt8Builder>(places, pool_, &Place::kind));
  ARROW_ASSIGN_OR_RAISE(parts[1], Column<arrow::UInt64Builder>(places, pool_, &Place::position));
  ARROW_ASSIGN_OR_RAISE(parts[2], Column<arrow::UInt64Builder>(places, pool_, &Place::size));
  ARROW_ASSIGN_OR_RAISE(parts[3], Column<arrow::UInt32Builder>(places, pool_, &Place::blob_id));
  ARROW_ASSIGN_OR_RAISE(
      parts[4], arrow::MakeArrayFromScalar(arrow::StringScalar(""), static_cast<int64_t>(places.size()), pool_));
  return Rows(BlobKind::kV2, parts, places, pool_);
}

arrow::Result<std::unique_ptr<ObjectWriter>> BlobWriter::OpenSidecar() { return open_sidecar_(++last_id_); }

arrow::Result<BlobWriter::Place> BlobWriter::WriteShared(BufferPtr value, uint64_t sidecar_most) {
  const auto size = static_cast<uint64_t>(value->size());
  if (shared_ == nullptr || shared_most_ != sidecar_most || size > sidecar_most || shared_end_ > sidecar_most - size) {
    ARROW_RETURN_NOT_OK(Finish());
    ARROW_ASSIGN_OR_RAISE(shared_, OpenSidecar());
    shared_id_ = last_id_;
    shared_most_ = sidecar_most;
    shared_end_ = 0;
  }
  const Place place{.kind = static_cast<uint8_t>(BlobPlace::kShared), .position = shared_end_, .blob_id = shared_id_};
  ARROW_RETURN_NOT_OK(shared_->Write(std::move(value)));
  shared_end_ += size;
  return place;
}

arrow::Result<BlobWriter::Place> BlobWriter::WriteAlone(BufferPtr value) {
  ARROW_ASSIGN_OR_RAISE(const auto sidecar, OpenSidecar());
  const Place place{.kind = static_cast<uint8_t>(BlobPlace::kAlone), .blob_id = last_id_};
  ARROW_RETURN_NOT_OK(sidecar->Write(std::move(value)));
  ARROW_RETURN_NOT_OK(sidecar->Finish());
  return place;
}

arrow::Status BlobWriter::Finish() {
  const auto sidecar = std::move(shared_);
  return sidecar == nullptr ? arrow::Status::OK() : sidecar->Finish();
}

}  // namespace javelin::file
