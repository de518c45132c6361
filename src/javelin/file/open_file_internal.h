// An open data file: what is known of it, its bytes, and how errors name it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <arrow/result.h>

#include "javelin/base/resources.h"
#include "javelin/file/container_internal.h"
#include "javelin/file/page_reader_internal.h"
#include "javelin/file/schema.h"
#include "javelin/store/block_cache.h"
#include "javelin/store/object_store.h"

namespace javelin::file {

// Constant after it was made; thread-safe as far as the environment is.
struct OpenFile {
  std::shared_ptr<PageEnvironment> environment;
  std::shared_ptr<ObjectStore> store;
  std::string key;
  Container container;
  std::shared_ptr<BlockCache> blocks;  // may be null

  // The bytes of ranges, in order. Those inside the file's tail are there already; the others are one call to the
  // store.
  arrow::Result<std::vector<BufferPtr>> GetBytes(const std::vector<ByteRange>& ranges, BlockCache::Access access) const;
  // Memory for what such a call would bring.
  arrow::Result<MemoryReservation> ReserveBytes(const std::vector<ByteRange>& ranges) const;

  arrow::Status InFile(const arrow::Status& status) const;
  arrow::Status InColumn(const arrow::Status& status, const Field& field, uint32_t column) const;
  arrow::Status InPage(const arrow::Status& status, const Field& field, uint32_t column, size_t page) const;

 private:
  arrow::Result<std::vector<BufferPtr>> GetBytesBeforeTail(const std::vector<ByteRange>& ranges,
                                                           BlockCache::Access access) const;
};

// A scan of several pages that says itself where an error is.
inline constexpr size_t kNoPage = SIZE_MAX;

}  // namespace javelin::file
