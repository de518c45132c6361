// One maker per page layout, and what the layouts of 2.1 and 2.2 share.
#pragma once

#include <google/protobuf/repeated_field.h>

#include "lanceproto/encodings_v2_0.pb.h"
#include "lanceproto/encodings_v2_1.pb.h"

#include "javelin/base/error.h"
#include "javelin/file/page_reader_internal.h"

namespace javelin::file {

namespace pb = lance::encodings21;

using PageReaderPtr = std::shared_ptr<const PageReader>;

arrow::Result<PageReaderPtr> MakeMiniBlockPage(const pb::MiniBlockLayout& layout,
                                               const PageSpec& spec);  // mini_block_page.cc
arrow::Result<PageReaderPtr> MakeFullZipPage(const pb::FullZipLayout& layout,
                                             const PageSpec& spec);  // full_zip_page.cc
arrow::Result<PageReaderPtr> MakeConstantPage(const pb::ConstantLayout& layout,
                                              const PageSpec& spec);                            // constant_page.cc
arrow::Result<PageReaderPtr> MakeBlobPage(const pb::BlobLayout& layout, const PageSpec& spec);  // blob_page.cc
arrow::Result<PageReaderPtr> MakeArrayEncodingPage(const lance::encodings::ArrayEncoding& encoding,
                                                   const PageSpec& spec);  // page_v2_0.cc

template <typename Layout>
arrow::Result<PageLayers> LayersOf(const Layout& layout, const PageSpec& spec) {
  return PageLayers::Make({layout.layers().data(), static_cast<size_t>(layout.layers_size())}, spec.layers);
}

inline Bytes ViewOf(const BufferPtr& buffer) { return {buffer->data(), static_cast<size_t>(buffer->size())}; }

}  // namespace javelin::file
