#include "javelin/table/transaction.h"

#include <google/protobuf/unknown_field_set.h>

#include "javelin/base/error.h"
#include "javelin/table/transaction_codec_internal.h"
#include "javelin/table/wire_internal.h"

namespace javelin::table {

namespace {

using Message = TransactionMessage;

constexpr int kFirstOperationNumber = 100;

// A newer writer's operation is an unknown field to us; its number is the best name we have for it.
UnknownOperation DecodeUnknown(const Message& message) {
  const auto& unknown = message.GetReflection()->GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i) {
    if (unknown.field(i).number() >= kFirstOperationNumber) return {unknown.field(i).number()};
  }
  return {0};
}

arrow::Result<Operation> DecodeOperation(const Message& message) {
  switch (message.operation_case()) {
    case Message::kAppend: return Decode(message.append());
    case Message::kDelete: return Decode(message.delete_());
    case Message::kOverwrite: return Decode(message.overwrite());
    case Message::kCreateIndex: return Decode(message.create_index());
    case Message::kRewrite: return Decode(message.rewrite());
    case Message::kMerge: return Decode(message.merge());
    case Message::kRestore: return Restore{TableVersion(message.restore().version())};
    case Message::kReserveFragments: return ReserveFragments{message.reserve_fragments().num_fragments()};
    case Message::kUpdate: return Decode(message.update());
    case Message::kProject: return Decode(message.project());
    case Message::kUpdateConfig: return Decode(message.update_config());
    case Message::kDataReplacement: return Decode(message.data_replacement());
    case Message::kUpdateMemWalState: return Decode(message.update_mem_wal_state());
    case Message::kClone: return Decode(message.clone());
    case Message::kUpdateBases: return Decode(message.update_bases());
    case Message::kDataOverlay: return Decode(message.data_overlay());
    case Message::OPERATION_NOT_SET: break;
  }
  return DecodeUnknown(message);
}

struct OperationEncoder {
  Message& message;

  arrow::Status operator()(const DataOverlay& overlay) const { return NeverOurs(overlay); }
  arrow::Status operator()(const UnknownOperation& unknown) const { return NeverOurs(unknown); }
  template <typename Op>
  arrow::Status operator()(const Op& operation) const {
    Encode(operation, message);
    return arrow::Status::OK();
  }

 private:
  static arrow::Status NeverOurs(const Operation& operation) {
    return NotSupported("committing an operation of kind {}", NameOf(operation));
  }
};

}  // namespace

std::map<std::string, std::string> MapUpdate::ApplyTo(std::map<std::string, std::string> map) const {
  if (replaces) map.clear();
  for (const auto& [key, value] : entries) {
    if (value) {
      map[key] = *value;
    } else {
      map.erase(key);
    }
  }
  return map;
}

std::vector<FragmentId> Rewrite::OldFragments() const {
  std::vector<FragmentId> ids;
  for (const Group& group : groups) {
    for (const Fragment& fragment : group.old_fragments) ids.push_back(fragment.id);
  }
  return ids;
}

std::string_view NameOf(const Operation& operation) {
  static constexpr std::string_view kNames[] = {
      "Append",      "Overwrite",   "CreateIndex",      "Delete",       "Update",          "Rewrite",           "Merge",
      "Project",     "Restore",     "ReserveFragments", "UpdateConfig", "DataReplacement", "UpdateMemWalState", "Clone",
      "UpdateBases", "DataOverlay", "Unknown"};
  static_assert(std::size(kNames) == std::variant_size_v<Operation>);
  return kNames[operation.index()];
}

arrow::Result<std::string> EncodeTransaction(const Transaction& transaction) {
  Message message;
  message.set_read_version(transaction.read_version.value());
  message.set_uuid(transaction.uuid);
  message.set_tag(transaction.tag);
  FillProtoMap(transaction.properties, message.mutable_transaction_properties());
  ARROW_RETURN_NOT_OK(std::visit(OperationEncoder{message}, transaction.operation));
  return Serialize(message);
}

arrow::Result<Transaction> DecodeTransaction(std::string_view bytes) {
  Message message;
  ARROW_RETURN_NOT_OK(Parse(bytes, message, "a transaction"));
  Transaction transaction;
  transaction.read_version = TableVersion(message.read_version());
  transaction.uuid = message.uuid();
  transaction.tag = message.tag();
  transaction.properties = ToStdMap(message.transaction_properties());
  ARROW_ASSIGN_OR_RAISE(transaction.operation, DecodeOperation(message));
  return transaction;
}

std::string TransactionFileName(const Transaction& transaction) {
  return fmt::format("{}-{}.txn", transaction.read_version.value(), transaction.uuid);
}

}  // namespace javelin::table
