#include <cstring>

#include <arrow/io/interfaces.h>

#include "javelin/base/error.h"
#include "javelin/memwal/ipc_messages_internal.h"

namespace javelin::memwal {

namespace {

// Field numbers of the IPC metadata tables (Arrow columnar format, Message.fbs).
constexpr int kDictionaryBatchData = 1;
constexpr int kRecordBatchCompression = 3;

template <typename Number>
Number Load(const uint8_t* at) {
  Number number;
  std::memcpy(&number, at, sizeof(number));
  return number;
}

// Where field `number` of a flatbuffer table starts; nullptr if the table does not have it. The buffer was verified
// before.
const uint8_t* TableField(const uint8_t* table, int number) {
  const uint8_t* vtable = table - Load<int32_t>(table);
  int slot = 4 + 2 * number;
  if (Load<uint16_t>(vtable) < slot + 2) return nullptr;
  uint16_t offset = Load<uint16_t>(vtable + slot);
  return offset == 0 ? nullptr : table + offset;
}

bool IsCompressed(const arrow::ipc::Message& message) {
  const auto* batch = static_cast<const uint8_t*>(message.header());
  if (batch == nullptr) return false;
  if (message.type() == arrow::ipc::MessageType::DICTIONARY_BATCH) {
    const uint8_t* data = TableField(batch, kDictionaryBatchData);
    if (data == nullptr) return false;
    batch = data + Load<uint32_t>(data);
  } else if (message.type() != arrow::ipc::MessageType::RECORD_BATCH) {
    return false;
  }
  return TableField(batch, kRecordBatchCompression) != nullptr;
}

class PlainMessageReader final : public arrow::ipc::MessageReader {
 public:
  explicit PlainMessageReader(const std::shared_ptr<arrow::io::InputStream>& stream)
      : stream_(stream), messages_(arrow::ipc::MessageReader::Open(stream)) {}

  arrow::Result<std::unique_ptr<arrow::ipc::Message>> ReadNextMessage() override {
    ARROW_ASSIGN_OR_RAISE(auto message, messages_->ReadNextMessage());
    if (message == nullptr) return nullptr;
    if (!message->Verify()) return WalCorrupt("the metadata of a message is damaged");
    if (IsCompressed(*message)) return WalCorrupt("a message is compressed, which WAL entries never are");
    return message;
  }

 private:
  std::shared_ptr<arrow::io::InputStream> stream_;  // the inner reader may only borrow it
  std::unique_ptr<arrow::ipc::MessageReader> messages_;
};

}  // namespace

std::unique_ptr<arrow::ipc::MessageReader> MakePlainMessageReader(
    const std::shared_ptr<arrow::io::InputStream>& stream) {
  return std::make_unique<PlainMessageReader>(stream);
}

}  // namespace javelin::memwal
