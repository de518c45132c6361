#include "javelin/file/schema.h"
#include "javelin/file/data_file_writer.h"

#include <arrow/api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lanceproto/file.pb.h"

#include "javelin/base/error.h"
#include "javelin/file/data_file_writer.h"

namespace javelin::file {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using FieldProto = lance::file::Field;

struct LogicalTypeCase {
  std::shared_ptr<arrow::DataType> type;
  std::string name;
};

std::vector<LogicalTypeCase> AllLogicalTypes() {
  using arrow::TimeUnit;
  auto fsl = [](std::shared_ptr<arrow::DataType> item, int n) { return arrow::fixed_size_list(std::move(item), n); };
  return {
      {arrow::null(), "null"},
      {arrow::boolean(), "bool"},
      {arrow::int8(), "int8"},
      {arrow::int16(), "int16"},
      {arrow::int32(), "int32"},
      {arrow::int64(), "int64"},
      {arrow::uint8(), "uint8"},
      {arrow::uint16(), "uint16"},
      {arrow::uint32(), "uint32"},
      {arrow::uint64(), "uint64"},
      {arrow::float16(), "halffloat"},
      {arrow::float32(), "float"},
      {arrow::float64(), "double"},
      {arrow::utf8(), "string"},
      {arrow::large_utf8(), "large_string"},
      {arrow::binary(), "binary"},
      {arrow::large_binary(), "large_binary"},
      {arrow::fixed_size_binary(7), "fixed_size_binary:7"},
      {arrow::fixed_size_binary(0), "fixed_size_binary:0"},
      {fsl(arrow::null(), 2), "fixed_size_list:null:2"},
      {fsl(fsl(arrow::null(), 2), 3), "fixed_size_list:fixed_size_list:null:2:3"},
      {arrow::date32(), "date32:day"},
      {arrow::date64(), "date64:ms"},
      {arrow::time32(TimeUnit::SECOND), "time32:s"},
      {arrow::time32(TimeUnit::MILLI), "time32:ms"},
      {arrow::time64(TimeUnit::MICRO), "time64:us"},
      {arrow::time64(TimeUnit::NANO), "time64:ns"},
      {arrow::timestamp(TimeUnit::SECOND), "timestamp:s:-"},
      {arrow::timestamp(TimeUnit::MILLI, "+08:00"), "timestamp:ms:+08:00"},
      {arrow::timestamp(TimeUnit::MICRO, "Europe/Berlin"), "timestamp:us:Europe/Berlin"},
      {arrow::timestamp(TimeUnit::NANO), "timestamp:ns:-"},
      {arrow::duration(TimeUnit::SECOND), "duration:s"},
      {arrow::duration(TimeUnit::NANO), "duration:ns"},
      {arrow::decimal128(38, 10), "decimal:128:38:10"},
      {arrow::decimal128(5, -2), "decimal:128:5:-2"},
      {arrow::decimal256(76, 3), "decimal:256:76:3"},
      {fsl(arrow::float32(), 128), "fixed_size_list:float:128"},
      {fsl(arrow::boolean(), 3), "fixed_size_list:bool:3"},
      {fsl(fsl(arrow::float32(), 2), 3), "fixed_size_list:fixed_size_list:float:2:3"},
      {fsl(arrow::timestamp(TimeUnit::MICRO, "+08:00"), 2), "fixed_size_list:timestamp:us:+08:00:2"},
      {fsl(arrow::decimal128(10, 2), 2), "fixed_size_list:decimal:128:10:2:2"},
      {arrow::dictionary(arrow::int32(), arrow::utf8()), "dict:string:int32:false"},
      {arrow::dictionary(arrow::int8(), arrow::int64()), "dict:int64:int8:false"},
  };
}

std::shared_ptr<arrow::Schema> OneColumn(std::shared_ptr<arrow::DataType> type) {
  return arrow::schema({arrow::field("c", std::move(type))});
}

arrow::Result<Schema> ThroughProto(const Schema& schema) {
  return Schema::FromProto(schema.ToProto(), schema.metadata());
}

FieldProto Proto(int id, int parent, std::string name, std::string logical_type) {
  FieldProto field;
  field.set_id(id);
  field.set_parent_id(parent);
  field.set_name(std::move(name));
  field.set_logical_type(std::move(logical_type));
  return field;
}

void ExpectKind(const arrow::Status& status, ErrorKind kind, const std::string& part) {
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(KindOf(status), kind) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr(part));
}

TEST(LogicalType, EveryNameInBothDirections) {
  for (const auto& [type, name] : AllLogicalTypes()) {
    ASSERT_EQ(LogicalTypeOf(*type).ValueOrDie(), name);
    Schema back = Schema::FromProto(std::vector<FieldProto>{Proto(0, -1, "c", name)}, {}).ValueOrDie();
    EXPECT_TRUE(back.fields()[0].type->Equals(*type)) << name << " gave " << back.fields()[0].type->ToString();
    EXPECT_EQ(back.fields()[0].logical_type, name);
  }
}

TEST(LogicalType, StorageOnlyNames) {
  for (std::string name : {"json", "blob"}) {
    Schema schema = Schema::FromProto(std::vector<FieldProto>{Proto(0, -1, "c", name)}, {}).ValueOrDie();
    EXPECT_TRUE(schema.fields()[0].type->Equals(*arrow::large_binary()));
    EXPECT_EQ(schema.ToProto()[0].logical_type(), name);
  }
  Schema vectors = Schema::FromProto(std::vector<FieldProto>{Proto(0, -1, "c", "fixed_size_list:lance.bfloat16:4")}, {})
                       .ValueOrDie();
  EXPECT_TRUE(vectors.fields()[0].type->Equals(*arrow::fixed_size_list(arrow::fixed_size_binary(2), 4)));
  Schema again = Schema::FromArrow(*vectors.ToArrow()).ValueOrDie();
  EXPECT_EQ(again.fields()[0].logical_type, "fixed_size_list:lance.bfloat16:4");
}

TEST(LogicalType, ViewsAndNonNullItemsTakeTheFormTheyComeBackIn) {
  auto item = arrow::field("element", arrow::float32(), /*nullable=*/false);
  auto arrow_schema = arrow::schema({arrow::field("s", arrow::utf8_view()), arrow::field("b", arrow::binary_view()),
                                     arrow::field("v", arrow::fixed_size_list(item, 4))});
  Schema schema = Schema::FromArrow(*arrow_schema).ValueOrDie();
  EXPECT_TRUE(
      schema.ToArrow()->Equals(*arrow::schema({arrow::field("s", arrow::utf8()), arrow::field("b", arrow::binary()),
                                               arrow::field("v", arrow::fixed_size_list(arrow::float32(), 4))})));
}

TEST(LogicalType, UnknownNamesAreNotSupported) {
  for (std::string name :
       {"", "int128", "timestamp:us", "timestamp:m:-", "decimal:64:3:1", "decimal:128:0:1", "decimal:128:x:1",
        "fixed_size_binary:-1", "fixed_size_binary:", "fixed_size_binary:99999999999", "fixed_size_list:float:0",
        "fixed_size_list:float:-1", "fixed_size_list:string:2", "fixed_size_list:float", "dict:string:int32:true",
        "dict:string:float:false", "dict:timestamp:us:-:int32:false", "time32:us", "date32"}) {
    auto schema = Schema::FromProto(std::vector<FieldProto>{Proto(0, -1, "odd", name)}, {});
    ExpectKind(schema.status(), ErrorKind::kNotSupported, "odd");
  }
  std::string deep = "float";
  for (int i = 0; i < 100; ++i) deep = "fixed_size_list:" + deep + ":1";
  ExpectKind(Schema::FromProto(std::vector<FieldProto>{Proto(0, -1, "deep", deep)}, {}).status(),
             ErrorKind::kNotSupported, "deep");
}

// Others write them, where they can read nulls only; nothing but their columns is refused.
TEST(LogicalType, TypesThatAreReadOnly) {
  const std::vector<std::pair<std::string, std::shared_ptr<arrow::DataType>>> types = {
      {"fixed_size_list:fixed_size_binary:0:2", arrow::fixed_size_list(arrow::fixed_size_binary(0), 2)},
      {"fixed_size_list:fixed_size_list:fixed_size_binary:0:2:3",
       arrow::fixed_size_list(arrow::fixed_size_list(arrow::fixed_size_binary(0), 2), 3)}};
  for (const auto& [name, type] : types) {
    SCOPED_TRACE(name);
    const auto schema = Schema::FromProto(std::vector<FieldProto>{Proto(0, -1, "odd", name)}, {}).ValueOrDie();
    EXPECT_TRUE(schema.fields()[0].type->Equals(*type));
    EXPECT_EQ(schema.ToProto()[0].logical_type(), name);
    ExpectKind(CheckWritable(schema, {2, 2}), ErrorKind::kNotSupported, "'odd'");
    ExpectKind(Schema::FromArrow(*OneColumn(type)).status(), ErrorKind::kInvalidInput, "cannot be stored");
  }
}

TEST(LogicalType, TypesTheFormatCannotExpress) {
  std::vector<std::shared_ptr<arrow::DataType>> types = {
      arrow::month_interval(),
      arrow::decimal32(5, 2),
      arrow::dense_union({arrow::field("a", arrow::int8())}),
      arrow::run_end_encoded(arrow::int32(), arrow::int8()),
      arrow::list_view(arrow::int8()),
      arrow::fixed_size_list(arrow::utf8(), 2),
      arrow::fixed_size_list(arrow::list(arrow::int8()), 2),
      arrow::fixed_size_list(arrow::int8(), 0),
      arrow::dictionary(arrow::int8(), arrow::timestamp(arrow::TimeUnit::SECOND)),
      arrow::map(arrow::utf8(), arrow::int8(), /*keys_sorted=*/true),
      arrow::list(arrow::month_interval())};
  for (const auto& type : types)
    ExpectKind(Schema::FromArrow(*OneColumn(type)).status(), ErrorKind::kInvalidInput, "cannot be stored");
}

std::shared_ptr<arrow::Schema> NestedArrowSchema() {
  auto point = arrow::struct_({arrow::field("x", arrow::float64()), arrow::field("y", arrow::float64(), false)});
  return arrow::schema(
      {arrow::field("id", arrow::int64(), false), arrow::field("tags", arrow::list(arrow::utf8())),
       arrow::field("points", arrow::large_list(arrow::field("item", point))),
       arrow::field("where", arrow::struct_({arrow::field("p", point),
                                             arrow::field("deep", arrow::list(arrow::list(arrow::int8())))})),
       arrow::field("m", arrow::map(arrow::utf8(), arrow::int32())),
       arrow::field("pairs", arrow::fixed_size_list(arrow::field("item", point), 2)),
       arrow::field("empty", arrow::struct_(arrow::FieldVector{}))},
      arrow::key_value_metadata({"k"}, {"v"}));
}

TEST(Schema, NestedFieldsGetPreOrderIdsAndComeBack) {
  Schema schema = Schema::FromArrow(*NestedArrowSchema()).ValueOrDie();
  EXPECT_TRUE(schema.ToArrow()->Equals(*NestedArrowSchema(), /*check_metadata=*/true));
  std::vector<std::string> logical_types;
  std::vector<int> parents;
  int next = 0;
  for (const FieldProto& field : schema.ToProto()) {
    EXPECT_EQ(field.id(), next++);
    logical_types.push_back(field.logical_type());
    parents.push_back(field.parent_id());
  }
  EXPECT_THAT(logical_types,
              ElementsAre("int64", "list", "string", "large_list.struct", "struct", "double", "double", "struct",
                          "struct", "double", "double", "list", "list", "int8", "map", "struct", "string", "int32",
                          "fixed_size_list:struct:2", "struct", "double", "double", "struct"));
  EXPECT_THAT(parents, ElementsAre(-1, -1, 1, -1, 3, 4, 4, -1, 7, 8, 8, 7, 11, 12, -1, 14, 15, 15, -1, 18, 19, 19, -1));
  EXPECT_EQ(ThroughProto(schema).ValueOrDie(), schema);
  EXPECT_EQ(schema.MaxId(), FieldId(22));
  EXPECT_EQ(schema.FindById(FieldId(13))->logical_type, "int8");
  EXPECT_EQ(schema.FindById(FieldId(99)), nullptr);
  EXPECT_EQ(schema.FindByName("m")->id, FieldId(14));
  EXPECT_EQ(schema.FindByName("x"), nullptr);
}

TEST(Schema, IdsStartWhereAskedAndAreStampedAtEveryLevel) {
  Schema schema = Schema::FromArrow(*NestedArrowSchema(), FieldId(10)).ValueOrDie();
  EXPECT_EQ(schema.fields()[0].id, FieldId(10));
  auto stamped = schema.ToArrowWithIds();
  auto id_of = [](const std::shared_ptr<arrow::Field>& field) {
    return field->metadata()->Get(std::string(kFieldIdMetadata)).ValueOrDie();
  };
  EXPECT_EQ(id_of(stamped->field(1)), "11");
  EXPECT_EQ(id_of(stamped->field(1)->type()->field(0)), "12");
  EXPECT_EQ(id_of(stamped->field(4)->type()->field(0)->type()->field(1)), "27");
  EXPECT_TRUE(stamped->Equals(*schema.ToArrow(), /*check_metadata=*/false));
  // The stamp is transport only: it never becomes part of a schema.
  EXPECT_EQ(Schema::FromArrow(*stamped, FieldId(10)).ValueOrDie(), schema);
}

TEST(Schema, NamesMustBeUsable) {
  auto one = arrow::int8();
  ExpectKind(Schema::FromArrow(*arrow::schema({arrow::field("", one)})).status(), ErrorKind::kInvalidInput,
             "empty name");
  ExpectKind(Schema::FromArrow(*arrow::schema({arrow::field("a", one), arrow::field("a", one)})).status(),
             ErrorKind::kInvalidInput, "'a'");
  ExpectKind(Schema::FromArrow(*arrow::schema({arrow::field("a.b", one)})).status(), ErrorKind::kInvalidInput, "'a.b'");
  ExpectKind(Schema::FromArrow(*OneColumn(arrow::struct_({arrow::field("z", one), arrow::field("z", one)}))).status(),
             ErrorKind::kInvalidInput, "'z'");
}

std::shared_ptr<arrow::Field> KeyField(std::string name, std::string key, std::string value, bool nullable = false) {
  return arrow::field(std::move(name), arrow::int64(), nullable,
                      arrow::key_value_metadata({std::move(key)}, {std::move(value)}));
}

TEST(Schema, PrimaryKeyFromMetadata) {
  std::string flag(kPrimaryKeyMetadata);
  std::string position(kPrimaryKeyPositionMetadata);
  for (std::string value : {"true", "TRUE", "1", "yes", "on"}) {
    Schema schema = Schema::FromArrow(*arrow::schema({KeyField("k", flag, value)})).ValueOrDie();
    EXPECT_TRUE(schema.fields()[0].primary_key) << value;
    EXPECT_TRUE(schema.ToProto()[0].unenforced_primary_key());
    EXPECT_EQ(schema.ToProto()[0].unenforced_primary_key_position(), 0u);
  }
  for (std::string value : {"false", "t", "2", ""}) {
    EXPECT_FALSE(Schema::FromArrow(*arrow::schema({KeyField("k", flag, value)})).ValueOrDie().fields()[0].primary_key)
        << value;
  }
  Schema composite =
      Schema::FromArrow(*arrow::schema({KeyField("z", flag, "true"), KeyField("second", position, "2"),
                                        arrow::field("v", arrow::int8()), KeyField("first", position, "1"),
                                        KeyField("zero", position, "0")}))
          .ValueOrDie();
  std::vector<std::string> names;
  for (const Field* field : composite.PrimaryKey()) names.push_back(field->name);
  EXPECT_THAT(names, ElementsAre("first", "second", "z", "zero"));
  EXPECT_EQ(ThroughProto(composite).ValueOrDie(), composite);
}

TEST(Schema, PrimaryKeyMustNotBeNullable) {
  std::string flag(kPrimaryKeyMetadata);
  ExpectKind(Schema::FromArrow(*arrow::schema({KeyField("k", flag, "true", /*nullable=*/true)})).status(),
             ErrorKind::kInvalidInput, "'k'");
  auto around = arrow::field("s", arrow::struct_({KeyField("k", flag, "true")}), /*nullable=*/true);
  ExpectKind(Schema::FromArrow(*arrow::schema({around})).status(), ErrorKind::kInvalidInput, "'k'");
  auto firm = arrow::field("s", arrow::struct_({KeyField("k", flag, "true")}), /*nullable=*/false);
  EXPECT_EQ(Schema::FromArrow(*arrow::schema({firm})).ValueOrDie().PrimaryKey()[0]->id, FieldId(1));
}

TEST(Schema, KeyFlagsWithoutMetadataSurviveArrow) {
  FieldProto flagged = Proto(0, -1, "a", "int64");
  flagged.set_unenforced_primary_key(true);
  FieldProto placed = Proto(1, -1, "b", "int64");
  placed.set_unenforced_primary_key(true);
  placed.set_unenforced_primary_key_position(1);
  FieldProto clustered = Proto(2, -1, "c", "int64");
  clustered.set_unenforced_clustering_key_position(3);
  Schema schema = Schema::FromProto(std::vector<FieldProto>{flagged, placed, clustered}, {}).ValueOrDie();
  EXPECT_EQ(Schema::FromArrow(*schema.ToArrow()).ValueOrDie(), schema);
  EXPECT_EQ(schema.PrimaryKey()[0]->name, "b");
  EXPECT_EQ(schema.fields()[2].clustering_key_position, 3u);
}

TEST(Schema, BrokenFieldLists) {
  using List = std::vector<FieldProto>;
  auto status = [](List list) { return Schema::FromProto(list, {}).status(); };
  ExpectKind(status({Proto(0, 5, "lost", "int8")}), ErrorKind::kCorruption, "lost");
  ExpectKind(status({Proto(1, 0, "early", "int8"), Proto(0, -1, "s", "struct")}), ErrorKind::kCorruption, "early");
  ExpectKind(status({Proto(0, 0, "own", "struct")}), ErrorKind::kCorruption, "own");
  ExpectKind(status({Proto(0, -1, "a", "int8"), Proto(0, -1, "again", "int8")}), ErrorKind::kCorruption, "again");
  ExpectKind(status({Proto(0, -1, "leaf", "int8"), Proto(1, 0, "child", "int8")}), ErrorKind::kCorruption, "leaf");
  ExpectKind(status({Proto(0, -1, "l", "list")}), ErrorKind::kCorruption, "'l'");
  ExpectKind(status({Proto(0, -1, "m", "map"), Proto(1, 0, "entries", "int8")}), ErrorKind::kCorruption, "'m'");
  ExpectKind(status({Proto(-1, -1, "n", "int8")}), ErrorKind::kCorruption, "'n'");
  List deep = {Proto(0, -1, "s", "struct")};
  for (int i = 1; i < 5000; ++i) deep.push_back(Proto(i, i - 1, "s", "struct"));
  ExpectKind(status(deep), ErrorKind::kNotSupported, "nests deeper");
}

TEST(Schema, InnerFieldsOfABlobColumnAreNotFieldsOfTheTable) {
  FieldProto blob = Proto(1, -1, "b", "struct");
  (*blob.mutable_metadata())["lance-encoding:blob"] = "true";
  std::vector<FieldProto> list = {Proto(0, -1, "a", "int64"), blob, Proto(-1, -1, "kind", "uint8"),
                                  Proto(-1, -1, "size", "uint64"), Proto(6, -1, "c", "int64")};
  // Only those directly behind the blob are skipped.
  Schema schema = Schema::FromProto(list, {}).ValueOrDie();
  ASSERT_EQ(schema.fields().size(), 3u);
  EXPECT_TRUE(schema.fields()[1].children.empty());
  EXPECT_EQ(schema.fields()[2].name, "c");
  list.push_back(Proto(-1, -1, "stray", "int64"));
  ExpectKind(Schema::FromProto(list, {}).status(), ErrorKind::kCorruption, "stray");
}

TEST(Schema, ExtensionTypesAreStoredAsStorageAndMetadata) {
  FieldProto proto = Proto(0, -1, "u", "fixed_size_binary:16");
  proto.set_extension_name("arrow.uuid");
  Schema schema = Schema::FromProto(std::vector<FieldProto>{proto}, {}).ValueOrDie();
  EXPECT_EQ(schema.fields()[0].metadata.at("ARROW:extension:name"), "arrow.uuid");
  EXPECT_EQ(schema.ToProto()[0].extension_name(), "arrow.uuid");
  auto json = arrow::field("j", arrow::large_binary(), true,
                           arrow::key_value_metadata({"ARROW:extension:name"}, {"lance.json"}));
  EXPECT_EQ(Schema::FromArrow(*arrow::schema({json})).ValueOrDie().fields()[0].logical_type, "json");
}

TEST(Schema, SelectKeepsOrderAndNamesTheNearest) {
  Schema schema = Schema::FromArrow(*NestedArrowSchema()).ValueOrDie();
  Schema selected = schema.Select({"m", "id"}).ValueOrDie();
  ASSERT_EQ(selected.fields().size(), 2u);
  EXPECT_EQ(selected.fields()[0].id, FieldId(14));
  EXPECT_EQ(selected.fields()[1].id, FieldId(0));
  EXPECT_EQ(selected.metadata(), schema.metadata());
  ExpectKind(schema.Select({"point"}).status(), ErrorKind::kInvalidInput, "'points'");
  ExpectKind(schema.Select({"id", "id"}).status(), ErrorKind::kInvalidInput, "twice");
}

}  // namespace
}  // namespace javelin::file
