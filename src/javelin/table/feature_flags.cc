#include "javelin/table/feature_flags.h"

#include <bit>

#include "javelin/base/error.h"
#include "javelin/table/row_lineage.h"
#include "javelin/table/wire_internal.h"

namespace javelin::table {

namespace {

constexpr uint64_t kReadable = flag::kDeletionFiles | flag::kStableRowIds | flag::kOldV2Files | flag::kTableConfig |
                               flag::kBasePaths | flag::kNoTransactionFiles | flag::kCoveringIndices |
                               flag::kMixedFileVersions | flag::kTaggedReuseIndex | flag::kSpilledLineage |
                               flag::kManagedBlobs;
constexpr uint64_t kWritable = kReadable | flag::kLastingFieldIds;
constexpr uint64_t kPaired =
    flag::kMixedFileVersions | flag::kTaggedReuseIndex | flag::kManagedBlobs | flag::kZoneWriteSeed;
constexpr uint64_t kSticky = flag::kMixedFileVersions | flag::kTaggedReuseIndex | flag::kManagedBlobs;

std::string_view NameOfFlag(uint64_t bit) {
  switch (bit) {
    case flag::kDataOverlays: return "data overlays";
    case flag::kStableIdsAndReuseIndex: return "stable row ids with a fragment reuse index";
    case flag::kZoneWriteSeed: return "zone write seed";
    case flag::kLastingFieldIds: return "field ids that are not used again";
    case flag::kMixedFileVersions: return "mixed file versions";
    case flag::kTaggedReuseIndex: return "tagged fragment reuse index";
    case flag::kManagedBlobs: return "managed blobs";
    default: return "unknown to this version";
  }
}

// The lowest of some bits.
uint64_t First(uint64_t bits) { return uint64_t{1} << std::countr_zero(bits); }

arrow::Status RefuseUnknown(uint64_t word, uint64_t known, std::string_view verb, std::string_view word_name) {
  if ((word & ~known) == 0) return arrow::Status::OK();
  const uint64_t bit = First(word & ~known);
  return MakeError(
      ErrorKind::kNotSupported,
      fmt::format("the table cannot be {} by this version: its {} feature word has bit {} ({}); use a newer version",
                  verb, word_name, bit, NameOfFlag(bit)),
      {{"flag", fmt::format("{}", bit)}});
}

bool HasCoveringFields(const IndexEntry& index) {
  wire::IndexMetadata message;
  return Parse(index.encoded, message, "an index entry").ok() && message.covering_fields_size() > 0;
}

bool HasOtherFileVersion(const Manifest& manifest) {
  for (const Fragment& fragment : manifest.fragments) {
    for (const DataFile& file : fragment.files) {
      if (fmt::format("{}.{}", file.version.major, file.version.minor) != manifest.data_format_version) return true;
    }
  }
  return false;
}

template <typename List, typename Predicate>
uint64_t BitIfAny(uint64_t bit, const List& list, Predicate predicate) {
  return std::any_of(list.begin(), list.end(), predicate) ? bit : 0;
}

}  // namespace

arrow::Status CheckReadable(const Manifest& manifest) {
  const uint64_t reader = manifest.reader_feature_flags, writer = manifest.writer_feature_flags;
  if (const uint64_t half = (reader ^ writer) & kPaired; half != 0) {
    return Corruption("feature bit {} ({}) is set in only one of the two feature words; its meaning is undefined",
                      First(half), NameOfFlag(First(half)));
  }
  ARROW_RETURN_NOT_OK(RefuseUnknown(reader & ~flag::kLastingFieldIds, kReadable, "read", "reader"));
  if ((reader & flag::kLastingFieldIds) != 0 ||
      ((writer & flag::kLastingFieldIds) != 0) != manifest.max_allocated_field_id.has_value()) {
    return Corruption(
        "feature bit {} (reader word {}, writer word {}) disagrees with the manifest's mark of allocated field ids",
        flag::kLastingFieldIds, reader, writer);
  }
  return arrow::Status::OK();
}

arrow::Status CheckWritable(const Manifest& manifest) {
  return RefuseUnknown(manifest.writer_feature_flags, kWritable, "written", "writer");
}

void RecomputeFlags(const Manifest* previous, Manifest& next) {
  uint64_t both =
      BitIfAny(flag::kDeletionFiles, next.fragments, [](const Fragment& f) { return f.deletion_file.has_value(); }) |
      BitIfAny(flag::kSpilledLineage, next.fragments, [](const Fragment& f) { return HasSpilledLineage(f); }) |
      BitIfAny(flag::kCoveringIndices, next.indices, HasCoveringFields);
  if (!next.base_paths.empty()) both |= flag::kBasePaths;
  if (HasOtherFileVersion(next)) both |= flag::kMixedFileVersions;
  if (previous != nullptr) both |= previous->reader_feature_flags & (kSticky | flag::kStableRowIds);
  uint64_t writer_only = 0;
  if (!next.config.empty()) writer_only |= flag::kTableConfig;
  if (next.max_allocated_field_id) writer_only |= flag::kLastingFieldIds;
  next.reader_feature_flags = both;
  next.writer_feature_flags = both | writer_only;
}

}  // namespace javelin::table
