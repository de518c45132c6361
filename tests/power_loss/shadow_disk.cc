#include "shadow_disk.h"

#include <filesystem>
#include <fstream>

namespace javelin::power_loss {

void Materialize(const FolderTree& tree, const std::string& folder) {
  std::filesystem::create_directories(folder);
  for (const std::string& path : tree.folders) std::filesystem::create_directory(folder + "/" + path);
  for (const auto& [path, bytes] : tree.files) std::ofstream(folder + "/" + path, std::ios::binary) << bytes;
}

ShadowDisk::Name& ShadowDisk::NameAt(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return folders_[""][path];
  return folders_[path.substr(0, slash)][path.substr(slash + 1)];
}

void ShadowDisk::Apply(const SystemCall& call) {
  using Kind = SystemCall::Kind;
  using EntryKind = Entry::Kind;
  switch (call.kind) {
    case Kind::kMark: return;
    case Kind::kCreate:
      files_[call.file] = {};
      NameAt(call.path).later.push_back({EntryKind::kFile, call.file});
      return;
    case Kind::kWrite: files_[call.file].bytes += call.bytes; return;
    case Kind::kSyncFile: {
      File& file = files_[call.file >= 0 ? call.file : FileAt(call.path)];
      file.synced = file.bytes.size();
      return;
    }
    case Kind::kSyncFolder:
      for (auto& [name, entries] : folders_[call.path]) {
        entries.synced = entries.now();
        entries.later.clear();
      }
      return;
    case Kind::kMakeFolder: NameAt(call.path).later.push_back({EntryKind::kFolder, -1}); return;
    case Kind::kLink: NameAt(call.target).later.push_back({EntryKind::kFile, FileAt(call.path)}); return;
    case Kind::kRename:
      NameAt(call.target).later.push_back({EntryKind::kFile, FileAt(call.path)});
      NameAt(call.path).later.push_back({});
      return;
    case Kind::kUnlink: NameAt(call.path).later.push_back({}); return;
  }
}

template <typename PickEntry, typename PickBytes>
void ShadowDisk::Collect(const std::string& folder, const PickEntry& entry, const PickBytes& bytes,
                         FolderTree& tree) const {
  const auto names = folders_.find(folder);
  if (names == folders_.end()) return;
  for (const auto& [name, entries] : names->second) {
    const std::string path = folder.empty() ? name : folder + "/" + name;
    const Entry& picked = entry(entries);
    if (picked.kind == Entry::Kind::kFile) tree.files[path] = bytes(files_.at(picked.file));
    if (picked.kind == Entry::Kind::kFolder) {
      tree.folders.push_back(path);
      Collect(path, entry, bytes, tree);
    }
  }
}

FolderTree ShadowDisk::Synced() const {
  FolderTree tree;
  Collect(
      "", [](const Name& name) -> const Entry& { return name.synced; },
      [](const File& file) { return file.bytes.substr(0, file.synced); }, tree);
  return tree;
}

FolderTree ShadowDisk::Live() const {
  FolderTree tree;
  Collect(
      "", [](const Name& name) -> const Entry& { return name.now(); }, [](const File& file) { return file.bytes; },
      tree);
  return tree;
}

FolderTree ShadowDisk::Random(SeededRandom& random) const {
  FolderTree tree;
  Collect(
      "",
      [&](const Name& name) -> const Entry& {
        const uint64_t chosen = random.Below(name.later.size() + 1);
        return chosen == 0 ? name.synced : name.later[chosen - 1];
      },
      [&](const File& file) {
        const uint64_t open = file.bytes.size() - file.synced;
        std::string bytes = file.bytes.substr(0, file.synced + random.Below(open + 1));
        // The length may be there before the bytes are: then they read as zeros.
        const uint64_t zeros = random.OneIn(2) ? random.Below(bytes.size() - file.synced + 1) : 0;
        return bytes.replace(bytes.size() - zeros, zeros, zeros, '\0');
      },
      tree);
  return tree;
}

}  // namespace javelin::power_loss
