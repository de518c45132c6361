// An arbitrary byte string as each thing that table metadata is read from: manifest file, transaction, Roaring bitmap,
// row ids. What decodes must survive being written again.
#include <arrow/buffer.h>

#include "javelin/base/error.h"
#include "javelin/table/feature_flags.h"
#include "javelin/table/index_entry.h"
#include "javelin/table/manifest_codec.h"
#include "javelin/table/mem_wal_details.h"
#include "javelin/table/row_lineage.h"
#include "javelin/table/transaction.h"

using namespace javelin;
using namespace javelin::table;

namespace {

void Require(bool condition) {
  if (!condition) __builtin_trap();
}

// Every failure is the input's fault, never a broken invariant of ours.
void RequireTyped(const arrow::Status& status) {
  if (status.ok()) return;
  const ErrorKind kind = KindOf(status);
  Require(kind == ErrorKind::kCorruption || kind == ErrorKind::kNotSupported || kind == ErrorKind::kInvalidInput);
}

void Manifests(std::string_view bytes) {
  const auto decoded = DecodeManifestFile(bytes);
  RequireTyped(decoded.status());
  if (!decoded.ok()) return;
  const Manifest& manifest = decoded->manifest;
  static_cast<void>(CheckWritable(manifest));
  RequireTyped(ReadMemWalDetails(manifest).status());
  for (const IndexEntry& index : manifest.indices) static_cast<void>(CoverageOf(index));
  for (const Fragment& fragment : manifest.fragments) {
    if (WhereRowIdsAre(fragment) == RowIdsKept::kInManifest)
      RequireTyped(DecodeRowIds(fragment, fragment.physical_rows).status());
    RequireTyped(DecodeCreatedVersions(fragment).status());
    RequireTyped(DecodeUpdatedVersions(fragment).status());
  }
  if (decoded->transaction) RequireTyped(DecodeTransaction(*decoded->transaction).status());

  const auto file = EncodeManifestFile(manifest, decoded->transaction.value_or(""));
  Require(file.ok());
  const auto again = DecodeManifestFile((*file)->ToString());
  Require(again.ok());
  Require(again->manifest.fragments == manifest.fragments && again->manifest.schema == manifest.schema &&
          again->manifest.indices == manifest.indices && again->manifest.config == manifest.config &&
          again->manifest.version == manifest.version && again->manifest.base_paths == manifest.base_paths);
}

void Transactions(std::string_view bytes) {
  const auto decoded = DecodeTransaction(bytes);
  RequireTyped(decoded.status());
  if (!decoded.ok()) return;
  const auto encoded = EncodeTransaction(*decoded);
  RequireTyped(encoded.status());
  if (encoded.ok()) Require(DecodeTransaction(*encoded).ok());
}

void Bitmaps(std::string_view bytes) {
  const auto decoded = DecodeRoaring(bytes);
  RequireTyped(decoded.status());
  if (decoded.ok()) Require(DecodeRoaring(EncodeRoaring(*decoded)).ValueOrDie() == *decoded);
}

void RowLineage(std::string_view bytes) {
  const auto versions = RowVersions::Decode(bytes);
  RequireTyped(versions.status());
  std::vector<uint64_t> read(100);
  if (versions.ok()) versions->Read(0, read);
  const auto decoded = RowIdSequence::Decode(bytes);
  RequireTyped(decoded.status());
  if (!decoded.ok() || decoded->size() == 0) return;
  std::vector<uint64_t> ids(std::min<uint64_t>(decoded->size(), 1000));
  decoded->Read(0, ids);
  decoded->Read(decoded->size() - ids.size(), ids);
}

}  // namespace

// The first byte says what the rest is meant to be.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0: Manifests(bytes); break;
    case 1: Transactions(bytes); break;
    case 2: Bitmaps(bytes); break;
    case 3: RowLineage(bytes); break;
  }
  return 0;
}
