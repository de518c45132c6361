// Reads the messages of an Arrow IPC stream, refusing what could make a small object claim much memory.
#pragma once

#include <memory>

#include <arrow/io/type_fwd.h>
#include <arrow/ipc/message.h>

namespace javelin::memwal {

// WalCorrupt for a message whose body is compressed: the format has none, and its size would be a number that the bytes
// present do not bound.
std::unique_ptr<arrow::ipc::MessageReader> MakePlainMessageReader(
    const std::shared_ptr<arrow::io::InputStream>& stream);

}  // namespace javelin::memwal
