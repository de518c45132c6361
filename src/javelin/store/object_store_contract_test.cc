// What every store must do, run against each of them.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "javelin/base/error.h"
#include "javelin/store/sim_store.h"
#include "javelin/store/stores.h"

namespace javelin {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

BufferPtr Bytes(std::string text) { return arrow::Buffer::FromString(std::move(text)); }

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
  ThreadWorld() : resources_(MakeResources(MakeThreadRuntime())) {}
  void Run(const std::function<void()>& body) override { body(); }
  Runtime& runtime() override { return *resources_.runtime; }
  ObjectStore& store() override { return *store_; }

 protected:
  Resources resources_;
  std::shared_ptr<ObjectStore> store_;
};

class MemoryWorld final : public ThreadWorld {
 public:
  MemoryWorld() { store_ = MakeMemoryStore(resources_); }
};

class LocalWorld final : public ThreadWorld {
 public:
  explicit LocalWorld(bool sync) {
    std::string pattern = (std::filesystem::temp_directory_path() / "javelin-store-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    store_ = MakeLocalStore(resources_, folder_ + "/root", {.sync = sync});
  }
  ~LocalWorld() override { std::filesystem::remove_all(folder_); }

 private:
  std::string folder_;
};

// Without faults: the seed still picks latencies, page sizes and who runs.
class SimWorld final : public World {
 public:
  SimWorld() : simulation_(11), store_(simulation_, {.faults = false}) {}
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

class ObjectStoreContract : public testing::TestWithParam<WorldParam> {
 protected:
  void SetUp() override { world_ = GetParam().make(); }

  void In(const std::function<void(ObjectStore&)>& body) {
    world_->Run([&] { body(world_->store()); });
  }
  std::string TextOf(const std::string& key) {
    const auto bytes = world_->store().Get(key);
    return bytes.ok() ? (*bytes)->ToString() : "error " + std::string(ToString(KindOf(bytes.status())));
  }
  std::unique_ptr<World> world_;
};

std::vector<std::string> KeysOf(const ListPage& page) {
  std::vector<std::string> keys;
  for (const ObjectInfo& object : page.objects) keys.push_back(object.key);
  return keys;
}

TEST_P(ObjectStoreContract, PutReplacesAndGetReturnsTheBytes) {
  In([&](ObjectStore& store) {
    EXPECT_EQ(TextOf("a/b"), "error NotFound");
    ASSERT_TRUE(store.Put("a/b", Bytes("one")).ok());
    EXPECT_EQ(TextOf("a/b"), "one");
    ASSERT_TRUE(store.Put("a/b", Bytes("")).ok());
    EXPECT_EQ(TextOf("a/b"), "");
  });
}

TEST_P(ObjectStoreContract, CreateHasExactlyOneWinner) {
  In([&](ObjectStore& store) {
    for (int round = 0; round < 10; ++round) {
      const std::string key = fmt::format("race/{}", round);
      std::vector<arrow::Status> answers(8);
      std::vector<TaskHandle> tasks;
      for (int i = 0; i < 8; ++i) {
        tasks.push_back(world_->runtime().Spawn("racer", [&, i] { answers[i] = store.PutIfAbsent(key, Bytes(fmt::format("{}", i))); }));
      }
      for (TaskHandle& task : tasks) task.Join();
      std::vector<int> winners;
      for (int i = 0; i < 8; ++i) {
        if (answers[i].ok()) winners.push_back(i);
        else EXPECT_TRUE(HasKind(answers[i], ErrorKind::kAlreadyExists)) << answers[i];
      }
      ASSERT_EQ(winners.size(), 1u);
      EXPECT_EQ(TextOf(key), fmt::format("{}", winners[0]));
    }
  });
}

TEST_P(ObjectStoreContract, ListsByPrefix) {
  In([&](ObjectStore& store) {
    for (const char* key : {"t/a", "t/b/1", "t/b/2", "t/c", "u"}) ASSERT_TRUE(store.Put(key, Bytes("x")).ok());
    EXPECT_THAT(KeysOf(ListAll(store, {.prefix = "t/"}).ValueOrDie()), ElementsAre("t/a", "t/b/1", "t/b/2", "t/c"));
    const ListPage level = ListAll(store, {.prefix = "t/", .recursive = false}).ValueOrDie();
    EXPECT_THAT(KeysOf(level), ElementsAre("t/a", "t/c"));
    EXPECT_THAT(level.folders, ElementsAre("t/b/"));
    EXPECT_THAT(KeysOf(ListAll(store, {.prefix = "none/"}).ValueOrDie()), IsEmpty());
  });
}

INSTANTIATE_TEST_SUITE_P(
    Stores, ObjectStoreContract,
    testing::Values(WorldParam{"simulated", [] { return std::make_unique<SimWorld>(); }},
                    WorldParam{"memory", [] { return std::make_unique<MemoryWorld>(); }},
                    WorldParam{"local", [] { return std::make_unique<LocalWorld>(true); }, false},
                    WorldParam{"local_no_sync", [] { return std::make_unique<LocalWorld>(false); }, false}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace javelin
