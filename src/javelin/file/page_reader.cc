#include "javelin/file/page_reader_internal.h"

#include "javelin/file/page_layouts_internal.h"

namespace javelin::file {

namespace {

arrow::Result<PageReaderPtr> MakePageOfLayout(const PageSpec& spec) {
  pb::PageLayout layout;
  if (spec.page.encoding_name != layout.GetTypeName())
    return NotSupported("page encoding {} is not known", spec.page.encoding_name);
  if (!layout.ParseFromString(spec.page.encoding)) return Corruption("the page encoding does not parse");
  switch (layout.layout_case()) {
    case pb::PageLayout::kMiniBlockLayout: return MakeMiniBlockPage(layout.mini_block_layout(), spec);
    case pb::PageLayout::kConstantLayout: return MakeConstantPage(layout.constant_layout(), spec);
    case pb::PageLayout::kFullZipLayout: return MakeFullZipPage(layout.full_zip_layout(), spec);
    case pb::PageLayout::kBlobLayout: return MakeBlobPage(layout.blob_layout(), spec);
    case pb::PageLayout::LAYOUT_NOT_SET: return NotSupported("the page has a layout that this version does not know");
  }
  return NotSupported("the page has a layout that this version does not know");
}

}  // namespace

arrow::Result<PageReaderPtr> MakePageReader(const PageSpec& spec) {
  if (spec.version > FileVersion{2, 0}) return MakePageOfLayout(spec);
  lance::encodings::ArrayEncoding encoding;
  if (spec.page.encoding_name != encoding.GetTypeName())
    return NotSupported("page encoding {} is not known", spec.page.encoding_name);
  if (!encoding.ParseFromString(spec.page.encoding)) return Corruption("the page encoding does not parse");
  return MakeArrayEncodingPage(encoding, spec);
}

}  // namespace javelin::file
