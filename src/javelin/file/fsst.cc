#include "javelin/file/fsst.h"

#include <cstring>

namespace javelin::file {

namespace {
constexpr uint32_t kMagic = 0x46535354;
constexpr size_t kHeaderBytes = 8;

uint64_t LoadWord(const uint8_t* address) {
  uint64_t word;
  std::memcpy(&word, address, sizeof(word));
  return word;
}

// True if one of the four bytes is 255.
bool HasEscape(uint32_t codes) {
  // A byte of ~codes is zero exactly where the code is 255.
  uint32_t inverted = ~codes;
  return ((inverted - 0x01010101u) & ~inverted & 0x80808080u) != 0;
}
}  // namespace

const char* FsstTable::Parse(std::span<const uint8_t> bytes) {
  if (bytes.size() != kFsstTableBytes) return "the FSST symbol table is not 2312 bytes long";
  const uint64_t header = LoadWord(bytes.data());
  if (header >> 32 != kMagic) return "the FSST symbol table has no magic number";
  const size_t num_symbols = header & 0xFF;  // at most 255, which no code is
  stored_plain_ = (header >> 24 & 1) == 0;
  symbols_.fill(0);
  lengths_.fill(0);
  const uint8_t* symbols = bytes.data() + kHeaderBytes;
  const uint8_t* lengths = symbols + num_symbols * 8;
  for (size_t code = 0; code < num_symbols; ++code) {
    if (lengths[code] < 1 || lengths[code] > 8) return "an FSST symbol is not 1 to 8 bytes long";
    symbols_[code] = LoadWord(symbols + code * 8);
    lengths_[code] = lengths[code];
  }
  return nullptr;
}

size_t FsstTable::DecodedSize(std::span<const uint8_t> encoded) const {
  size_t size = 0;
  for (size_t i = 0; i < encoded.size(); ++i) {
    const bool escape = encoded[i] == kEscape;
    size += escape ? 1 : lengths_[encoded[i]];
    i += escape ? 1 : 0;
  }
  return size;
}

size_t FsstTable::Decode(std::span<const uint8_t> encoded, uint8_t* out) const {
  const uint8_t* in = encoded.data();
  const uint8_t* end = in + encoded.size();
  uint8_t* target = out;
  bool known = true;
  auto put = [&](uint8_t code) {
    std::memcpy(target, &symbols_[code], 8);
    target += lengths_[code];
    known &= lengths_[code] != 0;
  };
  while (in < end) {
    if (end - in >= 4) {
      uint32_t codes;
      std::memcpy(&codes, in, sizeof(codes));
      if (!HasEscape(codes)) {
        put(in[0]);
        put(in[1]);
        put(in[2]);
        put(in[3]);
        in += 4;
        continue;
      }
    }
    if (*in != kEscape) {
      put(*in++);
      continue;
    }
    if (end - in < 2) return kMalformed;
    *target++ = in[1];
    in += 2;
  }
  return known ? static_cast<size_t>(target - out) : kMalformed;
}

}  // namespace javelin::file
