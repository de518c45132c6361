#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "javelin/base/error.h"
#include "javelin/store/coalesce.h"
#include "javelin/store/local_file_internal.h"
#include "javelin/store/object_map_internal.h"
#include "javelin/store/stores.h"

namespace javelin {
namespace internal {
namespace {

constexpr int kDeepestFolder = 100;      // more means a loop of symbolic links
constexpr size_t kEntryBytes = 8 << 10;  // of names read at once, on the stack of each folder
constexpr uint64_t kCopyPiece = 4 << 20;
constexpr uint64_t kLongRange = 64 << 10;
constexpr uint64_t kLocalGap = 4 << 10;  // bytes that cost less to read than another system call

class LocalWriter final : public ObjectWriter {
 public:
  explicit LocalWriter(StagingFile file) : file_(std::move(file)) {}

  arrow::Status Write(BufferPtr bytes) override {
    ARROW_RETURN_NOT_OK(state_);
    state_ = file_.Write(*bytes);
    if (state_.ok()) bytes_written_ += bytes->size();
    return state_;
  }

  arrow::Status Finish() override {
    ARROW_RETURN_NOT_OK(state_);
    state_ = Closed("this object is finished already");
    return file_.PublishReplacing();
  }

 private:
  StagingFile file_;
  arrow::Status state_;  // what every further call answers
};

// Walks folders of a store; everything that vanishes meanwhile counts as never seen.
class FolderWalk {
 public:
  // Calls `visit(name, status)` for each file and folder directly in `folder` that may belong to an object.
  template <typename Visit>
  static arrow::Status ForEachEntry(const std::string& folder, Visit visit) {
    const File opened(OpenRetrying(folder, O_RDONLY | O_DIRECTORY));
    if (opened.get() < 0) return VanishedOr(errno, "list", folder);
    // Not readdir, which takes and frees 32 KiB for each folder.
    alignas(dirent64) char entries[kEntryBytes];
    while (true) {
      const ssize_t size = ::getdents64(opened.get(), entries, sizeof(entries));
      if (size < 0) return VanishedOr(errno, "list", folder);
      if (size == 0) return arrow::Status::OK();
      for (ssize_t at = 0; at < size;) {
        const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
        at += entry->d_reclen;
        const std::string name = entry->d_name;
        if (name == "." || name == "..") continue;
        struct stat status;
        if (::fstatat(opened.get(), name.c_str(), &status, 0) != 0) {
          ARROW_RETURN_NOT_OK(VanishedOr(errno, "stat", folder + "/" + name));
          continue;
        }
        if (name.starts_with('.') && !S_ISDIR(status.st_mode)) continue;  // staging files; no object has such a name
        ARROW_ASSIGN_OR_RAISE(const bool go_on, visit(name, status));
        if (!go_on) return arrow::Status::OK();
      }
    }
  }

  // All objects below `folder`, keys relative to the store's root.
  static arrow::Status CollectObjects(const std::string& folder, const std::string& prefix, int depth,
                                      std::vector<ListEntry>& entries) {
    ARROW_RETURN_NOT_OK(CheckDepth(depth, folder));
    return ForEachEntry(folder, [&](const std::string& name, const struct stat& status) -> arrow::Result<bool> {
      if (S_ISREG(status.st_mode)) entries.push_back({InfoOf(prefix + name, status), false});
      if (S_ISDIR(status.st_mode)) {
        ARROW_RETURN_NOT_OK(CollectObjects(folder + "/" + name, prefix + name + "/", depth + 1, entries));
      }
      return true;
    });
  }

  // Objects directly in `folder` and the folders in it that hold an object whose key is above `start_after`.
  static arrow::Status CollectLevel(const std::string& folder, const std::string& prefix,
                                    const std::string& start_after, std::vector<ListEntry>& entries) {
    return ForEachEntry(folder, [&](const std::string& name, const struct stat& status) -> arrow::Result<bool> {
      if (S_ISREG(status.st_mode)) entries.push_back({InfoOf(prefix + name, status), false});
      if (S_ISDIR(status.st_mode)) {
        ARROW_ASSIGN_OR_RAISE(const bool counts, HoldsObject(folder + "/" + name, prefix + name + "/", start_after, 1));
        if (counts) entries.push_back({{prefix + name + "/"}, true});
      }
      return true;
    });
  }

 private:
  static arrow::Result<bool> HoldsObject(const std::string& folder, const std::string& prefix,
                                         const std::string& start_after, int depth) {
    ARROW_RETURN_NOT_OK(CheckDepth(depth, folder));
    bool found = false;
    ARROW_RETURN_NOT_OK(
        ForEachEntry(folder, [&](const std::string& name, const struct stat& status) -> arrow::Result<bool> {
          if (S_ISREG(status.st_mode)) found = prefix + name > start_after;
          if (S_ISDIR(status.st_mode)) {
            ARROW_ASSIGN_OR_RAISE(found, HoldsObject(folder + "/" + name, prefix + name + "/", start_after, depth + 1));
          }
          return !found;
        }));
    return found;
  }

  static arrow::Status VanishedOr(int error, std::string_view action, const std::string& path) {
    if (error == ENOENT || error == ENOTDIR) return arrow::Status::OK();
    return SystemError(error, action, path);
  }

  static arrow::Status CheckDepth(int depth, const std::string& folder) {
    if (depth <= kDeepestFolder) return arrow::Status::OK();
    return MakeError(ErrorKind::kIO, fmt::format("'{}' is too deep; do symbolic links form a loop?", folder));
  }
};

class LocalStore final : public ObjectStore {
 public:
  LocalStore(const Resources& resources, std::string root, LocalStoreOptions options)
      : runtime_(resources.runtime), pool_(resources.pool), folders_(*resources.runtime, options.sync) {
    while (root.ends_with('/')) root.pop_back();
    root_ = std::move(root);
  }

  arrow::Result<BufferPtr> Get(const std::string& key) override {
    ARROW_ASSIGN_OR_RAISE(const OpenedFile opened, Open(key));
    return ReadAt(opened.file, PathOf(key), 0, opened.status.st_size, pool_);
  }

  arrow::Result<std::vector<BufferPtr>> GetRanges(const std::string& key, std::span<const ByteRange> ranges) override {
    ARROW_ASSIGN_OR_RAISE(const OpenedFile opened, Open(key));
    for (const ByteRange& range : ranges) ARROW_RETURN_NOT_OK(CheckRange(key, range, opened.status.st_size));
    std::vector<ByteRange> shorts;
    std::copy_if(ranges.begin(), ranges.end(), std::back_inserter(shorts), IsShort);
    shorts = CoalesceRanges(shorts, kLocalGap);
    std::vector<BufferPtr> read(shorts.size());
    std::vector<BufferPtr> answers;
    answers.reserve(ranges.size());
    for (const ByteRange& range : ranges) {
      if (!IsShort(range)) {
        ARROW_ASSIGN_OR_RAISE(answers.emplace_back(), ReadRange(opened, key, range));
        continue;
      }
      const auto after = std::upper_bound(shorts.begin(), shorts.end(), range.offset,
                                          [](uint64_t offset, const ByteRange& one) { return offset < one.offset; });
      const size_t index = static_cast<size_t>(after - shorts.begin()) - 1;
      if (read[index] == nullptr) {
        ARROW_ASSIGN_OR_RAISE(read[index], ReadRange(opened, key, shorts[index]));
      }
      answers.push_back(range == shorts[index]
                            ? read[index]
                            : arrow::SliceBuffer(read[index], static_cast<int64_t>(range.offset - shorts[index].offset),
                                                 static_cast<int64_t>(range.length)));
    }
    return answers;
  }

  arrow::Result<ObjectTail> GetTail(const std::string& key, uint64_t max_bytes) override {
    ARROW_ASSIGN_OR_RAISE(const OpenedFile opened, Open(key));
    const uint64_t size = opened.status.st_size;
    const uint64_t length = std::min(size, max_bytes);
    ARROW_ASSIGN_OR_RAISE(BufferPtr bytes, ReadAt(opened.file, PathOf(key), size - length, length, pool_));
    return ObjectTail{std::move(bytes), size};
  }

  arrow::Result<ObjectInfo> Head(const std::string& key) override {
    ARROW_RETURN_NOT_OK(CheckKey(key));
    struct stat status;
    if (::stat(PathOf(key).c_str(), &status) != 0) return SystemError(errno, "stat", PathOf(key));
    if (!S_ISREG(status.st_mode)) return NotFound("'{}' is not a file", PathOf(key));
    return InfoOf(key, status);
  }

  arrow::Status Put(const std::string& key, const BufferPtr& bytes) override {
    ARROW_RETURN_NOT_OK(CheckPut(key, bytes));
    ARROW_ASSIGN_OR_RAISE(StagingFile file, Stage(key));
    ARROW_RETURN_NOT_OK(file.Write(*bytes));
    return file.PublishReplacing();
  }

  arrow::Status PutIfAbsent(const std::string& key, const BufferPtr& bytes) override {
    ARROW_RETURN_NOT_OK(CheckPut(key, bytes));
    ARROW_ASSIGN_OR_RAISE(StagingFile file, Stage(key));
    ARROW_RETURN_NOT_OK(file.Write(*bytes));
    return file.PublishIfAbsent();
  }

  arrow::Result<std::string> PutIfMatch(const std::string& key, const BufferPtr& bytes,
                                        const std::string& etag) override {
    return NotSupported("a local file system cannot replace '{}' conditionally in one step", Describe(key));
  }

  arrow::Result<ListPage> List(const ListRequest& request) override {
    ARROW_RETURN_NOT_OK(CheckListRequest(request));
    std::string folder = root_ + "/" + request.prefix;
    folder.pop_back();
    if (folder.empty()) folder = "/";
    std::vector<ListEntry> entries;
    ARROW_RETURN_NOT_OK(request.recursive
                            ? FolderWalk::CollectObjects(folder, request.prefix, 0, entries)
                            : FolderWalk::CollectLevel(folder, request.prefix, request.start_after, entries));
    std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.info.key < b.info.key; });
    ListPage page;
    for (ListEntry& entry : entries) {
      if (!entry.is_folder && entry.info.key <= request.start_after) continue;
      if (!request.page_token.empty() && entry.info.key <= request.page_token) continue;
      if (!AddToPage(page, std::move(entry), request.max_keys)) break;
    }
    return page;
  }

  arrow::Status Delete(const std::string& key) override {
    ARROW_RETURN_NOT_OK(CheckKey(key));
    // Not synced: what a power loss brings back is what a crash before the deletion would have left.
    if (::unlink(PathOf(key).c_str()) == 0) return arrow::Status::OK();
    if (errno == ENOENT || errno == ENOTDIR || errno == EISDIR) return arrow::Status::OK();
    return SystemError(errno, "delete", PathOf(key));
  }

  arrow::Status Copy(const std::string& from, const std::string& to) override {
    ARROW_ASSIGN_OR_RAISE(const OpenedFile source, Open(from));
    ARROW_ASSIGN_OR_RAISE(StagingFile target, Stage(to));
    const uint64_t size = source.status.st_size;
    for (uint64_t offset = 0; offset < size; offset += kCopyPiece) {
      ARROW_ASSIGN_OR_RAISE(const BufferPtr piece,
                            ReadAt(source.file, PathOf(from), offset, std::min(kCopyPiece, size - offset), pool_));
      ARROW_RETURN_NOT_OK(target.Write(*piece));
    }
    return target.PublishReplacing();
  }

  arrow::Result<std::unique_ptr<ObjectWriter>> OpenWriter(const std::string& key) override {
    ARROW_ASSIGN_OR_RAISE(StagingFile file, Stage(key));
    return std::make_unique<LocalWriter>(std::move(file));
  }

  arrow::Status MakeDurable(const std::string& key) override {
    ARROW_RETURN_NOT_OK(CheckKey(key));
    return folders_.SyncFile(PathOf(key));
  }

  bool lists_in_order() const override { return false; }
  std::string Describe(const std::string& key) const override { return PathOf(key); }

 private:
  // What lies near each other is read by one call. Long ranges are read alone, so that they share no memory.
  static bool IsShort(const ByteRange& range) { return range.length > 0 && range.length < kLongRange; }
  arrow::Result<BufferPtr> ReadRange(const OpenedFile& opened, const std::string& key, const ByteRange& range) const {
    return ReadAt(opened.file, PathOf(key), range.offset, range.length, pool_);
  }

  std::string PathOf(const std::string& key) const { return root_ + "/" + key; }

  arrow::Result<OpenedFile> Open(const std::string& key) const {
    ARROW_RETURN_NOT_OK(CheckKey(key));
    return OpenForReading(PathOf(key));
  }

  arrow::Result<StagingFile> Stage(const std::string& key) {
    ARROW_RETURN_NOT_OK(CheckKey(key));
    return StagingFile::Create(folders_, *runtime_, PathOf(key));
  }

  const std::shared_ptr<Runtime> runtime_;
  arrow::MemoryPool* const pool_;
  std::string root_;  // without trailing '/', so "" is the root of the file system
  FolderMaker folders_;
};

}  // namespace
}  // namespace internal

std::shared_ptr<ObjectStore> MakeLocalStore(const Resources& resources, std::string root, LocalStoreOptions options) {
  return std::make_shared<internal::LocalStore>(resources, std::move(root), options);
}

}  // namespace javelin
