#include "javelin/table/uuid.h"

#include "javelin/base/error.h"

namespace javelin::table {

namespace {
constexpr size_t kBytes = 16;
constexpr size_t kTextLength = 36;

bool IsHyphenPosition(size_t index) { return index == 8 || index == 13 || index == 18 || index == 23; }

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}
}  // namespace

arrow::Result<Uuid> Uuid::Parse(std::string_view text) {
  auto refuse = [&] { return InvalidInput("'{}' is not a UUID (8-4-4-4-12 hexadecimal digits)", text); };
  if (text.size() != kTextLength) return refuse();
  Uuid uuid;
  for (size_t i = 0; i < text.size();) {
    if (IsHyphenPosition(i)) {
      if (text[i++] != '-') return refuse();
      continue;
    }
    const int high = HexValue(text[i]), low = HexValue(text[i + 1]);
    if (high < 0 || low < 0) return refuse();
    uuid.bytes_.push_back(static_cast<char>(high << 4 | low));
    i += 2;
  }
  return uuid;
}

arrow::Result<Uuid> Uuid::FromBytes(std::string_view bytes) {
  if (bytes.size() != kBytes) return Corruption("a UUID has {} bytes instead of 16", bytes.size());
  Uuid uuid;
  uuid.bytes_ = std::string(bytes);
  return uuid;
}

Uuid Uuid::Random(uint64_t high, uint64_t low) {
  high = (high & ~uint64_t{0xF000}) | 0x4000;                // version 4
  low = (low & ~(uint64_t{3} << 62)) | (uint64_t{1} << 63);  // variant 1
  Uuid uuid;
  for (int shift = 56; shift >= 0; shift -= 8) uuid.bytes_.push_back(static_cast<char>(high >> shift));
  for (int shift = 56; shift >= 0; shift -= 8) uuid.bytes_.push_back(static_cast<char>(low >> shift));
  return uuid;
}

std::string Uuid::ToString() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (unsigned char byte : bytes_) {
    if (IsHyphenPosition(text.size())) text.push_back('-');
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

}  // namespace javelin::table
