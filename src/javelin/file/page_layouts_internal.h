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
                                              const PageSpec& spec);  // constant_page.cc
arrow::Result<PageReaderPtr> MakeArrayEncodingPage(const lance::encodings::ArrayEncoding& encoding,
                                                   const PageSpec& spec);  // page_v2_0.cc

// A column without structs or lists around it has one layer; returns whether it may hold nulls.
template <typename Layers>
arrow::Result<bool> SingleItemLayerIsNullable(const Layers& layers) {
  if (layers.size() == 1 && layers[0] == pb::ALL_VALID_ITEM) return false;
  if (layers.size() == 1 && layers[0] == pb::NULLABLE_ITEM) return true;
  if (layers.size() > 1) return NotSupported("columns inside structs or lists are not readable");
  return Corruption("the page of a plain column has {} layers that no such column can have", layers.size());
}

inline Bytes ViewOf(const BufferPtr& buffer) { return {buffer->data(), static_cast<size_t>(buffer->size())}; }

}  // namespace javelin::file
