#include "javelin/file/open_file_internal.h"

#include <algorithm>
#include <limits>

#include <arrow/buffer.h>

#include "javelin/base/error.h"
#include "javelin/file/byte_span_internal.h"

namespace javelin::file {

arrow::Result<std::vector<BufferPtr>> OpenFile::GetBytes(const std::vector<ByteRange>& ranges,
                                                         BlockCache::Access access) const {
  std::vector<BufferPtr> buffers(ranges.size());
  std::vector<ByteRange> missing;
  std::vector<size_t> missing_index;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const ByteRange& range = ranges[i];
    if (range.length == 0) {
      buffers[i] = std::make_shared<arrow::Buffer>(reinterpret_cast<const uint8_t*>(""), 0);
    } else if (range.offset >= container.tail.offset) {
      buffers[i] = arrow::SliceBuffer(container.tail_bytes, static_cast<int64_t>(range.offset - container.tail.offset),
                                      static_cast<int64_t>(range.length));
    } else {
      missing.push_back(range);
      missing_index.push_back(i);
    }
  }
  if (missing.empty()) return buffers;
  ARROW_ASSIGN_OR_RAISE(std::vector<BufferPtr> answers, GetBytesBeforeTail(missing, access));
  if (answers.size() != missing.size())
    return Internal("the store answered {} of {} ranges", answers.size(), missing.size());
  for (size_t i = 0; i < answers.size(); ++i) {
    if (answers[i]->size() != static_cast<int64_t>(missing[i].length))
      return Internal("the store answered another range than asked");
    buffers[missing_index[i]] = std::move(answers[i]);
  }
  return buffers;
}

arrow::Result<std::vector<BufferPtr>> OpenFile::GetBytesBeforeTail(const std::vector<ByteRange>& ranges,
                                                                   BlockCache::Access access) const {
  if (blocks == nullptr) return store->GetRanges(key, ranges);
  return blocks->GetRanges(store, key, container.file_size, ranges, access);
}

arrow::Result<MemoryReservation> OpenFile::ReserveBytes(const std::vector<ByteRange>& ranges) const {
  uint64_t total = 0;
  for (const ByteRange& range : ranges) {
    if (range.offset < container.tail.offset) total = SaturatedSum(total, range.length);
  }
  const auto most = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  return MemoryReservation::Make(*environment->resources.memory, static_cast<int64_t>(std::min(total, most)),
                                 "bytes of a data file");
}

arrow::Status OpenFile::InFile(const arrow::Status& status) const {
  return WithField(WithContext(status, fmt::format("data file {}", store->Describe(key))), "path", key);
}

arrow::Status OpenFile::InColumn(const arrow::Status& status, const Field& field, uint32_t column) const {
  return WithField(InFile(WithContext(status, fmt::format("column '{}' ({})", field.name, column))), "column",
                   field.name);
}

arrow::Status OpenFile::InPage(const arrow::Status& status, const Field& field, uint32_t column, size_t page) const {
  if (page == kNoPage) return InColumn(status, field, column);
  const arrow::Status located = InColumn(WithContext(status, fmt::format("page {}", page)), field, column);
  return WithField(located, "page", std::to_string(page));
}

}  // namespace javelin::file
