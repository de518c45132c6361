#include "javelin/memwal/fresh_view_moment_internal.h"

#include "javelin/base/error.h"

namespace javelin::memwal {

namespace {

constexpr int kMoves = 3;

// The folder of the SSTable that is gone, if it is one of the view's; else empty.
std::string GoneFolder(const FreshView::Impl& view, const arrow::Status& failure) {
  if (!HasKind(failure, ErrorKind::kNotFound)) return {};
  const auto fields = FieldsOf(failure);
  const auto path = fields.find("path");
  return path != fields.end() && view.sstables.contains(path->second) ? path->second : std::string();
}

}  // namespace

FreshView::Moment::View FreshView::Moment::Current() const {
  std::lock_guard lock(mutex_);
  return current_;
}

FreshView::Moment::View FreshView::Moment::Fix() {
  std::lock_guard lock(mutex_);
  fixed_ = true;
  return current_;
}

bool FreshView::Moment::MayMove() const {
  std::lock_guard lock(mutex_);
  return retake_ != nullptr && !fixed_ && moves_ < kMoves;
}

arrow::Status FreshView::Moment::Explain(const Impl& view, const arrow::Status& failure) const {
  if (failure.ok() || retake_ == nullptr || GoneFolder(view, failure).empty()) return failure;
  return WithContext(failure, "an SSTable is gone since this view was taken, retired and collected; take a new view");
}

arrow::Result<FreshView::Moment::View> FreshView::Moment::MoveOn(const View& failed, const arrow::Status& failure) {
  if (View current = Current(); current != failed) return current;
  const std::string gone = GoneFolder(*failed, failure);
  if (gone.empty()) return failure;
  if (!MayMove()) return Explain(*failed, failure);
  auto taken = retake_();
  if (!taken.ok()) return WithContext(taken.status(), "an SSTable is gone since this view was taken; taking it anew");
  if ((*taken)->sstables.contains(gone)) return failure;  // it was not retired: it is lost
  if ((*taken)->base->schema() != failed->base->schema()) return Explain(*failed, failure);
  std::lock_guard lock(mutex_);
  if (current_ != failed) return current_;
  if (fixed_) return Explain(*failed, failure);
  ++moves_;
  current_ = *std::move(taken);
  return current_;
}

}  // namespace javelin::memwal
