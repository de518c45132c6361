// The SSTables of a view in the order in which a scan reads them, so that many are opened at once.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "javelin/memwal/parallel_internal.h"
#include "javelin/memwal/sstable_cache.h"

namespace javelin::memwal {

class SsTablesAhead {
 public:
  SsTablesAhead(Runtime& runtime, std::shared_ptr<SsTableCache> cache, std::shared_ptr<ObjectStore> store)
      : runtime_(runtime), cache_(std::move(cache)), store_(std::move(store)) {}

  // The number of the next one. Only while the view is made.
  size_t Add(std::string folder) {
    folders_.push_back(std::move(folder));
    return folders_.size() - 1;
  }

  // For a scan that is going to read them all, when it comes to that one: opens it and those behind it side by side, as
  // many as there may be requests at once; between two such groups it does nothing. They are kept by the session as far
  // as its memory goes, nowhere else. The first failure in their order. Context T.
  arrow::Status OpenFrom(size_t number) const {
    if (number % kRequestsAtOnce != 0) return arrow::Status::OK();
    std::vector<std::string> missing;
    for (size_t i = number; i < std::min(number + kRequestsAtOnce, folders_.size()); ++i) {
      const auto known = cache_->Find(store_, folders_[i]);
      if (known == nullptr || !known->DataFileIsOpen()) missing.push_back(folders_[i]);
    }
    return InParallel(runtime_, missing.size(), [&](size_t i) -> arrow::Status {
      ARROW_ASSIGN_OR_RAISE(const auto table, cache_->Get(store_, missing[i]));
      return table->OpenDataFile();
    });
  }

 private:
  Runtime& runtime_;
  const std::shared_ptr<SsTableCache> cache_;
  const std::shared_ptr<ObjectStore> store_;
  std::vector<std::string> folders_;
};

}  // namespace javelin::memwal
