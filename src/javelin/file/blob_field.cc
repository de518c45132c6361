#include "javelin/file/blob_field.h"

#include <algorithm>

#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "javelin/file/logical_type_internal.h"
#include "javelin/file/schema_internal.h"

namespace javelin::file {

BlobKind BlobKindOf(const Field& field) {
  const auto extension = field.metadata.find(std::string(kExtensionNameMetadata));
  if (extension != field.metadata.end() && extension->second == kBlobExtension) return BlobKind::kV2;
  // Any value switches blobs on. In its own descriptor a file names a v2 column so too.
  if (!field.metadata.contains(std::string(kBlobMetadata))) return BlobKind::kNone;
  return field.logical_type == "struct" ? BlobKind::kV2 : BlobKind::kV1;
}

const std::shared_ptr<arrow::DataType>& BlobDescriptionType(BlobKind kind) {
  static const auto v1 =
      arrow::struct_({arrow::field("position", arrow::uint64()), arrow::field("size", arrow::uint64())});
  static const auto v2 =
      arrow::struct_({arrow::field("kind", arrow::uint8(), false), arrow::field("position", arrow::uint64(), false),
                      arrow::field("size", arrow::uint64(), false), arrow::field("blob_id", arrow::uint32(), false),
                      arrow::field("blob_uri", arrow::utf8(), false)});
  static const auto none = arrow::null();
  return kind == BlobKind::kV1 ? v1 : kind == BlobKind::kV2 ? v2 : none;
}

bool IsBlobDescription(const Field& field) {
  const BlobKind kind = BlobKindOf(field);
  return kind != BlobKind::kNone && field.type->Equals(*BlobDescriptionType(kind));
}

bool HoldsBlobs(const Field& field) {
  return BlobKindOf(field) != BlobKind::kNone || std::any_of(field.children.begin(), field.children.end(), HoldsBlobs);
}

Field DescribeBlob(const Field& field) {
  if (!HoldsBlobs(field)) return field;
  Field description = field;
  const BlobKind kind = BlobKindOf(field);
  if (kind == BlobKind::kNone) {
    for (Field& child : description.children) child = DescribeBlob(child);
    const auto type = BuildType(description.logical_type, description.children);
    if (!type.ok()) return field;  // the entries of a map cannot be blobs: it is refused where it is read
    description.type = *type;
    return description;
  }
  description.type = BlobDescriptionType(kind);
  description.children.clear();
  if (kind == BlobKind::kV2) {
    description.logical_type = "struct";
    // The name of the extension stands for another type.
    description.metadata = {{std::string(kBlobMetadata), "true"}, {std::string(kPackedMetadata), "true"}};
  }
  return description;
}

Schema DescribeBlobs(const Schema& schema) {
  std::vector<Field> fields;
  for (const Field& field : schema.fields()) fields.push_back(DescribeBlob(field));
  return Schema(std::move(fields), schema.metadata());
}

std::shared_ptr<arrow::Field> BlobBytesField(const Field& field) {
  const auto metadata = arrow::key_value_metadata({{std::string(kBlobMetadata), "true"}});
  return arrow::field(field.name, arrow::large_binary(), field.nullable, metadata);
}

Field StoredBlob(const Field& field) {
  Field stored = DescribeBlob(field);
  if (BlobKindOf(field) == BlobKind::kV1) stored.metadata = {{std::string(kBlobMetadata), "true"}};  // no wishes
  for (const auto& part : stored.type->fields()) {
    Field child;
    child.name = part->name();
    child.type = part->type();
    child.logical_type = LogicalTypeOf(*part->type()).ValueOrDie();
    child.nullable = part->nullable();
    stored.children.push_back(std::move(child));
  }
  return stored;
}

std::string BlobSidecarKey(const std::string& data_key, uint32_t blob_id) {
  std::string name;
  for (int bit = 0; bit < 32; ++bit) name += blob_id >> bit & 1 ? '1' : '0';  // the lowest first
  return data_key.substr(0, data_key.rfind('.')) + "/" + name + ".blob";
}

}  // namespace javelin::file
