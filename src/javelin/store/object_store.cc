#include "javelin/store/object_store.h"

#include <fmt/format.h>

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

std::string JoinKey(std::string_view folder, std::string_view name) {
  if (folder.empty()) return std::string(name);
  return fmt::format("{}/{}", folder, name);
}

}  // namespace javelin
