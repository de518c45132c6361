#include <algorithm>
#include <set>

#include <arrow/type.h>

#include "javelin/base/error.h"
#include "javelin/dataset/conditions_internal.h"
#include "javelin/dataset/incoming_rows_internal.h"
#include "javelin/dataset/join_key_internal.h"
#include "javelin/dataset/merge_plan_internal.h"
#include "javelin/file/blob_field.h"

namespace javelin::internal {

namespace {

arrow::Status CheckActions(const MergeInsertOptions& options) {
  if (options.when_matched == WhenMatched::kDoNothing && !options.inserts_not_matched &&
      !options.deletes_not_matched_by_source)
    return InvalidInput("the merge would change nothing: say what to do with rows that match, or that do not");
  if (options.update_condition && options.when_matched != WhenMatched::kUpdateAll)
    return InvalidInput("a condition for updates of a merge that does not update");
  if (options.delete_condition && !options.deletes_not_matched_by_source)
    return InvalidInput("a condition for deletes of a merge that does not delete rows that are not in the source");
  return arrow::Status::OK();
}

arrow::Result<std::vector<std::string>> KeyNames(const file::Schema& schema, const std::vector<std::string>& given) {
  std::vector<std::string> names;
  for (const std::string& name : given) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  if (given.empty()) {
    for (const file::Field* field : schema.PrimaryKey()) names.push_back(field->name);
  }
  if (names.empty()) return InvalidInput("the table has no primary key: say on which columns rows match");
  return names;
}

arrow::Status CheckKeyColumn(const file::Schema& table, const file::Schema& source, const std::string& name) {
  const file::Field* field = table.FindByName(name);
  if (field == nullptr) {
    const size_t dot = name.find('.');
    if (dot != std::string::npos && table.FindByName(name.substr(0, dot)) != nullptr)
      return NotSupported("'{}' is a field of a column; rows match on whole columns only", name);
    return table.Select({name}).status();
  }
  if (file::HoldsBlobs(*field)) return NotSupported("column '{}' holds blobs, on which rows cannot match", name);
  if (source.FindByName(name) == nullptr) return InvalidInput("the rows to merge lack column '{}' of the key", name);
  return CheckJoinable(name, *field->type);
}

// The primary key, if rows match on exactly that.
std::vector<file::Field> RecordedKey(const file::Schema& schema, const std::vector<std::string>& on) {
  std::vector<file::Field> key;
  for (const file::Field* field : schema.PrimaryKey()) key.push_back(*field);
  const std::set<std::string> names(on.begin(), on.end());
  const bool is_key = key.size() == names.size() && std::all_of(key.begin(), key.end(), [&](const file::Field& field) {
                        return names.contains(field.name);
                      });
  return is_key ? key : std::vector<file::Field>();
}

std::shared_ptr<arrow::Schema> TargetSchema(const file::Schema& schema) {
  arrow::FieldVector fields = file::DescribeBlobs(schema).ToArrow()->fields();
  for (const std::string_view name : {kRowIdName, kRowAddressName})
    fields.push_back(arrow::field(std::string(name), arrow::uint64()));
  return arrow::schema(std::move(fields));
}

}  // namespace

arrow::Result<MergePlan> MergePlan::Make(const DatasetState& table, const arrow::Schema& source,
                                         const MergeInsertOptions& options) {
  ARROW_RETURN_NOT_OK(CheckActions(options));
  const file::Schema& schema = table.manifest().schema;
  MergePlan plan;
  plan.when_matched = options.when_matched;
  plan.inserts = options.inserts_not_matched;
  plan.deletes_rest = options.deletes_not_matched_by_source;
  ARROW_ASSIGN_OR_RAISE(plan.on, KeyNames(schema, options.on));
  ARROW_ASSIGN_OR_RAISE(plan.columns, ColumnsGiven(source, schema));
  for (const std::string& name : plan.on) ARROW_RETURN_NOT_OK(CheckKeyColumn(schema, plan.columns, name));
  for (const file::Field& field : schema.fields()) {
    if (plan.columns.FindByName(field.name) == nullptr) plan.missing.push_back(field);
  }
  if (plan.inserts) ARROW_RETURN_NOT_OK(CheckNoneMissing(plan.columns, schema));
  if (options.update_condition) {
    ARROW_ASSIGN_OR_RAISE(const IncomingRows incoming, IncomingRows::Make(source, plan.columns));
    ARROW_ASSIGN_OR_RAISE(plan.update_condition,
                          query::Filter::Parse(*options.update_condition,
                                               query::Scope::OfMerge(*incoming.schema(), *TargetSchema(schema)),
                                               SqlOptionsNow(table.session->runtime())));
  }
  if (options.delete_condition) {
    ARROW_ASSIGN_OR_RAISE(plan.delete_condition, ParseCondition(table, *options.delete_condition));
  }
  plan.recorded_key = RecordedKey(schema, plan.on);
  return plan;
}

}  // namespace javelin::internal
