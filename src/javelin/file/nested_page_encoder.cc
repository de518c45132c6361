// Pages of leaves with structs and lists around them.
#include "javelin/file/page_encoder_internal.h"

#include "javelin/base/error.h"
#include "javelin/file/dictionary_column_internal.h"

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
    page.items_per_row = items_per_row_;
    page.num_rows = leaf.levels.num_rows / items_per_row_;
    ARROW_ASSIGN_OR_RAISE(const bool done, EncodeLeaf(leaf, page));
    if (!done) {
      if (page.num_rows > 1) return EncodeHalves(leaf.levels, entries, first_value);
      // A single row has more lists without items than a chunk has levels.
      if (path_.kind != LeafKind::kValues)
        return NotSupported("a row of so many lists without items cannot be written around {}",
                            path_.leaf.type->ToString());
      ARROW_RETURN_NOT_OK(EncodeOneByOne(leaf.View(shape_), leaf.values, shape_, leaf.levels, options_, page));
    }
    pages_.push_back(std::move(page));
    return arrow::Status::OK();
  }

  std::vector<EncodedPage> Take() { return std::move(pages_); }

 private:
  // False: the page must be split.
  arrow::Result<bool> EncodeLeaf(const LeafPage& leaf, EncodedPage& page) const {
    switch (path_.kind) {
      case LeafKind::kDictionary: return EncodeDictionaryPage(path_, rows_, leaf, options_, page);
      case LeafKind::kEmptyStruct:
        // Neither it nor what is around it is null; this is how the released reader knows it.
        page.layout.mutable_constant_layout()->add_layers(pb::NULLABLE_ITEM);
        return true;
      case LeafKind::kPackedStruct: {
        ARROW_ASSIGN_OR_RAISE(const StructPacker packer, StructPacker::Make(path_.leaf));
        return EncodePackedStructPage(packer, leaf, options_, page);
      }
      case LeafKind::kValues: break;
    }
    return EncodeValues(leaf.View(shape_), leaf.values, shape_, leaf.levels, options_, page);
  }

  arrow::Status EncodeHalves(const PageLevels& levels, const Slice& entries, uint64_t first_value) {
    only_page_ = false;
    const uint64_t half = levels.num_rows / items_per_row_ / 2 * items_per_row_;
    uint64_t rows = 0;
    uint64_t values = 0;
    uint64_t entry = 0;
    for (;; ++entry) {
      if (levels.BeginsRow(entry) && rows++ == half) break;
      values += levels.IsVisible(entry);
    }
    ARROW_RETURN_NOT_OK(Encode({entries.first, entry}, first_value));
    return Encode({entries.first + entry, entries.count - entry}, first_value + values);
  }

  const LeafPath& path_;
  const ValueShape& shape_;
  const LeafRows& rows_;
  const uint64_t items_per_row_ = PageRowsPerRow(path_.layers);
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
