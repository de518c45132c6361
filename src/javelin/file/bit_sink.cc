#include "javelin/file/bit_sink_internal.h"

#include <bit>

#include <arrow/util/bit_util.h>

#include "javelin/file/byte_span_internal.h"

namespace javelin::file {

arrow::Status BitSink::Reserve(uint64_t bits) {
  const uint64_t before = BytesForBits(length_);
  const uint64_t after = BytesForBits(length_ + bits);
  ARROW_RETURN_NOT_OK(memory_->Grow(buffer_, after, BytesForBits(expected_)));
  // Bits past the end stay clear, so that a run of zeros needs no work and padding is defined.
  if (after > before) std::memset(buffer_->mutable_data() + before, 0, after - before);
  return arrow::Status::OK();
}

arrow::Status BitSink::AppendRun(bool value, uint64_t count) {
  ARROW_RETURN_NOT_OK(Reserve(count));
  if (value) {
    arrow::bit_util::SetBitsTo(buffer_->mutable_data(), static_cast<int64_t>(length_), static_cast<int64_t>(count),
                               true);
  } else {
    num_unset_ += count;
  }
  length_ += count;
  return arrow::Status::OK();
}

arrow::Status BitSink::AppendBits(const uint8_t* bits, uint64_t first, uint64_t count) {
  ARROW_RETURN_NOT_OK(Reserve(count));
  uint8_t* target = buffer_->mutable_data();
  uint64_t done = 0;
  uint64_t set = 0;
  if (length_ % 8 == 0) {
    // Whole bytes at a time from any bit position.
    const unsigned shift = first % 8;
    const uint8_t* source = bits + first / 8;
    uint8_t* byte = target + length_ / 8;
    for (; done + 8 <= count; done += 8, ++source, ++byte) {
      *byte = shift == 0 ? *source : static_cast<uint8_t>(source[0] >> shift | source[1] << (8 - shift));
      set += static_cast<uint64_t>(std::popcount(*byte));
    }
  }
  for (; done < count; ++done) {
    const uint64_t position = length_ + done;
    const uint8_t bit = GetBit(bits, first + done);
    target[position / 8] = static_cast<uint8_t>(target[position / 8] | bit << (position % 8));
    set += bit;
  }
  num_unset_ += count - set;
  length_ += count;
  return arrow::Status::OK();
}

arrow::Status BitSink::AppendLevels(std::span<const uint16_t> levels) {
  ARROW_RETURN_NOT_OK(Reserve(levels.size()));
  uint8_t* target = buffer_->mutable_data();
  uint64_t set = 0;
  for (size_t i = 0; i < levels.size(); ++i) {
    const uint64_t position = length_ + i;
    const uint8_t bit = levels[i] == 0;
    target[position / 8] = static_cast<uint8_t>(target[position / 8] | bit << (position % 8));
    set += bit;
  }
  num_unset_ += levels.size() - set;
  length_ += levels.size();
  return arrow::Status::OK();
}

BufferPtr BitSink::Finish() const {
  if (buffer_ == nullptr) return std::make_shared<arrow::Buffer>(nullptr, 0);
  return buffer_;
}

arrow::Status ValiditySink::Begin() {
  if (bits_.length() > 0 || num_valid_before_ == 0) return arrow::Status::OK();
  const uint64_t before = num_valid_before_;
  num_valid_before_ = 0;
  return bits_.AppendRun(true, before);
}

arrow::Status ValiditySink::AppendValid(uint64_t count) {
  if (bits_.length() > 0) return bits_.AppendRun(true, count);
  num_valid_before_ += count;
  return arrow::Status::OK();
}

arrow::Status ValiditySink::AppendNull(uint64_t count) {
  ARROW_RETURN_NOT_OK(Begin());
  return bits_.AppendRun(false, count);
}

arrow::Status ValiditySink::AppendBits(const uint8_t* bits, uint64_t first, uint64_t count) {
  ARROW_RETURN_NOT_OK(Begin());
  return bits_.AppendBits(bits, first, count);
}

arrow::Status ValiditySink::AppendLevels(std::span<const uint16_t> levels) {
  ARROW_RETURN_NOT_OK(Begin());
  return bits_.AppendLevels(levels);
}

}  // namespace javelin::file
