// The kernels behind bit_packing.h, instantiated for one word type per source file.
#pragma once

#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "javelin/file/bit_packing.h"

namespace javelin::file::packing {

// A unit is a grid of (bits of T) rows by `kLanes` lanes. A lane is a bit stream of its own, so that all lanes of a row
// are shifted alike: the inner loops below run over lanes and become vector code. Rows visit the unit in this order of
// blocks of 16 (its own inverse).
inline constexpr size_t kBlockOrder[8] = {0, 4, 2, 6, 1, 5, 3, 7};

template <typename T>
inline constexpr unsigned kBits = sizeof(T) * 8;
template <typename T>
inline constexpr size_t kLanes = kPackedUnit / kBits<T>;

// Position in the unit of lane 0 of a row.
constexpr size_t RowStart(size_t row) { return kBlockOrder[row / 8] * 16 + row % 8 * 128; }

template <typename T>
constexpr T Mask(unsigned width) {
  return width == kBits<T> ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << width) - 1);
}

// Words may lie at any address.
template <typename T>
struct __attribute__((packed, may_alias)) Word {
  T value;
};

template <typename T, unsigned kWidth>
void Unpack(const uint8_t* packed, T* out) {
  if constexpr (kWidth == 0) {
    std::memset(out, 0, kPackedUnit * sizeof(T));
  } else {
    auto units = reinterpret_cast<const Word<T>*>(packed);
    for (size_t row = 0; row < kBits<T>; ++row) {
      const unsigned shift = row * kWidth % kBits<T>;
      const Word<T>* words = units + row * kWidth / kBits<T> * kLanes<T>;
      T* target = out + RowStart(row);
      if (shift + kWidth <= kBits<T>) {
        for (size_t lane = 0; lane < kLanes<T>; ++lane) {
          target[lane] = static_cast<T>(static_cast<T>(words[lane].value >> shift) & Mask<T>(kWidth));
        }
      } else {
        const Word<T>* next = words + kLanes<T>;
        const unsigned rest = (kBits<T> - shift) % kBits<T>;
        for (size_t lane = 0; lane < kLanes<T>; ++lane) {
          T value =
              static_cast<T>(static_cast<T>(words[lane].value >> shift) | static_cast<T>(next[lane].value << rest));
          target[lane] = static_cast<T>(value & Mask<T>(kWidth));
        }
      }
    }
  }
}

template <typename T, unsigned kWidth>
void Pack(const T* in, uint8_t* packed) {
  if constexpr (kWidth > 0) {
    auto words = reinterpret_cast<Word<T>*>(packed);
    T open[kLanes<T>] = {};  // the word being filled, per lane
    for (size_t row = 0; row < kBits<T>; ++row) {
      const unsigned shift = row * kWidth % kBits<T>;
      const T* source = in + RowStart(row);
      for (size_t lane = 0; lane < kLanes<T>; ++lane)
        open[lane] = static_cast<T>(open[lane] | static_cast<T>(source[lane] << shift));
      if (shift + kWidth < kBits<T>) continue;
      for (size_t lane = 0; lane < kLanes<T>; ++lane) words[lane].value = open[lane];
      words += kLanes<T>;
      const unsigned stored = kBits<T> - shift;  // bits of this row that the full word took
      for (size_t lane = 0; lane < kLanes<T>; ++lane) {
        open[lane] = stored < kWidth ? static_cast<T>(source[lane] >> stored % kBits<T>) : T{0};
      }
    }
  }
}

template <typename T>
using UnpackKernel = void (*)(const uint8_t*, T*);
template <typename T>
using PackKernel = void (*)(const T*, uint8_t*);

template <typename T, unsigned... kWidths>
constexpr std::array<UnpackKernel<T>, sizeof...(kWidths)> UnpackKernels(std::integer_sequence<unsigned, kWidths...>) {
  return {&Unpack<T, kWidths>...};
}
template <typename T, unsigned... kWidths>
constexpr std::array<PackKernel<T>, sizeof...(kWidths)> PackKernels(std::integer_sequence<unsigned, kWidths...>) {
  return {&Pack<T, kWidths>...};
}
template <typename T>
using AllWidths = std::make_integer_sequence<unsigned, kBits<T> + 1>;

}  // namespace javelin::file::packing

namespace javelin::file {

template <typename T>
void UnpackUnit(const uint8_t* packed, unsigned width, T* out) {
  static constexpr auto kKernels = packing::UnpackKernels<T>(packing::AllWidths<T>());
  kKernels[width](packed, out);
}

template <typename T>
void PackUnit(const T* in, unsigned width, uint8_t* packed) {
  static constexpr auto kKernels = packing::PackKernels<T>(packing::AllWidths<T>());
  kKernels[width](in, packed);
}

template <typename T>
T UnpackOne(const uint8_t* packed, unsigned width, size_t index) {
  using namespace packing;
  if (width == 0) return 0;
  const size_t lane = index % 128 % kLanes<T>;
  const size_t row = kBlockOrder[(index % 128 - lane) / 16] * 8 + index / 128;
  const size_t word = row * width / kBits<T>;
  const unsigned shift = row * width % kBits<T>;
  auto words = reinterpret_cast<const Word<T>*>(packed) + word * kLanes<T> + lane;
  T value = static_cast<T>(words[0].value >> shift);
  if (shift + width > kBits<T>)
    value = static_cast<T>(value | static_cast<T>(words[kLanes<T>].value << (kBits<T> - shift)));
  return static_cast<T>(value & Mask<T>(width));
}

template <typename T>
unsigned WidthOf(const T* words, size_t count) {
  T any = 0;
  for (size_t i = 0; i < count; ++i) any = static_cast<T>(any | words[i]);
  return static_cast<unsigned>(std::bit_width(any));
}

#define JAVELIN_INSTANTIATE_BIT_PACKING(T)                   \
  template void UnpackUnit<T>(const uint8_t*, unsigned, T*); \
  template void PackUnit<T>(const T*, unsigned, uint8_t*);   \
  template T UnpackOne<T>(const uint8_t*, unsigned, size_t); \
  template unsigned WidthOf<T>(const T*, size_t);

}  // namespace javelin::file
