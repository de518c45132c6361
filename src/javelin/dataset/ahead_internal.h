// Work that goes on while its caller does something else.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include <arrow/result.h>

#include "javelin/base/runtime.h"

namespace javelin::internal {

// Runs on a thread of the runtime (context S). Destroying it drops work that has not begun and waits for what is
// running; what the work uses must live until then.
template <typename T>
class Ahead {
 public:
  Ahead(Runtime& runtime, std::string name, std::function<arrow::Result<T>()> work)
      : strand_(runtime, std::move(name)) {
    const CellSetter<T> setter(runtime);
    cell_ = setter.cell();
    strand_.Post([setter, work = std::move(work)] { setter.Set(work()); });
  }
  bool IsReady() const { return cell_.IsSet(); }
  // Blocks; crash point; context T.
  arrow::Result<T> Get() const { return cell_.Get(); }

 private:
  Cell<T> cell_;
  Strand strand_;
};

}  // namespace javelin::internal
