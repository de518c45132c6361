#include "javelin/table/row_lineage.h"

#include "javelin/base/error.h"
#include "javelin/table/moved_rows.h"
#include "javelin/table/row_lineage_internal.h"
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

namespace {

arrow::Result<std::optional<RowVersions>> DecodeVersions(bool in_column, const std::string& bytes,
                                                         const Fragment& fragment) {
  if (in_column) return std::nullopt;
  auto versions = RowVersions::Decode(bytes);
  if (!versions.ok()) return WithContext(versions.status(), fmt::format("fragment {}", fragment.id));
  return std::optional(*std::move(versions));
}

void SetRange(uint64_t start, uint64_t end, wire::U64Segment* segment) {
  segment->mutable_range()->set_start(start);
  segment->mutable_range()->set_end(end);
}

void AppendRun(uint64_t rows, uint64_t version, wire::RowDatasetVersionSequence* versions) {
  if (rows == 0) return;
  wire::RowDatasetVersionSequence::Run* run = versions->add_runs();
  run->mutable_span()->mutable_range()->set_end(rows);
  run->set_version(version);
}

template <typename Offset>
std::string Offsets(std::span<const uint64_t> values, uint64_t base) {
  std::string bytes;
  for (uint64_t value : values) {
    const auto offset = static_cast<Offset>(value - base);
    bytes.append(reinterpret_cast<const char*>(&offset), sizeof(offset));
  }
  return bytes;
}

void SetArray(std::span<const uint64_t> values, wire::EncodedU64Array* array) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const uint64_t base = *least, range = *most - *least;
  if (range <= UINT16_MAX) {
    array->mutable_u16_array()->set_base(base);
    array->mutable_u16_array()->set_offsets(Offsets<uint16_t>(values, base));
  } else if (range <= UINT32_MAX) {
    array->mutable_u32_array()->set_base(base);
    array->mutable_u32_array()->set_offsets(Offsets<uint32_t>(values, base));
  } else {
    array->mutable_u64_array()->set_values(Offsets<uint64_t>(values, 0));
  }
}

// Row ids as runs of consecutive numbers.
class IdRanges {
 public:
  void Append(uint64_t first, uint64_t count) {
    rows_ += count;
    if (!ranges_.empty() && ranges_.back().second == first) {
      ranges_.back().second += count;
    } else if (count > 0) {
      ranges_.emplace_back(first, first + count);
    }
  }

  // Long runs as ranges, else one array of all.
  void Store(wire::RowIdSequence* sequence) const {
    constexpr size_t kRowsPerRange = 8;  // from here on a range takes less than an array of its numbers
    if (ranges_.size() == 1 || ranges_.size() * kRowsPerRange <= rows_) {
      for (const auto& [start, end] : ranges_) SetRange(start, end, sequence->add_segments());
      return;
    }
    std::vector<uint64_t> ids;
    ids.reserve(rows_);
    for (const auto& [start, end] : ranges_) {
      for (uint64_t id = start; id < end; ++id) ids.push_back(id);
    }
    const bool ascending = std::is_sorted(ids.begin(), ids.end());
    wire::U64Segment* segment = sequence->add_segments();
    SetArray(ids, ascending ? segment->mutable_sorted_array() : segment->mutable_array());
  }

 private:
  std::vector<std::pair<uint64_t, uint64_t>> ranges_;
  uint64_t rows_ = 0;
};

}  // namespace

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

arrow::Result<RowVersions> RowVersions::Decode(std::string_view bytes) {
  wire::RowDatasetVersionSequence message;
  ARROW_RETURN_NOT_OK(Parse(bytes, message, "a sequence of row versions"));
  RowVersions versions;
  uint64_t end = 0;
  for (const auto& run : message.runs()) {
    RowIdDecoder span;
    ARROW_RETURN_NOT_OK(span.Add(run.span()));
    const uint64_t rows = span.Finish().size();
    if (rows > UINT64_MAX - end) return Corruption("a sequence of row versions holds more than 2^64 rows");
    end += rows;
    versions.runs_.push_back({end, run.version()});
  }
  return versions;
}

void RowVersions::Read(uint64_t first, std::span<uint64_t> versions) const {
  auto run =
      std::upper_bound(runs_.begin(), runs_.end(), first, [](uint64_t row, const Run& r) { return row < r.end; });
  for (size_t done = 0; done < versions.size();) {
    if (run == runs_.end()) {
      std::fill(versions.begin() + static_cast<ptrdiff_t>(done), versions.end(),
                runs_.empty() ? 1 : runs_.back().version);
      return;
    }
    for (; done < versions.size() && first + done < run->end; ++done) versions[done] = run->version;
    ++run;
  }
}

arrow::Result<std::optional<RowVersions>> DecodeCreatedVersions(const Fragment& fragment) {
  ARROW_ASSIGN_OR_RAISE(const wire::DataFragment message, ParseLineage(fragment));
  return DecodeVersions(message.has_created_at_in_column(), message.inline_created_at_versions(), fragment);
}

arrow::Result<std::optional<RowVersions>> DecodeUpdatedVersions(const Fragment& fragment) {
  ARROW_ASSIGN_OR_RAISE(const wire::DataFragment message, ParseLineage(fragment));
  return DecodeVersions(message.has_last_updated_at_in_column(), message.inline_last_updated_at_versions(), fragment);
}

std::string LineageOfNewRows(uint64_t first_row_id, uint64_t rows, TableVersion version) {
  wire::RowIdSequence ids;
  SetRange(first_row_id, first_row_id + rows, ids.add_segments());
  wire::RowDatasetVersionSequence versions;
  AppendRun(rows, version.value(), &versions);
  wire::DataFragment lineage;
  lineage.set_inline_row_ids(Serialize(ids));
  lineage.set_inline_last_updated_at_versions(Serialize(versions));
  lineage.set_inline_created_at_versions(Serialize(versions));
  return Serialize(lineage);
}

std::string LineageOfReplacedRows(std::span<const RowOrigin> rows) {
  IdRanges ids;
  wire::RowDatasetVersionSequence created;
  for (size_t first = 0; first < rows.size();) {
    size_t end = first;
    for (; end < rows.size() && rows[end].created_version == rows[first].created_version; ++end)
      ids.Append(rows[end].row_id, 1);
    AppendRun(end - first, rows[first].created_version, &created);
    first = end;
  }
  wire::RowIdSequence sequence;
  ids.Store(&sequence);
  wire::DataFragment lineage;
  lineage.set_inline_row_ids(Serialize(sequence));
  lineage.set_inline_created_at_versions(Serialize(created));
  return Serialize(lineage);
}

namespace {

// Runs of versions, neighbours of the same one as one.
class VersionRuns {
 public:
  void Append(uint64_t rows, uint64_t version) {
    if (version != version_) Flush();
    version_ = version;
    rows_ += rows;
  }
  std::string Finish() {
    Flush();
    return Serialize(sequence_);
  }

 private:
  void Flush() { AppendRun(std::exchange(rows_, 0), version_, &sequence_); }

  wire::RowDatasetVersionSequence sequence_;
  uint64_t rows_ = 0, version_ = 0;
};

}  // namespace

void MovedRows::Append(std::span<const uint64_t> row_ids, std::span<const uint64_t> created_versions,
                       std::span<const uint64_t> updated_versions) {
  for (size_t i = 0; i < row_ids.size(); ++i) {
    const uint64_t end = runs_.empty() ? 0 : runs_.back().end;
    if (end != 0 && runs_.back().row_id + runs_.back().rows == row_ids[i] &&
        runs_.back().created == created_versions[i] && runs_.back().updated == updated_versions[i]) {
      ++runs_.back().rows;
      ++runs_.back().end;
    } else {
      runs_.push_back({end + 1, row_ids[i], 1, created_versions[i], updated_versions[i]});
    }
  }
}

std::string MovedRows::Lineage(uint64_t first, uint64_t rows) const {
  IdRanges ids;
  VersionRuns created, updated;
  auto run =
      std::upper_bound(runs_.begin(), runs_.end(), first, [](uint64_t row, const Run& r) { return row < r.end; });
  for (uint64_t at = first; at < first + rows; ++run) {
    const uint64_t skip = at - (run->end - run->rows);
    const uint64_t taken = std::min(run->rows - skip, first + rows - at);
    ids.Append(run->row_id + skip, taken);
    created.Append(taken, run->created);
    updated.Append(taken, run->updated);
    at += taken;
  }
  wire::RowIdSequence sequence;
  ids.Store(&sequence);
  wire::DataFragment lineage;
  lineage.set_inline_row_ids(Serialize(sequence));
  lineage.set_inline_created_at_versions(created.Finish());
  lineage.set_inline_last_updated_at_versions(updated.Finish());
  return Serialize(lineage);
}

arrow::Result<std::string> CompleteLineage(std::string_view of_transaction, uint64_t rows, TableVersion version,
                                           uint64_t* next_row_id) {
  wire::DataFragment lineage;
  ARROW_RETURN_NOT_OK(Parse(of_transaction, lineage, "the lineage of a new fragment"));
  ARROW_ASSIGN_OR_RAISE(const RowIdSequence known, RowIdSequence::Decode(lineage.inline_row_ids()));
  if (known.size() > rows) return InvalidInput("{} row ids were given for a fragment of {} rows", known.size(), rows);
  const uint64_t fresh = rows - known.size();
  if (fresh > UINT64_MAX - *next_row_id) return NotSupported("the table has used up its row ids");
  if (known.size() == 0) {
    *next_row_id += fresh;
    return LineageOfNewRows(*next_row_id - fresh, rows, version);
  }
  wire::RowIdSequence ids;
  ARROW_RETURN_NOT_OK(Parse(lineage.inline_row_ids(), ids, "row ids"));
  if (fresh > 0) SetRange(*next_row_id, *next_row_id + fresh, ids.add_segments());
  wire::RowDatasetVersionSequence created, updated;
  ARROW_RETURN_NOT_OK(Parse(lineage.inline_created_at_versions(), created, "creation versions"));
  AppendRun(fresh, version.value(), &created);
  AppendRun(rows, version.value(), &updated);
  *next_row_id += fresh;
  lineage.set_inline_row_ids(Serialize(ids));
  lineage.set_inline_created_at_versions(Serialize(created));
  lineage.set_inline_last_updated_at_versions(Serialize(updated));
  return Serialize(lineage);
}

namespace {

// Appends rows [first, end), of which those in `updated` have the new version and the others the old one.
void AppendUpdated(uint64_t first, uint64_t end, uint64_t old_version, const OffsetSet& updated, uint64_t new_version,
                   wire::RowDatasetVersionSequence* versions) {
  uint64_t done = first;
  for (const OffsetSet::Run& run : updated.runs()) {
    const uint64_t start = std::max<uint64_t>(run.first, done), stop = std::min<uint64_t>(uint64_t{run.last} + 1, end);
    if (start >= stop) continue;
    AppendRun(start - done, old_version, versions);
    AppendRun(stop - start, new_version, versions);
    done = stop;
  }
  AppendRun(end - done, old_version, versions);
}

}  // namespace

arrow::Result<std::string> LineageOfUpdatedRows(const Fragment& fragment, const OffsetSet* updated,
                                                TableVersion version) {
  ARROW_ASSIGN_OR_RAISE(wire::DataFragment lineage, ParseLineage(fragment));
  wire::RowDatasetVersionSequence versions;
  if (updated == nullptr) {
    AppendRun(fragment.physical_rows, version.value(), &versions);
  } else if (lineage.has_last_updated_at_in_column()) {
    return NotSupported("an update of some rows of fragment {}, whose versions of last update lie in a data file",
                        fragment.id);
  } else {
    wire::RowDatasetVersionSequence old;
    ARROW_RETURN_NOT_OK(Parse(lineage.inline_last_updated_at_versions(), old, "versions of last update"));
    uint64_t done = 0, last = 1;
    for (const auto& run : old.runs()) {
      RowIdDecoder span;
      ARROW_RETURN_NOT_OK(span.Add(run.span()));
      const uint64_t end = std::min(fragment.physical_rows, done + span.Finish().size());
      AppendUpdated(done, end, run.version(), *updated, version.value(), &versions);
      done = end;
      last = run.version();
    }
    AppendUpdated(done, fragment.physical_rows, last, *updated, version.value(), &versions);
  }
  lineage.set_inline_last_updated_at_versions(Serialize(versions));
  return Serialize(lineage);
}

}  // namespace javelin::table
