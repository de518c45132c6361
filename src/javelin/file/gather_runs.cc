#include "javelin/base/error.h"
#include "javelin/file/level_builder_internal.h"

#include <arrow/util/bitmap_ops.h>

namespace javelin::file {

namespace {

using arrow::ArrayData;
using Kind = ValueShape::Kind;

arrow::Result<BufferPtr> GatherBits(const uint8_t* bits, int64_t offset, std::span<const Slice> runs, uint64_t count,
                                    arrow::MemoryPool* pool) {
  ARROW_ASSIGN_OR_RAISE(auto out, arrow::AllocateEmptyBitmap(static_cast<int64_t>(count), pool));
  int64_t at = 0;
  for (const Slice& run : runs) {
    const auto length = static_cast<int64_t>(run.count);
    arrow::internal::CopyBitmap(bits, offset + static_cast<int64_t>(run.first), length, out->mutable_data(), at);
    at += length;
  }
  return out;
}

arrow::Result<BufferPtr> GatherBytes(const uint8_t* bytes, std::span<const Slice> runs, uint64_t size, uint64_t width,
                                     arrow::MemoryPool* pool) {
  ARROW_ASSIGN_OR_RAISE(auto out, arrow::AllocateBuffer(static_cast<int64_t>(size), pool));
  uint8_t* at = out->mutable_data();
  for (const Slice& run : runs) {
    if (run.count * width > 0) std::memcpy(at, bytes + run.first * width, run.count * width);
    at += run.count * width;
  }
  return BufferPtr(std::move(out));
}

arrow::Result<std::vector<BufferPtr>> GatherStrings(const ArrayData& data, uint64_t width, std::span<const Slice> runs,
                                                    uint64_t count, arrow::MemoryPool* pool) {
  const uint8_t* offsets = data.buffers[1]->data() + static_cast<uint64_t>(data.offset) * width;
  auto offset = [&](uint64_t index) { return LoadUnsigned(offsets + index * width, static_cast<unsigned>(width)); };
  ARROW_ASSIGN_OR_RAISE(auto ends, arrow::AllocateBuffer(static_cast<int64_t>((count + 1) * width), pool));
  std::vector<Slice> bytes;
  uint8_t* at = ends->mutable_data();
  uint64_t size = 0;
  std::memset(at, 0, width);
  for (const Slice& run : runs) {
    const uint64_t begin = offset(run.first);
    for (uint64_t i = run.first + 1; i <= run.end(); ++i) {
      const uint64_t end = size + offset(i) - begin;
      std::memcpy(at += width, &end, width);
    }
    bytes.push_back({begin, offset(run.end()) - begin});
    size += bytes.back().count;
  }
  const uint8_t* source = data.buffers[2] == nullptr ? nullptr : data.buffers[2]->data();
  ARROW_ASSIGN_OR_RAISE(BufferPtr gathered, GatherBytes(source, bytes, size, 1, pool));
  return std::vector<BufferPtr>{nullptr, BufferPtr(std::move(ends)), std::move(gathered)};
}

arrow::Result<std::shared_ptr<ArrayData>> Gather(const ArrayData& data, const ValueShape& shape,
                                                 std::span<const Slice> runs, arrow::MemoryPool* pool);

arrow::Result<std::shared_ptr<ArrayData>> GatherLists(const ArrayData& data, const ValueShape& shape,
                                                      std::span<const Slice> runs, arrow::MemoryPool* pool) {
  std::vector<Slice> item_runs;
  for (const Slice& run : runs) {
    item_runs.push_back(
        {(static_cast<uint64_t>(data.offset) + run.first) * shape.dimension, run.count * shape.dimension});
  }
  const ArrayData& items = *data.child_data[0];
  ARROW_ASSIGN_OR_RAISE(auto gathered, Gather(items, *shape.item, item_runs, pool));
  if (items.buffers[0] != nullptr && items.GetNullCount() > 0) {
    ARROW_ASSIGN_OR_RAISE(gathered->buffers[0],
                          GatherBits(items.buffers[0]->data(), items.offset, item_runs, TotalCount(item_runs), pool));
    gathered->null_count = arrow::kUnknownNullCount;
  }
  return ArrayData::Make(data.type, static_cast<int64_t>(TotalCount(runs)), {nullptr}, {std::move(gathered)}, 0);
}

arrow::Result<std::shared_ptr<ArrayData>> Gather(const ArrayData& data, const ValueShape& shape,
                                                 std::span<const Slice> runs, arrow::MemoryPool* pool) {
  const uint64_t count = TotalCount(runs);
  std::vector<BufferPtr> buffers = {nullptr};
  switch (shape.kind) {
    case Kind::kNull: return ArrayData::Make(data.type, static_cast<int64_t>(count), buffers);
    case Kind::kList: return GatherLists(data, shape, runs, pool);
    case Kind::kStruct: return NotSupported("packed structs are not written");
    case Kind::kVariable: {
      ARROW_ASSIGN_OR_RAISE(buffers, GatherStrings(data, shape.bytes(), runs, count, pool));
      break;
    }
    case Kind::kFixed: {
      const uint8_t* values = data.buffers[1]->data();
      ARROW_ASSIGN_OR_RAISE(BufferPtr gathered,
                            shape.bits == 1 ? GatherBits(values, data.offset, runs, count, pool)
                                            : GatherBytes(values + static_cast<uint64_t>(data.offset) * shape.bytes(),
                                                          runs, count * shape.bytes(), shape.bytes(), pool));
      buffers.push_back(std::move(gathered));
      break;
    }
  }
  return ArrayData::Make(data.type, static_cast<int64_t>(count), std::move(buffers), /*null_count=*/0);
}

}  // namespace

arrow::Result<std::shared_ptr<ArrayData>> GatherRuns(const ArrayData& leaf, std::span<const Slice> runs,
                                                     arrow::MemoryPool* pool) {
  if (runs.empty()) return leaf.Slice(0, 0);
  if (runs.size() == 1) return leaf.Slice(static_cast<int64_t>(runs[0].first), static_cast<int64_t>(runs[0].count));
  ARROW_ASSIGN_OR_RAISE(const ValueShape shape, ShapeOf(*leaf.type));
  return Gather(leaf, shape, runs, pool);
}

}  // namespace javelin::file
