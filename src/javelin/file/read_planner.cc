#include "javelin/file/read_planner_internal.h"

#include <algorithm>
#include <mutex>

#include "javelin/base/error.h"
#include "javelin/file/blob_field.h"
#include "javelin/file/nested_scan_v2_0_internal.h"
#include "javelin/file/page_parts_internal.h"

namespace javelin::file {

namespace {

// What to do about a column that cannot be read: a scan reads the columns that it is asked for.
constexpr char kNameTheOthers[] = "; a scan with `columns` reads the others";

}  // namespace

ReadPlanner::ReadPlanner(const OpenFile& file) : file_(file) {
  for (const ColumnMetadata& column : file.container.columns) pages_.emplace_back(column.pages.size());
}

arrow::Result<std::shared_ptr<const PageReader>> ReadPlanner::GetPage(uint32_t column, size_t page,
                                                                      const ValueShape& shape,
                                                                      const ColumnLayers& layers) {
  {
    std::lock_guard lock(file_.environment->mutex);
    const KnownPage& known = pages_[column][page];
    if (known.reader != nullptr && known.shape == shape && known.layers == layers) return known.reader;
  }
  const PageMetadata& metadata = file_.container.columns[column].pages[page];
  ARROW_ASSIGN_OR_RAISE(auto reader,
                        MakePageReader({metadata, file_.container.version, shape, layers, file_.environment}));
  std::lock_guard lock(file_.environment->mutex);
  pages_[column][page] = {shape, layers, reader};
  return reader;
}

// A leaf of version 2.0 with structs or lists around it, which have columns of their own.
arrow::Result<std::unique_ptr<PageScan>> ReadPlanner::PlanNested20(const LeafColumn& leaf, const ColumnOfField& columns,
                                                                   uint32_t column, std::span<const Slice> rows) {
  NestedLeaf20 nested{.values = &file_.container.columns[column], .layers = leaf.layers};
  for (const Field* list : leaf.lists) {
    const auto found = columns.find(list->id);
    if (found == columns.end() || found->second >= file_.container.columns.size())
      return Corruption("the file has no column of its list '{}'", list->name);
    nested.lists.push_back(&file_.container.columns[found->second]);
  }
  nested.page = [this, column, shape = leaf.shape, layers = leaf.layers](size_t page) {
    return GetPage(column, page, shape, layers);
  };
  return ScanNested20(std::move(nested), {rows.begin(), rows.end()}, file_.container.num_rows);
}

arrow::Result<std::unique_ptr<ColumnRead>> ReadPlanner::PlanColumn(const LeafColumn& leaf, const ColumnOfField& columns,
                                                                   uint32_t column, std::span<const Slice> rows,
                                                                   const Slice& all) {
  const Field& field = *leaf.field;
  auto refuse = [&](const arrow::Status& status) { return file_.InColumn(status, field, column); };
  if (column >= file_.container.columns.size()) {
    return refuse(Corruption("the file has {} columns only", file_.container.columns.size()));
  }
  const ColumnMetadata& metadata = file_.container.columns[column];
  if (!metadata.plain_values && !(metadata.blobs && IsBlobDescription(field)))
    return refuse(NotSupported("columns with an index of their own are not readable{}", kNameTheOthers));
  auto read = std::make_unique<ColumnRead>();
  read->field = &field;
  read->column = column;
  read->memory =
      std::make_unique<SinkMemory>(file_.environment->resources.pool, file_.environment->resources.memory.get());
  const uint64_t scale = PageRowsPerRow(leaf.layers);
  read->num_rows = TotalCount(rows) * scale;
  // Of a dictionary that single rows are taken of, only what occurs: others are not to be joined with it in vain.
  const bool is_scan = all.count > 0;
  read->sink = MakeLeafSink(leaf, read->num_rows, /*keep_whole=*/is_scan, *read->memory);
  if (file_.container.version == FileVersion{2, 0} && leaf.layers.size() > 1) {
    auto scan = PlanNested20(leaf, columns, column, rows);
    if (!scan.ok()) return refuse(scan.status());
    read->parts.push_back({kNoPage, nullptr, *std::move(scan)});
    read->hands_on_bytes = false;
    return read;
  }
  if (metadata.num_rows / scale != file_.container.num_rows || metadata.num_rows % scale != 0) {
    return refuse(Corruption("its pages hold {} rows, the file has {}", metadata.num_rows, file_.container.num_rows));
  }
  ARROW_RETURN_NOT_OK(PlanPages(leaf, rows, all, *read));
  return read;
}

arrow::Status ReadPlanner::PlanPages(const LeafColumn& leaf, std::span<const Slice> rows, const Slice& all,
                                     ColumnRead& read) {
  const ColumnMetadata& metadata = file_.container.columns[read.column];
  const uint64_t scale = PageRowsPerRow(leaf.layers);
  std::vector<Slice> page_rows(rows.begin(), rows.end());
  for (Slice& slice : page_rows) slice = {slice.first * scale, slice.count * scale};
  for (PagePart& part : SplitByPage(metadata.pages, page_rows)) {
    auto reader = GetPage(read.column, part.page, leaf.shape, leaf.layers);
    if (!reader.ok()) return file_.InPage(reader.status(), *read.field, read.column, part.page);
    const PageMetadata& page = metadata.pages[part.page];
    const bool others_read_the_rest = TotalCount(part.rows) < page.num_rows && all.first * scale <= page.first_row &&
                                      page.first_row + page.num_rows <= all.end() * scale;
    auto scan = (*reader)->Scan(std::move(part.rows));
    if (others_read_the_rest) scan->WithWholePage();
    read.hands_on_bytes &= (*reader)->hands_on_bytes();
    read.parts.push_back({part.page, *reader, std::move(scan)});
  }
  return arrow::Status::OK();
}

arrow::Result<FieldRead> ReadPlanner::PlanField(const Field& field, const ColumnOfField& columns,
                                                std::span<const Slice> rows, const Slice& all) {
  FieldRead read{&field, {}};
  auto leaves = LeafColumnsOf(field);
  // They are one column, which not even the writer of such files reads.
  const auto cut = [](const LeafColumn& leaf) { return PageRowsPerRow(leaf.layers) > 1; };
  if (leaves.ok() && file_.container.version == FileVersion{2, 0} && std::any_of(leaves->begin(), leaves->end(), cut))
    leaves = NotSupported("fixed-size lists of structs are not readable from files of version 2.0");
  if (!leaves.ok()) {
    const auto found = columns.find(field.id);
    return file_.InColumn(WithContext(leaves.status(), fmt::format("not readable{}", kNameTheOthers)), field,
                          found == columns.end() ? 0 : found->second);
  }
  for (const LeafColumn& leaf : *leaves) {
    const auto found = columns.find(leaf.field->id);
    std::unique_ptr<ColumnRead> column;
    if (found != columns.end()) {
      ARROW_ASSIGN_OR_RAISE(column, PlanColumn(leaf, columns, found->second, rows, all));
    }
    read.leaves.push_back(std::move(column));
  }
  return read;
}

}  // namespace javelin::file
