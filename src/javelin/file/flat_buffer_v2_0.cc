// Flat buffers of 2.0 pages: where values lie, and what is done to read them.
#include <algorithm>

#include "javelin/file/bit_packing.h"
#include "javelin/file/encodings_internal.h"
#include "javelin/file/flat_v2_0_internal.h"

namespace javelin::file {

namespace {

// `width` bits from bit `first` on, of a buffer that holds them.
uint64_t LoadBits(const uint8_t* bytes, uint64_t first, unsigned width) {
  uint64_t value = 0;
  for (unsigned done = 0; done < width;) {
    const unsigned shift = (first + done) % 8;
    const unsigned count = std::min(8 - shift, width - done);
    const uint64_t part = bytes[(first + done) / 8] >> shift & ((1u << count) - 1);
    value |= part << done;
    done += count;
  }
  return value;
}

// The value as one of 64 bits, its highest bit filled in upwards.
uint64_t SignExtend(uint64_t value, unsigned width) {
  const unsigned shift = 64 - width;
  return static_cast<uint64_t>(static_cast<int64_t>(value << shift) >> shift);
}

// `packed`: from the unit that holds the slice's first value on.
template <typename T>
void UnpackUnits(const uint8_t* packed, unsigned width, const Slice& slice, uint8_t* out) {
  T unit[kPackedUnit];
  const uint64_t first_unit = slice.first / kPackedUnit;
  for (uint64_t first = slice.first; first < slice.end();) {
    const uint64_t number = first / kPackedUnit;
    const uint64_t end = std::min(slice.end(), (number + 1) * kPackedUnit);
    UnpackUnit<T>(packed + (number - first_unit) * PackedBytes(width), width, unit);
    std::memcpy(out, unit + first % kPackedUnit, (end - first) * sizeof(T));
    out += (end - first) * sizeof(T);
    first = end;
  }
}

}  // namespace

// ---- what an encoding says ----

arrow::Status FlatBuffer::SetBuffer(const pb20::Buffer& buffer, const PageMetadata& page) {
  if (buffer.buffer_type() != pb20::Buffer::PAGE) return NotSupported("values outside their page are not readable");
  const uint32_t index = buffer.buffer_index();
  if (index >= page.buffers.size())
    return Corruption("values lie in buffer {}, the page has {}", index, page.buffers.size());
  range_ = page.buffers[index];
  return arrow::Status::OK();
}

arrow::Status FlatBuffer::SetPacking(uint64_t width, uint64_t bits, bool units, bool is_signed) {
  if ((bits != 8 && bits != 16 && bits != 32 && bits != 64) || width == 0 || width > bits)
    return Corruption("values of {} bits cannot be packed in {}", bits, width);
  bits_ = bits;
  packing_ = {.units = units, .is_signed = is_signed, .width = static_cast<unsigned>(width)};
  return arrow::Status::OK();
}

arrow::Result<FlatBuffer> FlatBuffer::Parse(const pb20::ArrayEncoding& encoding, const PageMetadata& page) {
  FlatBuffer buffer;
  if (encoding.has_bitpacked()) {
    const pb20::Bitpacked& packed = encoding.bitpacked();
    ARROW_RETURN_NOT_OK(buffer.SetPacking(packed.compressed_bits_per_value(), packed.uncompressed_bits_per_value(),
                                          /*units=*/false, packed.signed_()));
    ARROW_RETURN_NOT_OK(buffer.SetBuffer(packed.buffer(), page));
    return buffer;
  }
  if (encoding.has_bitpacked_for_non_neg()) {
    const pb20::BitpackedForNonNeg& packed = encoding.bitpacked_for_non_neg();
    ARROW_RETURN_NOT_OK(buffer.SetPacking(packed.compressed_bits_per_value(), packed.uncompressed_bits_per_value(),
                                          /*units=*/true, /*is_signed=*/false));
    ARROW_RETURN_NOT_OK(buffer.SetBuffer(packed.buffer(), page));
    return buffer;
  }
  if (!encoding.has_flat()) return NotSupported("values in encoding {} are not readable", NameOf(encoding));
  ARROW_RETURN_NOT_OK(buffer.SetBuffer(encoding.flat().buffer(), page));
  const std::string& scheme = encoding.flat().compression().scheme();
  if (scheme == "zstd") {
    buffer.scheme_ = CompressionScheme::kZstd;
  } else if (scheme == "lz4") {
    buffer.scheme_ = CompressionScheme::kLz4;
  } else if (!scheme.empty() && scheme != "none") {
    return NotSupported("compression scheme '{}' is not known", scheme);
  }
  return buffer.AsValuesOf(encoding.flat().bits_per_value());
}

arrow::Result<FlatBuffer> FlatBuffer::Of(const pb20::Buffer& buffer, uint64_t bits, const PageMetadata& page) {
  FlatBuffer flat;
  ARROW_RETURN_NOT_OK(flat.SetBuffer(buffer, page));
  return flat.AsValuesOf(bits);
}

arrow::Result<FlatBuffer> FlatBuffer::AsValuesOf(uint64_t bits) const {
  if (packing_) return NotSupported("packed bytes are not readable");
  // 2^40 bits are more than any value has.
  if (bits == 0 || bits >> 40 != 0 || (bits != 1 && bits % 8 != 0)) {
    return Corruption("values of {} bits do not exist", bits);
  }
  FlatBuffer other = *this;
  other.bits_ = bits;
  return other;
}

arrow::Result<FlatBuffer> ParseNoNullFlat(const pb20::ArrayEncoding& encoding, const PageMetadata& page) {
  if (!encoding.has_nullable()) return FlatBuffer::Parse(encoding, page);
  if (!encoding.nullable().has_no_nulls()) return NotSupported("indices with nulls are not readable");
  return FlatBuffer::Parse(encoding.nullable().no_nulls().values(), page);
}

uint64_t FlatBuffer::Capacity() const {
  if (compressed() || range_.length > ~uint64_t{0} / 8) return ~uint64_t{0};
  if (packing_ && packing_->units) return range_.length / PackedBytes(packing_->width) * kPackedUnit;
  return range_.length * 8 / (packing_ ? packing_->width : bits_);
}

arrow::Status FlatBuffer::MustHold(uint64_t count) {
  most_ = MostFlatBytes(count, bits_);
  if (Capacity() >= count) return arrow::Status::OK();
  return Corruption("a buffer of {} bytes cannot hold {} values of {} bits", range_.length, count,
                    packing_ ? packing_->width : bits_);
}

// ---- bytes ----

ByteRange FlatBuffer::RangeOf(const Slice& slice) const {
  if (packing_ && packing_->units) {
    const uint64_t begin = slice.first / kPackedUnit;
    const uint64_t end = (slice.end() + kPackedUnit - 1) / kPackedUnit;
    return {range_.offset + begin * PackedBytes(packing_->width), (end - begin) * PackedBytes(packing_->width)};
  }
  const uint64_t width = packing_ ? packing_->width : bits_;
  const uint64_t begin = slice.first * width / 8;
  return {range_.offset + begin, BytesForBits(slice.end() * width) - begin};
}

std::vector<ByteRange> FlatBuffer::Wanted(std::span<const Slice> slices) const {
  if (compressed()) return {range_};
  std::vector<ByteRange> ranges;
  for (const Slice& slice : slices) ranges.push_back(RangeOf(slice));
  return ranges;
}

void FlatBuffer::Unpack(const Slice& slice, const uint8_t* read, uint8_t* out) const {
  const unsigned width = packing_->width;
  if (packing_->units) {
    switch (bits_) {
      case 8: return UnpackUnits<uint8_t>(read, width, slice, out);
      case 16: return UnpackUnits<uint16_t>(read, width, slice, out);
      case 32: return UnpackUnits<uint32_t>(read, width, slice, out);
      default: return UnpackUnits<uint64_t>(read, width, slice, out);
    }
  }
  const uint64_t first_bit = slice.first * width % 8;
  for (uint64_t i = 0; i < slice.count; ++i) {
    const uint64_t stored = LoadBits(read, first_bit + i * width, width);
    const uint64_t value = packing_->is_signed ? SignExtend(stored, width) : stored;
    std::memcpy(out + i * (bits_ / 8), &value, bits_ / 8);
  }
}

arrow::Result<std::vector<FlatBuffer::Piece>> FlatBuffer::Pieces(std::span<const Slice> slices,
                                                                 std::span<const BufferPtr> answers,
                                                                 DecodeContext& context, ScratchBuffer& scratch) const {
  std::vector<Piece> pieces;
  if (plain()) {
    for (size_t i = 0; i < slices.size(); ++i)
      pieces.push_back({answers[i]->data(), bits_ == 1 ? slices[i].first % 8 : 0});
    return pieces;
  }
  if (packing_) {
    const uint64_t bytes = TotalCount(slices) * (bits_ / 8);
    ARROW_ASSIGN_OR_RAISE(uint8_t* room, scratch.Room(bytes));
    for (size_t i = 0; i < slices.size(); ++i) {
      Unpack(slices[i], answers[i]->data(), room);
      pieces.push_back({room, 0});
      room += slices[i].count * (bits_ / 8);
    }
    return pieces;
  }
  ARROW_ASSIGN_OR_RAISE(const Bytes all, All(answers[0], context, scratch));
  for (const Slice& slice : slices) {
    if (slice.end() > all.size() * 8 / bits_) {
      return Corruption("a buffer of {} bytes cannot hold {} values of {} bits", all.size(), slice.end(), bits_);
    }
    pieces.push_back({all.data() + slice.first * bits_ / 8, bits_ == 1 ? slice.first % 8 : 0});
  }
  return pieces;
}

arrow::Result<Bytes> FlatBuffer::All(const BufferPtr& read, DecodeContext& context, ScratchBuffer& scratch) const {
  return compressed() ? context.decompressor.Decompress(*scheme_, ViewOf(read), scratch, most_) : ViewOf(read);
}

}  // namespace javelin::file
