#include "javelin/table/manifest_codec.h"

#include "javelin/table/feature_flags.h"
#include "javelin/table/row_lineage.h"
#include "javelin/table/test_support_internal.h"
#include "lanceproto/table.pb.h"

namespace javelin::table {
namespace {

namespace wire = ::lance::table;
using testing::HasSubstr;

std::string Number32(uint32_t value) { return std::string(reinterpret_cast<const char*>(&value), 4); }
std::string Footer(int64_t position, std::string_view magic = "LANC") {
  return std::string(reinterpret_cast<const char*>(&position), 8) + FromHex("0000 0200") + std::string(magic);
}
std::string Section(const std::string& bytes) { return Number32(static_cast<uint32_t>(bytes.size())) + bytes; }
std::string FileOf(const wire::Manifest& message) { return Section(message.SerializeAsString()) + Footer(0); }

const std::string kPath = std::string(24, '0') + std::string(26, 'a') + ".lance";

// The smallest manifest that the released reader opens: one int64 column `a` over one data file.
std::string SmallestManifest() {
  return FromHex(
             "61000000"
             "0a15 120161 20ffffffffffffffffff01 2a05696e743634"
             "1246 1244 0a38") +
         kPath + FromHex("120100 1a0100 2002 2802  1801") + FromHex("0000000000000000 0000 0200 4c414e43");
}

TEST(ManifestCodec, TheSmallestValidManifest) {
  ASSERT_EQ(SmallestManifest().size(), 117u);
  ASSERT_OK_AND_ASSIGN(const DecodedManifest decoded, DecodeManifestFile(SmallestManifest()));
  const Manifest& manifest = decoded.manifest;
  EXPECT_EQ(manifest.version, TableVersion(1));
  ASSERT_EQ(manifest.schema.fields().size(), 1u);
  EXPECT_EQ(manifest.schema.fields()[0].name, "a");
  EXPECT_EQ(manifest.schema.fields()[0].id, FieldId(0));
  EXPECT_FALSE(manifest.schema.fields()[0].nullable);
  ASSERT_EQ(manifest.fragments.size(), 1u);
  EXPECT_EQ(manifest.fragments[0].files[0].path, kPath);
  EXPECT_EQ(manifest.fragments[0].files[0].fields, std::vector<int32_t>{0});
  EXPECT_EQ(manifest.fragments[0].files[0].column_indices, std::vector<int32_t>{0});
  EXPECT_EQ(manifest.fragments[0].files[0].version, (file::FileVersion{2, 2}));
  EXPECT_EQ(manifest.data_format_version, "2.2");  // from its files
  EXPECT_EQ(manifest.max_fragment_id, std::nullopt);
  EXPECT_EQ(manifest.writer_version.has_value(), false);
  EXPECT_EQ(decoded.transaction, std::nullopt);
}

IndexEntry Entry(std::string name, char fill, std::string extra = "") {
  wire::IndexMetadata message;
  message.mutable_uuid()->set_uuid(std::string(16, fill));
  message.set_name(name);
  IndexEntry entry;
  entry.name = std::move(name);
  entry.uuid = std::string(16, fill);
  entry.encoded = message.SerializeAsString() + extra;
  return entry;
}

Manifest Everything() {
  Manifest manifest;
  manifest.version = TableVersion(9);
  auto arrow_schema = arrow::schema({arrow::field("id", arrow::int64(), false), arrow::field("s", arrow::utf8())},
                                    arrow::key_value_metadata({"origin"}, {"test"}));
  manifest.schema = file::Schema::FromArrow(*arrow_schema).ValueOrDie();
  DataFile file{kPath, {0, 1, -2}, {0, 1, 2}, {2, 2}, 4711, 3};
  Fragment first{FragmentId(0),
                 {file},
                 DeletionFile{DeletionFileType::kBitmap, 8, 77, 2, 3},
                 10,
                 LineageOfNewRows(0, 10, TableVersion(1))};
  Fragment second{FragmentId(5), {file, file}, std::nullopt, 20, LineageOfNewRows(10, 20, TableVersion(9))};
  manifest.fragments = {first, second};
  manifest.indices = {Entry("b", 'b', FromHex("ea 04 02 7878")), Entry("a", 'a')};
  manifest.timestamp_ns = 1'700'000'000'123'456'789;
  manifest.reader_feature_flags = 1 | 2 | 16;
  manifest.writer_feature_flags = 1 | 2 | 8 | 16;
  manifest.max_fragment_id = 7;
  manifest.transaction_file = "8-x.txn";
  manifest.writer_version = WriterVersion{"javelin", "0.1.0"};
  manifest.next_row_id = 30;
  manifest.data_format_version = "2.2";
  manifest.config = {{"k", "v"}};
  manifest.table_metadata = {{"m", "n"}};
  manifest.base_paths = {{3, "name", true, "/elsewhere"}};
  manifest.branch = "feature/a";
  return manifest;
}

TEST(ManifestCodec, EveryFieldSurvivesAndSectionsLieInOrder) {
  const Manifest manifest = Everything();
  ASSERT_OK_AND_ASSIGN(const BufferPtr file, EncodeManifestFile(manifest, "transaction bytes"));
  ASSERT_OK_AND_ASSIGN(const DecodedManifest decoded, DecodeManifestFile(ToText(file)));
  const Manifest& back = decoded.manifest;
  EXPECT_EQ(decoded.transaction, "transaction bytes");
  EXPECT_EQ(back.version, manifest.version);
  EXPECT_EQ(back.schema, manifest.schema);
  EXPECT_EQ(back.fragments, manifest.fragments);
  ASSERT_EQ(back.indices.size(), 2u);
  EXPECT_EQ(back.indices[0].encoded, manifest.indices[0].encoded);  // stored order, bytes untouched
  EXPECT_EQ(back.indices[1].encoded, manifest.indices[1].encoded);
  EXPECT_EQ(back.timestamp_ns, manifest.timestamp_ns);
  EXPECT_EQ(back.reader_feature_flags, manifest.reader_feature_flags);
  EXPECT_EQ(back.writer_feature_flags, manifest.writer_feature_flags);
  EXPECT_EQ(back.max_fragment_id, manifest.max_fragment_id);
  EXPECT_EQ(back.transaction_file, manifest.transaction_file);
  EXPECT_EQ(back.writer_version->library, "javelin");
  EXPECT_EQ(back.next_row_id, manifest.next_row_id);
  EXPECT_EQ(back.data_format_version, manifest.data_format_version);
  EXPECT_EQ(back.config, manifest.config);
  EXPECT_EQ(back.table_metadata, manifest.table_metadata);
  EXPECT_EQ(back.base_paths, manifest.base_paths);
  EXPECT_EQ(back.branch, manifest.branch);

  // Index section at 0, then the transaction, then the manifest, then the footer, without gaps.
  const std::string bytes = ToText(file);
  uint32_t index_length, transaction_length, manifest_length;
  std::memcpy(&index_length, bytes.data(), 4);
  std::memcpy(&transaction_length, bytes.data() + 4 + index_length, 4);
  const size_t position = 8 + index_length + transaction_length;
  std::memcpy(&manifest_length, bytes.data() + position, 4);
  EXPECT_EQ(bytes.size(), position + 4 + manifest_length + 16);
  EXPECT_EQ(bytes.substr(bytes.size() - 16), Footer(static_cast<int64_t>(position)));
  wire::Manifest message;
  ASSERT_TRUE(message.ParseFromString(bytes.substr(position + 4, manifest_length)));
  EXPECT_TRUE(message.has_index_section());
  EXPECT_EQ(message.index_section(), 0u);
  EXPECT_EQ(message.transaction_section(), 4 + index_length);
  EXPECT_FALSE(message.has_transaction_section_deprecated());
}

TEST(ManifestCodec, TopLevelFieldsCarryTheirParentExplicitly) {
  ASSERT_OK_AND_ASSIGN(const BufferPtr file, EncodeManifestFile(Everything(), ""));
  EXPECT_THAT(ToText(file), HasSubstr(FromHex("20ffffffffffffffffff01")));
}

TEST(ManifestCodec, WithoutIndicesThereIsNoIndexSection) {
  Manifest manifest = Everything();
  manifest.indices.clear();
  ASSERT_OK_AND_ASSIGN(const BufferPtr file, EncodeManifestFile(manifest, "t"));
  EXPECT_EQ(ToText(file).substr(0, 5), Number32(1) + "t");
  ASSERT_OK_AND_ASSIGN(const DecodedManifest decoded, DecodeManifestFile(ToText(file)));
  EXPECT_TRUE(decoded.manifest.indices.empty());
  EXPECT_EQ(decoded.transaction, "t");
}

wire::Manifest Minimal() {
  wire::Manifest message;
  message.set_version(1);
  message.mutable_data_format()->set_version("2.2");
  return message;
}

TEST(ManifestCodec, TheOlderTransactionFieldIsReadWhenTheNewerIsAbsent) {
  wire::Manifest message = Minimal();
  message.set_transaction_section_deprecated(0);
  const std::string head = Section("old");
  auto file = [&] { return head + Section(message.SerializeAsString()) + Footer(static_cast<int64_t>(head.size())); };
  ASSERT_OK_AND_ASSIGN(const DecodedManifest old_form, DecodeManifestFile(file()));
  EXPECT_EQ(old_form.transaction, "old");
  const std::string two = Section("old") + Section("new");
  message.set_transaction_section(7);
  ASSERT_OK_AND_ASSIGN(const DecodedManifest both, DecodeManifestFile(two + Section(message.SerializeAsString()) +
                                                                      Footer(static_cast<int64_t>(two.size()))));
  EXPECT_EQ(both.transaction, "new");
}

TEST(ManifestCodec, SectionsInAnyOrderWithPaddingAndOtherFooterVersions) {
  wire::Manifest message = Minimal();
  wire::IndexSection section;
  section.add_indices(Entry("x", 'x').encoded);
  std::string file = "padding";
  const size_t position = file.size();
  const size_t manifest_bytes = 4 + [&] {
    message.set_index_section(1000);
    message.set_transaction_section(1000);
    return message.SerializeAsString().size();
  }();
  message.set_transaction_section(position + manifest_bytes + 200);
  message.set_index_section(position + manifest_bytes + 300);
  file += Section(message.SerializeAsString());
  ASSERT_EQ(file.size(), position + manifest_bytes);
  file += std::string(200, 'p') + Section("txn");
  file.resize(position + manifest_bytes + 300, 'q');
  file +=
      Section(section.SerializeAsString()) + Footer(static_cast<int64_t>(position)).replace(8, 4, FromHex("0200 0000"));
  ASSERT_OK_AND_ASSIGN(const DecodedManifest decoded, DecodeManifestFile(file));
  EXPECT_EQ(decoded.transaction, "txn");
  EXPECT_EQ(decoded.manifest.indices[0].name, "x");
}

TEST(ManifestCodec, FragmentsComeSortedAndOnceEach) {
  wire::Manifest message = Minimal();
  message.add_fragments()->set_id(4);
  message.add_fragments()->set_id(2);
  ASSERT_OK_AND_ASSIGN(const DecodedManifest decoded, DecodeManifestFile(FileOf(message)));
  EXPECT_EQ(decoded.manifest.fragments[0].id, FragmentId(2));
  message.add_fragments()->set_id(4);
  ExpectError(DecodeManifestFile(FileOf(message)).status(), ErrorKind::kCorruption, "fragment 4 is listed twice");
}

TEST(ManifestCodec, ContradictionsAreCorruption) {
  using Change = std::function<void(wire::Manifest&)>;
  const std::vector<std::pair<Change, std::string>> cases = {
      {[](auto& m) { m.clear_version(); }, "no version"},
      {[](auto& m) {
         auto* field = m.add_fields();
         field->set_name("_rowid");
         field->set_id(-3);
         field->set_parent_id(-1);
         field->set_logical_type("uint64");
       },
       "'_rowid' has the id -3"},
      {[](auto& m) { m.add_fragments()->set_id(uint64_t{1} << 32); }, "32 bits"},
      {[](auto& m) { m.add_fragments()->set_physical_rows((uint64_t{1} << 32) + 1); }, "rows"},
      {[](auto& m) {
         auto* file = m.add_fragments()->add_files();
         file->add_fields(0);
         file->add_fields(1);
         file->add_column_indices(0);
       },
       "2 fields and 1 columns"},
      {[](auto& m) { m.add_fragments()->add_files()->set_file_major_version(70000); }, "70000"},
      {[](auto& m) { m.set_index_section(1 << 20); }, "index section"},
      {[](auto& m) { m.set_transaction_section(UINT64_MAX - 2); }, "transaction"},
      {[](auto& m) {
         m.set_reader_feature_flags(2);
         m.set_writer_feature_flags(2);
         m.add_fragments();
       },
       "stable row ids"},
  };
  for (const auto& [change, part] : cases) {
    wire::Manifest message = Minimal();
    change(message);
    ExpectError(DecodeManifestFile(FileOf(message)).status(), ErrorKind::kCorruption, part);
  }
}

TEST(ManifestCodec, AnIndexEntryNeedsAUuid) {
  wire::Manifest message = Minimal();
  message.set_index_section(0);
  wire::IndexMetadata index;
  index.set_name("bare");
  wire::IndexSection section;
  section.add_indices(index.SerializeAsString());
  const std::string head = Section(section.SerializeAsString());
  const std::string file = head + Section(message.SerializeAsString()) + Footer(static_cast<int64_t>(head.size()));
  ExpectError(DecodeManifestFile(file).status(), ErrorKind::kCorruption, "'bare'");
}

TEST(ManifestCodec, UnknownDeletionFileTypeIsNotSupported) {
  wire::Manifest message = Minimal();
  message.add_fragments()->mutable_deletion_file()->set_file_type(static_cast<wire::DeletionFile::FileType>(9));
  ExpectError(DecodeManifestFile(FileOf(message)).status(), ErrorKind::kNotSupported, "type 9");
}

TEST(ManifestCodec, EveryCutAndBadFooterIsCorruption) {
  ASSERT_OK_AND_ASSIGN(const BufferPtr file, EncodeManifestFile(Everything(), "transaction"));
  const std::string whole = ToText(file);
  for (size_t length = 0; length < whole.size(); ++length) {
    ASSERT_TRUE(HasKind(DecodeManifestFile(whole.substr(0, length)).status(), ErrorKind::kCorruption)) << length;
  }
  const std::string body = Section(Minimal().SerializeAsString());
  ExpectError(DecodeManifestFile(body + Footer(0, "LANX")).status(), ErrorKind::kCorruption, "LANC");
  ExpectError(DecodeManifestFile(body + Footer(-1)).status(), ErrorKind::kCorruption, "offset -1");
  ExpectError(DecodeManifestFile(body + Footer(4000)).status(), ErrorKind::kCorruption, "outside the file");
  ExpectError(DecodeManifestFile(Number32(1u << 31) + Footer(0)).status(), ErrorKind::kCorruption, "claims");
}

TEST(ManifestCodec, FlippedBytesFailTypedOrDecode) {
  ASSERT_OK_AND_ASSIGN(const BufferPtr file, EncodeManifestFile(Everything(), "transaction"));
  const std::string whole = ToText(file);
  for (size_t position = 0; position < whole.size(); ++position) {
    for (int bit : {0, 3, 7}) {
      std::string flipped = whole;
      flipped[position] = static_cast<char>(flipped[position] ^ (1 << bit));
      const auto decoded = DecodeManifestFile(flipped);
      if (decoded.ok()) continue;
      const ErrorKind kind = KindOf(decoded.status());
      ASSERT_TRUE(kind == ErrorKind::kCorruption || kind == ErrorKind::kNotSupported)
          << position << decoded.status().ToString();
    }
  }
}

TEST(ManifestCodec, TimesBeforeTheEpochAndBeyondTheRange) {
  Manifest manifest = Everything();
  manifest.timestamp_ns = -1;
  ASSERT_OK_AND_ASSIGN(const BufferPtr file, EncodeManifestFile(manifest, ""));
  ASSERT_OK_AND_ASSIGN(const DecodedManifest decoded, DecodeManifestFile(ToText(file)));
  EXPECT_EQ(decoded.manifest.timestamp_ns, -1);
  wire::Manifest message = Minimal();
  message.mutable_timestamp()->set_seconds(INT64_MAX);
  message.mutable_timestamp()->set_nanos(-5);
  ASSERT_OK(DecodeManifestFile(FileOf(message)).status());
}

}  // namespace
}  // namespace javelin::table
