#include "javelin/file/schema_align.h"

#include <charconv>

#include <arrow/api.h>

#include "javelin/base/error.h"
#include "javelin/file/logical_type_internal.h"

namespace javelin::file {

namespace {

using arrow::Type;
using ArrayDataPtr = std::shared_ptr<arrow::ArrayData>;
using TypePtr = std::shared_ptr<arrow::DataType>;

constexpr std::string_view kTombstoneName = "_tombstone";
constexpr std::string_view kSystemPrefix = "_row";

// System columns of a MemTable file carry ids that the table may give to columns of its own later: their ids mean
// nothing.
bool IsSystemName(std::string_view name) { return name == kTombstoneName || name.starts_with(kSystemPrefix); }

// For each target the position of its source, or -1. Ids first; a name only finds what has no id.
std::vector<int> MatchFields(const std::vector<std::shared_ptr<arrow::Field>>& sources,
                             const std::vector<Field>& targets, bool top_level) {
  std::vector<int> matches(targets.size(), -1);
  std::vector<bool> claimed(sources.size(), false);
  std::vector<std::optional<FieldId>> ids;
  for (const auto& source : sources) {
    ids.push_back(top_level && IsSystemName(source->name()) ? std::nullopt : FieldIdOf(*source));
  }
  auto match = [&](auto fits) {
    for (size_t target = 0; target < targets.size(); ++target) {
      for (size_t source = 0; source < sources.size() && matches[target] < 0; ++source) {
        if (claimed[source] || !fits(targets[target], source)) continue;
        matches[target] = static_cast<int>(source);
        claimed[source] = true;
      }
    }
  };
  // Columns without an id of their own are found by name, whatever id the source gives them.
  match([&](const Field& target, size_t source) {
    return target.id.value() < 0 && sources[source]->name() == target.name;
  });
  match([&](const Field& target, size_t source) { return target.id.value() >= 0 && ids[source] == target.id; });
  match([&](const Field& target, size_t source) { return !ids[source] && sources[source]->name() == target.name; });
  return matches;
}

const arrow::DataType& StorageOf(const arrow::DataType& type) {
  return type.id() == Type::EXTENSION ? *static_cast<const arrow::ExtensionType&>(type).storage_type() : type;
}

arrow::Status TypeChanged(const arrow::DataType& source, const Field& target) {
  return InvalidInput("column '{}' has type {} and should have {}", target.name, source.ToString(),
                      target.type->ToString());
}

// The same memory under another type: names and nullability of items, extension or storage.
ArrayDataPtr Retype(const ArrayDataPtr& data, const TypePtr& type) {
  if (data->type.get() == type.get()) return data;
  auto copy = data->Copy();
  copy->type = type;
  for (size_t i = 0; i < copy->child_data.size(); ++i)
    copy->child_data[i] = Retype(copy->child_data[i], type->field(static_cast<int>(i))->type());
  return copy;
}

}  // namespace

std::optional<FieldId> FieldIdOf(const arrow::Field& field) {
  if (field.metadata() == nullptr) return std::nullopt;
  auto text = field.metadata()->Get(std::string(kFieldIdMetadata));
  if (!text.ok()) return std::nullopt;
  int32_t id = -1;
  auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), id);
  if (error != std::errc() || end != text->data() + text->size() || id < 0) return std::nullopt;
  return FieldId(id);
}

struct SchemaAlignment::Step {
  enum class Kind {
    kTake,      // the source as it is
    kNulls,     // not there
    kDefault,   // not there, but known
    kChildren,  // the source with children brought to the target one by one
  };
  Kind kind = Kind::kTake;
  int source = -1;  // position among the parent's children
  TypePtr type;
  std::shared_ptr<arrow::Scalar> value;  // kDefault
  std::vector<Step> children;            // kChildren, and all columns at the root

  static arrow::Result<Step> MakeChild(const arrow::Field& source, int position, const Field& target);
  static arrow::Result<std::vector<Step>> MakeFields(const std::vector<std::shared_ptr<arrow::Field>>& sources,
                                                     const std::vector<Field>& targets, const AlignOptions* options);
  arrow::Result<ArrayDataPtr> Apply(const ArrayDataPtr& data) const;
  bool IsIdentity() const;
};

namespace {

// Lists, fixed-size lists of structs and maps have one child whatever it is called.
bool HasOneChild(const Field& field) { return !field.children.empty() && field.type->id() != Type::STRUCT; }

bool SameIds(const arrow::Field& source, const Field& target) {
  const auto id = FieldIdOf(source);
  return !id || target.id.value() < 0 || *id == target.id;
}

}  // namespace

// A source and a target that belong together.
arrow::Result<SchemaAlignment::Step> SchemaAlignment::Step::MakeChild(const arrow::Field& source, int position,
                                                                      const Field& target) {
  const arrow::DataType& storage = StorageOf(*source.type());
  Step step{.source = position, .type = target.type};
  if (target.children.empty()) {
    if (!CanonicalType(source.type())->Equals(*target.type) || storage.id() != target.type->id())
      return TypeChanged(*source.type(), target);
    return step;
  }
  if (storage.id() != target.type->id()) return TypeChanged(*source.type(), target);
  step.kind = Kind::kChildren;
  if (!HasOneChild(target)) {
    ARROW_ASSIGN_OR_RAISE(step.children, MakeFields(storage.fields(), target.children, nullptr));
    return step;
  }
  if (storage.id() == Type::FIXED_SIZE_LIST &&
      static_cast<const arrow::FixedSizeListType&>(storage).list_size() !=
          static_cast<const arrow::FixedSizeListType&>(*target.type).list_size()) {
    return TypeChanged(*source.type(), target);
  }
  const arrow::Field& item = *storage.field(0);
  if (!SameIds(item, target.children[0])) return TypeChanged(*source.type(), target);
  if (storage.id() != Type::MAP) {
    ARROW_ASSIGN_OR_RAISE(Step child, MakeChild(item, 0, target.children[0]));
    step.children.push_back(std::move(child));
    return step;
  }
  // Key and value go by position: a map is nothing without either.
  const std::vector<Field>& entries = target.children[0].children;
  Step child{.kind = Kind::kChildren, .source = 0, .type = target.children[0].type};
  for (int i = 0; i < 2; ++i) {
    const arrow::Field& part = *item.type()->field(i);
    if (!SameIds(part, entries[static_cast<size_t>(i)])) return TypeChanged(*source.type(), target);
    ARROW_ASSIGN_OR_RAISE(Step part_step, MakeChild(part, i, entries[static_cast<size_t>(i)]));
    child.children.push_back(std::move(part_step));
  }
  step.children.push_back(std::move(child));
  return step;
}

// `options` at the top level only: defaults are known by column name.
arrow::Result<std::vector<SchemaAlignment::Step>> SchemaAlignment::Step::MakeFields(
    const std::vector<std::shared_ptr<arrow::Field>>& sources, const std::vector<Field>& targets,
    const AlignOptions* options) {
  const std::vector<int> matches = MatchFields(sources, targets, options != nullptr);
  std::vector<Step> steps;
  for (size_t i = 0; i < targets.size(); ++i) {
    const Field& target = targets[i];
    if (matches[i] >= 0) {
      ARROW_ASSIGN_OR_RAISE(Step step, MakeChild(*sources[static_cast<size_t>(matches[i])], matches[i], target));
      steps.push_back(std::move(step));
      continue;
    }
    if (options != nullptr && options->defaults.contains(target.name)) {
      const auto& value = options->defaults.at(target.name);
      if (!value->type->Equals(*target.type)) {
        return InvalidInput("the default of column '{}' has type {} instead of {}", target.name,
                            value->type->ToString(), target.type->ToString());
      }
      steps.push_back({.kind = Kind::kDefault, .type = target.type, .value = value});
      continue;
    }
    if (!target.nullable) return InvalidInput("column '{}' is missing and must not be null", target.name);
    steps.push_back({.kind = Kind::kNulls, .type = target.type});
  }
  return steps;
}

bool SchemaAlignment::Step::IsIdentity() const {
  if (kind == Kind::kTake) return true;
  if (kind != Kind::kChildren) return false;
  for (size_t i = 0; i < children.size(); ++i) {
    if (children[i].source != static_cast<int>(i) || !children[i].IsIdentity()) return false;
  }
  return true;
}

arrow::Result<ArrayDataPtr> SchemaAlignment::Step::Apply(const ArrayDataPtr& data) const {
  if (kind == Kind::kTake) return Retype(data, type);
  auto result = data->Copy();
  result->type = type;
  result->child_data.clear();
  for (const Step& child : children) {
    if (child.source >= 0) {
      ARROW_ASSIGN_OR_RAISE(auto part, child.Apply(data->child_data[static_cast<size_t>(child.source)]));
      result->child_data.push_back(std::move(part));
      continue;
    }
    // Only fields of a struct can be missing; they are as long as the struct with what its offset skips.
    ARROW_ASSIGN_OR_RAISE(auto nulls, arrow::MakeArrayOfNull(child.type, data->offset + data->length));
    result->child_data.push_back(nulls->data());
  }
  return result;
}

arrow::Result<SchemaAlignment> SchemaAlignment::Make(const arrow::Schema& source, const Schema& target,
                                                     AlignOptions options) {
  SchemaAlignment alignment;
  Step root{.kind = Step::Kind::kChildren};
  ARROW_ASSIGN_OR_RAISE(root.children, Step::MakeFields(source.fields(), target.fields(), &options));
  alignment.identity_ = source.num_fields() == static_cast<int>(target.fields().size()) && root.IsIdentity();
  alignment.target_ = target.ToArrow();
  alignment.root_ = std::make_shared<const Step>(std::move(root));
  return alignment;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> SchemaAlignment::Apply(const arrow::RecordBatch& batch) const {
  std::vector<ArrayDataPtr> columns;
  for (const Step& step : root_->children) {
    if (step.kind == Step::Kind::kDefault) {
      ARROW_ASSIGN_OR_RAISE(auto column, arrow::MakeArrayFromScalar(*step.value, batch.num_rows()));
      columns.push_back(column->data());
    } else if (step.kind == Step::Kind::kNulls) {
      ARROW_ASSIGN_OR_RAISE(auto column, arrow::MakeArrayOfNull(step.type, batch.num_rows()));
      columns.push_back(column->data());
    } else {
      if (step.source >= batch.num_columns())
        return InvalidInput("a batch of {} columns does not have the schema it should be aligned from",
                            batch.num_columns());
      ARROW_ASSIGN_OR_RAISE(auto column, step.Apply(batch.column_data(step.source)));
      columns.push_back(std::move(column));
    }
  }
  return arrow::RecordBatch::Make(target_, batch.num_rows(), std::move(columns));
}

}  // namespace javelin::file
