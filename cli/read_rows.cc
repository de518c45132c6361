// `javelin scan` and `javelin get`.
#include <iostream>

#include <arrow/api.h>
#include <arrow/util/base64.h>

#include "cli/commands.h"
#include "cli/json_values.h"
#include "cli/row_output.h"
#include "javelin/base/error.h"
#include "javelin/dataset/dataset.h"
#include "javelin/memwal/fresh_view.h"

namespace javelin::cli {

namespace {

using memwal::FreshView;

// Says what the view does not hold.
arrow::Status PrintNotice(const FreshView& view) {
  ARROW_ASSIGN_OR_RAISE(const auto logs, view.UnseenLogs());
  for (const memwal::UnseenLog& log : logs) {
    std::cerr << fmt::format(
        "note: shard {}: {} not in this view; a writer that is opened on the shard takes it over and shows {}\n",
        log.shard.ToString(),
        log.entries == 1 ? "1 log entry with puts or deletes is"
                         : fmt::format("{} log entries with puts or deletes are", log.entries),
        log.entries == 1 ? "it" : "them");
  }
  return arrow::Status::OK();
}

// ---- keys from the command line ----

arrow::Result<std::shared_ptr<arrow::Scalar>> ParseValue(const std::string& text, const file::Field& field) {
  const arrow::Type::type id = field.type->id();
  if (id == arrow::Type::BINARY || id == arrow::Type::LARGE_BINARY) {
    auto bytes = arrow::util::base64_decode(text);
    if (!bytes.ok()) return InvalidInput("key column '{}' is binary: '{}' is no base64", field.name, text);
    return arrow::MakeScalar(field.type, arrow::Buffer::FromString(*std::move(bytes)));
  }
  auto scalar = arrow::Scalar::Parse(field.type, text);
  if (!scalar.ok()) {
    return InvalidInput("'{}' is no value of key column '{}' of type {}", text, field.name, field.type->ToString());
  }
  return scalar;
}

// The values of one KEY, in key order.
arrow::Result<std::vector<std::string>> SplitKey(const std::string& text, const std::vector<const file::Field*>& key) {
  if (key.size() == 1) return std::vector<std::string>{text};
  const Json values = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  std::vector<std::string> parts;
  for (const file::Field* field : key) {
    if (!values.is_object() || values.size() != key.size() || !values.contains(field->name)) {
      return InvalidInput("the key has {} columns, so KEY must be a JSON object of them ('{}' is one); got '{}'",
                          key.size(), field->name, text);
    }
    const Json& value = values[field->name];
    parts.push_back(value.is_string() ? value.get<std::string>() : Dump(value));
  }
  return parts;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ParseKeys(const std::vector<std::string>& texts,
                                                             const file::Schema& schema) {
  const auto key = schema.PrimaryKey();
  if (key.empty()) return InvalidInput("the table has no primary key, so rows cannot be got by key");
  std::vector<std::unique_ptr<arrow::ArrayBuilder>> builders;
  arrow::FieldVector fields;
  for (const file::Field* field : key) {
    ARROW_ASSIGN_OR_RAISE(auto builder, arrow::MakeBuilder(field->type));
    builders.push_back(std::move(builder));
    fields.push_back(arrow::field(field->name, field->type, /*nullable=*/false));
  }
  for (const std::string& text : texts) {
    ARROW_ASSIGN_OR_RAISE(const auto parts, SplitKey(text, key));
    for (size_t i = 0; i < key.size(); ++i) {
      ARROW_ASSIGN_OR_RAISE(const auto scalar, ParseValue(parts[i], *key[i]));
      ARROW_RETURN_NOT_OK(builders[i]->AppendScalar(*scalar));
    }
  }
  arrow::ArrayVector columns;
  for (const auto& builder : builders) {
    ARROW_ASSIGN_OR_RAISE(auto column, builder->Finish());
    columns.push_back(std::move(column));
  }
  return arrow::RecordBatch::Make(arrow::schema(fields), static_cast<int64_t>(texts.size()), std::move(columns));
}

}  // namespace

arrow::Status Scan(const std::shared_ptr<Session>& session, const ScanCommandOptions& options) {
  ARROW_ASSIGN_OR_RAISE(const auto dataset, Dataset::Open(session, options.rows.uri));
  ScanOptions scan;
  scan.columns = options.rows.columns;
  scan.limit = options.limit;
  scan.offset = options.offset;
  if (options.base_only) {
    ARROW_ASSIGN_OR_RAISE(const auto rows, dataset->Scan(scan));
    return PrintRows(*rows, options.rows.format);
  }
  ARROW_ASSIGN_OR_RAISE(const auto view, FreshView::Open(*dataset));
  ARROW_RETURN_NOT_OK(PrintNotice(*view));
  ARROW_ASSIGN_OR_RAISE(const auto rows, view->Scan(scan));
  return PrintRows(*rows, options.rows.format);
}

arrow::Status Get(const std::shared_ptr<Session>& session, const GetCommandOptions& options) {
  ARROW_ASSIGN_OR_RAISE(const auto dataset, Dataset::Open(session, options.rows.uri));
  ARROW_ASSIGN_OR_RAISE(const auto view, FreshView::Open(*dataset));
  ARROW_ASSIGN_OR_RAISE(const auto keys, ParseKeys(options.keys, view->base().schema()));
  ARROW_RETURN_NOT_OK(PrintNotice(*view));
  ARROW_ASSIGN_OR_RAISE(auto rows, view->Get(*keys, options.rows.columns));
  ARROW_ASSIGN_OR_RAISE(const auto reader, arrow::RecordBatchReader::Make({rows}, rows->schema()));
  return PrintRows(*reader, options.rows.format);
}

}  // namespace javelin::cli
