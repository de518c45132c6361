// What only the local store has: the order of its system calls, their failures, and what else may lie in its folders.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "javelin/store/stores.h"
#include "javelin/store/test_support_internal.h"

// ---- a recorder between the store and the system: remembers the calls that matter, and can fail one of them ----

namespace {

struct SystemCalls {
  bool recording = false;
  std::string below;  // paths are told relative to this folder
  std::vector<std::string> calls;
  std::string fail_call;  // name of the call to fail ...
  int fail_with = 0;      // ... once, with this errno
} system_calls;

std::string Shown(std::string path) {
  if (path.starts_with(system_calls.below)) path.erase(0, system_calls.below.size());
  const size_t name = path.rfind('/') + 1;
  return path.ends_with(".tmp") && path[name] == '.' ? path.substr(0, name) + "STAGING" : path;
}

// True if the call shall fail; errno is set then.
bool Record(const std::string& call, const std::string& arguments) {
  if (!system_calls.recording) return false;
  if (call == system_calls.fail_call) {
    system_calls.fail_call.clear();
    errno = system_calls.fail_with;
    return true;
  }
  system_calls.calls.push_back(call + " " + arguments);
  return false;
}

std::string PathOf(int descriptor) {
  char path[4096];
  const ssize_t length = ::readlink(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), path, sizeof(path));
  return length < 0 ? "?" : std::string(path, length);
}

}  // namespace

extern "C" {
int fsync(int descriptor) {
  if (Record("fsync", Shown(PathOf(descriptor)))) return -1;
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}
int link(const char* from, const char* to) noexcept {
  if (Record("link", Shown(from) + " " + Shown(to))) return -1;
  return static_cast<int>(::syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int rename(const char* from, const char* to) noexcept {
  if (Record("rename", Shown(from) + " " + Shown(to))) return -1;
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
}

namespace javelin {
namespace {

using namespace store_test;
using testing::ElementsAre;
using testing::IsEmpty;
namespace fs = std::filesystem;

class LocalStoreTest : public testing::Test {
 protected:
  LocalStoreTest() {
    std::string pattern = (fs::temp_directory_path() / "javelin-local-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    store_ = Make(true);
  }
  ~LocalStoreTest() override {
    system_calls = {};
    fs::remove_all(folder_);
  }
  std::shared_ptr<ObjectStore> Make(bool sync) { return MakeLocalStore(resources_, folder_ + "/root", {.sync = sync}); }

  std::vector<std::string> CallsOf(const std::function<void()>& body) {
    system_calls = {.recording = true, .below = folder_};
    body();
    system_calls.recording = false;
    return system_calls.calls;
  }
  arrow::Status WithFailure(const std::string& call, int error, const std::function<arrow::Status()>& body) {
    system_calls = {.recording = true, .below = folder_, .fail_call = call, .fail_with = error};
    const arrow::Status status = body();
    EXPECT_EQ(system_calls.fail_call, "") << call << " was not called";
    system_calls = {};
    return status;
  }
  std::vector<std::string> FilesIn(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ + "/root/" + folder))
      names.push_back(entry.path().filename());
    return names;
  }

  const Resources resources_ = MakeResources(MakeThreadRuntime());
  std::string folder_;
  std::shared_ptr<ObjectStore> store_;
};

TEST_F(LocalStoreTest, CreateSyncsTheFileThenTheNameThenNewFolders) {
  const auto first = CallsOf([&] { ASSERT_TRUE(store_->PutIfAbsent("t/wal/1", Bytes("x")).ok()); });
  ASSERT_GE(first.size(), 6u);
  EXPECT_THAT(std::vector<std::string>(first.begin(), first.begin() + 6),
              ElementsAre("fsync /root/t/wal/STAGING", "link /root/t/wal/STAGING /root/t/wal/1", "fsync /root/t/wal",
                          "fsync /root/t", "fsync /root", "fsync "));
  EXPECT_THAT(CallsOf([&] { ASSERT_TRUE(store_->PutIfAbsent("t/wal/2", Bytes("x")).ok()); }),
              ElementsAre("fsync /root/t/wal/STAGING", "link /root/t/wal/STAGING /root/t/wal/2", "fsync /root/t/wal"));
}

TEST_F(LocalStoreTest, ReplacingSyncsInTheSameOrder) {
  ASSERT_TRUE(store_->Put("t/a", Bytes("x")).ok());
  const std::vector<std::string> expected = {"fsync /root/t/STAGING", "rename /root/t/STAGING /root/t/b",
                                             "fsync /root/t"};
  EXPECT_EQ(CallsOf([&] { ASSERT_TRUE(store_->Put("t/b", Bytes("x")).ok()); }), expected);
  EXPECT_EQ(CallsOf([&] { ASSERT_TRUE(store_->Copy("t/a", "t/b").ok()); }), expected);
  EXPECT_EQ(CallsOf([&] {
              auto writer = store_->OpenWriter("t/b").ValueOrDie();
              ASSERT_TRUE(writer->Write(Bytes("x")).ok());
              ASSERT_TRUE(writer->Finish().ok());
            }),
            expected);
}

TEST_F(LocalStoreTest, AFolderMadeByAnotherProcessIsSyncedToo) {
  ASSERT_TRUE(store_->Put("t/a", Bytes("x")).ok());
  const auto other = Make(true);  // as another process, it does not know what was synced
  const auto calls = CallsOf([&] { ASSERT_TRUE(other->Put("t/b", Bytes("x")).ok()); });
  EXPECT_THAT(calls, testing::IsSupersetOf({"fsync /root/t", "fsync /root", "fsync "}));
}

TEST_F(LocalStoreTest, ARecreatedFolderIsSyncedAgain) {
  ASSERT_TRUE(store_->Put("t/u/a", Bytes("x")).ok());
  fs::remove_all(folder_ + "/root/t");
  const auto calls = CallsOf([&] { ASSERT_TRUE(store_->Put("t/u/a", Bytes("x")).ok()); });
  EXPECT_THAT(calls, testing::IsSupersetOf({"fsync /root/t/u", "fsync /root/t", "fsync /root"}));
}

TEST_F(LocalStoreTest, WithoutSyncNothingIsSynced) {
  const auto store = Make(false);
  EXPECT_THAT(CallsOf([&] { ASSERT_TRUE(store->PutIfAbsent("t/a", Bytes("x")).ok()); }),
              ElementsAre("link /root/t/STAGING /root/t/a"));
}

TEST_F(LocalStoreTest, WhatAnotherProcessWroteIsMadeDurable) {
  ASSERT_TRUE(Make(false)->Put("t/u/a", Bytes("x")).ok());
  const auto first = CallsOf([&] { ASSERT_TRUE(store_->MakeDurable("t/u/a").ok()); });
  ASSERT_GE(first.size(), 5u);
  EXPECT_THAT(std::vector<std::string>(first.begin(), first.begin() + 5),
              ElementsAre("fsync /root/t/u/a", "fsync /root/t/u", "fsync /root/t", "fsync /root", "fsync "));
  EXPECT_THAT(CallsOf([&] { ASSERT_TRUE(store_->MakeDurable("t/u/a").ok()); }),
              ElementsAre("fsync /root/t/u/a", "fsync /root/t/u"));
  EXPECT_THAT(CallsOf([&] { ASSERT_TRUE(Make(false)->MakeDurable("t/u/a").ok()); }), IsEmpty());
  EXPECT_EQ(KindText(store_->MakeDurable("t/u/b")), "NotFound");
  EXPECT_EQ(KindText(WithFailure("fsync", EIO, [&] { return store_->MakeDurable("t/u/a"); })), "IO");
}

TEST_F(LocalStoreTest, FailedSystemCallsAreTypedAndLeaveNoFile) {
  ASSERT_TRUE(store_->Put("t/a", Bytes("old")).ok());
  const auto put = [&] { return store_->Put("t/a", Bytes("new")); };
  const auto create = [&] { return store_->PutIfAbsent("t/b", Bytes("new")); };
  EXPECT_EQ(KindText(WithFailure("fsync", EIO, put)), "IO");
  EXPECT_EQ(KindText(WithFailure("rename", ENOSPC, put)), "IO");
  EXPECT_EQ(KindText(WithFailure("rename", ENOENT, put)), "IO");
  EXPECT_EQ(KindText(WithFailure("fsync", EIO, create)), "IO");
  EXPECT_EQ(KindText(WithFailure("link", EACCES, create)), "Denied");
  EXPECT_EQ(KindText(WithFailure("link", ENOENT, create)), "IO");
  EXPECT_EQ(KindText(WithFailure("link", EPERM, create)), "NotSupported");
  EXPECT_THAT(FilesIn("t"), ElementsAre("a"));
  EXPECT_EQ(TextOf(store_->Get("t/a")), "old");
}

TEST_F(LocalStoreTest, StagingFilesOfACrashAreInvisible) {
  ASSERT_TRUE(store_->Put("t/a", Bytes("x")).ok());
  const std::string staging = ".0123456789abcdef0123456789abcdef.tmp";
  std::ofstream(folder_ + "/root/t/" + staging) << "half";
  fs::create_directories(folder_ + "/root/u/v");
  std::ofstream(folder_ + "/root/u/v/" + staging) << "half";
  EXPECT_THAT(KeysOf(ListAll(*store_, {}).ValueOrDie()), ElementsAre("t/a"));
  EXPECT_THAT(ListAll(*store_, {.recursive = false})->folders, ElementsAre("t/"));
}

TEST_F(LocalStoreTest, OnlyFilesAreObjects) {
  fs::create_directories(folder_ + "/root/t/folder");
  ASSERT_EQ(::mkfifo((folder_ + "/root/t/pipe").c_str(), 0600), 0);
  fs::create_symlink(folder_ + "/nowhere", folder_ + "/root/t/dangling");
  ASSERT_TRUE(store_->Put("t/a", Bytes("x")).ok());
  fs::create_symlink(folder_ + "/root/t/a", folder_ + "/root/t/link");
  for (const char* key : {"t/folder", "t/pipe", "t/dangling"}) {
    EXPECT_EQ(KindText(store_->Get(key)), "NotFound") << key;
    EXPECT_EQ(KindText(store_->Head(key)), "NotFound") << key;
  }
  EXPECT_THAT(KeysOf(ListAll(*store_, {}).ValueOrDie()), ElementsAre("t/a", "t/link"));
  EXPECT_EQ(KindText(store_->Put("t/folder", Bytes("x"))), "IO");
  EXPECT_EQ(KindText(store_->Put("t/a/b", Bytes("x"))), "IO");
  EXPECT_EQ(KindText(store_->PutIfAbsent("t/a/b", Bytes("x"))), "IO");
  EXPECT_EQ(TextOf(store_->Get("t/a")), "x");
}

TEST_F(LocalStoreTest, LoopsOfSymbolicLinksEnd) {
  fs::create_directories(folder_ + "/root/t");
  fs::create_directory_symlink("..", folder_ + "/root/t/up");
  EXPECT_EQ(KindText(store_->List({.prefix = "t/"})), "IO");
}

TEST_F(LocalStoreTest, ShortRangesNearEachOtherAreReadAsOneLongOnesAlone) {
  std::string bytes(300'000, 'x');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 % 251);
  ASSERT_TRUE(store_->Put("a", arrow::Buffer::FromString(bytes)).ok());
  const std::vector<ByteRange> ranges = {{5'000, 10}, {100, 70'000}, {9'106, 50}, {9'101, 5}, {200'000, 7}, {8, 0}};
  const auto read = store_->GetRanges("a", ranges).ValueOrDie();
  ASSERT_EQ(read.size(), ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i)
    EXPECT_EQ(read[i]->ToString(), bytes.substr(ranges[i].offset, ranges[i].length)) << i;
  EXPECT_NE(read[0]->parent(), nullptr);
  EXPECT_EQ(read[0]->parent(), read[2]->parent()) << "4,096 bytes lie between them, or less";
  EXPECT_EQ(read[0]->parent(), read[3]->parent());
  EXPECT_EQ(read[1]->parent(), nullptr);
  EXPECT_EQ(read[4]->parent(), nullptr);
}

TEST_F(LocalStoreTest, NamesAndErrorsTellThePath) {
  EXPECT_EQ(store_->Describe("t/a"), folder_ + "/root/t/a");
  EXPECT_THAT(store_->Get("t/a").status().message(), testing::HasSubstr(folder_ + "/root/t/a"));
  EXPECT_EQ(KindText(store_->Put(std::string(300, 'x'), Bytes("x"))), "InvalidInput");
  EXPECT_FALSE(store_->lists_in_order());
}

TEST_F(LocalStoreTest, RefusedByTheSystemIsDenied) {
  ASSERT_TRUE(store_->Put("t/a", Bytes("x")).ok());
  ASSERT_EQ(::chmod((folder_ + "/root/t").c_str(), 0), 0);
  const uid_t user = ::geteuid();
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(::seteuid(user == 0 ? kNobody : user), 0);  // the superuser is refused nothing
  EXPECT_EQ(KindText(store_->Get("t/a")), "Denied");
  EXPECT_EQ(KindText(store_->Put("t/b", Bytes("x"))), "Denied");
  EXPECT_EQ(KindText(store_->List({.prefix = "t/"})), "Denied");
  ASSERT_EQ(::seteuid(user), 0);
  ASSERT_EQ(::chmod((folder_ + "/root/t").c_str(), 0700), 0);
}

TEST_F(LocalStoreTest, StoresOfTwoProcessesExcludeEachOther) {
  const auto other = Make(true);
  ASSERT_TRUE(store_->PutIfAbsent("t/a", Bytes("first")).ok());
  EXPECT_EQ(KindText(other->PutIfAbsent("t/a", Bytes("second"))), "AlreadyExists");
  EXPECT_THAT(FilesIn("t"), ElementsAre("a"));
}

}  // namespace
}  // namespace javelin
