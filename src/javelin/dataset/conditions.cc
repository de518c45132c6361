#include "javelin/dataset/conditions_internal.h"

#include <functional>

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "javelin/dataset/scan_internal.h"
#include "javelin/file/blob_field.h"

namespace javelin::internal {

namespace {

// Calls `visit` with each batch of the columns of the condition, and of `more`, and which of its rows pass.
arrow::Status ForEachBatch(
    const std::shared_ptr<const DatasetState>& table, std::vector<const table::Fragment*> fragments,
    const query::Filter& filter, const std::vector<ColumnPath>& more,
    const std::function<arrow::Status(const arrow::RecordBatch&, const arrow::BooleanArray&)>& visit) {
  std::vector<ColumnPath> paths = PathsOf(filter);
  paths.insert(paths.end(), more.begin(), more.end());
  ARROW_ASSIGN_OR_RAISE(Projection projection, Projection::OfPaths(table->manifest().schema, paths));
  const auto rows = ScanRows(table, std::move(projection), {.fragments = std::move(fragments)});
  while (true) {
    std::shared_ptr<arrow::RecordBatch> batch;
    ARROW_RETURN_NOT_OK(rows->ReadNext(&batch));
    if (batch == nullptr) return arrow::Status::OK();
    ARROW_ASSIGN_OR_RAISE(const auto mask, filter.Mask(*batch, table->session->resources().pool));
    ARROW_RETURN_NOT_OK(visit(*batch, *mask));
  }
}

}  // namespace

arrow::Status FoundRows::Add(RowAddress row) {
  table::OffsetSet& found = rows_[row.fragment()];
  const size_t before = found.runs().size();
  found.Append(row.offset(), row.offset());
  runs_ += found.runs().size() - before;
  return memory_.ReserveFor(runs_);
}

arrow::Status FoundRows::Add(const arrow::UInt64Array& addresses) {
  for (int64_t i = 0; i < addresses.length(); ++i) ARROW_RETURN_NOT_OK(Add(RowAddress(addresses.Value(i))));
  return arrow::Status::OK();
}

query::Scope ScopeOf(const file::Schema& schema) {
  query::Scope scope = query::Scope::Of(file::DescribeBlobs(schema));
  for (const ColumnKind kind : kSystemColumns) scope.Add(std::string(NameOf(kind)), arrow::uint64());
  return scope;
}

query::SqlOptions SqlOptionsNow(Runtime& runtime) { return {.now_nanoseconds = runtime.WallTime().count()}; }

arrow::Result<query::Filter> ParseCondition(const DatasetState& table, std::string_view sql) {
  return query::Filter::Parse(sql, ScopeOf(table.manifest().schema), SqlOptionsNow(table.session->runtime()));
}

std::vector<ColumnPath> PathsOf(const query::Expression& expression) {
  std::vector<ColumnPath> paths;
  for (const query::SqlColumn& column : expression.Columns()) paths.push_back(column.path);
  return paths;
}

arrow::Result<uint64_t> CountRows(const std::shared_ptr<const DatasetState>& table,
                                  std::vector<const table::Fragment*> fragments, const query::Filter& filter) {
  uint64_t count = 0;
  ARROW_RETURN_NOT_OK(ForEachBatch(table, std::move(fragments), filter, {},
                                   [&count](const arrow::RecordBatch&, const arrow::BooleanArray& mask) {
                                     count += static_cast<uint64_t>(mask.true_count());
                                     return arrow::Status::OK();
                                   }));
  return count;
}

arrow::Result<table::RowsByFragment> FindRows(const std::shared_ptr<const DatasetState>& table,
                                              const query::Filter& filter) {
  FoundRows found(*table->session->resources().memory);
  const std::string address(kRowAddressName);
  const auto add = [&](const arrow::RecordBatch& batch, const arrow::BooleanArray& mask) {
    const auto column = batch.GetColumnByName(address);
    const auto& addresses = static_cast<const arrow::UInt64Array&>(*column);
    for (int64_t i = 0; i < mask.length(); ++i) {
      if (mask.Value(i)) ARROW_RETURN_NOT_OK(found.Add(RowAddress(addresses.Value(i))));
    }
    return arrow::Status::OK();
  };
  ARROW_RETURN_NOT_OK(ForEachBatch(table, AllFragments(*table), filter, {{address}}, add));
  return found.Take();
}

}  // namespace javelin::internal
