#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <mutex>

#include "javelin/base/error.h"
#include "javelin/store/local_file_internal.h"

namespace javelin::internal {

namespace {
constexpr size_t kMostKnownFolders = 10'000;

ErrorKind KindOfErrno(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR: return ErrorKind::kNotFound;
    case EEXIST: return ErrorKind::kAlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS: return ErrorKind::kDenied;
    case ENAMETOOLONG: return ErrorKind::kInvalidInput;
    case ENOMEM: return ErrorKind::kOutOfMemory;
    case EAGAIN:
    case EMFILE:
    case ENFILE: return ErrorKind::kTransient;
    default: return ErrorKind::kIO;
  }
}

// The folder part of an absolute path; "/" is its own.
std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

// As SystemError, but a write never answers NotFound: that would read as a word about the object.
arrow::Status WriteError(int error, std::string_view action, const std::string& path) {
  const arrow::Status failed = SystemError(error, action, path);
  return HasKind(failed, ErrorKind::kNotFound) ? AsKind(failed, ErrorKind::kIO, "write failed") : failed;
}

arrow::Status SyncFolder(const std::string& folder) {
  const File opened(OpenRetrying(folder, O_RDONLY | O_DIRECTORY));
  if (opened.get() < 0) return SystemError(errno, "open folder", folder);
  if (::fsync(opened.get()) != 0) return SystemError(errno, "sync folder", folder);
  return arrow::Status::OK();
}
}  // namespace

int OpenRetrying(const std::string& path, int flags, mode_t mode) {
  int descriptor;
  do {
    descriptor = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

arrow::Status SystemError(int error, std::string_view action, const std::string& path) {
  return MakeError(KindOfErrno(error), fmt::format("cannot {} '{}': {}", action, path, ::strerrordesc_np(error)),
                   {{"errno", fmt::format("{}", error)}});
}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

arrow::Status File::Close(const std::string& path) {
  const int descriptor = std::exchange(descriptor_, -1);
  if (descriptor >= 0 && ::close(descriptor) != 0 && errno != EINTR) return SystemError(errno, "close", path);
  return arrow::Status::OK();
}

arrow::Result<OpenedFile> OpenForReading(const std::string& path) {
  OpenedFile opened{File(OpenRetrying(path, O_RDONLY | O_NONBLOCK)), {}};
  if (opened.file.get() < 0) return SystemError(errno, "open", path);
  if (::fstat(opened.file.get(), &opened.status) != 0) return SystemError(errno, "stat", path);
  if (!S_ISREG(opened.status.st_mode)) return NotFound("'{}' is not a file", path);
  return opened;
}

arrow::Result<BufferPtr> ReadAt(const File& file, const std::string& path, uint64_t offset, uint64_t length,
                                arrow::MemoryPool* pool) {
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<arrow::Buffer> buffer,
                        arrow::AllocateBuffer(static_cast<int64_t>(length), pool));
  uint64_t done = 0;
  while (done < length) {
    const ssize_t count = ::pread(file.get(), buffer->mutable_data() + done, length - done, offset + done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemError(errno, "read", path);
    if (count == 0) return MakeError(ErrorKind::kIO, fmt::format("'{}' became shorter while it was read", path));
    done += count;
  }
  return BufferPtr(std::move(buffer));
}

ObjectInfo InfoOf(std::string key, const struct stat& status) {
  const int64_t modified_ns = int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  // The etag, without fmt: of a folder with many objects it would be half the time of a listing.
  char text[64];
  char* at = text;
  for (const int64_t number : {static_cast<int64_t>(status.st_ino), modified_ns, int64_t{status.st_size}}) {
    at = std::to_chars(at, std::end(text), number, 16).ptr;
    *at++ = '-';
  }
  return {std::move(key), static_cast<uint64_t>(status.st_size), modified_ns, std::string(text, at - 1)};
}

bool FolderMaker::IsKnown(const std::string& folder) {
  std::lock_guard lock(mutex_);
  return known_.contains(folder);
}

arrow::Status FolderMaker::Make(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0777) != 0) {
    if (errno == EEXIST) return arrow::Status::OK();  // if it is no folder, the next step says so
    if (errno != ENOENT || folder == "/") return WriteError(errno, "make folder", folder);
    ARROW_RETURN_NOT_OK(Make(FolderOf(folder)));
    if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) return WriteError(errno, "make folder", folder);
  }
  std::lock_guard lock(mutex_);
  known_.erase(folder);
  return arrow::Status::OK();
}

arrow::Status FolderMaker::Sync(const std::string& folder) {
  if (!sync_) return arrow::Status::OK();
  ARROW_RETURN_NOT_OK(SyncFolder(folder));
  for (std::string child = folder; child != "/" && !IsKnown(child); child = FolderOf(child)) {
    const arrow::Status synced = SyncFolder(FolderOf(child));
    // A folder we may not open is one that no writer with our rights has made.
    if (!synced.ok() && !HasKind(synced, ErrorKind::kDenied)) return synced;
    std::lock_guard lock(mutex_);
    if (known_.size() >= kMostKnownFolders) known_.clear();
    known_.insert(child);
  }
  return arrow::Status::OK();
}

arrow::Status FolderMaker::SyncFile(const std::string& path) {
  if (!sync_) return arrow::Status::OK();
  ARROW_ASSIGN_OR_RAISE(const OpenedFile opened, OpenForReading(path));
  if (::fsync(opened.file.get()) != 0) return SystemError(errno, "sync", path);
  return Sync(FolderOf(path));
}

arrow::Result<StagingFile> StagingFile::Create(FolderMaker& folders, Runtime& runtime, std::string path) {
  std::string folder = FolderOf(path);
  std::string staging =
      fmt::format("{}/.{:016x}{:016x}.tmp", folder == "/" ? "" : folder, runtime.Random(), runtime.Random());
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL;
  File file(OpenRetrying(staging, kFlags, 0666));
  if (file.get() < 0 && errno == ENOENT) {
    ARROW_RETURN_NOT_OK(folders.Make(folder));
    file = File(OpenRetrying(staging, kFlags, 0666));
  }
  if (file.get() < 0) return WriteError(errno, "create", staging);
  return StagingFile(folders, std::move(path), std::move(folder), std::move(staging), std::move(file));
}

StagingFile::StagingFile(StagingFile&& other) noexcept
    : folders_(other.folders_),
      path_(std::move(other.path_)),
      folder_(std::move(other.folder_)),
      staging_(std::exchange(other.staging_, "")),
      file_(std::move(other.file_)) {}

StagingFile::~StagingFile() {
  if (!staging_.empty()) ::unlink(staging_.c_str());
}

arrow::Status StagingFile::Write(const arrow::Buffer& bytes) {
  int64_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::write(file_.get(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemError(errno, "write", staging_);
    done += count;
  }
  return arrow::Status::OK();
}

arrow::Status StagingFile::SyncBytes() {
  if (folders_->sync() && ::fsync(file_.get()) != 0) return SystemError(errno, "sync", staging_);
  return arrow::Status::OK();
}

arrow::Status StagingFile::PublishReplacing() {
  ARROW_RETURN_NOT_OK(SyncBytes());
  ARROW_RETURN_NOT_OK(file_.Close(staging_));
  if (::rename(staging_.c_str(), path_.c_str()) != 0) return WriteError(errno, "create", path_);
  staging_.clear();
  return folders_->Sync(folder_);
}

arrow::Status StagingFile::PublishIfAbsent() {
  ARROW_RETURN_NOT_OK(SyncBytes());
  if (::link(staging_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    struct stat status;
    // A network file system can repeat a link whose answer was lost and meet its own work: the file then has two names.
    const bool is_ours = error == EEXIST && ::fstat(file_.get(), &status) == 0 && status.st_nlink > 1;
    if (error == EPERM || error == EOPNOTSUPP) {
      return NotSupported("the file system of '{}' has no hard links, so objects cannot be created conditionally there",
                          path_);
    }
    if (!is_ours) return WriteError(error, "create", path_);
  }
  // From here on the object exists. Should removing the other name fail, it is garbage that no listing shows.
  ::unlink(staging_.c_str());
  staging_.clear();
  return folders_->Sync(folder_);
}

}  // namespace javelin::internal
