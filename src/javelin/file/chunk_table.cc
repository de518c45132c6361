#include "javelin/file/chunk_table_internal.h"

#include <algorithm>

#include "javelin/base/error.h"

namespace javelin::file {

namespace {
constexpr uint64_t kChunkAlignment = 8;
constexpr unsigned kMaxLogValues = 15;
}  // namespace

arrow::Result<ChunkTable> ChunkTable::Parse(Bytes words, unsigned word_bytes, uint64_t data_bytes,
                                            uint64_t num_values) {
  if (words.size() % word_bytes != 0)
    return Corruption("a chunk table of {} bytes has no whole number of words", words.size());
  const uint64_t num_chunks = words.size() / word_bytes;
  ChunkTable table;
  table.first_byte_.reserve(num_chunks + 1);
  table.first_value_.reserve(num_chunks + 1);
  uint64_t byte = 0;
  uint64_t value = 0;
  for (uint64_t chunk = 0; chunk < num_chunks; ++chunk) {
    const uint64_t word = LoadUnsigned(words.data() + chunk * word_bytes, word_bytes);
    const unsigned log = word & 0xF;
    const uint64_t left = num_values - value;
    uint64_t count = uint64_t{1} << log;
    if (chunk + 1 == num_chunks) {
      // The last chunk takes what is left; it may state the same number or none.
      if (log != 0 && count != left) return Corruption("the last chunk states {} values, {} are left", count, left);
      count = left;
    }
    if (count > left || count == 0 || (chunk + 1 < num_chunks && (log == 0 || log > kMaxLogValues))) {
      return Corruption("chunk {} of {} states {} values, {} are left", chunk, num_chunks, count, left);
    }
    byte += ((word >> 4) + 1) * kChunkAlignment;
    value += count;
    table.first_byte_.push_back(byte);
    table.first_value_.push_back(value);
  }
  if (byte != data_bytes) return Corruption("the chunks take {} bytes, the page has {}", byte, data_bytes);
  if (value != num_values) return Corruption("the chunks hold {} values, the page has {}", value, num_values);
  return table;
}

size_t ChunkTable::ChunkOf(uint64_t value) const {
  auto after = std::upper_bound(first_value_.begin(), first_value_.end(), value);
  return static_cast<size_t>(after - first_value_.begin()) - 1;
}

std::vector<ChunkPart> SplitByChunk(const ChunkTable& table, std::span<const Slice> rows) {
  std::vector<ChunkPart> parts;
  for (const Slice& slice : rows) {
    uint64_t first = slice.first;
    size_t chunk =
        !parts.empty() && first < table.first_value(parts.back().chunk) + table.num_values(parts.back().chunk)
            ? parts.back().chunk
            : table.ChunkOf(first);
    for (; first < slice.end(); ++chunk) {
      const uint64_t base = table.first_value(chunk);
      const uint64_t end = std::min(slice.end(), base + table.num_values(chunk));
      if (parts.empty() || parts.back().chunk != chunk) parts.push_back({chunk, {}});
      parts.back().slices.push_back({first - base, end - first});
      first = end;
    }
  }
  return parts;
}

arrow::Result<ChunkBuffers> ParseChunk(Bytes chunk, const ChunkForm& form) {
  const uint64_t size_bytes = form.large ? 4 : 2;
  const uint64_t header = 2 + 2 * (form.has_rep + form.has_def) + size_bytes * form.num_buffers;
  if (header > chunk.size()) return Corruption("a chunk of {} bytes has no room for its header", chunk.size());
  uint64_t at = 0;
  auto next_number = [&](uint64_t width) {
    const uint64_t number = LoadUnsigned(chunk.data() + at, static_cast<unsigned>(width));
    at += width;
    return number;
  };
  ChunkBuffers buffers;
  buffers.num_levels = next_number(2);
  const uint64_t rep_size = form.has_rep ? next_number(2) : 0;
  const uint64_t def_size = form.has_def ? next_number(2) : 0;
  std::vector<uint64_t> value_sizes;
  for (size_t i = 0; i < form.num_buffers; ++i) value_sizes.push_back(next_number(size_bytes));
  bool fits = true;
  auto next_buffer = [&](uint64_t size) {
    at = RoundUp(at, kChunkAlignment);
    if (at > chunk.size() || size > chunk.size() - at) {
      fits = false;
      return Bytes();
    }
    const Bytes buffer = chunk.subspan(at, size);
    at += size;
    return buffer;
  };
  if (form.has_rep) buffers.rep = next_buffer(rep_size);
  if (form.has_def) buffers.def = next_buffer(def_size);
  for (uint64_t size : value_sizes) buffers.values.push_back(next_buffer(size));
  if (!fits) return Corruption("the buffers of a chunk do not fit its {} bytes", chunk.size());
  return buffers;
}

}  // namespace javelin::file
