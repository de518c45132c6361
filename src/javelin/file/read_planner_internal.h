// Which pages of which columns a read needs, and a scan of each.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <arrow/result.h>

#include "javelin/file/column_read_internal.h"
#include "javelin/file/data_file_reader.h"
#include "javelin/file/nested_array_internal.h"
#include "javelin/file/open_file_internal.h"

namespace javelin::file {

// Keeps the pages that were understood. Thread-safe.
class ReadPlanner {
  struct KnownPage {
    ValueShape shape;
    ColumnLayers layers;
    std::shared_ptr<const PageReader> reader;
  };

 public:
  static constexpr uint64_t kPageBytes = sizeof(KnownPage);  // kept for each page

  explicit ReadPlanner(const OpenFile& file);

  // `rows` of a field (ascending, disjoint). `all`: what is read together with it, rows of which every one is wanted;
  // may be empty.
  arrow::Result<FieldRead> PlanField(const Field& field, const ColumnOfField& columns, std::span<const Slice> rows,
                                     const Slice& all);
  arrow::Result<std::shared_ptr<const PageReader>> GetPage(uint32_t column, size_t page, const ValueShape& shape,
                                                           const ColumnLayers& layers);

 private:
  arrow::Result<std::unique_ptr<ColumnRead>> PlanColumn(const LeafColumn& leaf, const ColumnOfField& columns,
                                                        uint32_t column, std::span<const Slice> rows, const Slice& all);
  arrow::Status PlanPages(const LeafColumn& leaf, std::span<const Slice> rows, const Slice& all, ColumnRead& read);
  arrow::Result<std::unique_ptr<PageScan>> PlanNested20(const LeafColumn& leaf, const ColumnOfField& columns,
                                                        uint32_t column, std::span<const Slice> rows);

  const OpenFile& file_;
  std::vector<std::vector<KnownPage>> pages_;  // guarded by the environment's mutex
};

}  // namespace javelin::file
