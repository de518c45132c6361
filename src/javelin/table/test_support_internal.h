// Short forms for the tests of this module.
#pragma once

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "javelin/base/error.h"

#define ASSERT_OK(expression)                        \
  do {                                               \
    const ::arrow::Status _status = (expression);    \
    ASSERT_TRUE(_status.ok()) << _status.ToString(); \
  } while (false)

#define JAVELIN_CONCAT_INNER(a, b) a##b
#define JAVELIN_CONCAT(a, b) JAVELIN_CONCAT_INNER(a, b)
#define ASSERT_OK_AND_ASSIGN(target, expression) \
  ASSERT_OK_AND_ASSIGN_IMPL(JAVELIN_CONCAT(_result, __LINE__), target, expression)
#define ASSERT_OK_AND_ASSIGN_IMPL(result, target, expression) \
  auto&& result = (expression);                               \
  ASSERT_TRUE(result.ok()) << result.status().ToString();     \
  target = std::move(result).ValueOrDie()

namespace javelin::table {

// Fails the test unless `status` is an error of this kind whose message has `part`.
inline void ExpectError(const arrow::Status& status, ErrorKind kind, const std::string& part) {
  ASSERT_FALSE(status.ok()) << "expected " << ToString(kind);
  EXPECT_EQ(KindOf(status), kind) << status.ToString();
  EXPECT_THAT(status.message(), testing::HasSubstr(part));
}

// "0a 15" -> two bytes; anything but hexadecimal digits is ignored.
inline std::string FromHex(std::string_view text) {
  std::string digits, bytes;
  for (char c : text) {
    if (std::isxdigit(static_cast<unsigned char>(c))) digits.push_back(c);
  }
  for (size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  return bytes;
}

inline std::string ToText(const std::shared_ptr<arrow::Buffer>& buffer) { return buffer->ToString(); }

}  // namespace javelin::table
