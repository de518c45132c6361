#include "javelin/table/versions.h"

#include "javelin/table/manifest_codec.h"
#include "javelin/table/table_world_internal.h"

namespace javelin::table {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kV2One[] = "18446744073709551614.manifest";

ManifestName V1(uint64_t version) { return {TableVersion(version), NamingScheme::kV1}; }
ManifestName V2(uint64_t version) { return {TableVersion(version), NamingScheme::kV2}; }

TEST(ManifestNames, BothSchemesInBothDirections) {
  EXPECT_EQ(ToFileName(V2(1)), kV2One);
  EXPECT_EQ(ToFileName(V1(1)), "1.manifest");
  for (uint64_t version : {uint64_t{1}, uint64_t{9}, uint64_t{10}, uint64_t{1} << 40, (uint64_t{1} << 63) - 1}) {
    EXPECT_EQ(ParseManifestName(ToFileName(V1(version))), V1(version));
    EXPECT_EQ(ParseManifestName(ToFileName(V2(version))), V2(version));
  }
}

TEST(ManifestNames, ForeignNamesAreNoVersions) {
  for (std::string name :
       {"", ".manifest", "latest_version_hint.json", "1.manifest#1", ".tmpabc", "1.manifest.tmp", "01.manifest",
        "0.manifest", "-1.manifest", "+1.manifest", "1x.manifest", "d9223372036854775809.manifest",
        "18446744073709551615.manifest", "99999999999999999999.manifest", "9223372036854775808.manifest",
        "00000000000000000001.manifest", "1.MANIFEST", ".manifest-0f8fad5b-d9cb-469f-a165-70867728950e"}) {
    EXPECT_EQ(ParseManifestName(name), std::nullopt) << name;
  }
}

class Versions : public testing::TestWithParam<StoreKind> {
 protected:
  void Plant(const std::string& name, std::string bytes = "x") {
    ASSERT_OK(world_.inner().Put("t/_versions/" + name, arrow::Buffer::FromString(std::move(bytes))));
  }
  std::string ManifestBytes(uint64_t version) {
    Manifest manifest;
    manifest.version = TableVersion(version);
    manifest.schema = TableWorld::TwoColumns();
    manifest.data_format_version = "2.2";
    return ToText(EncodeManifestFile(manifest, "t").ValueOrDie());
  }
  void PlantManifest(const ManifestName& name) { Plant(ToFileName(name), ManifestBytes(name.version.value())); }

  TableWorld world_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Stores, Versions, testing::Values(StoreKind::kMemory, StoreKind::kLocal),
                         [](const auto& info) { return info.param == StoreKind::kMemory ? "Memory" : "Local"; });

TEST_P(Versions, NoTable) {
  ExpectError(FindLatestVersion(world_.location()).status(), ErrorKind::kNotFound, "test://t");
  ExpectError(LoadLatestVersion(world_.location()).status(), ErrorKind::kNotFound, "there is no table");
  ASSERT_OK_AND_ASSIGN(auto versions, ListVersions(world_.location()));
  EXPECT_TRUE(versions.empty());
  Plant("latest_version_hint.json");
  ExpectError(FindLatestVersion(world_.location()).status(), ErrorKind::kNotFound, "test://t");
}

TEST_P(Versions, TheNewestAmongForeignNames) {
  for (uint64_t version : {9, 10, 11, 100}) PlantManifest(V2(version));
  Plant("d9223372036854775809.manifest");
  Plant("latest_version_hint.json", "{\"version\":10}");
  for (int i = 0; i < 40; ++i) Plant(fmt::format("+staging-{}", i));
  ASSERT_OK_AND_ASSIGN(const ManifestName latest, FindLatestVersion(world_.location()));
  EXPECT_EQ(latest, V2(100));
  ASSERT_OK_AND_ASSIGN(const auto versions, ListVersions(world_.location()));
  EXPECT_THAT(versions, ElementsAre(V2(9), V2(10), V2(11), V2(100)));
}

TEST_P(Versions, V1NamesAreComparedAsNumbers) {
  for (uint64_t version : {1, 2, 9, 10}) PlantManifest(V1(version));
  ASSERT_OK_AND_ASSIGN(const ManifestName latest, FindLatestVersion(world_.location()));
  EXPECT_EQ(latest, V1(10));
  ASSERT_OK_AND_ASSIGN(const LoadedManifest loaded, LoadVersion(world_.location(), TableVersion(9)));
  EXPECT_EQ(loaded.scheme, NamingScheme::kV1);
}

TEST_P(Versions, MixedSchemesAreCorruption) {
  PlantManifest(V1(1));
  PlantManifest(V2(2));
  ExpectError(FindLatestVersion(world_.location()).status(), ErrorKind::kCorruption, "both naming schemes");
  ExpectError(ListVersions(world_.location()).status(), ErrorKind::kCorruption, "both naming schemes");
}

TEST_P(Versions, OpeningTakesOneListAndOneGet) {
  for (uint64_t version : {1, 2, 3}) PlantManifest(V2(version));
  ASSERT_OK(LoadLatestVersion(world_.location()).status());
  EXPECT_THAT(world_.counting().LogText(), ElementsAre("list t/_versions/", "get t/_versions/" + ToFileName(V2(3))));
  world_.counting().Reset();
  ASSERT_OK(LoadVersion(world_.location(), TableVersion(2)).status());
  EXPECT_THAT(world_.counting().LogText(), ElementsAre("get t/_versions/" + ToFileName(V2(2))));
}

TEST_P(Versions, AMissingVersionIsNamed) {
  PlantManifest(V2(1));
  const arrow::Status status = LoadVersion(world_.location(), TableVersion(7)).status();
  ExpectError(status, ErrorKind::kNotFound, "no version 7");
  EXPECT_EQ(FieldsOf(status)["version"], "7");
}

TEST_P(Versions, ALargeManifestTakesTwoRequests) {
  Manifest manifest;
  manifest.version = TableVersion(1);
  manifest.schema = TableWorld::TwoColumns();
  manifest.data_format_version = "2.2";
  for (uint64_t id = 0; id < 2000; ++id) {
    manifest.fragments.push_back(TableWorld::Rows(id + 1));
    manifest.fragments.back().id = FragmentId(id);
  }
  Plant(kV2One, ToText(EncodeManifestFile(manifest, std::string(1000, 't')).ValueOrDie()));
  ASSERT_OK_AND_ASSIGN(const LoadedManifest loaded, LoadVersion(world_.location(), V2(1)));
  EXPECT_EQ(loaded.manifest->fragments, manifest.fragments);
  EXPECT_EQ(loaded.transaction, std::string(1000, 't'));
  EXPECT_EQ(world_.counting().counts().total(), 2u);
}

TEST_P(Versions, ATornNewestManifestNamesItselfAndTheLastGoodVersion) {
  for (uint64_t version : {1, 2, 3}) PlantManifest(V2(version));
  Plant(ToFileName(V2(4)), ManifestBytes(4).substr(0, 40));
  Plant(ToFileName(V2(5)), "");
  const arrow::Status status = LoadLatestVersion(world_.location()).status();
  ExpectError(status, ErrorKind::kCorruption, "newest version 5 is damaged; the last good version is 3");
  EXPECT_THAT(status.message(), HasSubstr(ToFileName(V2(5))));
  EXPECT_EQ(FieldsOf(status)["last_good_version"], "3");
  EXPECT_THAT(FieldsOf(status)["path"], HasSubstr("t/_versions/" + ToFileName(V2(5))));
  ASSERT_OK(LoadVersion(world_.location(), TableVersion(3)).status());
  for (uint64_t version : {1, 2, 3}) Plant(ToFileName(V2(version)), "torn");
  ExpectError(LoadLatestVersion(world_.location()).status(), ErrorKind::kCorruption, "none of the 4 before it");
}

TEST_P(Versions, AManifestUnderAnotherVersionsNameIsCorruption) {
  Plant(ToFileName(V2(3)), ManifestBytes(7));
  ExpectError(LoadVersion(world_.location(), V2(3)).status(), ErrorKind::kCorruption, "says that it is version 7");
}

TEST_P(Versions, DetachedVersionsOpenByNumberOnly) {
  constexpr uint64_t kDetached = (uint64_t{1} << 63) + 5;
  Plant(fmt::format("d{}.manifest", kDetached), ManifestBytes(kDetached));
  ASSERT_OK_AND_ASSIGN(const LoadedManifest loaded, LoadVersion(world_.location(), TableVersion(kDetached)));
  EXPECT_EQ(loaded.manifest->version, TableVersion(kDetached));
  ExpectError(FindLatestVersion(world_.location()).status(), ErrorKind::kNotFound, "no version");
}

TEST_P(Versions, AFailedListingOrGetIsNeverAnOlderVersion) {
  PlantManifest(V2(1));
  for (std::string method : {"list", "get"}) {
    world_.faults().ClearRules();
    world_.faults().AddRule({.method = method});
    ASSERT_TRUE(HasKind(LoadLatestVersion(world_.location()).status(), ErrorKind::kTransient)) << method;
  }
}

TEST_P(Versions, TransactionsFromEitherPlace) {
  ASSERT_OK_AND_ASSIGN(LoadedManifest loaded, world_.Create());
  ASSERT_OK_AND_ASSIGN(const Transaction inlined, LoadTransaction(world_.location(), loaded));
  loaded.transaction.reset();
  ASSERT_OK_AND_ASSIGN(const Transaction from_file, LoadTransaction(world_.location(), loaded));
  EXPECT_EQ(inlined.uuid, from_file.uuid);
  Manifest bare = *loaded.manifest;
  bare.transaction_file.clear();
  loaded.manifest = std::make_shared<const Manifest>(bare);
  ExpectError(LoadTransaction(world_.location(), loaded).status(), ErrorKind::kNotFound, "no transaction record");
}

TEST_P(Versions, TheHintIsWrittenOnlyWhereListingsAreNotOrdered) {
  ASSERT_OK(world_.Create().status());
  const auto hint = world_.inner().Get("t/_versions/latest_version_hint.json");
  if (GetParam() == StoreKind::kMemory) {
    ExpectError(hint.status(), ErrorKind::kNotFound, "");
  } else {
    ASSERT_OK(hint.status());
    EXPECT_EQ(ToText(*hint), "{\"version\":1}");
  }
}

}  // namespace
}  // namespace javelin::table
