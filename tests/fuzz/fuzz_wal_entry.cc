// Any bytes either decode to an entry that survives a round trip, or are WalCorrupt.
#include <arrow/record_batch.h>

#include "javelin/base/error.h"
#include "javelin/memwal/wal_entry.h"

namespace javelin::memwal {
namespace {

void Require(bool holds) {
  if (!holds) __builtin_trap();
}

bool SameRows(const WalEntry& left, const WalEntry& right) {
  if (left.batches.size() != right.batches.size() || !left.schema->Equals(*right.schema)) return false;
  for (size_t i = 0; i < left.batches.size(); ++i) {
    if (!left.batches[i]->Equals(*right.batches[i], /*check_metadata=*/false,
                                 arrow::EqualOptions::Defaults().nans_equal(true)))
      return false;
  }
  return true;
}

void Check(const BufferPtr& bytes) {
  auto entry = DecodeWalEntry(bytes);
  if (!entry.ok()) {
    Require(KindOf(entry.status()) == ErrorKind::kWalCorrupt);
    return;
  }
  for (const auto& batch : entry->batches) Require(batch->ValidateFull().ok());
  auto again = EncodeWalEntry(*entry);
  if (entry->batches.empty() && !entry->fence_sentinel) {
    Require(KindOf(again.status()) == ErrorKind::kInvalidInput);
    return;
  }
  if (!again.ok()) return;  // a type that Arrow reads but does not write
  auto back = DecodeWalEntry(*again);
  Require(back.ok());
  Require(back->writer_epoch == entry->writer_epoch && back->generation == entry->generation &&
          back->target == entry->target);
  Require(back->fence_sentinel == entry->fence_sentinel && (entry->fence_sentinel || SameRows(*back, *entry)));
}

}  // namespace
}  // namespace javelin::memwal

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A copy of exactly this size, so that the sanitizer sees a read behind its end.
  javelin::memwal::Check(arrow::Buffer::FromString(std::string(reinterpret_cast<const char*>(data), size)));
  return 0;
}
