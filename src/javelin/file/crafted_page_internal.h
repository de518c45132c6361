// For tests and fuzzers: a page given as its encoding and buffers, read without a file around it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/api.h>

#include "javelin/base/error.h"
#include "javelin/file/nested_array_internal.h"
#include "javelin/file/page_reader_internal.h"

namespace javelin::file::testing {

struct CraftedPage {
  FileVersion version{2, 2};
  std::string encoding;  // a PageLayout, or an ArrayEncoding in 2.0
  std::vector<std::string> buffers;
  uint64_t num_rows = 0;
};

// Gives the scan what it wants of the bytes of a file; how many rounds that took. An error if it asks past the end.
inline arrow::Result<int> SupplyFrom(const std::string& file, PageScan& scan, arrow::MemoryPool* pool) {
  for (int round = 0; round <= PageScan::kMaxRounds; ++round) {
    ARROW_ASSIGN_OR_RAISE(const std::vector<ByteRange> ranges, scan.Wanted());
    if (ranges.empty()) return round;
    std::vector<BufferPtr> answers;
    for (const ByteRange& range : ranges) {
      if (range.offset > file.size() || range.length > file.size() - range.offset)
        return Internal("a page asks for bytes {}+{} of {}", range.offset, range.length, file.size());
      // Each in memory of its own, so that a sanitizer sees what lies beside it.
      ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bytes,
                            arrow::AllocateBuffer(static_cast<int64_t>(range.length), pool));
      if (range.length > 0) std::memcpy(bytes->mutable_data(), file.data() + range.offset, range.length);
      answers.push_back(std::move(bytes));
    }
    ARROW_RETURN_NOT_OK(scan.Supply(std::move(answers)));
  }
  return Internal("a page asks for bytes without end");
}

// Reads rows of it as the column of a field with one leaf. As the reader of files does it, but for the store.
inline arrow::Result<std::shared_ptr<arrow::Array>> ReadCraftedPage(const Resources& resources, const CraftedPage& page,
                                                                    const Field& field, std::vector<Slice> rows) {
  std::string file;
  PageMetadata metadata{.num_rows = page.num_rows,
                        .encoding_name = page.version == FileVersion{2, 0} ? "lance.encodings.ArrayEncoding"
                                                                           : "lance.encodings21.PageLayout",
                        .encoding = page.encoding};
  for (const std::string& buffer : page.buffers) {
    metadata.buffers.push_back({file.size(), buffer.size()});
    file += buffer;
  }
  ARROW_ASSIGN_OR_RAISE(const std::vector<LeafColumn> leaves, LeafColumnsOf(field));
  if (leaves.size() != 1) return InvalidInput("a page holds one leaf, '{}' has {}", field.name, leaves.size());
  const LeafColumn& leaf = leaves.front();
  const auto environment = std::make_shared<PageEnvironment>(resources);
  ARROW_ASSIGN_OR_RAISE(const auto reader,
                        MakePageReader({metadata, page.version, leaf.shape, leaf.layers, environment}));
  const uint64_t count = TotalCount(rows);
  const auto scan = reader->Scan(std::move(rows));
  ARROW_RETURN_NOT_OK(SupplyFrom(file, *scan, resources.pool).status());
  SinkMemory memory(resources.pool, resources.memory.get());
  std::vector<std::unique_ptr<LeafSink>> sinks;
  sinks.push_back(MakeLeafSink(leaf, count, /*keep_whole=*/true, memory));
  Decompressor decompressor;
  DecodeContext context(memory, decompressor);
  ARROW_RETURN_NOT_OK(scan->Decode(context, *sinks.front()));
  ARROW_RETURN_NOT_OK(sinks.front()->Settle());
  ARROW_ASSIGN_OR_RAISE(auto data, AssembleField(field, sinks, count / PageRowsPerRow(leaf.layers), memory));
  return arrow::MakeArray(std::move(data));
}

}  // namespace javelin::file::testing
