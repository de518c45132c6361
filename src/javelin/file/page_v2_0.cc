// Pages of version 2.0 whose values have one width: Nullable over Flat or over fixed-size lists.
#include "javelin/file/flat_v2_0_internal.h"

namespace javelin::file {

namespace {

using Encoding = pb20::ArrayEncoding;

// One level of values: nullable values of one width, or nullable lists whose items are the next level.
struct Level {
  enum class Nulls { kNone, kSome, kAll } nulls = Nulls::kNone;
  std::optional<FlatBuffer> validity;  // kSome
  std::optional<FlatBuffer> values;    // the last level, unless all are null
  uint64_t dimension = 1;              // of the lists at this level
};

std::vector<Slice> Scale(std::span<const Slice> slices, uint64_t factor) {
  std::vector<Slice> scaled;
  for (const Slice& slice : slices) scaled.push_back({slice.first * factor, slice.count * factor});
  return scaled;
}

class FixedPage final : public PageReader {
 public:
  explicit FixedPage(std::vector<Level> levels) : levels_(std::move(levels)) {}
  std::unique_ptr<PageScan> Scan(std::vector<Slice> rows) const override;
  const std::vector<Level>& levels() const { return levels_; }

 private:
  std::vector<Level> levels_;
};

class FixedScan final : public PageScan {
 public:
  FixedScan(const FixedPage& page, std::vector<Slice> rows) : page_(page), rows_(std::move(rows)) {}

  arrow::Result<std::vector<ByteRange>> Wanted() override {
    std::vector<ByteRange> ranges;
    if (!bytes_.empty()) return ranges;
    std::vector<Slice> slices = rows_;
    auto ask = [&](const std::optional<FlatBuffer>& buffer) {
      if (!buffer) return;
      const std::vector<ByteRange> wanted = buffer->Wanted(slices);
      ranges.insert(ranges.end(), wanted.begin(), wanted.end());
    };
    for (const Level& level : page_.levels()) {
      ask(level.validity);
      ask(level.values);
      slices = Scale(slices, level.dimension);
    }
    return ranges;
  }

  arrow::Status Supply(std::vector<BufferPtr> bytes) override {
    bytes_ = std::move(bytes);
    return arrow::Status::OK();
  }

  arrow::Status Decode(DecodeContext& context, LeafSink& leaf) override {
    ValueSink& out = leaf.values();
    return DecodeLevel(0, rows_, bytes_, context, out);
  }

 private:
  arrow::Status DecodeLevel(size_t index, const std::vector<Slice>& slices, std::span<const BufferPtr> answers,
                            DecodeContext& context, ValueSink& out) {
    const Level& level = page_.levels()[index];
    const uint64_t count = TotalCount(slices);
    if (level.nulls == Level::Nulls::kAll) {
      if (out.shape().kind != ValueShape::Kind::kNull) ARROW_RETURN_NOT_OK(out.validity().AppendNull(count));
      return out.AppendPlaceholders(count);
    }
    ScratchLease scratch(context);
    if (level.validity) {
      const size_t used = level.validity->Wanted(slices).size();
      ARROW_ASSIGN_OR_RAISE(auto pieces, level.validity->Pieces(slices, answers.first(used), context, *scratch));
      for (size_t i = 0; i < slices.size(); ++i) {
        ARROW_RETURN_NOT_OK(out.validity().AppendBits(pieces[i].bytes, pieces[i].first_bit, slices[i].count));
      }
      answers = answers.subspan(used);
    } else {
      ARROW_RETURN_NOT_OK(out.validity().AppendValid(count));
    }
    if (!level.values) {
      ARROW_RETURN_NOT_OK(DecodeLevel(index + 1, Scale(slices, level.dimension), answers, context, out.items()));
      out.CommitLists(count);
      return arrow::Status::OK();
    }
    ARROW_ASSIGN_OR_RAISE(auto pieces, level.values->Pieces(slices, answers, context, *scratch));
    for (size_t i = 0; i < slices.size(); ++i) {
      if (out.shape().bits == 1) {
        ARROW_RETURN_NOT_OK(out.AppendBits(pieces[i].bytes, pieces[i].first_bit, slices[i].count));
        continue;
      }
      ARROW_ASSIGN_OR_RAISE(uint8_t* target, out.AppendFixed(slices[i].count));
      std::memcpy(target, pieces[i].bytes, slices[i].count * out.shape().bytes());
    }
    return arrow::Status::OK();
  }

  const FixedPage& page_;
  std::vector<Slice> rows_;
  std::vector<BufferPtr> bytes_;
};

std::unique_ptr<PageScan> FixedPage::Scan(std::vector<Slice> rows) const {
  return std::make_unique<FixedScan>(*this, std::move(rows));
}

arrow::Status CheckCapacity(const FlatBuffer& buffer, uint64_t count) {
  if (!buffer.compressed() && buffer.capacity() < count) {
    return Corruption("a buffer of {} bytes cannot hold {} values of {} bits", buffer.range().length, count,
                      buffer.bits());
  }
  return arrow::Status::OK();
}

class LevelParser {
 public:
  explicit LevelParser(const PageSpec& spec) : spec_(spec) {}

  arrow::Result<std::vector<Level>> Parse(const Encoding& encoding) {
    const Encoding* next = &encoding;
    const ValueShape* shape = &spec_.shape;
    uint64_t count = spec_.page.num_rows;
    while (next != nullptr) ARROW_RETURN_NOT_OK(ParseLevel(next, shape, count));
    return std::move(levels_);
  }

 private:
  // Appends one level and moves on to its items, or to null at the end.
  arrow::Status ParseLevel(const Encoding*& encoding, const ValueShape*& shape, uint64_t& count) {
    if (!encoding->has_nullable()) return NotSupported("values in encoding {} are not readable", NameOf(*encoding));
    const pb20::Nullable& nullable = encoding->nullable();
    encoding = nullptr;
    Level level;
    if (nullable.has_all_nulls()) {
      level.nulls = Level::Nulls::kAll;
      levels_.push_back(std::move(level));
      return arrow::Status::OK();
    }
    if (!nullable.has_no_nulls() && !nullable.has_some_nulls())
      return NotSupported("a page says nothing known about its nulls");
    if (nullable.has_some_nulls()) {
      level.nulls = Level::Nulls::kSome;
      ARROW_ASSIGN_OR_RAISE(level.validity, ParseNoNullFlat(nullable.some_nulls().validity(), spec_.page));
      if (level.validity->bits() != 1) return Corruption("validity has {} bits per value", level.validity->bits());
      ARROW_RETURN_NOT_OK(CheckCapacity(*level.validity, count));
    }
    return ParseValues(nullable.has_some_nulls() ? nullable.some_nulls().values() : nullable.no_nulls().values(),
                       std::move(level), encoding, shape, count);
  }

  arrow::Status ParseValues(const Encoding& values, Level level, const Encoding*& items, const ValueShape*& shape,
                            uint64_t& count) {
    if (values.has_fixed_size_list()) {
      const pb20::FixedSizeList& list = values.fixed_size_list();
      if (shape->kind != ValueShape::Kind::kList || list.dimension() != shape->dimension) {
        return Corruption("lists of {} items stand for {}", list.dimension(), ToString(*shape));
      }
      level.dimension = list.dimension();
      if (__builtin_mul_overflow(count, level.dimension, &count)) return Corruption("a page has too many list items");
      shape = shape->item.get();
      items = &list.items();
      levels_.push_back(std::move(level));
      return arrow::Status::OK();
    }
    if (!values.has_flat()) return NotSupported("values in encoding {} are not readable", NameOf(values));
    ARROW_ASSIGN_OR_RAISE(level.values, FlatBuffer::Parse(values.flat(), spec_.page));
    if (!shape->is_fixed(level.values->bits()))
      return Corruption("values of {} bits stand for {}", level.values->bits(), ToString(*shape));
    ARROW_RETURN_NOT_OK(CheckCapacity(*level.values, count));
    levels_.push_back(std::move(level));
    return arrow::Status::OK();
  }

  const PageSpec& spec_;
  std::vector<Level> levels_;
};

}  // namespace

// ---- flat buffers ----

arrow::Result<FlatBuffer> FlatBuffer::Parse(const pb20::Flat& encoding, const PageMetadata& page) {
  if (encoding.buffer().buffer_type() != pb20::Buffer::PAGE)
    return NotSupported("values outside their page are not readable");
  const uint32_t index = encoding.buffer().buffer_index();
  if (index >= page.buffers.size())
    return Corruption("values lie in buffer {}, the page has {}", index, page.buffers.size());
  FlatBuffer buffer;
  buffer.bits_ = encoding.bits_per_value();
  buffer.range_ = page.buffers[index];
  // 2^32 bits are more than any value has.
  if (buffer.bits_ == 0 || buffer.bits_ >> 32 != 0 || (buffer.bits_ != 1 && buffer.bits_ % 8 != 0)) {
    return Corruption("values of {} bits do not exist", buffer.bits_);
  }
  const std::string& scheme = encoding.compression().scheme();
  if (scheme == "zstd") {
    buffer.scheme_ = CompressionScheme::kZstd;
  } else if (scheme == "lz4") {
    buffer.scheme_ = CompressionScheme::kLz4;
  } else if (!scheme.empty()) {
    return NotSupported("compression scheme '{}' is not known", scheme);
  }
  return buffer;
}

std::vector<ByteRange> FlatBuffer::Wanted(std::span<const Slice> slices) const {
  if (compressed()) return {range_};
  std::vector<ByteRange> ranges;
  for (const Slice& slice : slices) {
    const uint64_t begin = slice.first * bits_ / 8;
    ranges.push_back({range_.offset + begin, BytesForBits(slice.end() * bits_) - begin});
  }
  return ranges;
}

arrow::Result<std::vector<FlatBuffer::Piece>> FlatBuffer::Pieces(std::span<const Slice> slices,
                                                                 std::span<const BufferPtr> answers,
                                                                 DecodeContext& context, ScratchBuffer& scratch) const {
  std::vector<Piece> pieces;
  if (!compressed()) {
    for (size_t i = 0; i < slices.size(); ++i)
      pieces.push_back({answers[i]->data(), bits_ == 1 ? slices[i].first % 8 : 0});
    return pieces;
  }
  ARROW_ASSIGN_OR_RAISE(Bytes plain, context.decompressor.Decompress(*scheme_, ViewOf(answers[0]), scratch));
  for (const Slice& slice : slices) {
    if (slice.end() > plain.size() * 8 / bits_) {
      return Corruption("a buffer of {} bytes cannot hold {} values of {} bits", plain.size(), slice.end(), bits_);
    }
    pieces.push_back({plain.data() + slice.first * bits_ / 8, bits_ == 1 ? slice.first % 8 : 0});
  }
  return pieces;
}

arrow::Result<FlatBuffer> ParseNoNullFlat(const Encoding& encoding, const PageMetadata& page) {
  const Encoding* values = &encoding;
  if (values->has_nullable()) {
    if (!values->nullable().has_no_nulls()) return NotSupported("indices with nulls are not readable");
    values = &values->nullable().no_nulls().values();
  }
  if (!values->has_flat()) return NotSupported("indices in encoding {} are not readable", NameOf(*values));
  return FlatBuffer::Parse(values->flat(), page);
}

std::string NameOf(const Encoding& encoding) {
  switch (encoding.array_encoding_case()) {
    case Encoding::kFlat: return "Flat";
    case Encoding::kNullable: return "Nullable";
    case Encoding::kFixedSizeList: return "FixedSizeList";
    case Encoding::kList: return "List";
    case Encoding::kStruct: return "SimpleStruct";
    case Encoding::kBinary: return "Binary";
    case Encoding::kDictionary: return "Dictionary";
    case Encoding::kFsst: return "Fsst";
    case Encoding::kPackedStruct: return "PackedStruct";
    case Encoding::kBitpacked: return "Bitpacked";
    case Encoding::kFixedSizeBinary: return "FixedSizeBinary";
    case Encoding::kBitpackedForNonNeg: return "BitpackedForNonNeg";
    case Encoding::kConstant: return "Constant";
    case Encoding::ARRAY_ENCODING_NOT_SET: return "unknown";
  }
  return "unknown";
}

// ---- pages ----

arrow::Result<PageReaderPtr> MakeFixedPage20(const Encoding& encoding, const PageSpec& spec) {
  ARROW_ASSIGN_OR_RAISE(std::vector<Level> levels, LevelParser(spec).Parse(encoding));
  return std::make_shared<FixedPage>(std::move(levels));
}

arrow::Result<PageReaderPtr> MakeArrayEncodingPage(const Encoding& encoding, const PageSpec& spec) {
  if (encoding.has_binary()) return MakeBinaryPage20(encoding.binary(), spec);
  if (encoding.has_dictionary()) return MakeDictionaryPage20(encoding.dictionary(), spec);
  return MakeFixedPage20(encoding, spec);
}

}  // namespace javelin::file
