#include "javelin/file/sink_memory_internal.h"

#include <algorithm>
#include <limits>

#include <arrow/util/macros.h>

#include "javelin/base/error.h"

namespace javelin::file {

SinkMemory::~SinkMemory() {
  if (budget_ != nullptr) budget_->Release(reserved_);
}

arrow::Status SinkMemory::Reserve(uint64_t bytes) {
  if (budget_ == nullptr) return arrow::Status::OK();
  if (bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    return OutOfMemory("{} bytes are too many to read at once; ask for fewer rows", bytes);
  ARROW_RETURN_NOT_OK(budget_->Reserve(static_cast<int64_t>(bytes), "decoded column data"));
  reserved_ += static_cast<int64_t>(bytes);
  return arrow::Status::OK();
}

arrow::Status SinkBuffer::Grow(uint64_t size, uint64_t expected) {
  if (std::max(size, expected) > static_cast<uint64_t>(std::numeric_limits<int64_t>::max() / 4))
    return OutOfMemory("{} bytes are too many to read at once; ask for fewer rows", std::max(size, expected));
  const uint64_t least = capacity_ == 0 ? 0 : expected > capacity_ ? capacity_ + capacity_ / 4 : capacity_ * 2;
  uint64_t wanted = std::max({size, expected, least});
  // What is only foreseen need not fit.
  if (!memory_->Reserve(wanted - capacity_).ok()) {
    wanted = size;
    ARROW_RETURN_NOT_OK(memory_->Reserve(wanted - capacity_));
  }
  if (buffer_ == nullptr) {
    ARROW_ASSIGN_OR_RAISE(buffer_, arrow::AllocateResizableBuffer(0, memory_->pool()));
  }
  ARROW_RETURN_NOT_OK(buffer_->Reserve(static_cast<int64_t>(wanted)));
  data_ = buffer_->mutable_data();
  capacity_ = static_cast<uint64_t>(buffer_->capacity());
  return arrow::Status::OK();
}

BufferPtr SinkBuffer::Finish() const {
  // Inside its capacity it cannot fail.
  ARROW_UNUSED(buffer_->Resize(static_cast<int64_t>(size_), /*shrink_to_fit=*/false));
  return buffer_;
}

}  // namespace javelin::file
