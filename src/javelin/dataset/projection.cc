#include "javelin/dataset/projection_internal.h"

#include <map>
#include <span>

#include <arrow/type.h>

#include "javelin/base/error.h"
#include "javelin/file/blob_field.h"
#include "javelin/file/field_parts.h"

namespace javelin::internal {

namespace {

std::shared_ptr<arrow::Field> ToArrow(const OutputColumn& column) {
  if (column.kind == ColumnKind::kField) return file::ToArrowField(column.field);
  return arrow::field(std::string(NameOf(column.kind)), arrow::uint64());
}

}  // namespace

std::string_view NameOf(ColumnKind system_column) {
  switch (system_column) {
    case ColumnKind::kRowId: return kRowIdName;
    case ColumnKind::kRowAddress: return kRowAddressName;
    case ColumnKind::kCreatedVersion: return kCreatedVersionName;
    case ColumnKind::kUpdatedVersion: return kUpdatedVersionName;
    case ColumnKind::kField: break;
  }
  return {};
}

ColumnKind KindOfName(std::string_view name) {
  for (ColumnKind kind : kSystemColumns) {
    if (name == NameOf(kind)) return kind;
  }
  return ColumnKind::kField;
}

arrow::Result<Projection> Projection::Make(const file::Schema& schema,
                                           const std::optional<std::vector<std::string>>& columns, bool with_row_id,
                                           bool with_row_address) {
  Projection projection;
  if (!columns) {
    for (const file::Field& field : schema.fields())
      projection.columns_.push_back({ColumnKind::kField, file::DescribeBlob(field)});
  } else {
    std::set<std::string_view> seen;
    for (const std::string& name : *columns) {
      if (!seen.insert(name).second) return InvalidInput("column '{}' is asked for twice", name);
      OutputColumn column{KindOfName(name), {}};
      if (column.kind == ColumnKind::kField) {
        ARROW_ASSIGN_OR_RAISE(const file::Schema selected, schema.Select({name}));
        column.field = file::DescribeBlob(selected.fields()[0]);
      }
      projection.columns_.push_back(std::move(column));
    }
  }
  if (with_row_id && !projection.Has(ColumnKind::kRowId)) projection.columns_.push_back({ColumnKind::kRowId, {}});
  if (with_row_address && !projection.Has(ColumnKind::kRowAddress))
    projection.columns_.push_back({ColumnKind::kRowAddress, {}});

  projection.MakeArrowSchema(schema);
  return projection;
}

arrow::Result<Projection> Projection::OfPaths(const file::Schema& schema, const std::vector<ColumnPath>& paths) {
  std::vector<std::string> names;
  std::map<std::string, std::vector<std::span<const std::string>>> below;
  for (const ColumnPath& path : paths) {
    const auto [found, first] = below.try_emplace(path[0]);
    if (first) names.push_back(path[0]);
    found->second.push_back(std::span(path).subspan(1));
  }
  Projection projection;
  for (const std::string& name : names) {
    OutputColumn column{KindOfName(name), {}};
    if (column.kind == ColumnKind::kField) {
      ARROW_ASSIGN_OR_RAISE(const file::Schema selected, schema.Select({name}));
      column.field = file::PartsOf(file::DescribeBlob(selected.fields()[0]), below[name]);
    }
    projection.columns_.push_back(std::move(column));
  }
  projection.MakeArrowSchema(schema);
  return projection;
}

void Projection::MakeArrowSchema(const file::Schema& schema) {
  arrow::FieldVector fields;
  for (const OutputColumn& column : columns_) fields.push_back(ToArrow(column));
  arrow_schema_ = arrow::schema(std::move(fields), schema.ToArrow()->metadata());
}

bool Projection::Has(ColumnKind kind) const {
  return std::any_of(columns_.begin(), columns_.end(), [&](const OutputColumn& column) { return column.kind == kind; });
}

}  // namespace javelin::internal
