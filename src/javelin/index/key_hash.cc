#include "javelin/index/key_hash.h"

#include <bit>
#include <optional>
#include <string>

#include <arrow/array.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#include "javelin/base/error.h"
#include "javelin/index/key_columns_internal.h"
#include "javelin/index/key_encoding.h"

namespace javelin::index {

namespace {

// ---- SipHash, as published by Aumasson and Bernstein; 1 round a word, 3 at the end ----

struct SipState {
  uint64_t v0 = 0x736f6d6570736575;
  uint64_t v1 = 0x646f72616e646f6d;
  uint64_t v2 = 0x6c7967656e657261;
  uint64_t v3 = 0x7465646279746573;

  void Round() {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }
  void Absorb(uint64_t word) {
    v3 ^= word;
    Round();
    v0 ^= word;
  }
};

// ---- what of an encoded key is hashed (key_encoding.h) ----

class EncodedKey {
 public:
  explicit EncodedKey(std::string_view bytes) : left_(bytes) {}

  // False: the bytes are not those of a key. Appends what AppendPart does for the value itself.
  bool AppendPart(const arrow::DataType& type, std::string* out) {
    const auto flag = Take(1);
    if (!flag.has_value() || (*flag != std::string_view("\0", 1) && *flag != "\x01")) return false;
    out->push_back((*flag)[0] == '\0' ? '\x01' : '\x00');
    if ((*flag)[0] == '\0') return true;
    if (type.id() == arrow::Type::BOOL) return AppendRaw(1, out);
    if (arrow::is_integer(type.id())) return AppendInteger(type, out);
    const auto value = TakeEscaped();
    if (!value.has_value()) return false;
    const bool text = type.id() == arrow::Type::STRING || type.id() == arrow::Type::LARGE_STRING;
    const uint64_t size = value->size();
    if (!text) out->append(reinterpret_cast<const char*>(&size), sizeof(size));
    out->append(*value);
    if (text) out->push_back('\xff');
    return true;
  }
  bool at_end() const { return left_.empty(); }

 private:
  std::optional<std::string_view> Take(size_t size) {
    if (left_.size() < size) return std::nullopt;
    const auto taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }
  bool AppendRaw(size_t size, std::string* out) {
    const auto bytes = Take(size);
    if (bytes.has_value()) out->append(*bytes);
    return bytes.has_value();
  }
  bool AppendInteger(const arrow::DataType& type, std::string* out) {
    const auto bytes = Take(sizeof(uint64_t));
    if (!bytes.has_value()) return false;
    uint64_t value = 0;
    for (const char byte : *bytes) value = value << 8 | static_cast<uint8_t>(byte);
    if (arrow::is_signed_integer(type.id())) value ^= uint64_t{1} << 63;
    out->append(reinterpret_cast<const char*>(&value), static_cast<size_t>(type.byte_width()));
    return true;
  }
  std::optional<std::string> TakeEscaped() {
    std::string value;
    while (true) {
      const auto byte = Take(1);
      if (!byte.has_value()) return std::nullopt;
      if ((*byte)[0] == '\0') {
        const auto next = Take(1);
        if (next == std::string_view("\0", 1)) return value;
        if (next != "\xff") return std::nullopt;
      }
      value.append(*byte);
    }
  }

  std::string_view left_;
};

// ---- what of a key is hashed ----

template <typename Number>
void AppendNumber(Number number, std::string* out) {
  out->append(reinterpret_cast<const char*>(&number), sizeof(number));
}

template <typename ArrowType>
void AppendValue(const arrow::Array& column, int64_t row, std::string* out) {
  AppendNumber(static_cast<const arrow::NumericArray<ArrowType>&>(column).Value(row), out);
}

template <typename ArrayType>
void AppendText(const arrow::Array& column, int64_t row, std::string* out) {
  out->append(static_cast<const ArrayType&>(column).GetView(row));
  out->push_back('\xff');
}

template <typename ArrayType>
void AppendBytes(const arrow::Array& column, int64_t row, std::string* out) {
  const std::string_view bytes = static_cast<const ArrayType&>(column).GetView(row);
  AppendNumber(uint64_t{bytes.size()}, out);
  out->append(bytes);
}

void AppendPart(const arrow::Array& column, int64_t row, std::string* out) {
  const bool is_null = column.IsNull(row);
  out->push_back(is_null ? '\x01' : '\x00');
  if (is_null) return;
  switch (column.type_id()) {
    case arrow::Type::INT8: return AppendValue<arrow::Int8Type>(column, row, out);
    case arrow::Type::INT16: return AppendValue<arrow::Int16Type>(column, row, out);
    case arrow::Type::INT32: return AppendValue<arrow::Int32Type>(column, row, out);
    case arrow::Type::INT64: return AppendValue<arrow::Int64Type>(column, row, out);
    case arrow::Type::UINT8: return AppendValue<arrow::UInt8Type>(column, row, out);
    case arrow::Type::UINT16: return AppendValue<arrow::UInt16Type>(column, row, out);
    case arrow::Type::UINT32: return AppendValue<arrow::UInt32Type>(column, row, out);
    case arrow::Type::UINT64: return AppendValue<arrow::UInt64Type>(column, row, out);
    case arrow::Type::BOOL:
      out->push_back(static_cast<const arrow::BooleanArray&>(column).Value(row) ? '\x01' : '\x00');
      return;
    case arrow::Type::STRING: return AppendText<arrow::BinaryArray>(column, row, out);
    case arrow::Type::LARGE_STRING: return AppendText<arrow::LargeBinaryArray>(column, row, out);
    case arrow::Type::BINARY: return AppendBytes<arrow::BinaryArray>(column, row, out);
    case arrow::Type::LARGE_BINARY: return AppendBytes<arrow::LargeBinaryArray>(column, row, out);
    default: return;  // Make and Hash let no other type through
  }
}

}  // namespace

uint64_t SipHash13(std::string_view bytes) {
  SipState state;
  size_t done = 0;
  for (; done + 8 <= bytes.size(); done += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + done, 8);
    state.Absorb(word);
  }
  uint64_t last = 0;
  std::memcpy(&last, bytes.data() + done, bytes.size() - done);
  state.Absorb(last | uint64_t{bytes.size()} << 56);
  state.v2 ^= 0xff;
  for (int i = 0; i < 3; ++i) state.Round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

arrow::Result<KeyHasher> KeyHasher::Make(std::vector<std::shared_ptr<arrow::DataType>> types) {
  ARROW_RETURN_NOT_OK(CheckKeyTypes(types));
  KeyHasher hasher;
  hasher.types_ = std::move(types);
  return hasher;
}

arrow::Result<std::vector<uint64_t>> KeyHasher::Hash(const std::vector<std::shared_ptr<arrow::Array>>& columns) const {
  ARROW_RETURN_NOT_OK(CheckKeyColumns(types_, columns));
  std::vector<uint64_t> hashes;
  if (columns.empty()) return hashes;
  hashes.reserve(static_cast<size_t>(columns[0]->length()));
  std::string bytes;
  for (int64_t row = 0; row < columns[0]->length(); ++row) {
    bytes.clear();
    for (const auto& column : columns) AppendPart(*column, row, &bytes);
    hashes.push_back(SipHash13(bytes));
  }
  return hashes;
}

arrow::Result<uint64_t> KeyHasher::HashEncoded(std::string_view key) const {
  EncodedKey encoded(key);
  std::string bytes;
  for (const auto& type : types_) {
    if (!encoded.AppendPart(*type, &bytes)) return Internal("{} bytes are no encoded key", key.size());
  }
  if (!encoded.at_end()) return Internal("{} bytes are more than one encoded key", key.size());
  return SipHash13(bytes);
}

bool KeyHasher::SharedWithPeer() const {
  return std::all_of(types_.begin(), types_.end(), [](const auto& type) {
    return type->id() == arrow::Type::INT32 || type->id() == arrow::Type::INT64 || type->id() == arrow::Type::STRING ||
           type->id() == arrow::Type::BINARY;
  });
}

}  // namespace javelin::index
