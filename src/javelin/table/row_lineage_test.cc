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

Ids VersionsOf(const RowVersions& versions, uint64_t first, size_t count) {
  Ids read(count);
  versions.Read(first, read);
  return read;
}

TEST(RowVersions, RunsCountTheirValuesAndTheLastGoesOn) {
  wire::RowDatasetVersionSequence message;
  auto add = [&](uint64_t version) {
    auto* run = message.add_runs();
    run->set_version(version);
    return run->mutable_span();
  };
  add(4)->mutable_range()->set_end(3);
  add(9);
  message.mutable_runs(1)->mutable_span()->mutable_sorted_array()->mutable_u16_array()->set_offsets(
      Packed<uint16_t>({7, 90}));
  add(2)->mutable_range()->set_start(5);
  message.mutable_runs(2)->mutable_span()->mutable_range()->set_end(6);
  ASSERT_OK_AND_ASSIGN(const RowVersions versions, RowVersions::Decode(message.SerializeAsString()));
  const Ids all = {4, 4, 4, 9, 9, 2, 2, 2};
  for (size_t first = 0; first < all.size(); ++first) {
    for (size_t count = 0; first + count <= all.size(); ++count)
      ASSERT_EQ(VersionsOf(versions, first, count), Ids(all.begin() + first, all.begin() + first + count));
  }
  ASSERT_OK_AND_ASSIGN(const RowVersions none, RowVersions::Decode(""));
  EXPECT_THAT(VersionsOf(none, 7, 2), ElementsAre(1, 1));
  ExpectError(RowVersions::Decode("\xff").status(), ErrorKind::kCorruption, "row versions");
  add(1)->mutable_range()->set_end(UINT64_MAX);
  ExpectError(RowVersions::Decode(message.SerializeAsString()).status(), ErrorKind::kCorruption, "2^64");
}

TEST(RowVersions, OfAFragment) {
  Fragment fragment{FragmentId(4), {}, {}, 3, LineageOfNewRows(7, 3, TableVersion(5))};
  ASSERT_OK_AND_ASSIGN(const auto created, DecodeCreatedVersions(fragment));
  ASSERT_OK_AND_ASSIGN(const auto updated, DecodeUpdatedVersions(fragment));
  EXPECT_THAT(VersionsOf(*created, 0, 3), ElementsAre(5, 5, 5));
  EXPECT_THAT(VersionsOf(*updated, 0, 3), ElementsAre(5, 5, 5));
  wire::DataFragment spilled;
  spilled.mutable_created_at_in_column();
  fragment.lineage = spilled.SerializeAsString();
  ASSERT_OK_AND_ASSIGN(const auto in_column, DecodeCreatedVersions(fragment));
  EXPECT_FALSE(in_column);
  ASSERT_OK_AND_ASSIGN(const auto unknown, DecodeUpdatedVersions(fragment));
  EXPECT_THAT(VersionsOf(*unknown, 0, 1), ElementsAre(1));
}

struct Completed {
  Ids ids, created, updated;
  uint64_t next_row_id = 0;
};

Completed Complete(const std::vector<RowOrigin>& origins, uint64_t rows) {
  Completed out{Ids(rows), {}, {}, 1000};
  Fragment fragment{FragmentId(4), {}, {}, rows, ""};
  const std::string given = origins.empty() ? "" : LineageOfReplacedRows(origins);
  fragment.lineage = CompleteLineage(given, rows, TableVersion(8), &out.next_row_id).ValueOrDie();
  DecodeRowIds(fragment, rows).ValueOrDie().Read(0, out.ids);
  out.created = VersionsOf(*DecodeCreatedVersions(fragment).ValueOrDie(), 0, rows);
  out.updated = VersionsOf(*DecodeUpdatedVersions(fragment).ValueOrDie(), 0, rows);
  return out;
}

TEST(Lineage, OfReplacedRowsThenNewOnes) {
  const Completed some = Complete({{7, 2}, {3, 2}, {70000, 1}}, 5);
  EXPECT_THAT(some.ids, ElementsAre(7, 3, 70000, 1000, 1001));
  EXPECT_THAT(some.created, ElementsAre(2, 2, 1, 8, 8));
  EXPECT_THAT(some.updated, ElementsAre(8, 8, 8, 8, 8));
  EXPECT_EQ(some.next_row_id, 1002u);
  const Completed all = Complete({{7, 2}, {3, 4}}, 2);
  EXPECT_THAT(all.ids, ElementsAre(7, 3));
  EXPECT_THAT(all.created, ElementsAre(2, 4));
  EXPECT_EQ(all.next_row_id, 1000u);
  const Completed none = Complete({}, 2);
  EXPECT_THAT(none.ids, ElementsAre(1000, 1001));
  EXPECT_THAT(none.created, ElementsAre(8, 8));
}

TEST(Lineage, EveryFormOfReplacedIds) {
  const std::vector<Ids> cases = {
      {5}, {5, 6, 7}, {5, 7, 8}, {8, 5, 7}, {0, 65536}, {65535, 0}, {1, uint64_t{1} << 33, 0}, {0,  1,  2,  3,  4,
                                                                                                5,  6,  7,  90, 91,
                                                                                                92, 93, 94, 95, 96,
                                                                                                97, 50, 51, 52, 53,
                                                                                                54, 55, 56, 57}};
  for (const Ids& ids : cases) {
    std::vector<RowOrigin> origins;
    for (uint64_t id : ids) origins.push_back({id, 3});
    EXPECT_EQ(Complete(origins, ids.size()).ids, ids);
  }
  // Consecutive ids take the same few bytes however many they are.
  std::vector<RowOrigin> many;
  for (uint64_t id = 0; id < 100'000; ++id) many.push_back({id + (id < 50'000 ? 0 : 7), 3});
  EXPECT_LT(LineageOfReplacedRows(many).size(), 64u);
}

TEST(Lineage, MoreReplacedRowsThanThereAreAreRefused) {
  uint64_t next = 10;
  ExpectError(CompleteLineage(LineageOfReplacedRows(std::vector<RowOrigin>{{7, 2}, {3, 2}}), 1, TableVersion(8), &next)
                  .status(),
              ErrorKind::kInvalidInput, "2 row ids");
  next = UINT64_MAX - 2;
  ExpectError(CompleteLineage("", 3, TableVersion(8), &next).status(), ErrorKind::kNotSupported, "used up");
}

}  // namespace
}  // namespace javelin::table
