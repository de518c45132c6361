#include "javelin/file/encoding_wishes_internal.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "javelin/base/error.h"

namespace javelin::file {

namespace {

using Codec = EncodingWishes::Codec;
using Switch = EncodingWishes::Switch;
using Structure = EncodingWishes::Structure;

constexpr std::string_view kPrefix = "lance-encoding:";

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::optional<Codec> CodecOf(std::string_view name) {
  if (name == "none") return Codec::kNone;
  if (name == "fsst") return Codec::kFsst;
  if (name == "lz4") return Codec::kLz4;
  if (name == "zstd") return Codec::kZstd;
  return std::nullopt;
}

class WishReader {
 public:
  explicit WishReader(const FieldMetadata& metadata) : metadata_(metadata) {}

  EncodingWishes ReadV20() const {
    EncodingWishes wishes;
    wishes.codec = CodecOf(Text("compression"));
    wishes.level = Number<int>("compression-level");
    return wishes;
  }

  arrow::Result<EncodingWishes> Read() const {
    EncodingWishes wishes;
    if (Has("compression")) {
      ARROW_ASSIGN_OR_RAISE(wishes.codec, ReadCodec("compression", /*fsst=*/true));
    }
    wishes.level = Number<int>("compression-level");
    const std::string split = Lower(Text("bss"));
    wishes.split = split == "on" ? Switch::kOn : split == "off" ? Switch::kOff : Switch::kAuto;
    wishes.max_run_share = Number<double>("rle-threshold").value_or(wishes.max_run_share);
    if (const auto bytes = Number<int64_t>("minichunk-size")) wishes.chunk_bytes = std::max<int64_t>(*bytes, 0);
    ARROW_RETURN_NOT_OK(ReadDictionary(wishes));
    return wishes;
  }

  arrow::Result<std::optional<Structure>> ReadStructure() const {
    if (!Has("structural-encoding")) return std::nullopt;
    const std::string text = Lower(Text("structural-encoding"));
    if (text != "miniblock" && text != "fullzip") return Refuse("structural-encoding", "miniblock or fullzip");
    return text == "miniblock" ? Structure::kChunks : Structure::kOneByOne;
  }

 private:
  std::string Key(std::string_view name) const { return std::string(kPrefix).append(name); }
  bool Has(std::string_view name) const { return metadata_.contains(Key(name)); }
  std::string Text(std::string_view name) const {
    const auto found = metadata_.find(Key(name));
    return found == metadata_.end() ? "" : found->second;
  }

  // Nothing if the key is missing or its value is no such number.
  template <typename T>
  std::optional<T> Number(std::string_view name) const {
    const std::string text = Text(name);
    T number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
  }

  arrow::Status Refuse(std::string_view name, std::string_view allowed) const {
    return InvalidInput("the field's metadata '{}' is '{}', it must be {}", Key(name), Text(name), allowed);
  }

  arrow::Result<Codec> ReadCodec(std::string_view name, bool fsst) const {
    const std::optional<Codec> codec = CodecOf(Text(name));
    if (codec && (fsst || *codec != Codec::kFsst)) return *codec;
    return Refuse(name, fsst ? "none, fsst, lz4 or zstd" : "none, lz4 or zstd");
  }

  arrow::Status ReadDictionary(EncodingWishes& wishes) const {
    if (const auto divisor = Number<uint64_t>("dict-divisor"))
      wishes.dictionary_divisor = std::max<uint64_t>(*divisor, 1);
    if (const auto ratio = Number<double>("dict-size-ratio")) {
      if (!(*ratio > 0 && *ratio <= 1)) return Refuse("dict-size-ratio", "above 0 and at most 1");
      wishes.dictionary_ratio = *ratio;
    }
    if (Has("dict-max-size")) {
      const auto bytes = Number<uint64_t>("dict-max-size");
      if (!bytes) return Refuse("dict-max-size", "a number of bytes");
      wishes.dictionary_bytes = *bytes;
    }
    if (Has("dict-values-compression")) {
      ARROW_ASSIGN_OR_RAISE(wishes.dictionary_codec, ReadCodec("dict-values-compression", /*fsst=*/false));
    }
    wishes.dictionary_level = Number<int>("dict-values-compression-level");
    return arrow::Status::OK();
  }

  const FieldMetadata& metadata_;
};

}  // namespace

std::optional<CompressionScheme> EncodingWishes::compression() const {
  if (codec == Codec::kLz4) return CompressionScheme::kLz4;
  if (codec == Codec::kZstd) return CompressionScheme::kZstd;
  return std::nullopt;
}

arrow::Result<EncodingWishes> WishesOf(const FieldMetadata& leaf, const FieldMetadata& top_level) {
  ARROW_ASSIGN_OR_RAISE(EncodingWishes wishes, WishReader(leaf).Read());
  ARROW_ASSIGN_OR_RAISE(wishes.structure, WishReader(top_level).ReadStructure());
  return wishes;
}

EncodingWishes WishesOfV20(const FieldMetadata& leaf) { return WishReader(leaf).ReadV20(); }

}  // namespace javelin::file
