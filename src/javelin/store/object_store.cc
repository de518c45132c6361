#include "javelin/store/object_store.h"

#include <fmt/format.h>

#include "javelin/base/error.h"

namespace javelin {

std::vector<arrow::Result<BufferPtr>> ObjectStore::GetMany(std::span<const std::string> keys) {
  std::vector<arrow::Result<BufferPtr>> answers;
  for (const std::string& key : keys) answers.push_back(Get(key));
  return answers;
}

std::vector<arrow::Result<ObjectInfo>> ObjectStore::HeadMany(std::span<const std::string> keys) {
  std::vector<arrow::Result<ObjectInfo>> answers;
  for (const std::string& key : keys) answers.push_back(Head(key));
  return answers;
}

std::vector<arrow::Status> ObjectStore::PutMany(std::span<const PutRequest> requests) {
  std::vector<arrow::Status> answers;
  for (const PutRequest& request : requests) answers.push_back(Put(request.key, request.bytes));
  return answers;
}

arrow::Status ObjectStore::MakeDurable(const std::string&) { return arrow::Status::OK(); }

arrow::Result<ListPage> ListAll(ObjectStore& store, ListRequest request) {
  ListPage all;
  do {
    ARROW_ASSIGN_OR_RAISE(ListPage page, store.List(request));
    all.objects.insert(all.objects.end(), std::make_move_iterator(page.objects.begin()),
                       std::make_move_iterator(page.objects.end()));
    all.folders.insert(all.folders.end(), std::make_move_iterator(page.folders.begin()),
                       std::make_move_iterator(page.folders.end()));
    request.page_token = page.next_page_token;
  } while (!request.page_token.empty());
  return all;
}

namespace {
// What is wrong with the parts of a path, or nullptr.
const char* PathFault(std::string_view path) {
  while (true) {
    const size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty()) return "has an empty part";
    if (part == "." || part == "..") return "has a part '.' or '..'";
    for (const char c : part) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return "holds a control character";
    }
    if (slash == std::string_view::npos) return nullptr;
    path.remove_prefix(slash + 1);
  }
}
}  // namespace

arrow::Status CheckKey(std::string_view key) {
  if (const char* fault = PathFault(key)) return InvalidInput("object key '{}' {}", key, fault);
  if (key[key.rfind('/') + 1] == '.') {
    return InvalidInput("object key '{}' has a name that starts with '.', which is reserved for staging files", key);
  }
  return arrow::Status::OK();
}

arrow::Status CheckPut(std::string_view key, const BufferPtr& bytes) {
  if (bytes == nullptr) return Internal("put of '{}' without bytes", key);
  return CheckKey(key);
}

arrow::Status CheckListRequest(const ListRequest& request) {
  std::string_view prefix = request.prefix;
  if (prefix.empty()) return arrow::Status::OK();
  if (prefix.back() != '/') return InvalidInput("list prefix '{}' does not end with '/'", prefix);
  prefix.remove_suffix(1);
  if (const char* fault = PathFault(prefix)) return InvalidInput("list prefix '{}' {}", request.prefix, fault);
  return arrow::Status::OK();
}

arrow::Status CheckRange(std::string_view key, const ByteRange& range, uint64_t object_size) {
  if (range.offset <= object_size && range.length <= object_size - range.offset) return arrow::Status::OK();
  return MakeError(ErrorKind::kIO, fmt::format("range of {} bytes at {} lies outside of object '{}' of {} bytes",
                                               range.length, range.offset, key, object_size));
}

std::string JoinKey(std::string_view folder, std::string_view name) {
  std::string key(folder);
  if (!key.empty()) key += '/';
  return key += name;
}

}  // namespace javelin
