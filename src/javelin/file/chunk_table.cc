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

size_t ChunkTable::ChunkOf(uint64_t value, size_t from) const {
  size_t step = 1;
  for (; from + step < num_chunks() && first_value_[from + step] <= value; step *= 2) from += step;
  const auto first = first_value_.begin() + static_cast<ptrdiff_t>(from);
  const auto end = first_value_.begin() + static_cast<ptrdiff_t>(std::min(from + step, num_chunks()));
  return static_cast<size_t>(std::upper_bound(first, end, value) - first_value_.begin()) - 1;
}

ChunkRuns ChunkRuns::Split(const ChunkTable& table, std::span<const Slice> rows) {
  ChunkRuns split;
  split.slices_.reserve(rows.size());
  size_t chunk = 0;
  for (const Slice& slice : rows) {
    for (uint64_t first = slice.first; first < slice.end();) {
      chunk = table.ChunkOf(first, chunk);
      const uint64_t base = table.first_value(chunk);
      const uint64_t end = std::min(slice.end(), base + table.num_values(chunk));
      split.Add(chunk, chunk + 1, {first - base, end - first});
      first = end;
    }
  }
  return split;
}

void ChunkRuns::Add(size_t first, size_t end, const Slice& slice) {
  if (runs_.empty() || runs_.back().end <= first) runs_.push_back({first, end, slices_.size()});
  runs_.back().end = end;
  slices_.push_back(slice);
}

arrow::Status ParseChunk(Bytes chunk, const ChunkForm& form, ChunkBuffers* buffers) {
  const uint64_t size_bytes = form.large ? 4 : 2;
  const uint64_t sizes_at = 2 + 2 * (form.has_rep + form.has_def);
  uint64_t at = sizes_at + size_bytes * form.num_buffers;
  if (at > chunk.size()) return Corruption("a chunk of {} bytes has no room for its header", chunk.size());
  bool fits = true;
  auto next_buffer = [&](uint64_t size_at, uint64_t width) {
    const uint64_t size = LoadUnsigned(chunk.data() + size_at, static_cast<unsigned>(width));
    at = RoundUp(at, kChunkAlignment);
    if (at > chunk.size() || size > chunk.size() - at) {
      fits = false;
      return Bytes();
    }
    const Bytes buffer = chunk.subspan(at, size);
    at += size;
    return buffer;
  };
  buffers->num_levels = LoadAt<uint16_t>(chunk.data());
  buffers->rep = form.has_rep ? next_buffer(2, 2) : Bytes();
  buffers->def = form.has_def ? next_buffer(form.has_rep ? 4 : 2, 2) : Bytes();
  buffers->values.clear();
  for (size_t i = 0; i < form.num_buffers; ++i)
    buffers->values.push_back(next_buffer(sizes_at + i * size_bytes, size_bytes));
  if (!fits) return Corruption("the buffers of a chunk do not fit its {} bytes", chunk.size());
  return arrow::Status::OK();
}

}  // namespace javelin::file
