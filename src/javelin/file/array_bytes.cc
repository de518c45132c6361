#include "javelin/file/array_bytes.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <arrow/api.h>

#include "javelin/base/error.h"
#include "javelin/file/byte_span_internal.h"

namespace javelin::file {

namespace {

using arrow::Type;

// Bytes of one value; 0 where types do not say.
uint64_t WidthOf(const arrow::DataType& type) {
  return arrow::is_fixed_width(type.id()) ? static_cast<uint64_t>(std::max(0, type.byte_width())) : 0;
}

// Slots of one array, past its own offset.
struct Run {
  int64_t first = 0;
  int64_t count = 0;
};

// Some slots of one array, in the order in which they are wanted.
struct Piece {
  const arrow::ArrayData* data = nullptr;
  std::vector<Run> runs;
};

class Measure {
 public:
  explicit Measure(const std::string& column) : column_(column) {}

  // Of one array of the slots of all pieces, which have one type.
  arrow::Result<uint64_t> Of(const std::vector<Piece>& pieces) const {
    const arrow::DataType& type = *pieces.front().data->type;
    const uint64_t length = Count(pieces);
    const uint64_t validity = length / 8;
    switch (type.id()) {
      case Type::DICTIONARY: return WithWidth(pieces, sizeof(uint64_t));  // the dictionary is shared
      case Type::STRING:
      case Type::BINARY: return OfValues<int32_t>(pieces);
      case Type::LARGE_STRING:
      case Type::LARGE_BINARY: return OfValues<int64_t>(pieces);
      case Type::LIST:
      case Type::MAP: return OfLists<int32_t>(pieces);
      case Type::LARGE_LIST: return OfLists<int64_t>(pieces);
      case Type::STRUCT: return OfChildren(pieces, 1, validity);
      case Type::FIXED_SIZE_LIST:
        return OfChildren(pieces, static_cast<const arrow::FixedSizeListType&>(type).list_size(), validity);
      default: return WithWidth(pieces, WidthOf(type));
    }
  }

 private:
  static uint64_t Count(const std::vector<Piece>& pieces) {
    uint64_t count = 0;
    for (const Piece& piece : pieces) {
      for (const Run& run : piece.runs) count += static_cast<uint64_t>(run.count);
    }
    return count;
  }

  static uint64_t WithWidth(const std::vector<Piece>& pieces, uint64_t width) {
    const uint64_t length = Count(pieces);
    return SaturatedSum(length / 8, SaturatedProduct(length, width));
  }

  // What the slots hold, each from its first to its last offset.
  template <typename Offset>
  static std::vector<Run> Inside(const Piece& piece) {
    std::vector<Run> inside;
    if (piece.data->buffers[1] == nullptr || piece.data->buffers[1]->size() == 0) return inside;
    const Offset* offsets = piece.data->GetValues<Offset>(1);
    for (const Run& run : piece.runs) {
      const Offset first = offsets[run.first];
      inside.push_back({first, offsets[run.first + run.count] - first});
    }
    return inside;
  }

  template <typename Offset>
  arrow::Result<uint64_t> CheckCount(uint64_t count, std::string_view what, std::string_view other) const {
    if (count <= static_cast<uint64_t>(std::numeric_limits<Offset>::max())) return count;
    return WithField(
        InvalidInput("column '{}' would hold {} {}, more than its 32-bit offsets count; read fewer rows at "
                     "once, or cast it to {} when it is written",
                     column_, count, what, other),
        "column", column_);
  }

  template <typename Offset>
  arrow::Result<uint64_t> OfValues(const std::vector<Piece>& pieces) const {
    uint64_t bytes = 0;
    for (const Piece& piece : pieces) {
      for (const Run& run : Inside<Offset>(piece)) bytes = SaturatedSum(bytes, static_cast<uint64_t>(run.count));
    }
    const bool text = pieces.front().data->type->id() == Type::STRING;
    ARROW_RETURN_NOT_OK(CheckCount<Offset>(bytes, "bytes", text ? "large_string" : "large_binary"));
    return SaturatedSum(WithWidth(pieces, sizeof(Offset)), bytes);
  }

  template <typename Offset>
  arrow::Result<uint64_t> OfLists(const std::vector<Piece>& pieces) const {
    std::vector<Piece> items;
    for (const Piece& piece : pieces) items.push_back({piece.data->child_data[0].get(), Inside<Offset>(piece)});
    ARROW_RETURN_NOT_OK(CheckCount<Offset>(Count(items), "items", "large_list"));
    ARROW_ASSIGN_OR_RAISE(const uint64_t inside, Of(items));
    return SaturatedSum(WithWidth(pieces, sizeof(Offset)), inside);
  }

  // `scale`: slots of a child for each slot.
  arrow::Result<uint64_t> OfChildren(const std::vector<Piece>& pieces, int64_t scale, uint64_t bytes) const {
    for (size_t child = 0; child < pieces.front().data->child_data.size(); ++child) {
      std::vector<Piece> inside;
      for (const Piece& piece : pieces) {
        Piece& part = inside.emplace_back(piece.data->child_data[child].get(), piece.runs);
        for (Run& run : part.runs) run = {(run.first + piece.data->offset) * scale, run.count * scale};
      }
      ARROW_ASSIGN_OR_RAISE(const uint64_t more, Of(inside));
      bytes = SaturatedSum(bytes, more);
    }
    return bytes;
  }

  const std::string& column_;
};

}  // namespace

uint64_t NullBytes(const arrow::DataType& type, uint64_t length) {
  const uint64_t validity = length / 8 + 1;
  switch (type.id()) {
    case Type::STRUCT: {
      uint64_t bytes = validity;
      for (const auto& child : type.fields()) bytes = SaturatedSum(bytes, NullBytes(*child->type(), length));
      return bytes;
    }
    case Type::FIXED_SIZE_LIST: {
      const auto& list = static_cast<const arrow::FixedSizeListType&>(type);
      const uint64_t items = SaturatedProduct(length, static_cast<uint64_t>(list.list_size()));
      return SaturatedSum(validity, NullBytes(*list.value_type(), items));
    }
    case Type::NA: return 0;
    default: {
      constexpr uint64_t kOffsetOrView = 16;
      const uint64_t width = arrow::is_fixed_width(type.id()) ? WidthOf(type) : kOffsetOrView;
      return SaturatedSum(validity, SaturatedProduct(SaturatedSum(length, 1), width));
    }
  }
}

arrow::Result<uint64_t> TakenBytes(const arrow::RecordBatch& batch, const arrow::UInt64Array& rows) {
  std::vector<Run> runs;
  for (int64_t i = 0; i < rows.length(); ++i) runs.push_back({static_cast<int64_t>(rows.Value(i)), 1});
  uint64_t bytes = 0;
  for (int i = 0; i < batch.num_columns(); ++i) {
    ARROW_ASSIGN_OR_RAISE(const uint64_t more, Measure(batch.column_name(i)).Of({{batch.column_data(i).get(), runs}}));
    bytes = SaturatedSum(bytes, more);
  }
  return bytes;
}

arrow::Result<uint64_t> JoinedBytes(const arrow::RecordBatchVector& batches) {
  uint64_t bytes = 0;
  for (int i = 0; i < batches.front()->num_columns(); ++i) {
    std::vector<Piece> pieces;
    for (const auto& batch : batches) pieces.push_back({batch->column_data(i).get(), {{0, batch->num_rows()}}});
    ARROW_ASSIGN_OR_RAISE(const uint64_t more, Measure(batches.front()->column_name(i)).Of(pieces));
    bytes = SaturatedSum(bytes, more);
  }
  return bytes;
}

}  // namespace javelin::file
