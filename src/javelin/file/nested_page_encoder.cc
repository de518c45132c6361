// Pages of leaves with structs and lists around them.
#include "javelin/file/page_encoder_internal.h"

#include "javelin/base/error.h"

namespace javelin::file {

namespace {

class NestedPages {
 public:
  NestedPages(const LeafPath& path, const ValueShape& shape, const LeafRows& rows, bool only_page,
              const PageOptions& options)
      : path_(path), shape_(shape), rows_(rows), only_page_(only_page), options_(options) {}

  // Entries [first, end) of whole rows.
  arrow::Status Encode(const Slice& entries, uint64_t first_value) {
    ARROW_ASSIGN_OR_RAISE(const LeafPage leaf, CutPage(path_, rows_, entries, first_value, only_page_, options_.pool));
    EncodedPage page;
    page.num_rows = leaf.levels.num_rows;
    const LeafView view = leaf.View(shape_);
    ARROW_ASSIGN_OR_RAISE(const bool done, EncodeValues(view, leaf.values, shape_, leaf.levels, options_, page));
    if (!done) {
      if (leaf.levels.num_rows > 1) return EncodeHalves(leaf.levels, entries, first_value);
      // A single row has more lists without items than a chunk has levels.
      ARROW_RETURN_NOT_OK(EncodeOneByOne(view, leaf.values, shape_, leaf.levels, options_, page));
    }
    pages_.push_back(std::move(page));
    return arrow::Status::OK();
  }

  std::vector<EncodedPage> Take() { return std::move(pages_); }

 private:
  arrow::Status EncodeHalves(const PageLevels& levels, const Slice& entries, uint64_t first_value) {
    only_page_ = false;
    uint64_t rows = 0;
    uint64_t values = 0;
    uint64_t entry = 0;
    for (;; ++entry) {
      if (levels.BeginsRow(entry) && rows++ == levels.num_rows / 2) break;
      values += levels.IsVisible(entry);
    }
    ARROW_RETURN_NOT_OK(Encode({entries.first, entry}, first_value));
    return Encode({entries.first + entry, entries.count - entry}, first_value + values);
  }

  const LeafPath& path_;
  const ValueShape& shape_;
  const LeafRows& rows_;
  bool only_page_;
  const PageOptions& options_;
  std::vector<EncodedPage> pages_;
};

}  // namespace

arrow::Result<std::vector<EncodedPage>> EncodeNestedPages(const LeafPath& path, const ValueShape& shape,
                                                          const LeafPieces& pieces, bool only_page,
                                                          const PageOptions& options) {
  ARROW_ASSIGN_OR_RAISE(const LeafRows rows, BuildLeafRows(path, pieces, options.pool));
  NestedPages pages(path, shape, rows, only_page, options);
  ARROW_RETURN_NOT_OK(pages.Encode({0, rows.def.size()}, 0));
  return pages.Take();
}

}  // namespace javelin::file
