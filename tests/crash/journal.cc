#include "journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "javelin/base/error.h"

namespace javelin::crash {

namespace {

arrow::Result<std::vector<std::vector<int64_t>>> ParseBatches(const std::string& text) {
  std::vector<std::vector<int64_t>> batches;
  std::stringstream by_batch(text);
  for (std::string batch; std::getline(by_batch, batch, ';');) {
    batches.emplace_back();
    std::stringstream by_key(batch);
    for (std::string key; std::getline(by_key, key, ',');)
      batches.back().push_back(std::strtoll(key.c_str(), nullptr, 10));
  }
  return batches;
}

class Reader {
 public:
  Reader(Runtime& runtime, simulation::TableState base) : runtime_(runtime), history_(std::move(base)) {}

  arrow::Status Read(const std::string& line) {
    std::stringstream words(line);
    std::string what;
    int64_t number = -1;
    words >> what >> number;
    if (what == "W") return ReadOpening(number, words);
    if (what == "O") return ReadOpened(number, words);
    if (what == "S") return ReadStart(number, words);
    if (!history_.operations().contains(number)) return arrow::Status::Invalid("no such operation");
    if (what == "A") {
      history_.Finished(runtime_, number, arrow::Status::OK());
    } else if (what == "R") {
      history_.Finished(runtime_, number, Backpressure("as the journal says"));
    } else if (what == "F") {
      history_.Finished(runtime_, number, OutcomeUnknown("as the journal says"));
    } else {
      return arrow::Status::Invalid("unknown word");
    }
    return arrow::Status::OK();
  }

  simulation::History Take() { return std::move(history_); }

 private:
  arrow::Status ReadOpening(int64_t writer, std::stringstream& words) {
    int durable = -1;
    if (!(words >> durable)) return arrow::Status::Invalid("no durability");
    if (history_.StartOpen("process", durable != 0) != writer)
      return arrow::Status::Invalid("writers are out of order");
    return arrow::Status::OK();
  }

  arrow::Status ReadOpened(int64_t writer, std::stringstream& words) {
    uint64_t epoch = 0;
    if (!(words >> epoch)) return arrow::Status::Invalid("no epoch");
    history_.Opened(runtime_, static_cast<int>(writer), Epoch(epoch));
    return arrow::Status::OK();
  }

  arrow::Status ReadStart(int64_t operation, std::stringstream& words) {
    int writer = -1;
    std::string kind, keys;
    if (!(words >> writer >> kind >> keys)) return arrow::Status::Invalid("too short");
    ARROW_ASSIGN_OR_RAISE(auto batches, ParseBatches(keys));
    history_.StartAs(operation, writer, kind == "D", std::move(batches));
    return arrow::Status::OK();
  }

  Runtime& runtime_;
  simulation::History history_;
};

}  // namespace

arrow::Result<Journal> Journal::OpenToAppend(const std::string& path) {
  int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return arrow::Status::IOError("cannot open ", path);
  return Journal(file);
}

Journal::~Journal() {
  if (file_ >= 0) ::close(file_);
}

void Journal::Append(const std::string& line) const {
  std::string text = line + "\n";
  if (::write(file_, text.data(), text.size()) == static_cast<ssize_t>(text.size())) return;
  std::fputs("the journal takes no more lines\n", stderr);
  std::abort();
}

std::string FormatBatches(const std::vector<std::vector<int64_t>>& batches) {
  std::string text;
  for (const auto& batch : batches) text += fmt::format("{}{}", text.empty() ? "" : ";", fmt::join(batch, ","));
  return text;
}

arrow::Result<simulation::History> ReadJournal(Runtime& runtime, const std::string& path, simulation::TableState base) {
  Reader reader(runtime, std::move(base));
  std::ifstream file(path);
  int64_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (auto status = reader.Read(line); !status.ok()) {
      return arrow::Status::Invalid(path, ":", number, ": ", status.message(), ": ", line);
    }
  }
  return reader.Take();
}

arrow::Result<JournalEnd> FindEnd(const std::string& path) {
  JournalEnd end;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::stringstream words(line);
    std::string what;
    int64_t number = 0;
    words >> what >> number;
    if (what == "W") end.writers = std::max(end.writers, number + 1);
    if (what == "S") end.operation = std::max(end.operation, number);
  }
  return end;
}

}  // namespace javelin::crash
