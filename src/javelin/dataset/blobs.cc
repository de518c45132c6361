#include "javelin/dataset/blobs.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include <arrow/api.h>
#include <arrow/util/byte_size.h>

#include "javelin/base/error.h"
#include "javelin/dataset/dataset_state_internal.h"
#include "javelin/dataset/projection_internal.h"
#include "javelin/file/blob_field.h"

namespace javelin {

namespace {

using file::BlobKind;
using internal::DatasetState;
using internal::ObjectLocation;

// The kinds of places whose bytes are in the table.
constexpr auto kInline = static_cast<uint8_t>(file::BlobPlace::kInline);
constexpr auto kLastInTable = static_cast<uint8_t>(file::BlobPlace::kAlone);

// The kind of a column that holds descriptions, by the field of the table that it comes from.
BlobKind KindOfDescriptions(const Dataset& dataset, const arrow::RecordBatch& rows, int column) {
  const file::Field* field = dataset.schema().FindByName(rows.column_name(column));
  const BlobKind kind = field == nullptr ? BlobKind::kNone : file::BlobKindOf(*field);
  const bool described =
      kind != BlobKind::kNone && rows.column(column)->type()->Equals(*file::BlobDescriptionType(kind));
  return described ? kind : BlobKind::kNone;
}

// One object that holds blobs, and those that are wanted of it.
struct BlobObject {
  std::shared_ptr<ObjectStore> store;
  std::string key;
  uint64_t size = 0;
  std::vector<ByteRange> ranges;
  std::vector<int64_t> rows;  // whose they are
};

// Reads one blob column of some rows.
class ColumnReader {
 public:
  ColumnReader(const DatasetState& table, const file::Field& field, BlobKind kind)
      : table_(table), field_(field), kind_(kind) {}

  arrow::Result<std::shared_ptr<arrow::Array>> Read(const arrow::Array& column, const arrow::UInt64Array& addresses) {
    const auto& descriptions = static_cast<const arrow::StructArray&>(column);
    valid_.assign(static_cast<size_t>(column.length()), false);
    for (int64_t row = 0; row < column.length(); ++row) {
      if (descriptions.IsNull(row)) continue;
      ARROW_RETURN_NOT_OK(Place(descriptions, row, RowAddress(addresses.Value(row))));
    }
    return Fetch();
  }

 private:
  // Number `index` of the fields of a description.
  template <typename ArrayType>
  static auto Value(const arrow::StructArray& descriptions, int index, int64_t row) {
    return static_cast<const ArrayType&>(*descriptions.field(index)).Value(row);
  }

  arrow::Status Place(const arrow::StructArray& descriptions, int64_t row, RowAddress address) {
    const int first = kind_ == BlobKind::kV2 ? 1 : 0;
    const ByteRange range{Value<arrow::UInt64Array>(descriptions, first, row),
                          Value<arrow::UInt64Array>(descriptions, first + 1, row)};
    // In files of 2.0 only the position tells a null from no bytes.
    if (kind_ == BlobKind::kV1 && range.length == 0 && range.offset != 0) return arrow::Status::OK();
    const uint8_t place = kind_ == BlobKind::kV2 ? Value<arrow::UInt8Array>(descriptions, 0, row) : kInline;
    if (place > kLastInTable)
      return NotSupported("blobs outside the table (kind {}) are not readable: column '{}' of row {}", place,
                          field_.name, address.packed());
    valid_[static_cast<size_t>(row)] = true;
    if (range.length == 0) return arrow::Status::OK();
    const uint32_t blob_id = place == kInline ? 0 : Value<arrow::UInt32Array>(descriptions, 3, row);
    ARROW_ASSIGN_OR_RAISE(BlobObject* const object, ObjectOf(address.fragment(), place != kInline, blob_id));
    if (range.offset > object->size || range.length > object->size - range.offset)
      return Corruption("a blob of column '{}' lies at {}+{} of '{}', which has {} bytes", field_.name, range.offset,
                        range.length, object->store->Describe(object->key), object->size);
    if (__builtin_add_overflow(total_, range.length, &total_) || total_ >> 61 != 0)
      return OutOfMemory("the blobs of column '{}' are too many to read at once; ask for fewer rows", field_.name);
    object->ranges.push_back(range);
    object->rows.push_back(row);
    return arrow::Status::OK();
  }

  arrow::Result<BlobObject*> ObjectOf(FragmentId fragment_id, bool sidecar, uint32_t blob_id) {
    BlobObject& object = objects_[{fragment_id, sidecar, blob_id}];
    if (object.store != nullptr) return &object;
    ARROW_ASSIGN_OR_RAISE(const table::Fragment* fragment, table_.GetFragment(fragment_id));
    const auto holds = [&](const table::DataFile& file) {
      return std::find(file.fields.begin(), file.fields.end(), field_.id.value()) != file.fields.end();
    };
    const auto file = std::find_if(fragment->files.begin(), fragment->files.end(), holds);
    if (file == fragment->files.end())
      return InvalidInput("fragment {} of '{}' has no blobs of column '{}'", fragment_id, table_.location.uri,
                          field_.name);
    ARROW_ASSIGN_OR_RAISE(ObjectLocation location, table_.Locate(*file));
    object.store = location.store;
    object.key = sidecar ? file::BlobSidecarKey(location.key, blob_id) : location.key;
    object.size = sidecar ? 0 : file->size_bytes;
    if (object.size == 0) {
      ARROW_ASSIGN_OR_RAISE(const ObjectInfo info, object.store->Head(object.key));
      object.size = info.size;
    }
    return &object;
  }

  arrow::Result<std::shared_ptr<arrow::Array>> Fetch() {
    const Resources& resources = table_.session->resources();
    // As they come from the store, and as they are handed out.
    ARROW_ASSIGN_OR_RAISE(const auto memory,
                          MemoryReservation::Make(*resources.memory, static_cast<int64_t>(2 * total_), "blobs"));
    std::vector<BufferPtr> values(valid_.size());
    for (auto& [id, object] : objects_) {
      if (object.ranges.empty()) continue;
      ARROW_ASSIGN_OR_RAISE(std::vector<BufferPtr> bytes, object.store->GetRanges(object.key, object.ranges));
      if (bytes.size() != object.ranges.size()) return Internal("the store answered other ranges than asked");
      for (size_t i = 0; i < bytes.size(); ++i) {
        if (static_cast<uint64_t>(bytes[i]->size()) != object.ranges[i].length)
          return Internal("the store answered another range than asked");
        values[static_cast<size_t>(object.rows[i])] = std::move(bytes[i]);
      }
    }
    arrow::LargeBinaryBuilder builder(resources.pool);
    ARROW_RETURN_NOT_OK(builder.Reserve(static_cast<int64_t>(values.size())));
    ARROW_RETURN_NOT_OK(builder.ReserveData(static_cast<int64_t>(total_)));
    for (size_t row = 0; row < values.size(); ++row) {
      if (!valid_[row]) {
        builder.UnsafeAppendNull();
      } else if (values[row] == nullptr) {
        builder.UnsafeAppendEmptyValue();
      } else {
        builder.UnsafeAppend(values[row]->data(), values[row]->size());
        values[row] = nullptr;
      }
    }
    return builder.Finish();
  }

  struct ObjectId {
    FragmentId fragment;
    bool sidecar = false;
    uint32_t blob_id = 0;
    friend auto operator<=>(const ObjectId&, const ObjectId&) = default;
  };

  const DatasetState& table_;
  const file::Field& field_;
  const BlobKind kind_;
  std::map<ObjectId, BlobObject> objects_;
  std::vector<bool> valid_;
  uint64_t total_ = 0;
};

}  // namespace

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ReadBlobs(const Dataset& dataset,
                                                             const std::shared_ptr<arrow::RecordBatch>& rows) {
  const DatasetState& table = *DatasetState::Of(dataset);
  auto result = rows;
  for (int i = 0; i < rows->num_columns(); ++i) {
    const BlobKind kind = KindOfDescriptions(dataset, *rows, i);
    const file::Field* field = dataset.schema().FindByName(rows->column_name(i));
    if (kind == BlobKind::kNone) {
      if (field == nullptr || !file::HoldsBlobs(*field) || file::BlobKindOf(*field) != BlobKind::kNone) continue;
      return NotSupported(
          "the bytes of blobs inside structs and lists, as in column '{}', are not readable; read where they lie "
          "(blobs_descriptions), or leave the column out",
          field->name);
    }
    const auto addresses = rows->GetColumnByName(std::string(internal::kRowAddressName));
    if (addresses == nullptr || addresses->type_id() != arrow::Type::UINT64 || addresses->null_count() != 0)
      return InvalidInput("the bytes of blob column '{}' take the column `_rowaddr` beside it", field->name);
    ARROW_ASSIGN_OR_RAISE(
        auto bytes,
        ColumnReader(table, *field, kind).Read(*rows->column(i), static_cast<const arrow::UInt64Array&>(*addresses)));
    auto metadata = kind == BlobKind::kV1 ? rows->schema()->field(i)->metadata() : nullptr;
    const auto output = arrow::field(field->name, arrow::large_binary(), field->nullable, std::move(metadata));
    ARROW_ASSIGN_OR_RAISE(result, result->SetColumn(i, output, std::move(bytes)));
  }
  return result;
}

arrow::Result<int64_t> RowsThatFitWithBlobs(const Dataset& dataset, const arrow::RecordBatch& rows, uint64_t bytes) {
  const int64_t count = rows.num_rows();
  if (count == 0) return 0;
  ARROW_ASSIGN_OR_RAISE(const int64_t other_bytes, arrow::util::ReferencedBufferSize(rows));
  const uint64_t each = static_cast<uint64_t>(other_bytes / count);
  std::vector<std::shared_ptr<arrow::UInt64Array>> sizes;
  for (int i = 0; i < rows.num_columns(); ++i) {
    if (KindOfDescriptions(dataset, rows, i) == BlobKind::kNone) continue;
    const auto column = static_cast<const arrow::StructArray&>(*rows.column(i)).GetFieldByName("size");
    sizes.push_back(std::static_pointer_cast<arrow::UInt64Array>(column));
  }
  uint64_t left = bytes;
  for (int64_t row = 0; row < count; ++row) {
    uint64_t wanted = each;
    for (const auto& column : sizes) {
      if (column->IsValid(row) && __builtin_add_overflow(wanted, column->Value(row), &wanted))
        wanted = std::numeric_limits<uint64_t>::max();
    }
    if (wanted > left) return std::max<int64_t>(row, 1);
    left -= wanted;
  }
  return count;
}

}  // namespace javelin
