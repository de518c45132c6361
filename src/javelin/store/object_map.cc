#include "javelin/base/error.h"
#include "javelin/store/object_map_internal.h"

namespace javelin::internal {

namespace {
ObjectInfo InfoOf(const std::string& key, const ObjectMap::Object& object) {
  return {key, static_cast<uint64_t>(object.bytes->size()), object.modified_ns, object.etag};
}
}  // namespace

arrow::Result<const ObjectMap::Object*> ObjectMap::Find(const std::string& key) const {
  ARROW_RETURN_NOT_OK(CheckKey(key));
  const auto found = objects_.find(key);
  if (found == objects_.end()) return NotFound("object '{}' does not exist", key);
  return &found->second;
}

arrow::Result<BufferPtr> ObjectMap::Get(const std::string& key) const {
  ARROW_ASSIGN_OR_RAISE(const Object* object, Find(key));
  return object->bytes;
}

arrow::Result<std::vector<BufferPtr>> ObjectMap::GetRanges(const std::string& key,
                                                           std::span<const ByteRange> ranges) const {
  ARROW_ASSIGN_OR_RAISE(const Object* object, Find(key));
  std::vector<BufferPtr> answers;
  for (const ByteRange& range : ranges) {
    ARROW_RETURN_NOT_OK(CheckRange(key, range, object->bytes->size()));
    answers.push_back(arrow::SliceBuffer(object->bytes, range.offset, range.length));
  }
  return answers;
}

arrow::Result<ObjectTail> ObjectMap::GetTail(const std::string& key, uint64_t max_bytes) const {
  ARROW_ASSIGN_OR_RAISE(const Object* object, Find(key));
  const uint64_t size = object->bytes->size();
  const uint64_t length = std::min(size, max_bytes);
  return ObjectTail{arrow::SliceBuffer(object->bytes, size - length, length), size};
}

arrow::Result<ObjectInfo> ObjectMap::Head(const std::string& key) const {
  ARROW_ASSIGN_OR_RAISE(const Object* object, Find(key));
  return InfoOf(key, *object);
}

arrow::Status ObjectMap::Put(const std::string& key, const BufferPtr& bytes, int64_t now_ns) {
  ARROW_RETURN_NOT_OK(CheckPut(key, bytes));
  objects_[key] = {arrow::Buffer::FromString(bytes->ToString()), now_ns, fmt::format("{}", ++writes_)};
  return arrow::Status::OK();
}

arrow::Status ObjectMap::PutIfAbsent(const std::string& key, const BufferPtr& bytes, int64_t now_ns) {
  if (objects_.contains(key)) return AlreadyExists("object '{}' exists", key);
  return Put(key, bytes, now_ns);
}

arrow::Result<std::string> ObjectMap::PutIfMatch(const std::string& key, const BufferPtr& bytes,
                                                 const std::string& etag, int64_t now_ns) {
  ARROW_RETURN_NOT_OK(CheckPut(key, bytes));
  const auto found = objects_.find(key);
  if (found == objects_.end() || found->second.etag != etag) {
    return MakeError(ErrorKind::kPrecondition, fmt::format("object '{}' was changed or removed meanwhile", key));
  }
  ARROW_RETURN_NOT_OK(Put(key, bytes, now_ns));
  return objects_[key].etag;
}

arrow::Result<ListPage> ObjectMap::List(const ListRequest& request, uint32_t page_size) const {
  ARROW_RETURN_NOT_OK(CheckListRequest(request));
  if (request.max_keys != 0) page_size = request.max_keys;
  ListPage page;
  const std::string& prefix = request.prefix;
  auto it = objects_.lower_bound(prefix);
  const auto skip_to = [&](const std::string& key) {
    if (it != objects_.end() && it->first <= key) it = objects_.upper_bound(key);
  };
  // '0' follows '/', so this is the first key behind everything below a folder.
  const auto skip_folder = [&](std::string folder) {
    folder.back() = '0';
    it = objects_.lower_bound(folder);
  };
  skip_to(request.start_after);
  if (request.page_token.ends_with('/')) {
    skip_folder(request.page_token);
  } else {
    skip_to(request.page_token);
  }
  while (it != objects_.end() && it->first.starts_with(prefix)) {
    const size_t slash = request.recursive ? std::string::npos : it->first.find('/', prefix.size());
    if (slash == std::string::npos) {
      if (!AddToPage(page, {InfoOf(it->first, it->second), false}, page_size)) break;
      ++it;
    } else {
      std::string folder = it->first.substr(0, slash + 1);
      if (!AddToPage(page, {{folder}, true}, page_size)) break;
      skip_folder(std::move(folder));
    }
  }
  return page;
}

arrow::Status ObjectMap::Delete(const std::string& key) {
  ARROW_RETURN_NOT_OK(CheckKey(key));
  objects_.erase(key);
  return arrow::Status::OK();
}

arrow::Status ObjectMap::Copy(const std::string& from, const std::string& to, int64_t now_ns) {
  ARROW_ASSIGN_OR_RAISE(const BufferPtr bytes, Get(from));
  return Put(to, bytes, now_ns);
}

bool AddToPage(ListPage& page, ListEntry entry, uint32_t page_size) {
  if (page_size != 0 && page.objects.size() + page.folders.size() == page_size) {
    const bool folder_is_last =
        page.objects.empty() || (!page.folders.empty() && page.folders.back() > page.objects.back().key);
    page.next_page_token = folder_is_last ? page.folders.back() : page.objects.back().key;
    return false;
  }
  if (entry.is_folder) {
    page.folders.push_back(std::move(entry.info.key));
  } else {
    page.objects.push_back(std::move(entry.info));
  }
  return true;
}

}  // namespace javelin::internal
