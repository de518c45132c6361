#include "javelin/file/blob_writer_internal.h"

#include <arrow/api.h>
#include <arrow/util/bitmap_ops.h>

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

}  // namespace

arrow::Result<std::shared_ptr<arrow::ArrayData>> BlobWriter::Write(const Field& field, const arrow::ArrayData& values) {
  const bool is_v2 = BlobKindOf(field) == BlobKind::kV2;
  BlobSizes sizes;
  if (is_v2) {
    ARROW_ASSIGN_OR_RAISE(sizes, BlobSizes::Of(field));
  }
  // Nulls of v1 have a place too, which nothing can have.
  const Place null{.position = is_v2 ? 0 : version_ == FileVersion{2, 0} ? kNullBlobV20 : kNullBlob};
  const BlobValues blobs(values);
  std::vector<Place> places;
  places.reserve(static_cast<size_t>(values.length));
  for (int64_t row = 0; row < values.length; ++row) {
    if (blobs.IsNull(row)) {
      places.push_back(null);
      continue;
    }
    const BufferPtr value = blobs.At(row);
    const auto size = static_cast<uint64_t>(value->size());
    Place place;
    if (is_v2 && size > sizes.shared_most) {
      ARROW_ASSIGN_OR_RAISE(place, WriteAlone(value));
    } else if (is_v2 && size > sizes.inline_most) {
      ARROW_ASSIGN_OR_RAISE(place, WriteShared(value, sizes.sidecar_most));
    } else if (is_v2 || size > 0) {  // an empty value of v1 lies nowhere
      ARROW_ASSIGN_OR_RAISE(place.position, container_.WriteBlob(value));
    }
    place.size = size;
    places.push_back(place);
  }
  return is_v2 ? DescribeV2(places, values) : DescribeV1(places);
}

arrow::Result<std::shared_ptr<arrow::ArrayData>> BlobWriter::DescribeV1(const std::vector<Place>& places) const {
  arrow::ArrayVector parts(2);
  ARROW_ASSIGN_OR_RAISE(parts[0], Column<arrow::UInt64Builder>(places, pool_, &Place::position));
  ARROW_ASSIGN_OR_RAISE(parts[1], Column<arrow::UInt64Builder>(places, pool_, &Place::size));
  ARROW_ASSIGN_OR_RAISE(const auto rows, arrow::StructArray::Make(parts, BlobDescriptionType(BlobKind::kV1)->fields()));
  return rows->data();
}

arrow::Result<std::shared_ptr<arrow::ArrayData>> BlobWriter::DescribeV2(const std::vector<Place>& places,
                                                                        const arrow::ArrayData& values) const {
  const auto count = static_cast<int64_t>(places.size());
  arrow::ArrayVector parts(5);
  ARROW_ASSIGN_OR_RAISE(parts[0], Column<arrow::UInt8Builder>(places, pool_, &Place::kind));
  ARROW_ASSIGN_OR_RAISE(parts[1], Column<arrow::UInt64Builder>(places, pool_, &Place::position));
  ARROW_ASSIGN_OR_RAISE(parts[2], Column<arrow::UInt64Builder>(places, pool_, &Place::size));
  ARROW_ASSIGN_OR_RAISE(parts[3], Column<arrow::UInt32Builder>(places, pool_, &Place::blob_id));
  ARROW_ASSIGN_OR_RAISE(parts[4], arrow::MakeArrayFromScalar(arrow::StringScalar(""), count, pool_));
  BufferPtr validity;
  if (values.GetNullCount() > 0) {
    ARROW_ASSIGN_OR_RAISE(validity,
                          arrow::internal::CopyBitmap(pool_, values.buffers[0]->data(), values.offset, count));
  }
  ARROW_ASSIGN_OR_RAISE(const auto rows, arrow::StructArray::Make(parts, BlobDescriptionType(BlobKind::kV2)->fields(),
                                                                  std::move(validity)));
  return rows->data();
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
