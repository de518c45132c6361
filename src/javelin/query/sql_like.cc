// LIKE: `%` is any text, `_` one character, a backslash takes the next character as it is.
#include <arrow/compute/api.h>

#include "javelin/query/sql_kernels_internal.h"
#include "javelin/query/sql_values.h"

namespace javelin::query {
namespace {

using arrow::compute::CallFunction;
using ArrayPtr = std::shared_ptr<arrow::Array>;

// Bytes of the character that begins with the byte, of valid UTF-8.
size_t CharacterBytes(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

class LikePattern {
 public:
  explicit LikePattern(std::string_view pattern) {
    for (size_t i = 0; i < pattern.size(); ++i) {
      const char c = pattern[i];
      if (c == '%') {
        steps_.push_back({Step::kMany, 0});
      } else if (c == '_') {
        steps_.push_back({Step::kOne, 0});
      } else {
        if (c == '\\' && i + 1 < pattern.size()) ++i;
        steps_.push_back({Step::kByte, pattern[i]});
      }
    }
  }

  // Remembers only the last `%`: what stood before it fits already, whatever it takes.
  bool Matches(std::string_view text) const {
    size_t at = 0, step = 0, many_step = steps_.size(), many_at = 0;
    while (at < text.size() || step < steps_.size()) {
      if (step < steps_.size() && steps_[step].kind == Step::kMany) {
        many_step = step++;
        many_at = at;
        continue;
      }
      if (step < steps_.size() && at < text.size()) {
        if (steps_[step].kind == Step::kOne) {
          at = std::min(text.size(), at + CharacterBytes(text[at]));
          ++step;
          continue;
        }
        if (steps_[step].byte == text[at]) {
          ++at;
          ++step;
          continue;
        }
      }
      if (many_step == steps_.size() || many_at >= text.size()) return false;
      many_at = std::min(text.size(), many_at + CharacterBytes(text[many_at]));
      at = many_at;
      step = many_step + 1;
    }
    return true;
  }

 private:
  struct Step {
    enum { kByte, kOne, kMany } kind;
    char byte;
  };
  std::vector<Step> steps_;
};

}  // namespace

arrow::Result<arrow::Datum> LikeKernel(const BoundExpression& node, const Arguments& arguments,
                                       const SqlEvaluation& evaluation) {
  Arguments texts = arguments;
  if (node.any_case) {
    for (arrow::Datum& text : texts) {
      ARROW_ASSIGN_OR_RAISE(text, CallFunction("utf8_lower", {text}, evaluation.exec));
    }
  }
  std::optional<LikePattern> constant;
  if (texts[1].is_scalar()) {
    if (!texts[1].scalar()->is_valid) return arrow::Datum(arrow::MakeNullScalar(arrow::boolean()));
    constant.emplace(static_cast<const arrow::BaseBinaryScalar&>(*texts[1].scalar()).view());
    texts.pop_back();
  }
  return OverArrays(texts, evaluation, [&](const std::vector<ArrayPtr>& arrays, int64_t rows) {
    const Bytes text(*arrays[0]), pattern(*arrays.back());
    return BuildRows<arrow::BooleanBuilder>(
        arrow::boolean(), arrays, rows, evaluation.pool(), [&](arrow::BooleanBuilder& builder, int64_t row) {
          const bool matches = constant ? constant->Matches(text[row]) : LikePattern(pattern[row]).Matches(text[row]);
          return builder.Append(matches != node.negated);
        });
  });
}

}  // namespace javelin::query
