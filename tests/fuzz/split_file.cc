// Takes data files apart into inputs of fuzz_schema, fuzz_page and fuzz_encoding: the smallest of each kind.
//
//   split_file OUT FILE...        writes OUT/<target>/<name of the file>_<column>_<page>...
//
// make_corpus.py makes the files.
#include "split_file.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include "lanceproto/encodings_v2_1.pb.h"
#include "lanceproto/file.pb.h"

#include "javelin/file/chunk_table_internal.h"
#include "javelin/file/container_internal.h"
#include "javelin/file/decoder_internal.h"
#include "javelin/file/nested_array_internal.h"
#include "javelin/store/stores.h"

namespace {

using namespace javelin;
namespace pb = lance::encodings21;
using file::Bytes;
using fuzz::EncodingInput;
using fuzz::Position;

// Larger inputs only make a fuzzer slow. A symbol table with the chunk behind it fits, and so does a packed dictionary.
constexpr size_t kMostBytes = 12'000;

class Corpus {
 public:
  explicit Corpus(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Keeps the smallest input of each kind.
  void Add(const std::string& target, const std::string& kind, const std::string& name, std::string bytes) {
    if (bytes.size() > kMostBytes) return;
    const auto [place, is_new] = inputs_.try_emplace({target, kind}, name, bytes);
    if (!is_new && bytes.size() < place->second.second.size()) place->second = {name, std::move(bytes)};
  }
  void Write() const {
    for (const auto& [key, input] : inputs_) {
      std::filesystem::create_directories(folder_ / key.first);
      std::ofstream(folder_ / key.first / input.first, std::ios::binary) << input.second;
    }
  }

 private:
  std::filesystem::path folder_;
  std::map<std::pair<std::string, std::string>, std::pair<std::string, std::string>> inputs_;
};

std::string AsString(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

// The column alone: its field with all that lies around it, and inside where that is one column.
std::string SchemaOfColumn(const file::Schema& schema, FieldId column) {
  std::map<int32_t, lance::file::Field> fields;
  for (lance::file::Field& field : schema.ToProto()) fields.emplace(field.id(), std::move(field));
  std::set<int32_t> around;
  for (int32_t id = column.value(); fields.contains(id); id = fields[id].parent_id()) around.insert(id);
  const auto inside = [&](int32_t id) {
    for (; fields.contains(id); id = fields[id].parent_id()) {
      if (id == column.value()) return true;
    }
    return false;
  };
  lance::file::Schema alone;
  for (lance::file::Field& field : schema.ToProto()) {
    if (!around.contains(field.id()) && !inside(field.id())) continue;
    if (field.logical_type() == "map") field.set_logical_type("list");  // a map needs both, keys and values
    *alone.add_fields() = std::move(field);
  }
  return alone.SerializeAsString();
}

class PageSplitter {
 public:
  PageSplitter(Corpus& corpus, std::string name, const std::string& file, const file::PageMetadata& page)
      : corpus_(corpus), name_(std::move(name)), page_(page) {
    for (const ByteRange& range : page.buffers) buffers_.push_back(file.substr(range.offset, range.length));
  }

  void AddPage(file::FileVersion version, const std::string& schema, const std::string& type) {
    std::string input;
    fuzz::AppendNumber(input, version.minor, 1);
    fuzz::AppendNumber(input, page_.num_rows, 8);
    fuzz::AppendPart(input, schema);
    fuzz::AppendPart(input, page_.encoding);
    for (const std::string& buffer : buffers_) fuzz::AppendPart(input, buffer);
    pb::PageLayout layout;
    std::string kind = file::ToString(version) + type;
    if (version > file::FileVersion{2, 0} && layout.ParseFromString(page_.encoding)) {
      kind += KindOfLayout(layout);
    } else {
      kind += std::to_string(buffers_.size()) + std::to_string(page_.encoding.size() / 8);
    }
    corpus_.Add("fuzz_page", kind, name_, std::move(input));
  }

  void AddEncodings() {
    pb::PageLayout layout;
    if (!layout.ParseFromString(page_.encoding)) return;
    if (layout.has_mini_block_layout()) AddMiniBlock(layout.mini_block_layout());
    if (layout.has_full_zip_layout()) AddFullZip(layout.full_zip_layout());
    if (layout.has_constant_layout()) AddConstant(layout.constant_layout());
  }

 private:
  // The layout without what differs from page to page of one kind.
  static std::string KindOfLayout(pb::PageLayout layout) {
    if (layout.has_mini_block_layout()) {
      layout.mutable_mini_block_layout()->set_num_items(0);
      layout.mutable_mini_block_layout()->set_num_dictionary_items(0);
    }
    if (layout.has_full_zip_layout()) {
      layout.mutable_full_zip_layout()->set_num_items(0);
      layout.mutable_full_zip_layout()->set_num_visible_items(0);
    }
    if (layout.has_constant_layout()) {
      layout.mutable_constant_layout()->clear_inline_value();
      layout.mutable_constant_layout()->set_num_rep_values(0);
      layout.mutable_constant_layout()->set_num_def_values(0);
    }
    return KindOfMessage(layout.SerializeAsString());
  }
  // Symbol tables are the one large part of an encoding, and all alike for a fuzzer.
  static std::string KindOfMessage(const std::string& bytes) {
    return bytes.size() > 2000 ? "fsst" + std::to_string(bytes.size()) : bytes;
  }

  void Add(Position position, const pb::CompressiveEncoding& encoding, uint64_t num_values,
           std::vector<std::string> buffers, std::optional<size_t> type = std::nullopt) {
    for (size_t i = 0; i < fuzz::EncodingTypes().size(); ++i) {
      if (type && *type != i) continue;
      const auto shape = file::ShapeOf(*fuzz::EncodingTypes()[i]);
      if (!shape.ok() || !CanDecode(position, encoding, *shape)) continue;
      const EncodingInput input{position, i, num_values, encoding.SerializeAsString(), std::move(buffers)};
      corpus_.Add("fuzz_encoding",
                  std::to_string(static_cast<int>(position)) + "/" + std::to_string(i) + KindOfMessage(input.encoding),
                  name_ + "_" + std::to_string(static_cast<int>(position)), input.ToBytes());
      return;
    }
  }
  static bool CanDecode(Position position, const pb::CompressiveEncoding& encoding, const file::ValueShape& shape) {
    switch (position) {
      case Position::kChunk: return file::MakeMiniBlockDecoder(encoding, shape).ok();
      case Position::kBlock: return file::MakeBlockDecoder(encoding, shape).ok();
      case Position::kFixedValue: return file::MakeFixedValueDecoder(encoding, shape).ok();
      default: return file::MakeVariableValueDecoder(encoding, shape).ok();
    }
  }

  static Bytes View(const std::string& text) { return {reinterpret_cast<const uint8_t*>(text.data()), text.size()}; }
  static constexpr size_t kLevels = 2;  // int16 among the types

  void AddMiniBlock(const pb::MiniBlockLayout& layout) {
    const unsigned word_bytes = layout.has_large_chunk() ? 4 : 2;
    auto table = file::ChunkTable::Parse(View(buffers_[0]), word_bytes, buffers_[1].size(), layout.num_items());
    if (!table.ok() || table->num_chunks() == 0) return;
    const file::ChunkForm form{.has_rep = layout.has_rep_compression(),
                               .has_def = layout.has_def_compression(),
                               .large = layout.has_large_chunk(),
                               .num_buffers = layout.num_buffers()};
    file::ChunkBuffers chunk;
    if (!file::ParseChunk(View(buffers_[1]).subspan(0, table->end(0)), form, &chunk).ok()) return;
    std::vector<std::string> values;
    for (const Bytes& buffer : chunk.values) values.push_back(AsString(buffer));
    Add(Position::kChunk, layout.value_compression(), table->num_values(0), std::move(values));
    if (form.has_rep) Add(Position::kBlock, layout.rep_compression(), chunk.num_levels, {AsString(chunk.rep)}, kLevels);
    if (form.has_def) Add(Position::kBlock, layout.def_compression(), chunk.num_levels, {AsString(chunk.def)}, kLevels);
    if (layout.has_dictionary())
      Add(Position::kBlock, layout.dictionary(), layout.num_dictionary_items(), {buffers_[2]});
  }

  void AddFullZip(const pb::FullZipLayout& layout) {
    const uint64_t control = layout.bits_rep() + layout.bits_def() > 0 ? 1 : 0;
    if (layout.details_case() == pb::FullZipLayout::kBitsPerValue) {
      Add(Position::kFixedValue, layout.value_compression(), control, {buffers_[0].substr(0, kMostBytes / 2)});
      return;
    }
    // Values up to the first null.
    std::vector<std::string> values;
    const uint64_t length_bytes = layout.bits_per_offset() / 8;
    for (size_t at = control; at + length_bytes <= buffers_[0].size() && values.size() < 8; at += control) {
      if (control > 0 && buffers_[0][at - 1] != 0) break;
      const uint64_t length = file::LoadUnsigned(View(buffers_[0]).data() + at, static_cast<unsigned>(length_bytes));
      values.push_back(buffers_[0].substr(at + length_bytes, length));
      at += length_bytes + length;
    }
    if (!values.empty()) Add(Position::kVariableValue, layout.value_compression(), values.size(), std::move(values));
  }

  void AddConstant(const pb::ConstantLayout& layout) {
    if (buffers_.size() < 2) return;
    if (layout.has_rep_compression())
      Add(Position::kBlock, layout.rep_compression(), layout.num_rep_values(), {buffers_[buffers_.size() - 2]},
          kLevels);
    if (layout.has_def_compression())
      Add(Position::kBlock, layout.def_compression(), layout.num_def_values(), {buffers_.back()}, kLevels);
  }

  Corpus& corpus_;
  std::string name_;
  const file::PageMetadata& page_;
  std::vector<std::string> buffers_;
};

arrow::Status Split(const Resources& resources, const std::filesystem::path& path, Corpus& corpus) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto store = MakeMemoryStore(resources);
  ARROW_RETURN_NOT_OK(store->Put("f.lance", arrow::Buffer::FromString(bytes)));
  ARROW_ASSIGN_OR_RAISE(const file::Container container,
                        file::OpenContainer(resources, *store, "f.lance", std::nullopt));
  const std::string stem = path.stem().string();
  lance::file::FileDescriptor descriptor;
  descriptor.set_length(container.num_rows);
  for (lance::file::Field& field : container.schema.ToProto())
    *descriptor.mutable_schema()->add_fields() = std::move(field);
  corpus.Add("fuzz_schema", container.schema.ToArrow()->ToString(), stem, descriptor.SerializeAsString());

  const std::vector<FieldId> columns = file::PhysicalColumns(container.schema, container.version);
  for (size_t column = 0; column < columns.size() && column < container.columns.size(); ++column) {
    const file::Field& field = *container.schema.FindById(columns[column]);
    // The columns of structs and lists of 2.0 are nothing alone.
    if (!file::IsLeafColumn(field)) continue;
    const std::string schema = SchemaOfColumn(container.schema, columns[column]);
    lance::file::Schema alone;
    alone.ParseFromString(schema);
    std::string type;
    for (const lance::file::Field& part : alone.fields()) type += part.logical_type() + ";";
    const auto& pages = container.columns[column].pages;
    for (size_t i = 0; i < pages.size(); ++i) {
      PageSplitter page(corpus, stem + "_" + std::to_string(column) + "_" + std::to_string(i), bytes, pages[i]);
      page.AddPage(container.version, schema, type);
      if (container.version > file::FileVersion{2, 0}) page.AddEncodings();
    }
  }
  return arrow::Status::OK();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: split_file OUT FILE...\n", stderr);
    return 1;
  }
  const Resources resources = MakeResources(MakeThreadRuntime({.cpu_threads = 1}));
  Corpus corpus(argv[1]);
  for (int i = 2; i < argc; ++i) {
    const arrow::Status status = Split(resources, argv[i], corpus);
    if (!status.ok()) std::fprintf(stderr, "%s: %s\n", argv[i], status.ToString().c_str());
  }
  corpus.Write();
  return 0;
}
