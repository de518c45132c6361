#include "javelin/file/sink_memory_internal.h"

#include <algorithm>
#include <limits>

#include <arrow/util/macros.h>

#include "javelin/base/error.h"
#include "javelin/file/byte_span_internal.h"

namespace javelin::file {

namespace {
constexpr uint64_t kCapacityUnit = 64;  // Arrow's
}

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

void SinkMemory::Release(uint64_t bytes) {
  if (budget_ == nullptr) return;
  budget_->Release(static_cast<int64_t>(bytes));
  reserved_ -= static_cast<int64_t>(bytes);
}

arrow::Status SinkBuffer::Grow(uint64_t size, uint64_t expected) {
  if (std::max(size, expected) > static_cast<uint64_t>(std::numeric_limits<int64_t>::max() / 4))
    return OutOfMemory("{} bytes are too many to read at once; ask for fewer rows", std::max(size, expected));
  const uint64_t least = capacity_ == 0 ? 0 : expected > capacity_ ? capacity_ + capacity_ / 4 : capacity_ * 2;
  const uint64_t needed = RoundUp(size, kCapacityUnit);
  uint64_t wanted = RoundUp(std::max({size, expected, least}), kCapacityUnit);
  // All of it: while it is copied, what was there is held as well. What is only foreseen need not fit, and is given up
  // by halves: near the limit, too, appending must not copy everything each time.
  arrow::Status reserved = memory_->Reserve(wanted);
  while (!reserved.ok() && wanted > needed) {
    wanted = needed + (wanted - needed) / 2 / kCapacityUnit * kCapacityUnit;
    reserved = memory_->Reserve(wanted);
  }
  ARROW_RETURN_NOT_OK(reserved);
  if (buffer_ == nullptr) {
    ARROW_ASSIGN_OR_RAISE(buffer_, arrow::AllocateResizableBuffer(0, memory_->pool()));
  }
  ARROW_RETURN_NOT_OK(buffer_->Reserve(static_cast<int64_t>(wanted)));
  memory_->Release(capacity_);
  data_ = buffer_->mutable_data();
  capacity_ = wanted;
  return arrow::Status::OK();
}

BufferPtr SinkBuffer::Finish() const {
  // Inside its capacity it cannot fail.
  ARROW_UNUSED(buffer_->Resize(static_cast<int64_t>(size_), /*shrink_to_fit=*/false));
  return buffer_;
}

}  // namespace javelin::file
