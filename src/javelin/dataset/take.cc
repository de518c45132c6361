#include "javelin/dataset/take_internal.h"

#include <numeric>

#include <arrow/compute/initialize.h>
#include <arrow/record_batch.h>

#include "javelin/base/error.h"
#include "javelin/dataset/fragment_reader_internal.h"
#include "javelin/dataset/projection_internal.h"
#include "javelin/file/pick_rows.h"

namespace javelin::internal {

namespace {

// Positions 0 .. count-1 in ascending order of what `less` compares; equal ones keep their order.
template <typename Less>
std::vector<size_t> SortedPositions(size_t count, Less less) {
  std::vector<size_t> positions(count);
  std::iota(positions.begin(), positions.end(), size_t{0});
  std::stable_sort(positions.begin(), positions.end(), less);
  return positions;
}

// The rows of one fragment, in the order given.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> TakeFromFragment(const std::shared_ptr<const DatasetState>& table,
                                                                    const Projection& projection, FragmentId id,
                                                                    std::span<const RowAddress> addresses) {
  ARROW_ASSIGN_OR_RAISE(const table::Fragment* fragment, table->GetFragment(id));
  ARROW_ASSIGN_OR_RAISE(const auto reader, FragmentReader::Open(table, *fragment, projection));
  std::vector<uint64_t> offsets;
  for (RowAddress address : addresses) {
    ARROW_RETURN_NOT_OK(CheckLive(*table, reader->rows(), address));
    offsets.push_back(address.offset());
  }
  return reader->Take(offsets);
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> Concatenate(const Projection& projection,
                                                               arrow::RecordBatchVector batches,
                                                               arrow::MemoryPool* pool) {
  if (batches.empty()) return arrow::RecordBatch::MakeEmpty(projection.arrow_schema(), pool);
  return batches.size() == 1 ? batches[0] : arrow::ConcatenateRecordBatches(batches, pool);
}

// `rows` lie in the order `order`; brings them back to the order asked.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> Reorder(const std::shared_ptr<arrow::RecordBatch>& rows,
                                                           const std::vector<size_t>& order) {
  if (std::is_sorted(order.begin(), order.end()) || rows->num_columns() == 0) return rows;
  std::vector<uint64_t> place(order.size());
  for (size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  const arrow::UInt64Array indices(static_cast<int64_t>(place.size()), arrow::Buffer::Wrap(place));
  return file::TakeRows(rows, indices);
}

}  // namespace

arrow::Result<std::vector<RowAddress>> AddressesOf(const DatasetState& table, std::span<const uint64_t> rows) {
  const std::vector<size_t> order = SortedPositions(rows.size(), [&](size_t a, size_t b) { return rows[a] < rows[b]; });
  std::vector<RowAddress> addresses(rows.size());
  auto next = order.begin();
  uint64_t before = 0;  // live rows of the fragments passed
  for (const table::Fragment& fragment : table.manifest().fragments) {
    if (next == order.end()) break;
    ARROW_ASSIGN_OR_RAISE(const uint64_t live, CountLiveRows(table, fragment));
    if (rows[*next] - before >= live) {
      before += live;
      continue;
    }
    ARROW_ASSIGN_OR_RAISE(const FragmentRows in_fragment, FragmentRows::Load(table, fragment));
    for (; next != order.end() && rows[*next] - before < live; ++next) {
      addresses[*next] = RowAddress(fragment.id, static_cast<uint32_t>(in_fragment.NthLive(rows[*next] - before)));
    }
    before += live;
  }
  if (next != order.end())
    return InvalidInput("row {} does not exist; '{}' has {} rows", rows[*next], table.location.uri, before);
  return addresses;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> TakeRows(const std::shared_ptr<const DatasetState>& table,
                                                            std::span<const RowAddress> addresses,
                                                            const std::optional<std::vector<std::string>>& columns) {
  ARROW_RETURN_NOT_OK(arrow::compute::Initialize());
  ARROW_ASSIGN_OR_RAISE(const Projection projection, Projection::Make(table->manifest().schema, columns, false, false));
  const std::vector<size_t> order = SortedPositions(
      addresses.size(), [&](size_t a, size_t b) { return addresses[a].fragment() < addresses[b].fragment(); });
  std::vector<RowAddress> grouped;
  for (size_t position : order) grouped.push_back(addresses[position]);

  arrow::RecordBatchVector batches;
  for (size_t start = 0; start < grouped.size();) {
    size_t end = start;
    while (end < grouped.size() && grouped[end].fragment() == grouped[start].fragment()) ++end;
    ARROW_ASSIGN_OR_RAISE(auto batch, TakeFromFragment(table, projection, grouped[start].fragment(),
                                                       std::span(grouped).subspan(start, end - start)));
    batches.push_back(std::move(batch));
    start = end;
  }
  ARROW_ASSIGN_OR_RAISE(const auto rows, Concatenate(projection, std::move(batches), table->session->resources().pool));
  return Reorder(rows, order);
}

}  // namespace javelin::internal
