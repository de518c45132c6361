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

}  // namespace javelin::query
