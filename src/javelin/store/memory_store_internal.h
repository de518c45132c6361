// A store over an ObjectMap that others may share.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "javelin/base/runtime.h"
#include "javelin/store/object_map_internal.h"

namespace javelin::internal {

// `uri` goes before each key in messages. `lock` null = the caller sees to it that nobody else uses the map meanwhile.
std::shared_ptr<ObjectStore> MakeMapStore(std::string uri, std::shared_ptr<ObjectMap> map, std::unique_ptr<Mutex> lock,
                                          std::function<Duration()> wall_time);

// Collects the pieces of a streamed object, telling `part` of each (may be empty), and hands the whole to `put` at
// Finish. After a failure every further call answers with it.
using BytesCallback = std::function<arrow::Status(const BufferPtr&)>;
std::unique_ptr<ObjectWriter> MakeBufferedWriter(BytesCallback part, BytesCallback put);

}  // namespace javelin::internal
