#include "javelin/file/nested_scan_v2_0_internal.h"

#include <algorithm>
#include <iterator>

#include "javelin/file/flat_v2_0_internal.h"
#include "javelin/file/page_parts_internal.h"

namespace javelin::file {

namespace {

constexpr uint64_t kEndBytes = 8;

arrow::Status InPage(const arrow::Status& status, std::string_view column, size_t page) {
  return WithField(WithContext(status, fmt::format("page {} of its {}", page, column)), "page", std::to_string(page));
}

// One page of a column of lists: where the items of each end. `adjustment` is added to the end of a null.
struct ListPage {
  FlatBuffer ends;
  uint64_t adjustment = 1;
  uint64_t first_item = 0;  // of the column of items
  uint64_t num_items = 0;
};

arrow::Result<ListPage> ParseListPage(const PageMetadata& metadata) {
  pb20::ArrayEncoding encoding;
  if (metadata.encoding_name != encoding.GetTypeName())
    return NotSupported("page encoding {} is not known", metadata.encoding_name);
  if (!encoding.ParseFromString(metadata.encoding)) return Corruption("the page encoding does not parse");
  if (!encoding.has_list()) return Corruption("encoding {} stands for lists", NameOf(encoding));
  ListPage page{.adjustment = encoding.list().null_offset_adjustment(), .num_items = encoding.list().num_items()};
  ARROW_ASSIGN_OR_RAISE(page.ends, ParseNoNullFlat(encoding.list().offsets(), metadata));
  if (!page.ends.plain()) return NotSupported("compressed or packed offsets of lists are not readable");
  if (page.ends.bits() != kEndBytes * 8) return Corruption("offsets of lists have {} bits", page.ends.bits());
  if (page.adjustment <= page.num_items)
    return Corruption("{} marks a null among the offsets of {} items", page.adjustment, page.num_items);
  ARROW_RETURN_NOT_OK(page.ends.MustHold(metadata.num_rows));
  return page;
}

// The lists of one depth of one read: what they hold, and which items of the column inside that makes.
class ListLevel {
 public:
  explicit ListLevel(const ColumnMetadata& column) : column_(column) {}

  // Returns how many items its pages have.
  arrow::Result<uint64_t> Parse() {
    uint64_t num_items = 0;
    for (size_t i = 0; i < column_.pages.size(); ++i) {
      auto page = ParseListPage(column_.pages[i]);
      if (!page.ok()) return InPage(page.status(), "lists", i);
      page->first_item = num_items;
      if (__builtin_add_overflow(num_items, page->num_items, &num_items))
        return Corruption("a column has more than 2^64 items");
      pages_.push_back(std::move(*page));
    }
    return num_items;
  }

  // The bytes of the offsets of rows, and of the one before each run of them.
  std::vector<ByteRange> Begin(std::span<const Slice> rows) {
    std::vector<ByteRange> ranges;
    for (const PagePart& part : SplitByPage(column_.pages, rows)) {
      for (const Slice& slice : part.rows) {
        const bool more = slice.first > 0;
        const Slice wanted{slice.first - more, slice.count + more};
        ranges.push_back(pages_[part.page].ends.Wanted(std::span(&wanted, 1))[0]);
        runs_.push_back({.page = part.page, .count = slice.count, .has_begin = more});
      }
    }
    return ranges;
  }

  // Answers the items that the lists hold, in the column inside.
  arrow::Result<std::vector<Slice>> Supply(std::vector<BufferPtr> bytes) {
    std::vector<Slice> items;
    for (size_t i = 0; i < runs_.size(); ++i) {
      runs_[i].bytes = std::move(bytes[i]);
      auto slice = ItemsOf(runs_[i]);
      if (!slice.ok()) return InPage(slice.status(), "lists", runs_[i].page);
      if (slice->count == 0) continue;
      if (!items.empty() && items.back().end() == slice->first) {
        items.back().count += slice->count;
      } else {
        items.push_back(*slice);
      }
    }
    return items;
  }

  arrow::Status Append(size_t depth, LeafSink& out) const {
    for (const Run& run : runs_) {
      const ListPage& page = pages_[run.page];
      uint64_t begin = run.has_begin ? EndOf(run, -1) % page.adjustment : 0;
      for (uint64_t row = 0; row < run.count; ++row) {
        const uint64_t stored = EndOf(run, static_cast<int64_t>(row));
        const uint64_t end = stored % page.adjustment;
        if (end < begin || end > page.num_items)
          return InPage(Corruption("the offsets of lists do not ascend"), "lists", run.page);
        ARROW_RETURN_NOT_OK(out.AppendList(depth, stored < page.adjustment, end - begin));
        begin = end;
      }
    }
    return arrow::Status::OK();
  }

 private:
  // Rows one after the other in one page.
  struct Run {
    size_t page = 0;
    uint64_t count = 0;
    bool has_begin = false;  // the end of the row before is in front
    BufferPtr bytes;
  };

  static uint64_t EndOf(const Run& run, int64_t row) {
    return LoadElement<uint64_t>(run.bytes->data(), static_cast<uint64_t>(row + run.has_begin));
  }

  arrow::Result<Slice> ItemsOf(const Run& run) const {
    const ListPage& page = pages_[run.page];
    const uint64_t begin = run.has_begin ? EndOf(run, -1) % page.adjustment : 0;
    const uint64_t end = EndOf(run, static_cast<int64_t>(run.count) - 1) % page.adjustment;
    if (begin > end || end > page.num_items)
      return Corruption("lists hold items {} to {} of {}", begin, end, page.num_items);
    return Slice{page.first_item + begin, end - begin};
  }

  const ColumnMetadata& column_;
  std::vector<ListPage> pages_;
  std::vector<Run> runs_;
};

// One round for each list, then those of the leaf's pages.
class NestedScan final : public PageScan {
 public:
  NestedScan(NestedLeaf20 leaf, std::vector<ListLevel> levels, std::vector<Slice> rows)
      : leaf_(std::move(leaf)), levels_(std::move(levels)) {
    slots_.push_back(TotalCount(rows));
    wanted_ = std::move(rows);
  }

  arrow::Result<std::vector<ByteRange>> Wanted() override {
    // Lists without items leave nothing to ask for.
    while (done_ < levels_.size()) {
      std::vector<ByteRange> ranges = levels_[done_].Begin(wanted_);
      if (!ranges.empty()) return ranges;
      slots_.push_back(0);
      ++done_;
    }
    if (!planned_) ARROW_RETURN_NOT_OK(PlanLeaf());
    std::vector<ByteRange> ranges;
    for (Part& part : parts_) {
      auto wanted = part.scan->Wanted();
      if (!wanted.ok()) return InPage(wanted.status(), "values", part.page);
      part.num_wanted = wanted->size();
      ranges.insert(ranges.end(), wanted->begin(), wanted->end());
    }
    return ranges;
  }

  arrow::Status Supply(std::vector<BufferPtr> bytes) override {
    if (done_ < levels_.size()) {
      ARROW_ASSIGN_OR_RAISE(wanted_, levels_[done_++].Supply(std::move(bytes)));
      slots_.push_back(TotalCount(wanted_));
      return arrow::Status::OK();
    }
    auto next = std::make_move_iterator(bytes.begin());
    for (Part& part : parts_) {
      if (part.num_wanted == 0) continue;
      const auto end = next + static_cast<ptrdiff_t>(part.num_wanted);
      const arrow::Status status = part.scan->Supply(std::vector<BufferPtr>(next, end));
      if (!status.ok()) return InPage(status, "values", part.page);
      next = end;
    }
    return arrow::Status::OK();
  }

  arrow::Status Decode(DecodeContext& context, LeafSink& out) override {
    size_t list = 0;
    for (size_t depth = 0; depth + 1 < leaf_.layers.size(); ++depth) {
      if (leaf_.layers[leaf_.layers.size() - 1 - depth].is_list) {
        ARROW_RETURN_NOT_OK(levels_[list++].Append(depth, out));
      } else {
        ARROW_RETURN_NOT_OK(out.AppendValidSlots(depth, slots_[list]));
      }
    }
    for (Part& part : parts_) {
      const arrow::Status status = part.scan->Decode(context, out);
      if (!status.ok()) return InPage(status, "values", part.page);
    }
    return arrow::Status::OK();
  }

 private:
  struct Part {
    size_t page = 0;
    std::shared_ptr<const PageReader> reader;  // keeps alive what the scan uses
    std::unique_ptr<PageScan> scan;
    size_t num_wanted = 0;  // ranges asked for in this round
  };

  arrow::Status PlanLeaf() {
    planned_ = true;
    for (PagePart& part : SplitByPage(leaf_.values->pages, wanted_)) {
      auto reader = leaf_.page(part.page);
      if (!reader.ok()) return InPage(reader.status(), "values", part.page);
      auto scan = (*reader)->Scan(std::move(part.rows));
      parts_.push_back({part.page, *std::move(reader), std::move(scan)});
    }
    return arrow::Status::OK();
  }

  NestedLeaf20 leaf_;
  std::vector<ListLevel> levels_;
  size_t done_ = 0;              // levels whose offsets are there
  std::vector<Slice> wanted_;    // of the column whose turn it is
  std::vector<uint64_t> slots_;  // rows, then the items of each level
  bool planned_ = false;
  std::vector<Part> parts_;
};

}  // namespace

arrow::Result<std::unique_ptr<PageScan>> ScanNested20(NestedLeaf20 leaf, std::vector<Slice> rows, uint64_t num_rows) {
  if (leaf.lists.size() > static_cast<size_t>(PageScan::kMaxLists))
    return NotSupported("lists in more than {} others are not readable", PageScan::kMaxLists);
  const auto check = [&](const ColumnMetadata& column, std::string_view what) {
    if (column.num_rows == num_rows) return arrow::Status::OK();
    return Corruption("its {} have {} rows in their pages, {} belong there", what, column.num_rows, num_rows);
  };
  std::vector<ListLevel> levels;
  for (const ColumnMetadata* list : leaf.lists) {
    ARROW_RETURN_NOT_OK(check(*list, "lists"));
    levels.emplace_back(*list);
    ARROW_ASSIGN_OR_RAISE(num_rows, levels.back().Parse());
  }
  ARROW_RETURN_NOT_OK(check(*leaf.values, "values"));
  return std::make_unique<NestedScan>(std::move(leaf), std::move(levels), std::move(rows));
}

}  // namespace javelin::file
