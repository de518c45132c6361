// Distinct types for the numbers of the format, so that one cannot be passed for another.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

#include <fmt/format.h>

namespace javelin {

// A number with a meaning. No implicit conversion in or out; ordering and hashing by value.
template <typename Tag, typename Rep = uint64_t>
class StrongId {
 public:
  using rep = Rep;
  constexpr StrongId() = default;
  constexpr explicit StrongId(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  constexpr StrongId Next() const { return StrongId(value_ + 1); }
  friend constexpr auto operator<=>(StrongId, StrongId) = default;

 private:
  Rep value_ = 0;
};

using FragmentId = StrongId<struct FragmentIdTag>;
using FieldId = StrongId<struct FieldIdTag, int32_t>;
using RowId = StrongId<struct RowIdTag>;
using TableVersion = StrongId<struct TableVersionTag>;        // version of the base table, from 1
using ManifestVersion = StrongId<struct ManifestVersionTag>;  // version of a shard manifest, from 1; 0 = none
using Epoch = StrongId<struct EpochTag>;                      // writer fencing token of a shard
using Generation = StrongId<struct GenerationTag>;            // MemTable / SSTable number of a shard, from 1
using WalPosition = StrongId<struct WalPositionTag>;          // from 1; 0 = none
using GlobalBatch = StrongId<struct GlobalBatchTag>;          // exclusive batch count over a writer's life
using LocalBatch = StrongId<struct LocalBatchTag>;            // exclusive batch count inside one MemTable

// fragment << 32 | offset; the offset counts deleted rows.
class RowAddress {
 public:
  constexpr RowAddress() = default;
  constexpr explicit RowAddress(uint64_t packed) : packed_(packed) {}
  constexpr RowAddress(FragmentId fragment, uint32_t offset) : packed_(fragment.value() << 32 | offset) {}
  constexpr FragmentId fragment() const { return FragmentId(packed_ >> 32); }
  constexpr uint32_t offset() const { return static_cast<uint32_t>(packed_); }
  constexpr uint64_t packed() const { return packed_; }
  friend constexpr auto operator<=>(RowAddress, RowAddress) = default;

 private:
  uint64_t packed_ = 0;
};

}  // namespace javelin

template <typename Tag, typename Rep>
struct std::hash<javelin::StrongId<Tag, Rep>> {
  size_t operator()(javelin::StrongId<Tag, Rep> id) const { return std::hash<Rep>()(id.value()); }
};

template <typename Tag, typename Rep>
struct fmt::formatter<javelin::StrongId<Tag, Rep>> : fmt::formatter<Rep> {
  template <typename Context>
  auto format(javelin::StrongId<Tag, Rep> id, Context& context) const {
    return fmt::formatter<Rep>::format(id.value(), context);
  }
};
