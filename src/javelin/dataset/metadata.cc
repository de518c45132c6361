#include "javelin/dataset/metadata.h"

#include "javelin/base/error.h"
#include "javelin/base/nearest_name.h"

namespace javelin {

namespace {

void AddPaths(const std::vector<file::Field>& fields, const std::string& prefix,
              std::vector<std::pair<std::string, FieldId>>* paths) {
  for (const file::Field& field : fields) {
    paths->emplace_back(prefix + field.name, field.id);
    AddPaths(field.children, fmt::format("{}{}.", prefix, field.name), paths);
  }
}

arrow::Result<FieldId> FindPath(const file::Schema& schema, const std::string& path) {
  if (const file::Field* column = schema.FindByName(path)) return column->id;
  std::vector<std::pair<std::string, FieldId>> paths;
  AddPaths(schema.fields(), "", &paths);
  std::vector<std::string> names;
  for (const auto& [name, id] : paths) {
    if (name == path) return id;
    names.push_back(name);
  }
  const std::string nearest = NearestName(path, names);
  return InvalidInput("column '{}' does not exist{}", path,
                      nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest));
}

}  // namespace

arrow::Result<std::shared_ptr<Dataset>> ChangeMetadata(const Dataset& dataset, const MetadataChange& change) {
  ARROW_RETURN_NOT_OK(dataset.session()->runtime().CheckProcess());
  table::UpdateConfig update;
  update.config = change.config;
  update.table_metadata = change.table_metadata;
  update.schema_metadata = change.schema_metadata;
  for (const auto& [path, field] : change.field_metadata) {
    ARROW_ASSIGN_OR_RAISE(const FieldId id, FindPath(dataset.schema(), path));
    update.field_metadata[id] = field;
  }
  table::Transaction transaction;
  transaction.operation = std::move(update);
  return dataset.Commit(std::move(transaction));
}

}  // namespace javelin
