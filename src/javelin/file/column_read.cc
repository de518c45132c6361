#include "javelin/file/column_read_internal.h"

#include <algorithm>

#include <arrow/array.h>

#include "javelin/base/error.h"
#include "javelin/file/nested_array_internal.h"
#include "javelin/file/shared_ranges_internal.h"

namespace javelin::file {

namespace {

// Below this much output, handing columns to other threads costs more than it gains.
constexpr uint64_t kParallelBytes = 1u << 20;

arrow::Status InPage(const OpenFile& file, const arrow::Status& status, const ColumnRead& read, size_t page) {
  return file.InPage(status, *read.field, read.column, page);
}

arrow::Status DecodeColumn(const OpenFile& file, ColumnRead& read) {
  DecompressorLease decompressor(*file.environment);
  DecodeContext context(*read.memory, *decompressor);
  for (ColumnRead::Part& part : read.parts) {
    const arrow::Status status = part.scan->Decode(context, *read.sink);
    if (!status.ok()) return InPage(file, status, read, part.page);
    part.scan.reset();  // its bytes are not needed any more
  }
  const arrow::Status status = read.sink->Settle();
  return status.ok() ? status : file.InColumn(status, *read.field, read.column);
}

}  // namespace

void ColumnRead::MeasureWork() {
  if (hands_on_bytes) return;
  const uint64_t bits = std::min<uint64_t>(MemoryBits(sink->values().shape()), 1u << 20);
  uint64_t bytes = 0;
  for (const Part& part : parts) bytes += part.scan->Work(part.supplied);
  work = std::max(bytes, num_rows * bits / 8);
}

arrow::Status FetchColumns(const OpenFile& file, std::span<ColumnRead* const> reads, BlockCache::Access access,
                           std::vector<MemoryReservation>& held) {
  for (int round = 0; round <= PageScan::kMaxRounds; ++round) {
    std::vector<ByteRange> ranges;
    for (ColumnRead* read : reads) {
      for (ColumnRead::Part& part : read->parts) {
        auto wanted = part.scan->Wanted();
        if (!wanted.ok()) return InPage(file, wanted.status(), *read, part.page);
        part.num_wanted = wanted->size();
        ranges.insert(ranges.end(), wanted->begin(), wanted->end());
      }
    }
    if (ranges.empty()) return arrow::Status::OK();
    const SharedRanges shared(std::move(ranges));
    auto memory = file.ReserveBytes(shared.distinct());
    if (!memory.ok()) return file.InFile(memory.status());
    held.push_back(std::move(*memory));
    auto distinct = file.GetBytes(shared.distinct(), access);
    if (!distinct.ok()) return file.InFile(distinct.status());
    std::vector<BufferPtr> bytes = shared.Share(*std::move(distinct));
    auto next = std::make_move_iterator(bytes.begin());
    for (ColumnRead* read : reads) {
      for (ColumnRead::Part& part : read->parts) {
        if (part.num_wanted == 0) continue;
        const auto end = next + static_cast<ptrdiff_t>(part.num_wanted);
        for (auto at = next.base(); at != end.base(); ++at) part.supplied += static_cast<uint64_t>((*at)->size());
        const arrow::Status status = part.scan->Supply(std::vector<BufferPtr>(next, end));
        if (!status.ok()) return InPage(file, status, *read, part.page);
        next = end;
      }
    }
  }
  return file.InFile(Internal("a page asks for bytes without end"));
}

// What takes longest begins first, so that no thread is left alone with it at the end.
void DecodeColumns(const OpenFile& file, std::vector<ColumnRead*> reads) {
  uint64_t work = 0;
  for (ColumnRead* read : reads) {
    read->MeasureWork();
    work += read->work;
  }
  const bool parallel = reads.size() > 1 && work >= kParallelBytes;
  if (parallel) {
    std::stable_sort(reads.begin(), reads.end(),
                     [](const ColumnRead* a, const ColumnRead* b) { return a->work > b->work; });
  }
  std::vector<Job> jobs;
  for (ColumnRead* read : reads) {
    if (!parallel) {
      read->status = DecodeColumn(file, *read);
      continue;
    }
    jobs.push_back([&file, read] { read->status = DecodeColumn(file, *read); });
  }
  if (!jobs.empty()) file.environment->resources.runtime->Cpu(std::move(jobs));
}

arrow::Result<std::shared_ptr<arrow::Array>> Assemble(const OpenFile& file, FieldRead& read, uint64_t num_rows,
                                                      SinkMemory& memory) {
  std::vector<std::unique_ptr<LeafSink>> leaves;
  for (const auto& leaf : read.leaves) {
    if (leaf != nullptr) ARROW_RETURN_NOT_OK(leaf->status);
    leaves.push_back(leaf == nullptr ? nullptr : std::move(leaf->sink));
  }
  auto data = AssembleField(*read.field, leaves, num_rows, memory);
  if (!data.ok()) {
    const auto present = std::find_if(read.leaves.begin(), read.leaves.end(), [](const auto& leaf) { return !!leaf; });
    return present == read.leaves.end() ? file.InFile(data.status())
                                        : file.InColumn(data.status(), *read.field, (*present)->column);
  }
  return arrow::MakeArray(std::move(*data));
}

}  // namespace javelin::file
