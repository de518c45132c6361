// Answers that the released peer gets wrong for some keys or at some moments, asked here for every key type that a
// table may have (docs/differences.md, by number).
#include <set>

#include "javelin/index/bloom_filter.h"
#include "javelin/index/key_encoding.h"
#include "javelin/index/key_hash.h"
#include "javelin/memwal/colliding_keys_test_support.h"
#include "javelin/memwal/compactor_test_world.h"
#include "javelin/memwal/key_fields_test_support.h"

namespace javelin::memwal {
namespace {

using namespace test;
using ::testing::SizeIs;

// A key of one column or more; `keys` are its values as JSON, "1" or "1, \"a\"".
struct KeyCase {
  std::string name;
  std::vector<std::shared_ptr<arrow::DataType>> types;
  std::vector<std::string> keys;

  arrow::FieldVector key_fields() const { return KeyFields(types); }
  std::shared_ptr<arrow::Schema> schema() const {
    arrow::FieldVector fields = key_fields();
    fields.push_back(arrow::field("text", arrow::utf8()));
    return arrow::schema(fields);
  }
  std::shared_ptr<arrow::RecordBatch> Row(size_t key, const std::string& text) const {
    return Batch(schema(), fmt::format("[[{}, \"{}\"]]", keys.at(key), text));
  }
  std::shared_ptr<arrow::RecordBatch> Keys(const std::vector<size_t>& wanted) const {
    std::vector<std::string> rows;
    for (const size_t key : wanted) rows.push_back(fmt::format("[{}]", keys.at(key)));
    return Batch(arrow::schema(key_fields()), fmt::format("[{}]", fmt::join(rows, ", ")));
  }
};

void PrintTo(const KeyCase& key, std::ostream* out) { *out << key.name; }

std::vector<KeyCase> EveryKeyType() {
  const std::vector<std::string> small = {"7", "0", "3", "1", "100"};
  const std::vector<std::string> words = {R"("b")", R"("")", R"("ba")", R"("b b")", R"("zzzzzzzzzzzzzzzzzzzzzz")"};
  std::vector<KeyCase> cases;
  for (const auto& type : {arrow::int8(), arrow::int16(), arrow::int32(), arrow::int64(), arrow::uint8(),
                           arrow::uint16(), arrow::uint32(), arrow::uint64()}) {
    cases.push_back({type->ToString(), {type}, small});
  }
  for (const auto& type : {arrow::utf8(), arrow::large_utf8(), arrow::binary(), arrow::large_binary()})
    cases.push_back({type->ToString(), {type}, words});
  cases.push_back({"bool", {arrow::boolean()}, {"true", "false"}});
  cases.push_back({"int32 and utf8", {arrow::int32(), arrow::utf8()}, {R"(1, "a")", R"(1, "b")", R"(2, "a")"}});
  cases.push_back({"bool, uint64 and large_binary",
                   {arrow::boolean(), arrow::uint64(), arrow::large_binary()},
                   {R"(true, 1, "a")", R"(false, 1, "a")", R"(true, 2, "a")", R"(true, 1, "")"}});
  return cases;
}

// The texts of the rows of these keys, in the order asked; "-" without a row.
std::vector<std::string> Texts(const FreshView& view, const KeyCase& key, const std::vector<size_t>& wanted) {
  std::vector<std::string> texts;
  for (const size_t one : wanted) {
    const auto row = Must(view.Get(*key.Keys({one})));
    texts.push_back(row->num_rows() == 0 ? "-" : row->GetColumnByName("text")->GetScalar(0).ValueOrDie()->ToString());
  }
  return texts;
}
std::vector<std::string> Texts(const Process& process, const KeyCase& key, const std::vector<size_t>& wanted) {
  return Texts(*Must(FreshView::Open(*process.Table())), key, wanted);
}
std::vector<std::string> ScannedTexts(const FreshView& view) {
  ScanOptions options;
  options.columns = std::vector<std::string>{"text"};
  const auto rows = Collect(view.Scan(options));
  std::vector<std::string> texts;
  for (int64_t i = 0; i < rows->num_rows(); ++i)
    texts.push_back(rows->column(0)->GetScalar(i).ValueOrDie()->ToString());
  std::sort(texts.begin(), texts.end());
  return texts;
}
std::vector<std::string> ScannedTexts(const Process& process) {
  return ScannedTexts(*Must(FreshView::Open(*process.Table())));
}

std::string Described(const testing::TestParamInfo<KeyCase>& tested) {
  std::string name = tested.param.name;
  std::erase_if(name, [](char letter) { return !std::isalnum(static_cast<unsigned char>(letter)); });
  return name;
}

class PeerFaults : public testing::TestWithParam<KeyCase> {
 protected:
  std::vector<size_t> All() const {
    std::vector<size_t> all(GetParam().keys.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = i;
    return all;
  }
  std::vector<std::string> Named() const {
    std::vector<std::string> texts;
    for (const size_t key : All()) texts.push_back(fmt::format("row {}", key));
    return texts;
  }
};

// P5: of most key types the peer's filter knows nothing. Ours holds every key, and no read of such a key believes the
// stored one: it may be the peer's (key_filter_test.cc has the other types).
TEST_P(PeerFaults, P5_TheKeyFilterOfAnySsTableHidesNoKey) {
  const KeyCase& key = GetParam();
  World world;
  world.CreateTable("[]", {}, key.schema());
  world.Run([&](Process& process) {
    auto writer = process.Open();
    for (const size_t one : All()) ASSERT_OK(writer->Put({key.Row(one, Named()[one])}));
    ASSERT_OK(writer->Close());
  });
  std::string filter_key;
  for (const ObjectInfo& object : Must(ListAll(world.store->raw(), {})).objects)
    if (object.key.ends_with("bloom_filter.bin")) filter_key = object.key;
  ASSERT_NE(filter_key, "");

  const auto filter = Must(index::BloomFilter::FromBytes(*Must(world.store->raw().Get(filter_key))));
  const auto keys = key.Keys(All());
  const std::vector<uint64_t> hashes = Must(Must(index::KeyHasher::Make(key.types)).Hash(keys->columns()));
  for (const uint64_t hash : hashes) EXPECT_TRUE(filter.MayContain(hash));
  EXPECT_THAT(std::set<uint64_t>(hashes.begin(), hashes.end()), SizeIs(key.keys.size()));

  index::BloomFilter of_null_flags;  // what the peer writes for such a key, however many rows there are
  of_null_flags.Add(index::SipHash13(std::string(key.types.size(), '\0')));
  ASSERT_OK(world.store->raw().Put(filter_key, of_null_flags.ToBytes()));
  world.Run([&](Process& process) {
    EXPECT_EQ(Texts(process, key, All()), Named());
    EXPECT_EQ(ScannedTexts(process), Named());
    Compact(process);
    EXPECT_EQ(Texts(process, key, All()), Named());
  });
}

// P7: from the moment a put is acknowledged its row is found, whatever freezes and flushes meanwhile.
TEST_P(PeerFaults, P7_FrozenMemTablesAreReadAtEveryMoment) {
  const KeyCase& key = GetParam();
  World world;
  world.CreateTable("[]", {}, key.schema());
  uint64_t with_frozen = 0, reads = 0;
  world.Run([&](Process& process) {
    auto writer = process.Open(BatchesPerTable(1));
    std::vector<size_t> acknowledged;
    bool done = false;
    auto putter = process.runtime().Spawn("putter", [&] {
      for (const size_t one : All()) {
        ASSERT_OK(writer->Put({key.Row(one, Named()[one])}));
        acknowledged.push_back(one);
      }
      ASSERT_OK(writer->Flush());
      done = true;
    });
    while (!done) {
      const std::vector<size_t> expected = acknowledged;
      const auto view = Must(FreshView::Open(*process.Table()));
      with_frozen += writer->memtable_stats().frozen_count > 0;
      ++reads;
      const auto texts = Texts(*view, key, expected), scanned = ScannedTexts(*view);
      for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(texts[i], Named()[expected[i]]);
        EXPECT_TRUE(std::count(scanned.begin(), scanned.end(), Named()[expected[i]]) == 1) << Named()[expected[i]];
      }
      process.runtime().Sleep(std::chrono::microseconds(100));
    }
    putter.Join();
    EXPECT_EQ(writer->memtable_stats().frozen_count, 0u);
    EXPECT_EQ(ScannedTexts(process), Named());
  });
  EXPECT_GE(with_frozen, key.keys.size()) << "of " << reads << " reads";
}

INSTANTIATE_TEST_SUITE_P(EveryKeyType, PeerFaults, testing::ValuesIn(EveryKeyType()), Described);

// ---- P8: the peer takes keys for equal whose hashes are ----

std::vector<KeyCase> CollidingKeys() {
  std::vector<KeyCase> cases;
  for (const auto& type : {arrow::int64(), arrow::uint64()})
    cases.push_back({type->ToString(), {type}, CollidingNumbers(type->id() == arrow::Type::INT64)});
  for (const auto& type : {arrow::utf8(), arrow::large_utf8(), arrow::binary(), arrow::large_binary()})
    cases.push_back({type->ToString(), {type}, CollidingWords()});
  cases.push_back({"int32 and utf8", {arrow::int32(), arrow::utf8()}, CollidingPairs()});
  return cases;
}

class PeerFaultsOfHashes : public testing::TestWithParam<KeyCase> {};

TEST_P(PeerFaultsOfHashes, P8_KeysWhoseHashesCollideStayApart) {
  const KeyCase& key = GetParam();
  ASSERT_THAT(key.keys, SizeIs(3));
  std::vector<std::string> encoded;
  ASSERT_OK(Must(index::KeyEncoder::Make(key.types)).Encode(key.Keys({0, 1, 2})->columns(), &encoded));
  const index::HashedKey first(encoded[0]), second(encoded[1]), third(encoded[2]);
  ASSERT_EQ(first.hash, second.hash) << "no collision: is this another std::hash?";
  ASSERT_EQ(first.hash, third.hash);
  ASSERT_NE(encoded[0], encoded[1]);
  ASSERT_NE(encoded[1], encoded[2]);

  World world;
  world.CreateTable("[]", {}, key.schema());
  world.Run([&](Process& process) {
    auto writer = process.Open();
    const auto expect = [&](const std::vector<std::string>& texts) {
      EXPECT_EQ(Texts(process, key, {0, 1, 2}), texts);
      std::vector<std::string> present;
      std::copy_if(texts.begin(), texts.end(), std::back_inserter(present),
                   [](const auto& text) { return text != "-"; });
      std::sort(present.begin(), present.end());
      EXPECT_EQ(ScannedTexts(process), present);
    };
    ASSERT_OK(writer->Put({key.Row(0, "a")}));
    ASSERT_OK(writer->Put({key.Row(1, "b")}));
    expect({"a", "b", "-"});  // one MemTable
    ASSERT_OK(writer->Flush());
    expect({"a", "b", "-"});  // one SSTable
    ASSERT_OK(writer->Put({key.Row(2, "c")}));
    ASSERT_OK(writer->Delete({key.Keys({0})}));
    expect({"-", "b", "c"});  // memory over an SSTable
    ASSERT_OK(writer->Flush());
    expect({"-", "b", "c"});  // an SSTable over another
    Compact(process);
    expect({"-", "b", "c"});  // the table
    ASSERT_OK(writer->Delete({key.Keys({2})}));
    ASSERT_OK(writer->Put({key.Row(0, "d")}));
    ASSERT_OK(writer->Flush());
    Compact(process);
    expect({"d", "b", "-"});
  });
}

INSTANTIATE_TEST_SUITE_P(EveryKeyTypeWithCollisions, PeerFaultsOfHashes, testing::ValuesIn(CollidingKeys()), Described);

}  // namespace
}  // namespace javelin::memwal
