// The name that was meant where one is not known.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace javelin {

// Edits (insert, remove, replace a byte; case does not count) between two names.
size_t NameDistance(std::string_view a, std::string_view b);

// The name among `names` that is nearest to `name`, if one is near enough to be what was meant; empty otherwise.
template <typename Names>
std::string NearestName(std::string_view name, const Names& names) {
  std::string nearest;
  size_t best = name.size() / 2 + 2;
  for (const auto& candidate : names) {
    const std::string_view other = candidate;
    if (other.size() > name.size() + best || name.size() > other.size() + best || other.size() > 256) continue;
    const size_t distance = NameDistance(name, other);
    if (distance < best) {
      best = distance;
      nearest = std::string(other);
    }
  }
  return nearest;
}

}  // namespace javelin
