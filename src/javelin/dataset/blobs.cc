#include "javelin/dataset/blobs.h"

#include <algorithm>
#include <utility>

#include <arrow/api.h>

#include "javelin/base/error.h"
#include "javelin/dataset/blob_objects_internal.h"
#include "javelin/dataset/dataset_state_internal.h"
#include "javelin/dataset/projection_internal.h"
#include "javelin/dataset/row_selection_internal.h"
#include "javelin/dataset/take_internal.h"
#include "javelin/file/blob_field.h"

namespace javelin {

namespace {

using internal::BlobObjects;
using internal::BlobPiece;
using internal::BlobPlace;
using internal::DatasetState;

constexpr uint64_t kMostIoBuffer = 64u << 20;
constexpr uint64_t kBudgetShare = 8;

BufferPtr NoBytes() { return std::make_shared<arrow::Buffer>(nullptr, 0); }

// A top-level column of structs with nothing in it but the way to a blob field.
struct BlobPath {
  file::Field column;
  size_t depth = 0;  // of the blob field in it

  static arrow::Result<BlobPath> Find(const file::Schema& schema, const std::string& path) {
    const size_t dot = path.find('.');
    ARROW_ASSIGN_OR_RAISE(const file::Schema selected, schema.Select({path.substr(0, dot)}));
    BlobPath found{selected.fields()[0]};
    ARROW_RETURN_NOT_OK(Prune(found.column, dot == std::string::npos ? "" : path.substr(dot + 1), path, found.depth));
    return found;
  }

 private:
  static arrow::Status Prune(file::Field& field, const std::string& rest, const std::string& path, size_t& depth) {
    const bool is_blob = file::BlobKindOf(field) != file::BlobKind::kNone;
    if (rest.empty() && is_blob) return arrow::Status::OK();
    if (rest.empty()) return InvalidInput("'{}' is no column of blobs; it is {}", path, field.type->ToString());
    if (is_blob || field.logical_type != "struct")
      return InvalidInput(
          "'{}' of '{}' is no struct, so that no blob of a row lies in it; read blobs in lists by "
          "all_binary",
          field.name, path);
    const size_t dot = rest.find('.');
    const auto child = std::ranges::find(field.children, rest.substr(0, dot), &file::Field::name);
    if (child == field.children.end())
      return InvalidInput("'{}' is no column; '{}' has no such field", path, field.name);
    file::Field only = std::move(*child);
    ARROW_RETURN_NOT_OK(Prune(only, dot == std::string::npos ? "" : rest.substr(dot + 1), path, depth));
    field.type = arrow::struct_({file::ToArrowField(only)});
    field.children = {std::move(only)};
    ++depth;
    return arrow::Status::OK();
  }
};

}  // namespace

// The blobs of some rows of a column, of which it is known where they lie.
class BlobColumn {
 public:
  static arrow::Result<BlobColumn> Select(const Dataset& dataset, const std::string& column, RowSelector selector,
                                          std::span<const uint64_t> rows) {
    BlobColumn blobs;
    const auto& table = DatasetState::Of(dataset);
    ARROW_ASSIGN_OR_RAISE(const BlobPath path, BlobPath::Find(dataset.schema(), column));
    ARROW_ASSIGN_OR_RAISE(blobs.rows_, internal::SelectRows(table, selector, rows));
    ARROW_ASSIGN_OR_RAISE(const auto projection,
                          internal::Projection::Make(file::Schema({path.column}, {}), std::nullopt, false, false));
    ARROW_ASSIGN_OR_RAISE(const auto batch, internal::TakeRows(table, blobs.rows_, projection));
    std::shared_ptr<arrow::Array> array = batch->column(0);
    const file::Field* field = &path.column;
    for (size_t i = 0; i < path.depth; ++i, field = &field->children[0]) {
      ARROW_ASSIGN_OR_RAISE(
          array, static_cast<const arrow::StructArray&>(*array).GetFlattenedField(0, table->session->resources().pool));
    }
    const internal::BlobDescriptions descriptions(*field, static_cast<const arrow::StructArray&>(*array));
    blobs.objects_ = std::make_shared<BlobObjects>(table);
    std::vector<BlobPlace*> places;
    blobs.places_.resize(blobs.rows_.size());
    for (size_t i = 0; i < blobs.rows_.size(); ++i) {
      ARROW_ASSIGN_OR_RAISE(blobs.places_[i],
                            blobs.objects_->Place(descriptions, static_cast<int64_t>(i), blobs.rows_[i]));
      if (blobs.places_[i]) places.push_back(&*blobs.places_[i]);
    }
    ARROW_RETURN_NOT_OK(blobs.objects_->MeasureWhole(places));
    return blobs;
  }

  std::vector<std::shared_ptr<const Blob>> Take() && {
    std::vector<std::shared_ptr<const Blob>> blobs;
    for (const auto& place : places_)
      blobs.push_back(place ? std::shared_ptr<const Blob>(new Blob(objects_, *place)) : nullptr);
    return blobs;
  }

  // `ranges`, one of each, or none: the whole blobs.
  arrow::Result<std::unique_ptr<BlobReader>> Read(std::span<const BlobRequest> ranges,
                                                  const BlobReadOptions& options) && {
    std::unique_ptr<BlobReader> reader(new BlobReader(objects_, options));
    for (size_t i = 0; i < places_.size(); ++i) {
      if (!places_[i]) {
        reader->known_.push_back({i, rows_[i], nullptr});
        continue;
      }
      const ByteRange whole = places_[i]->range;
      const ByteRange part = ranges.empty() ? ByteRange{0, whole.length} : ranges[i].range;
      if (part.end() > whole.length)
        return InvalidInput("request {} ends at byte {} of the blob of row {}, which has {} bytes", i, part.end(),
                            ranges[i].row, whole.length);
      if (part.length == 0) {
        reader->known_.push_back({i, rows_[i], NoBytes()});
      } else {
        reader->pieces_.push_back({places_[i]->object, {whole.offset + part.offset, part.length}, i});
      }
    }
    std::ranges::sort(reader->pieces_, [](const BlobPiece& a, const BlobPiece& b) { return a < b; });
    reader->rows_ = std::move(rows_);
    return reader;
  }

 private:
  std::shared_ptr<BlobObjects> objects_;
  std::vector<RowAddress> rows_;
  std::vector<std::optional<BlobPlace>> places_;  // none: null
};

// ---- one blob ----

Blob::Blob(std::shared_ptr<const BlobObjects> objects, const BlobPlace& place)
    : objects_(std::move(objects)), object_(place.object), place_(place.range) {}

uint64_t Blob::size() const { return place_.length; }

arrow::Result<BufferPtr> Blob::Read(uint64_t offset, uint64_t length) const {
  const ByteRange range{offset, length};
  ARROW_ASSIGN_OR_RAISE(const auto bytes, Read({&range, 1}));
  return bytes[0];
}

arrow::Result<std::vector<BufferPtr>> Blob::Read(std::span<const ByteRange> ranges) const {
  std::vector<BlobPiece> pieces;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const ByteRange& range = ranges[i];
    if (range.offset > size() || range.length > size() - range.offset)
      return InvalidInput("{} bytes from byte {} on do not lie in a blob of {} bytes", range.length, range.offset,
                          size());
    if (range.length != 0) pieces.push_back({object_, {place_.offset + range.offset, range.length}, i});
  }
  std::ranges::sort(pieces, [](const BlobPiece& a, const BlobPiece& b) { return a < b; });
  std::vector<BufferPtr> answers(ranges.size(), NoBytes());
  if (pieces.empty()) return answers;
  ARROW_ASSIGN_OR_RAISE(const auto memory, objects_->Reserve(pieces));
  ARROW_ASSIGN_OR_RAISE(auto bytes, objects_->Read(pieces));
  for (size_t i = 0; i < pieces.size(); ++i) answers[pieces[i].slot] = std::move(bytes[i]);
  return answers;
}

arrow::Result<std::vector<std::shared_ptr<const Blob>>> TakeBlobs(const Dataset& dataset, const std::string& column,
                                                                  RowSelector selector,
                                                                  std::span<const uint64_t> rows) {
  ARROW_ASSIGN_OR_RAISE(BlobColumn blobs, BlobColumn::Select(dataset, column, selector, rows));
  return std::move(blobs).Take();
}

// ---- many blobs ----

BlobReader::BlobReader(std::shared_ptr<const BlobObjects> objects, const BlobReadOptions& options)
    : objects_(std::move(objects)), io_buffer_bytes_(options.io_buffer_bytes) {
  const auto limit = static_cast<uint64_t>(objects_->table().session->resources().memory->limit());
  if (io_buffer_bytes_ == 0) io_buffer_bytes_ = std::min(kMostIoBuffer, limit / kBudgetShare);
}

BlobReader::~BlobReader() = default;

arrow::Result<std::unique_ptr<BlobReader>> BlobReader::OpenWhole(const Dataset& dataset, const std::string& column,
                                                                 RowSelector selector, std::span<const uint64_t> rows,
                                                                 const BlobReadOptions& options) {
  ARROW_ASSIGN_OR_RAISE(BlobColumn blobs, BlobColumn::Select(dataset, column, selector, rows));
  return std::move(blobs).Read({}, options);
}

arrow::Result<std::unique_ptr<BlobReader>> BlobReader::OpenRanges(const Dataset& dataset, const std::string& column,
                                                                  RowSelector selector,
                                                                  std::span<const BlobRequest> requests,
                                                                  const BlobReadOptions& options) {
  std::vector<uint64_t> rows;
  rows.reserve(requests.size());
  for (const auto& [row, range] : requests) {
    if (range.end() < range.offset)
      return InvalidInput("request {} ends behind what 64 bits hold: {} bytes from byte {} on of the blob of row {}",
                          rows.size(), range.length, range.offset, row);
    rows.push_back(row);
  }
  ARROW_ASSIGN_OR_RAISE(BlobColumn blobs, BlobColumn::Select(dataset, column, selector, rows));
  return std::move(blobs).Read(requests, options);
}

arrow::Result<std::vector<BlobAnswer>> BlobReader::Next() {
  ARROW_RETURN_NOT_OK(failed_);
  memory_ = MemoryReservation();
  std::vector<BlobAnswer> answers = std::exchange(known_, {});
  size_t end = next_;
  for (uint64_t bytes = 0; end < pieces_.size(); ++end) {
    const uint64_t more = BlobObjects::BytesToRead(end == next_ ? nullptr : &pieces_[end - 1], pieces_[end]);
    if (end > next_ && (bytes > io_buffer_bytes_ || more > io_buffer_bytes_ - bytes)) break;
    bytes += more;
  }
  const std::span<const BlobPiece> round(pieces_.data() + next_, end - next_);
  if (round.empty()) return answers;
  auto memory = objects_->Reserve(round);
  auto bytes = memory.ok() ? objects_->Read(round) : memory.status();
  failed_ = bytes.status();
  ARROW_RETURN_NOT_OK(failed_);
  memory_ = *std::move(memory);
  next_ = end;
  for (size_t i = 0; i < round.size(); ++i)
    answers.push_back({round[i].slot, rows_[round[i].slot], std::move((*bytes)[i])});
  return answers;
}

}  // namespace javelin
