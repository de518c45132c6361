#include "javelin/table/row_lineage.h"

#include "javelin/base/error.h"
#include "javelin/table/wire_internal.h"

namespace javelin::table {

namespace {

arrow::Result<wire::DataFragment> ParseLineage(const Fragment& fragment) {
  wire::DataFragment message;
  ARROW_RETURN_NOT_OK(Parse(fragment.lineage, message, fmt::format("lineage of fragment {}", fragment.id)));
  return message;
}

template <typename Offset>
arrow::Result<std::vector<uint64_t>> AddBase(uint64_t base, std::string_view bytes) {
  if (bytes.size() % sizeof(Offset) != 0)
    return Corruption("row id array has {} bytes, not a multiple of {}", bytes.size(), sizeof(Offset));
  std::vector<uint64_t> values(bytes.size() / sizeof(Offset));
  for (size_t i = 0; i < values.size(); ++i) {
    Offset offset;
    std::memcpy(&offset, bytes.data() + i * sizeof(Offset), sizeof(Offset));
    values[i] = base + offset;
  }
  return values;
}

arrow::Result<std::vector<uint64_t>> DecodeArray(const wire::EncodedU64Array& message) {
  switch (message.array_case()) {
    case wire::EncodedU64Array::kU16Array:
      return AddBase<uint16_t>(message.u16_array().base(), message.u16_array().offsets());
    case wire::EncodedU64Array::kU32Array:
      return AddBase<uint32_t>(message.u32_array().base(), message.u32_array().offsets());
    case wire::EncodedU64Array::kU64Array: return AddBase<uint64_t>(0, message.u64_array().values());
    case wire::EncodedU64Array::ARRAY_NOT_SET: break;
  }
  return Corruption("row id array of an unknown kind");
}

}  // namespace

class RowIdDecoder {
 public:
  arrow::Status Add(const wire::U64Segment& segment) {
    switch (segment.segment_case()) {
      case wire::U64Segment::kRange: return AddRange(segment.range().start(), segment.range().end());
      case wire::U64Segment::kRangeWithHoles: return AddRangeWithHoles(segment.range_with_holes());
      case wire::U64Segment::kRangeWithBitmap: return AddRangeWithBitmap(segment.range_with_bitmap());
      case wire::U64Segment::kSortedArray: return AddArray(segment.sorted_array());
      case wire::U64Segment::kArray: return AddArray(segment.array());
      case wire::U64Segment::SEGMENT_NOT_SET: break;
    }
    return Corruption("row id segment of an unknown kind");
  }
  RowIdSequence Finish() { return std::move(sequence_); }

 private:
  arrow::Status AddRange(uint64_t start, uint64_t end) {
    if (end < start) return Corruption("row id range [{}, {}) is upside down", start, end);
    if (end == start) return arrow::Status::OK();
    auto& runs = sequence_.runs_;
    const uint64_t before = sequence_.size();
    if (before + (end - start) < before) return Corruption("row id ranges hold more than 2^64 rows");
    if (!runs.empty() && runs.back().start + runs.back().count == start) {
      runs.back().count += end - start;
    } else {
      runs.push_back({start, end - start, before});
    }
    return arrow::Status::OK();
  }

  arrow::Status AddRangeWithHoles(const wire::U64Segment::RangeWithHoles& range) {
    ARROW_ASSIGN_OR_RAISE(std::vector<uint64_t> holes, DecodeArray(range.holes()));
    std::sort(holes.begin(), holes.end());
    uint64_t next = range.start();
    for (uint64_t hole : holes) {
      if (hole < next || hole >= range.end())
        return Corruption("row id hole {} is outside [{}, {}) or repeated", hole, next, range.end());
      ARROW_RETURN_NOT_OK(AddRange(next, hole));
      next = hole + 1;
    }
    return AddRange(next, range.end());
  }

  // Bit i (lowest bit of a byte first) says whether start + i is an id.
  arrow::Status AddRangeWithBitmap(const wire::U64Segment::RangeWithBitmap& range) {
    const std::string& bits = range.bitmap();
    if (range.end() < range.start())
      return Corruption("row id range [{}, {}) is upside down", range.start(), range.end());
    const uint64_t slots = range.end() - range.start();
    if (bits.size() < slots / 8 + (slots % 8 != 0))
      return Corruption("row id bitmap of {} bytes is too short for {} slots", bits.size(), slots);
    auto is_set = [&](uint64_t slot) { return (static_cast<unsigned char>(bits[slot / 8]) >> (slot % 8) & 1) != 0; };
    for (uint64_t slot = 0; slot < slots;) {
      uint64_t end = slot;
      while (end < slots && is_set(end)) ++end;
      ARROW_RETURN_NOT_OK(AddRange(range.start() + slot, range.start() + end));
      slot = end + 1;
    }
    return arrow::Status::OK();
  }

  arrow::Status AddArray(const wire::EncodedU64Array& array) {
    ARROW_ASSIGN_OR_RAISE(const std::vector<uint64_t> values, DecodeArray(array));
    for (uint64_t value : values) {
      if (value == UINT64_MAX) return Corruption("row id {} is reserved", value);
      ARROW_RETURN_NOT_OK(AddRange(value, value + 1));
    }
    return arrow::Status::OK();
  }

  RowIdSequence sequence_;
};

arrow::Result<RowIdSequence> RowIdSequence::Decode(std::string_view bytes) {
  wire::RowIdSequence message;
  ARROW_RETURN_NOT_OK(Parse(bytes, message, "a row id sequence"));
  RowIdDecoder decoder;
  for (const wire::U64Segment& segment : message.segments()) ARROW_RETURN_NOT_OK(decoder.Add(segment));
  return decoder.Finish();
}

void RowIdSequence::Read(uint64_t first, std::span<uint64_t> ids) const {
  auto run =
      std::upper_bound(runs_.begin(), runs_.end(), first, [](uint64_t row, const Run& r) { return row < r.before; });
  if (run != runs_.begin()) --run;
  for (size_t done = 0; done < ids.size(); ++run) {
    const uint64_t skip = first + done - run->before;
    const uint64_t take = std::min<uint64_t>(run->count - skip, ids.size() - done);
    for (uint64_t i = 0; i < take; ++i) ids[done + i] = run->start + skip + i;
    done += take;
  }
}

RowIdsKept WhereRowIdsAre(const Fragment& fragment) {
  if (fragment.lineage.empty()) return RowIdsKept::kNowhere;
  auto message = ParseLineage(fragment);
  if (!message.ok()) return RowIdsKept::kNowhere;
  if (message->has_inline_row_ids()) return RowIdsKept::kInManifest;
  return message->has_row_ids_in_column() ? RowIdsKept::kInColumn : RowIdsKept::kNowhere;
}

arrow::Result<RowIdSequence> DecodeRowIds(const Fragment& fragment, uint64_t physical_rows) {
  ARROW_ASSIGN_OR_RAISE(const wire::DataFragment message, ParseLineage(fragment));
  auto sequence = RowIdSequence::Decode(message.inline_row_ids());
  if (!sequence.ok()) return WithContext(sequence.status(), fmt::format("fragment {}", fragment.id));
  if (sequence->size() != physical_rows) {
    return Corruption("fragment {} has {} rows and {} row ids", fragment.id, physical_rows, sequence->size());
  }
  return sequence;
}

bool HasSpilledLineage(const Fragment& fragment) {
  if (fragment.lineage.empty()) return false;
  auto message = ParseLineage(fragment);
  return message.ok() && (message->has_row_ids_in_column() || message->has_last_updated_at_in_column() ||
                          message->has_created_at_in_column());
}

std::string LineageOfNewRows(uint64_t first_row_id, uint64_t rows, TableVersion version) {
  wire::RowIdSequence ids;
  wire::U64Segment::Range* range = ids.add_segments()->mutable_range();
  range->set_start(first_row_id);
  range->set_end(first_row_id + rows);
  wire::RowDatasetVersionSequence versions;
  wire::RowDatasetVersionSequence::Run* run = versions.add_runs();
  run->mutable_span()->mutable_range()->set_end(rows);
  run->set_version(version.value());
  wire::DataFragment lineage;
  lineage.set_inline_row_ids(Serialize(ids));
  lineage.set_inline_last_updated_at_versions(Serialize(versions));
  lineage.set_inline_created_at_versions(Serialize(versions));
  return Serialize(lineage);
}

}  // namespace javelin::table
