#include "javelin/store/buffer_writer.h"

#include "javelin/store/memory_store_internal.h"

namespace javelin {

std::unique_ptr<ObjectWriter> MakeBufferWriter(BufferPtr* out) {
  return internal::MakeBufferedWriter(nullptr, [out](const BufferPtr& whole) {
    *out = whole;
    return arrow::Status::OK();
  });
}

}  // namespace javelin
