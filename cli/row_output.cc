#include "cli/row_output.h"

#include <iostream>

#include <arrow/api.h>
#include <arrow/io/stdio.h>
#include <arrow/ipc/api.h>
#include <unistd.h>

#include "cli/json_values.h"
#include "javelin/base/error.h"

namespace javelin::cli {

namespace {

using Row = std::vector<std::string>;

// Calls `print` for each batch.
template <typename Print>
arrow::Status ForEachBatch(arrow::RecordBatchReader& reader, const Print& print) {
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(const auto batch, reader.Next());
    if (batch == nullptr) return arrow::Status::OK();
    ARROW_RETURN_NOT_OK(print(*batch));
  }
}

// ---- JSON lines ----

arrow::Status PrintJsonLines(const arrow::RecordBatch& batch) {
  for (int64_t row = 0; row < batch.num_rows(); ++row) {
    Json object = Json::object();
    for (int column = 0; column < batch.num_columns(); ++column) {
      ARROW_ASSIGN_OR_RAISE(object[batch.column_name(column)], ToJson(*batch.column(column), row));
    }
    std::cout << Dump(object) << '\n';
  }
  return arrow::Status::OK();
}

// ---- CSV: RFC 4180 with \n; null is empty, an empty string is "" ----

std::string CsvField(const std::string& text) {
  if (!text.empty() && text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

void PrintCsvLine(const Row& fields) { std::cout << fmt::format("{}\n", fmt::join(fields, ",")); }

arrow::Status PrintCsv(const arrow::RecordBatch& batch) {
  for (int64_t row = 0; row < batch.num_rows(); ++row) {
    Row fields;
    for (const auto& column : batch.columns()) {
      if (column->IsNull(row)) {
        fields.emplace_back();
        continue;
      }
      ARROW_ASSIGN_OR_RAISE(const std::string text, ToText(*column, row, ""));
      fields.push_back(CsvField(text));
    }
    PrintCsvLine(fields);
  }
  return arrow::Status::OK();
}

// ---- table: for people ----

constexpr size_t kLongestCell = 60;

bool StartsCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }

size_t Characters(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), StartsCharacter));
}

// One line, at most kLongestCell characters.
std::string Cell(std::string text) {
  std::replace_if(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  if (Characters(text) <= kLongestCell) return text;
  size_t kept = 0, end = 0;
  while (end < text.size() && (kept < kLongestCell - 3 || !StartsCharacter(text[end])))
    kept += StartsCharacter(text[end++]);
  return text.substr(0, end) + "...";
}

// Columns are as wide as the names and the first batch need; a later, wider cell shifts its own line only.
class TablePrinter {
 public:
  explicit TablePrinter(const arrow::Schema& schema) {
    for (const auto& field : schema.fields()) {
      header_.push_back(Cell(field->name()));
      widths_.push_back(Characters(header_.back()));
    }
  }

  arrow::Status Print(const arrow::RecordBatch& batch) {
    std::vector<Row> rows;
    for (int64_t row = 0; row < batch.num_rows(); ++row) {
      Row cells;
      for (const auto& column : batch.columns()) {
        ARROW_ASSIGN_OR_RAISE(std::string text, ToText(*column, row, "null"));
        cells.push_back(Cell(std::move(text)));
      }
      rows.push_back(std::move(cells));
    }
    if (!started_) Start(rows);
    for (const Row& row : rows) PrintLine(row);
    return arrow::Status::OK();
  }

  void Finish() {
    if (!started_) Start({});
  }

 private:
  void Start(const std::vector<Row>& rows) {
    started_ = true;
    for (const Row& row : rows) {
      for (size_t i = 0; i < row.size(); ++i) widths_[i] = std::max(widths_[i], Characters(row[i]));
    }
    PrintLine(header_);
    Row rule;
    for (const size_t width : widths_) rule.emplace_back(width, '-');
    PrintLine(rule);
  }

  void PrintLine(const Row& cells) const {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) line += "  ";
      line += cells[i];
      const size_t width = Characters(cells[i]);
      if (i + 1 < cells.size() && width < widths_[i]) line.append(widths_[i] - width, ' ');
    }
    std::cout << line << '\n';
  }

  Row header_;
  std::vector<size_t> widths_;
  bool started_ = false;
};

// ---- Arrow IPC stream ----

arrow::Status PrintArrow(arrow::RecordBatchReader& reader) {
  if (isatty(STDOUT_FILENO)) return InvalidInput("Arrow bytes are not for a terminal: redirect standard output");
  arrow::io::StdoutStream out;
  arrow::ipc::IpcWriteOptions options;
  options.use_threads = false;
  ARROW_ASSIGN_OR_RAISE(const auto writer, arrow::ipc::MakeStreamWriter(&out, reader.schema(), options));
  ARROW_RETURN_NOT_OK(
      ForEachBatch(reader, [&](const arrow::RecordBatch& batch) { return writer->WriteRecordBatch(batch); }));
  return writer->Close();
}

}  // namespace

arrow::Status PrintRows(arrow::RecordBatchReader& reader, RowFormat format) {
  switch (format) {
    case RowFormat::kArrow: return PrintArrow(reader);
    case RowFormat::kJsonLines: return ForEachBatch(reader, PrintJsonLines);
    case RowFormat::kCsv: {
      Row names;
      for (const auto& field : reader.schema()->fields()) names.push_back(CsvField(field->name()));
      PrintCsvLine(names);
      return ForEachBatch(reader, PrintCsv);
    }
    case RowFormat::kTable: break;
  }
  TablePrinter printer(*reader.schema());
  ARROW_RETURN_NOT_OK(ForEachBatch(reader, [&](const arrow::RecordBatch& batch) { return printer.Print(batch); }));
  printer.Finish();
  return arrow::Status::OK();
}

}  // namespace javelin::cli
