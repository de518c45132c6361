#include "javelin/table/transaction.h"

#include "javelin/table/test_support_internal.h"
#include "lanceproto/table.pb.h"
#include "lanceproto/transaction.pb.h"

namespace javelin::table {
namespace {

namespace wire = ::lance::table;
using testing::ElementsAre;
using testing::IsEmpty;

Fragment OneFile(uint64_t id, uint64_t rows) {
  return {FragmentId(id), {DataFile{"a.lance", {0, 1}, {0, 1}, {2, 2}, 100, std::nullopt}}, std::nullopt, rows, ""};
}

IndexEntry Entry(std::string name) {
  wire::IndexMetadata message;
  message.mutable_uuid()->set_uuid(std::string(16, 'u'));
  message.set_name(name);
  message.add_fields(3);
  IndexEntry entry;
  entry.name = std::move(name);
  entry.encoded = message.SerializeAsString() + FromHex("ea 04 02 7878");  // and a field nobody knows
  return entry;
}

Transaction Of(Operation operation) {
  return {TableVersion(4),
          "acdb6f01-8891-44e4-b095-94f88eeb77e6",
          "tag",
          {{"__lance_commit_message", "why"}},
          std::move(operation)};
}

Transaction RoundTrip(const Transaction& transaction) {
  return DecodeTransaction(EncodeTransaction(transaction).ValueOrDie()).ValueOrDie();
}

TEST(Transaction, AppendSurvives) {
  const Transaction back = RoundTrip(Of(Append{{OneFile(0, 5), OneFile(0, 6)}}));
  EXPECT_EQ(back.read_version, TableVersion(4));
  EXPECT_EQ(back.uuid, "acdb6f01-8891-44e4-b095-94f88eeb77e6");
  EXPECT_EQ(back.tag, "tag");
  EXPECT_EQ(back.properties.at("__lance_commit_message"), "why");
  EXPECT_THAT(std::get<Append>(back.operation).fragments, ElementsAre(OneFile(0, 5), OneFile(0, 6)));
}

TEST(Transaction, OverwriteSurvives) {
  Overwrite overwrite;
  overwrite.fragments = {OneFile(0, 5)};
  overwrite.schema = file::Schema::FromArrow(
                         *arrow::schema({arrow::field("a", arrow::int8())}, arrow::key_value_metadata({"k"}, {"v"})))
                         .ValueOrDie();
  overwrite.config_upserts = {{"c", "d"}};
  overwrite.initial_bases = {{1, std::nullopt, false, "/p"}};
  const Transaction transaction = RoundTrip(Of(overwrite));
  const auto& back = std::get<Overwrite>(transaction.operation);
  EXPECT_EQ(back.fragments, overwrite.fragments);
  EXPECT_EQ(back.schema, overwrite.schema);
  EXPECT_EQ(back.config_upserts, overwrite.config_upserts);
  EXPECT_EQ(back.initial_bases, overwrite.initial_bases);
}

TEST(Transaction, CreateIndexKeepsEntriesByteForByte) {
  const Transaction transaction = RoundTrip(Of(CreateIndex{{Entry("new")}, {Entry("old")}}));
  const auto& back = std::get<CreateIndex>(transaction.operation);
  EXPECT_EQ(back.new_indices[0].encoded, Entry("new").encoded);
  EXPECT_EQ(back.removed_indices[0].encoded, Entry("old").encoded);
  EXPECT_THAT(back.new_indices[0].fields, ElementsAre(FieldId(3)));
}

TEST(Transaction, UpdateSurvives) {
  Fragment masked = OneFile(3, 10);
  masked.deletion_file = {DeletionFileType::kBitmap, 4, 77, 2, std::nullopt};
  Fragment fresh = OneFile(0, 6);
  fresh.files[0].fields = {2, -2, 1};
  fresh.files[0].column_indices = {0, 1, 2};
  Update update;
  update.removed_fragment_ids = {FragmentId(7), FragmentId(8)};
  update.updated_fragments = {masked};
  update.new_fragments = {fresh};
  update.compacted_sstables = {{Uuid::Random(1, 2), Generation(5)}};
  const Transaction transaction = RoundTrip(Of(update));
  const auto& back = std::get<Update>(transaction.operation);
  EXPECT_EQ(back.removed_fragment_ids, update.removed_fragment_ids);
  EXPECT_EQ(back.updated_fragments, update.updated_fragments);
  EXPECT_EQ(back.new_fragments, update.new_fragments);
  EXPECT_EQ(back.compacted_sstables, update.compacted_sstables);
  EXPECT_FALSE(back.rewrites_columns || back.guards_inserted_keys);
  wire::Transaction message;
  ASSERT_TRUE(message.ParseFromString(EncodeTransaction(Of(update)).ValueOrDie()));
  EXPECT_THAT(message.update().fields_for_preserving_frag_bitmap(), ElementsAre(1, 2));
  EXPECT_EQ(message.update().update_mode(), wire::Transaction::Update::REWRITE_ROWS);
}

TEST(Transaction, UpdatesInPlaceAreNotOurs) {
  Update columns, guarded;
  columns.rewrites_columns = true;
  guarded.guards_inserted_keys = true;
  for (const Update& update : {columns, guarded})
    ExpectError(EncodeTransaction(Of(update)).status(), ErrorKind::kNotSupported, "Update");
}

TEST(Transaction, FileName) {
  EXPECT_EQ(TransactionFileName(Of(Append{})), "4-acdb6f01-8891-44e4-b095-94f88eeb77e6.txn");
}

TEST(Transaction, OnlyOurOperationsAreEncoded) {
  ExpectError(EncodeTransaction(Of(Restore{})).status(), ErrorKind::kNotSupported, "Restore");
}

template <typename Op>
Op Decoded(const std::function<void(wire::Transaction&)>& fill, const std::string& name) {
  wire::Transaction message;
  fill(message);
  const Transaction transaction = DecodeTransaction(message.SerializeAsString()).ValueOrDie();
  EXPECT_EQ(NameOf(transaction.operation), name);
  return std::get<Op>(transaction.operation);
}

wire::CompactedSsTable Compacted(uint64_t generation) {
  wire::CompactedSsTable message;
  message.mutable_shard_id()->set_uuid(std::string(16, 's'));
  message.set_generation(generation);
  return message;
}

TEST(Transaction, OperationsOfOthers) {
  const auto deleted = Decoded<Delete>(
      [](auto& m) {
        m.mutable_delete_()->add_updated_fragments()->set_id(3);
        m.mutable_delete_()->add_deleted_fragment_ids(7);
      },
      "Delete");
  EXPECT_EQ(deleted.updated_fragments[0].id, FragmentId(3));
  EXPECT_THAT(deleted.deleted_fragment_ids, ElementsAre(FragmentId(7)));

  const auto update = Decoded<Update>(
      [](auto& m) {
        auto* u = m.mutable_update();
        u->add_removed_fragment_ids(1);
        u->add_updated_fragments()->set_id(2);
        u->add_new_fragments();
        u->add_fields_modified(4);
        *u->add_compacted_sstables() = Compacted(9);
        u->set_update_mode(wire::Transaction::Update::REWRITE_COLUMNS);
        u->mutable_inserted_rows();
      },
      "Update");
  EXPECT_THAT(update.removed_fragment_ids, ElementsAre(FragmentId(1)));
  EXPECT_EQ(update.updated_fragments[0].id, FragmentId(2));
  EXPECT_EQ(update.new_fragments.size(), 1u);
  EXPECT_THAT(update.fields_modified, ElementsAre(FieldId(4)));
  EXPECT_EQ(update.compacted_sstables[0].generation, Generation(9));
  EXPECT_TRUE(update.rewrites_columns);
  EXPECT_TRUE(update.guards_inserted_keys);

  const auto rewrite = Decoded<Rewrite>(
      [](auto& m) {
        m.mutable_rewrite()->add_old_fragments()->set_id(1);
        m.mutable_rewrite()->add_groups()->add_old_fragments()->set_id(2);
        m.mutable_rewrite()->add_groups()->add_old_fragments()->set_id(5);
      },
      "Rewrite");
  EXPECT_THAT(rewrite.old_fragments, ElementsAre(FragmentId(1), FragmentId(2), FragmentId(5)));

  EXPECT_TRUE(Decoded<Merge>([](auto& m) { m.mutable_merge()->set_preserves_nullability(true); }, "Merge")
                  .preserves_nullability);
  EXPECT_FALSE(Decoded<Project>([](auto& m) { m.mutable_project(); }, "Project").preserves_nullability);
  EXPECT_EQ(Decoded<Restore>([](auto& m) { m.mutable_restore()->set_version(3); }, "Restore").version, TableVersion(3));
  EXPECT_EQ(Decoded<ReserveFragments>([](auto& m) { m.mutable_reserve_fragments()->set_num_fragments(2); },
                                      "ReserveFragments")
                .num_fragments,
            2u);
  const auto replacement = Decoded<DataReplacement>(
      [](auto& m) {
        auto* r = m.mutable_data_replacement()->add_replacements();
        r->set_fragment_id(8);
        r->mutable_new_file()->add_fields(6);
      },
      "DataReplacement");
  EXPECT_EQ(replacement.replacements[0].fragment, FragmentId(8));
  EXPECT_THAT(replacement.replacements[0].fields, ElementsAre(FieldId(6)));
  EXPECT_EQ(Decoded<UpdateMemWalState>(
                [](auto& m) { *m.mutable_update_mem_wal_state()->add_compacted_sstables() = Compacted(2); },
                "UpdateMemWalState")
                .compacted_sstables[0]
                .generation,
            Generation(2));
  Decoded<Clone>([](auto& m) { m.mutable_clone(); }, "Clone");
  Decoded<UpdateBases>([](auto& m) { m.mutable_update_bases(); }, "UpdateBases");
  Decoded<DataOverlay>([](auto& m) { m.mutable_data_overlay(); }, "DataOverlay");
}

TEST(Transaction, UpdateConfigInBothForms) {
  const auto now = Decoded<UpdateConfig>(
      [](auto& m) {
        m.mutable_update_config()->mutable_config_updates()->add_update_entries()->set_key("a");
        m.mutable_update_config()->mutable_config_updates()->set_replace(true);
        m.mutable_update_config()->mutable_schema_metadata_updates();
        (*m.mutable_update_config()->mutable_field_metadata_updates())[3].set_replace(true);
      },
      "UpdateConfig");
  EXPECT_THAT(now.config_keys, ElementsAre("a"));
  EXPECT_TRUE(now.replaces_config && now.touches_schema_metadata && now.touches_field_metadata);

  const auto before = Decoded<UpdateConfig>(
      [](auto& m) {
        (*m.mutable_update_config()->mutable_upsert_values())["b"] = "1";
        m.mutable_update_config()->add_delete_keys("c");
        (*m.mutable_update_config()->mutable_schema_metadata())["d"] = "2";
        (*m.mutable_update_config()->mutable_field_metadata())[3];
      },
      "UpdateConfig");
  EXPECT_THAT(before.config_keys, ElementsAre("b", "c"));
  EXPECT_TRUE(!before.replaces_config && before.touches_schema_metadata && before.touches_field_metadata);

  const auto table_only = Decoded<UpdateConfig>(
      [](auto& m) { m.mutable_update_config()->mutable_table_metadata_updates()->add_update_entries()->set_key("a"); },
      "UpdateConfig");
  EXPECT_THAT(table_only.config_keys, IsEmpty());
  EXPECT_FALSE(table_only.touches_schema_metadata || table_only.touches_field_metadata);
}

TEST(Transaction, AnOperationWeDoNotKnowIsNamedByItsNumber) {
  // Field 116, an empty message.
  ASSERT_OK_AND_ASSIGN(const Transaction unknown, DecodeTransaction(FromHex("08 04 a2 07 00")));
  EXPECT_EQ(std::get<UnknownOperation>(unknown.operation).number, 116);
  ASSERT_OK_AND_ASSIGN(const Transaction none, DecodeTransaction(FromHex("08 04")));
  EXPECT_EQ(std::get<UnknownOperation>(none.operation).number, 0);
  EXPECT_EQ(NameOf(none.operation), "Unknown");
}

TEST(Transaction, BadBytesAreCorruption) {
  ExpectError(DecodeTransaction("\xff\xff").status(), ErrorKind::kCorruption, "transaction");
  wire::Transaction message;
  message.mutable_update()->add_compacted_sstables()->mutable_shard_id()->set_uuid("short");
  ExpectError(DecodeTransaction(message.SerializeAsString()).status(), ErrorKind::kCorruption, "UUID");
}

}  // namespace
}  // namespace javelin::table
