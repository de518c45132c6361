// Functions of texts: patterns, padding, encodings.
#include <array>
#include <bit>
#include <cmath>

#include "javelin/query/sql_functions_internal.h"

namespace javelin::query {
namespace {

using Node = const BoundExpression&;
using Evaluation = const SqlEvaluation&;

// A value longer than this is refused: a small argument must not ask for all memory.
constexpr int64_t kMaxTextBytes = 16 << 20;

struct Pattern {
  std::string text;
  bool any_case = false;
  bool all = false;
};

// Pattern and flags of a regular expression; `flags_at` may be behind the last argument.
arrow::Result<Pattern> PatternOf(const Arguments& arguments, size_t flags_at, std::string_view allowed) {
  Pattern pattern;
  ARROW_ASSIGN_OR_RAISE(pattern.text, ConstantText(arguments, 1, "the regular expression"));
  if (flags_at >= arguments.size()) return pattern;
  ARROW_ASSIGN_OR_RAISE(const std::string flags,
                        ConstantText(arguments, flags_at, "the flags of a regular expression"));
  for (const char flag : flags) {
    if (allowed.find(flag) == std::string_view::npos) {
      return arrow::Status::NotImplemented(fmt::format("the flag '{}' of a regular expression", flag));
    }
    pattern.any_case = pattern.any_case || flag == 'i';
    pattern.all = pattern.all || flag == 'g';
    if (flag == 's' || flag == 'm') pattern.text = fmt::format("(?{}){}", flag, pattern.text);
  }
  return pattern;
}

bool HasNullPattern(const Arguments& arguments) {
  for (size_t i = 1; i < arguments.size(); ++i)
    if (arguments[i].is_scalar() && !arguments[i].scalar()->is_valid) return true;
  return false;
}

arrow::Result<arrow::Datum> RegexpLike(Node node, const Arguments& arguments, Evaluation evaluation) {
  if (HasNullPattern(arguments)) return arrow::Datum(arrow::MakeNullScalar(node.type));
  ARROW_ASSIGN_OR_RAISE(const Pattern pattern, PatternOf(arguments, 2, "ism"));
  const arrow::compute::MatchSubstringOptions options(pattern.text, pattern.any_case);
  return CallFunction("match_substring_regex", {arguments[0]}, &options, evaluation.exec);
}

arrow::Result<arrow::Datum> RegexpReplace(Node node, const Arguments& arguments, Evaluation evaluation) {
  if (HasNullPattern(arguments)) return arrow::Datum(arrow::MakeNullScalar(node.type));
  ARROW_ASSIGN_OR_RAISE(Pattern pattern, PatternOf(arguments, 3, "gism"));
  ARROW_ASSIGN_OR_RAISE(const std::string by, ConstantText(arguments, 2, "the replacement"));
  if (pattern.any_case) pattern.text = "(?i)" + pattern.text;
  const arrow::compute::ReplaceSubstringOptions options(pattern.text, by, pattern.all ? -1 : 1);
  return CallFunction("replace_substring_regex", {arguments[0]}, &options, evaluation.exec);
}

// Which ends; the characters to take away are blanks or those of the second argument.
template <bool kLeft, bool kRight>
arrow::Result<arrow::Datum> Trim(Node node, const Arguments& arguments, Evaluation evaluation) {
  return OverArrays(arguments, evaluation, [&](const std::vector<ArrayPtr>& arrays, int64_t rows) {
    const Bytes text(*arrays[0]), given(*arrays.back());
    return BuildText(node, arrays, rows, evaluation.pool(), [&](int64_t row) {
      std::string_view left = text[row];
      const std::string_view away = arrays.size() > 1 ? given[row] : std::string_view(" ");
      const auto goes = [&](std::string_view character) { return away.find(character) != std::string_view::npos; };
      while (kLeft && !left.empty() && goes(FirstCharacters(left, 1))) left = WithoutFirstCharacters(left, 1);
      while (kRight && !left.empty()) {
        size_t begin = left.size() - 1;
        while (begin > 0 && !BeginsCharacter(left[begin])) --begin;
        if (!goes(left.substr(begin))) break;
        left = left.substr(0, begin);
      }
      return left;
    });
  });
}

arrow::Result<std::string> Repeated(std::string_view text, int64_t count) {
  std::string repeated;
  if (count <= 0 || text.empty()) return repeated;
  if (count > kMaxTextBytes / static_cast<int64_t>(text.size())) {
    return arrow::Status::Invalid(fmt::format("a text of {} times {} bytes is too long", count, text.size()));
  }
  repeated.reserve(text.size() * static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) repeated += text;
  return repeated;
}

// As BuildText, where a row may fail.
template <typename TextOf>
arrow::Result<ArrayPtr> BuildTextOrFail(Node node, const std::vector<ArrayPtr>& arrays, int64_t rows,
                                        arrow::MemoryPool* pool, TextOf text) {
  const auto append = [&](auto& builder, int64_t row) {
    ARROW_ASSIGN_OR_RAISE(const std::string value, text(row));
    return builder.Append(value);
  };
  if (node.type->id() == arrow::Type::LARGE_STRING) {
    return BuildRows<arrow::LargeStringBuilder>(node.type, arrays, rows, pool, append);
  }
  return BuildRows<arrow::StringBuilder>(node.type, arrays, rows, pool, append);
}

arrow::Result<arrow::Datum> Repeat(Node node, const Arguments& arguments, Evaluation evaluation) {
  return OverArrays(arguments, evaluation, [&](const std::vector<ArrayPtr>& arrays, int64_t rows) {
    const Bytes text(*arrays[0]);
    const auto& counts = static_cast<const arrow::Int64Array&>(*arrays[1]);
    return BuildTextOrFail(node, arrays, rows, evaluation.pool(),
                           [&](int64_t row) { return Repeated(text[row], counts.Value(row)); });
  });
}

template <bool kLeft>
arrow::Result<arrow::Datum> Pad(Node node, const Arguments& arguments, Evaluation evaluation) {
  return OverArrays(arguments, evaluation, [&](const std::vector<ArrayPtr>& arrays, int64_t rows) {
    const Bytes text(*arrays[0]), given(*arrays.back());
    const auto& lengths = static_cast<const arrow::Int64Array&>(*arrays[1]);
    const bool blanks = arrays.size() < 3;
    return BuildTextOrFail(node, arrays, rows, evaluation.pool(), [&](int64_t row) -> arrow::Result<std::string> {
      const int64_t wanted = std::max<int64_t>(lengths.Value(row), 0), have = CountCharacters(text[row]);
      const std::string_view with = blanks ? std::string_view(" ") : given[row];
      if (have >= wanted || with.empty()) return std::string(FirstCharacters(text[row], wanted));
      const int64_t missing = wanted - have;
      ARROW_ASSIGN_OR_RAISE(const std::string fill, Repeated(with, missing / CountCharacters(with) + 1));
      const std::string padding(FirstCharacters(fill, missing));
      return kLeft ? padding + std::string(text[row]) : std::string(text[row]) + padding;
    });
  });
}

// The n-th part between delimiters, from the end if n is negative; empty if there are fewer.
arrow::Result<arrow::Datum> SplitPart(Node node, const Arguments& arguments, Evaluation evaluation) {
  return OverArrays(arguments, evaluation, [&](const std::vector<ArrayPtr>& arrays, int64_t rows) {
    const Bytes text(*arrays[0]), between(*arrays[1]);
    const auto& numbers = static_cast<const arrow::Int64Array&>(*arrays[2]);
    return BuildTextOrFail(node, arrays, rows, evaluation.pool(), [&](int64_t row) -> arrow::Result<std::string> {
      if (numbers.Value(row) == 0) return arrow::Status::Invalid("parts of a text are counted from 1");
      std::vector<std::string_view> parts;
      size_t at = 0;
      for (size_t next; !between[row].empty() && (next = text[row].find(between[row], at)) != std::string_view::npos;
           at = next + between[row].size()) {
        parts.push_back(text[row].substr(at, next - at));
      }
      parts.push_back(text[row].substr(at));
      const int64_t count = static_cast<int64_t>(parts.size()), number = numbers.Value(row);
      const int64_t index = number > 0 ? number - 1 : count + number;
      return index < 0 || index >= count ? std::string() : std::string(parts[static_cast<size_t>(index)]);
    });
  });
}

std::string Hex(std::string_view bytes) {
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

// Without padding, as the peer's.
std::string Base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  uint32_t bits = 0;
  int pending = 0;
  for (const unsigned char byte : bytes) {
    bits = bits << 8 | byte;
    for (pending += 8; pending >= 6; pending -= 6) text += kDigits[bits >> (pending - 6) & 63];
  }
  if (pending > 0) text += kDigits[bits << (6 - pending) & 63];
  return text;
}

arrow::Result<arrow::Datum> Encode(Node node, const Arguments& arguments, Evaluation evaluation) {
  ARROW_ASSIGN_OR_RAISE(const std::string how, ConstantText(arguments, 1, "the encoding"));
  if (how != "hex" && how != "base64") {
    return arrow::Status::Invalid(fmt::format("there is no encoding '{}': it is 'hex' or 'base64'", how));
  }
  return OverArrays({arguments[0]}, evaluation, [&](const std::vector<ArrayPtr>& arrays, int64_t rows) {
    const Bytes bytes(*arrays[0]);
    return BuildText(node, arrays, rows, evaluation.pool(),
                     [&](int64_t row) { return how == "hex" ? Hex(bytes[row]) : Base64(bytes[row]); });
  });
}

// RFC 1321.
std::string Md5(std::string_view bytes) {
  constexpr std::array<uint8_t, 16> kTurns = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};
  static const std::array<uint32_t, 64> kSines = [] {
    std::array<uint32_t, 64> sines{};
    for (size_t i = 0; i < 64; ++i) sines[i] = static_cast<uint32_t>(std::abs(std::sin(i + 1.0)) * 4294967296.0);
    return sines;
  }();
  std::string message(bytes);
  message += '\x80';
  while (message.size() % 64 != 56) message += '\0';
  const uint64_t bit_count = static_cast<uint64_t>(bytes.size()) * 8;
  message.append(reinterpret_cast<const char*>(&bit_count), 8);
  std::array<uint32_t, 4> state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  for (size_t block = 0; block < message.size(); block += 64) {
    std::array<uint32_t, 16> words;
    std::memcpy(words.data(), message.data() + block, 64);
    auto [a, b, c, d] = state;
    for (uint32_t i = 0; i < 64; ++i) {
      uint32_t mixed = 0, word = 0;
      switch (i / 16) {
        case 0: mixed = (b & c) | (~b & d), word = i; break;
        case 1: mixed = (d & b) | (~d & c), word = (5 * i + 1) % 16; break;
        case 2: mixed = b ^ c ^ d, word = (3 * i + 5) % 16; break;
        default: mixed = c ^ (b | ~d), word = (7 * i) % 16;
      }
      mixed += a + kSines[i] + words[word];
      a = d, d = c, c = b;
      b += std::rotl(mixed, kTurns[i / 16 * 4 + i % 4]);
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
  }
  return Hex(std::string_view(reinterpret_cast<const char*>(state.data()), 16));
}

arrow::Result<arrow::Datum> Md5Of(Node node, const Arguments& arguments, Evaluation evaluation) {
  return OverArrays(arguments, evaluation, [&](const std::vector<ArrayPtr>& arrays, int64_t rows) {
    const Bytes bytes(*arrays[0]);
    return BuildText(node, arrays, rows, evaluation.pool(), [&](int64_t row) { return Md5(bytes[row]); });
  });
}

arrow::Result<arrow::Datum> ToHex(Node node, const Arguments& arguments, Evaluation evaluation) {
  return OverArrays(arguments, evaluation, [&](const std::vector<ArrayPtr>& arrays, int64_t rows) {
    const auto& numbers = static_cast<const arrow::Int64Array&>(*arrays[0]);
    return BuildText(node, arrays, rows, evaluation.pool(),
                     [&](int64_t row) { return fmt::format("{:x}", static_cast<uint64_t>(numbers.Value(row))); });
  });
}

arrow::Result<arrow::Datum> RegexpCount(Node node, const Arguments& arguments, Evaluation evaluation) {
  if (HasNullPattern(arguments)) return arrow::Datum(arrow::MakeNullScalar(node.type));
  ARROW_ASSIGN_OR_RAISE(const Pattern pattern, PatternOf(arguments, 2, "ism"));
  const arrow::compute::MatchSubstringOptions options(pattern.text, pattern.any_case);
  ARROW_ASSIGN_OR_RAISE(const arrow::Datum count,
                        CallFunction("count_substring_regex", {arguments[0]}, &options, evaluation.exec));
  return arrow::compute::Cast(count, node.type, arrow::compute::CastOptions::Safe(), evaluation.exec);
}

constexpr SqlFunction kFunctions[] = {
    {"regexp_count", "tt?t", 'I', RegexpCount},
    {"regexp_like", "tt?t", 'B', RegexpLike},
    {"regexp_match", "tt?t", 'B', RegexpLike},  // the binder makes a condition of it
    {"regexp_replace", "ttt?t", 'T', RegexpReplace},
    {"btrim", "t?t", 'T', Trim<true, true>},
    {"ltrim", "t?t", 'T', Trim<true, false>},
    {"rtrim", "t?t", 'T', Trim<false, true>},
    {"repeat", "ti", 'T', Repeat},
    {"lpad", "ti?t", 'T', Pad<true>},
    {"rpad", "ti?t", 'T', Pad<false>},
    {"split_part", "tti", 'T', SplitPart},
    {"encode", "bt", 'T', Encode},
    {"md5", "b", 'T', Md5Of},
    {"to_hex", "i", 'T', ToHex},
};

}  // namespace

std::span<const SqlFunction> MoreTextFunctions() { return kFunctions; }

}  // namespace javelin::query
