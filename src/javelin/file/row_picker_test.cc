#include "javelin/file/row_picker_internal.h"

#include <random>

#include <gmock/gmock.h>

#include "lanceproto/encodings_v2_1.pb.h"

#include "javelin/file/file_test_support.h"

namespace javelin::file {
namespace {

namespace pb = lance::encodings21;
using namespace testing;

// What is wanted of entries, one by one.
struct Picked {
  std::vector<uint16_t> rep, def, value_levels;
  std::vector<uint64_t> values;  // their numbers in the chunk
  uint64_t num_values = 0;
  bool operator==(const Picked&) const = default;
};

Picked PickEach(const PageLayers& page, std::span<const Slice> rows, uint64_t before, std::span<const uint16_t> rep,
                std::span<const uint16_t> def) {
  Picked picked;
  uint64_t begun = before;
  for (size_t i = 0; i < rep.size(); ++i) {
    begun += rep[i] == page.max_rep();
    const auto holds = [&](const Slice& slice) { return begun > slice.first && begun <= slice.end(); };
    const bool wanted = std::any_of(rows.begin(), rows.end(), holds);
    const uint16_t level = def.empty() ? uint16_t{0} : def[i];
    const bool has_value = level <= page.max_visible();
    if (wanted) {
      picked.rep.push_back(rep[i]);
      if (!def.empty()) picked.def.push_back(level);
      if (has_value) picked.values.push_back(picked.num_values);
      if (has_value && !def.empty()) picked.value_levels.push_back(level);
    }
    picked.num_values += has_value;
  }
  return picked;
}

class RowPickerTest : public ::testing::Test {
 protected:
  uint64_t Below(uint64_t limit) { return random_() % limit; }

  std::vector<Slice> RandomRows(uint64_t num_rows) {
    std::vector<Slice> rows;
    const uint64_t longest = Below(2) == 0 ? 3 : num_rows;
    for (uint64_t at = Below(longest); at < num_rows; at += 1 + Below(longest)) {
      const uint64_t count = std::min(1 + Below(longest), num_rows - at);
      rows.push_back({at, count});
      at += count;
    }
    return rows;
  }

  // Chunks of any length, which rows reach over.
  void ExpectPicks(const PageLayers& page, bool has_def, uint64_t num_entries) {
    std::vector<uint16_t> rep;
    std::vector<uint16_t> def;
    for (uint64_t i = 0; i < num_entries; ++i) {
      rep.push_back(i == 0 ? page.max_rep() : static_cast<uint16_t>(Below(page.max_rep() + 1u)));
      if (has_def) def.push_back(static_cast<uint16_t>(Below(page.max_def() + 1u)));
    }
    const auto num_rows = static_cast<uint64_t>(std::count(rep.begin(), rep.end(), page.max_rep()));
    const std::vector<Slice> rows = RandomRows(num_rows);
    RowPicker picker(page, rows, 0);
    for (size_t at = 0; at < rep.size();) {
      const size_t count = std::min<size_t>(1 + Below(300), rep.size() - at);
      const auto chunk_rep = std::span<const uint16_t>(rep).subspan(at, count);
      const auto chunk_def = has_def ? std::span<const uint16_t>(def).subspan(at, count) : std::span<const uint16_t>();
      const Picked wanted = PickEach(page, rows, picker.begun(), chunk_rep, chunk_def);
      Levels kept(memory_);
      LevelBuffer value_levels(memory_);
      std::vector<Slice> values;
      const auto counts = picker.Pick(chunk_rep, chunk_def, kept, &values, &value_levels);
      ASSERT_TRUE(counts.ok()) << counts.status().ToString();
      Picked picked{.num_values = counts->values};
      picked.rep.assign(kept.rep.levels().begin(), kept.rep.levels().end());
      picked.def.assign(kept.def.levels().begin(), kept.def.levels().end());
      picked.value_levels.assign(value_levels.levels().begin(), value_levels.levels().end());
      for (const Slice& slice : values) {
        for (uint64_t i = slice.first; i < slice.end(); ++i) picked.values.push_back(i);
      }
      ASSERT_EQ(picked, wanted) << "entries " << at << "+" << count;
      ASSERT_EQ(counts->wanted, picked.values.size());
      at += count;
    }
    EXPECT_EQ(picker.begun(), num_rows);
  }

  Resources resources_ = TestResources();
  SinkMemory memory_{resources_.pool, resources_.memory.get()};
  std::mt19937_64 random_{7};
};

TEST_F(RowPickerTest, PicksWhatEachEntrySays) {
  const ColumnLayer list{.is_list = true, .offset_bits = 32};
  const std::vector<int> one = {pb::NULLABLE_ITEM, pb::NULL_AND_EMPTY_LIST};
  const std::vector<int> two = {pb::NULLABLE_ITEM, pb::NULL_AND_EMPTY_LIST, pb::EMPTYABLE_LIST};
  const std::vector<int> valid = {pb::ALL_VALID_ITEM, pb::ALL_VALID_LIST};
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    const uint64_t entries = 1 + Below(2000);
    ExpectPicks(PageLayers::Make(one, {ColumnLayer{}, list}).ValueOrDie(), true, entries);
    ExpectPicks(PageLayers::Make(two, {ColumnLayer{}, list, list}).ValueOrDie(), true, entries);
    ExpectPicks(PageLayers::Make(valid, {ColumnLayer{}, list}).ValueOrDie(), false, entries);
  }
}

}  // namespace
}  // namespace javelin::file
