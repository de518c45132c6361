#include "javelin/table/key_filter.h"

#define XXH_INLINE_ALL  // the header alone, no library
#include <xxhash.h>

#include <arrow/array.h>
#include <arrow/type.h>

#include "javelin/base/error.h"

namespace javelin::table {

namespace {

// What the released writer uses, always: 1024 blocks of eight 32-bit words.
constexpr uint32_t kBlocks = 1024, kWordsPerBlock = 8, kBytesPerBlock = kWordsPerBlock * sizeof(uint32_t);
constexpr uint32_t kBitmapBytes = kBlocks * kBytesPerBlock;
constexpr uint64_t kDefaultItems = 8192;
constexpr double kDefaultProbability = 0.00057;
constexpr uint32_t kSalt[kWordsPerBlock] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                            0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};

uint64_t ItemsOf(const KeyFilter::Bloom& bloom) {
  return bloom.number_of_items == 0 ? kDefaultItems : bloom.number_of_items;
}
double ProbabilityOf(const KeyFilter::Bloom& bloom) {
  return bloom.probability == 0 ? kDefaultProbability : bloom.probability;
}

bool SameParameters(const KeyFilter::Bloom& a, const KeyFilter::Bloom& b) {
  return a.bitmap.size() == b.bitmap.size() && a.num_bits == b.num_bits && ItemsOf(a) == ItemsOf(b) &&
         ProbabilityOf(a) == ProbabilityOf(b);
}

bool ShareBits(const std::string& a, const std::string& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if ((a[i] & b[i]) != 0) return true;
  }
  return false;
}

// Appends the bytes by which a key part is hashed; false if it has none.
template <typename Wide, typename Array>
bool AppendNumber(const arrow::Array& column, int64_t row, std::string& key) {
  const Wide value = static_cast<const Array&>(column).Value(row);
  key.append(reinterpret_cast<const char*>(&value), sizeof(value));
  return true;
}
template <typename Array>
bool AppendBytes(const arrow::Array& column, int64_t row, std::string& key) {
  key += static_cast<const Array&>(column).GetView(row);
  return true;
}

bool AppendPart(const arrow::Array& column, int64_t row, std::string& key) {
  if (column.IsNull(row)) return false;
  switch (column.type_id()) {
    case arrow::Type::INT32: return AppendNumber<int64_t, arrow::Int32Array>(column, row, key);
    case arrow::Type::INT64: return AppendNumber<int64_t, arrow::Int64Array>(column, row, key);
    case arrow::Type::UINT32: return AppendNumber<uint64_t, arrow::UInt32Array>(column, row, key);
    case arrow::Type::UINT64: return AppendNumber<uint64_t, arrow::UInt64Array>(column, row, key);
    case arrow::Type::STRING: return AppendBytes<arrow::StringArray>(column, row, key);
    case arrow::Type::LARGE_STRING: return AppendBytes<arrow::LargeStringArray>(column, row, key);
    case arrow::Type::BINARY: return AppendBytes<arrow::BinaryArray>(column, row, key);
    default: return false;
  }
}

// Each part of a composite key is followed by one zero byte.
bool AppendKey(const arrow::ArrayVector& columns, int64_t row, std::string& key) {
  for (const auto& column : columns) {
    if (!AppendPart(*column, row, key)) return false;
    if (columns.size() > 1) key.push_back('\0');
  }
  return true;
}

}  // namespace

bool MayShareKeys(const KeyFilter& a, const KeyFilter& b) {
  if (a.field_ids != b.field_ids) return true;
  if (const auto *exact = std::get_if<KeyFilter::Exact>(&a.data), *other = std::get_if<KeyFilter::Exact>(&b.data);
      exact != nullptr && other != nullptr) {
    const std::set<uint64_t> hashes(exact->key_hashes.begin(), exact->key_hashes.end());
    return std::any_of(other->key_hashes.begin(), other->key_hashes.end(),
                       [&](uint64_t hash) { return hashes.contains(hash); });
  }
  const auto *bloom = std::get_if<KeyFilter::Bloom>(&a.data), *other = std::get_if<KeyFilter::Bloom>(&b.data);
  if (bloom == nullptr || other == nullptr || !SameParameters(*bloom, *other)) return true;
  return ShareBits(bloom->bitmap, other->bitmap);
}

KeyFilterBuilder::KeyFilterBuilder(std::vector<FieldId> field_ids)
    : filter_{std::move(field_ids), std::monostate{}}, bitmap_(kBitmapBytes, '\0') {}

arrow::Status KeyFilterBuilder::Add(const arrow::ArrayVector& key_columns) {
  if (key_columns.size() != filter_.field_ids.size() || key_columns.empty())
    return InvalidInput("{} key columns were given for a key of {} fields", key_columns.size(),
                        filter_.field_ids.size());
  std::string key;
  for (int64_t row = 0; row < key_columns.front()->length(); ++row) {
    key.clear();
    if (AppendKey(key_columns, row, key)) {
      Insert(key);
    } else {
      bitmap_.assign(kBitmapBytes, '\xff');
    }
  }
  return arrow::Status::OK();
}

void KeyFilterBuilder::Insert(std::string_view key) {
  const uint64_t hash = XXH64(key.data(), key.size(), /*seed=*/0);
  const uint64_t block = ((hash >> 32) * kBlocks) >> 32;
  for (uint32_t word = 0; word < kWordsPerBlock; ++word) {
    const uint32_t bit = (static_cast<uint32_t>(hash) * kSalt[word]) >> 27;
    // Words are little-endian: bit b lies in byte b / 8.
    bitmap_[block * kBytesPerBlock + word * sizeof(uint32_t) + bit / 8] |= static_cast<char>(1U << (bit % 8));
  }
}

KeyFilter KeyFilterBuilder::Finish() && {
  filter_.data = KeyFilter::Bloom{std::move(bitmap_), kBitmapBytes * 8, kDefaultItems, kDefaultProbability};
  return std::move(filter_);
}

}  // namespace javelin::table
