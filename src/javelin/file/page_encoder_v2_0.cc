// Values of a leaf column as one page of version 2.0.
#include <optional>

#include "javelin/file/column_v2_0_internal.h"
#include "javelin/file/compression_internal.h"
#include "javelin/file/distinct_values_internal.h"
#include "javelin/file/string_form_internal.h"

namespace javelin::file {

namespace {

using lance::encodings::ArrayEncoding;
using Kind = ValueShape::Kind;
using ByteVector = std::vector<uint8_t>;

// Text of few distinct values is stored as numbers of one byte.
constexpr uint64_t kMinDictionaryRows = 100;
constexpr uint64_t kMaxDictionaryItems = 99;

void AddFlat(uint64_t bits, ByteVector bytes, ArrayEncoding& encoding, EncodedPage& page) {
  encoding.mutable_flat()->set_bits_per_value(bits);
  encoding.mutable_flat()->mutable_buffer()->set_buffer_index(static_cast<uint32_t>(page.buffers.size()));
  page.buffers.push_back(OneBuffer(std::move(bytes)));
}

template <typename IsSet>
ByteVector Bitmap(uint64_t length, const IsSet& is_set) {
  ByteVector bits(BytesForBits(length));
  for (uint64_t i = 0; i < length; ++i) bits[i / 8] = static_cast<uint8_t>(bits[i / 8] | is_set(i) << (i % 8));
  return bits;
}

// Values of null rows become zero.
ByteVector FixedBytes(const LeafView& view, uint64_t width) {
  ByteVector bytes(view.values, view.values + view.length * width);
  for (uint64_t i = 0; i < view.length && view.HasNulls(); ++i) {
    if (view.IsNull(i)) std::memset(bytes.data() + i * width, 0, width);
  }
  return bytes;
}

void AddValues(const LeafView& view, const ValueShape& shape, ArrayEncoding& encoding, EncodedPage& page);

// Fixed width, with the bitmap of what is null in front.
void AddNullable(const LeafView& view, const ValueShape& shape, ArrayEncoding& encoding, EncodedPage& page) {
  lance::encodings::Nullable* nullable = encoding.mutable_nullable();
  if (shape.kind == Kind::kNull) {
    nullable->mutable_all_nulls();
    return;
  }
  if (!view.HasNulls()) {
    AddValues(view, shape, *nullable->mutable_no_nulls()->mutable_values(), page);
    return;
  }
  auto* some = nullable->mutable_some_nulls();
  AddFlat(1, Bitmap(view.length, [&](uint64_t i) { return !view.IsNull(i); }), *some->mutable_validity(), page);
  AddValues(view, shape, *some->mutable_values(), page);
}

void AddValues(const LeafView& view, const ValueShape& shape, ArrayEncoding& encoding, EncodedPage& page) {
  if (shape.kind == Kind::kList) {
    encoding.mutable_fixed_size_list()->set_dimension(static_cast<uint32_t>(shape.dimension));
    AddNullable(*view.items, *shape.item, *encoding.mutable_fixed_size_list()->mutable_items(), page);
  } else if (shape.bits == 1) {
    AddFlat(1, Bitmap(view.length, [&](uint64_t i) { return !view.IsNull(i) && view.Bit(i); }), encoding, page);
  } else {
    AddFlat(shape.bits, FixedBytes(view, shape.bytes()), encoding, page);
  }
}

// Ends and bytes; the latter are yet to be added.
template <typename ValueAt, typename IsNullAt>
ByteVector AddEnds(uint64_t count, const ValueAt& value_at, const IsNullAt& is_null, ArrayEncoding& encoding,
                   EncodedPage& page) {
  std::vector<uint64_t> ends;
  ends.reserve(count);
  ByteVector bytes;
  for (uint64_t i = 0; i < count; ++i) {
    const Bytes value = value_at(i);
    bytes.insert(bytes.end(), value.begin(), value.end());
    ends.push_back(bytes.size());
  }
  const uint64_t null_adjustment = bytes.size() + 1;
  for (uint64_t i = 0; i < count; ++i) ends[i] += is_null(i) ? null_adjustment : 0;
  lance::encodings::Binary* binary = encoding.mutable_binary();
  binary->set_null_adjustment(null_adjustment);
  EncodeEnds(ends, *binary->mutable_indices(), page);
  return bytes;
}

template <typename ValueAt, typename IsNullAt>
void AddStrings(uint64_t count, const ValueAt& value_at, const IsNullAt& is_null, ArrayEncoding& encoding,
                EncodedPage& page) {
  ByteVector bytes = AddEnds(count, value_at, is_null, encoding, page);
  AddFlat(8, std::move(bytes), *encoding.mutable_binary()->mutable_bytes(), page);
}

void AddFsst(const LeafView& view, ArrayEncoding& encoding, EncodedPage& page) {
  const std::unique_ptr<const FsstEncoder> fsst = LearnFsst(view);
  const auto table = fsst->Table();
  encoding.mutable_fsst()->set_symbol_table(table.data(), table.size());
  ByteVector codes;
  const auto codes_at = [&](uint64_t i) {
    const Bytes value = view.Value(i);
    codes.resize(std::max(codes.size(), FsstEncoder::Capacity(value.size())));
    return Bytes(codes.data(), fsst->Encode(value, codes.data()));
  };
  AddStrings(
      view.length, codes_at, [&](uint64_t i) { return view.IsNull(i); }, *encoding.mutable_fsst()->mutable_binary(),
      page);
}

// As they are, or under the wished compression. Released readers take no Fsst for values with offsets of 64 bits.
arrow::Status AddWishedStrings(const LeafView& view, const ValueShape& shape, const EncodingWishes& wishes,
                               ArrayEncoding& encoding, EncodedPage& page) {
  if (wishes.codec == EncodingWishes::Codec::kFsst && shape.bits == 32 && StringBytes(view) > 0) {
    AddFsst(view, encoding, page);
    return arrow::Status::OK();
  }
  ByteVector bytes = AddEnds(
      view.length, [&](uint64_t i) { return view.Value(i); }, [&](uint64_t i) { return view.IsNull(i); }, encoding,
      page);
  const std::optional<CompressionScheme> scheme = wishes.compression();
  ArrayEncoding& stored = *encoding.mutable_binary()->mutable_bytes();
  if (scheme && !bytes.empty()) {
    ByteVector compressed;
    ARROW_RETURN_NOT_OK(Compressor().Compress(*scheme, wishes.level.value_or(kDefaultZstdLevel), bytes, compressed));
    bytes = std::move(compressed);
    stored.mutable_flat()->mutable_compression()->set_scheme(scheme == CompressionScheme::kZstd ? "zstd" : "lz4");
  }
  AddFlat(8, std::move(bytes), stored, page);
  return arrow::Status::OK();
}

// Which of the distinct values each is, from 1; 0 for null. None if they are too many, or too few rows.
struct Numbered {
  ByteVector numbers;
  DistinctValues distinct;
};
std::optional<Numbered> NumberValues(const LeafView& view) {
  if (view.length < kMinDictionaryRows || view.null_count == view.length) return std::nullopt;
  Numbered out;
  for (uint64_t i = 0; i < view.length; ++i) {
    out.numbers.push_back(view.IsNull(i) ? 0 : static_cast<uint8_t>(out.distinct.Add(view.Value(i)) + 1));
    if (out.distinct.items().size() > kMaxDictionaryItems) return std::nullopt;
  }
  return out;
}

// Strings or values of one width, and perhaps a null behind the last.
void AddItems(const std::vector<Bytes>& items, bool has_null, const ValueShape& shape, ArrayEncoding& encoding,
              EncodedPage& page) {
  const uint64_t count = items.size() + has_null;
  if (shape.kind == Kind::kVariable) {
    AddStrings(
        count, [&](uint64_t i) { return i < items.size() ? items[i] : Bytes{}; },
        [&](uint64_t i) { return i == items.size(); }, encoding, page);
    return;
  }
  ByteVector values;
  if (shape.bits == 1) {
    values = Bitmap(count, [&](uint64_t i) { return i < items.size() && items[i][0] != 0; });
  } else {
    for (const Bytes& item : items) values.insert(values.end(), item.begin(), item.end());
    values.resize(count * shape.bytes());
  }
  const ByteVector validity = Bitmap(count, [&](uint64_t i) { return i < items.size(); });
  LeafView view;
  view.length = count;
  view.null_count = has_null;
  view.validity = validity.data();
  view.values = values.data();
  AddNullable(view, shape, encoding, page);
}

// Numbers of the items that the rows have, and those items; has_null: one more, behind the last, is null.
void AddDictionary(uint64_t index_bits, ByteVector indices, const std::vector<Bytes>& items, bool has_null,
                   const ValueShape& item, ArrayEncoding& encoding, EncodedPage& page) {
  lance::encodings::Dictionary* dictionary = encoding.mutable_dictionary();
  dictionary->set_num_dictionary_items(static_cast<uint32_t>(items.size() + has_null));
  AddFlat(index_bits, std::move(indices),
          *dictionary->mutable_indices()->mutable_nullable()->mutable_no_nulls()->mutable_values(), page);
  AddItems(items, has_null, item, *dictionary->mutable_items(), page);
}

}  // namespace

EncodedPage EncodeDictionaryV20(const IndexedPage& indexed, const ValueShape& index, const ValueShape& item) {
  EncodedPage page;
  page.num_rows = indexed.view.length;
  AddDictionary(index.bits, indexed.indices, indexed.items, indexed.view.HasNulls(), item, page.array_v2_0.emplace(),
                page);
  return page;
}

EncodedPage EncodePackedV20(const LeafView& rows, const StructPacker& packer) {
  EncodedPage page;
  page.num_rows = rows.length;
  packer.Describe(*page.array_v2_0.emplace().mutable_packed_struct());
  ByteVector bytes;
  if (packer.is_fixed()) {
    bytes = FixedBytes(rows, packer.shape().bytes());
  } else if (rows.length > 0) {
    bytes.assign(rows.values + rows.Offset(0), rows.values + rows.Offset(rows.length));
  }
  page.buffers.push_back(OneBuffer(std::move(bytes)));
  return page;
}

void EncodeEnds(const std::vector<uint64_t>& ends, ArrayEncoding& encoding, EncodedPage& page) {
  ByteVector bytes(ends.size() * sizeof(uint64_t));
  if (!ends.empty()) std::memcpy(bytes.data(), ends.data(), bytes.size());
  AddFlat(64, std::move(bytes), *encoding.mutable_nullable()->mutable_no_nulls()->mutable_values(), page);
}

arrow::Result<EncodedPage> EncodeLeafV20(const LeafView& view, const ValueShape& shape, bool is_text,
                                         const EncodingWishes& wishes) {
  EncodedPage page;
  page.num_rows = view.length;
  ArrayEncoding& encoding = page.array_v2_0.emplace();
  if (shape.kind == Kind::kVariable) {
    std::optional<Numbered> numbered = is_text ? NumberValues(view) : std::nullopt;
    if (numbered) {
      AddDictionary(8, std::move(numbered->numbers), numbered->distinct.items(), /*has_null=*/false, shape, encoding,
                    page);
    } else {
      ARROW_RETURN_NOT_OK(AddWishedStrings(view, shape, wishes, encoding, page));
    }
  } else if (view.null_count == view.length) {
    encoding.mutable_nullable()->mutable_all_nulls();
  } else {
    AddNullable(view, shape, encoding, page);
  }
  return page;
}

}  // namespace javelin::file
