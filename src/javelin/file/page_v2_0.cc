// Pages of version 2.0 whose values have one width: Nullable over flat buffers or over fixed-size lists.
#include <algorithm>
#include <utility>

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
      ARROW_RETURN_NOT_OK(AppendValues(pieces[i], slices[i].count, level.values->bits() / 8, out));
    }
    return arrow::Status::OK();
  }

  static arrow::Status AppendValues(const FlatBuffer::Piece& piece, uint64_t count, uint64_t width, ValueSink& out) {
    if (out.shape().kind == ValueShape::Kind::kVariable) {
      for (uint64_t i = 0; i < count; ++i) ARROW_RETURN_NOT_OK(out.AppendValue({piece.bytes + i * width, width}));
      return arrow::Status::OK();
    }
    if (out.shape().kind == ValueShape::Kind::kStruct) return out.AppendPackedRows(piece.bytes, width, count);
    if (out.shape().bits == 1) return out.AppendBits(piece.bytes, piece.first_bit, count);
    ARROW_ASSIGN_OR_RAISE(uint8_t* target, out.AppendFixed(count));
    std::memcpy(target, piece.bytes, count * width);
    return arrow::Status::OK();
  }

  const FixedPage& page_;
  std::vector<Slice> rows_;
  std::vector<BufferPtr> bytes_;
};

std::unique_ptr<PageScan> FixedPage::Scan(std::vector<Slice> rows) const {
  return std::make_unique<FixedScan>(*this, std::move(rows));
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
    const Encoding& values = *std::exchange(encoding, nullptr);
    Level level;
    if (values.has_fixed_size_binary()) return ParseValues(values, std::move(level), encoding, shape, count);
    if (values.has_packed_struct()) return ParsePackedStruct(values.packed_struct(), *shape, count);
    if (values.has_struct_() && shape->kind == ValueShape::Kind::kNull) {  // a struct without fields
      level.nulls = Level::Nulls::kAll;
      levels_.push_back(std::move(level));
      return arrow::Status::OK();
    }
    if (!values.has_nullable()) return NotSupported("values in encoding {} are not readable", NameOf(values));
    const pb20::Nullable& nullable = values.nullable();
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
      ARROW_RETURN_NOT_OK(level.validity->MustHold(count));
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
    if (shape->is_fixed(0)) return NotSupported("values without bytes are not readable in data files of version 2.0");
    const bool strings = values.has_fixed_size_binary();
    ARROW_ASSIGN_OR_RAISE(level.values,
                          strings ? ParseStrings(values.fixed_size_binary()) : FlatBuffer::Parse(values, spec_.page));
    if (strings ? shape->kind != ValueShape::Kind::kVariable : !shape->is_fixed(level.values->bits()))
      return Corruption("values of {} bits stand for {}", level.values->bits(), ToString(*shape));
    ARROW_RETURN_NOT_OK(level.values->MustHold(count));
    levels_.push_back(std::move(level));
    return arrow::Status::OK();
  }

  // Rows of fields one behind the other.
  arrow::Status ParsePackedStruct(const pb20::PackedStruct& encoding, const ValueShape& shape, uint64_t count) {
    const uint64_t bytes = FixedBytes(shape);
    const bool fits = shape.kind == ValueShape::Kind::kStruct && bytes > 0 && bytes >> 32 == 0 &&
                      static_cast<size_t>(encoding.inner_size()) == shape.fields.size() &&
                      std::equal(shape.fields.begin(), shape.fields.end(), encoding.inner().begin(), IsPackedAs);
    if (!fits) return Corruption("packed structs of {} fields stand for {}", encoding.inner_size(), ToString(shape));
    Level level;
    ARROW_ASSIGN_OR_RAISE(level.values, FlatBuffer::Of(encoding.buffer(), bytes * 8, spec_.page));
    ARROW_RETURN_NOT_OK(level.values->MustHold(count));
    levels_.push_back(std::move(level));
    return arrow::Status::OK();
  }

  static bool IsPackedAs(const ValueShape& shape, const Encoding& encoding) {
    const Encoding& values = encoding.nullable().no_nulls().values();
    if (shape.kind == ValueShape::Kind::kFixed) return values.flat().bits_per_value() == shape.bits;
    return shape.kind == ValueShape::Kind::kList && values.fixed_size_list().dimension() == shape.dimension &&
           IsPackedAs(*shape.item, values.fixed_size_list().items());
  }

  // Strings of one length.
  arrow::Result<FlatBuffer> ParseStrings(const pb20::FixedSizeBinary& encoding) const {
    ARROW_ASSIGN_OR_RAISE(const FlatBuffer bytes, ParseNoNullFlat(encoding.bytes(), spec_.page));
    if (encoding.byte_width() == 0) return NotSupported("strings of the one length 0 are not readable");
    return bytes.AsValuesOf(uint64_t{encoding.byte_width()} * 8);
  }

  const PageSpec& spec_;
  std::vector<Level> levels_;
};

}  // namespace

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
  if (encoding.has_fsst()) return MakeFsstPage20(encoding.fsst(), spec);
  if (encoding.has_dictionary()) return MakeDictionaryPage20(encoding.dictionary(), spec);
  return MakeFixedPage20(encoding, spec);
}

}  // namespace javelin::file
