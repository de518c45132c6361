// An object that is made in memory, for writers that stream into an ObjectWriter.
#pragma once

#include <memory>

#include "javelin/store/object_store.h"

namespace javelin {

// Sets `*out` to the whole object at Finish; `out` must live until then. Does no I/O.
std::unique_ptr<ObjectWriter> MakeBufferWriter(BufferPtr* out);

}  // namespace javelin
