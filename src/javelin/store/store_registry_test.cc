#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "javelin/base/error.h"
#include "javelin/store/stores.h"

namespace javelin {
namespace {

class StoreRegistryTest : public testing::Test {
 protected:
  ErrorKind FailureOf(const std::string& uri, const std::map<std::string, std::string>& options = {}) {
    const auto location = registry_.Resolve(uri, options);
    EXPECT_FALSE(location.ok()) << uri;
    return location.ok() ? ErrorKind::kInternal : KindOf(location.status());
  }

  StoreRegistry registry_{MakeResources(MakeThreadRuntime())};
};

TEST_F(StoreRegistryTest, PathsAndFileUrisMeetInOneStore) {
  const auto path = registry_.Resolve("/tmp/a b/table/").ValueOrDie();
  const auto uri = registry_.Resolve("file:///tmp/a%20b/table").ValueOrDie();
  const auto dotted = registry_.Resolve("/tmp/./x/../a b//table").ValueOrDie();
  EXPECT_EQ(path.store, uri.store);
  EXPECT_EQ(path.root, "tmp/a b/table");
  EXPECT_EQ(uri.root, path.root);
  EXPECT_EQ(dotted.root, path.root);
  EXPECT_EQ(path.store->Describe(path.root + "/x"), "/tmp/a b/table/x");
}

TEST_F(StoreRegistryTest, RelativePathsStartAtTheWorkingFolder) {
  const auto location = registry_.Resolve("some/table").ValueOrDie();
  EXPECT_EQ("/" + location.root, (std::filesystem::current_path() / "some/table").string());
  EXPECT_EQ(location.uri, "/" + location.root);
}

TEST_F(StoreRegistryTest, OptionsSelectTheStore) {
  const auto plain = registry_.Resolve("/tmp/t").ValueOrDie();
  const auto no_sync = registry_.Resolve("/tmp/t", {{"sync", "false"}}).ValueOrDie();
  EXPECT_NE(plain.store, no_sync.store);
  EXPECT_EQ(plain.store, registry_.Resolve("/tmp/t", {{"sync", "true"}}).ValueOrDie().store);
  const auto unknown = registry_.Resolve("/tmp/t", {{"fsync", "false"}});
  EXPECT_TRUE(HasKind(unknown.status(), ErrorKind::kInvalidInput));
  EXPECT_THAT(unknown.status().message(), testing::HasSubstr("'fsync'"));
  EXPECT_EQ(FailureOf("/tmp/t", {{"sync", "maybe"}}), ErrorKind::kInvalidInput);
  EXPECT_EQ(FailureOf("memory://m/t", {{"sync", "true"}}), ErrorKind::kInvalidInput);
}

TEST_F(StoreRegistryTest, MemoryStoresAreSharedByName) {
  const auto one = registry_.Resolve("memory://m/folder/table/").ValueOrDie();
  const auto two = registry_.Resolve("memory://m/other").ValueOrDie();
  EXPECT_EQ(one.store, two.store);
  EXPECT_EQ(one.root, "folder/table");
  EXPECT_EQ(one.store->Describe("folder/table/x"), "memory://m/folder/table/x");
  EXPECT_NE(one.store, registry_.Resolve("memory://n/other").ValueOrDie().store);
  EXPECT_EQ(registry_.Resolve("memory://m").ValueOrDie().root, "");
}

TEST_F(StoreRegistryTest, RegisteredPrefixesComeFirst) {
  const auto bucket = registry_.Resolve("memory://bucket/x").ValueOrDie().store;
  const auto folder = registry_.Resolve("memory://folder/x").ValueOrDie().store;
  registry_.Register("test://bucket/", bucket);
  registry_.Register("test://bucket/folder/", folder);
  const auto table = registry_.Resolve("test://bucket/a/table/").ValueOrDie();
  EXPECT_EQ(table.store, bucket);
  EXPECT_EQ(table.root, "a/table");
  EXPECT_EQ(table.uri, "test://bucket/a/table/");
  EXPECT_EQ(registry_.Resolve("test://bucket/folder/table").ValueOrDie().store, folder);
  EXPECT_EQ(registry_.Resolve("test://bucket/folder/table").ValueOrDie().root, "table");
  EXPECT_EQ(FailureOf("test://other/table"), ErrorKind::kNotSupported);
}

TEST_F(StoreRegistryTest, RefusesWhatItCannotServe) {
  EXPECT_EQ(FailureOf("gopher://host/table"), ErrorKind::kNotSupported);
  for (const char* uri :
       {"", "/", "file://host/table", "file:/tmp/t", "file:///tmp/%2", "file:///tmp/%zz", "memory://", "memory:///t"}) {
    EXPECT_EQ(FailureOf(uri), ErrorKind::kInvalidInput) << uri;
  }
}

}  // namespace
}  // namespace javelin
