#include "javelin/file/version_limits_internal.h"

#include <algorithm>

#include "javelin/base/error.h"
#include "javelin/file/blob_field.h"
#include "javelin/file/container_internal.h"
#include "javelin/file/schema_internal.h"
#include "javelin/file/struct_packer_internal.h"
#include "javelin/file/value_shape_internal.h"

namespace javelin::file {

namespace {

constexpr std::string_view kStructList = "fixed_size_list:struct:";
// Two values of this size and their levels fit the chunks of 2.1. Only lists of booleans and packed structs must go
// into chunks.
constexpr uint64_t kMaxBitsOfSmallChunk = 12u << 13;

arrow::Status Refuse(const std::string& path, const Field& field, std::string_view why) {
  return WithField(NotSupported("column '{}' of type {} {}", path, field.type->ToString(), why), "column", path);
}

arrow::Status TooNew(const std::string& path, const Field& field, FileVersion version) {
  return Refuse(path, field,
                fmt::format("came with data files of version 2.2 and cannot be written as {}; write to a table of "
                            "version 2.2, or leave the column out",
                            ToString(version)));
}

// Bits of a list of booleans with a bitmap of each of its levels; 0 for other types.
uint64_t BitsOfBooleans(const arrow::DataType& type) {
  uint64_t items = 1;
  uint64_t levels = 0;
  const arrow::DataType* item = &type;
  for (; item->id() == arrow::Type::FIXED_SIZE_LIST; ++levels) {
    const auto& list = static_cast<const arrow::FixedSizeListType&>(*item);
    items *= static_cast<uint64_t>(list.list_size());
    item = list.value_type().get();
    if (items > kMaxBitsOfSmallChunk) break;
  }
  while (item->id() == arrow::Type::FIXED_SIZE_LIST)
    item = static_cast<const arrow::FixedSizeListType&>(*item).value_type().get();
  return item->id() == arrow::Type::BOOL && levels > 0 ? items * (levels + 1) : 0;
}

arrow::Status CheckSmallChunks(const std::string& path, const Field& field, FileVersion version) {
  if (BitsOfBooleans(*field.type) <= kMaxBitsOfSmallChunk) return arrow::Status::OK();
  return TooNew(path, field, version);
}

// Which of the fields of a packed struct released readers fetch apart from the others, for a filter on local files and
// on object stores.
int FetchedWith(uint64_t width) { return (width >= 10 ? 1 : 0) + (width >= 1000 ? 1 : 0); }

arrow::Status CheckPacked(const std::string& path, const Field& field, FileVersion version) {
  ARROW_ASSIGN_OR_RAISE(const StructPacker packer, StructPacker::Make(field));
  const bool is_2_0 = version == FileVersion{2, 0};
  const bool holds = is_2_0 ? !packer.has_strings() : packer.is_fixed() && packer.shape().bits <= kMaxBitsOfSmallChunk;
  if (!holds) {
    return Refuse(path, field,
                  fmt::format("is packed ('{}'), which data files of version {} hold for {} only; declare it without "
                              "that key, or write to a table of version 2.2",
                              kPackedMetadata, ToString(version),
                              is_2_0 ? "fields of one width each" : "small fields of one width"));
  }
  const std::vector<uint64_t> widths = packer.widths();
  const auto is_apart = [&](uint64_t width) { return FetchedWith(width) != FetchedWith(widths[0]); };
  if (is_2_0 && std::ranges::any_of(widths, is_apart)) {
    return Refuse(
        path, field,
        fmt::format("is packed ('{}') and has both narrow and wide fields, which released readers fetch apart "
                    "for a filter and then misread in data files of version 2.0; declare it without that key",
                    kPackedMetadata));
  }
  return arrow::Status::OK();
}

arrow::Status CheckField(const std::string& path, const Field& field, FileVersion version) {
  const std::string& type = field.logical_type;
  if (type == "map" || BlobKindOf(field) == BlobKind::kV2) return TooNew(path, field, version);
  if (type.starts_with(kStructList)) {
    return Refuse(path, field,
                  "came with data files of version 2.2, which hold it without other columns only; make it a list "
                  "of structs, which every version holds");
  }
  if (field.children.empty() && type == "fixed_size_binary:0") {
    return Refuse(path, field,
                  "has values without bytes, which released readers find in data files of version 2.2 only; write to a "
                  "table of version 2.2, or leave the column out");
  }
  if (version == FileVersion{2, 1}) ARROW_RETURN_NOT_OK(CheckSmallChunks(path, field, version));
  if (type == "struct" && !field.children.empty() && IsLeafColumn(field)) return CheckPacked(path, field, version);
  for (const Field& child : field.children) {
    ARROW_RETURN_NOT_OK(CheckField(path + "." + child.name, child, version));
  }
  return arrow::Status::OK();
}

// Types that are read where others wrote them.
arrow::Status CheckStorable(const std::string& path, const Field& field) {
  if (field.children.empty() && !LogicalTypeOf(*field.type).ok())
    return Refuse(path, field, "is read, but not written here; leave the column out, or cast it to another type");
  for (const Field& child : field.children) ARROW_RETURN_NOT_OK(CheckStorable(path + "." + child.name, child));
  return arrow::Status::OK();
}

// Blobs lie in structs and lists; as versions 2.0 and 2.1 hold them, released readers find those in lists in 2.0 only.
arrow::Status CheckBlobPlaces(const std::string& path, const Field& field, FileVersion version, bool in_list) {
  const BlobKind kind = BlobKindOf(field);
  if (kind == BlobKind::kV1 && in_list && version != FileVersion{2, 0}) {
    return Refuse(
        path, field,
        fmt::format("is a blob inside a list, which released readers cannot read in data files of version {}; "
                    "write it to a table of version 2.2, which holds blobs in another form, or give it as plain "
                    "large_binary",
                    ToString(version)));
  }
  if (kind != BlobKind::kNone || !HoldsBlobs(field)) return arrow::Status::OK();
  const bool is_list = field.logical_type.starts_with("list") || field.logical_type.starts_with("large_list");
  if (!is_list && (field.logical_type != "struct" || IsLeafColumn(field)))
    return Refuse(path, field, "has blobs inside, which only lists and structs that are not packed can have");
  for (const Field& child : field.children)
    ARROW_RETURN_NOT_OK(CheckBlobPlaces(path + "." + child.name, child, version, in_list || is_list));
  return arrow::Status::OK();
}

}  // namespace

arrow::Status CheckGoTogether(const Schema& schema, const std::vector<const LeafPath*>& leaves) {
  // Inside structs that are null in some pages only, they are misread even alone.
  const bool are_struct_lists = std::ranges::all_of(
      schema.fields(), [](const Field& field) { return field.logical_type.starts_with(kStructList); });
  const bool have_as_many_items = std::ranges::all_of(
      leaves, [&](const LeafPath* leaf) { return PageRowsPerRow(leaf->layers) == PageRowsPerRow(leaves[0]->layers); });
  const bool go_together = are_struct_lists && (schema.fields().size() == 1 || have_as_many_items);
  for (size_t i = 0; i < leaves.size(); ++i) {
    const LeafPath& leaf = *leaves[i];
    if (PageRowsPerRow(leaf.layers) > 1 && !go_together) {
      return Refuse(leaf.name, leaf.leaf,
                    "lies in a fixed-size list of structs, which released readers cannot read inside structs, nor "
                    "together with columns of fewer or more items a row; make it a list of structs");
    }
    if (i + 1 < leaves.size() && leaf.kind == LeafKind::kEmptyStruct && leaves[i + 1]->kind != leaf.kind) {
      return Refuse(leaf.name, leaf.leaf,
                    fmt::format("has no fields, and released readers find nothing but nulls in the column '{}' behind "
                                "it; make it the last one, leave it out, or write to a table of version 2.0",
                                leaves[i + 1]->name));
    }
  }
  return arrow::Status::OK();
}

arrow::Status CheckVersionHolds(const Schema& schema, FileVersion version) {
  for (const Field& field : schema.fields()) {
    ARROW_RETURN_NOT_OK(CheckStorable(field.name, field));
    ARROW_RETURN_NOT_OK(CheckBlobPlaces(field.name, field, version, /*in_list=*/false));
  }
  if (version == FileVersion{2, 2}) return arrow::Status::OK();
  if (version != FileVersion{2, 1} && version != FileVersion{2, 0}) {
    return NotSupported("data files of version {} cannot be written; 2.0, 2.1 and 2.2 can", ToString(version));
  }
  for (const Field& field : schema.fields()) ARROW_RETURN_NOT_OK(CheckField(field.name, field, version));
  return arrow::Status::OK();
}

}  // namespace javelin::file
