#include "javelin/file/bit_sink_internal.h"

#include <algorithm>
#include <bit>

#include <arrow/util/bit_util.h>

#include "javelin/file/byte_span_internal.h"

namespace javelin::file {

arrow::Status BitSink::Reserve(uint64_t bits) {
  const uint64_t before = BytesForBits(length_);
  const uint64_t after = BytesForBits(length_ + bits);
  ARROW_RETURN_NOT_OK(bits_.Resize(after, BytesForBits(expected_)));
  // Bits past the end stay clear, so that a run of zeros needs no work and padding is defined.
  if (after > before) std::memset(bits_.data() + before, 0, after - before);
  return arrow::Status::OK();
}

arrow::Status BitSink::AppendRun(bool value, uint64_t count) {
  ARROW_RETURN_NOT_OK(Reserve(count));
  if (value) {
    arrow::bit_util::SetBitsTo(bits_.data(), static_cast<int64_t>(length_), static_cast<int64_t>(count), true);
  } else {
    num_unset_ += count;
  }
  length_ += count;
  return arrow::Status::OK();
}

arrow::Status BitSink::AppendBits(const uint8_t* bits, uint64_t first, uint64_t count) {
  ARROW_RETURN_NOT_OK(Reserve(count));
  uint8_t* target = bits_.data();
  uint64_t done = 0;
  uint64_t set = 0;
  const auto append_each = [&](uint64_t end) {
    for (; done < end; ++done) {
      const uint64_t position = length_ + done;
      const uint8_t bit = GetBit(bits, first + done);
      target[position / 8] = static_cast<uint8_t>(target[position / 8] | bit << (position % 8));
      set += bit;
    }
  };
  // Whole bytes at a time from any bit position, and what lies around them.
  append_each(std::min<uint64_t>((8 - length_ % 8) % 8, count));
  const unsigned shift = (first + done) % 8;
  const uint8_t* source = bits + (first + done) / 8;
  uint8_t* byte = target + (length_ + done) / 8;
  for (; done + 8 <= count; done += 8, ++source, ++byte) {
    *byte = shift == 0 ? *source : static_cast<uint8_t>(source[0] >> shift | source[1] << (8 - shift));
    set += static_cast<uint64_t>(std::popcount(*byte));
  }
  append_each(count);
  num_unset_ += count - set;
  length_ += count;
  return arrow::Status::OK();
}

arrow::Status BitSink::AppendLevels(std::span<const uint16_t> levels, uint16_t most) {
  ARROW_RETURN_NOT_OK(Reserve(levels.size()));
  const auto bits_of = [&](size_t first, size_t count) {
    unsigned bits = 0;
    for (size_t i = 0; i < count; ++i) bits |= static_cast<unsigned>(levels[first + i] <= most) << i;
    return bits;
  };
  uint8_t* target = bits_.data() + length_ / 8;
  uint64_t set = 0;
  // What completes the last byte, whole bytes, and what begins a new one.
  size_t done = std::min<size_t>((8 - length_ % 8) % 8, levels.size());
  if (done > 0) {
    const unsigned bits = bits_of(0, done);
    *target = static_cast<uint8_t>(*target | bits << (length_ % 8));
    set += static_cast<uint64_t>(std::popcount(bits));
    ++target;
  }
  for (; done + 8 <= levels.size(); done += 8) {
    *target = static_cast<uint8_t>(bits_of(done, 8));
    set += static_cast<uint64_t>(std::popcount(*target++));
  }
  if (done < levels.size()) {
    *target = static_cast<uint8_t>(bits_of(done, levels.size() - done));
    set += static_cast<uint64_t>(std::popcount(*target));
  }
  num_unset_ += levels.size() - set;
  length_ += levels.size();
  return arrow::Status::OK();
}

BufferPtr BitSink::Finish() const {
  if (bits_.is_null()) return std::make_shared<arrow::Buffer>(nullptr, 0);
  return bits_.Finish();
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

arrow::Status ValiditySink::AppendLevels(std::span<const uint16_t> levels, uint16_t most) {
  ARROW_RETURN_NOT_OK(Begin());
  return bits_.AppendLevels(levels, most);
}

}  // namespace javelin::file
