#include <algorithm>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>

#include "javelin/base/error.h"
#include "javelin/dataset/conditions_internal.h"
#include "javelin/dataset/join_key_internal.h"
#include "javelin/dataset/merge_join_internal.h"
#include "javelin/dataset/scan_internal.h"
#include "javelin/file/pick_rows.h"

namespace javelin::internal {

namespace {

using BatchPtr = std::shared_ptr<arrow::RecordBatch>;

// Pairs that a condition is asked of at once.
constexpr size_t kPairsAtOnce = 8192;

const arrow::UInt64Array& Numbers(const arrow::RecordBatch& rows, std::string_view name) {
  return static_cast<const arrow::UInt64Array&>(*rows.column(rows.schema()->GetFieldIndex(std::string(name))));
}

class Join {
 public:
  Join(std::shared_ptr<const DatasetState> table, const MergePlan& plan, const JoinSource& source)
      : table_(std::move(table)),
        plan_(plan),
        source_(source),
        keeps_origins_(plan.updates() && table_->has_stable_row_ids()),
        found_(*table_->session->resources().memory),
        matches_(*table_->session->resources().memory) {
    if (!plan.update_condition) return;
    for (const query::SqlColumn& column : plan.update_condition->Columns()) {
      if (column.relation == "source") {
        AddOnce(column.path[0], asked_of_source_);
      } else {
        asked_of_target_.push_back(column.path);
      }
    }
  }

  arrow::Result<MergeMatches> Run() && {
    ARROW_ASSIGN_OR_RAISE(matches_.memory_of_matched,
                          MemoryReservation::Make(*table_->session->resources().memory,
                                                  static_cast<int64_t>(source_.num_rows() / 8), "rows to merge"));
    matches_.matched.resize(source_.num_rows());
    if (source_.num_rows() > 0 || plan_.deletes_rest) ARROW_RETURN_NOT_OK(ReadTable());
    // Within one row of the source they are in the order of the table already.
    std::stable_sort(matches_.updates.begin(), matches_.updates.end(),
                     [](const RowMatch& a, const RowMatch& b) { return a.source < b.source; });
    matches_.gone = found_.Take();
    return std::move(matches_);
  }

 private:
  static void AddOnce(const std::string& name, std::vector<std::string>& names) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }

  std::vector<ColumnPath> PathsToRead() const {
    std::vector<ColumnPath> paths;
    for (const std::string& name : plan_.on) paths.push_back({name});
    paths.insert(paths.end(), asked_of_target_.begin(), asked_of_target_.end());
    if (plan_.delete_condition) {
      for (ColumnPath& path : PathsOf(*plan_.delete_condition)) paths.push_back(std::move(path));
    }
    paths.push_back({std::string(kRowAddressName)});
    if (keeps_origins_) {
      paths.push_back({std::string(kRowIdName)});
      paths.push_back({std::string(kCreatedVersionName)});
    }
    return paths;
  }

  arrow::Status ReadTable() {
    ARROW_ASSIGN_OR_RAISE(Projection projection, Projection::OfPaths(table_->manifest().schema, PathsToRead()));
    const auto rows = ScanRows(table_, std::move(projection), {.fragments = AllFragments(*table_)});
    while (true) {
      ARROW_RETURN_NOT_OK(rows->ReadNext(&batch_));
      if (batch_ == nullptr) return arrow::Status::OK();
      ARROW_RETURN_NOT_OK(JoinBatch());
    }
  }

  arrow::Status JoinBatch() {
    gone_.assign(static_cast<size_t>(batch_->num_rows()), false);
    std::shared_ptr<arrow::BooleanArray> may_go;
    if (plan_.delete_condition) {
      ARROW_ASSIGN_OR_RAISE(may_go, plan_.delete_condition->Mask(*batch_, table_->session->resources().pool));
    }
    arrow::ArrayVector keys;
    for (const std::string& name : plan_.on) keys.push_back(batch_->GetColumnByName(name));
    std::string key;
    for (int64_t row = 0; row < batch_->num_rows(); ++row) {
      key.clear();
      const bool is_there = AppendJoinKey(keys, row, key) && source_.FindOne(index::HashedKey(key)).has_value();
      if (is_there) {
        ARROW_RETURN_NOT_OK(Match(row, index::HashedKey(key)));
      } else if (plan_.deletes_rest && (may_go == nullptr || may_go->Value(row))) {
        Delete(row);
      }
    }
    ARROW_RETURN_NOT_OK(ActOnPairs());
    const arrow::UInt64Array& addresses = Numbers(*batch_, kRowAddressName);
    for (int64_t row = 0; row < batch_->num_rows(); ++row) {
      if (gone_[static_cast<size_t>(row)]) ARROW_RETURN_NOT_OK(found_.Add(RowAddress(addresses.Value(row))));
    }
    return arrow::Status::OK();
  }

  void Delete(int64_t row) {
    gone_[static_cast<size_t>(row)] = true;
    ++matches_.num_deleted;
  }

  arrow::Status Match(int64_t row, const index::HashedKey& key) {
    if (plan_.when_matched == WhenMatched::kFail)
      return InvalidInput("the table has a row with the key {} of the rows to merge, which the merge forbids",
                          KeyText(row));
    // Of rows that nothing happens to it need only be known once that they are there.
    if (plan_.when_matched == WhenMatched::kDoNothing && matches_.matched[*source_.FindOne(key)])
      return arrow::Status::OK();
    for (const uint64_t source : source_.FindAll(key)) {
      matches_.matched[source] = true;
      if (plan_.when_matched == WhenMatched::kDoNothing) continue;
      pair_sources_.push_back(source);
      pair_targets_.push_back(static_cast<uint64_t>(row));
      if (pair_sources_.size() >= kPairsAtOnce) ARROW_RETURN_NOT_OK(ActOnPairs());
    }
    return arrow::Status::OK();
  }

  arrow::Status ActOnPairs() {
    if (pair_sources_.empty()) return arrow::Status::OK();
    std::shared_ptr<arrow::BooleanArray> passes;
    if (plan_.update_condition) {
      ARROW_ASSIGN_OR_RAISE(passes, AskCondition());
    }
    for (size_t i = 0; i < pair_sources_.size(); ++i) {
      if (passes == nullptr || passes->Value(static_cast<int64_t>(i)))
        ARROW_RETURN_NOT_OK(Act(pair_sources_[i], static_cast<int64_t>(pair_targets_[i])));
    }
    pair_sources_.clear();
    pair_targets_.clear();
    return arrow::Status::OK();
  }

  arrow::Result<std::shared_ptr<arrow::BooleanArray>> AskCondition() const {
    arrow::MemoryPool* pool = table_->session->resources().pool;
    ARROW_ASSIGN_OR_RAISE(const BatchPtr source, source_.Pick(pair_sources_, asked_of_source_));
    const arrow::UInt64Array rows(static_cast<int64_t>(pair_targets_.size()), arrow::Buffer::Wrap(pair_targets_));
    ARROW_ASSIGN_OR_RAISE(const BatchPtr target, file::TakeRows(batch_, rows, pool));
    return plan_.update_condition->Mask(*source, *target, pool);
  }

  arrow::Status Act(uint64_t source, int64_t row) {
    if (gone_[static_cast<size_t>(row)])
      return InvalidInput(
          "several of the rows to merge have the key {}, and would change the same row; merge one of each",
          KeyText(row));
    if (!plan_.updates()) {
      Delete(row);
      return arrow::Status::OK();
    }
    gone_[static_cast<size_t>(row)] = true;
    ARROW_RETURN_NOT_OK(matches_.memory.ReserveFor(matches_.updates.size() + 1));
    RowMatch match{source, RowAddress(Numbers(*batch_, kRowAddressName).Value(row)), {}};
    if (keeps_origins_)
      match.origin = {Numbers(*batch_, kRowIdName).Value(row), Numbers(*batch_, kCreatedVersionName).Value(row)};
    matches_.updates.push_back(match);
    return arrow::Status::OK();
  }

  // Of a row of the batch, for people.
  std::string KeyText(int64_t row) const {
    std::string text;
    for (const std::string& name : plan_.on) {
      const auto value = batch_->GetColumnByName(name)->GetScalar(row);
      text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value.ok() ? (*value)->ToString() : "?");
    }
    return text;
  }

  const std::shared_ptr<const DatasetState> table_;
  const MergePlan& plan_;
  const JoinSource& source_;
  const bool keeps_origins_;
  std::vector<std::string> asked_of_source_;  // by the condition of updates
  std::vector<ColumnPath> asked_of_target_;
  FoundRows found_;
  MergeMatches matches_;
  BatchPtr batch_;                                     // of the table, at hand
  std::vector<bool> gone_;                             // rows of it
  std::vector<uint64_t> pair_sources_, pair_targets_;  // rows of the source and of the batch with one key
};

}  // namespace

arrow::Result<MergeMatches> JoinWithTable(const std::shared_ptr<const DatasetState>& table, const MergePlan& plan,
                                          const JoinSource& source) {
  return Join(table, plan, source).Run();
}

}  // namespace javelin::internal
