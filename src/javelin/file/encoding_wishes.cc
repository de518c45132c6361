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

class WishReader {
 public:
  explicit WishReader(const std::map<std::string, std::string>& metadata) : metadata_(metadata) {}

  arrow::Result<EncodingWishes> Read() {
    EncodingWishes wishes;
    if (Has("compression")) {
      ARROW_ASSIGN_OR_RAISE(wishes.codec, ReadCodec("compression", /*fsst=*/true));
    }
    wishes.level = Number<int>("compression-level");
    ARROW_RETURN_NOT_OK(ReadStructure(wishes));
    const std::string split = Lower(Text("bss"));
    wishes.split = split == "on" ? Switch::kOn : split == "off" ? Switch::kOff : Switch::kAuto;
    wishes.max_run_share = Number<double>("rle-threshold").value_or(wishes.max_run_share);
    if (const auto bytes = Number<int64_t>("minichunk-size")) wishes.chunk_bytes = std::max<int64_t>(*bytes, 0);
    ARROW_RETURN_NOT_OK(ReadDictionary(wishes));
    return wishes;
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
    const std::string text = Text(name);
    if (text == "none") return Codec::kNone;
    if (text == "lz4") return Codec::kLz4;
    if (text == "zstd") return Codec::kZstd;
    if (fsst && text == "fsst") return Codec::kFsst;
    return Refuse(name, fsst ? "none, fsst, lz4 or zstd" : "none, lz4 or zstd");
  }

  arrow::Status ReadStructure(EncodingWishes& wishes) const {
    if (!Has("structural-encoding")) return arrow::Status::OK();
    const std::string text = Lower(Text("structural-encoding"));
    if (text != "miniblock" && text != "fullzip") return Refuse("structural-encoding", "miniblock or fullzip");
    wishes.structure = text == "miniblock" ? Structure::kChunks : Structure::kOneByOne;
    return arrow::Status::OK();
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

  const std::map<std::string, std::string>& metadata_;
};

}  // namespace

std::optional<CompressionScheme> EncodingWishes::compression() const {
  if (codec == Codec::kLz4) return CompressionScheme::kLz4;
  if (codec == Codec::kZstd) return CompressionScheme::kZstd;
  return std::nullopt;
}

arrow::Result<EncodingWishes> WishesOf(const std::map<std::string, std::string>& metadata) {
  return WishReader(metadata).Read();
}

}  // namespace javelin::file
