#include "javelin/table/row_lineage.h"

#include "javelin/table/test_support_internal.h"
#include "lanceproto/table.pb.h"

namespace javelin::table {
namespace {

namespace wire = ::lance::table;
using testing::ElementsAre;
using Ids = std::vector<uint64_t>;

std::string Bytes(std::initializer_list<uint8_t> bytes) { return std::string(bytes.begin(), bytes.end()); }

template <typename T>
std::string Packed(std::initializer_list<T> values) {
  return std::string(reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T));
}

// One segment of every kind.
wire::RowIdSequence EveryKind() {
  wire::RowIdSequence message;
  auto* range = message.add_segments()->mutable_range();
  range->set_start(5);
  range->set_end(8);
  auto* holes = message.add_segments()->mutable_range_with_holes();
  holes->set_start(10);
  holes->set_end(16);
  holes->mutable_holes()->mutable_u16_array()->set_base(10);
  holes->mutable_holes()->mutable_u16_array()->set_offsets(Packed<uint16_t>({1, 4}));
  auto* bitmap = message.add_segments()->mutable_range_with_bitmap();
  bitmap->set_start(100);
  bitmap->set_end(110);
  bitmap->set_bitmap(Bytes({0b10000101, 0b10}));  // lowest bit first: 100, 102, 107, 109
  auto* sorted = message.add_segments()->mutable_sorted_array()->mutable_u32_array();
  sorted->set_base(1000);
  sorted->set_offsets(Packed<uint32_t>({0, 70000}));
  auto* array = message.add_segments()->mutable_array()->mutable_u64_array();
  array->set_values(Packed<uint64_t>({7, 3, 1ull << 40}));
  return message;
}

const Ids kEveryKind = {5, 6, 7, 10, 12, 13, 15, 100, 102, 107, 109, 1000, 71000, 7, 3, 1ull << 40};

TEST(RowIds, EverySegmentKindAndEverySlice) {
  ASSERT_OK_AND_ASSIGN(const RowIdSequence sequence, RowIdSequence::Decode(EveryKind().SerializeAsString()));
  ASSERT_EQ(sequence.size(), kEveryKind.size());
  for (size_t first = 0; first <= kEveryKind.size(); ++first) {
    for (size_t count = 0; first + count <= kEveryKind.size(); ++count) {
      Ids ids(count);
      sequence.Read(first, ids);
      ASSERT_EQ(ids, Ids(kEveryKind.begin() + first, kEveryKind.begin() + first + count));
    }
  }
}

TEST(RowIds, NeighbouringRangesBecomeOne) {
  wire::RowIdSequence message;
  for (uint64_t start : {0, 4, 8}) {
    auto* range = message.add_segments()->mutable_range();
    range->set_start(start);
    range->set_end(start + 4);
  }
  ASSERT_OK_AND_ASSIGN(const RowIdSequence sequence, RowIdSequence::Decode(message.SerializeAsString()));
  Ids ids(12);
  sequence.Read(0, ids);
  EXPECT_EQ(ids.front(), 0u);
  EXPECT_EQ(ids.back(), 11u);
}

TEST(RowIds, BadSegmentsAreCorruption) {
  using Change = std::function<void(wire::U64Segment&)>;
  const std::vector<std::pair<Change, std::string>> cases = {
      {[](auto& s) {}, "unknown kind"},
      {[](auto& s) { s.mutable_range()->set_start(3); }, "upside down"},
      {[](auto& s) { s.mutable_array(); }, "unknown kind"},
      {[](auto& s) { s.mutable_array()->mutable_u16_array()->set_offsets("abc"); }, "multiple of 2"},
      {[](auto& s) { s.mutable_array()->mutable_u64_array()->set_values("abc"); }, "multiple of 8"},
      {[](auto& s) { s.mutable_range_with_bitmap()->set_end(9); }, "too short"},
      {[](auto& s) { s.mutable_range_with_bitmap()->set_start(9); }, "upside down"},
      {[](auto& s) {
         auto* holes = s.mutable_range_with_holes();
         holes->set_end(4);
         holes->mutable_holes()->mutable_u16_array()->set_offsets(Packed<uint16_t>({9}));
       },
       "hole 9"},
      {[](auto& s) {
         auto* holes = s.mutable_range_with_holes();
         holes->set_end(4);
         holes->mutable_holes()->mutable_u16_array()->set_offsets(Packed<uint16_t>({1, 1}));
       },
       "hole 1"},
  };
  for (const auto& [change, part] : cases) {
    wire::RowIdSequence message;
    change(*message.add_segments());
    ExpectError(RowIdSequence::Decode(message.SerializeAsString()).status(), ErrorKind::kCorruption, part);
  }
  wire::RowIdSequence endless;
  for (int i = 0; i < 2; ++i) endless.add_segments()->mutable_range()->set_end(UINT64_MAX);
  ExpectError(RowIdSequence::Decode(endless.SerializeAsString()).status(), ErrorKind::kCorruption, "2^64");
  ExpectError(RowIdSequence::Decode("\xff").status(), ErrorKind::kCorruption, "row id sequence");
}

TEST(Lineage, OfNewRowsByteForByte) {
  wire::DataFragment message;
  ASSERT_TRUE(message.ParseFromString(LineageOfNewRows(3, 3, TableVersion(2))));
  EXPECT_EQ(message.inline_row_ids(), FromHex("0a06 0a04 0803 1006"));  // as the released writer
  EXPECT_EQ(message.inline_created_at_versions(), FromHex("0a08 0a04 0a02 1003 1002"));
  EXPECT_EQ(message.inline_last_updated_at_versions(), FromHex("0a08 0a04 0a02 1003 1002"));
}

TEST(Lineage, WhereIdsAreKept) {
  Fragment fragment{FragmentId(4), {}, {}, 3, ""};
  EXPECT_EQ(WhereRowIdsAre(fragment), RowIdsKept::kNowhere);
  EXPECT_FALSE(HasSpilledLineage(fragment));
  fragment.lineage = LineageOfNewRows(7, 3, TableVersion(1));
  EXPECT_EQ(WhereRowIdsAre(fragment), RowIdsKept::kInManifest);
  EXPECT_FALSE(HasSpilledLineage(fragment));
  ASSERT_OK_AND_ASSIGN(const RowIdSequence ids, DecodeRowIds(fragment, 3));
  Ids read(3);
  ids.Read(0, read);
  EXPECT_THAT(read, ElementsAre(7, 8, 9));
  ExpectError(DecodeRowIds(fragment, 4).status(), ErrorKind::kCorruption, "fragment 4 has 4 rows and 3 row ids");
  wire::DataFragment spilled;
  spilled.mutable_row_ids_in_column();
  fragment.lineage = spilled.SerializeAsString();
  EXPECT_EQ(WhereRowIdsAre(fragment), RowIdsKept::kInColumn);
  EXPECT_TRUE(HasSpilledLineage(fragment));
}

}  // namespace
}  // namespace javelin::table
