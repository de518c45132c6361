#include "javelin/file/schema.h"

#include <charconv>

#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "javelin/base/error.h"
#include "javelin/base/nearest_name.h"
#include "javelin/file/logical_type_internal.h"
#include "javelin/file/schema_internal.h"

namespace javelin::file {

namespace {

using arrow::Type;

std::map<std::string, std::string> ToMap(const std::shared_ptr<const arrow::KeyValueMetadata>& metadata) {
  std::map<std::string, std::string> map;
  if (metadata == nullptr) return map;
  for (int64_t i = 0; i < metadata->size(); ++i) map.insert_or_assign(metadata->key(i), metadata->value(i));
  return map;
}

std::shared_ptr<const arrow::KeyValueMetadata> ToMetadata(const std::map<std::string, std::string>& map) {
  if (map.empty()) return nullptr;
  std::vector<std::string> keys;
  std::vector<std::string> values;
  for (const auto& [key, value] : map) {
    keys.push_back(key);
    values.push_back(value);
  }
  return arrow::key_value_metadata(std::move(keys), std::move(values));
}

std::optional<uint32_t> ReadPosition(const std::map<std::string, std::string>& metadata, std::string_view key) {
  auto found = metadata.find(std::string(key));
  if (found == metadata.end()) return std::nullopt;
  uint32_t value = 0;
  const std::string& text = found->second;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The key roles of a field are written as metadata by users; any valid position makes a key.
void ReadKeyRoles(Field& field) {
  field.primary_key = IsTruthy(field.metadata, kPrimaryKeyMetadata);
  if (auto position = ReadPosition(field.metadata, kPrimaryKeyPositionMetadata)) {
    field.primary_key = true;
    field.primary_key_position = *position;
  }
  if (auto position = ReadPosition(field.metadata, kClusteringKeyPositionMetadata))
    field.clustering_key_position = *position;
}

std::vector<std::shared_ptr<arrow::Field>> ChildFields(const arrow::DataType& type) {
  switch (type.id()) {
    case Type::STRUCT:
    case Type::LIST:
    case Type::LARGE_LIST:
    case Type::MAP: return type.fields();
    case Type::FIXED_SIZE_LIST:
      return type.field(0)->type()->id() == Type::STRUCT ? type.fields() : std::vector<std::shared_ptr<arrow::Field>>{};
    default: return {};
  }
}

class ArrowSchemaConverter {
 public:
  explicit ArrowSchemaConverter(FieldId first_id) : next_id_(first_id) {}

  arrow::Result<std::vector<Field>> Convert(const std::vector<std::shared_ptr<arrow::Field>>& arrow_fields,
                                            bool nullable_ancestor) {
    std::vector<Field> fields;
    std::set<std::string> names;
    for (const auto& arrow_field : arrow_fields) {
      if (arrow_field->name().empty()) return InvalidInput("a column or struct field has an empty name; give it one");
      if (!names.insert(arrow_field->name()).second) {
        return InvalidInput("the name '{}' occurs twice among columns or fields of one struct; rename one",
                            arrow_field->name());
      }
      ARROW_ASSIGN_OR_RAISE(Field field, ConvertOne(*arrow_field, nullable_ancestor));
      fields.push_back(std::move(field));
    }
    return fields;
  }

 private:
  arrow::Result<Field> ConvertOne(const arrow::Field& arrow_field, bool nullable_ancestor) {
    Field field;
    field.id = next_id_;
    next_id_ = next_id_.Next();
    field.name = arrow_field.name();
    field.nullable = arrow_field.nullable();
    field.metadata = ToMap(arrow_field.metadata());
    field.metadata.erase(std::string(kFieldIdMetadata));
    if (arrow_field.type()->id() == Type::EXTENSION) {
      const auto& extension = static_cast<const arrow::ExtensionType&>(*arrow_field.type());
      field.metadata.insert_or_assign(std::string(kExtensionNameMetadata), extension.extension_name());
      field.metadata.insert_or_assign(std::string(kExtensionDataMetadata), extension.Serialize());
    }
    ReadKeyRoles(field);
    if (field.primary_key && (field.nullable || nullable_ancestor)) {
      return InvalidInput(
          "primary key column '{}' and everything around it must not be nullable; make it a field with nullable=False",
          field.name);
    }
    std::shared_ptr<arrow::DataType> type = CanonicalType(arrow_field.type());
    auto logical_type = LogicalTypeOf(*type);
    if (!logical_type.ok()) return WithContext(logical_type.status(), fmt::format("column '{}'", field.name));
    field.logical_type = *logical_type;
    auto extension_name = field.metadata.find(std::string(kExtensionNameMetadata));
    if (type->id() == Type::LARGE_BINARY && extension_name != field.metadata.end() &&
        extension_name->second == kJsonExtension) {
      field.logical_type = "json";
    }
    ARROW_ASSIGN_OR_RAISE(field.children, Convert(ChildFields(*type), nullable_ancestor || field.nullable));
    ARROW_ASSIGN_OR_RAISE(field.type, BuildType(field.logical_type, field.children));
    return field;
  }

  FieldId next_id_;
};

std::shared_ptr<arrow::Field> MakeArrowField(const Field& field, bool with_ids) {
  std::shared_ptr<arrow::DataType> type = field.type;
  std::map<std::string, std::string> metadata = field.metadata;
  if (with_ids) {
    metadata.insert_or_assign(std::string(kFieldIdMetadata), std::to_string(field.id.value()));
    if (!field.children.empty()) {
      std::vector<std::shared_ptr<arrow::Field>> children;
      for (const Field& child : field.children) children.push_back(MakeArrowField(child, with_ids));
      type = AssembleType(field.logical_type, children).ValueOr(type);
    }
  }
  return arrow::field(field.name, type, field.nullable, ToMetadata(metadata));
}

std::shared_ptr<arrow::Schema> MakeArrowSchema(const Schema& schema, bool with_ids) {
  std::vector<std::shared_ptr<arrow::Field>> fields;
  for (const Field& field : schema.fields()) fields.push_back(MakeArrowField(field, with_ids));
  return arrow::schema(std::move(fields), ToMetadata(schema.metadata()));
}

template <typename Visit>
void VisitFields(const std::vector<Field>& fields, const Visit& visit) {
  for (const Field& field : fields) {
    visit(field);
    VisitFields(field.children, visit);
  }
}

arrow::Status UnknownColumn(const std::vector<Field>& fields, const std::string& name) {
  const Field* nearest = nullptr;
  size_t best = std::string::npos;
  for (const Field& field : fields) {
    size_t distance = NameDistance(field.name, name);
    if (distance < best) {
      best = distance;
      nearest = &field;
    }
  }
  if (nearest == nullptr) return InvalidInput("column '{}' does not exist: the schema has no columns", name);
  return InvalidInput("column '{}' does not exist; did you mean '{}'?", name, nearest->name);
}

}  // namespace

bool IsTruthy(const std::map<std::string, std::string>& metadata, std::string_view key) {
  auto found = metadata.find(std::string(key));
  if (found == metadata.end()) return false;
  std::string text = found->second;
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text == "true" || text == "1" || text == "yes" || text == "on";
}

arrow::Result<std::shared_ptr<arrow::DataType>> AssembleType(
    const std::string& logical_type, const std::vector<std::shared_ptr<arrow::Field>>& children) {
  if (logical_type == "struct") return arrow::struct_(children);
  if (children.size() != 1)
    return Corruption("a field of type '{}' has {} child fields instead of 1", logical_type, children.size());
  if (logical_type.starts_with("list")) return arrow::list(children[0]);
  if (logical_type.starts_with("large_list")) return arrow::large_list(children[0]);
  if (logical_type == "map") {
    auto made = arrow::MapType::Make(children[0], /*keys_sorted=*/false);
    if (!made.ok()) return Corruption("the child of a map field is not a struct of a non-null key and a value");
    return made;
  }
  ARROW_ASSIGN_OR_RAISE(int32_t dimension, StructListDimension(logical_type));
  return arrow::fixed_size_list(children[0], dimension);
}

arrow::Result<std::shared_ptr<arrow::DataType>> BuildType(const std::string& logical_type,
                                                          const std::vector<Field>& children) {
  if (!HasChildFields(logical_type)) {
    if (!children.empty()) return Corruption("a field of type '{}' cannot have child fields", logical_type);
    return TypeOfLogical(logical_type);
  }
  std::vector<std::shared_ptr<arrow::Field>> arrow_children;
  for (const Field& child : children) arrow_children.push_back(ToArrowField(child));
  return AssembleType(logical_type, arrow_children);
}

bool operator==(const Field& left, const Field& right) {
  return left.id == right.id && left.name == right.name && left.logical_type == right.logical_type &&
         left.type->Equals(*right.type) && left.nullable == right.nullable && left.metadata == right.metadata &&
         left.primary_key == right.primary_key && left.primary_key_position == right.primary_key_position &&
         left.clustering_key == right.clustering_key && left.clustering_key_position == right.clustering_key_position &&
         left.children == right.children;
}

std::shared_ptr<arrow::Field> ToArrowField(const Field& field) { return MakeArrowField(field, /*with_ids=*/false); }

arrow::Result<Schema> Schema::FromArrow(const arrow::Schema& schema, FieldId first_id) {
  for (const auto& field : schema.fields()) {
    if (field->name().find('.') != std::string::npos) {
      return InvalidInput("column name '{}' contains '.', which separates struct fields; rename the column",
                          field->name());
    }
  }
  ARROW_ASSIGN_OR_RAISE(std::vector<Field> fields, ArrowSchemaConverter(first_id).Convert(schema.fields(), false));
  return Schema(std::move(fields), ToMap(schema.metadata()));
}

const Field* Schema::FindByName(std::string_view name) const {
  for (const Field& field : fields_) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

const Field* Schema::FindById(FieldId id) const {
  const Field* found = nullptr;
  VisitFields(fields_, [&](const Field& field) {
    if (found == nullptr && field.id == id) found = &field;
  });
  return found;
}

FieldId Schema::MaxId() const {
  FieldId highest(-1);
  VisitFields(fields_, [&](const Field& field) { highest = std::max(highest, field.id); });
  return highest;
}

std::vector<const Field*> Schema::PrimaryKey() const {
  std::vector<const Field*> key;
  VisitFields(fields_, [&](const Field& field) {
    if (field.primary_key) key.push_back(&field);
  });
  // Fields with a position come first, the others follow by id.
  auto rank = [](const Field* field) {
    return std::tuple(field->primary_key_position == 0, field->primary_key_position, field->id);
  };
  std::stable_sort(key.begin(), key.end(), [&](const Field* a, const Field* b) { return rank(a) < rank(b); });
  return key;
}

arrow::Result<Schema> Schema::Select(const std::vector<std::string>& names) const {
  std::vector<Field> fields;
  std::set<std::string> seen;
  for (const std::string& name : names) {
    const Field* field = FindByName(name);
    if (field == nullptr) return UnknownColumn(fields_, name);
    if (!seen.insert(name).second) return InvalidInput("column '{}' is selected twice", name);
    fields.push_back(*field);
  }
  return Schema(std::move(fields), metadata_);
}

std::shared_ptr<arrow::Schema> Schema::ToArrow() const { return MakeArrowSchema(*this, /*with_ids=*/false); }

std::shared_ptr<arrow::Schema> Schema::ToArrowWithIds() const { return MakeArrowSchema(*this, /*with_ids=*/true); }

}  // namespace javelin::file
