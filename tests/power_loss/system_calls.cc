#include "system_calls.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <map>
#include <optional>

namespace javelin::power_loss {
namespace {

struct Recording {
  std::atomic<bool> on = false;
  std::string folder;
  std::vector<SystemCall> calls;
  std::map<std::pair<dev_t, ino_t>, int> files;  // as numbered here: the system uses numbers of deleted files again
  int next_file = 0;                             // goes on from recording to recording
} recording;

// Held over a call and its note, so that the notes have the order of the calls. Below every runtime, so no lock of one.
class Turn {
 public:
  Turn() {
    while (busy_.exchange(true)) ::sched_yield();
  }
  ~Turn() { busy_ = false; }

 private:
  static inline std::atomic<bool> busy_ = false;
};

std::optional<std::string> Relative(const std::string& path) {
  if (path == recording.folder) return "";
  if (!path.starts_with(recording.folder + "/")) return std::nullopt;
  return path.substr(recording.folder.size() + 1);
}

std::string PathOf(int descriptor) {
  char path[4096];
  const ssize_t length = ::readlink(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), path, sizeof(path));
  return length < 0 ? "?" : std::string(path, length);
}

int FileOf(const struct stat& status) {
  const auto found = recording.files.find({status.st_dev, status.st_ino});
  return found == recording.files.end() ? -1 : found->second;
}

void Note(SystemCall call) { recording.calls.push_back(std::move(call)); }

// Makes a call about a path, and notes it if it had an effect below the folder.
template <typename Call>
int MakeAndNote(SystemCall::Kind kind, const char* path, const char* target, Call call) {
  if (!recording.on) return call();
  const Turn turn;
  const int result = call();
  const auto name = Relative(path), other = target == nullptr ? std::optional<std::string>("") : Relative(target);
  if (result == 0 && name.has_value() && other.has_value()) Note({.kind = kind, .path = *name, .target = *other});
  return result;
}

void NoteCreated(int descriptor, const char* path) {
  struct stat status;
  const auto name = Relative(path);
  if (descriptor < 0 || !name.has_value() || ::fstat(descriptor, &status) != 0) return;
  const int file = recording.files[{status.st_dev, status.st_ino}] = recording.next_file++;
  Note({.kind = SystemCall::Kind::kCreate, .path = *name, .file = file});
}

void NoteSynced(int descriptor) {
  struct stat status;
  const auto name = Relative(PathOf(descriptor));
  if (!name.has_value() || ::fstat(descriptor, &status) != 0) return;
  if (S_ISDIR(status.st_mode)) {
    Note({.kind = SystemCall::Kind::kSyncFolder, .path = *name});
  } else {
    Note({.kind = SystemCall::Kind::kSyncFile, .path = *name, .file = FileOf(status)});
  }
}

}  // namespace

std::string Describe(const SystemCall& call) {
  static constexpr const char* kNames[] = {"create", "write",  "sync",   "sync folder", "mkdir",
                                           "link",   "rename", "unlink", "mark"};
  std::string text = kNames[static_cast<int>(call.kind)] + (" " + call.path);
  if (!call.target.empty()) text += " -> " + call.target;
  return text;
}

void StartRecording(const std::string& folder) {
  recording.folder = folder;
  recording.calls.clear();
  recording.files.clear();
  recording.on = true;
}

std::vector<SystemCall> StopRecording() {
  const Turn turn;
  recording.on = false;
  return std::move(recording.calls);
}

void Mark(const std::string& text) {
  const Turn turn;
  Note({.kind = SystemCall::Kind::kMark, .path = text});
}

}  // namespace javelin::power_loss

using namespace javelin::power_loss;
using Kind = SystemCall::Kind;

extern "C" {
int open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if (flags & O_CREAT) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  const auto call = [&] { return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode)); };
  if (!recording.on || !(flags & O_CREAT)) return call();
  const Turn turn;
  const int descriptor = call();
  NoteCreated(descriptor, path);
  return descriptor;
}

ssize_t write(int descriptor, const void* bytes, size_t size) {
  const auto call = [&] { return ::syscall(SYS_write, descriptor, bytes, size); };
  if (!recording.on) return call();
  const Turn turn;
  const ssize_t written = call();
  struct stat status;
  const int file = written > 0 && ::fstat(descriptor, &status) == 0 ? FileOf(status) : -1;
  if (file >= 0)
    Note({.kind = Kind::kWrite, .file = file, .bytes = std::string(static_cast<const char*>(bytes), written)});
  return written;
}

int fsync(int descriptor) {
  if (!recording.on) return 0;
  const Turn turn;
  NoteSynced(descriptor);
  return 0;
}

int mkdir(const char* path, mode_t mode) noexcept {
  return MakeAndNote(Kind::kMakeFolder, path, nullptr,
                     [&] { return static_cast<int>(::syscall(SYS_mkdirat, AT_FDCWD, path, mode)); });
}
int link(const char* from, const char* to) noexcept {
  return MakeAndNote(Kind::kLink, from, to,
                     [&] { return static_cast<int>(::syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0)); });
}
int rename(const char* from, const char* to) noexcept {
  return MakeAndNote(Kind::kRename, from, to,
                     [&] { return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0)); });
}
int unlink(const char* path) noexcept {
  return MakeAndNote(Kind::kUnlink, path, nullptr,
                     [&] { return static_cast<int>(::syscall(SYS_unlinkat, AT_FDCWD, path, 0)); });
}
}
