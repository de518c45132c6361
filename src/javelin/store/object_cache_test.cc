// What is kept of opened objects, and what goes first.
#include "javelin/store/object_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "javelin/base/error.h"
#include "javelin/store/stores.h"

namespace javelin {
namespace {

struct Thing {
  std::string text;
  uint64_t bytes = 10;
  uint64_t memory_bytes() const { return bytes; }
};

class ObjectCacheTest : public testing::Test {
 protected:
  std::shared_ptr<Thing> Get(const std::string& key) { return Get(store_, key); }
  std::shared_ptr<Thing> Get(const std::shared_ptr<ObjectStore>& store, const std::string& key) {
    const auto open = [&]() -> arrow::Result<std::shared_ptr<Thing>> {
      opened_.push_back(key);
      return std::make_shared<Thing>(Thing{key});
    };
    return cache_.Get(store, key, open).ValueOrDie();
  }
  // What was opened since the last call.
  std::vector<std::string> Opened() { return std::exchange(opened_, {}); }

  const Resources resources_ = MakeResources(MakeThreadRuntime());
  const std::shared_ptr<ObjectStore> store_ = MakeMemoryStore(resources_);
  ObjectCache<Thing> cache_{*resources_.runtime, 30};
  std::vector<std::string> opened_;
};

TEST_F(ObjectCacheTest, WhatWasUsedLongestAgoGoesFirst) {
  const auto a = Get("a");
  Get("b");
  Get("c");
  EXPECT_EQ(Get("a"), a);
  EXPECT_THAT(Opened(), testing::ElementsAre("a", "b", "c"));
  Get("d");
  EXPECT_EQ(cache_.memory_bytes(), 30u);
  Get("a");
  Get("c");
  EXPECT_THAT(Opened(), testing::ElementsAre("d"));
  Get("b");
  EXPECT_THAT(Opened(), testing::ElementsAre("b"));
}

TEST_F(ObjectCacheTest, WhatGrowsIsMeasuredAgain) {
  const auto a = Get("a");
  const auto b = Get("b");
  b->bytes = 25;
  Get("c");
  EXPECT_EQ(cache_.memory_bytes(), 10u) << "b has grown: first a had to go, then b";
  Get("c");
  EXPECT_THAT(Opened(), testing::ElementsAre("a", "b", "c"));
  Get("b")->bytes = 100;
  EXPECT_EQ(Get("b")->bytes, 100u) << "the newest stays, however large";
  EXPECT_EQ(cache_.memory_bytes(), 100u);
}

TEST_F(ObjectCacheTest, AnotherStoreHasOtherObjects) {
  const auto other = MakeMemoryStore(resources_);
  ASSERT_EQ(other->Describe("a"), store_->Describe("a"));
  const auto ours = Get("a");
  EXPECT_NE(Get(other, "a"), ours);
  EXPECT_NE(Get("a"), ours) << "one object of a name is kept";
}

TEST_F(ObjectCacheTest, FailuresAreNotKept) {
  const auto refused =
      cache_.Get(store_, "a", []() -> arrow::Result<std::shared_ptr<Thing>> { return NotFound("none"); });
  EXPECT_TRUE(HasKind(refused.status(), ErrorKind::kNotFound));
  EXPECT_EQ(cache_.Find(store_, "a"), nullptr);
  EXPECT_EQ(Get("a")->text, "a");
}

}  // namespace
}  // namespace javelin
