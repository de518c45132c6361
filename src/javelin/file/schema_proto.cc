// Schemas to and from the flat field lists of manifests and file descriptors.
#include <set>

#include <google/protobuf/repeated_ptr_field.h>
#include "lanceproto/file.pb.h"

#include "javelin/base/error.h"
#include "javelin/file/logical_type_internal.h"
#include "javelin/file/schema.h"
#include "javelin/file/schema_internal.h"

namespace javelin::file {

namespace {

using FieldProto = lance::file::Field;

// Deeper trees than this are refused: every level costs a stack frame here and in Arrow.
constexpr int kMaxDepth = 64;

// Hidden columns of row ids and row versions, in descriptors of data files only.
constexpr int kFirstLineageId = -3;
constexpr int kLastLineageId = -5;

class FieldListReader {
 public:
  template <typename FieldList>
  arrow::Status Add(const FieldList& fields) {
    bool after_blob = false;
    for (const FieldProto& proto : fields) {
      // A file's own descriptor lists the inner fields of a blob column behind it, without ids or parent. They are no
      // fields of the table.
      if (proto.id() == -1 && after_blob) continue;
      after_blob = IsBlob(proto);
      ARROW_RETURN_NOT_OK(AddOne(proto));
    }
    return arrow::Status::OK();
  }

  arrow::Result<std::vector<Field>> Build(int parent_id, int depth) const {
    std::vector<Field> fields;
    auto children = children_.find(parent_id);
    if (children == children_.end()) return fields;
    if (depth >= kMaxDepth) return NotSupported("the schema nests deeper than {} levels", kMaxDepth);
    for (const FieldProto* proto : children->second) {
      ARROW_ASSIGN_OR_RAISE(Field field, BuildOne(*proto, depth));
      fields.push_back(std::move(field));
    }
    return fields;
  }

 private:
  static bool IsBlob(const FieldProto& proto) { return proto.metadata().contains(std::string(kBlobMetadata)); }

  arrow::Status AddOne(const FieldProto& proto) {
    const bool is_lineage = proto.id() >= kLastLineageId && proto.id() <= kFirstLineageId;
    if (proto.id() < 0 && !is_lineage) return Corruption("schema field '{}' has the id {}", proto.name(), proto.id());
    if (proto.parent_id() != kRootParent.value() && !ids_.contains(proto.parent_id())) {
      return Corruption("schema field '{}' (id {}) has the unknown parent {}", proto.name(), proto.id(),
                        proto.parent_id());
    }
    if (!ids_.insert(proto.id()).second)
      return Corruption("schema field id {} occurs twice ('{}')", proto.id(), proto.name());
    children_[proto.parent_id()].push_back(&proto);
    return arrow::Status::OK();
  }

  arrow::Result<Field> BuildOne(const FieldProto& proto, int depth) const {
    Field field;
    field.id = FieldId(proto.id());
    field.name = proto.name();
    field.logical_type = proto.logical_type();
    field.nullable = proto.nullable();
    for (const auto& [key, value] : proto.metadata()) field.metadata.insert_or_assign(key, value);
    if (!proto.extension_name().empty()) field.metadata.emplace(kExtensionNameMetadata, proto.extension_name());
    field.primary_key = proto.unenforced_primary_key() || proto.unenforced_primary_key_position() > 0;
    field.primary_key_position = proto.unenforced_primary_key_position();
    field.clustering_key = proto.unenforced_clustering_key();
    field.clustering_key_position = proto.unenforced_clustering_key_position();
    AddKeyMetadata(field);
    ARROW_ASSIGN_OR_RAISE(field.children, Build(proto.id(), depth + 1));
    auto type = BuildType(field.logical_type, field.children);
    if (!type.ok()) {
      return WithField(WithContext(type.status(), fmt::format("schema field '{}' (id {})", field.name, field.id)),
                       "field", field.name);
    }
    field.type = *type;
    return field;
  }

  // Released writers store the key both as flags and as metadata; a list that has only the flags must not lose the key
  // on its way through Arrow.
  static void AddKeyMetadata(Field& field) {
    if (field.primary_key_position > 0) {
      field.metadata.emplace(kPrimaryKeyPositionMetadata, std::to_string(field.primary_key_position));
    } else if (field.primary_key && !field.metadata.contains(std::string(kPrimaryKeyPositionMetadata))) {
      field.metadata.emplace(kPrimaryKeyMetadata, "true");
    }
    if (field.clustering_key_position > 0) {
      field.metadata.emplace(kClusteringKeyPositionMetadata, std::to_string(field.clustering_key_position));
    }
  }

  std::map<int32_t, std::vector<const FieldProto*>> children_;
  std::set<int32_t> ids_;
};

// Read by old readers only.
FieldProto::Encoding LegacyEncoding(const Field& field) {
  std::string_view name = field.logical_type;
  if (name == "struct" || name == "null") return FieldProto::NONE;
  if (name.starts_with("dict:")) return FieldProto::DICTIONARY;
  static const std::set<std::string_view> variable = {"string",       "large_string", "binary",
                                                      "large_binary", "json",         "blob"};
  return variable.contains(name) ? FieldProto::VAR_BINARY : FieldProto::PLAIN;
}

void AppendProto(const Field& field, FieldId parent, std::vector<FieldProto>& out) {
  FieldProto proto;
  proto.set_name(field.name);
  proto.set_id(field.id.value());
  proto.set_parent_id(parent.value());
  proto.set_logical_type(field.logical_type);
  proto.set_nullable(field.nullable);
  proto.set_encoding(LegacyEncoding(field));
  for (const auto& [key, value] : field.metadata) (*proto.mutable_metadata())[key] = value;
  auto extension = field.metadata.find(std::string(kExtensionNameMetadata));
  if (extension != field.metadata.end()) proto.set_extension_name(extension->second);
  proto.set_unenforced_primary_key(field.primary_key);
  proto.set_unenforced_primary_key_position(field.primary_key_position);
  proto.set_unenforced_clustering_key(field.clustering_key);
  proto.set_unenforced_clustering_key_position(field.clustering_key_position);
  out.push_back(std::move(proto));
  // The parts of a blob column in a file's own descriptor have no ids, nor a parent.
  for (const Field& child : field.children) AppendProto(child, child.id == kRootParent ? kRootParent : field.id, out);
}

}  // namespace

template <typename FieldList>
arrow::Result<Schema> Schema::FromProto(const FieldList& fields, std::map<std::string, std::string> metadata) {
  FieldListReader reader;
  ARROW_RETURN_NOT_OK(reader.Add(fields));
  ARROW_ASSIGN_OR_RAISE(std::vector<Field> roots, reader.Build(kRootParent.value(), 0));
  return Schema(std::move(roots), std::move(metadata));
}

template arrow::Result<Schema> Schema::FromProto(const google::protobuf::RepeatedPtrField<FieldProto>& fields,
                                                 std::map<std::string, std::string> metadata);
template arrow::Result<Schema> Schema::FromProto(const std::vector<FieldProto>& fields,
                                                 std::map<std::string, std::string> metadata);

std::vector<FieldProto> Schema::ToProto() const {
  std::vector<FieldProto> out;
  for (const Field& field : fields_) AppendProto(field, kRootParent, out);
  return out;
}

}  // namespace javelin::file
