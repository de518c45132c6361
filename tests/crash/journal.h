// What a writer process did, as lines of a file that outlives it: one write(2) to an O_APPEND file per line, before the
// operation starts and after it returned. So the lines of a killed process end exactly where it ended.
//
//   W <writer> <durable 0|1>                    the process opens the shard
//   O <writer> <epoch>                          it did
//   S <operation> <writer> <P|D> <keys;keys>    an operation starts; keys of one batch with ',', batches with ';'
//   A <operation>                               put or delete returned OK
//   R <operation>                               it said that nothing was accepted
//   F <operation> <text>                        it failed otherwise: outcome unknown
#pragma once

#include <map>
#include <string>
#include <vector>

#include <arrow/result.h>

#include "history.h"
#include "javelin/base/runtime.h"

namespace javelin::crash {

class Journal {
 public:
  static arrow::Result<Journal> OpenToAppend(const std::string& path);
  Journal(Journal&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  ~Journal();

  // Returns when the line is in the file. Any thread. Ends the process if the file takes no more: a line that is lost
  // would make the check blame the writer.
  void Append(const std::string& line) const;

 private:
  explicit Journal(int file) : file_(file) {}
  int file_;
};

std::string FormatBatches(const std::vector<std::vector<int64_t>>& batches);

// The journal as a history whose moments are the lines. Invalid names the first line that makes no sense.
arrow::Result<simulation::History> ReadJournal(Runtime& runtime, const std::string& path, simulation::TableState base);
// Highest operation and writer number in it; 0 if there is none.
struct JournalEnd {
  int64_t operation = 0;
  int64_t writers = 0;
};
arrow::Result<JournalEnd> FindEnd(const std::string& path);

}  // namespace javelin::crash
