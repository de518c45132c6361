#include "javelin/file/bit_packing.h"
#include "javelin/file/chunk_encoder_internal.h"

namespace javelin::file {

namespace {

// Levels are 0 (valid) and 1 (null) here: one bit each when packed.
constexpr unsigned kWidth = 1;
constexpr uint64_t kLevelBytes = 2;
constexpr uint64_t kRunBytes = 3;
constexpr uint64_t kMaxRun = 255;

// A rest of a unit is packed if that makes it smaller; the two forms never have the same size.
bool PackTail(uint64_t tail) { return tail * kLevelBytes > PackedBytes(kWidth); }

uint64_t PackedSize(uint64_t count) {
  const uint64_t tail = count % kPackedUnit;
  return count / kPackedUnit * PackedBytes(kWidth) + (PackTail(tail) ? PackedBytes(kWidth) : tail * kLevelBytes);
}

// Calls back with each run of equal levels, at most kMaxRun long.
template <typename Visit>
void VisitRuns(const LeafView& view, uint64_t first, uint64_t count, const Visit& visit) {
  for (uint64_t i = first; i < first + count;) {
    const bool null = view.IsNull(i);
    uint64_t end = i + 1;
    while (end < first + count && end - i < kMaxRun && view.IsNull(end) == null) ++end;
    visit(null, end - i);
    i = end;
  }
}

}  // namespace

LevelEncoder::LevelEncoder(const LeafView& view, uint64_t chunk_values) : view_(view) {
  uint64_t packed = 0;
  uint64_t runs = 0;
  for (uint64_t first = 0; first < view.length; first += chunk_values) {
    const uint64_t count = std::min(chunk_values, view.length - first);
    packed += PackedSize(count);
    runs += sizeof(uint64_t);
    VisitRuns(view, first, count, [&](bool, uint64_t) { runs += kRunBytes; });
  }
  runs_ = runs < packed;
}

void LevelEncoder::Encode(uint64_t first, uint64_t count, ByteVector& out) const {
  if (runs_) {
    ByteVector values;
    ByteVector lengths;
    VisitRuns(view_, first, count, [&](bool null, uint64_t length) {
      values.push_back(null);
      values.push_back(0);
      lengths.push_back(static_cast<uint8_t>(length));
    });
    const uint64_t size = values.size();
    out.resize(sizeof(size));
    std::memcpy(out.data(), &size, sizeof(size));
    out.insert(out.end(), values.begin(), values.end());
    out.insert(out.end(), lengths.begin(), lengths.end());
    return;
  }
  for (uint64_t done = 0; done < count; done += kPackedUnit) {
    const uint64_t part = std::min<uint64_t>(kPackedUnit, count - done);
    uint16_t unit[kPackedUnit] = {};
    for (uint64_t i = 0; i < part; ++i) unit[i] = view_.IsNull(first + done + i);
    const size_t at = out.size();
    if (part == kPackedUnit || PackTail(part)) {
      out.resize(at + PackedBytes(kWidth));
      PackUnit<uint16_t>(unit, kWidth, out.data() + at);
    } else {
      out.resize(at + part * kLevelBytes);
      std::memcpy(out.data() + at, unit, part * kLevelBytes);
    }
  }
}

void LevelEncoder::Describe(pb::CompressiveEncoding& encoding) const {
  if (runs_) {
    encoding.mutable_rle()->mutable_values()->mutable_flat()->set_bits_per_value(16);
    encoding.mutable_rle()->mutable_run_lengths()->mutable_flat()->set_bits_per_value(8);
    return;
  }
  encoding.mutable_out_of_line_bitpacking()->set_uncompressed_bits_per_value(16);
  encoding.mutable_out_of_line_bitpacking()->mutable_values()->mutable_flat()->set_bits_per_value(kWidth);
}

}  // namespace javelin::file
