// Arrays to levels: the vectors of the format, and random nesting rebuilt value by value.
#include <gmock/gmock.h>

#include <arrow/json/from_string.h>

#include "javelin/file/level_builder_internal.h"
#include "javelin/file/nested_test_support.h"

namespace javelin::file {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<LeafPath> PathsOf(const std::shared_ptr<arrow::DataType>& type) {
  const Schema schema = Schema::FromArrow(*arrow::schema({arrow::field("c", type)})).ValueOrDie();
  return LeafPathsOf(schema.fields()[0]).ValueOrDie();
}

LeafPage WholePage(const LeafPath& path, const std::vector<std::shared_ptr<arrow::ArrayData>>& pieces) {
  arrow::MemoryPool* pool = arrow::default_memory_pool();
  const LeafRows rows = BuildLeafRows(path, pieces, pool).ValueOrDie();
  return CutPage(path, rows, {0, rows.def.size()}, 0, /*only_page=*/true, pool).ValueOrDie();
}

// ---- rows as text, seen along the path to one leaf ----

std::string TextOf(const arrow::Array& array, int64_t row, std::span<const int> path) {
  if (array.IsNull(row)) return "null";
  switch (array.type_id()) {
    case arrow::Type::STRUCT: {
      const auto& data = static_cast<const arrow::StructArray&>(array);
      return "{" + TextOf(*data.field(path[0]), row, path.subspan(1)) + "}";
    }
    case arrow::Type::LIST:
    case arrow::Type::MAP:
    case arrow::Type::LARGE_LIST: {
      int64_t begin;
      int64_t end;
      if (array.type_id() == arrow::Type::LARGE_LIST) {
        begin = static_cast<const arrow::LargeListArray&>(array).value_offset(row);
        end = static_cast<const arrow::LargeListArray&>(array).value_offset(row + 1);
      } else {
        begin = static_cast<const arrow::ListArray&>(array).value_offset(row);
        end = static_cast<const arrow::ListArray&>(array).value_offset(row + 1);
      }
      const auto items = arrow::MakeArray(array.data()->child_data[0]);
      std::string text = "[";
      for (int64_t i = begin; i < end; ++i) text += TextOf(*items, i, path.subspan(1)) + ",";
      return text + "]";
    }
    default: return array.GetScalar(row).ValueOrDie()->ToString();
  }
}

struct Node {
  std::string text;  // of a leaf, or "null"
  char open = 0;     // '{' or '['
  std::vector<std::shared_ptr<Node>> items;

  std::string Text() const {
    if (open == 0) return text;
    std::string out(1, open);
    for (const auto& item : items) out += item->Text() + (open == '[' ? "," : "");
    return out + (open == '[' ? ']' : '}');
  }
};

// Entry by entry: goes on in the list that the repetition level names, down to the layer that the definition level
// names.
std::vector<std::string> Rebuild(const LeafPath& path, const LeafPage& page,
                                 const std::shared_ptr<arrow::Array>& values) {
  const std::vector<int> kinds(page.levels.layers.begin(), page.levels.layers.end());
  const PageLayers layers = PageLayers::Make(kinds, path.layers).ValueOrDie();
  EXPECT_EQ(layers.max_rep(), page.levels.max_rep);
  EXPECT_EQ(layers.max_def(), page.levels.max_def);
  EXPECT_EQ(layers.max_visible(), page.levels.max_visible);
  std::vector<size_t> list_layers;  // from the inside
  for (size_t i = 0; i < path.layers.size(); ++i) {
    if (path.layers[i].is_list) list_layers.push_back(i);
  }
  Node root;
  std::vector<Node*> open(path.layers.size(), nullptr);
  int64_t value = 0;
  for (uint64_t entry = 0; entry < page.levels.num_entries(); ++entry) {
    const uint16_t def = page.levels.def.empty() ? 0 : page.levels.def[entry];
    const size_t rep = page.levels.rep.empty() ? page.levels.max_rep : page.levels.rep[entry];
    size_t layer = path.layers.size();
    Node* into = &root;
    if (rep < list_layers.size()) {
      layer = list_layers[rep];
      into = open[layer];
    }
    while (layer-- > 0) {
      into->items.push_back(std::make_shared<Node>());
      into = into->items.back().get();
      const PageLayers::Layer& levels = layers.layers()[layer];
      if (def > 0 && def == levels.null) {
        into->text = "null";
        break;
      }
      if (layer > 0) into->open = levels.is_list ? '[' : '{';
      if (def > 0 && def == levels.empty) break;
      open[layer] = into;
      if (layer == 0) into->text = values->GetScalar(value).ValueOrDie()->ToString();
    }
    const bool visible = page.levels.IsVisible(entry);
    if (visible && page.validity != nullptr) {
      EXPECT_EQ(GetBit(page.validity->data(), static_cast<uint64_t>(value)), def == 0);
    }
    value += visible;
  }
  EXPECT_EQ(static_cast<uint64_t>(value), page.levels.num_values);
  EXPECT_EQ(value, values->length());
  std::vector<std::string> rows;
  for (const auto& row : root.items) rows.push_back(row->Text());
  return rows;
}

TEST(LevelBuilderTest, ListVector) {
  auto type = arrow::list(arrow::int32());
  auto array = arrow::json::ArrayFromJSONString(type, "[[1, 2], null, [], [null]]").ValueOrDie();
  const LeafPage page = WholePage(PathsOf(type)[0], {array->data()});
  EXPECT_THAT(page.levels.layers, ElementsAre(pb::NULLABLE_ITEM, pb::NULL_AND_EMPTY_LIST));
  EXPECT_THAT(page.levels.rep, ElementsAre(1, 0, 1, 1, 1));
  EXPECT_THAT(page.levels.def, ElementsAre(0, 0, 2, 3, 1));
  EXPECT_EQ(page.levels.num_values, 3u);
  EXPECT_EQ(page.levels.num_rows, 4u);
  EXPECT_THAT(RepetitionIndexOf(page.levels, ChunkEntries(page.levels, 1024)), ElementsAre(4, 0));
}

TEST(LevelBuilderTest, ListOfStructOfListVector) {
  auto type = arrow::list(arrow::struct_({arrow::field("x", arrow::list(arrow::int32()))}));
  auto array =
      arrow::json::ArrayFromJSONString(type, R"([[{"x": [1, null]}, null], [], null, [{"x": null}, {"x": []}]])")
          .ValueOrDie();
  const std::vector<LeafPath> paths = PathsOf(type);
  ASSERT_EQ(paths.size(), 1u);
  EXPECT_EQ(paths[0].name, "c.item.x.item");
  const LeafPage page = WholePage(paths[0], {array->data()});
  EXPECT_THAT(page.levels.layers,
              ElementsAre(pb::NULLABLE_ITEM, pb::NULL_AND_EMPTY_LIST, pb::NULLABLE_ITEM, pb::NULL_AND_EMPTY_LIST));
  EXPECT_THAT(page.levels.rep, ElementsAre(2, 0, 1, 2, 2, 2, 1));
  EXPECT_THAT(page.levels.def, ElementsAre(0, 1, 4, 6, 5, 2, 3));
  EXPECT_EQ(page.levels.num_values, 2u);
}

TEST(LevelBuilderTest, OnlyWhatOccursTakesALevel) {
  auto type = arrow::list(arrow::struct_({arrow::field("x", arrow::int32())}));
  auto array = arrow::json::ArrayFromJSONString(type, R"([[{"x": 1}], [{"x": 2}, {"x": 3}]])").ValueOrDie();
  const LeafPath path = PathsOf(type)[0];
  const LeafPage page = WholePage(path, {array->data()});
  EXPECT_THAT(page.levels.layers, ElementsAre(pb::ALL_VALID_ITEM, pb::ALL_VALID_ITEM, pb::ALL_VALID_LIST));
  EXPECT_THAT(page.levels.rep, ElementsAre(1, 1, 0));
  EXPECT_THAT(page.levels.def, IsEmpty());
  auto empty = arrow::json::ArrayFromJSONString(type, R"([[], [{"x": null}]])").ValueOrDie();
  const LeafPage two = WholePage(path, {array->data(), empty->data()});
  EXPECT_THAT(two.levels.layers, ElementsAre(pb::NULLABLE_ITEM, pb::ALL_VALID_ITEM, pb::EMPTYABLE_LIST));
  EXPECT_THAT(two.levels.def, ElementsAre(0, 0, 0, 2, 1));
}

TEST(LevelBuilderTest, AListInANullStructIsNullable) {
  auto type = arrow::struct_({arrow::field("l", arrow::list(arrow::int32()))});
  auto array = arrow::json::ArrayFromJSONString(type, R"([{"l": [1, 2]}, null, {"l": [4]}])").ValueOrDie();
  const LeafPage page = WholePage(PathsOf(type)[0], {array->data()});
  EXPECT_THAT(page.levels.layers, ElementsAre(pb::ALL_VALID_ITEM, pb::NULLABLE_LIST, pb::NULLABLE_ITEM));
  EXPECT_THAT(page.levels.def, ElementsAre(0, 0, 2, 0));
}

TEST(LevelBuilderTest, AFieldOfANullStructIsNullableWhateverTheSchemaSays) {
  for (bool nullable : {true, false}) {
    auto type = arrow::struct_({arrow::field("x", arrow::int32(), nullable)});
    auto values = arrow::json::ArrayFromJSONString(arrow::int32(), "[1, 2, 3]").ValueOrDie();
    auto valid = arrow::json::ArrayFromJSONString(arrow::boolean(), "[true, false, true]").ValueOrDie();
    auto array = arrow::ArrayData::Make(type, 3, {valid->data()->buffers[1]}, {values->data()});
    const LeafPage page = WholePage(PathsOf(type)[0], {array});
    EXPECT_THAT(page.levels.layers, ElementsAre(pb::NULLABLE_ITEM, pb::NULLABLE_ITEM));
    EXPECT_THAT(page.levels.def, ElementsAre(0, 2, 0));
  }
}

TEST(LevelBuilderTest, RowsThatGoOnInTheNextChunk) {
  PageLevels levels{.rep = {1, 0, 0, 1, 1, 0}, .max_rep = 1, .num_rows = 3, .num_values = 6};
  const std::vector<Slice> chunks = ChunkEntries(levels, 2);
  EXPECT_THAT(chunks, ElementsAre(Slice{0, 2}, Slice{2, 2}, Slice{4, 2}));
  // The first row goes on in the second chunk; the second ends where the third chunk begins.
  EXPECT_THAT(RepetitionIndexOf(levels, chunks), ElementsAre(0, 2, 2, 0, 1, 0));
}

TEST(LevelBuilderTest, EntriesWithoutValuesGoToTheNextChunk) {
  // Values at entries 0, 2, 3, 6; the others are empty lists.
  PageLevels levels{.rep = {1, 1, 1, 1, 1, 1, 1, 1},
                    .def = {0, 1, 0, 0, 1, 1, 0, 1},
                    .max_rep = 1,
                    .max_def = 1,
                    .max_visible = 0,
                    .num_rows = 8,
                    .num_values = 4};
  const std::vector<Slice> chunks = ChunkEntries(levels, 2);
  EXPECT_THAT(chunks, ElementsAre(Slice{0, 3}, Slice{3, 5}));
  EXPECT_THAT(RepetitionIndexOf(levels, chunks), ElementsAre(3, 0, 5, 0));
}

TEST(LevelBuilderTest, RandomNestingIsRebuiltFromLevels) {
  RandomNested random(20260106);
  random.stored_otherwise = false;
  for (int round = 0; round < 400; ++round) {
    const auto type = random.Type(1 + static_cast<int>(random.Below(4)));
    const RandomNested::Shape shape{.null_part = std::array{0.0, 0.2, 0.6}[random.Below(3)],
                                    .empty_part = std::array{0.0, 0.3, 1.0}[random.Below(3)],
                                    .spread = kSpreads[random.Below(6)],
                                    .garbage = random.Below(3) > 0};
    SCOPED_TRACE(
        fmt::format("round {}: {}, {} null, {} empty", round, type->ToString(), shape.null_part, shape.empty_part));
    std::vector<std::shared_ptr<arrow::Array>> pieces;
    for (uint64_t i = 0, count = 1 + random.Below(3); i < count; ++i)
      pieces.push_back(random.Make(type, 1 + static_cast<int64_t>(random.Below(30)), shape));
    for (const auto& piece : pieces) ASSERT_TRUE(piece->ValidateFull().ok());
    for (const LeafPath& path : PathsOf(type)) {
      SCOPED_TRACE(path.name);
      std::vector<std::shared_ptr<arrow::ArrayData>> data;
      std::vector<std::string> expected;
      for (const auto& piece : pieces) {
        data.push_back(piece->data());
        for (int64_t row = 0; row < piece->length(); ++row) expected.push_back(TextOf(*piece, row, path.children));
      }
      const LeafPage page = WholePage(path, data);
      EXPECT_EQ(page.levels.num_rows, expected.size());
      ASSERT_EQ(Rebuild(path, page, arrow::MakeArray(page.values)), expected);
      // Chunks hold all entries once, in order, and as many values as they should.
      if (page.levels.num_values == 0) continue;
      uint64_t next = 0;
      uint64_t rows = 0;
      const std::vector<Slice> chunks = ChunkEntries(page.levels, 4);
      const std::vector<uint64_t> index = RepetitionIndexOf(page.levels, chunks);
      for (size_t i = 0; i < chunks.size(); ++i) {
        EXPECT_EQ(chunks[i].first, next);
        next = chunks[i].end();
        uint64_t visible = 0;
        for (uint64_t entry = chunks[i].first; entry < next; ++entry) visible += page.levels.IsVisible(entry);
        EXPECT_EQ(visible, std::min<uint64_t>(4, page.levels.num_values - 4 * i));
        rows += index[2 * i];
      }
      EXPECT_EQ(next, page.levels.num_entries());
      EXPECT_EQ(rows, page.levels.num_rows);
    }
  }
}

TEST(LevelBuilderTest, KindsThatAreNotWrittenAreNamed) {
  auto refuse = [](const std::shared_ptr<arrow::Field>& field) {
    const Schema schema = Schema::FromArrow(*arrow::schema({field})).ValueOrDie();
    EXPECT_KIND(LeafPathsOf(schema.fields()[0]).status(), ErrorKind::kNotSupported, "column 's");
  };
  auto x = arrow::field("x", arrow::int32(), false);
  const auto packed = arrow::key_value_metadata({{"lance-encoding:packed", "true"}});
  refuse(arrow::field("s", arrow::struct_({}), true, packed));
  refuse(arrow::field("s", arrow::list(arrow::struct_({}))));
  refuse(arrow::field("s", arrow::fixed_size_list(arrow::struct_({}), 2)));
  refuse(arrow::field("s", arrow::list(arrow::fixed_size_list(arrow::struct_({x}), 2))));
  refuse(arrow::field("s", arrow::fixed_size_list(arrow::struct_({arrow::field("l", arrow::list(x))}), 1)));
  refuse(arrow::field("s", arrow::large_binary(), true, arrow::key_value_metadata({{"lance-encoding:blob", "true"}})));
}

}  // namespace
}  // namespace javelin::file
