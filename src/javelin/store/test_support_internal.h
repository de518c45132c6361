// Small helpers of the store tests.
#pragma once

#include <string>
#include <vector>

#include "javelin/base/error.h"
#include "javelin/store/object_store.h"

namespace javelin::store_test {

inline BufferPtr Bytes(std::string text) { return arrow::Buffer::FromString(std::move(text)); }

inline std::string TextOf(const arrow::Result<BufferPtr>& bytes) {
  return bytes.ok() ? (*bytes)->ToString() : "error " + std::string(ToString(KindOf(bytes.status())));
}

// "OK" or the name of the kind.
inline std::string KindText(const arrow::Status& status) {
  return status.ok() ? "OK" : std::string(ToString(KindOf(status)));
}
template <typename T>
std::string KindText(const arrow::Result<T>& result) {
  return KindText(result.status());
}

inline std::vector<std::string> KeysOf(const ListPage& page) {
  std::vector<std::string> keys;
  for (const ObjectInfo& object : page.objects) keys.push_back(object.key);
  return keys;
}

}  // namespace javelin::store_test
