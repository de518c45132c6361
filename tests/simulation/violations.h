// What a check found wrong, one text each.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>

namespace javelin::simulation {

using Violations = std::vector<std::string>;

template <typename... Args>
void Violate(Violations* violations, fmt::format_string<Args...> format, Args&&... args) {
  violations->push_back(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace javelin::simulation
