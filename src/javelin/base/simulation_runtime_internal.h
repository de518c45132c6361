// The runtime that a simulation offers to product code.
#pragma once

#include <memory>

#include "javelin/base/simulation_scheduler_internal.h"

namespace javelin::internal {

// An event whose Wait has no rule about contexts, for stores: they wait in strand jobs too.
std::shared_ptr<EventState> NewSimEvent(std::shared_ptr<SimScheduler> scheduler, std::string_view what);

// Of a task: does not keep the scheduler alive, which owns the task.
std::shared_ptr<EventState> NewTaskEndEvent(SimScheduler& scheduler);

std::shared_ptr<Runtime> MakeSimRuntime(std::shared_ptr<SimScheduler> scheduler);

}  // namespace javelin::internal
