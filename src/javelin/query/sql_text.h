// Places in an SQL text, and errors that show them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <arrow/status.h>

#include "javelin/base/error.h"

namespace javelin::query {

// Bytes [begin, end) of the text.
struct SqlSpan {
  size_t begin = 0;
  size_t end = 0;
};

// An error of the kind whose message shows the place: line and column (1-based, in characters) and the line itself with
// the span underlined. Fields `line` and `column` say the same.
arrow::Status SqlErrorAt(ErrorKind kind, std::string_view text, SqlSpan span, const std::string& message);

// The name among `names` that is nearest to `name`, if one is near enough to be what was meant; empty otherwise.
template <typename Names>
std::string NearestName(std::string_view name, const Names& names);

// Edits (insert, remove, replace a byte; case does not count) between two names.
size_t NameDistance(std::string_view a, std::string_view b);

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

}  // namespace javelin::query
