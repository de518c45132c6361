// Numbers that repeat: each run once and its length. A null row goes on with the run before it.
#include "javelin/file/chunk_encoder_internal.h"

namespace javelin::file {

namespace {

// The smaller one keeps below the 32 KiB of a chunk of 2.1 also where nothing repeats.
constexpr uint64_t kSmallChunkValues = 2048;
constexpr uint64_t kChunkValues = 4096;
constexpr uint64_t kChunkBytes = 8192;
constexpr uint64_t kMaxRun = 255;

template <typename T>
class RunChunks final : public ChunkEncoder {
 public:
  explicit RunChunks(const LeafView& view) : view_(view) {}

  // To be called first; false if there are not fewer runs than `max_share` of the values.
  bool Measure(double max_share) {
    uint64_t runs = 0;
    uint64_t most = 0;
    for (uint64_t first = 0; first < view_.length; first += kSmallChunkValues) {
      uint64_t chunk_runs = 0;
      VisitRuns(first, std::min(kSmallChunkValues, view_.length - first), [&](T, uint64_t) { ++chunk_runs; });
      runs += chunk_runs;
      most = std::max(most, chunk_runs);
    }
    if (static_cast<double>(runs) >= static_cast<double>(view_.length) * max_share) return false;
    if (2 * most * kRunBytes <= kChunkBytes) chunk_values_ = kChunkValues;
    total_bytes_ = runs * kRunBytes;
    return true;
  }

  uint64_t chunk_values() const override { return chunk_values_; }
  uint64_t total_bytes() const override { return total_bytes_; }

  arrow::Status Encode(uint64_t first, uint64_t count, std::vector<ByteVector>& buffers) override {
    ByteVector values;
    ByteVector lengths;
    VisitRuns(first, count, [&](T value, uint64_t length) {
      values.resize(values.size() + sizeof(T));
      StoreAt<T>(values.data() + values.size() - sizeof(T), value);
      lengths.push_back(static_cast<uint8_t>(length));
    });
    buffers.push_back(std::move(values));
    buffers.push_back(std::move(lengths));
    return arrow::Status::OK();
  }

  void Describe(pb::CompressiveEncoding& encoding) const override {
    encoding.mutable_rle()->mutable_values()->mutable_flat()->set_bits_per_value(sizeof(T) * 8);
    encoding.mutable_rle()->mutable_run_lengths()->mutable_flat()->set_bits_per_value(8);
  }

 private:
  static constexpr uint64_t kRunBytes = sizeof(T) + 1;

  template <typename Visit>
  void VisitRuns(uint64_t first, uint64_t count, const Visit& visit) const {
    const uint64_t end = first + count;
    for (uint64_t i = first; i < end;) {
      bool has_value = !view_.IsNull(i);
      T value = has_value ? LoadElement<T>(view_.values, i) : T{0};
      uint64_t next = i + 1;
      for (; next < end && next - i < kMaxRun; ++next) {
        if (view_.IsNull(next)) continue;
        const T other = LoadElement<T>(view_.values, next);
        if (!has_value) value = other;
        has_value = true;
        if (other != value) break;
      }
      visit(value, next - i);
      i = next;
    }
  }

  const LeafView& view_;
  uint64_t chunk_values_ = kSmallChunkValues;
  uint64_t total_bytes_ = 0;
};

template <typename T>
ChunkEncoderPtr MakeRuns(const LeafView& view, double max_share) {
  auto chunks = std::make_unique<RunChunks<T>>(view);
  if (!chunks->Measure(max_share)) return nullptr;
  return chunks;
}

}  // namespace

ChunkEncoderPtr MakeRunChunks(const LeafView& view, uint64_t bits, double max_share) {
  switch (bits) {
    case 8: return MakeRuns<uint8_t>(view, max_share);
    case 16: return MakeRuns<uint16_t>(view, max_share);
    case 32: return MakeRuns<uint32_t>(view, max_share);
    case 64: return MakeRuns<uint64_t>(view, max_share);
    default: return nullptr;
  }
}

}  // namespace javelin::file
