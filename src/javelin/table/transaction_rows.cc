#include "javelin/base/error.h"
#include "javelin/table/transaction_codec_internal.h"
#include "javelin/table/wire_internal.h"

namespace javelin::table {

using Message = TransactionMessage;

namespace {

using Fragments = google::protobuf::RepeatedPtrField<wire::DataFragment>;

void Fill(const std::vector<Fragment>& fragments, Fragments* messages) {
  for (const Fragment& fragment : fragments) *messages->Add() = ToWire(fragment);
}

template <typename Numbers>
std::vector<FragmentId> FragmentIds(const Numbers& numbers) {
  std::vector<FragmentId> ids;
  for (uint64_t number : numbers) ids.push_back(FragmentId(number));
  return ids;
}

template <typename Numbers>
std::vector<FieldId> FieldIds(const Numbers& numbers) {
  std::vector<FieldId> ids;
  for (const auto number : numbers) ids.push_back(FieldId(static_cast<int32_t>(number)));
  return ids;
}

// ---- Update ----

// The columns whose values the new fragments may have changed: all that they hold, where nobody says less.
std::vector<FieldId> ChangedFields(const Update& update) {
  if (!update.changed_fields.empty()) return update.changed_fields;
  std::set<FieldId> fields;
  for (const Fragment& fragment : update.new_fragments) {
    for (const DataFile& file : fragment.files) {
      for (int32_t field : file.fields) {
        if (field >= 0) fields.insert(FieldId(field));  // less are marks and row lineage
      }
    }
  }
  return {fields.begin(), fields.end()};
}

void Encode(const KeyFilter& filter, Message::KeyExistenceFilter* message) {
  for (FieldId field : filter.field_ids) message->add_field_ids(field.value());
  if (const auto* exact = std::get_if<KeyFilter::Exact>(&filter.data)) {
    message->mutable_exact()->mutable_key_hashes()->Add(exact->key_hashes.begin(), exact->key_hashes.end());
  } else if (const auto* bloom = std::get_if<KeyFilter::Bloom>(&filter.data)) {
    message->mutable_bloom()->set_bitmap(bloom->bitmap);
    message->mutable_bloom()->set_num_bits(bloom->num_bits);
    message->mutable_bloom()->set_number_of_items(bloom->number_of_items);
    message->mutable_bloom()->set_probability(bloom->probability);
  }
}

KeyFilter DecodeFilter(const Message::KeyExistenceFilter& message) {
  KeyFilter filter{FieldIds(message.field_ids()), {}};
  if (message.has_exact()) {
    filter.data = KeyFilter::Exact{{message.exact().key_hashes().begin(), message.exact().key_hashes().end()}};
  } else if (message.has_bloom()) {
    const auto& bloom = message.bloom();
    filter.data = KeyFilter::Bloom{bloom.bitmap(), bloom.num_bits(), bloom.number_of_items(), bloom.probability()};
  }
  return filter;
}

// In the form of today, and in the older one for fragments that have only that.
arrow::Result<std::map<FragmentId, OffsetSet>> DecodeOffsets(const Message::Update& message) {
  std::map<FragmentId, OffsetSet> offsets;
  for (const auto& [fragment, bitmap] : message.updated_fragment_offset_bitmaps()) {
    auto decoded = DecodeRoaring(bitmap);
    if (!decoded.ok())
      return WithContext(decoded.status(), fmt::format("updated rows of fragment {} in a transaction", fragment));
    offsets[FragmentId(fragment)] = *std::move(decoded);
  }
  for (const auto& [fragment, list] : message.updated_fragment_offsets()) {
    if (offsets.contains(FragmentId(fragment))) continue;
    offsets[FragmentId(fragment)] = OffsetSet::FromUnsorted({list.offsets().begin(), list.offsets().end()});
  }
  return offsets;
}

// ---- Rewrite ----

void Encode(const Rewrite::RewrittenIndex& index, Message::Rewrite::RewrittenIndex* message) {
  message->mutable_old_id()->set_uuid(index.old_uuid);
  message->mutable_new_id()->set_uuid(index.new_uuid);
  message->mutable_new_index_details()->set_type_url(index.details_type_url);
  message->mutable_new_index_details()->set_value(index.details);
  message->set_new_index_version(index.version);
  for (const IndexFile& file : index.files) {
    wire::IndexFile* out = message->add_new_index_files();
    out->set_path(file.path);
    out->set_size_bytes(file.size_bytes);
  }
}

arrow::Result<Rewrite::RewrittenIndex> DecodeRewrittenIndex(const Message::Rewrite::RewrittenIndex& message) {
  Rewrite::RewrittenIndex index{message.old_id().uuid(),
                                message.new_id().uuid(),
                                message.new_index_details().type_url(),
                                message.new_index_details().value(),
                                message.new_index_version(),
                                {}};
  for (const std::string* uuid : {&index.old_uuid, &index.new_uuid}) {
    if (uuid->size() != 16) return Corruption("the UUID of a rewritten index has {} bytes", uuid->size());
  }
  for (const wire::IndexFile& file : message.new_index_files()) index.files.push_back({file.path(), file.size_bytes()});
  return index;
}

arrow::Result<Rewrite::Group> DecodeGroup(const Fragments& old_fragments, const Fragments& new_fragments) {
  Rewrite::Group group;
  ARROW_ASSIGN_OR_RAISE(group.old_fragments, FromWire(old_fragments));
  ARROW_ASSIGN_OR_RAISE(group.new_fragments, FromWire(new_fragments));
  return group;
}

}  // namespace

void Encode(const Append& append, Message& message) {
  Fill(append.fragments, message.mutable_append()->mutable_fragments());
}

void Encode(const Overwrite& overwrite, Message& message) {
  Message::Overwrite* out = message.mutable_overwrite();
  Fill(overwrite.fragments, out->mutable_fragments());
  FillSchema(overwrite.schema, out->mutable_schema());
  FillProtoMap(overwrite.schema.metadata(), out->mutable_schema_metadata());
  FillProtoMap(overwrite.config_upserts, out->mutable_config_upsert_values());
  for (const BasePath& base : overwrite.initial_bases) *out->add_initial_bases() = ToWire(base);
}

void Encode(const Delete& deletion, Message& message) {
  Message::Delete* out = message.mutable_delete_();
  Fill(deletion.updated_fragments, out->mutable_updated_fragments());
  for (FragmentId id : deletion.deleted_fragment_ids) out->add_deleted_fragment_ids(id.value());
  out->set_predicate(deletion.predicate);
}

void Encode(const Update& update, Message& message) {
  Message::Update* out = message.mutable_update();
  for (FragmentId id : update.removed_fragment_ids) out->add_removed_fragment_ids(id.value());
  Fill(update.updated_fragments, out->mutable_updated_fragments());
  Fill(update.new_fragments, out->mutable_new_fragments());
  for (FieldId field : update.fields_modified) out->add_fields_modified(static_cast<uint32_t>(field.value()));
  FillSsTables(update.compacted_sstables, out->mutable_compacted_sstables());
  for (FieldId field : ChangedFields(update))
    out->add_fields_for_preserving_frag_bitmap(static_cast<uint32_t>(field.value()));
  out->set_update_mode(update.rewrites_columns ? Message::Update::REWRITE_COLUMNS : Message::Update::REWRITE_ROWS);
  if (update.inserted_keys) Encode(*update.inserted_keys, out->mutable_inserted_rows());
  for (const auto& [fragment, offsets] : update.updated_offsets)
    (*out->mutable_updated_fragment_offset_bitmaps())[fragment.value()] = EncodeRoaring(offsets);
}

void Encode(const Rewrite& rewrite, Message& message) {
  Message::Rewrite* out = message.mutable_rewrite();
  for (const Rewrite::Group& group : rewrite.groups) {
    Message::Rewrite::Group* entry = out->add_groups();
    Fill(group.old_fragments, entry->mutable_old_fragments());
    Fill(group.new_fragments, entry->mutable_new_fragments());
  }
  for (const auto& index : rewrite.rewritten_indices) Encode(index, out->add_rewritten_indices());
}

void Encode(const DataReplacement& replacement, Message& message) {
  for (const DataReplacement::Replacement& item : replacement.replacements) {
    auto* entry = message.mutable_data_replacement()->add_replacements();
    entry->set_fragment_id(item.fragment.value());
    *entry->mutable_new_file() = ToWire(item.new_file);
  }
  message.mutable_data_replacement();
}

arrow::Result<Operation> Decode(const Message::Append& message) {
  Append append;
  ARROW_ASSIGN_OR_RAISE(append.fragments, FromWire(message.fragments()));
  return append;
}

arrow::Result<Operation> Decode(const Message::Overwrite& message) {
  Overwrite out;
  ARROW_ASSIGN_OR_RAISE(out.fragments, FromWire(message.fragments()));
  ARROW_ASSIGN_OR_RAISE(out.schema, file::Schema::FromProto(message.schema(), ToStdMap(message.schema_metadata())));
  out.config_upserts = ToStdMap(message.config_upsert_values());
  for (const wire::BasePath& base : message.initial_bases()) out.initial_bases.push_back(FromWire(base));
  return out;
}

arrow::Result<Operation> Decode(const Message::Delete& message) {
  Delete out;
  ARROW_ASSIGN_OR_RAISE(out.updated_fragments, FromWire(message.updated_fragments()));
  out.deleted_fragment_ids = FragmentIds(message.deleted_fragment_ids());
  out.predicate = message.predicate();
  return out;
}

arrow::Result<Operation> Decode(const Message::Update& message) {
  Update out;
  out.removed_fragment_ids = FragmentIds(message.removed_fragment_ids());
  ARROW_ASSIGN_OR_RAISE(out.updated_fragments, FromWire(message.updated_fragments()));
  ARROW_ASSIGN_OR_RAISE(out.new_fragments, FromWire(message.new_fragments()));
  out.fields_modified = FieldIds(message.fields_modified());
  ARROW_ASSIGN_OR_RAISE(out.compacted_sstables, FromWire(message.compacted_sstables()));
  // An unknown mode is treated as the one that withdraws more.
  out.rewrites_columns = message.update_mode() != Message::Update::REWRITE_ROWS;
  out.changed_fields = FieldIds(message.fields_for_preserving_frag_bitmap());
  ARROW_ASSIGN_OR_RAISE(out.updated_offsets, DecodeOffsets(message));
  if (message.has_inserted_rows()) out.inserted_keys = DecodeFilter(message.inserted_rows());
  return out;
}

arrow::Result<Operation> Decode(const Message::Rewrite& message) {
  Rewrite out;
  if (message.old_fragments_size() > 0 || message.new_fragments_size() > 0) {  // the older form, of one group
    ARROW_ASSIGN_OR_RAISE(out.groups.emplace_back(), DecodeGroup(message.old_fragments(), message.new_fragments()));
  }
  for (const Message::Rewrite::Group& group : message.groups()) {
    ARROW_ASSIGN_OR_RAISE(out.groups.emplace_back(), DecodeGroup(group.old_fragments(), group.new_fragments()));
  }
  for (const auto& index : message.rewritten_indices()) {
    ARROW_ASSIGN_OR_RAISE(out.rewritten_indices.emplace_back(), DecodeRewrittenIndex(index));
  }
  return out;
}

arrow::Result<Operation> Decode(const Message::DataReplacement& message) {
  DataReplacement out;
  for (const auto& item : message.replacements()) {
    DataReplacement::Replacement& replacement = out.replacements.emplace_back();
    replacement.fragment = FragmentId(item.fragment_id());
    ARROW_ASSIGN_OR_RAISE(replacement.new_file, FromWire(item.new_file()));
  }
  return out;
}

}  // namespace javelin::table
