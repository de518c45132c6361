// Bit packing of units of 1024 unsigned words in the interleaved order of the format (docs/format.md, "Bit packing").
//
// No Arrow here: one kernel per width is instantiated, and those files should compile fast. Words are little endian and
// need no alignment. T is uint8_t, uint16_t, uint32_t or uint64_t; a width is 0 to the bits of T.
#pragma once

#include <cstddef>
#include <cstdint>

namespace javelin::file {

inline constexpr size_t kPackedUnit = 1024;

// Bytes of one packed unit.
inline constexpr size_t PackedBytes(unsigned width) { return kPackedUnit / 8 * width; }

// packed: PackedBytes(width) bytes; out: 1024 words.
template <typename T>
void UnpackUnit(const uint8_t* packed, unsigned width, T* out);

// in: 1024 words, each below 2^width; packed: PackedBytes(width) bytes.
template <typename T>
void PackUnit(const T* in, unsigned width, uint8_t* packed);

// The word at `index` (0..1023) of a packed unit, without unpacking the others.
template <typename T>
T UnpackOne(const uint8_t* packed, unsigned width, size_t index);

// The smallest width that holds all of `count` words.
template <typename T>
unsigned WidthOf(const T* words, size_t count);

}  // namespace javelin::file
