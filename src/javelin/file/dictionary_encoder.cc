#include "javelin/file/chunk_encoder_internal.h"
#include "javelin/file/distinct_values_internal.h"

namespace javelin::file {

namespace {

using Kind = ValueShape::Kind;

constexpr uint64_t kMinValues = 100;
constexpr uint64_t kMaxItems = 1u << 16;
constexpr uint64_t kMaxBytes = 1u << 20;
// A sample with more distinct values than this part of it rules a dictionary out without looking at the rest.
constexpr uint64_t kSampleValues = 2048;
constexpr double kSampleRatio = 0.5;
// Indices cost a step when reading; the page must shrink to this part of its size without them.
constexpr double kWorthwhile = 0.8;

class Builder {
 public:
  Builder(const LeafView& view, const ValueShape& shape) : view_(view), shape_(shape) {}

  bool SampleAllows() const {
    const uint64_t step = std::max<uint64_t>(view_.length / kSampleValues, 1);
    DistinctValues sample;
    uint64_t seen = 0;
    for (uint64_t i = 0; i < view_.length; i += step) {
      if (view_.IsNull(i)) continue;
      sample.Add(Value(i));
      ++seen;
    }
    return static_cast<double>(sample.items().size()) <= static_cast<double>(seen) * kSampleRatio;
  }

  // False if there are too many distinct values.
  bool Build(DictionaryEncoding& out) {
    out.indices.assign(view_.length, 0);
    for (uint64_t i = 0; i < view_.length; ++i) {
      if (view_.IsNull(i)) continue;
      out.indices[i] = distinct_.Add(Value(i));
      if (distinct_.items().size() > kMaxItems || distinct_.total_bytes() > kMaxBytes) return false;
    }
    return true;
  }

  const std::vector<Bytes>& items() const { return distinct_.items(); }

 private:
  Bytes Value(uint64_t index) const {
    return shape_.kind == Kind::kVariable ? view_.Value(index)
                                          : Bytes(view_.values + index * shape_.bytes(), shape_.bytes());
  }

  const LeafView& view_;
  const ValueShape& shape_;
  DistinctValues distinct_;
};

}  // namespace

arrow::Result<std::optional<DictionaryEncoding>> EncodeDictionary(const LeafView& view, const ValueShape& shape,
                                                                  uint64_t alternative_bytes,
                                                                  const PageOptions& options) {
  const bool fits = shape.kind == Kind::kVariable || shape.is_fixed(128) ||
                    (options.version >= FileVersion{2, 2} && shape.is_fixed(64));
  if (!fits || view.length < kMinValues) return std::nullopt;
  Builder builder(view, shape);
  DictionaryEncoding encoding;
  if (!builder.SampleAllows() || !builder.Build(encoding)) return std::nullopt;
  ARROW_ASSIGN_OR_RAISE(encoding.block, EncodeDictionaryBlock(builder.items(), shape, options));
  const ChunkEncoderPtr indices = MakeBitPackedIndices(encoding.indices);
  const uint64_t bytes = encoding.block.bytes.size() + indices->total_bytes();
  if (static_cast<double>(bytes) > static_cast<double>(alternative_bytes) * kWorthwhile) return std::nullopt;
  return encoding;
}

}  // namespace javelin::file
