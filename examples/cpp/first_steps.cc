// The example of README.md in C++, over the public header alone: first_steps [URI] (default: a table in memory).
#include <cstdio>

#include <arrow/api.h>
#include <arrow/compute/initialize.h>
#include <arrow/json/from_string.h>

#include "javelin/javelin.h"

namespace {

using javelin::Dataset;
using javelin::memwal::FreshView;
using javelin::memwal::ShardWriter;

std::shared_ptr<arrow::Schema> WordsSchema() {
  const auto key = arrow::key_value_metadata({{"lance-schema:unenforced-primary-key", "true"}});
  return arrow::schema(
      {arrow::field("id", arrow::int64(), /*nullable=*/false, key), arrow::field("text", arrow::utf8())});
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> Rows(const std::shared_ptr<arrow::Schema>& schema,
                                                        const std::string& json) {
  ARROW_ASSIGN_OR_RAISE(const auto rows, arrow::json::ArrayFromJSONString(arrow::struct_(schema->fields()), json));
  ARROW_ASSIGN_OR_RAISE(const auto batch, arrow::RecordBatch::FromStructArray(rows));
  return batch->ReplaceSchemaMetadata(nullptr);
}

arrow::Status Run(const std::string& uri) {
  ARROW_RETURN_NOT_OK(arrow::compute::Initialize());
  ARROW_ASSIGN_OR_RAISE(const auto base,
                        Rows(WordsSchema(), R"([{"id": 1, "text": "one"}, {"id": 2, "text": "two"}])"));
  ARROW_ASSIGN_OR_RAISE(const auto reader, arrow::RecordBatchReader::Make({base}));
  ARROW_ASSIGN_OR_RAISE(const auto created, Dataset::Write(javelin::Session::Make(), uri, *reader));
  ARROW_ASSIGN_OR_RAISE(const auto dataset, javelin::memwal::Initialize(*created, {.unsharded = true}));

  ARROW_ASSIGN_OR_RAISE(const auto writer, ShardWriter::Open(*dataset, "2f1c1a70-93a2-4c53-a3a7-7a8e41d3a5c1",
                                                             {.commit_mode = javelin::memwal::CommitMode::kEager}));
  ARROW_ASSIGN_OR_RAISE(const auto rows,
                        Rows(WordsSchema(), R"([{"id": 2, "text": "deux"}, {"id": 3, "text": "trois"}])"));
  ARROW_RETURN_NOT_OK(writer->Put({rows}));  // returns when the rows are in the log and readable
  ARROW_ASSIGN_OR_RAISE(const auto gone, Rows(arrow::schema({WordsSchema()->field(0)}), R"([{"id": 1}])"));
  ARROW_RETURN_NOT_OK(writer->Delete({gone}));

  ARROW_ASSIGN_OR_RAISE(const auto view, FreshView::Open(*dataset));
  ARROW_ASSIGN_OR_RAISE(const auto scan, view->Scan());
  ARROW_ASSIGN_OR_RAISE(const auto table, scan->ToTable());
  ARROW_ASSIGN_OR_RAISE(const auto keys, Rows(arrow::schema({WordsSchema()->field(0)}), R"([{"id": 3}, {"id": 1}])"));
  ARROW_ASSIGN_OR_RAISE(const auto found, view->Get(*keys));
  std::printf("%lld rows; of 3 and 1: %s\n", static_cast<long long>(table->num_rows()),
              found->GetColumnByName("text")->ToString().c_str());

  const arrow::Status refused =
      writer->Put({keys});  // a column is missing: nothing is written, the writer stays healthy
  std::printf("%s\n", std::string(javelin::ToString(javelin::KindOf(refused))).c_str());
  return writer->Close();
}

}  // namespace

int main(int count, char** arguments) {
  const arrow::Status status = Run(count > 1 ? arguments[1] : "memory://first-steps/words.lance");
  if (!status.ok()) std::fprintf(stderr, "error: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
