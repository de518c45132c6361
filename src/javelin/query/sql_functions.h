// Which functions there are. One table a subject; docs/filters.md lists them.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "javelin/query/sql_bound.h"

namespace javelin::query {

// What the arguments must be and become, one letter each:
//   t text   x cast to text   b text or binary   n number   i int64   f double   d moment (date or timestamp)   l list
//   a anything   s the same type as the other `s`   e the type of the elements of the first list   m as the first list
// `?` before a letter: this and those behind may be missing. `*` behind the last: it may come more often, or never.
struct SqlFunction {
  std::string_view name;
  std::string_view parameters;
  // 'T' text (large if the first argument is), 'B' boolean, 'I' int64, 'J' int32, 'U' uint64, 'F' double, 'D' date,
  // '0' the type of the first argument, 'E' its elements, 'L' a list of the first argument's type, 'S' timestamp(ns),
  // 'M' a moment of the second argument, 'P' a part of a moment
  char result;
  SqlKernel kernel;
};

std::span<const SqlFunction> TextFunctions();
std::span<const SqlFunction> MoreTextFunctions();
std::span<const SqlFunction> NumberFunctions();
std::span<const SqlFunction> ListFunctions();
std::span<const SqlFunction> TimeFunctions();
std::span<const SqlFunction> ChoiceFunctions();

}  // namespace javelin::query
