// Any bytes, as either type of deletion file, are rows of the fragment that survive being written again, or a typed
// error.
#include <arrow/buffer.h>

#include "javelin/base/error.h"
#include "javelin/table/deletion_vector.h"

namespace javelin::table {
namespace {

constexpr uint64_t kRows = 70'000;  // more than a container of a bitmap has

void Require(bool holds) {
  if (!holds) __builtin_trap();
}

void Check(DeletionFileType type, const BufferPtr& bytes) {
  const auto deleted = DecodeDeletionFile({type, 1, 1, 0, std::nullopt}, bytes, kRows);
  if (!deleted.ok()) {
    Require(KindOf(deleted.status()) == ErrorKind::kCorruption);
    return;
  }
  uint64_t rows = 0;
  for (const auto& run : deleted->runs()) {
    Require(run.first <= run.last && run.last < kRows);
    rows += run.last - run.first + 1;
  }
  Require(rows == deleted->size());
  // The manifest may say how many they are.
  Require(KindOf(DecodeDeletionFile({type, 1, 1, rows + 1, std::nullopt}, bytes, kRows).status()) ==
          ErrorKind::kCorruption);
  if (deleted->empty()) return;
  const auto file = EncodeDeletionFile(*deleted);
  Require(file.ok());
  const auto again = DecodeDeletionFile({file->type, 1, 1, rows, std::nullopt}, file->bytes, kRows);
  Require(again.ok() && *again == *deleted);
}

}  // namespace
}  // namespace javelin::table

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using javelin::table::DeletionFileType;
  // A copy of exactly this size, so that the sanitizer sees a read behind its end.
  const auto bytes = arrow::Buffer::FromString(std::string(reinterpret_cast<const char*>(data), size));
  javelin::table::Check(DeletionFileType::kArrowArray, bytes);
  javelin::table::Check(DeletionFileType::kBitmap, bytes);
  return 0;
}
