// Stands between the program and the system: notes every call that changes the files below one folder, in the order in
// which the system made them. Sync calls are noted and not made: what survives is decided by ShadowDisk.
#pragma once

#include <string>
#include <vector>

namespace javelin::power_loss {

struct SystemCall {
  enum class Kind { kCreate, kWrite, kSyncFile, kSyncFolder, kMakeFolder, kLink, kRename, kUnlink, kMark };
  Kind kind;
  std::string path;    // relative to the folder; "" is the folder itself. kMark: what the test said
  std::string target;  // kLink, kRename: the other name
  int file = -1;       // kCreate, kWrite, kSyncFile: the file, whatever its names are; -1 = the one at `path`
  std::string bytes;   // kWrite: added at the end
};

std::string Describe(const SystemCall& call);

// Of the whole process; one recording at a time. Any thread may make calls meanwhile.
void StartRecording(const std::string& folder);
std::vector<SystemCall> StopRecording();
// A call of the test's own, to find its place among the others.
void Mark(const std::string& text);

}  // namespace javelin::power_loss
