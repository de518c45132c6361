// Random expressions against the simplest thing that can be right: a value for one row at a time, in int64, double or
// text, with a null beside it, by rules written once more.
#include <cmath>

#include <gtest/gtest.h>

#include <arrow/api.h>

#include "javelin/base/error.h"
#include "javelin/base/seeded_random.h"
#include "javelin/query/filter.h"

namespace javelin::query {
namespace {

using Value = std::variant<std::monostate, bool, int64_t, std::string>;  // monostate: null

struct ModelRow {
  Value x, y, b, c, s;
};

// What the model knows of an expression: its text, and its value in a row.
struct Drawn {
  std::string text;
  std::function<Value(const ModelRow&)> value;
};

bool IsNull(const Value& value) { return std::holds_alternative<std::monostate>(value); }

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}
  uint64_t Below(uint64_t end) { return random_.Below(end); }

  Drawn Number(int depth) {
    if (depth <= 0 || Below(3) == 0) {
      switch (Below(4)) {
        case 0: return {"x", [](const ModelRow& row) { return row.x; }};
        case 1: return {"y", [](const ModelRow& row) { return row.y; }};
        default: {
          const auto number = static_cast<int64_t>(Below(7)) - 3;
          return {std::to_string(number), [number](const ModelRow&) { return Value(number); }};
        }
      }
    }
    const Drawn a = Number(depth - 1), b = Number(depth - 1);
    switch (Below(6)) {
      case 0: return Calculated(a, "+", b, [](uint64_t l, uint64_t r) { return l + r; });
      case 1: return Calculated(a, "-", b, [](uint64_t l, uint64_t r) { return l - r; });
      case 2: return Calculated(a, "*", b, [](uint64_t l, uint64_t r) { return l * r; });
      case 3:
        return {"(- " + a.text + ")", [a](const ModelRow& row) {
                  const Value value = a.value(row);
                  return IsNull(value) ? value
                                       : Value(static_cast<int64_t>(-static_cast<uint64_t>(std::get<int64_t>(value))));
                }};
      case 4:
        return {"coalesce(" + a.text + ", " + b.text + ")", [a, b](const ModelRow& row) {
                  const Value value = a.value(row);
                  return IsNull(value) ? b.value(row) : value;
                }};
      default: {
        const Drawn text = Text(depth - 1);
        return {"cast(length(" + text.text + ") as bigint)", [text](const ModelRow& row) {
                  const Value value = text.value(row);
                  return IsNull(value) ? value : Value(static_cast<int64_t>(std::get<std::string>(value).size()));
                }};
      }
    }
  }

  Drawn Text(int depth) {
    static const std::string kTexts[] = {"", "a", "b", "ab", "ba", "%"};
    if (depth <= 0 || Below(3) == 0) {
      if (Below(2) == 0) return {"s", [](const ModelRow& row) { return row.s; }};
      const std::string text = kTexts[Below(6)];
      return {"'" + text + "'", [text](const ModelRow&) { return Value(text); }};
    }
    const Drawn a = Text(depth - 1), b = Text(depth - 1);
    if (Below(2) == 0) {
      return {"(" + a.text + " || " + b.text + ")", [a, b](const ModelRow& row) {
                const Value l = a.value(row), r = b.value(row);
                return IsNull(l) || IsNull(r) ? Value() : Value(std::get<std::string>(l) + std::get<std::string>(r));
              }};
    }
    return {"reverse(" + a.text + ")", [a](const ModelRow& row) {
              Value value = a.value(row);
              if (!IsNull(value))
                std::reverse(std::get<std::string>(value).begin(), std::get<std::string>(value).end());
              return value;
            }};
  }

  Drawn Condition(int depth) {
    if (depth <= 0) return Leaf();
    switch (Below(6)) {
      case 0: return Joined(depth, "and", false);
      case 1: return Joined(depth, "or", true);
      case 2: {
        const Drawn a = Condition(depth - 1);
        return {"(not " + a.text + ")", [a](const ModelRow& row) {
                  const Value value = a.value(row);
                  return IsNull(value) ? value : Value(!std::get<bool>(value));
                }};
      }
      case 3: {
        const Drawn a = Condition(depth - 1);
        const bool wanted = Below(2) == 0, negated = Below(2) == 0;
        return {fmt::format("({} is {}{})", a.text, negated ? "not " : "", wanted ? "true" : "false"),
                [a, wanted, negated](const ModelRow& row) {
                  const Value value = a.value(row);
                  return Value((!IsNull(value) && std::get<bool>(value) == wanted) != negated);
                }};
      }
      case 4: {
        const Drawn a = Below(2) == 0 ? Condition(depth - 1) : Number(depth - 1);
        const bool negated = Below(2) == 0;
        return {fmt::format("({} is {}null)", a.text, negated ? "not " : ""),
                [a, negated](const ModelRow& row) { return Value(IsNull(a.value(row)) != negated); }};
      }
      default: return Leaf();
    }
  }

 private:
  static Drawn Calculated(const Drawn& a, const std::string& op, const Drawn& b, uint64_t (*of)(uint64_t, uint64_t)) {
    return {"(" + a.text + " " + op + " " + b.text + ")", [a, b, of](const ModelRow& row) {
              const Value l = a.value(row), r = b.value(row);
              if (IsNull(l) || IsNull(r)) return Value();
              return Value(static_cast<int64_t>(
                  of(static_cast<uint64_t>(std::get<int64_t>(l)), static_cast<uint64_t>(std::get<int64_t>(r)))));
            }};
  }

  // `decides`: the value that makes the whole so, whatever the others are.
  Drawn Joined(int depth, const std::string& word, bool decides) {
    std::vector<Drawn> parts;
    for (uint64_t i = 0; i < 2 + Below(3); ++i) parts.push_back(Condition(depth - 1));
    std::string text = "(";
    for (const Drawn& part : parts) text += (text.size() == 1 ? "" : " " + word + " ") + part.text;
    return {text + ")", [parts, decides](const ModelRow& row) {
              bool unknown = false;
              for (const Drawn& part : parts) {
                const Value value = part.value(row);
                if (IsNull(value)) {
                  unknown = true;
                } else if (std::get<bool>(value) == decides) {
                  return Value(decides);
                }
              }
              return unknown ? Value() : Value(!decides);
            }};
  }

  Drawn Leaf() {
    switch (Below(6)) {
      case 0: return {"b", [](const ModelRow& row) { return row.b; }};
      case 1: return {"c", [](const ModelRow& row) { return row.c; }};
      case 2: return Compared(Text(2), Text(2));
      case 3: return Among();
      default: return Compared(Number(2), Number(2));
    }
  }

  Drawn Compared(const Drawn& a, const Drawn& b) {
    static const std::string kOperators[] = {
        "=", "<>", "<", "<=", ">", ">=", "is distinct from", "is not distinct from"};
    const uint64_t op = Below(8);
    return {"(" + a.text + " " + kOperators[op] + " " + b.text + ")", [a, b, op](const ModelRow& row) {
              const Value l = a.value(row), r = b.value(row);
              const bool null = IsNull(l) || IsNull(r);
              switch (op) {
                case 0: return null ? Value() : Value(l == r);
                case 1: return null ? Value() : Value(l != r);
                case 2: return null ? Value() : Value(l < r);
                case 3: return null ? Value() : Value(l <= r);
                case 4: return null ? Value() : Value(l > r);
                case 5: return null ? Value() : Value(l >= r);
                case 6: return Value(l != r);
                default: return Value(l == r);
              }
            }};
  }

  Drawn Among() {
    const Drawn a = Number(1);
    std::vector<Drawn> items;
    for (uint64_t i = 0; i < 1 + Below(3); ++i) items.push_back(Below(5) == 0 ? Null() : Number(Below(4) == 0 ? 1 : 0));
    const bool negated = Below(2) == 0;
    std::string text = a.text + (negated ? " not in (" : " in (");
    for (size_t i = 0; i < items.size(); ++i) text += (i == 0 ? "" : ", ") + items[i].text;
    return {"(" + text + "))", [a, items, negated](const ModelRow& row) {
              const Value value = a.value(row);
              bool unknown = IsNull(value);
              for (const Drawn& item : items) {
                const Value other = item.value(row);
                if (IsNull(other)) unknown = true;
                if (!IsNull(value) && value == other) return Value(!negated);
              }
              return unknown ? Value() : Value(negated);
            }};
  }

  static Drawn Null() {
    return {"null", [](const ModelRow&) { return Value(); }};
  }

  SeededRandom random_;
};

std::vector<ModelRow> ModelRows(Draw& draw, size_t count) {
  static const std::string kTexts[] = {"", "a", "b", "ab", "aba", "%"};
  const auto or_null = [&](Value value) { return draw.Below(4) == 0 ? Value() : std::move(value); };
  std::vector<ModelRow> rows;
  for (size_t i = 0; i < count; ++i) {
    const int64_t extremes[] = {INT64_MIN, INT64_MAX, 0};
    const int64_t x = draw.Below(8) == 0 ? extremes[draw.Below(3)] : static_cast<int64_t>(draw.Below(9)) - 4;
    rows.push_back({or_null(x), or_null(static_cast<int64_t>(draw.Below(9)) - 4), or_null(draw.Below(2) == 0),
                    or_null(draw.Below(2) == 0), or_null(kTexts[draw.Below(6)])});
  }
  return rows;
}

template <typename Builder, typename T>
std::shared_ptr<arrow::Array> ColumnOf(const std::vector<ModelRow>& rows, Value ModelRow::* member) {
  Builder builder;
  for (const ModelRow& row : rows) {
    const Value& value = row.*member;
    const auto status = IsNull(value) ? builder.AppendNull() : builder.Append(std::get<T>(value));
    EXPECT_TRUE(status.ok());
  }
  return builder.Finish().ValueOrDie();
}

std::shared_ptr<arrow::RecordBatch> BatchOf(const std::vector<ModelRow>& rows) {
  const auto schema = arrow::schema({arrow::field("x", arrow::int64()), arrow::field("y", arrow::int64()),
                                     arrow::field("b", arrow::boolean()), arrow::field("c", arrow::boolean()),
                                     arrow::field("s", arrow::utf8())});
  return arrow::RecordBatch::Make(schema, static_cast<int64_t>(rows.size()),
                                  {ColumnOf<arrow::Int64Builder, int64_t>(rows, &ModelRow::x),
                                   ColumnOf<arrow::Int64Builder, int64_t>(rows, &ModelRow::y),
                                   ColumnOf<arrow::BooleanBuilder, bool>(rows, &ModelRow::b),
                                   ColumnOf<arrow::BooleanBuilder, bool>(rows, &ModelRow::c),
                                   ColumnOf<arrow::StringBuilder, std::string>(rows, &ModelRow::s)});
}

TEST(SqlModel, RandomConditions) {
  const char* given = std::getenv("JAVELIN_SEED");
  const uint64_t first = given == nullptr ? 1 : std::stoull(given);
  for (uint64_t seed = first; seed < first + 20; ++seed) {
    Draw draw(seed);
    const std::vector<ModelRow> rows = ModelRows(draw, 100);
    const auto batch = BatchOf(rows);
    for (int i = 0; i < 50; ++i) {
      const Drawn drawn = draw.Condition(static_cast<int>(draw.Below(5)));
      const auto filter = Filter::Parse(drawn.text, Scope::Of(*batch->schema()));
      ASSERT_TRUE(filter.ok()) << "seed " << seed << ": " << filter.status().message();
      const auto mask = filter->Mask(*batch);
      ASSERT_TRUE(mask.ok()) << "seed " << seed << ": " << mask.status().message();
      for (size_t row = 0; row < rows.size(); ++row) {
        const Value value = drawn.value(rows[row]);
        ASSERT_EQ((*mask)->Value(static_cast<int64_t>(row)), !IsNull(value) && std::get<bool>(value))
            << "seed " << seed << ", row " << row << ": " << drawn.text;
      }
    }
  }
}

}  // namespace
}  // namespace javelin::query
