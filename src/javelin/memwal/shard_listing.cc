#include "javelin/memwal/shard_listing.h"

namespace javelin::memwal {

arrow::Result<std::vector<Uuid>> ListShards(const Dataset& dataset) {
  ListRequest request;
  request.prefix = dataset.Key("_mem_wal") + "/";
  request.recursive = false;
  ARROW_ASSIGN_OR_RAISE(const ListPage page, ListAll(*dataset.location().store, request));
  std::vector<Uuid> shards;
  for (const std::string& folder : page.folders) {
    const auto name = std::string_view(folder).substr(request.prefix.size(), folder.size() - request.prefix.size() - 1);
    const auto shard = Uuid::Parse(name);
    if (shard.ok()) shards.push_back(*shard);
  }
  return shards;
}

}  // namespace javelin::memwal
