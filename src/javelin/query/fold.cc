#include "javelin/query/fold.h"

#include <unordered_set>

#include "javelin/base/error.h"
#include "javelin/file/pick_rows.h"

namespace javelin::query {

namespace {
using BatchPtr = std::shared_ptr<arrow::RecordBatch>;

// Brings pieces that several sources answered into the order of the request.
class Gather {
 public:
  Gather(std::shared_ptr<arrow::Schema> schema, size_t size) : schema_(std::move(schema)), place_of_(size) {}

  // Row i of `rows` answers number `numbers[i]`.
  void Add(BatchPtr rows, const std::vector<size_t>& numbers) {
    for (size_t i = 0; i < numbers.size(); ++i) place_of_[numbers[i]] = next_ + i;
    next_ += numbers.size();
    pieces_.push_back(std::move(rows));
  }

  arrow::Result<BatchPtr> Finish() const {
    if (pieces_.empty()) return arrow::RecordBatch::MakeEmpty(schema_);
    arrow::UInt64Builder order;
    bool sorted = true;
    for (const auto& place : place_of_) {
      if (!place.has_value()) continue;
      sorted = sorted && *place == static_cast<uint64_t>(order.length());
      ARROW_RETURN_NOT_OK(order.Append(*place));
    }
    if (sorted && pieces_.size() == 1) return pieces_[0];
    if (schema_->num_fields() == 0) return arrow::RecordBatch::Make(schema_, order.length(), arrow::ArrayVector{});
    ARROW_ASSIGN_OR_RAISE(const BatchPtr all, arrow::ConcatenateRecordBatches(pieces_));
    ARROW_ASSIGN_OR_RAISE(const auto rows, order.Finish());
    return file::TakeRows(all, *rows);
  }

 private:
  const std::shared_ptr<arrow::Schema> schema_;
  std::vector<std::optional<uint64_t>> place_of_;  // by number of the request
  arrow::RecordBatchVector pieces_;
  uint64_t next_ = 0;
};

std::shared_ptr<arrow::Field> GenerationField() { return arrow::field("_memtable_gen", arrow::uint64(), false); }

arrow::Result<BatchPtr> WithGeneration(const BatchPtr& batch, uint64_t generation) {
  ARROW_ASSIGN_OR_RAISE(const auto column,
                        arrow::MakeArrayFromScalar(arrow::UInt64Scalar(generation), batch->num_rows()));
  return batch->AddColumn(batch->num_columns(), GenerationField(), column);
}

}  // namespace

Fold::Fold(std::vector<Shard> shards, std::shared_ptr<const Source> base, bool keyed)
    : shards_(std::move(shards)), base_(std::move(base)) {
  std::vector<const Source*> all;
  for (const Shard& shard : shards_) {
    std::vector<const Source*> newer;
    for (const auto& source : shard) {
      arms_.push_back({source.get(), BlockList(keyed ? newer : std::vector<const Source*>{})});
      newer.push_back(source.get());
    }
    all.insert(all.end(), newer.begin(), newer.end());
  }
  arms_.push_back({base_.get(), BlockList(keyed ? std::move(all) : std::vector<const Source*>{})});
}

arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> Fold::Scan(SourceScan scan, bool with_generation) const {
  struct State {
    SourceScan scan;
    size_t arm = 0;
    std::shared_ptr<arrow::RecordBatchReader> reader;
    uint64_t skip;  // rows still to leave out
  };
  const uint64_t batch_rows = scan.batch_rows;
  const auto limit = scan.limit;
  auto schema = scan.OutputSchema();
  if (with_generation) {
    ARROW_ASSIGN_OR_RAISE(schema, schema->AddField(schema->num_fields(), GenerationField()));
  }
  auto state = std::make_shared<State>();
  state->skip = scan.offset;
  // No arm needs to deliver more than what is left of both.
  if (scan.limit.has_value()) *scan.limit += std::min(scan.offset, UINT64_MAX - *scan.limit);
  scan.offset = 0;
  state->scan = std::move(scan);
  const auto next = [this, state, with_generation]() -> arrow::Result<BatchPtr> {
    while (true) {
      if (state->reader == nullptr) {
        if (state->arm == arms_.size()) return BatchPtr();
        const Arm& arm = arms_[state->arm++];
        state->scan.newer = arm.newer.empty() ? nullptr : &arm.newer;
        // The last one may skip without reading.
        if (state->arm == arms_.size()) {
          state->scan.offset = std::exchange(state->skip, 0);
          if (state->scan.limit.has_value()) *state->scan.limit -= std::min(*state->scan.limit, state->scan.offset);
        }
        ARROW_ASSIGN_OR_RAISE(state->reader, arm.source->Scan(state->scan));
      }
      BatchPtr batch;
      ARROW_RETURN_NOT_OK(state->reader->ReadNext(&batch));
      if (batch == nullptr) {
        state->reader.reset();
        continue;
      }
      const auto rows = static_cast<uint64_t>(batch->num_rows());
      if (state->scan.limit.has_value()) *state->scan.limit -= std::min(*state->scan.limit, rows);
      const uint64_t skipped = std::min(state->skip, rows);
      state->skip -= skipped;
      if (skipped == rows) continue;
      if (with_generation) {
        ARROW_ASSIGN_OR_RAISE(batch, WithGeneration(batch, arms_[state->arm - 1].source->generation()));
      }
      return batch->Slice(static_cast<int64_t>(skipped));
    }
  };
  return MakeWindowReader(std::move(schema), next, /*offset=*/0, limit, batch_rows);
}

arrow::Result<uint64_t> Fold::CountRows() const {
  uint64_t count = 0;
  for (const Arm& arm : arms_) {
    if (arm.newer.empty()) {
      ARROW_ASSIGN_OR_RAISE(const auto known, arm.source->KnownRows());
      if (known.has_value()) {
        count += *known;
        continue;
      }
    }
    SourceScan scan;
    scan.newer = arm.newer.empty() ? nullptr : &arm.newer;
    ARROW_ASSIGN_OR_RAISE(const auto reader, arm.source->Scan(scan));
    while (true) {
      BatchPtr batch;
      ARROW_RETURN_NOT_OK(reader->ReadNext(&batch));
      if (batch == nullptr) break;
      count += static_cast<uint64_t>(batch->num_rows());
    }
  }
  return count;
}

arrow::Result<BatchPtr> Fold::Get(const std::vector<std::string>& keys, const file::Schema& columns) const {
  std::vector<index::HashedKey> asked;
  std::unordered_set<std::string_view> seen;
  for (const std::string& key : keys) {
    if (seen.insert(key).second) asked.emplace_back(key);
  }
  std::vector<std::optional<FoundRow>> found(asked.size());
  std::vector<bool> decided(asked.size());
  size_t open = asked.size();
  Gather gather(columns.ToArrow(), asked.size());
  for (const Arm& arm : arms_) {
    if (open == 0) break;
    ARROW_RETURN_NOT_OK(arm.source->Find(asked, &found));
    std::vector<uint64_t> positions;
    std::vector<size_t> numbers;
    for (size_t i = 0; i < asked.size(); ++i) {
      if (decided[i] || !found[i].has_value()) continue;
      decided[i] = true;
      --open;
      if (found[i]->deleted) continue;
      positions.push_back(found[i]->position);
      numbers.push_back(i);
    }
    if (positions.empty()) continue;
    ARROW_ASSIGN_OR_RAISE(auto rows, arm.source->Take(positions, columns));
    gather.Add(std::move(rows), numbers);
  }
  return gather.Finish();
}

}  // namespace javelin::query
