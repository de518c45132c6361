// Bugs that a test plants on purpose, to prove that the tests which should find such a bug do find it.
//
// Product code asks at the place of the bug:
//     if (!runtime.PlantedBug("wal.no_fence_check")) ARROW_RETURN_NOT_OK(CheckFence());
// In production the answer is always false, at the cost of a branch. A Simulation answers true for the names it
// planted.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace javelin {

// The bugs of one simulation, and whether the code ever asked for them: a planted name that nobody asked for proves
// nothing, and a test should fail on it.
class PlantedBugs {
 public:
  void Plant(std::string_view name) { asked_.emplace(name, false); }
  bool Ask(std::string_view name) {
    const auto found = asked_.find(name);
    if (found == asked_.end()) return false;
    found->second = true;
    return true;
  }
  bool WasAsked(std::string_view name) const {
    const auto found = asked_.find(name);
    return found != asked_.end() && found->second;
  }

 private:
  std::map<std::string, bool, std::less<>> asked_;
};

}  // namespace javelin
