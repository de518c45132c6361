#include "javelin/file/sink_memory_internal.h"

#include <algorithm>
#include <limits>

#include "javelin/base/error.h"

namespace javelin::file {

SinkMemory::~SinkMemory() {
  if (budget_ != nullptr) budget_->Release(reserved_);
}

arrow::Status SinkMemory::Reserve(uint64_t bytes) {
  if (budget_ == nullptr) return arrow::Status::OK();
  if (bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    return OutOfMemory("{} bytes are too many to read at once", bytes);
  ARROW_RETURN_NOT_OK(budget_->Reserve(static_cast<int64_t>(bytes), "decoded column data"));
  reserved_ += static_cast<int64_t>(bytes);
  return arrow::Status::OK();
}

arrow::Status SinkMemory::Grow(std::shared_ptr<arrow::ResizableBuffer>& buffer, uint64_t size, uint64_t expected) {
  const uint64_t capacity = buffer == nullptr ? 0 : static_cast<uint64_t>(buffer->capacity());
  if (std::max(size, expected) > static_cast<uint64_t>(std::numeric_limits<int64_t>::max() / 4)) {
    return OutOfMemory("{} bytes are too many to read at once", std::max(size, expected));
  }
  if (size <= capacity && buffer != nullptr) return buffer->Resize(static_cast<int64_t>(size), /*shrink_to_fit=*/false);
  const uint64_t least = capacity == 0 ? 0 : expected > capacity ? capacity + capacity / 4 : capacity * 2;
  uint64_t wanted = std::max({size, expected, least});
  // What is only foreseen need not fit.
  if (!Reserve(wanted - capacity).ok()) {
    wanted = size;
    ARROW_RETURN_NOT_OK(Reserve(wanted - capacity));
  }
  if (buffer == nullptr) {
    ARROW_ASSIGN_OR_RAISE(buffer, arrow::AllocateResizableBuffer(0, pool_));
  }
  ARROW_RETURN_NOT_OK(buffer->Reserve(static_cast<int64_t>(wanted)));
  return buffer->Resize(static_cast<int64_t>(size), /*shrink_to_fit=*/false);
}

}  // namespace javelin::file
