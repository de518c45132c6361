#include "javelin/file/distinct_values_internal.h"

namespace javelin::file {

namespace {

uint64_t HashOf(Bytes value) {
  uint64_t hash = 0x9E3779B97F4A7C15u ^ value.size();
  auto mix = [&](uint64_t word) {
    hash = (hash ^ word) * 0xD6E8FEB86659FD93u;
    hash ^= hash >> 32;
  };
  size_t at = 0;
  for (; at + 8 <= value.size(); at += 8) mix(LoadAt<uint64_t>(value.data() + at));
  uint64_t rest = 0;
  if (at < value.size()) std::memcpy(&rest, value.data() + at, value.size() - at);
  mix(rest);
  return hash;
}

}  // namespace

uint32_t DistinctValues::Add(Bytes value) {
  if (items_.size() * 2 >= slots_.size()) Rehash();
  uint64_t slot = HashOf(value) & (slots_.size() - 1);
  while (slots_[slot] != kEmpty) {
    const Bytes item = items_[slots_[slot]];
    if (item.size() == value.size() && (value.empty() || std::memcmp(item.data(), value.data(), value.size()) == 0))
      return slots_[slot];
    slot = (slot + 1) & (slots_.size() - 1);
  }
  slots_[slot] = static_cast<uint32_t>(items_.size());
  items_.push_back(value);
  total_bytes_ += value.size();
  return slots_[slot];
}

void DistinctValues::Rehash() {
  slots_.assign(slots_.size() * 2, kEmpty);
  for (uint32_t i = 0; i < items_.size(); ++i) {
    uint64_t slot = HashOf(items_[i]) & (slots_.size() - 1);
    while (slots_[slot] != kEmpty) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = i;
  }
}

}  // namespace javelin::file
