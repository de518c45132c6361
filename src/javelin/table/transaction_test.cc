#include "javelin/table/transaction.h"

#include "javelin/table/test_support_internal.h"
#include "lanceproto/table.pb.h"
#include "lanceproto/transaction.pb.h"

namespace javelin::table {
namespace {

namespace wire = ::lance::table;
using testing::ElementsAre;

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
  EXPECT_FALSE(back.rewrites_columns || back.inserted_keys);
  wire::Transaction message;
  ASSERT_TRUE(message.ParseFromString(EncodeTransaction(Of(update)).ValueOrDie()));
  EXPECT_THAT(message.update().fields_for_preserving_frag_bitmap(), ElementsAre(1, 2));
  EXPECT_EQ(message.update().update_mode(), wire::Transaction::Update::REWRITE_ROWS);
}

TEST(Transaction, UpdateOfColumnsSurvives) {
  Update update;
  update.updated_fragments = {OneFile(3, 10)};
  update.fields_modified = {FieldId(1)};
  update.rewrites_columns = true;
  update.changed_fields = {FieldId(1), FieldId(2)};
  update.updated_offsets = {{FragmentId(3), OffsetSet::FromUnsorted({1, 4})}};
  update.inserted_keys = KeyFilter{{FieldId(0)}, KeyFilter::Exact{{7, 8}}};
  const Transaction transaction = RoundTrip(Of(update));
  const auto& back = std::get<Update>(transaction.operation);
  EXPECT_TRUE(back.rewrites_columns);
  EXPECT_EQ(back.fields_modified, update.fields_modified);
  EXPECT_EQ(back.changed_fields, update.changed_fields);
  EXPECT_EQ(back.updated_offsets, update.updated_offsets);
  EXPECT_EQ(back.inserted_keys, update.inserted_keys);
}

TEST(Transaction, BothFormsOfUpdatedRows) {
  wire::Transaction message;
  auto* update = message.mutable_update();
  (*update->mutable_updated_fragment_offsets())[3].add_offsets(4);
  (*update->mutable_updated_fragment_offsets())[5].add_offsets(6);
  (*update->mutable_updated_fragment_offset_bitmaps())[5] = EncodeRoaring(OffsetSet::FromUnsorted({7, 8}));
  ASSERT_OK_AND_ASSIGN(const Transaction back, DecodeTransaction(message.SerializeAsString()));
  EXPECT_EQ(std::get<Update>(back.operation).updated_offsets,
            (std::map<FragmentId, OffsetSet>{{FragmentId(3), OffsetSet::FromUnsorted({4})},
                                             {FragmentId(5), OffsetSet::FromUnsorted({7, 8})}}));
  (*update->mutable_updated_fragment_offset_bitmaps())[5] = "no bitmap";
  ExpectError(DecodeTransaction(message.SerializeAsString()).status(), ErrorKind::kCorruption, "fragment 5");
}

TEST(Transaction, RewriteSurvives) {
  Rewrite rewrite;
  rewrite.groups = {{{OneFile(1, 5), OneFile(2, 6)}, {OneFile(9, 11)}}, {{OneFile(4, 1)}, {}}};
  rewrite.rewritten_indices = {
      {std::string(16, 'o'), std::string(16, 'n'), "/lance.table.BTreeIndexDetails", "d", 1, {{"page.lance", 100}}}};
  rewrite.fragment_reuse = Entry("never stored");
  const Transaction transaction = RoundTrip(Of(rewrite));
  const auto& back = std::get<Rewrite>(transaction.operation);
  ASSERT_EQ(back.groups.size(), 2u);
  EXPECT_EQ(back.groups[0].old_fragments, rewrite.groups[0].old_fragments);
  EXPECT_EQ(back.groups[0].new_fragments, rewrite.groups[0].new_fragments);
  EXPECT_THAT(back.OldFragments(), ElementsAre(FragmentId(1), FragmentId(2), FragmentId(4)));
  EXPECT_EQ(back.rewritten_indices, rewrite.rewritten_indices);
  EXPECT_FALSE(back.fragment_reuse);
}

TEST(Transaction, ConfigurationSurvives) {
  UpdateConfig config;
  config.config = MapUpdate{{{"a", "1"}, {"b", std::nullopt}}, false};
  config.table_metadata = MapUpdate{{{"c", ""}}, true};
  config.schema_metadata = MapUpdate{};
  config.field_metadata = {{FieldId(3), {{{"d", "2"}}, true}}};
  const Transaction transaction = RoundTrip(Of(config));
  EXPECT_EQ(std::get<UpdateConfig>(transaction.operation), config);
}

TEST(Transaction, ChangesOfMaps) {
  const std::map<std::string, std::string> map = {{"a", "1"}, {"b", "2"}};
  using Map = std::map<std::string, std::string>;
  EXPECT_EQ((MapUpdate{{{"a", "3"}, {"c", "4"}}, false}.ApplyTo(map)), (Map{{"a", "3"}, {"b", "2"}, {"c", "4"}}));
  EXPECT_EQ((MapUpdate{{{"a", std::nullopt}, {"x", std::nullopt}}, false}.ApplyTo(map)), (Map{{"b", "2"}}));
  EXPECT_EQ((MapUpdate{{{"c", "4"}, {"a", std::nullopt}}, true}.ApplyTo(map)), (Map{{"c", "4"}}));
}

TEST(Transaction, TheOthersSurvive) {
  const Clone clone{true, "tag", TableVersion(7), "/other", "b"};
  const Transaction cloned = RoundTrip(Of(clone));
  EXPECT_EQ(std::get<Clone>(cloned.operation), clone);
  const UpdateBases bases{{{1, "name", true, "/p"}}};
  const Transaction based = RoundTrip(Of(bases));
  EXPECT_EQ(std::get<UpdateBases>(based.operation).new_bases, bases.new_bases);
  const DataReplacement replacement{{{FragmentId(3), OneFile(0, 5).files[0]}}};
  const Transaction replaced = RoundTrip(Of(replacement));
  EXPECT_EQ(std::get<DataReplacement>(replaced.operation).replacements, replacement.replacements);
  Delete deletion;
  deletion.updated_fragments = {OneFile(3, 10)};
  deletion.deleted_fragment_ids = {FragmentId(4)};
  deletion.predicate = "a = 1";
  const Transaction deleted = RoundTrip(Of(deletion));
  EXPECT_EQ(std::get<Delete>(deleted.operation).updated_fragments, deletion.updated_fragments);
  EXPECT_EQ(std::get<Delete>(deleted.operation).deleted_fragment_ids, deletion.deleted_fragment_ids);
  EXPECT_EQ(std::get<Delete>(deleted.operation).predicate, "a = 1");
}

// Transactions that the released writer (14.0.2) made: what, and the bytes.
const std::vector<std::pair<std::string, std::string>> kReleasedWriter = {
    {"Overwrite",
     "122430633062396235352d313731652d346436622d386635372d323163343466303461386239b20685020a4d12490a3830313130"
     "313130303130313131303131313031313130303066353834386234383036613331623838383534353531663165312e6c616e6365"
     "120200011a0200012002280230a70520050a4d12490a383030313130303030303131313130303031303030313031316436663238"
     "3834346363396230303033336533316330333934312e6c616e6365120200011a0200012002280230a705200512471202696420ff"
     "ffffffffffffffff012a05696e7436343801522b0a236c616e63652d736368656d613a756e656e666f726365642d7072696d6172"
     "792d6b65791204747275656001121c120173180120ffffffffffffffffff012a06737472696e6730013802"},
    {"Delete",
     "0801122432636335383064312d336233312d343535352d383035302d323232373465323638633835aa0686010a7e12490a383031"
     "3130313130303130313131303131313031313130303066353834386234383036613331623838383534353531663165312e6c616e"
     "6365120200011a0200012002280230a7051a0f1001188fa284cfa7f5bdd0d701200120052a060a040a0210053a0a0a080a040a02"
     "100510014a0a0a080a040a02100510011a0469643d31"},
    {"Update",
     "0802122437396238663437312d636464382d343035392d383463652d343563373365356334323038e206dc01127e12490a383031"
     "3130313130303130313131303131313031313130303066353834386234383036613331623838383534353531663165312e6c616e"
     "6365120200011a0200012002280230a7051a0f100218babea8f8dac4a5fdf501200220052a060a040a0210053a0a0a080a040a02"
     "100510014a0a0a080a040a02100510011a5712490a38313130313031303030313030313130303131303130313130373434333165"
     "34313732616266313836613565666539326435632e6c616e6365120200011a0200012002280230c90320012a080a060a04080210"
     "03320101"},
    {"UpdateConfig",
     "0804122430643836666533662d646238342d343231622d383365652d623031386163663163343062f2060a32080a060a016b1201"
     "76"},
    {"UpdateConfig",
     "0805122437643039396131632d386333332d343130382d623030332d316261363836343338663633f2060a42080a060a01611201"
     "62"},
    {"UpdateConfig",
     "0806122436356230386461662d313264372d346262352d613361612d653739663436376536303938f2060f4a0d080112090a070a"
     "02666d120131"},
    {"Merge",
     "0808122463303832363364372d366335622d343731312d613234302d393939373530623835376461ca069b070ac70112490a3830"
     "313130313130303130313131303131313031313130303066353834386234383036613331623838383534353531663165312e6c61"
     "6e6365120200011a0200012002280230a70512470a38313030303031313030313131303030313031313031313031393365663761"
     "34313361616562616566623438623434626634662e6c616e63651201021a01002002280230e8021a0f100318ed89dfb78e9686bd"
     "9901200320052a060a040a0210053a0a0a080a040a02100510014a0a0a080a040a02100510010aba01080112490a383030313130"
     "3030303031313131303030313030303130313164366632383834346363396230303033336533316330333934312e6c616e636512"
     "0200011a0200012002280230a70512470a3830313131313131303030303031313130303130303131303136366535313334346262"
     "623063616562323334643230386136362e6c616e63651201021a01002002280230de0220052a080a060a040805100a3a0a0a080a"
     "040a02100510014a0a0a080a040a02100510010aba01080212490a38313130313031303030313030313130303131303130313130"
     "37343433316534313732616266313836613565666539326435632e6c616e6365120200011a0200012002280230c90312470a3830"
     "313030313130313031313030303030303131303131313032316362316234653564396461316662396133303633653163332e6c61"
     "6e63651201021a01002002280230d40120012a080a060a04080210033a0a0a080a040a02100110034a0a0a080a040a0210011001"
     "0ac901080312490a3830313031313130313131303130303131303031313130303030383633626534643666613063663631343734"
     "333166653965392e6c616e6365120200011a0200012002280230a70512470a383031303130303131303030313030303031313030"
     "3030303163343238643634333063383134643538646661633033663766622e6c616e63651201021a01002002280230de0220022a"
     "0b0a091a070803100b1a01813a0a0a080a040a02100210044a160a080a040a02100110010a0a0a060a0408011002100412471202"
     "696420ffffffffffffffffff012a05696e7436343801522b0a236c616e63652d736368656d613a756e656e666f726365642d7072"
     "696d6172792d6b657912047472756560011225120173180120ffffffffffffffffff012a06737472696e673001380252070a0266"
     "6d1201311219120163180220ffffffffffffffffff012a05696e7436343801"},
    {"Project",
     "0809122430643664306334372d313262642d343038642d623832632d626266616463636135373633ea06720a471202696420ffff"
     "ffffffffffffff012a05696e7436343801522b0a236c616e63652d736368656d613a756e656e666f726365642d7072696d617279"
     "2d6b657912047472756560010a25120173180120ffffffffffffffffff012a06737472696e673001380252070a02666d12013110"
     "01"},
    {"Rewrite",
     "080a122435323039653235622d363130632d343532382d613134622d333134386261303763633662c206c6061ac7050a7e12490a"
     "3830313130313130303130313131303131313031313130303066353834386234383036613331623838383534353531663165312e"
     "6c616e6365120200011a0200012002280230a7051a0f100318ed89dfb78e9686bd9901200320052a060a040a0210053a0a0a080a"
     "040a02100510094a0a0a080a040a02100510010a71080112490a3830303131303030303031313131303030313030303130313164"
     "366632383834346363396230303033336533316330333934312e6c616e6365120200011a0200012002280230a70520052a080a06"
     "0a040805100a3a0a0a080a040a02100510094a0a0a080a040a02100510010a71080212490a383131303130313030303130303131"
     "3030313130313031313037343433316534313732616266313836613565666539326435632e6c616e6365120200011a0200012002"
     "280230c90320012a080a060a04080210033a0a0a080a040a02100110094a0a0a080a040a02100110010a8001080312490a383031"
     "3031313130313131303130303131303031313130303030383633626534643666613063663631343734333166653965392e6c616e"
     "6365120200011a0200012002280230a70520022a0b0a091a070803100b1a01813a0a0a080a040a02100210094a160a080a040a02"
     "100110010a0a0a060a0408011002100412db01080412490a38303030313031303130313130313130313030313030313031373337"
     "33373734636235396638383666636531613932363733312e6c616e6365120200011a0200012002280230f805200a2a240a071a05"
     "10051a01110a060a040805100a0a060a04080210030a091a070803100b1a01813a2b0a0b0a071a0510051a011110090a080a040a"
     "02100510090a080a040a02100110090a080a040a02100210094a370a0b0a071a0510051a011110010a080a040a02100510010a08"
     "0a040a02100110010a080a040a02100110010a0a0a060a04080110021004227a0a120a10c048fe76ce384e3581a42b6a973ca18d"
     "12120a10b26045d35f4c432799d37e01478700501a200a1e2f6c616e63652e7461626c652e4254726565496e6465784465746169"
     "6c7320012a140a0f706167655f646174612e6c616e636510bf052a160a11706167655f6c6f6f6b75702e6c616e636510b706"},
    {"Restore", "080c122439333266326264312d353463342d343164302d393732332d373137373861636362656663d206020802"},
    {"Clone",
     "080d122433343234313832302d366638632d343862612d623762642d6630346435373061383239378a07180801180d22122f612f"
     "7461626c652f656c73657768657265"},
    {"Clone",
     "080d122434653739636536382d316338302d343537642d393232652d3634643932323366623866308a071c0801180d22122f612f"
     "7461626c652f656c736577686572652a026231"},
};

TEST(Transaction, BytesOfTheReleasedWriterComeBackTheSame) {
  for (const auto& [name, hex] : kReleasedWriter) {
    const std::string bytes = FromHex(hex);
    ASSERT_OK_AND_ASSIGN(const Transaction transaction, DecodeTransaction(bytes));
    EXPECT_EQ(NameOf(transaction.operation), name);
    ASSERT_OK_AND_ASSIGN(const std::string again, EncodeTransaction(transaction));
    EXPECT_EQ(again, bytes) << name;
  }
}

TEST(Transaction, FileName) {
  EXPECT_EQ(TransactionFileName(Of(Append{})), "4-acdb6f01-8891-44e4-b095-94f88eeb77e6.txn");
}

TEST(Transaction, OnlyOurOperationsAreEncoded) {
  ExpectError(EncodeTransaction(Of(DataOverlay{})).status(), ErrorKind::kNotSupported, "DataOverlay");
  ExpectError(EncodeTransaction(Of(UnknownOperation{116})).status(), ErrorKind::kNotSupported, "Unknown");
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
  ASSERT_TRUE(update.inserted_keys);
  EXPECT_EQ(update.inserted_keys->data.index(), 0u) << "nothing is known of the keys";

  const auto rewrite = Decoded<Rewrite>(
      [](auto& m) {
        m.mutable_rewrite()->add_old_fragments()->set_id(1);
        m.mutable_rewrite()->add_groups()->add_old_fragments()->set_id(2);
        m.mutable_rewrite()->add_groups()->add_old_fragments()->set_id(5);
      },
      "Rewrite");
  EXPECT_THAT(rewrite.OldFragments(), ElementsAre(FragmentId(1), FragmentId(2), FragmentId(5)));

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
  EXPECT_THAT(replacement.replacements[0].new_file.fields, ElementsAre(6));
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
  EXPECT_EQ(now.config, (MapUpdate{{{"a", std::nullopt}}, true}));
  EXPECT_EQ(now.schema_metadata, MapUpdate{});
  EXPECT_EQ(now.field_metadata, (std::map<FieldId, MapUpdate>{{FieldId(3), {{}, true}}}));

  const auto before = Decoded<UpdateConfig>(
      [](auto& m) {
        (*m.mutable_update_config()->mutable_upsert_values())["b"] = "1";
        m.mutable_update_config()->add_delete_keys("c");
        (*m.mutable_update_config()->mutable_schema_metadata())["d"] = "2";
        (*m.mutable_update_config()->mutable_field_metadata())[3];
      },
      "UpdateConfig");
  EXPECT_EQ(before.config, (MapUpdate{{{"b", "1"}, {"c", std::nullopt}}, false}));
  EXPECT_EQ(before.schema_metadata, (MapUpdate{{{"d", "2"}}, true}));
  EXPECT_EQ(before.field_metadata, (std::map<FieldId, MapUpdate>{{FieldId(3), {{}, true}}}));

  const auto table_only = Decoded<UpdateConfig>(
      [](auto& m) { m.mutable_update_config()->mutable_table_metadata_updates()->add_update_entries()->set_key("a"); },
      "UpdateConfig");
  EXPECT_EQ(table_only.table_metadata, (MapUpdate{{{"a", std::nullopt}}, false}));
  EXPECT_FALSE(table_only.config || table_only.schema_metadata || !table_only.field_metadata.empty());
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
