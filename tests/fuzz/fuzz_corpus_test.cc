// The first inputs of the fuzz targets: one at least of each layout, encoding and position, or mutations seldom get
// there.
#include <filesystem>
#include <fstream>
#include <set>

#include <gmock/gmock.h>

#include "lanceproto/encodings_v2_0.pb.h"
#include "lanceproto/encodings_v2_1.pb.h"

#include "javelin/file/data_file_reader.h"
#include "javelin/store/stores.h"
#include "split_file.h"

namespace javelin::file {
namespace {

namespace pb = lance::encodings21;
using ::testing::IsSupersetOf;

// From the root of the tree, where tests run.
std::vector<std::string> InputsOf(const std::string& target) {
  const std::filesystem::path folder = std::filesystem::path("tests/fuzz/corpus") / target;
  std::vector<std::string> inputs;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path(), std::ios::binary);
    inputs.emplace_back((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  }
  return inputs;
}

// The names of all fields that are set, each behind those around it that hold other encodings too.
void CollectNames(const google::protobuf::Message& message, const std::string& place, std::set<std::string>& names) {
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const auto* field : fields) {
    names.insert(place + field->name());
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE || field->is_repeated()) continue;
    const std::string inside = field->name() == "dictionary" ? "dictionary/" : place;
    CollectNames(message.GetReflection()->GetMessage(message, field), inside, names);
  }
}

const std::vector<std::string> kEncodings = {
    "flat", "variable",          "constant", "out_of_line_bitpacking", "inline_bitpacking", "fsst",
    "rle",  "byte_stream_split", "general",  "fixed_size_list",        "packed_struct"};

TEST(FuzzCorpus, PagesOfEveryLayoutAndEncoding) {
  std::set<std::string> names;
  std::set<std::string> old_names;
  for (const std::string& bytes : InputsOf("fuzz_page")) {
    fuzz::Input input(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    const bool old = input.Number(1) % 3 == 0;
    input.Number(8);  // rows
    input.Part();     // schema
    const std::string encoding = input.Part();
    pb::PageLayout layout;
    lance::encodings::ArrayEncoding array;
    if (old && array.ParseFromString(encoding)) CollectNames(array, "", old_names);
    if (!old && layout.ParseFromString(encoding)) CollectNames(layout, "", names);
  }
  EXPECT_THAT(names, IsSupersetOf(kEncodings));
  EXPECT_THAT(names, IsSupersetOf({"mini_block_layout", "constant_layout", "full_zip_layout", "blob_layout",
                                   "variable_packed_struct", "dictionary/flat", "dictionary/variable",
                                   "dictionary/out_of_line_bitpacking"}));
  EXPECT_THAT(old_names, IsSupersetOf({"flat", "nullable", "fixed_size_list", "binary", "dictionary", "fsst",
                                       "packed_struct", "compression"}));
}

TEST(FuzzCorpus, EncodingsInEveryPosition) {
  std::set<std::string> names;
  std::set<fuzz::Position> positions;
  for (const std::string& bytes : InputsOf("fuzz_encoding")) {
    const auto input = fuzz::EncodingInput::Parse({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
    positions.insert(input.position);
    pb::CompressiveEncoding encoding;
    ASSERT_TRUE(encoding.ParseFromString(input.encoding));
    CollectNames(encoding, "", names);
  }
  EXPECT_THAT(positions, IsSupersetOf({fuzz::Position::kChunk, fuzz::Position::kBlock, fuzz::Position::kFixedValue,
                                       fuzz::Position::kVariableValue}));
  EXPECT_THAT(names, IsSupersetOf({"flat", "variable", "out_of_line_bitpacking", "inline_bitpacking", "fsst",
                                   "byte_stream_split", "general", "fixed_size_list"}));
}

// Whole files of every kind of nesting, in every version that has it.
TEST(FuzzCorpus, FilesOfEveryVersionAndNesting) {
  const Resources resources = MakeResources(MakeThreadRuntime({.cpu_threads = 1}));
  const auto store = MakeMemoryStore(resources);
  std::set<std::string> found;
  for (const std::string& bytes : InputsOf("fuzz_data_file")) {
    ASSERT_TRUE(store->Put("f.lance", arrow::Buffer::FromString(bytes)).ok());
    const auto reader = DataFileReader::Open(resources, store, "f.lance");
    ASSERT_TRUE(reader.ok());
    const std::string version = std::to_string(bytes[bytes.size() - 6]) + " ";  // minor, or 3 for 2.0
    for (const Field& field : (*reader)->schema().fields()) {
      found.insert(version + field.logical_type);
      if (field.metadata.contains("lance-encoding:blob")) found.insert(version + "blob");
    }
  }
  for (const std::string version : {"3 ", "1 ", "2 "})
    EXPECT_THAT(found, IsSupersetOf({version + "int64", version + "string", version + "list", version + "list.struct",
                                     version + "struct", version + "blob", version + "fixed_size_list:float:3"}));
  EXPECT_THAT(found, IsSupersetOf({"2 map", "2 fixed_size_list:struct:2", "2 dict:string:int32:false"}));
}

}  // namespace
}  // namespace javelin::file
