// Names -> columns.
#include <arrow/type.h>

#include "javelin/base/nearest_name.h"
#include "javelin/query/sql_binder.h"
#include "javelin/query/sql_parser_internal.h"
#include "javelin/query/sql_types.h"

namespace javelin::query {
namespace {

std::string Joined(const std::vector<std::string>& path, size_t parts) {
  std::string text;
  for (size_t i = 0; i < parts; ++i) text += (i == 0 ? "" : ".") + path[i];
  return text;
}

// The exact name; else, if it was not quoted, the first that differs in case only.
const Scope::Column* Find(const Scope& scope, const std::string& relation, const std::string& name, bool exact) {
  for (const Scope::Column& column : scope.columns())
    if (column.relation == relation && column.name == name) return &column;
  if (exact) return nullptr;
  const std::string lower = LowerAscii(name);
  for (const Scope::Column& column : scope.columns())
    if (column.relation == relation && LowerAscii(column.name) == lower) return &column;
  return nullptr;
}

const file::Field* ChildOf(const file::Field* field, const std::string& name) {
  if (field == nullptr) return nullptr;
  for (const file::Field& child : field->children)
    if (child.name == name) return &child;
  return nullptr;
}

}  // namespace

arrow::Status SqlBinder::UnknownColumn(const SqlNode& node, const std::string& relation,
                                       const std::string& name) const {
  std::vector<std::string> names;
  for (const Scope::Column& column : scope_.columns())
    if (column.relation == relation || relation.empty()) names.push_back(column.name);
  const std::string nearest = NearestName(name, names);
  std::string message = fmt::format("there is no column `{}`", name);
  if (!nearest.empty()) message += fmt::format("; did you mean `{}`?", nearest);
  if (nearest.empty() && !names.empty()) {
    const size_t shown = std::min<size_t>(names.size(), 20);
    message += "; there are ";
    for (size_t i = 0; i < shown; ++i) message += (i == 0 ? "`" : ", `") + names[i] + "`";
    if (shown < names.size()) message += fmt::format(" and {} more", names.size() - shown);
  }
  return Error(node.span, message);
}

arrow::Result<BoundPtr> SqlBinder::Name(const SqlNode& node) const {
  bool relations = false;
  for (const Scope::Column& column : scope_.columns()) relations = relations || !column.relation.empty();
  if (relations) return NameInMerge(node);
  const Scope::Column* column = Find(scope_, "", node.path[0], node.quoted);
  if (column == nullptr) {
    const std::string lower = LowerAscii(node.path[0]);
    if (!node.quoted && node.path.size() == 1 && (lower == "current_date" || lower == "current_timestamp")) {
      SqlNode call{.kind = SqlKind::kCall, .span = node.span, .text = lower};
      return BindFunction(*this, call, {});
    }
    return UnknownColumn(node, "", node.path[0]);
  }
  return ColumnOf(*column, node, 1);
}

arrow::Result<BoundPtr> SqlBinder::NameInMerge(const SqlNode& node) const {
  const std::string first = LowerAscii(node.path[0]);
  if (node.path.size() > 1 && (first == "source" || first == "target")) {
    const Scope::Column* column = Find(scope_, first, node.path[1], node.quoted);
    if (column == nullptr) return UnknownColumn(node, first, node.path[1]);
    return ColumnOf(*column, node, 2);
  }
  const Scope::Column* source = Find(scope_, "source", node.path[0], node.quoted);
  const Scope::Column* target = Find(scope_, "target", node.path[0], node.quoted);
  if (source != nullptr && target != nullptr) {
    return Error(node.span,
                 fmt::format("`{0}` is a column of both sides: write source.{0} or target.{0}", node.path[0]));
  }
  if (source == nullptr && target == nullptr) return UnknownColumn(node, "", node.path[0]);
  return ColumnOf(source != nullptr ? *source : *target, node, 1);
}

// `used` names of the path led to the column; those behind lead into it.
arrow::Result<BoundPtr> SqlBinder::ColumnOf(const Scope::Column& column, const SqlNode& node, size_t used) const {
  std::shared_ptr<arrow::DataType> type = column.type;
  SqlColumn found{.relation = column.relation, .path = {column.name}, .id = column.id};
  const file::Field* field = column.field;
  for (size_t i = used; i < node.path.size(); ++i) {
    const std::string parent = Joined(node.path, i);
    if (type->id() != arrow::Type::STRUCT) {
      return Error(node.span, fmt::format("`{}` has no fields: it is {}", parent, type->ToString()));
    }
    const auto child = static_cast<const arrow::StructType&>(*type).GetFieldByName(node.path[i]);
    if (child == nullptr) {
      std::vector<std::string> names;
      for (const auto& other : type->fields()) names.push_back(other->name());
      const std::string nearest = NearestName(node.path[i], names);
      return Error(node.span, fmt::format("`{}` has no field `{}`{}", parent, node.path[i],
                                          nearest.empty() ? "" : fmt::format("; did you mean `{}`?", nearest)));
    }
    type = child->type();
    field = ChildOf(field, node.path[i]);
    found.path.push_back(node.path[i]);
    found.id = field == nullptr ? FieldId(-1) : field->id;
  }
  auto bound = Make(BoundKind::kColumn, SqlTypeOf(type), node.span);
  bound->column = std::move(found);
  bound->stored = type;
  return BoundPtr(bound);
}

}  // namespace javelin::query
