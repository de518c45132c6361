// FSST symbol tables: strings as codes for frequent byte sequences, each string decodable alone (docs/format.md,
// "Fsst").
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace javelin::file {

inline constexpr size_t kFsstTableBytes = 2312;

class FsstTable {
 public:
  // Returns nullptr, or what is wrong with the bytes.
  const char* Parse(std::span<const uint8_t> bytes);

  // True if the strings are stored as they are and Decode must not be used.
  bool stored_plain() const { return stored_plain_; }

  // Room that Decode may write to for `encoded` bytes: every code can become 8 bytes, stored 8 bytes at a time.
  static constexpr size_t Capacity(size_t encoded) { return encoded * 8 + 8; }
  // The length of what Decode makes of a well-formed string. It writes up to 7 bytes behind it.
  size_t DecodedSize(std::span<const uint8_t> encoded) const;
  static constexpr size_t kMalformed = ~size_t{0};
  // Decodes one string to `out` (Capacity(encoded.size()) bytes of room) and returns its length; kMalformed for an
  // unknown code or an escape without its byte.
  size_t Decode(std::span<const uint8_t> encoded, uint8_t* out) const;

 private:
  static constexpr uint8_t kEscape = 255;
  bool stored_plain_ = false;
  std::array<uint64_t, 256> symbols_{};
  std::array<uint8_t, 256> lengths_{};  // 0 = no such code
};

}  // namespace javelin::file
