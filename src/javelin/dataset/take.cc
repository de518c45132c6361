#include "javelin/dataset/take_internal.h"

#include <algorithm>
#include <deque>
#include <map>

#include <arrow/compute/initialize.h>
#include <arrow/record_batch.h>

#include "javelin/base/error.h"
#include "javelin/dataset/ahead_internal.h"
#include "javelin/dataset/fragment_reader_internal.h"
#include "javelin/dataset/projection_internal.h"
#include "javelin/file/array_bytes.h"
#include "javelin/file/distinct_rows.h"
#include "javelin/file/pick_rows.h"

namespace javelin::internal {

namespace {

// Fragments whose rows are asked for at the same time.
constexpr size_t kFragmentsAtOnce = 16;

using BatchPtr = std::shared_ptr<arrow::RecordBatch>;

// Rows of one fragment.
arrow::Result<BatchPtr> TakeFromFragment(const std::shared_ptr<const DatasetState>& table, const Projection& projection,
                                         std::span<const RowAddress> addresses) {
  ARROW_ASSIGN_OR_RAISE(const table::Fragment* fragment, table->GetFragment(addresses.front().fragment()));
  ARROW_ASSIGN_OR_RAISE(const auto reader, FragmentReader::Open(table, *fragment, projection));
  std::vector<uint64_t> offsets;
  offsets.reserve(addresses.size());
  for (RowAddress address : addresses) {
    ARROW_RETURN_NOT_OK(CheckLive(*table, reader->rows(), address));
    offsets.push_back(address.offset());
  }
  return reader->Take(offsets);
}

// A batch of each fragment. Several are asked side by side: one after the other, each would add its round trips.
arrow::Result<arrow::RecordBatchVector> TakeFromFragments(const std::shared_ptr<const DatasetState>& table,
                                                          const Projection& projection,
                                                          std::span<const RowAddress> addresses) {
  std::vector<std::span<const RowAddress>> groups;
  for (size_t start = 0; start < addresses.size(); start += groups.back().size()) {
    size_t end = start;
    while (end < addresses.size() && addresses[end].fragment() == addresses[start].fragment()) ++end;
    groups.push_back(addresses.subspan(start, end - start));
  }
  arrow::RecordBatchVector batches;
  std::deque<Ahead<BatchPtr>> ahead;
  for (size_t next = 0; batches.size() < groups.size();) {
    for (; groups.size() > 1 && next < groups.size() && ahead.size() < kFragmentsAtOnce; ++next) {
      ahead.emplace_back(table->session->runtime(), "take", [&table, &projection, group = groups[next]] {
        return TakeFromFragment(table, projection, group);
      });
    }
    ARROW_ASSIGN_OR_RAISE(auto batch,
                          ahead.empty() ? TakeFromFragment(table, projection, groups[0]) : ahead.front().Get());
    batches.push_back(std::move(batch));
    if (!ahead.empty()) ahead.pop_front();
  }
  return batches;
}

arrow::Result<MemoryReservation> ReserveFor(const DatasetState& table, const arrow::Result<uint64_t>& bytes) {
  ARROW_RETURN_NOT_OK(bytes.status());
  constexpr uint64_t kMost = INT64_MAX;
  return MemoryReservation::Make(*table.session->resources().memory, static_cast<int64_t>(std::min(*bytes, kMost)),
                                 "a take");
}

// DatasetState::live_rows_before; from the files as far as `rows` reach where the manifest does not say it.
arrow::Result<std::shared_ptr<const std::vector<uint64_t>>> LiveRowsBefore(const DatasetState& table,
                                                                           std::span<const uint64_t> rows) {
  if (table.live_rows_before != nullptr) return table.live_rows_before;
  const uint64_t last = rows.empty() ? 0 : *std::max_element(rows.begin(), rows.end());
  auto before = std::make_shared<std::vector<uint64_t>>(1, 0);
  for (const table::Fragment& fragment : table.manifest().fragments) {
    if (before->back() > last) break;
    ARROW_ASSIGN_OR_RAISE(const uint64_t live, CountLiveRows(table, fragment));
    before->push_back(before->back() + live);
  }
  return before;
}

}  // namespace

arrow::Result<std::vector<RowAddress>> AddressesOf(const DatasetState& table, std::span<const uint64_t> rows) {
  const std::vector<table::Fragment>& fragments = table.manifest().fragments;
  ARROW_ASSIGN_OR_RAISE(const auto before, LiveRowsBefore(table, rows));
  std::map<size_t, FragmentRows> in_fragments;
  std::vector<RowAddress> addresses;
  addresses.reserve(rows.size());
  for (const uint64_t row : rows) {
    if (row >= before->back())
      return InvalidInput("row {} does not exist; '{}' has {} rows", row, table.location.uri, before->back());
    const auto after = std::upper_bound(before->begin(), before->end(), row);
    const size_t index = static_cast<size_t>(after - before->begin()) - 1;
    auto found = in_fragments.find(index);
    if (found == in_fragments.end()) {
      ARROW_ASSIGN_OR_RAISE(FragmentRows loaded, FragmentRows::Load(table, fragments[index]));
      found = in_fragments.emplace(index, std::move(loaded)).first;
    }
    const uint64_t offset = found->second.NthLive(row - (*before)[index]);
    addresses.push_back(RowAddress(fragments[index].id, static_cast<uint32_t>(offset)));
  }
  return addresses;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> TakeRows(const std::shared_ptr<const DatasetState>& table,
                                                            std::span<const RowAddress> addresses,
                                                            const std::optional<std::vector<std::string>>& columns) {
  ARROW_ASSIGN_OR_RAISE(const Projection projection, Projection::Make(table->manifest().schema, columns, false, false));
  return TakeRows(table, addresses, projection);
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> TakeRows(const std::shared_ptr<const DatasetState>& table,
                                                            std::span<const RowAddress> addresses,
                                                            const Projection& projection) {
  ARROW_RETURN_NOT_OK(arrow::compute::Initialize());
  std::vector<uint64_t> asked;
  asked.reserve(addresses.size());
  for (RowAddress address : addresses) asked.push_back(address.packed());
  const file::DistinctRows distinct(asked);
  std::vector<RowAddress> each;
  each.reserve(distinct.rows.size());
  for (uint64_t address : distinct.rows) each.emplace_back(address);
  ARROW_ASSIGN_OR_RAISE(const auto batches, TakeFromFragments(table, projection, each));
  arrow::MemoryPool* pool = table->session->resources().pool;
  if (batches.empty()) return arrow::RecordBatch::MakeEmpty(projection.arrow_schema(), pool);
  BatchPtr rows = batches[0];
  if (batches.size() > 1) {
    ARROW_ASSIGN_OR_RAISE(const auto memory, ReserveFor(*table, file::JoinedBytes(batches)));
    ARROW_ASSIGN_OR_RAISE(rows, file::JoinRows(batches, pool));
  }
  if (distinct.in_order) return rows;
  if (rows->num_columns() == 0)
    return arrow::RecordBatch::Make(rows->schema(), static_cast<int64_t>(addresses.size()), arrow::ArrayVector{});
  const arrow::UInt64Array indices(static_cast<int64_t>(addresses.size()), arrow::Buffer::Wrap(distinct.places));
  // A row may be asked for any number of times.
  ARROW_ASSIGN_OR_RAISE(const auto memory, ReserveFor(*table, file::TakenBytes(*rows, indices)));
  return file::TakeRows(rows, indices, pool);
}

}  // namespace javelin::internal
