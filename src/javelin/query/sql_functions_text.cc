// Functions of texts: searching, cutting, joining. Positions and lengths count characters.
#include "javelin/query/sql_functions_internal.h"

namespace javelin::query {
namespace {

using Node = const BoundExpression&;
using Evaluation = const SqlEvaluation&;

template <int64_t (*Of)(std::string_view)>
arrow::Result<arrow::Datum> Measured(Node node, const Arguments& arguments, Evaluation evaluation) {
  return OverArrays(arguments, evaluation, [&](const std::vector<ArrayPtr>& arrays, int64_t rows) {
    const Bytes text(*arrays[0]);
    return BuildRows<arrow::Int32Builder>(
        node.type, arrays, rows, evaluation.pool(),
        [&](arrow::Int32Builder& builder, int64_t row) { return builder.Append(static_cast<int32_t>(Of(text[row]))); });
  });
}

int64_t ByteCount(std::string_view text) { return static_cast<int64_t>(text.size()); }
int64_t BitCount(std::string_view text) { return 8 * static_cast<int64_t>(text.size()); }
// The number of the first character, 0 of an empty text.
int64_t FirstCodePoint(std::string_view text) {
  if (text.empty()) return 0;
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return first;
  const int more = first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
  int64_t point = first & (0x3F >> more);
  for (int i = 1; i <= more && i < static_cast<int>(text.size()); ++i) point = point << 6 | (text[i] & 0x3F);
  return point;
}

template <bool (*Of)(std::string_view, std::string_view)>
arrow::Result<arrow::Datum> Tested(Node, const Arguments& arguments, Evaluation evaluation) {
  return OverArrays(arguments, evaluation, [&](const std::vector<ArrayPtr>& arrays, int64_t rows) {
    const Bytes text(*arrays[0]), other(*arrays[1]);
    return BuildRows<arrow::BooleanBuilder>(
        arrow::boolean(), arrays, rows, evaluation.pool(),
        [&](arrow::BooleanBuilder& builder, int64_t row) { return builder.Append(Of(text[row], other[row])); });
  });
}

bool StartsWith(std::string_view text, std::string_view other) { return text.starts_with(other); }
bool EndsWith(std::string_view text, std::string_view other) { return text.ends_with(other); }
bool Contains(std::string_view text, std::string_view other) { return text.find(other) != std::string_view::npos; }

arrow::Result<arrow::Datum> Position(Node node, const Arguments& arguments, Evaluation evaluation) {
  return OverArrays(arguments, evaluation, [&](const std::vector<ArrayPtr>& arrays, int64_t rows) {
    const Bytes text(*arrays[0]), other(*arrays[1]);
    return BuildRows<arrow::Int32Builder>(
        node.type, arrays, rows, evaluation.pool(), [&](arrow::Int32Builder& builder, int64_t row) {
          const size_t at = text[row].find(other[row]);
          if (at == std::string_view::npos) return builder.Append(0);
          return builder.Append(static_cast<int32_t>(1 + CountCharacters(text[row].substr(0, at))));
        });
  });
}

template <const char* kKernel>
arrow::Result<arrow::Datum> Kernel(Node, const Arguments& arguments, Evaluation evaluation) {
  return CallFunction(kKernel, arguments, evaluation.exec);
}
constexpr char kLower[] = "utf8_lower";
constexpr char kUpper[] = "utf8_upper";

// Of the left or the right end; a negative count leaves out so many of the other.
template <bool kRight>
arrow::Result<arrow::Datum> End(Node node, const Arguments& arguments, Evaluation evaluation) {
  return OverArrays(arguments, evaluation, [&](const std::vector<ArrayPtr>& arrays, int64_t rows) {
    const Bytes text(*arrays[0]);
    const auto& counts = static_cast<const arrow::Int64Array&>(*arrays[1]);
    return BuildText(node, arrays, rows, evaluation.pool(), [&](int64_t row) {
      const int64_t all = CountCharacters(text[row]), count = counts.Value(row);
      const int64_t kept = count >= 0 ? std::min(count, all) : count <= -all ? 0 : all + count;
      return kRight ? WithoutFirstCharacters(text[row], all - kept) : FirstCharacters(text[row], kept);
    });
  });
}

arrow::Result<arrow::Datum> Reverse(Node node, const Arguments& arguments, Evaluation evaluation) {
  return OverArrays(arguments, evaluation, [&](const std::vector<ArrayPtr>& arrays, int64_t rows) {
    const Bytes text(*arrays[0]);
    return BuildText(node, arrays, rows, evaluation.pool(), [&](int64_t row) {
      std::string reversed;
      size_t end = text[row].size();
      for (size_t at = end; at-- > 0;) {
        if (!BeginsCharacter(text[row][at])) continue;
        reversed += text[row].substr(at, end - at);
        end = at;
      }
      return reversed;
    });
  });
}

arrow::Result<arrow::Datum> Replace(Node node, const Arguments& arguments, Evaluation evaluation) {
  return OverArrays(arguments, evaluation, [&](const std::vector<ArrayPtr>& arrays, int64_t rows) {
    const Bytes text(*arrays[0]), from(*arrays[1]), to(*arrays[2]);
    return BuildText(node, arrays, rows, evaluation.pool(), [&](int64_t row) {
      std::string replaced;
      const std::string_view whole = text[row], what = from[row], by = to[row];
      if (what.empty()) {  // by stands before every character and at the end
        for (const char byte : whole) {
          if (BeginsCharacter(byte)) replaced += by;
          replaced += byte;
        }
        return replaced += by;
      }
      size_t at = 0;
      for (size_t next; (next = whole.find(what, at)) != std::string_view::npos; at = next + what.size()) {
        replaced += whole.substr(at, next - at);
        replaced += by;
      }
      return replaced += whole.substr(at);
    });
  });
}

// Nulls are left out; numbers and the like are written as in CAST.
arrow::Result<arrow::Datum> Concat(Node node, const Arguments& arguments, Evaluation evaluation) {
  return OverArrays(arguments, evaluation, [&](const std::vector<ArrayPtr>& arrays, int64_t rows) {
    std::vector<Bytes> parts;
    for (const ArrayPtr& array : arrays) parts.emplace_back(*array);
    return BuildText(node, {}, rows, evaluation.pool(), [&](int64_t row) {
      std::string joined;
      for (const Bytes& part : parts)
        if (!part.IsNull(row)) joined += part[row];
      return joined;
    });
  });
}

arrow::Result<arrow::Datum> ConcatWith(Node node, const Arguments& arguments, Evaluation evaluation) {
  return OverArrays(arguments, evaluation, [&](const std::vector<ArrayPtr>& arrays, int64_t rows) {
    std::vector<Bytes> parts;
    for (const ArrayPtr& array : arrays) parts.emplace_back(*array);
    return BuildText(node, {arrays[0]}, rows, evaluation.pool(), [&](int64_t row) {
      std::string joined;
      bool first = true;
      for (size_t i = 1; i < parts.size(); ++i) {
        if (parts[i].IsNull(row)) continue;
        if (!first) joined += parts[0][row];
        joined += parts[i][row];
        first = false;
      }
      return joined;
    });
  });
}

constexpr SqlFunction kFunctions[] = {
    {"length", "t", 'J', Measured<CountCharacters>},
    {"char_length", "t", 'J', Measured<CountCharacters>},
    {"character_length", "t", 'J', Measured<CountCharacters>},
    {"octet_length", "t", 'J', Measured<ByteCount>},
    {"bit_length", "t", 'J', Measured<BitCount>},
    {"ascii", "t", 'J', Measured<FirstCodePoint>},
    {"lower", "t", 'T', Kernel<kLower>},
    {"upper", "t", 'T', Kernel<kUpper>},
    {"starts_with", "tt", 'B', Tested<StartsWith>},
    {"ends_with", "tt", 'B', Tested<EndsWith>},
    {"contains", "tt", 'B', Tested<Contains>},
    {"strpos", "tt", 'J', Position},
    {"instr", "tt", 'J', Position},
    {"left", "ti", 'T', End<false>},
    {"right", "ti", 'T', End<true>},
    {"reverse", "t", 'T', Reverse},
    {"replace", "ttt", 'T', Replace},
    {"concat", "xx*", 'T', Concat},
    {"concat_ws", "txx*", 'T', ConcatWith},
};

}  // namespace

std::span<const SqlFunction> TextFunctions() { return kFunctions; }

}  // namespace javelin::query
