#include "javelin/file/column_layers_internal.h"

#include "lanceproto/encodings_v2_1.pb.h"

#include "javelin/base/error.h"
#include "javelin/file/byte_span_internal.h"

namespace javelin::file {

namespace {

namespace pb = lance::encodings21;

struct Kind {
  bool is_list = false;
  bool nullable = false;
  bool emptyable = false;
};

arrow::Result<Kind> KindOfLayer(int number) {
  switch (number) {
    case pb::ALL_VALID_ITEM: return Kind{};
    case pb::NULLABLE_ITEM: return Kind{.nullable = true};
    case pb::ALL_VALID_LIST: return Kind{.is_list = true};
    case pb::NULLABLE_LIST: return Kind{.is_list = true, .nullable = true};
    case pb::EMPTYABLE_LIST: return Kind{.is_list = true, .emptyable = true};
    case pb::NULL_AND_EMPTY_LIST: return Kind{.is_list = true, .nullable = true, .emptyable = true};
    default: return Corruption("a page has a layer of the unknown kind {}", number);
  }
}

}  // namespace

uint64_t PageRowsPerRow(const ColumnLayers& column) {
  uint64_t rows = 1;
  for (const ColumnLayer& layer : column) rows = SaturatedProduct(rows, layer.dimension);
  return rows;
}

arrow::Result<PageLayers> PageLayers::Make(std::span<const int> kinds, const ColumnLayers& column) {
  if (kinds.size() != column.size())
    return Corruption("a page has {} layers, its column has {}", kinds.size(), column.size());
  PageLayers page;
  for (size_t i = 0; i < kinds.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(const Kind kind, KindOfLayer(kinds[i]));
    if (kind.is_list != column[i].is_list)
      return Corruption("layer {} of a page is {} list, in its column it is {}", i, kind.is_list ? "a" : "no",
                        column[i].is_list ? "one" : "none");
    Layer layer{.is_list = kind.is_list, .inner = page.max_def_};
    if (kind.nullable) layer.null = ++page.max_def_;
    if (kind.emptyable) layer.empty = ++page.max_def_;
    page.max_rep_ = static_cast<uint16_t>(page.max_rep_ + kind.is_list);
    page.layers_.push_back(layer);
  }
  // What a list of no items hides has no slot inside it: from the outside in, up to the next list.
  uint16_t visible = page.max_def_;
  for (size_t i = page.layers_.size(); i-- > 0;) {
    page.layers_[i].visible = visible;
    if (page.layers_[i].is_list) visible = page.layers_[i].inner;
  }
  return page;
}

}  // namespace javelin::file
