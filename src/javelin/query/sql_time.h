// Moments as text: what timestamp literals and casts between text and time read and write.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <arrow/type_fwd.h>

namespace javelin::query {

struct CivilDate {
  int64_t year;
  int month;  // 1..12
  int day;    // 1..31
};
// Days since 1970-01-01 of the Gregorian calendar, and back.
int64_t DaysOfCivil(const CivilDate& date);
CivilDate CivilOfDays(int64_t days);

// yyyy-mm-dd
std::optional<int64_t> ParseDate(std::string_view text);
// yyyy-mm-dd[( |T)hh:mm[:ss[.f]][Z|(+|-)hh[[:]mm]]], in units since 1970 UTC; digits finer than the unit are cut off.
std::optional<int64_t> ParseTimestamp(std::string_view text, arrow::TimeUnit::type unit);
// yyyy-mm-ddThh:mm:ss[.f], with 3, 6 or 9 digits if any is not zero.
std::string FormatTimestamp(int64_t value, arrow::TimeUnit::type unit);

int64_t UnitsPerSecond(arrow::TimeUnit::type unit);

}  // namespace javelin::query
