#include "javelin/file/chunk_encoder_internal.h"
#include "javelin/file/dictionary_type_internal.h"
#include "javelin/file/distinct_values_internal.h"
#include "javelin/file/string_form_internal.h"

namespace javelin::file {

namespace {

using Kind = ValueShape::Kind;

constexpr uint64_t kMinValues = 100;
constexpr uint64_t kMaxItems = 100'000;
// A sample in which hardly any value comes twice rules a dictionary out without a look at the rest.
constexpr uint64_t kSampleValues = 4096;
constexpr double kSampleRatio = 0.98;
// Indices cost a step when reading, and any row the whole dictionary once: the page must shrink to this part of its
// size without them.
constexpr double kWorthwhile = 0.9;
// What compression of the dictionary may save at most, for giving up early.
constexpr uint64_t kMaxShrink = 4;

class Builder {
 public:
  Builder(const LeafView& view, const ValueShape& shape, uint64_t max_items, uint64_t max_bytes)
      : view_(view), shape_(shape), max_items_(max_items), max_bytes_(max_bytes) {}

  bool SampleAllows() const {
    const uint64_t step = std::max<uint64_t>(view_.length / kSampleValues, 1);
    DistinctValues sample;
    uint64_t seen = 0;
    for (uint64_t i = 0; i < view_.length; i += step) {
      if (view_.IsNull(i)) continue;
      sample.Add(ItemAt(view_, shape_, i));
      ++seen;
    }
    return static_cast<double>(sample.items().size()) < static_cast<double>(seen) * kSampleRatio;
  }

  // False if there are too many distinct values.
  bool Build(std::vector<uint32_t>& indices) {
    indices.reserve(view_.length);
    uint32_t index = 0;
    for (uint64_t i = 0; i < view_.length; ++i) {
      if (!view_.IsNull(i)) index = distinct_.Add(ItemAt(view_, shape_, i));
      indices.push_back(index);
      if (distinct_.items().size() > max_items_ || distinct_.total_bytes() > max_bytes_) return false;
    }
    return true;
  }

  const std::vector<Bytes>& items() const { return distinct_.items(); }

 private:
  const LeafView& view_;
  const ValueShape& shape_;
  const uint64_t max_items_;
  const uint64_t max_bytes_;
  DistinctValues distinct_;
};

uint64_t PlainBytes(const LeafView& view, const ValueShape& shape) {
  if (shape.kind != Kind::kVariable) return view.length * shape.bytes();
  return StringBytes(view) + view.length * view.offset_bytes;
}

}  // namespace

arrow::Result<std::unique_ptr<DictionaryEncoding>> EncodeDictionary(const LeafView& view, const ValueShape& shape,
                                                                    uint64_t alternative_bytes,
                                                                    const PageOptions& options) {
  const EncodingWishes& wishes = options.wishes;
  const bool fits = shape.kind == Kind::kVariable || shape.is_fixed(128) ||
                    (options.version >= FileVersion{2, 2} && shape.is_fixed(64));
  if (!fits || view.length < kMinValues) return nullptr;
  const auto max_bytes =
      static_cast<uint64_t>(std::min(static_cast<double>(PlainBytes(view, shape)) * wishes.dictionary_ratio,
                                     static_cast<double>(alternative_bytes) * kWorthwhile));
  Builder builder(view, shape, std::min(kMaxItems, view.length / wishes.dictionary_divisor),
                  std::min(wishes.dictionary_bytes, max_bytes * kMaxShrink));
  auto encoding = std::make_unique<DictionaryEncoding>();
  if (!builder.SampleAllows() || !builder.Build(encoding->indices)) return nullptr;
  ARROW_ASSIGN_OR_RAISE(encoding->block, EncodeDictionaryBlock(builder.items(), shape, options));
  if (encoding->block.bytes.size() >= max_bytes) return nullptr;
  encoding->view = ViewNumbers(encoding->indices);
  ARROW_ASSIGN_OR_RAISE(encoding->chunks, MakeNumberChunks(encoding->view, 32, wishes));
  if (encoding->block.bytes.size() + encoding->chunks->total_bytes() > max_bytes) return nullptr;
  return encoding;
}

LeafView ViewNumbers(const std::vector<uint32_t>& numbers) {
  LeafView view;
  view.length = numbers.size();
  view.values = reinterpret_cast<const uint8_t*>(numbers.data());
  return view;
}

}  // namespace javelin::file
