// Lookups that ask the key filters of SSTables first: what that costs, whom they trust, and that no key is ever hidden.
#include <set>

#include "javelin/base/seeded_random.h"
#include "javelin/index/bloom_filter.h"
#include "javelin/memwal/key_fields_test_support.h"
#include "javelin/memwal/schema_change_test_support.h"
#include "javelin/store/counting_store.h"

namespace javelin::memwal {
namespace {

using namespace test;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A key of one column or more, made of numbers: the number as JSON values of the columns, "1" or "1, \"a\"".
struct KeyKind {
  std::string name;
  std::vector<std::shared_ptr<arrow::DataType>> types;
  std::function<std::string(int64_t)> json;
  bool trusted;  // the released peer hashes it too

  arrow::FieldVector fields() const { return KeyFields(types); }
  std::shared_ptr<arrow::Schema> schema() const {
    arrow::FieldVector all = fields();
    all.push_back(arrow::field("text", arrow::utf8()));
    all.push_back(arrow::field("filling", arrow::utf8()));
    return arrow::schema(all);
  }
  std::shared_ptr<arrow::RecordBatch> Keys(const std::vector<int64_t>& numbers) const {
    std::vector<std::string> rows;
    for (const int64_t number : numbers) rows.push_back(fmt::format("[{}]", json(number)));
    return Batch(arrow::schema(fields()), fmt::format("[{}]", fmt::join(rows, ", ")));
  }
  // With texts "{tag}{number}", and so much else that a few hundred rows are a large SSTable.
  std::shared_ptr<arrow::RecordBatch> Rows(const std::vector<int64_t>& numbers, const std::string& tag) const {
    SeededRandom random(static_cast<uint64_t>(numbers.front()));
    std::vector<std::string> rows;
    for (const int64_t number : numbers) {
      std::string filling;
      while (filling.size() < 150) filling += static_cast<char>(random.Between('a', 'z'));
      rows.push_back(fmt::format("[{}, \"{}{}\", \"{}\"]", json(number), tag, number, filling));
    }
    return Batch(schema(), fmt::format("[{}]", fmt::join(rows, ", ")));
  }
};

void PrintTo(const KeyKind& kind, std::ostream* out) { *out << kind.name; }

std::string Number(int64_t number) { return fmt::format("{}", number); }
// Texts with a prefix of each other, with a zero byte inside, empty.
std::string Word(int64_t number) {
  static const std::vector<std::string> kForms = {"\"{}\"", "\"{}\\u0000\"", "\"\\u0000{}é\"", "\"a{}\\u0000\\u00ff\""};
  if (number == 0) return "\"\"";
  return fmt::format(fmt::runtime(kForms[static_cast<size_t>(number) % kForms.size()]), number);
}
std::string Bytes(int64_t number) { return number == 0 ? "\"\"" : fmt::format("\"{}\\u0000{}\"", number, number % 3); }

std::vector<KeyKind> Kinds() {
  std::vector<KeyKind> kinds = {
      {"int32", {arrow::int32()}, [](int64_t n) { return Number(n - 500); }, true},
      {"int64", {arrow::int64()}, [](int64_t n) { return Number((n - 500) * 1'000'000'007); }, true},
      {"utf8", {arrow::utf8()}, Word, true},
      {"binary", {arrow::binary()}, Bytes, true},
      {"int32 and utf8",
       {arrow::int32(), arrow::utf8()},
       [](int64_t n) { return Number(n % 7 - 3) + ", " + Word(n); },
       true},
      {"binary, utf8 and int64",
       {arrow::binary(), arrow::utf8(), arrow::int64()},
       [](int64_t n) { return Bytes(n % 5) + ", " + Word(n % 11) + ", " + Number(n); },
       true},
      {"bool and int64",
       {arrow::boolean(), arrow::int64()},
       [](int64_t n) { return fmt::format("{}, {}", n % 2 == 0, n); },
       false},
      {"int64 and int8",
       {arrow::int64(), arrow::int8()},
       [](int64_t n) { return fmt::format("{}, {}", n, n % 100); },
       false},
  };
  for (const auto& type : {arrow::int16(), arrow::uint16(), arrow::uint32(), arrow::uint64()})
    kinds.push_back({type->ToString(), {type}, Number, false});
  for (const auto& type : {arrow::large_utf8(), arrow::large_binary()})
    kinds.push_back({type->ToString(), {type}, Word, false});
  return kinds;
}

std::vector<int64_t> Between(int64_t first, int64_t end) {
  std::vector<int64_t> numbers;
  for (int64_t number = first; number < end; ++number) numbers.push_back(number);
  return numbers;
}

// What a lookup answers, sorted.
std::vector<std::string> Texts(const FreshView& view, const KeyKind& kind, const std::vector<int64_t>& numbers) {
  const auto rows = Must(view.Get(*kind.Keys(numbers), std::vector<std::string>{"text"}));
  std::vector<std::string> texts;
  for (int64_t i = 0; i < rows->num_rows(); ++i)
    texts.push_back(rows->column(0)->GetScalar(i).ValueOrDie()->ToString());
  std::sort(texts.begin(), texts.end());
  return texts;
}

// Objects whose key ends so, in order of generation for those in SSTables.
std::vector<std::string> Ending(World& world, const std::string& end) {
  std::vector<std::string> keys;
  for (const ObjectInfo& object : Must(ListAll(world.store->raw(), {})).objects)
    if (object.key.ends_with(end)) keys.push_back(object.key);
  std::sort(keys.begin(), keys.end(),
            [](const auto& a, const auto& b) { return a.substr(a.find("_gen_")) < b.substr(b.find("_gen_")); });
  return keys;
}
std::vector<std::string> Filters(World& world) { return Ending(world, "bloom_filter.bin"); }

// SSTables of so many rows each: numbers from 0 on in the first one, and so on.
void Publish(World& world, const KeyKind& kind, int sstables, int64_t rows_each) {
  world.CreateTable("[]", {}, kind.schema());
  world.Run([&](Process& process) {
    const auto writer = process.Open(Eager());
    for (int i = 0; i < sstables; ++i) {
      ASSERT_OK(writer->Put({kind.Rows(Between(i * rows_each, (i + 1) * rows_each), "row ")}));
      ASSERT_OK(writer->Flush());
    }
    ASSERT_OK(writer->Close());
  });
}

// A process of its own whose requests are counted.
struct Counted {
  Counted(World& world, Process& process)
      : store(std::make_shared<CountingStore>(process.runtime(), world.store)), process(world.sim.runtime(), store) {
    view = Must(FreshView::Open(*this->process.Table()));
    store->Reset();
  }
  // The generations asked since the last call, as "4 4 4 1 3f": one word a request, f for a filter; others are "-".
  std::string Asked() {
    std::vector<std::string> words;
    for (const auto& request : store->LogText()) {
      const size_t place = request.find("_gen_");
      words.push_back(place == std::string::npos
                          ? "-"
                          : request.substr(place + 5, 1) + (request.ends_with("bloom_filter.bin") ? "f" : ""));
    }
    store->Reset();
    return fmt::format("{}", fmt::join(words, " "));
  }
  std::shared_ptr<CountingStore> store;
  Process process;
  std::shared_ptr<FreshView> view;
};

KeyKind Int64() { return Kinds()[1]; }

// 2N + 1 for N of them: manifest, tail and keys of the newest one, filter and manifest of the others.
TEST(KeyFilter, AKeyThatIsNowhereTakesTwoRequestsAnSsTable) {
  for (const int sstables : {1, 2, 5}) {
    World world;
    const KeyKind kind = Int64();
    Publish(world, kind, sstables, 1'000);
    world.Run([&](Process& process) {
      Counted reader(world, process);
      EXPECT_THAT(Texts(*reader.view, kind, {7'000'000}), IsEmpty());
      EXPECT_EQ(reader.Asked(), sstables == 1 ? "1 1 1" : sstables == 2 ? "2 2 2 1f 1" : "5 5 5 4f 4 3f 3 2f 2 1f 1");
      EXPECT_THAT(Texts(*reader.view, kind, {8'000'000, 9'000'000}), IsEmpty());
      EXPECT_EQ(reader.Asked(), "");
    });
  }
}

// A filter that says yes costs one request more; keys that are in memory make it superfluous.
TEST(KeyFilter, AKeyInAnOlderOneIsReadBehindItsFilter) {
  World world;
  const KeyKind kind = Int64();
  Publish(world, kind, 4, 1'000);
  world.Run([&](Process& process) {
    Counted reader(world, process);
    EXPECT_THAT(Texts(*reader.view, kind, {1'500}), ElementsAre("row 1500"));
    EXPECT_EQ(reader.Asked(), "4 4 4 3f 3 2f 2 2 2") << "manifest, tail and keys, in whose blocks the text is";
    EXPECT_THAT(Texts(*reader.view, kind, {1'500, 3'999}), ElementsAre("row 1500", "row 3999"));
    EXPECT_EQ(reader.Asked(), "");
    for (const std::string& filter : Filters(world)) ASSERT_OK(world.store->raw().Delete(filter));
    EXPECT_THAT(Texts(*reader.view, kind, {1'501}), ElementsAre("row 1501"));
    EXPECT_EQ(reader.Asked(), "");
  });
}

// Many keys at once would hardly all be absent, and of small SSTables the filter costs as much as the rows.
TEST(KeyFilter, IsAskedOnlyWhereThatPays) {
  World world;
  const KeyKind kind = Int64();
  Publish(world, kind, 3, 1'000);
  world.Run([&](Process& process) {
    Counted reader(world, process);
    EXPECT_THAT(Texts(*reader.view, kind, Between(7'000'000, 7'000'017)), IsEmpty());
    EXPECT_EQ(reader.Asked(), "3 3 3 2 2 2 1 1 1");
  });
  World small;
  Publish(small, kind, 3, 10);
  small.Run([&](Process& process) {
    Counted reader(small, process);
    EXPECT_THAT(Texts(*reader.view, kind, {7'000'000}), IsEmpty());
    EXPECT_EQ(reader.Asked(), "3 3 2 2 1 1");
  });
}

// A filter that is not there or has another size says nothing, and is not asked for again.
TEST(KeyFilter, OneThatIsNoneIsNotUsed) {
  World world;
  const KeyKind kind = Int64();
  Publish(world, kind, 3, 1'000);
  const auto filters = Filters(world);
  ASSERT_EQ(filters.size(), 3u);
  ASSERT_OK(world.store->raw().Delete(filters[1]));
  ASSERT_OK(world.store->raw().Put(filters[0], arrow::Buffer::FromString(std::string(65536, '\0'))));
  world.Run([&](Process& process) {
    Counted reader(world, process);
    EXPECT_THAT(Texts(*reader.view, kind, {5, 1'500}), ElementsAre("row 1500", "row 5"));
    EXPECT_EQ(reader.Asked(), "3 3 3 2f 2 2 2 1f 1 1 1");
    EXPECT_THAT(Texts(*reader.view, kind, {6, 1'501}), ElementsAre("row 1501", "row 6"));
    EXPECT_EQ(reader.Asked(), "");
  });
}

// What a loss of power leaves of a file that its writer never synced would hide every key, or some.
TEST(KeyFilter, OneThatIsPartlyEmptyIsNotUsed) {
  World world;
  const KeyKind kind = Int64();
  Publish(world, kind, 3, 1'000);
  const auto filters = Filters(world);
  const BufferPtr whole = Must(world.store->raw().Get(filters[1]));
  ASSERT_OK(world.store->raw().Put(filters[0], index::BloomFilter().ToBytes()));
  ASSERT_OK(world.store->raw().Put(
      filters[1], arrow::Buffer::FromString(whole->ToString().replace(8192, 4096, std::string(4096, '\0')))));
  world.Run([&](Process& process) {
    const auto view = Must(FreshView::Open(*process.Table()));
    for (int64_t key = 0; key < 3'000; key += 7)
      EXPECT_THAT(Texts(*view, kind, {key}), ElementsAre(fmt::format("row {}", key)));
  });
}

class KeyFilterOf : public testing::TestWithParam<KeyKind> {};

// P5: of most key types the peer's filter knows nothing. Here every filter is one of other keys: whoever trusts it
// finds no key.
TEST_P(KeyFilterOf, IsTrustedForWhatThePeerHashesAlone) {
  const KeyKind& kind = GetParam();
  World world;
  Publish(world, kind, 2, 600);
  index::BloomFilter of_others;
  SeededRandom random(3);
  for (int i = 0; i < 500; ++i) of_others.Add(random.Below(UINT64_MAX));
  for (const std::string& filter : Filters(world)) ASSERT_OK(world.store->raw().Put(filter, of_others.ToBytes()));
  world.Run([&](Process& process) {
    Counted reader(world, process);
    const auto found = Texts(*reader.view, kind, {5, 599, 600});
    if (kind.trusted) {
      EXPECT_THAT(found, ElementsAre("row 600"));
    } else {
      EXPECT_THAT(found, ElementsAre("row 5", "row 599", "row 600"));
      EXPECT_EQ(reader.Asked().find('f'), std::string::npos);
    }
  });
}

// Any rows and deletions in any SSTables: a lookup, each in a session of its own, answers what was written last.
TEST_P(KeyFilterOf, HidesNoKey) {
  const KeyKind& kind = GetParam();
  if (!kind.trusted) return;
  constexpr int64_t kNumbers = 1'500;
  SeededRandom random(11);
  World world;
  std::map<int64_t, std::string> rows;
  world.CreateTable("[]", {}, kind.schema());
  const auto some = [&](uint64_t count, int64_t end) {
    std::set<int64_t> numbers;
    while (numbers.size() < count) numbers.insert(static_cast<int64_t>(random.Below(static_cast<uint64_t>(end))));
    return std::vector<int64_t>(numbers.begin(), numbers.end());
  };
  world.Run([&](Process& process) {
    const auto writer = process.Open(Eager());
    for (int generation = 1; generation <= 4; ++generation) {
      const auto put = some(500, kNumbers), gone = some(20, kNumbers);
      ASSERT_OK(writer->Put({kind.Rows(put, fmt::format("{} ", generation))}));
      for (const int64_t number : put) rows[number] = fmt::format("{} {}", generation, number);
      ASSERT_OK(writer->Delete({kind.Keys(gone)}));
      for (const int64_t number : gone) rows.erase(number);
      ASSERT_OK(writer->Flush());
    }
    ASSERT_OK(writer->Close());
  });
  uint64_t asked = 0, spared = 0;
  world.Run([&](Process& process) {
    for (int round = 0; round < 40; ++round) {
      Counted reader(world, process);
      const auto numbers = some(1 + random.Below(4), kNumbers + 200);
      std::vector<std::string> expected;
      for (const int64_t number : numbers)
        if (rows.contains(number)) expected.push_back(rows[number]);
      std::sort(expected.begin(), expected.end());
      ASSERT_EQ(Texts(*reader.view, kind, numbers), expected) << "round " << round;
      const std::string requests = reader.Asked();
      asked += requests.find("2f") != std::string::npos;
      spared += requests.find("2f") != std::string::npos && requests.find("2 2") == std::string::npos;
    }
  });
  EXPECT_GT(asked, 10u);
  EXPECT_GT(spared, 5u) << "filters that said no";
}

INSTANTIATE_TEST_SUITE_P(Every, KeyFilterOf, testing::ValuesIn(Kinds()), [](const auto& tested) {
  std::string name = tested.param.name;
  std::erase_if(name, [](char letter) { return !std::isalnum(static_cast<unsigned char>(letter)); });
  return name;
});

// The filter does not say which columns it is of. Where the table's key was changed, it would hide what it never knew:
// such SSTables are refused as ever, the oldest one or one between two of the key of now.
TEST(KeyFilter, OfAnotherKeyIsNotTrusted) {
  KeyKind kind = Int64();
  kind.types.push_back(arrow::int64());
  kind.json = [](int64_t n) { return fmt::format("{}, {}", n, n + 1'000'000); };
  const auto with_key = [&](size_t key) {
    return [key](std::vector<file::Field>& columns) {
      for (size_t i = 0; i < 2; ++i) columns[i].primary_key = i == key, columns[i].primary_key_position = 0;
    };
  };
  const auto keys = [&](size_t column, int64_t number) {
    return Batch(arrow::schema({arrow::field(fmt::format("k{}", column), arrow::int64(), false)}),
                 fmt::format("[[{}]]", number + (column == 0 ? 0 : 1'000'000)));
  };
  // The key that each SSTable is written under, the last one that of now; and the one that no lookup gets past.
  struct Case {
    std::vector<size_t> key_of;
    int64_t refused;
    std::string asked;
  };
  for (const auto& [key_of, refused, asked] :
       {Case{{0, 0, 1}, 1, "2f 2 2"}, Case{{0, 1, 1}, 0, "2f 2 1f 1 1"}, Case{{0, 1, 0}, 1, "2f 2 2"}}) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(key_of, " ")));
    World world;
    world.CreateTable("[]", {}, kind.schema());
    world.Run([&](Process& process) {
      for (size_t i = 0; i < key_of.size(); ++i) {
        ChangeColumns(world, process, with_key(key_of[i]));
        const auto writer = process.Open(Eager());
        const auto first = static_cast<int64_t>(i) * 1'000;
        ASSERT_OK(writer->Put({kind.Rows(Between(first, first + 1'000), "row ")}));
        ASSERT_OK(writer->Close());
      }
    });
    world.Run([&](Process& process) {
      const size_t now = key_of.back();
      Counted reader(world, process);
      ExpectError(Must(reader.view->Scan())->ToTable().status(), ErrorKind::kNotSupported, "primary key");
      Counted lookup(world, process);
      EXPECT_EQ(Must(lookup.view->Get(*keys(now, 2'001)))->num_rows(), 1) << "in the newest one";
      EXPECT_EQ(lookup.Asked(), "3 3 3");
      for (const int64_t number : {refused * 1'000 + 5, int64_t{7'000'000}})
        ExpectError(lookup.view->Get(*keys(now, number)).status(), ErrorKind::kNotSupported, "primary key");
      EXPECT_EQ(lookup.Asked(), asked);
      if (key_of[0] == now)
        ExpectError(lookup.view->Get(*keys(now, 5)).status(), ErrorKind::kNotSupported, "primary key");
    });
  }
}

}  // namespace
}  // namespace javelin::memwal
