#include "javelin/table/transaction.h"

#include <google/protobuf/unknown_field_set.h>

#include "javelin/base/error.h"
#include "javelin/table/wire_internal.h"
#include "lanceproto/transaction.pb.h"

namespace javelin::table {

namespace {

using Message = wire::Transaction;

// ---- values -> message ----

void FillFields(const file::Schema& schema, google::protobuf::RepeatedPtrField<lance::file::Field>* fields) {
  for (lance::file::Field& field : schema.ToProto()) *fields->Add() = std::move(field);
}

void Encode(const Append& append, Message& message) {
  Message::Append* out = message.mutable_append();
  for (const Fragment& fragment : append.fragments) *out->add_fragments() = ToWire(fragment);
}

void Encode(const Overwrite& overwrite, Message& message) {
  Message::Overwrite* out = message.mutable_overwrite();
  for (const Fragment& fragment : overwrite.fragments) *out->add_fragments() = ToWire(fragment);
  FillFields(overwrite.schema, out->mutable_schema());
  FillProtoMap(overwrite.schema.metadata(), out->mutable_schema_metadata());
  FillProtoMap(overwrite.config_upserts, out->mutable_config_upsert_values());
  for (const BasePath& base : overwrite.initial_bases) *out->add_initial_bases() = ToWire(base);
}

void Encode(const CreateIndex& create, Message& message) {
  Message::CreateIndex* out = message.mutable_create_index();
  for (const IndexEntry& index : create.new_indices) out->add_new_indices(index.encoded);
  for (const IndexEntry& index : create.removed_indices) out->add_removed_indices(index.encoded);
}

// The columns whose values the new fragments may have changed: all that they hold.
std::set<int32_t> FieldsOf(const std::vector<Fragment>& fragments) {
  std::set<int32_t> fields;
  for (const Fragment& fragment : fragments) {
    for (const DataFile& file : fragment.files) fields.insert(file.fields.begin(), file.fields.end());
  }
  fields.erase(fields.begin(), fields.lower_bound(0));  // marks and row lineage
  return fields;
}

arrow::Status Encode(const Update& update, Message& message) {
  if (update.rewrites_columns || !update.fields_modified.empty() || update.guards_inserted_keys)
    return NotSupported("committing an Update that replaces columns or lists inserted keys");
  Message::Update* out = message.mutable_update();
  for (FragmentId id : update.removed_fragment_ids) out->add_removed_fragment_ids(id.value());
  for (const Fragment& fragment : update.updated_fragments) *out->add_updated_fragments() = ToWire(fragment);
  for (const Fragment& fragment : update.new_fragments) *out->add_new_fragments() = ToWire(fragment);
  FillSsTables(update.compacted_sstables, out->mutable_compacted_sstables());
  for (int32_t field : FieldsOf(update.new_fragments))
    out->add_fields_for_preserving_frag_bitmap(static_cast<uint32_t>(field));
  return arrow::Status::OK();
}

// ---- message -> values ----

template <typename Numbers>
std::vector<FragmentId> FragmentIds(const Numbers& numbers) {
  std::vector<FragmentId> ids;
  for (uint64_t number : numbers) ids.push_back(FragmentId(number));
  return ids;
}

arrow::Result<std::vector<IndexEntry>> IndexEntries(const google::protobuf::RepeatedPtrField<std::string>& encoded) {
  std::vector<IndexEntry> entries;
  for (const std::string& bytes : encoded) {
    ARROW_ASSIGN_OR_RAISE(entries.emplace_back(), DecodeIndexEntry(bytes));
  }
  return entries;
}

arrow::Result<Operation> Decode(const Message::Append& message) {
  Append append;
  ARROW_ASSIGN_OR_RAISE(append.fragments, FromWire(message.fragments()));
  return append;
}

arrow::Result<Operation> Decode(const Message::Delete& message) {
  Delete out;
  ARROW_ASSIGN_OR_RAISE(out.updated_fragments, FromWire(message.updated_fragments()));
  out.deleted_fragment_ids = FragmentIds(message.deleted_fragment_ids());
  return out;
}

arrow::Result<Operation> Decode(const Message::Overwrite& message) {
  Overwrite out;
  ARROW_ASSIGN_OR_RAISE(out.fragments, FromWire(message.fragments()));
  ARROW_ASSIGN_OR_RAISE(out.schema, file::Schema::FromProto(message.schema(), ToStdMap(message.schema_metadata())));
  out.config_upserts = ToStdMap(message.config_upsert_values());
  for (const wire::BasePath& base : message.initial_bases()) out.initial_bases.push_back(FromWire(base));
  return out;
}

arrow::Result<Operation> Decode(const Message::CreateIndex& message) {
  CreateIndex out;
  ARROW_ASSIGN_OR_RAISE(out.new_indices, IndexEntries(message.new_indices()));
  ARROW_ASSIGN_OR_RAISE(out.removed_indices, IndexEntries(message.removed_indices()));
  return out;
}

arrow::Result<Operation> Decode(const Message::Rewrite& message) {
  Rewrite out;
  for (const wire::DataFragment& fragment : message.old_fragments())
    out.old_fragments.push_back(FragmentId(fragment.id()));
  for (const Message::Rewrite::Group& group : message.groups()) {
    for (const wire::DataFragment& fragment : group.old_fragments())
      out.old_fragments.push_back(FragmentId(fragment.id()));
  }
  return out;
}

arrow::Result<Operation> Decode(const Message::Update& message) {
  Update out;
  out.removed_fragment_ids = FragmentIds(message.removed_fragment_ids());
  ARROW_ASSIGN_OR_RAISE(out.updated_fragments, FromWire(message.updated_fragments()));
  ARROW_ASSIGN_OR_RAISE(out.new_fragments, FromWire(message.new_fragments()));
  for (uint32_t field : message.fields_modified()) out.fields_modified.push_back(FieldId(static_cast<int32_t>(field)));
  ARROW_ASSIGN_OR_RAISE(out.compacted_sstables, FromWire(message.compacted_sstables()));
  // An unknown mode is treated as the one that withdraws more.
  out.rewrites_columns = message.update_mode() != Message::Update::REWRITE_ROWS;
  out.guards_inserted_keys = message.has_inserted_rows();
  return out;
}

arrow::Result<Operation> Decode(const Message::UpdateConfig& message) {
  UpdateConfig out;
  for (const auto& [key, value] : message.upsert_values()) out.config_keys.insert(key);
  out.config_keys.insert(message.delete_keys().begin(), message.delete_keys().end());
  for (const auto& entry : message.config_updates().update_entries()) out.config_keys.insert(entry.key());
  out.replaces_config = message.config_updates().replace();
  out.touches_schema_metadata = message.has_schema_metadata_updates() || !message.schema_metadata().empty();
  out.touches_field_metadata = !message.field_metadata_updates().empty() || !message.field_metadata().empty();
  return out;
}

arrow::Result<Operation> Decode(const Message::DataReplacement& message) {
  DataReplacement out;
  for (const auto& item : message.replacements()) {
    DataReplacement::Replacement& replacement = out.replacements.emplace_back();
    replacement.fragment = FragmentId(item.fragment_id());
    for (int32_t field : item.new_file().fields()) replacement.fields.push_back(FieldId(field));
  }
  return out;
}

arrow::Result<Operation> Decode(const Message::UpdateMemWalState& message) {
  UpdateMemWalState out;
  ARROW_ASSIGN_OR_RAISE(out.compacted_sstables, FromWire(message.compacted_sstables()));
  return out;
}

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
    case Message::kMerge: return Merge{message.merge().preserves_nullability()};
    case Message::kRestore: return Restore{TableVersion(message.restore().version())};
    case Message::kReserveFragments: return ReserveFragments{message.reserve_fragments().num_fragments()};
    case Message::kUpdate: return Decode(message.update());
    case Message::kProject: return Project{message.project().preserves_nullability()};
    case Message::kUpdateConfig: return Decode(message.update_config());
    case Message::kDataReplacement: return Decode(message.data_replacement());
    case Message::kUpdateMemWalState: return Decode(message.update_mem_wal_state());
    case Message::kClone: return Clone{};
    case Message::kUpdateBases: return UpdateBases{};
    case Message::kDataOverlay: return DataOverlay{};
    case Message::OPERATION_NOT_SET: break;
  }
  return DecodeUnknown(message);
}

}  // namespace

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
  if (const auto* append = std::get_if<Append>(&transaction.operation)) {
    Encode(*append, message);
  } else if (const auto* overwrite = std::get_if<Overwrite>(&transaction.operation)) {
    Encode(*overwrite, message);
  } else if (const auto* create = std::get_if<CreateIndex>(&transaction.operation)) {
    Encode(*create, message);
  } else if (const auto* update = std::get_if<Update>(&transaction.operation)) {
    ARROW_RETURN_NOT_OK(Encode(*update, message));
  } else {
    return NotSupported("committing an operation of kind {}", NameOf(transaction.operation));
  }
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
