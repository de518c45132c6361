#include "javelin/query/sql_text.h"

#include <algorithm>

namespace javelin::query {
namespace {

constexpr size_t kExcerptBytes = 100;

bool IsContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

size_t Characters(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !IsContinuation(c); }));
}

// The part of a long line around the span, cut between characters.
std::string_view Excerpt(std::string_view line, size_t begin, size_t* cut) {
  size_t from = begin > kExcerptBytes / 2 && line.size() > kExcerptBytes ? begin - kExcerptBytes / 2 : 0;
  while (from > 0 && IsContinuation(line[from])) --from;
  size_t to = std::min(line.size(), from + kExcerptBytes);
  while (to < line.size() && IsContinuation(line[to])) ++to;
  *cut = from;
  return line.substr(from, to - from);
}

}  // namespace

arrow::Status SqlErrorAt(ErrorKind kind, std::string_view text, SqlSpan span, const std::string& message) {
  span.begin = std::min(span.begin, text.size());
  span.end = std::clamp(span.end, span.begin, text.size());
  const std::string_view before = text.substr(0, span.begin);
  const size_t line_begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  const size_t line_number = 1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
  const size_t column = 1 + Characters(before.substr(line_begin));
  const std::string_view line = text.substr(line_begin, text.find('\n', line_begin) - line_begin);
  size_t cut = 0;
  const std::string_view excerpt = Excerpt(line, span.begin - line_begin, &cut);
  const size_t mark_begin = span.begin - line_begin - cut;
  const size_t mark_end = std::min(excerpt.size(), span.end - line_begin - cut);
  const size_t marks = mark_end > mark_begin ? Characters(excerpt.substr(mark_begin, mark_end - mark_begin)) : 1;
  std::string shown = fmt::format("{} (line {}, column {})\n  {}\n  {}{}", message, line_number, column, excerpt,
                                  std::string(Characters(excerpt.substr(0, mark_begin)), ' '),
                                  std::string(std::max<size_t>(marks, 1), '^'));
  return MakeError(kind, std::move(shown), {{"line", std::to_string(line_number)}, {"column", std::to_string(column)}});
}

}  // namespace javelin::query
