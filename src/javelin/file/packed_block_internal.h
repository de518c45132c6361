// OutOfLineBitpacking: units of one width for all; the rest of a unit is packed if that makes it smaller, else as it
// is. The two forms of a rest never have the same size, by which readers tell them apart.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "javelin/file/bit_packing.h"

namespace javelin::file {

template <typename T>
bool PacksTail(uint64_t tail, unsigned width) {
  return tail * sizeof(T) > PackedBytes(width);
}

template <typename T>
uint64_t PackedBlockBytes(uint64_t count, unsigned width) {
  const uint64_t tail = count % kPackedUnit;
  return count / kPackedUnit * PackedBytes(width) + (PacksTail<T>(tail, width) ? PackedBytes(width) : tail * sizeof(T));
}

// Appends to `out`; every word is below 2^width.
template <typename T>
void AppendPackedBlock(std::span<const T> words, unsigned width, std::vector<uint8_t>& out) {
  for (uint64_t done = 0; done < words.size(); done += kPackedUnit) {
    const uint64_t part = std::min<uint64_t>(kPackedUnit, words.size() - done);
    T unit[kPackedUnit] = {};
    std::memcpy(unit, words.data() + done, part * sizeof(T));
    const size_t at = out.size();
    if (part == kPackedUnit || PacksTail<T>(part, width)) {
      out.resize(at + PackedBytes(width));
      PackUnit<T>(unit, width, out.data() + at);
    } else {
      out.resize(at + part * sizeof(T));
      std::memcpy(out.data() + at, unit, part * sizeof(T));
    }
  }
}

}  // namespace javelin::file
