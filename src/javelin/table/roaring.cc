// The portable serialisation of 32-bit Roaring bitmaps.
//
//   u32 cookie   12346, then u32 container count; or 12347 | (count - 1) << 16, then one "is a run container" bit per
//   container per container: u16 key (high half of its numbers), u16 number of values - 1 u32 offset of each container,
//   unless there are run containers and fewer than 4 containers containers: run = u16 count, then (u16 start, u16
//   length - 1)*; up to 4096 values = u16 array; else 8192 bytes of bits
#include <bit>

#include "javelin/base/error.h"
#include "javelin/table/offset_set.h"

namespace javelin::table {

namespace {

constexpr uint32_t kCookieNoRuns = 12346;
constexpr uint32_t kCookieRuns = 12347;
constexpr size_t kMaxArrayValues = 4096;
constexpr size_t kBitmapBytes = 8192;
constexpr size_t kMaxContainers = 65536;
constexpr size_t kOffsetsFromContainers = 4;

// Little-endian numbers of a byte string; every read is checked.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : rest_(bytes) {}
  template <typename T>
  arrow::Result<T> Next() {
    ARROW_ASSIGN_OR_RAISE(std::string_view bytes, Take(sizeof(T)));
    T value;
    std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }
  arrow::Result<std::string_view> Take(size_t count) {
    if (rest_.size() < count) return Corruption("Roaring bitmap ends {} bytes early", count - rest_.size());
    std::string_view out = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return out;
  }

 private:
  std::string_view rest_;
};

struct Container {
  uint32_t base = 0;  // key << 16
  uint32_t cardinality = 0;
  bool is_run = false;
};

arrow::Status Disorder() { return Corruption("Roaring bitmap has numbers out of order"); }

// Appends [first, last] of a container if it lies above everything so far.
arrow::Status AppendChecked(OffsetSet& set, uint32_t first, uint32_t last) {
  if (last < first || (!set.empty() && first <= set.max())) return Disorder();
  set.Append(first, last);
  return arrow::Status::OK();
}

arrow::Status DecodeRuns(Cursor& cursor, const Container& container, OffsetSet& set) {
  ARROW_ASSIGN_OR_RAISE(const uint16_t count, cursor.Next<uint16_t>());
  for (uint16_t i = 0; i < count; ++i) {
    ARROW_ASSIGN_OR_RAISE(const uint16_t start, cursor.Next<uint16_t>());
    ARROW_ASSIGN_OR_RAISE(const uint16_t more, cursor.Next<uint16_t>());
    if (uint32_t{start} + more > UINT16_MAX) return Corruption("Roaring run leaves its container");
    ARROW_RETURN_NOT_OK(AppendChecked(set, container.base + start, container.base + start + more));
  }
  return arrow::Status::OK();
}

arrow::Status DecodeArray(Cursor& cursor, const Container& container, OffsetSet& set) {
  for (uint32_t i = 0; i < container.cardinality; ++i) {
    ARROW_ASSIGN_OR_RAISE(const uint16_t value, cursor.Next<uint16_t>());
    ARROW_RETURN_NOT_OK(AppendChecked(set, container.base + value, container.base + value));
  }
  return arrow::Status::OK();
}

arrow::Status DecodeBitmap(Cursor& cursor, const Container& container, OffsetSet& set) {
  ARROW_ASSIGN_OR_RAISE(std::string_view bytes, cursor.Take(kBitmapBytes));
  for (uint32_t word_index = 0; word_index < kBitmapBytes / 8; ++word_index) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + word_index * 8, 8);
    for (uint32_t bit = 0; word != 0;) {
      const int zeros = std::countr_zero(word);
      bit += zeros;
      word >>= zeros;
      const int ones = std::countr_one(word);
      const uint32_t first = container.base + word_index * 64 + bit;
      set.Append(first, first + ones - 1);
      bit += ones;
      word = ones == 64 ? 0 : word >> ones;
    }
  }
  return arrow::Status::OK();
}

arrow::Result<std::vector<Container>> DecodeHeader(Cursor& cursor) {
  ARROW_ASSIGN_OR_RAISE(const uint32_t cookie, cursor.Next<uint32_t>());
  size_t count = 0;
  std::string_view run_bits;
  if ((cookie & 0xFFFF) == kCookieRuns) {
    count = (cookie >> 16) + 1;
    ARROW_ASSIGN_OR_RAISE(run_bits, cursor.Take((count + 7) / 8));
  } else if (cookie == kCookieNoRuns) {
    ARROW_ASSIGN_OR_RAISE(const uint32_t stored, cursor.Next<uint32_t>());
    count = stored;
  } else {
    return Corruption("Roaring bitmap starts with cookie {}", cookie);
  }
  if (count > kMaxContainers) return Corruption("Roaring bitmap claims {} containers", count);
  ARROW_ASSIGN_OR_RAISE(const std::string_view descriptors, cursor.Take(4 * count));
  std::vector<Container> containers(count);
  for (size_t i = 0; i < count; ++i) {
    uint16_t key, cardinality;
    std::memcpy(&key, descriptors.data() + 4 * i, 2);
    std::memcpy(&cardinality, descriptors.data() + 4 * i + 2, 2);
    containers[i] = {uint32_t{key} << 16, uint32_t{cardinality} + 1, false};
    containers[i].is_run = !run_bits.empty() && (run_bits[i / 8] >> (i % 8) & 1) != 0;
    if (i > 0 && containers[i].base <= containers[i - 1].base) return Disorder();
  }
  // Containers follow one another in order, so their offsets say nothing new.
  if (run_bits.empty() || count >= kOffsetsFromContainers) ARROW_RETURN_NOT_OK(cursor.Take(4 * count).status());
  return containers;
}

template <typename T>
void Put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

// The numbers of one container as runs inside it.
struct Chunk {
  uint16_t key = 0;
  uint32_t cardinality = 0;
  std::vector<std::pair<uint16_t, uint16_t>> runs;  // inclusive
};

std::vector<Chunk> Split(const OffsetSet& set) {
  std::vector<Chunk> chunks;
  for (const OffsetSet::Run& run : set.runs()) {
    for (uint64_t first = run.first; first <= run.last;) {
      const uint64_t last = std::min<uint64_t>(run.last, first | 0xFFFF);
      const uint16_t key = static_cast<uint16_t>(first >> 16);
      if (chunks.empty() || chunks.back().key != key) chunks.push_back({key, 0, {}});
      chunks.back().cardinality += static_cast<uint32_t>(last - first + 1);
      chunks.back().runs.emplace_back(static_cast<uint16_t>(first), static_cast<uint16_t>(last));
      first = last + 1;
    }
  }
  return chunks;
}

void PutChunk(std::string& out, const Chunk& chunk) {
  if (chunk.cardinality <= kMaxArrayValues) {
    for (const auto& [first, last] : chunk.runs) {
      for (uint32_t value = first; value <= last; ++value) Put<uint16_t>(out, static_cast<uint16_t>(value));
    }
    return;
  }
  std::string bits(kBitmapBytes, '\0');
  for (const auto& [first, last] : chunk.runs) {
    for (uint32_t value = first; value <= last; ++value)
      bits[value / 8] = static_cast<char>(bits[value / 8] | 1 << (value % 8));
  }
  out += bits;
}

}  // namespace

arrow::Result<OffsetSet> DecodeRoaring(std::string_view bytes) {
  Cursor cursor(bytes);
  ARROW_ASSIGN_OR_RAISE(const std::vector<Container> containers, DecodeHeader(cursor));
  OffsetSet set;
  for (const Container& container : containers) {
    const uint64_t before = set.size();
    if (container.is_run) {
      ARROW_RETURN_NOT_OK(DecodeRuns(cursor, container, set));
    } else if (container.cardinality <= kMaxArrayValues) {
      ARROW_RETURN_NOT_OK(DecodeArray(cursor, container, set));
    } else {
      ARROW_RETURN_NOT_OK(DecodeBitmap(cursor, container, set));
    }
    if (set.size() - before != container.cardinality) {
      return Corruption("Roaring container holds {} numbers, its header says {}", set.size() - before,
                        container.cardinality);
    }
  }
  return set;
}

std::string EncodeRoaring(const OffsetSet& set) {
  const std::vector<Chunk> chunks = Split(set);
  std::string out;
  Put<uint32_t>(out, kCookieNoRuns);
  Put<uint32_t>(out, static_cast<uint32_t>(chunks.size()));
  for (const Chunk& chunk : chunks) {
    Put<uint16_t>(out, chunk.key);
    Put<uint16_t>(out, static_cast<uint16_t>(chunk.cardinality - 1));
  }
  uint32_t offset = static_cast<uint32_t>(out.size() + 4 * chunks.size());
  for (const Chunk& chunk : chunks) {
    Put<uint32_t>(out, offset);
    offset += chunk.cardinality <= kMaxArrayValues ? chunk.cardinality * 2 : kBitmapBytes;
  }
  for (const Chunk& chunk : chunks) PutChunk(out, chunk);
  return out;
}

}  // namespace javelin::table
