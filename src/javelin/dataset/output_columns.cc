#include "javelin/dataset/output_columns_internal.h"

#include <algorithm>
#include <map>
#include <set>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include "javelin/base/error.h"
#include "javelin/dataset/conditions_internal.h"
#include "javelin/file/blob_field.h"

namespace javelin::internal {

namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;

// The names of a path such as `st.x`; one in back-ticks may hold dots.
arrow::Result<ColumnPath> ParsePath(const std::string& text) {
  ColumnPath path(1);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '.') {
      path.emplace_back();
    } else if (text[i] == '`' && path.back().empty()) {
      const size_t end = text.find('`', i + 1);
      if (end == std::string::npos || (end + 1 < text.size() && text[end + 1] != '.'))
        return InvalidInput("'{}' is no name of a column: what a back-tick opens, one closes in front of a dot", text);
      path.back() = text.substr(i + 1, end - i - 1);
      i = end;
    } else {
      path.back() += text[i];
    }
  }
  return path;
}

std::string Quoted(const ColumnPath& path) {
  std::string text;
  for (const std::string& name : path) text += (text.empty() ? "`" : ".`") + name + "`";
  return text;
}

arrow::Result<ArrayPtr> ColumnAt(const arrow::RecordBatch& rows, const ColumnPath& path, arrow::MemoryPool* pool) {
  ArrayPtr array = rows.GetColumnByName(path[0]);
  if (array == nullptr) return Internal("the rows have no column '{}'", path[0]);
  for (size_t i = 1; i < path.size(); ++i) {
    const auto& structs = static_cast<const arrow::StructArray&>(*array);
    const int index = structs.struct_type()->GetFieldIndex(path[i]);
    if (index < 0) return Internal("the rows have no field '{}' of '{}'", path[i], path[i - 1]);
    ARROW_ASSIGN_OR_RAISE(array, structs.GetFlattenedField(index, pool));
  }
  return array;
}

}  // namespace

class OutputColumns::Maker {
 public:
  explicit Maker(const DatasetState& table) : schema_(table.manifest().schema), runtime_(table.session->runtime()) {
    for (const file::Field& field : schema_.fields()) by_name_.emplace(field.name, &field);
  }

  arrow::Status AddAll() {
    for (const file::Field& field : schema_.fields()) ARROW_RETURN_NOT_OK(AddPath(field.name, {field.name}));
    return arrow::Status::OK();
  }

  arrow::Status AddNamed(const std::string& name) { return AddNamed(name, name); }

  // Under another name than its own.
  arrow::Status AddNamed(const std::string& name, const std::string& as) {
    ColumnPath path = {name};
    if (KindOfName(name) == ColumnKind::kField && !by_name_.contains(name)) {
      ARROW_ASSIGN_OR_RAISE(path, ParsePath(name));
      if (path.size() == 1) ARROW_RETURN_NOT_OK(schema_.Select(path).status());
      // The binder says what is wrong with a path, and which name is near.
      ARROW_RETURN_NOT_OK(Parse(Quoted(path)).status());
    }
    return AddPath(as, std::move(path));
  }

  arrow::Status AddComputed(const ComputedColumn& column) {
    auto computed = Parse(column.sql);
    if (!computed.ok()) return WithContext(computed.status(), fmt::format("column '{}'", column.name));
    const query::BoundExpression& root = *computed->root();
    if (root.kind == query::BoundKind::kColumn) return AddPath(column.name, root.column.path);
    const bool is_value = root.kind == query::BoundKind::kLiteral && root.literal->is_valid;
    ARROW_RETURN_NOT_OK(AddField(arrow::field(column.name, computed->type(), /*nullable=*/!is_value)));
    made_.columns_.push_back({{}, *std::move(computed)});
    return arrow::Status::OK();
  }

  arrow::Status AddSystem(ColumnKind kind) {
    const std::string name(NameOf(kind));
    if (names_.contains(name)) return arrow::Status::OK();
    return AddPath(name, {name});
  }

  OutputColumns Finish() {
    made_.arrow_schema_ = arrow::schema(std::move(fields_), schema_.ToArrow()->metadata());
    return std::move(made_);
  }

 private:
  arrow::Result<query::Expression> Parse(const std::string& sql) {
    if (!scope_) scope_ = ScopeOf(schema_);
    return query::Expression::Parse(sql, *scope_, sql_);
  }

  arrow::Status AddField(std::shared_ptr<arrow::Field> field) {
    if (!names_.insert(field->name()).second) return InvalidInput("column '{}' is asked for twice", field->name());
    fields_.push_back(std::move(field));
    return arrow::Status::OK();
  }

  arrow::Status AddPath(const std::string& name, ColumnPath path) {
    const auto column = by_name_.find(path[0]);
    const bool is_system = KindOfName(path[0]) != ColumnKind::kField;
    if (!is_system && column == by_name_.end()) return schema_.Select({path[0]}).status();
    std::shared_ptr<arrow::Field> field =
        is_system ? arrow::field(path[0], arrow::uint64()) : file::ToArrowField(file::DescribeBlob(*column->second));
    bool nullable = field->nullable();
    for (size_t i = 1; i < path.size(); ++i) {
      field = static_cast<const arrow::StructType&>(*field->type()).GetFieldByName(path[i]);
      nullable = nullable || field->nullable();
    }
    ARROW_RETURN_NOT_OK(AddField(field->WithName(name)->WithNullable(nullable)));
    made_.columns_.push_back({std::move(path), std::nullopt});
    return arrow::Status::OK();
  }

  const file::Schema& schema_;
  Runtime& runtime_;
  std::map<std::string_view, const file::Field*> by_name_;
  std::optional<query::Scope> scope_;  // once it is needed
  const query::SqlOptions sql_ = SqlOptionsNow(runtime_);
  OutputColumns made_;
  std::set<std::string> names_;
  arrow::FieldVector fields_;
};

arrow::Result<OutputColumns> OutputColumns::Make(const DatasetState& table, const ScannerOptions& options) {
  if (options.columns && options.computed) return InvalidInput("a scan returns either columns or computed ones");
  Maker maker(table);
  if (options.computed) {
    for (const ComputedColumn& column : *options.computed) ARROW_RETURN_NOT_OK(maker.AddComputed(column));
  } else if (options.columns) {
    for (const std::string& name : *options.columns) {
      // A flag puts its column behind the others, also where it is named among them.
      if (options.with_row_id && name == kRowIdName) continue;
      if (options.with_row_address && name == kRowAddressName) continue;
      ARROW_RETURN_NOT_OK(maker.AddNamed(name));
    }
  } else {
    ARROW_RETURN_NOT_OK(maker.AddAll());
  }
  if (options.with_row_id) ARROW_RETURN_NOT_OK(maker.AddSystem(ColumnKind::kRowId));
  if (options.with_row_address) ARROW_RETURN_NOT_OK(maker.AddSystem(ColumnKind::kRowAddress));
  return maker.Finish();
}

arrow::Result<OutputColumns> OutputColumns::MakeKeys(const DatasetState& table, const std::vector<Ordering>& order) {
  Maker maker(table);
  for (size_t i = 0; i < order.size(); ++i)
    ARROW_RETURN_NOT_OK(maker.AddNamed(order[i].column, fmt::format("key {}", i)));
  return maker.Finish();
}

OutputColumns OutputColumns::OfAddress() {
  const std::string name(kRowAddressName);
  OutputColumns address;
  address.columns_.push_back({{name}, std::nullopt});
  address.arrow_schema_ = arrow::schema({arrow::field(name, arrow::uint64())});
  return address;
}

OutputColumns OutputColumns::FollowedBy(const OutputColumns& others) const {
  OutputColumns both = *this;
  both.columns_.insert(both.columns_.end(), others.columns_.begin(), others.columns_.end());
  arrow::FieldVector fields = arrow_schema_->fields();
  for (const auto& field : others.arrow_schema_->fields()) fields.push_back(field);
  both.arrow_schema_ = arrow::schema(std::move(fields), others.arrow_schema_->metadata());
  return both;
}

std::vector<ColumnPath> OutputColumns::Paths() const {
  std::vector<ColumnPath> paths;
  for (const Column& column : columns_) {
    if (!column.computed) {
      paths.push_back(column.path);
      continue;
    }
    const std::vector<ColumnPath> read = PathsOf(*column.computed);
    paths.insert(paths.end(), read.begin(), read.end());
  }
  return paths;
}

std::vector<std::string> OutputColumns::Describe() const {
  std::vector<std::string> texts;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const std::string& name = arrow_schema_->field(static_cast<int>(i))->name();
    const bool is_plain = !columns_[i].computed && columns_[i].path == ColumnPath{name};
    texts.push_back(is_plain
                        ? name
                        : fmt::format("{} := {}", name,
                                      columns_[i].computed ? columns_[i].computed->text() : Quoted(columns_[i].path)));
  }
  return texts;
}

bool OutputColumns::IsJust(const Projection& projection) const {
  return projection.arrow_schema()->Equals(*arrow_schema_, /*check_metadata=*/true) &&
         std::none_of(columns_.begin(), columns_.end(),
                      [](const Column& column) { return column.computed.has_value(); });
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> OutputColumns::Of(const std::shared_ptr<arrow::RecordBatch>& rows,
                                                                     arrow::MemoryPool* pool) const {
  arrow::ArrayVector arrays;
  for (const Column& column : columns_) {
    ARROW_ASSIGN_OR_RAISE(
        auto array, column.computed ? column.computed->Evaluate(*rows, pool) : ColumnAt(*rows, column.path, pool));
    arrays.push_back(std::move(array));
  }
  return arrow::RecordBatch::Make(arrow_schema_, rows->num_rows(), std::move(arrays));
}

}  // namespace javelin::internal
