// The system calls of the local store: descriptors, staging files, ordered syncs, errno as typed errors.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <set>
#include <string>

#include <arrow/buffer.h>
#include <arrow/result.h>

#include "javelin/base/runtime.h"
#include "javelin/store/object_store.h"

namespace javelin::internal {

// The typed error of a failed system call. `error` is an errno.
arrow::Status SystemError(int error, std::string_view action, const std::string& path);

// Owns a descriptor.
class File {
 public:
  File() = default;
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~File();
  int get() const { return descriptor_; }
  // Reports what a delayed write may only tell now.
  arrow::Status Close(const std::string& path);

 private:
  int descriptor_ = -1;
};

// open(2) with O_CLOEXEC; not stopped by signals.
int OpenRetrying(const std::string& path, int flags, mode_t mode = 0);

// A regular file opened for reading. NotFound if there is none, or a folder of that name.
struct OpenedFile {
  File file;
  struct stat status;
};
arrow::Result<OpenedFile> OpenForReading(const std::string& path);
arrow::Result<BufferPtr> ReadAt(const File& file, const std::string& path, uint64_t offset, uint64_t length,
                                arrow::MemoryPool* pool);
ObjectInfo InfoOf(std::string key, const struct stat& status);

// Makes folders and, where asked, makes sure that their names survive a power loss.
class FolderMaker {
 public:
  FolderMaker(Runtime& runtime, bool sync) : mutex_(runtime), sync_(sync) {}
  // Creates the folder and its missing ancestors.
  arrow::Status Make(const std::string& folder);
  // Syncs the entries of `folder`. The first time also its ancestors: another process may have made them and not
  // synced them yet.
  arrow::Status Sync(const std::string& folder);
  // Syncs a file that is there, and its name. NotFound.
  arrow::Status SyncFile(const std::string& path);
  bool sync() const { return sync_; }

 private:
  bool IsKnown(const std::string& folder);

  Mutex mutex_;
  const bool sync_;
  std::set<std::string> known_;  // folders whose own names are durable; guarded by mutex_
};

// A file in the making next to its final name. Removed unless it was published.
class StagingFile {
 public:
  static arrow::Result<StagingFile> Create(FolderMaker& folders, Runtime& runtime, std::string path);
  StagingFile(StagingFile&& other) noexcept;
  ~StagingFile();

  arrow::Status Write(const arrow::Buffer& bytes);
  // Makes the bytes durable and gives the file its name: replacing what is there, or AlreadyExists.
  arrow::Status PublishReplacing();
  arrow::Status PublishIfAbsent();

 private:
  StagingFile(FolderMaker& folders, std::string path, std::string folder, std::string staging, File file)
      : folders_(&folders),
        path_(std::move(path)),
        folder_(std::move(folder)),
        staging_(std::move(staging)),
        file_(std::move(file)) {}
  arrow::Status SyncBytes();

  FolderMaker* folders_;
  std::string path_;
  std::string folder_;
  std::string staging_;  // empty once the staging name is gone or this was moved from
  File file_;
};

}  // namespace javelin::internal
