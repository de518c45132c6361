// Views of bytes, and little-endian numbers at any address.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

namespace javelin::file {

static_assert(std::endian::native == std::endian::little, "the format is little endian and read without swapping");

using Bytes = std::span<const uint8_t>;

template <typename T>
T LoadAt(const uint8_t* address) {
  T value;
  std::memcpy(&value, address, sizeof(T));
  return value;
}

// The number of `index` in an array of numbers; the caller has checked the bounds.
template <typename T>
T LoadElement(const uint8_t* array, uint64_t index) {
  return LoadAt<T>(array + index * sizeof(T));
}

template <typename T>
void StoreAt(uint8_t* address, T value) {
  std::memcpy(address, &value, sizeof(T));
}

// A number of `width` = 1, 2, 4 or 8 bytes.
inline uint64_t LoadUnsigned(const uint8_t* address, unsigned width) {
  switch (width) {
    case 1: return *address;
    case 2: return LoadAt<uint16_t>(address);
    case 4: return LoadAt<uint32_t>(address);
    default: return LoadAt<uint64_t>(address);
  }
}

inline constexpr uint64_t RoundUp(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}
// Sums and products that numbers of a file may make too large: then the largest number, which no check lets through.
inline constexpr uint64_t SaturatedSum(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? ~uint64_t{0} : sum;
}
inline constexpr uint64_t SaturatedProduct(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? ~uint64_t{0} : product;
}
inline constexpr uint64_t BytesForBits(uint64_t bits) { return bits / 8 + (bits % 8 != 0); }

inline bool GetBit(const uint8_t* bits, uint64_t index) { return bits[index / 8] >> (index % 8) & 1; }

}  // namespace javelin::file
