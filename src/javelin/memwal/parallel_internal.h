// Many waits for the store at once.
#pragma once

#include <cstddef>
#include <functional>

#include <arrow/status.h>

#include "javelin/base/runtime.h"

namespace javelin::memwal {

// How many requests of one read are under way at once.
inline constexpr size_t kRequestsAtOnce = 16;

// Runs work(0) ... work(count - 1), in this order, up to kRequestsAtOnce of them at a time; some on the calling task,
// the others on strands, so they may wait for the store only. The first failure in the order of the numbers; what comes
// behind it may not have run. Returns when all that began has ended. Context T.
arrow::Status InParallel(Runtime& runtime, size_t count, const std::function<arrow::Status(size_t)>& work);

}  // namespace javelin::memwal
