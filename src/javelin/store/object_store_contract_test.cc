// What every store and every decorator must do, run against each of them.
#include <filesystem>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "javelin/store/counting_store.h"
#include "javelin/store/fault_store.h"
#include "javelin/store/sim_store.h"
#include "javelin/store/stores.h"
#include "javelin/store/test_support_internal.h"

namespace javelin {
namespace {

using namespace store_test;
using testing::ElementsAre;
using testing::IsEmpty;

// A world holds a store and runs test bodies in a context in which they may use it.
class World {
 public:
  virtual ~World() = default;
  virtual void Run(const std::function<void()>& body) = 0;
  virtual Runtime& runtime() = 0;
  virtual ObjectStore& store() = 0;
};

class ThreadWorld : public World {
 public:
  using Make = std::function<std::shared_ptr<ObjectStore>(const Resources&)>;
  explicit ThreadWorld(const Make& make) : resources_(MakeResources(MakeThreadRuntime())), store_(make(resources_)) {}
  void Run(const std::function<void()>& body) override { body(); }
  Runtime& runtime() override { return *resources_.runtime; }
  ObjectStore& store() override { return *store_; }

 private:
  const Resources resources_;
  const std::shared_ptr<ObjectStore> store_;
};

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "javelin-store-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class LocalWorld final : private TemporaryFolder, public ThreadWorld {
 public:
  explicit LocalWorld(bool sync)
      : ThreadWorld(
            [&](const Resources& resources) { return MakeLocalStore(resources, path() + "/root", {.sync = sync}); }) {}
};

// Without faults: the seed still picks latencies, page sizes and who runs.
class SimWorld final : public World {
 public:
  explicit SimWorld(uint64_t seed) : simulation_(seed), store_(simulation_, {.faults = false}) {}
  void Run(const std::function<void()>& body) override {
    simulation_.StartActor("test", Duration(0), body);
    const arrow::Status status = simulation_.RunAll();
    EXPECT_TRUE(status.ok()) << status;
  }
  Runtime& runtime() override { return *simulation_.runtime(); }
  ObjectStore& store() override { return store_; }

 private:
  Simulation simulation_;
  SimStore store_;
};

struct WorldParam {
  std::string name;
  std::function<std::unique_ptr<World>()> make;
  bool can_put_if_match = true;
};

void PrintTo(const WorldParam& param, std::ostream* out) { *out << param.name; }

class ObjectStoreContract : public testing::TestWithParam<WorldParam> {
 protected:
  void SetUp() override { world_ = GetParam().make(); }

  void In(const std::function<void(ObjectStore&)>& body) {
    world_->Run([&] { body(world_->store()); });
  }
  void Fill(ObjectStore& store, std::initializer_list<const char*> keys) {
    for (const char* key : keys) ASSERT_TRUE(store.Put(key, Bytes(key)).ok()) << key;
  }
  std::unique_ptr<World> world_;
};

template <typename Make>
WorldParam OnThreads(std::string name, Make make, bool can_put_if_match = true) {
  return {std::move(name), [make] { return std::make_unique<ThreadWorld>(make); }, can_put_if_match};
}

INSTANTIATE_TEST_SUITE_P(
    Stores, ObjectStoreContract,
    testing::Values(
        OnThreads("memory", [](const Resources& r) { return MakeMemoryStore(r); }),
        WorldParam{"local", [] { return std::make_unique<LocalWorld>(true); }, false},
        WorldParam{"local_no_sync", [] { return std::make_unique<LocalWorld>(false); }, false},
        WorldParam{"simulated_1", [] { return std::make_unique<SimWorld>(1); }},
        WorldParam{"simulated_2", [] { return std::make_unique<SimWorld>(2); }},
        WorldParam{"simulated_3", [] { return std::make_unique<SimWorld>(3); }},
        OnThreads("counting",
                  [](const Resources& r) { return std::make_shared<CountingStore>(*r.runtime, MakeMemoryStore(r)); }),
        OnThreads("fault",
                  [](const Resources& r) { return std::make_shared<FaultStore>(*r.runtime, MakeMemoryStore(r)); }),
        OnThreads("retry", [](const Resources& r) { return MakeRetryStore(r, MakeMemoryStore(r)); })),
    [](const auto& info) { return info.param.name; });

TEST_P(ObjectStoreContract, PutReplacesAndGetReturnsTheBytes) {
  In([&](ObjectStore& store) {
    EXPECT_EQ(TextOf(store.Get("a/b")), "error NotFound");
    ASSERT_TRUE(store.Put("a/b", Bytes("one")).ok());
    EXPECT_EQ(TextOf(store.Get("a/b")), "one");
    ASSERT_TRUE(store.Put("a/b", Bytes("")).ok());
    EXPECT_EQ(TextOf(store.Get("a/b")), "");
    EXPECT_EQ(TextOf(store.Get("a")), "error NotFound");
    EXPECT_EQ(TextOf(store.Get("a/b/c")), "error NotFound");
  });
}

TEST_P(ObjectStoreContract, ChangingABufferAfterwardsDoesNotChangeTheObject) {
  In([&](ObjectStore& store) {
    std::string text = "before";
    ASSERT_TRUE(store.Put("a", std::make_shared<arrow::Buffer>(text)).ok());
    text = "after!";
    EXPECT_EQ(TextOf(store.Get("a")), "before");
  });
}

TEST_P(ObjectStoreContract, RangesAreExactAndInOrder) {
  In([&](ObjectStore& store) {
    ASSERT_TRUE(store.Put("a", Bytes("0123456789")).ok());
    const std::vector<ByteRange> ranges = {{8, 2}, {0, 3}, {2, 4}, {10, 0}, {5, 0}, {0, 10}};
    const auto answers = store.GetRanges("a", ranges).ValueOrDie();
    std::vector<std::string> texts;
    for (const BufferPtr& answer : answers) texts.push_back(answer->ToString());
    EXPECT_THAT(texts, ElementsAre("89", "012", "2345", "", "", "0123456789"));
    EXPECT_THAT(store.GetRanges("a", {}).ValueOrDie(), IsEmpty());
  });
}

TEST_P(ObjectStoreContract, RangesPastTheEndAreErrors) {
  In([&](ObjectStore& store) {
    ASSERT_TRUE(store.Put("a", Bytes("0123456789")).ok());
    for (const ByteRange range : {ByteRange{5, 6}, {11, 0}, {0, UINT64_MAX}, {UINT64_MAX, 2}, {UINT64_MAX - 1, 4}}) {
      const std::vector<ByteRange> ranges = {{0, 1}, range};
      EXPECT_EQ(KindText(store.GetRanges("a", ranges)), "IO") << range.offset << "+" << range.length;
    }
    EXPECT_EQ(KindText(store.GetRanges("b", std::vector<ByteRange>{{0, 1}})), "NotFound");
  });
}

TEST_P(ObjectStoreContract, TailsTellTheSize) {
  In([&](ObjectStore& store) {
    ASSERT_TRUE(store.Put("a", Bytes("0123456789")).ok());
    for (const auto& [asked, text] :
         std::map<uint64_t, std::string>{{0, ""}, {3, "789"}, {10, "0123456789"}, {UINT64_MAX, "0123456789"}}) {
      const ObjectTail tail = store.GetTail("a", asked).ValueOrDie();
      EXPECT_EQ(tail.bytes->ToString(), text);
      EXPECT_EQ(tail.object_size, 10u);
    }
    EXPECT_EQ(KindText(store.GetTail("b", 3)), "NotFound");
  });
}

TEST_P(ObjectStoreContract, HeadDescribesTheObject) {
  In([&](ObjectStore& store) {
    ASSERT_TRUE(store.Put("f/a", Bytes("123")).ok());
    const ObjectInfo first = store.Head("f/a").ValueOrDie();
    EXPECT_EQ(first.key, "f/a");
    EXPECT_EQ(first.size, 3u);
    EXPECT_GT(first.modified_ns, 1'700'000'000'000'000'000);
    EXPECT_EQ(store.Head("f/a")->etag, first.etag);
    ASSERT_TRUE(store.Put("f/a", Bytes("12345")).ok());
    EXPECT_NE(store.Head("f/a")->etag, first.etag);
    EXPECT_EQ(store.Head("f/a")->size, 5u);
    EXPECT_EQ(KindText(store.Head("f")), "NotFound");
    EXPECT_EQ(KindText(store.Head("f/b")), "NotFound");
    EXPECT_THAT(store.Describe("f/a"), testing::EndsWith("f/a"));
  });
}

TEST_P(ObjectStoreContract, BatchesAnswerInOrder) {
  In([&](ObjectStore& store) {
    const std::vector<PutRequest> puts = {{"b", Bytes("2")}, {"a", Bytes("1")}, {"../x", Bytes("3")}};
    std::vector<std::string> kinds;
    for (const arrow::Status& status : store.PutMany(puts)) kinds.push_back(KindText(status));
    EXPECT_THAT(kinds, ElementsAre("OK", "OK", "InvalidInput"));
    const std::vector<std::string> keys = {"a", "none", "b", "a"};
    std::vector<std::string> texts;
    for (const auto& answer : store.GetMany(keys)) texts.push_back(TextOf(answer));
    EXPECT_THAT(texts, ElementsAre("1", "error NotFound", "2", "1"));
    kinds.clear();
    for (const auto& answer : store.HeadMany(keys)) kinds.push_back(answer.ok() ? answer->key : KindText(answer));
    EXPECT_THAT(kinds, ElementsAre("a", "NotFound", "b", "a"));
    EXPECT_THAT(store.GetMany({}), IsEmpty());
  });
}

TEST_P(ObjectStoreContract, CreateHasExactlyOneWinner) {
  In([&](ObjectStore& store) {
    for (int round = 0; round < 10; ++round) {
      const std::string key = fmt::format("race/{}", round);
      std::vector<arrow::Status> answers(8);
      std::vector<TaskHandle> tasks;
      for (int i = 0; i < 8; ++i) {
        tasks.push_back(world_->runtime().Spawn(
            "racer", [&, i] { answers[i] = store.PutIfAbsent(key, Bytes(fmt::format("{}", i))); }));
      }
      for (TaskHandle& task : tasks) task.Join();
      std::vector<int> winners;
      for (int i = 0; i < 8; ++i) {
        if (answers[i].ok()) {
          winners.push_back(i);
        } else {
          EXPECT_EQ(KindText(answers[i]), "AlreadyExists");
        }
      }
      ASSERT_EQ(winners.size(), 1u);
      EXPECT_EQ(TextOf(store.Get(key)), fmt::format("{}", winners[0]));
    }
  });
}

TEST_P(ObjectStoreContract, CreateNeverReplaces) {
  In([&](ObjectStore& store) {
    ASSERT_TRUE(store.PutIfAbsent("a", Bytes("first")).ok());
    EXPECT_EQ(KindText(store.PutIfAbsent("a", Bytes("second"))), "AlreadyExists");
    EXPECT_EQ(KindText(store.PutIfAbsent("a", Bytes("first"))), "AlreadyExists");
    EXPECT_EQ(TextOf(store.Get("a")), "first");
    ASSERT_TRUE(store.Delete("a").ok());
    EXPECT_TRUE(store.PutIfAbsent("a", Bytes("third")).ok());
  });
}

TEST_P(ObjectStoreContract, ReplaceIfUnchanged) {
  In([&](ObjectStore& store) {
    ASSERT_TRUE(store.Put("a", Bytes("one")).ok());
    const std::string etag = store.Head("a")->etag;
    if (!GetParam().can_put_if_match) {
      EXPECT_EQ(KindText(store.PutIfMatch("a", Bytes("two"), etag)), "NotSupported");
      EXPECT_EQ(TextOf(store.Get("a")), "one");
      return;
    }
    const std::string next = store.PutIfMatch("a", Bytes("two"), etag).ValueOrDie();
    EXPECT_EQ(next, store.Head("a")->etag);
    EXPECT_EQ(KindText(store.PutIfMatch("a", Bytes("three"), etag)), "Precondition");
    EXPECT_EQ(KindText(store.PutIfMatch("none", Bytes("three"), etag)), "Precondition");
    EXPECT_EQ(TextOf(store.Get("a")), "two");
  });
}

TEST_P(ObjectStoreContract, ListsByFolder) {
  In([&](ObjectStore& store) {
    Fill(store, {"t/a", "t/b/1", "t/b/c/2", "t/d", "t2/x", "u"});
    EXPECT_THAT(KeysOf(ListAll(store, {.prefix = "t/"}).ValueOrDie()), ElementsAre("t/a", "t/b/1", "t/b/c/2", "t/d"));
    EXPECT_THAT(KeysOf(ListAll(store, {}).ValueOrDie()), ElementsAre("t/a", "t/b/1", "t/b/c/2", "t/d", "t2/x", "u"));
    const ListPage level = ListAll(store, {.prefix = "t/", .recursive = false}).ValueOrDie();
    EXPECT_THAT(KeysOf(level), ElementsAre("t/a", "t/d"));
    EXPECT_THAT(level.folders, ElementsAre("t/b/"));
    EXPECT_EQ(level.objects[0].size, 3u);
    EXPECT_EQ(level.objects[0].etag, store.Head("t/a")->etag);
    const ListPage top = ListAll(store, {.recursive = false}).ValueOrDie();
    EXPECT_THAT(KeysOf(top), ElementsAre("u"));
    EXPECT_THAT(top.folders, ElementsAre("t/", "t2/"));
    EXPECT_THAT(KeysOf(ListAll(store, {.prefix = "none/"}).ValueOrDie()), IsEmpty());
    EXPECT_THAT(KeysOf(ListAll(store, {.prefix = "t/a/"}).ValueOrDie()), IsEmpty());
  });
}

TEST_P(ObjectStoreContract, ListsFromAKeyOn) {
  In([&](ObjectStore& store) {
    Fill(store, {"t/a", "t/b/1", "t/b/3", "t/c"});
    const auto keys_after = [&](const std::string& start) {
      return KeysOf(ListAll(store, {.prefix = "t/", .start_after = start}).ValueOrDie());
    };
    EXPECT_THAT(keys_after("t/a"), ElementsAre("t/b/1", "t/b/3", "t/c"));
    EXPECT_THAT(keys_after("t/b/2"), ElementsAre("t/b/3", "t/c"));
    EXPECT_THAT(keys_after("t/c"), IsEmpty());
    EXPECT_THAT(keys_after("a"), ElementsAre("t/a", "t/b/1", "t/b/3", "t/c"));
    const auto folders_after = [&](const std::string& start) {
      return ListAll(store, {.prefix = "t/", .recursive = false, .start_after = start}).ValueOrDie().folders;
    };
    EXPECT_THAT(folders_after("t/b/2"), ElementsAre("t/b/"));
    EXPECT_THAT(folders_after("t/b/3"), IsEmpty());
  });
}

TEST_P(ObjectStoreContract, PagesJoinToTheWholeListing) {
  In([&](ObjectStore& store) {
    Fill(store, {"t/a", "t/b/1", "t/b/2", "t/b0", "t/c", "t/d/1", "t/e/1", "t/e/2", "t/f"});
    for (const bool recursive : {true, false}) {
      for (const std::string start : {"", "t/b/1"}) {
        const ListPage whole =
            ListAll(store, {.prefix = "t/", .recursive = recursive, .start_after = start}).ValueOrDie();
        EXPECT_EQ(whole.folders.empty(), recursive);
        for (uint32_t max_keys = 1; max_keys <= 10; ++max_keys) {
          ListRequest request{.prefix = "t/", .recursive = recursive, .start_after = start, .max_keys = max_keys};
          std::vector<std::string> keys, folders;
          do {
            const ListPage page = store.List(request).ValueOrDie();
            ASSERT_LE(page.objects.size() + page.folders.size(), max_keys);
            for (const std::string& key : KeysOf(page)) keys.push_back(key);
            folders.insert(folders.end(), page.folders.begin(), page.folders.end());
            request.page_token = page.next_page_token;
          } while (!request.page_token.empty());
          EXPECT_EQ(keys, KeysOf(whole));
          EXPECT_EQ(folders, whole.folders);
        }
      }
    }
  });
}

TEST_P(ObjectStoreContract, AFolderLivesAsLongAsAnObjectInIt) {
  In([&](ObjectStore& store) {
    Fill(store, {"t/b/c/1"});
    EXPECT_THAT(ListAll(store, {.prefix = "t/", .recursive = false})->folders, ElementsAre("t/b/"));
    ASSERT_TRUE(store.Delete("t/b/c/1").ok());
    EXPECT_THAT(ListAll(store, {.prefix = "t/", .recursive = false})->folders, IsEmpty());
    EXPECT_THAT(ListAll(store, {.recursive = false})->folders, IsEmpty());
  });
}

TEST_P(ObjectStoreContract, DeleteIsIdempotent) {
  In([&](ObjectStore& store) {
    Fill(store, {"t/a", "t/b"});
    EXPECT_TRUE(store.Delete("t/a").ok());
    EXPECT_TRUE(store.Delete("t/a").ok());
    EXPECT_TRUE(store.Delete("none/x").ok());
    EXPECT_TRUE(store.Delete("t/b/x").ok());
    EXPECT_TRUE(store.Delete("t").ok());
    EXPECT_THAT(KeysOf(ListAll(store, {}).ValueOrDie()), ElementsAre("t/b"));
  });
}

TEST_P(ObjectStoreContract, CopyReplacesTheTarget) {
  In([&](ObjectStore& store) {
    Fill(store, {"a", "b"});
    ASSERT_TRUE(store.Copy("a", "new/c").ok());
    ASSERT_TRUE(store.Copy("a", "b").ok());
    EXPECT_EQ(TextOf(store.Get("new/c")), "a");
    EXPECT_EQ(TextOf(store.Get("b")), "a");
    EXPECT_EQ(KindText(store.Copy("none", "b")), "NotFound");
    EXPECT_EQ(KindText(store.Copy("none", "d")), "NotFound");
    EXPECT_EQ(TextOf(store.Get("b")), "a");
    EXPECT_EQ(TextOf(store.Get("d")), "error NotFound");
  });
}

TEST_P(ObjectStoreContract, StreamedObjectAppearsAtFinish) {
  In([&](ObjectStore& store) {
    auto writer = store.OpenWriter("f/a").ValueOrDie();
    std::string whole;
    for (int i = 0; i < 20; ++i) {
      const std::string piece(i * 1000, static_cast<char>('a' + i));
      whole += piece;
      ASSERT_TRUE(writer->Write(Bytes(piece)).ok());
      EXPECT_EQ(writer->bytes_written(), whole.size());
    }
    EXPECT_EQ(TextOf(store.Get("f/a")), "error NotFound");
    EXPECT_THAT(KeysOf(ListAll(store, {}).ValueOrDie()), IsEmpty());
    EXPECT_THAT(ListAll(store, {.recursive = false})->folders, IsEmpty());
    ASSERT_TRUE(writer->Finish().ok());
    EXPECT_EQ(TextOf(store.Get("f/a")), whole);
    EXPECT_FALSE(writer->Finish().ok());
    EXPECT_FALSE(writer->Write(Bytes("more")).ok());
    writer.reset();
    EXPECT_EQ(TextOf(store.Get("f/a")), whole);
  });
}

TEST_P(ObjectStoreContract, DroppedStreamLeavesNothing) {
  In([&](ObjectStore& store) {
    Fill(store, {"f/a"});
    for (const char* key : {"f/a", "g/b"}) {
      auto writer = store.OpenWriter(key).ValueOrDie();
      ASSERT_TRUE(writer->Write(Bytes("half")).ok());
    }
    EXPECT_EQ(TextOf(store.Get("f/a")), "f/a");
    EXPECT_THAT(KeysOf(ListAll(store, {}).ValueOrDie()), ElementsAre("f/a"));
  });
}

TEST_P(ObjectStoreContract, HostileKeysAreRefusedEverywhere) {
  In([&](ObjectStore& store) {
    Fill(store, {"a"});
    const std::vector<std::string> keys = {"",     "/",     "/a",     "a/",   "a//b",
                                           "..",   "../a",  "a/../b", "a/..", ".",
                                           "./a",  "a/./b", "a/.b",   ".tmp", std::string("a\0b", 3),
                                           "a\nb", "a/\x7f"};
    for (const std::string& key : keys) {
      SCOPED_TRACE(key);
      EXPECT_EQ(KindText(store.Get(key)), "InvalidInput");
      EXPECT_EQ(KindText(store.GetTail(key, 1)), "InvalidInput");
      EXPECT_EQ(KindText(store.GetRanges(key, std::vector<ByteRange>{{0, 1}})), "InvalidInput");
      EXPECT_EQ(KindText(store.Head(key)), "InvalidInput");
      EXPECT_EQ(KindText(store.Put(key, Bytes("x"))), "InvalidInput");
      EXPECT_EQ(KindText(store.PutIfAbsent(key, Bytes("x"))), "InvalidInput");
      EXPECT_EQ(KindText(store.Delete(key)), "InvalidInput");
      EXPECT_EQ(KindText(store.Copy(key, "b")), "InvalidInput");
      EXPECT_EQ(KindText(store.Copy("a", key)), "InvalidInput");
      EXPECT_EQ(KindText(store.OpenWriter(key)), "InvalidInput");
    }
    for (const char* prefix : {"/", "a", "../", "a/../", "a//", "./"}) {
      EXPECT_EQ(KindText(store.List({.prefix = prefix})), "InvalidInput") << prefix;
    }
    EXPECT_THAT(KeysOf(ListAll(store, {}).ValueOrDie()), ElementsAre("a"));
  });
}

TEST_P(ObjectStoreContract, OddButLegalKeysKeepTheirNames) {
  In([&](ObjectStore& store) {
    const std::set<std::string> keys = {"a b",
                                        "a%20b",
                                        "a+b",
                                        "a#b?c=d",
                                        "ä/日本",
                                        "a:b",
                                        "'\"\\",
                                        "..a/b..",
                                        "x.tmp",
                                        ".hidden/a",
                                        std::string(200, 'x'),
                                        "a=1&b/{c}",
                                        "-",
                                        "~"};
    for (const std::string& key : keys) ASSERT_TRUE(store.PutIfAbsent(key, Bytes(key)).ok()) << key;
    for (const std::string& key : keys) EXPECT_EQ(TextOf(store.Get(key)), key);
    EXPECT_EQ(KeysOf(ListAll(store, {}).ValueOrDie()), std::vector<std::string>(keys.begin(), keys.end()));
  });
}

}  // namespace
}  // namespace javelin
