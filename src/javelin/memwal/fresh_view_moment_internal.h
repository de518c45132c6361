// Which moment a view stands for, and until when that may still become a later one.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "javelin/memwal/fresh_view_internal.h"

namespace javelin::memwal {

// Nothing of a view is opened before it is read, so an SSTable may be retired and collected in between. As long as the
// view has answered nothing, nobody can tell when it was taken, and it is taken anew; afterwards it stays what it is.
// Any number of threads.
class FreshView::Moment {
 public:
  using View = std::shared_ptr<const Impl>;
  // `retake` takes the view anew, and may be null: it never moves.
  using Retake = std::function<arrow::Result<View>()>;
  Moment(Runtime& runtime, View view, Retake retake)
      : retake_(std::move(retake)), mutex_(runtime), current_(std::move(view)) {}

  // For what stays the same when the view moves: its columns and its key.
  View Current() const;
  // For all else that is answered: the view does not move any more.
  View Fix();

  // What `read(view)` answers, once; the view does not move any more. While it may, `read` is called again after each
  // move. Context T.
  template <typename Read>
  auto Answer(const Read& read) -> decltype(read(View())) {
    View view = Current();
    while (true) {
      auto answer = read(view);
      if (!answer.ok()) {
        ARROW_ASSIGN_OR_RAISE(view, MoveOn(view, answer.status()));
        continue;
      }
      View fixed = Fix();
      if (fixed == view) return answer;
      view = std::move(fixed);  // somebody else moved it meanwhile
    }
  }

  // The failure of a read that does not begin anew, with advice.
  arrow::Status Explain(const Impl& view, const arrow::Status& failure) const;

 private:
  // The view to read next after this failure, or the error to return.
  arrow::Result<View> MoveOn(const View& failed, const arrow::Status& failure);
  bool MayMove() const;

  const Retake retake_;
  mutable Mutex mutex_;
  View current_;        // guarded by mutex_
  bool fixed_ = false;  // guarded by mutex_
  int moves_ = 0;       // guarded by mutex_
};

}  // namespace javelin::memwal
