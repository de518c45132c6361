#include "javelin/dataset/row_selection_internal.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "javelin/base/error.h"
#include "javelin/dataset/fragment_reader_internal.h"
#include "javelin/dataset/take_internal.h"
#include "javelin/file/distinct_rows.h"

namespace javelin::internal {

namespace {

constexpr uint64_t kIdsAtOnce = 1 << 16;

// Looks for rows by their stable ids, fragment by fragment.
class StableIds {
 public:
  StableIds(std::shared_ptr<const DatasetState> table, std::span<const uint64_t> ids)
      : table_(std::move(table)), ids_(ids), rows_(ids.size()), found_(ids.size(), false), missing_(ids.size()) {}

  arrow::Result<std::vector<RowAddress>> Find() {
    ARROW_ASSIGN_OR_RAISE(const Projection projection, Projection::Make({}, std::vector<std::string>{}, true, false));
    for (const table::Fragment& fragment : table_->manifest().fragments) {
      if (missing_ == 0) break;
      ARROW_ASSIGN_OR_RAISE(const auto reader, FragmentReader::Open(table_, fragment, projection));
      ARROW_RETURN_NOT_OK(LookIn(*reader, fragment.id));
    }
    for (size_t i = 0; i < ids_.size(); ++i) {
      if (!found_[i])
        return InvalidInput("'{}' has no row of id {} at version {}; it was deleted or never there",
                            table_->location.uri, ids_[i], table_->manifest().version);
    }
    return std::move(rows_);
  }

 private:
  // An id can be that of several rows, of which all but one are deleted.
  arrow::Status LookIn(const FragmentReader& reader, FragmentId fragment) {
    const uint64_t end = reader.rows().physical();
    for (uint64_t first = 0; first < end && missing_ > 0; first += kIdsAtOnce) {
      ARROW_ASSIGN_OR_RAISE(const auto fetched, reader.Fetch(first, {std::min(first + kIdsAtOnce, end)}));
      ARROW_ASSIGN_OR_RAISE(const auto batches, reader.Decode(*fetched));
      const auto& column = static_cast<const arrow::UInt64Array&>(*batches[0]->column(0));
      const std::span<const uint64_t> stored(column.raw_values(), static_cast<size_t>(column.length()));
      for (size_t i = 0; i < stored.size(); ++i) {
        if (stored[i] < ids_.front() || stored[i] > ids_.back()) continue;
        const auto place = std::lower_bound(ids_.begin(), ids_.end(), stored[i]);
        const auto index = static_cast<size_t>(place - ids_.begin());
        if (*place != stored[i] || found_[index] || !reader.rows().IsLive(first + i)) continue;
        rows_[index] = RowAddress(fragment, static_cast<uint32_t>(first + i));
        found_[index] = true;
        --missing_;
      }
    }
    return arrow::Status::OK();
  }

  std::shared_ptr<const DatasetState> table_;
  std::span<const uint64_t> ids_;  // ascending, distinct
  std::vector<RowAddress> rows_;   // of each, where found
  std::vector<bool> found_;
  size_t missing_;
};

}  // namespace

arrow::Result<std::vector<RowAddress>> SelectRows(const std::shared_ptr<const DatasetState>& table,
                                                  RowSelector selector, std::span<const uint64_t> rows) {
  if (selector == RowSelector::kIndices) return AddressesOf(*table, rows);
  std::vector<RowAddress> addresses;
  addresses.reserve(rows.size());
  if (selector == RowSelector::kAddresses || !table->has_stable_row_ids()) {
    for (const uint64_t row : rows) addresses.emplace_back(row);
    return addresses;
  }
  const file::DistinctRows distinct(rows);
  ARROW_ASSIGN_OR_RAISE(const std::vector<RowAddress> each, StableIds(table, distinct.rows).Find());
  if (distinct.in_order) return each;
  for (const auto place : distinct.places) addresses.push_back(each[place]);
  return addresses;
}

}  // namespace javelin::internal
