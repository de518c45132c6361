#include "javelin/query/sql_time.h"

#include <arrow/type.h>
#include <fmt/format.h>

namespace javelin::query {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Takes what it reads from the front.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  bool empty() const { return text_.empty(); }
  bool Take(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  // Exactly so many digits, a number of at most `most`.
  std::optional<int> Number(size_t digits, int most) {
    if (text_.size() < digits) return std::nullopt;
    int value = 0;
    for (size_t i = 0; i < digits; ++i) {
      if (!IsDigit(text_[i])) return std::nullopt;
      value = value * 10 + (text_[i] - '0');
    }
    if (value > most) return std::nullopt;
    text_.remove_prefix(digits);
    return value;
  }
  // Digits behind the point as nanoseconds; those beyond the ninth are cut off.
  std::optional<int64_t> Fraction() {
    int64_t nanoseconds = 0, place = 100'000'000;
    if (text_.empty() || !IsDigit(text_.front())) return std::nullopt;
    while (!text_.empty() && IsDigit(text_.front())) {
      nanoseconds += place * (text_.front() - '0');
      place /= 10;
      text_.remove_prefix(1);
    }
    return nanoseconds;
  }

 private:
  std::string_view text_;
};

std::optional<int64_t> Days(Reader& reader) {
  const auto year = reader.Number(4, 9999);
  if (!year || !reader.Take('-')) return std::nullopt;
  const auto month = reader.Number(2, 12);
  if (!month || *month == 0 || !reader.Take('-')) return std::nullopt;
  const auto day = reader.Number(2, 31);
  if (!day || *day == 0) return std::nullopt;
  const int64_t days = DaysOfCivil({*year, *month, *day});
  return CivilOfDays(days).day == *day ? std::optional(days) : std::nullopt;
}

// Seconds east of Greenwich.
std::optional<int64_t> Zone(Reader& reader) {
  if (reader.empty() || reader.Take('Z')) return 0;
  const bool west = reader.Take('-');
  if (!west && !reader.Take('+')) return std::nullopt;
  const auto hours = reader.Number(2, 23);
  if (!hours) return std::nullopt;
  int minutes = 0;
  if (!reader.empty()) {
    reader.Take(':');
    const auto given = reader.Number(2, 59);
    if (!given) return std::nullopt;
    minutes = *given;
  }
  return (west ? -1 : 1) * (*hours * 3600 + minutes * 60);
}

}  // namespace

int64_t UnitsPerSecond(arrow::TimeUnit::type unit) {
  switch (unit) {
    case arrow::TimeUnit::SECOND: return 1;
    case arrow::TimeUnit::MILLI: return 1000;
    case arrow::TimeUnit::MICRO: return 1'000'000;
    case arrow::TimeUnit::NANO: return 1'000'000'000;
  }
  return 1;
}

// Years begin in March here, so that the leap day is the last one.
int64_t DaysOfCivil(const CivilDate& date) {
  const int64_t year = date.year - (date.month <= 2 ? 1 : 0);
  const int64_t era = (year >= 0 ? year : year - 399) / 400;
  const int64_t year_of_era = year - era * 400;
  const int64_t day_of_year = (153 * (date.month + (date.month > 2 ? -3 : 9)) + 2) / 5 + date.day - 1;
  return era * 146'097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719'468;
}

CivilDate CivilOfDays(int64_t days) {
  const int64_t shifted = days + 719'468;
  const int64_t era = (shifted >= 0 ? shifted : shifted - 146'096) / 146'097;
  const int64_t day_of_era = shifted - era * 146'097;
  const int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t month = (5 * day_of_year + 2) / 153;
  CivilDate date{};
  date.day = static_cast<int>(day_of_year - (153 * month + 2) / 5 + 1);
  date.month = static_cast<int>(month < 10 ? month + 3 : month - 9);
  date.year = year_of_era + era * 400 + (date.month <= 2 ? 1 : 0);
  return date;
}

std::optional<int64_t> ParseDate(std::string_view text) {
  Reader reader(text);
  const auto days = Days(reader);
  return reader.empty() ? days : std::nullopt;
}

std::optional<int64_t> ParseTimestamp(std::string_view text, arrow::TimeUnit::type unit) {
  Reader reader(text);
  const auto days = Days(reader);
  if (!days) return std::nullopt;
  int64_t seconds = *days * 86'400, nanoseconds = 0;
  if (!reader.empty()) {
    if (!reader.Take(' ') && !reader.Take('T')) return std::nullopt;
    const auto hour = reader.Number(2, 23);
    if (!hour || !reader.Take(':')) return std::nullopt;
    const auto minute = reader.Number(2, 59);
    if (!minute) return std::nullopt;
    int second = 0;
    if (reader.Take(':')) {
      const auto given = reader.Number(2, 59);
      if (!given) return std::nullopt;
      second = *given;
      if (reader.Take('.')) {
        const auto fraction = reader.Fraction();
        if (!fraction) return std::nullopt;
        nanoseconds = *fraction;
      }
    }
    const auto zone = Zone(reader);
    if (!zone || !reader.empty()) return std::nullopt;
    seconds += *hour * 3600 + *minute * 60 + second - *zone;
  }
  const int64_t per_second = UnitsPerSecond(unit);
  int64_t value = 0;
  if (__builtin_mul_overflow(seconds, per_second, &value)) return std::nullopt;
  if (__builtin_add_overflow(value, nanoseconds / (1'000'000'000 / per_second), &value)) return std::nullopt;
  return value;
}

std::string FormatTimestamp(int64_t value, arrow::TimeUnit::type unit) {
  const int64_t per_second = UnitsPerSecond(unit);
  int64_t seconds = value / per_second, fraction = value % per_second;
  if (fraction < 0) fraction += per_second, --seconds;
  int64_t days = seconds / 86'400, of_day = seconds % 86'400;
  if (of_day < 0) of_day += 86'400, --days;
  const CivilDate date = CivilOfDays(days);
  std::string text = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", date.year, date.month, date.day, of_day / 3600,
                                 of_day / 60 % 60, of_day % 60);
  const int64_t nanoseconds = fraction * (1'000'000'000 / per_second);
  if (nanoseconds == 0) return text;
  if (nanoseconds % 1'000'000 == 0) return text + fmt::format(".{:03}", nanoseconds / 1'000'000);
  if (nanoseconds % 1000 == 0) return text + fmt::format(".{:06}", nanoseconds / 1000);
  return text + fmt::format(".{:09}", nanoseconds);
}

}  // namespace javelin::query
