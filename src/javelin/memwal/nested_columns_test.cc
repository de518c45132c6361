// Shards of a table with structs, lists and maps: rows put, replaced, deleted, flushed, replayed and compacted against
// a map of what should be there.
#include <map>
#include <set>

#include "javelin/base/seeded_random.h"
#include "javelin/file/nested_test_support.h"
#include "javelin/memwal/compactor_test_world.h"

namespace javelin::memwal {
namespace {

using namespace test;

std::shared_ptr<arrow::Schema> NestedSchema(bool keyed) {
  auto point = arrow::struct_(
      {arrow::field("x", arrow::int32()), arrow::field("y", arrow::struct_({arrow::field("z", arrow::utf8())}))});
  auto visit = arrow::struct_({arrow::field("n", arrow::int32()), arrow::field("t", arrow::list(arrow::utf8())),
                               arrow::field("d", arrow::dictionary(arrow::int64(), arrow::int32()))});
  return arrow::schema({keyed ? KeyedSchema()->field(0) : KeylessSchema()->field(0), arrow::field("point", point),
                        arrow::field("kind", arrow::dictionary(arrow::uint32(), arrow::utf8())),
                        arrow::field("visits", arrow::list(visit)),
                        arrow::field("scores", arrow::map(arrow::utf8(), arrow::float64())),
                        arrow::field("vectors", arrow::large_list(arrow::fixed_size_list(arrow::float32(), 3))),
                        arrow::field("matrix", arrow::fixed_size_list(arrow::fixed_size_list(arrow::int16(), 2), 2))});
}

class Numbers {
 public:
  explicit Numbers(uint64_t seed) : random_(seed) {}
  uint64_t Below(uint64_t limit) { return random_.Below(limit); }

  // One row of the table as JSON; every value and every part of it is null at times, every list empty.
  std::string Row(uint64_t id) {
    auto text = [&] { return OrNull([&] { return fmt::format("\"text {}\"", Below(1000)); }); };
    auto number = [&] { return OrNull([&] { return fmt::format("{}", Below(100)); }); };
    const std::string point = OrNull([&] {
      return fmt::format(R"({{"x": {}, "y": {}}})", number(), OrNull([&] { return "{\"z\": " + text() + "}"; }));
    });
    const std::string visits = List([&] {
      return OrNull([&] { return fmt::format(R"({{"n": {}, "t": {}, "d": {}}})", number(), List(text), number()); });
    });
    uint64_t key = 0;
    const std::string scores = List([&] { return fmt::format(R"(["k{}", {}])", key++, number()); });
    const std::string vectors =
        List([&] { return OrNull([&] { return fmt::format("[{}, {}, 1.5]", number(), Below(9)); }); });
    const std::string matrix = OrNull([&] { return fmt::format("[[{}, 1], [2, {}]]", number(), Below(9)); });
    return fmt::format("[{}, {}, {}, {}, {}, {}, {}]", id, point, text(), visits, scores, vectors, matrix);
  }

 private:
  template <typename Make>
  std::string OrNull(const Make& make) {
    return Below(5) == 0 ? "null" : make();
  }
  template <typename Make>
  std::string List(const Make& make) {
    return OrNull([&] {
      std::vector<std::string> items;
      for (uint64_t i = 0, count = Below(4); i < count; ++i) items.push_back(make());
      return fmt::format("[{}]", fmt::join(items, ", "));
    });
  }
  SeededRandom random_;
};

using Model = std::map<int64_t, std::string>;

void AddTo(Model& model, const arrow::RecordBatch& batch) {
  const auto& ids = static_cast<const arrow::Int64Array&>(*batch.column(0));
  arrow::ArrayVector plain;
  for (const auto& column : batch.columns())
    plain.push_back(arrow::MakeArray(file::testing::WithoutDictionaries(*column->data())));
  for (int64_t row = 0; row < batch.num_rows(); ++row) {
    std::string text;
    for (int column = 1; column < batch.num_columns(); ++column)
      text += plain[static_cast<size_t>(column)]->GetScalar(row).ValueOrDie()->ToString() + " | ";
    model[ids.Value(row)] = text;
  }
}

Model RowsOf(const arrow::RecordBatch& batch) {
  EXPECT_TRUE(batch.ValidateFull().ok());
  Model rows;
  AddTo(rows, batch);
  EXPECT_EQ(rows.size(), static_cast<size_t>(batch.num_rows())) << "a key twice";
  return rows;
}

std::shared_ptr<arrow::RecordBatch> RandomRows(Numbers& numbers) {
  std::vector<std::string> rows;
  std::set<uint64_t> ids;
  for (uint64_t i = 0, count = 1 + numbers.Below(30); i < count; ++i) ids.insert(numbers.Below(60));
  for (uint64_t id : ids) rows.push_back(numbers.Row(id));
  const auto batch = Batch(NestedSchema(/*keyed=*/false), fmt::format("[{}]", fmt::join(rows, ", ")));
  return batch->Slice(batch->num_rows() / 3);
}

void ExpectSees(const Process& process, const Model& expected, Numbers& numbers) {
  const auto view = Must(FreshView::Open(*process.Table()));
  ASSERT_EQ(RowsOf(*Collect(view->Scan())), expected);
  const ScanOptions projection{.columns = {{"id", "visits"}}};
  EXPECT_EQ(Collect(view->Scan(projection))->num_rows(), static_cast<int64_t>(expected.size()));
  Model asked;
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < 5; ++i) {
    const auto id = static_cast<int64_t>(numbers.Below(60));
    if (asked.contains(id) || !expected.contains(id)) continue;
    asked[id] = expected.at(id);
    keys.push_back(fmt::format("[{}]", id));
  }
  if (keys.empty()) return;
  EXPECT_EQ(RowsOf(*Must(view->Get(*Keys(fmt::format("[{}]", fmt::join(keys, ", ")))))), asked);
}

TEST(NestedColumns, RandomOperationsMatchAMap) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    Numbers numbers(seed);
    World world(seed);
    Model model;
    world.CreateTable(fmt::format("[{}, {}]", numbers.Row(100), numbers.Row(101)), {}, NestedSchema(/*keyed=*/true));
    world.Run([&](Process& process) { model = RowsOf(*Collect(process.Table()->Scan({}))); });
    ASSERT_EQ(model.size(), 2u);
    // Each process replays what the one before left in the log.
    for (int life = 0; life < 5 && !::testing::Test::HasFailure(); ++life) {
      world.Run([&](Process& process) {
        const auto writer = process.Open();
        ExpectSees(process, model, numbers);
        for (uint64_t step = 0, steps = 2 + numbers.Below(5); step < steps; ++step) {
          switch (numbers.Below(5)) {
            case 0: {
              const uint64_t id = numbers.Below(60);
              ASSERT_OK(writer->Delete({Keys(fmt::format("[[{}]]", id))}));
              model.erase(static_cast<int64_t>(id));
              break;
            }
            case 1: ASSERT_OK(writer->Flush()); break;
            case 2: ASSERT_OK(CompactShards(*process.Table()).status()); break;
            default: {
              const auto rows = RandomRows(numbers);
              ASSERT_OK(writer->Put({rows}));
              AddTo(model, *rows);
            }
          }
          ExpectSees(process, model, numbers);
        }
      });
    }
    world.Run([&](Process& process) {
      const auto writer = process.Open();
      ASSERT_OK(writer->Close());
      ASSERT_OK(CompactShards(*process.Table()).status());
      EXPECT_EQ(RowsOf(*Collect(process.Table()->Scan({}))), model) << "all rows are in the base";
    });
  }
}

}  // namespace
}  // namespace javelin::memwal
