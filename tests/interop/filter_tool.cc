// Filters a table for the interop tests: which rows pass each of many filters.
//
//   filter_tool URI FILTERS.json [--batch-rows N]
//       FILTERS.json is a list of texts; prints one JSON line for each: the numbers of the rows that pass, in the order
//       of a scan, or {"kind": ..., "message": ...} if the filter is refused.
//
// Other failures print one JSON line {"kind": ..., "message": ...} to stderr and exit 2.
#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>

#include <arrow/api.h>
#include <nlohmann/json.hpp>

#include "javelin/base/error.h"
#include "javelin/dataset/dataset.h"
#include "javelin/query/filter.h"
#include "javelin/table/manifest.h"

namespace {

using namespace javelin;
using nlohmann::json;

json Refusal(const arrow::Status& status) {
  return {{"kind", std::string(ToString(KindOf(status)))}, {"message", status.message()}};
}

arrow::Result<json> Passing(const std::string& text, const query::Scope& scope,
                            const arrow::RecordBatchVector& batches) {
  ARROW_ASSIGN_OR_RAISE(const query::Filter filter,
                        query::Filter::Parse(text, scope, {.now_nanoseconds = 2'000'000'000'000'000'000}));
  json rows = json::array();
  int64_t first = 0;
  for (const auto& batch : batches) {
    ARROW_ASSIGN_OR_RAISE(const auto mask, filter.Mask(*batch));
    ARROW_RETURN_NOT_OK(mask->ValidateFull());
    for (int64_t i = 0; i < mask->length(); ++i)
      if (mask->Value(i)) rows.push_back(first + i);
    first += batch->num_rows();
  }
  return rows;
}

arrow::Status Run(const std::string& uri, const std::string& filters, uint64_t batch_rows) {
  ARROW_ASSIGN_OR_RAISE(const auto dataset, Dataset::Open(Session::Make(), uri));
  ARROW_ASSIGN_OR_RAISE(const auto reader,
                        dataset->Scan({.with_row_id = true, .with_row_address = true, .batch_rows = batch_rows}));
  ARROW_ASSIGN_OR_RAISE(const auto batches, reader->ToRecordBatches());
  query::Scope scope = query::Scope::Of(dataset->manifest().schema);
  scope.Add("_rowid", arrow::uint64()).Add("_rowaddr", arrow::uint64());
  std::ifstream in(filters);
  for (const std::string text : json::parse(in)) {
    const arrow::Result<json> rows = Passing(text, scope, batches);
    std::cout << (rows.ok() ? *rows : Refusal(rows.status())).dump(-1, ' ', false, json::error_handler_t::replace)
              << "\n";
  }
  return arrow::Status::OK();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("filters for the interop tests");
  std::string uri, filters;
  uint64_t batch_rows = 8192;
  app.add_option("uri", uri)->required();
  app.add_option("filters", filters)->required();
  app.add_option("--batch-rows", batch_rows);
  CLI11_PARSE(app, argc, argv);
  const arrow::Status status = Run(uri, filters, batch_rows);
  if (status.ok()) return 0;
  std::cerr << Refusal(status).dump() << "\n";
  return 2;
}
