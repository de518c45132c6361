// A growing array whose elements never move, so that readers need no lock while one producer appends.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>

namespace javelin {

// Segments double in size from kFirst elements. One producer; a reader may touch elements [0, n) once it has acquired,
// by other means (a count that the producer releases), that n elements are written.
template <typename T>
class SegmentedArray {
 public:
  // Makes room for element `index` and returns it, value-initialised on first use. Producer only.
  T& Grow(uint64_t index) {
    const Place place = Locate(index);
    if (segments_[place.segment] == nullptr) {
      const uint64_t size = kFirst << place.segment;
      segments_[place.segment] = std::make_unique<T[]>(size);
      allocated_ += size;
    }
    return segments_[place.segment][place.offset];
  }
  const T& operator[](uint64_t index) const {
    const Place place = Locate(index);
    return segments_[place.segment][place.offset];
  }
  // Producer only.
  uint64_t allocated_bytes() const { return allocated_ * sizeof(T); }

 private:
  static constexpr uint64_t kFirst = 32;
  static constexpr int kFirstBits = 5;
  struct Place {
    int segment;
    uint64_t offset;
  };
  // Element i is number i + kFirst in an array that starts with an unused run of kFirst: its highest bit names the
  // segment.
  static Place Locate(uint64_t index) {
    const uint64_t shifted = index + kFirst;
    const int segment = std::bit_width(shifted) - 1 - kFirstBits;
    return {segment, shifted - (kFirst << segment)};
  }

  std::array<std::unique_ptr<T[]>, 64 - kFirstBits> segments_;
  uint64_t allocated_ = 0;
};

}  // namespace javelin
