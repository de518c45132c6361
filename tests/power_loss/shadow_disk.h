// What a disk holds behind the page cache: what of a sequence of system calls a loss of power leaves.
//
// POSIX promises no more than this: the bytes of a file are there as of the last sync of the file, and the names in a
// folder (made, linked, renamed, removed) as of the last sync of that folder. Anything later may be there or not, name
// by name, whatever the order in which it was done.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "javelin/base/seeded_random.h"
#include "system_calls.h"

namespace javelin::power_loss {

struct FolderTree {
  std::vector<std::string> folders;          // relative paths, outer ones first
  std::map<std::string, std::string> files;  // relative path -> bytes
};
// Writes the tree into a new folder.
void Materialize(const FolderTree& tree, const std::string& folder);

// Begins as an empty folder. A value: copies go on on their own.
class ShadowDisk {
 public:
  void Apply(const SystemCall& call);

  // Only what was synced.
  FolderTree Synced() const;
  // Of what was not synced a random part.
  FolderTree Random(SeededRandom& random) const;
  // All of it: what a process sees that goes on.
  FolderTree Live() const;

 private:
  struct File {
    std::string bytes;
    uint64_t synced = 0;
  };
  struct Entry {
    enum class Kind { kNone, kFile, kFolder } kind = Kind::kNone;
    int file = -1;
  };
  struct Name {
    Entry synced;
    std::vector<Entry> later;
    const Entry& now() const { return later.empty() ? synced : later.back(); }
  };
  using Names = std::map<std::string, Name>;  // last part of the path

  Name& NameAt(const std::string& path);
  int FileAt(const std::string& path) { return NameAt(path).now().file; }
  template <typename PickEntry, typename PickBytes>
  void Collect(const std::string& folder, const PickEntry& entry, const PickBytes& bytes, FolderTree& tree) const;

  std::map<int, File> files_;
  std::map<std::string, Names> folders_;  // by path
};

}  // namespace javelin::power_loss
