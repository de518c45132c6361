#include "javelin/file/compression_internal.h"

#include <limits>
#include <new>

#include <lz4.h>
#include <zstd.h>

#include "javelin/base/error.h"

namespace javelin::file {

namespace {

// No byte of an LZ4 block stands for more than 255 bytes of output.
constexpr uint64_t kLz4MaxRatio = 255;
// A Zstandard block yields at most 128 KiB and takes at least 3 bytes.
constexpr uint64_t kZstdBlockBytes = 128u << 10;
constexpr uint64_t kZstdBlockMinInput = 3;
constexpr uint32_t kZstdMagic = 0xFD2FB528;

struct Payload {
  Bytes body;
  uint64_t size = 0;
};

// Older files hold a frame without the size in front; bit 4 of the frame's descriptor is never set.
bool IsBareZstdFrame(Bytes input) {
  return input.size() >= 5 && LoadAt<uint32_t>(input.data()) == kZstdMagic && (input[4] & 0x10) == 0;
}

arrow::Result<Payload> SplitZstd(Bytes input) {
  if (IsBareZstdFrame(input)) {
    unsigned long long size = ZSTD_getFrameContentSize(input.data(), input.size());
    if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR) {
      return Corruption("a zstd frame does not state its size");
    }
    return Payload{input, size};
  }
  if (input.size() < 8) return Corruption("a zstd payload of {} bytes has no room for its size", input.size());
  const Bytes frame = input.subspan(8);
  if (frame.size() < 4 || LoadAt<uint32_t>(frame.data()) != kZstdMagic)
    return Corruption("a zstd payload holds no zstd frame");
  return Payload{frame, LoadAt<uint64_t>(input.data())};
}

arrow::Status CheckMost(uint64_t size, uint64_t most) {
  if (size <= most) return arrow::Status::OK();
  return Corruption("a compressed payload claims to hold {} bytes, its values take {} at most", size, most);
}

}  // namespace

arrow::Result<uint8_t*> ScratchBuffer::Room(uint64_t size) {
  constexpr uint64_t kLeast = 64;
  if (size <= capacity_ && bytes_ != nullptr) return bytes_.get();
  // What is there goes first: its content is not needed, and the two would be held at once.
  bytes_.reset();
  capacity_ = 0;
  reservation_ = MemoryReservation();
  const uint64_t wanted = std::max(size, kLeast);
  if (wanted > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    return OutOfMemory("{} bytes are too many to decompress at once", wanted);
  if (budget_ != nullptr) {
    ARROW_ASSIGN_OR_RAISE(reservation_,
                          MemoryReservation::Make(*budget_, static_cast<int64_t>(wanted), "decompressed column data"));
  }
  bytes_.reset(new (std::nothrow) uint8_t[wanted]);
  if (bytes_ == nullptr) return OutOfMemory("no memory for {} decompressed bytes", wanted);
  capacity_ = wanted;
  return bytes_.get();
}

struct Decompressor::Contexts {
  ZSTD_DCtx* zstd = ZSTD_createDCtx();
  ~Contexts() { ZSTD_freeDCtx(zstd); }
};

Decompressor::Decompressor() = default;
Decompressor::~Decompressor() = default;

arrow::Result<Bytes> Decompressor::Decompress(CompressionScheme scheme, Bytes input, ScratchBuffer& scratch,
                                              uint64_t most) {
  if (scheme == CompressionScheme::kLz4) {
    if (input.size() < 4) return Corruption("an lz4 payload of {} bytes has no room for its size", input.size());
    uint64_t size = LoadAt<uint32_t>(input.data());
    Bytes body = input.subspan(4);
    if (size > body.size() * kLz4MaxRatio || size > LZ4_MAX_INPUT_SIZE || body.size() > LZ4_MAX_INPUT_SIZE) {
      return Corruption("an lz4 payload of {} bytes claims to hold {}", body.size(), size);
    }
    ARROW_RETURN_NOT_OK(CheckMost(size, most));
    ARROW_ASSIGN_OR_RAISE(uint8_t* target, scratch.Room(size));
    int written = LZ4_decompress_safe(reinterpret_cast<const char*>(body.data()), reinterpret_cast<char*>(target),
                                      static_cast<int>(body.size()), static_cast<int>(size));
    if (written < 0 || static_cast<uint64_t>(written) != size)
      return Corruption("an lz4 payload does not decompress to {} bytes", size);
    return Bytes(target, size);
  }
  ARROW_ASSIGN_OR_RAISE(Payload payload, SplitZstd(input));
  if (payload.size / kZstdBlockBytes > payload.body.size() / kZstdBlockMinInput) {
    return Corruption("a zstd payload of {} bytes claims to hold {}", payload.body.size(), payload.size);
  }
  ARROW_RETURN_NOT_OK(CheckMost(payload.size, most));
  if (contexts_ == nullptr) contexts_ = std::make_unique<Contexts>();
  if (contexts_->zstd == nullptr) return OutOfMemory("no memory for a zstd context");
  ARROW_ASSIGN_OR_RAISE(uint8_t* target, scratch.Room(payload.size));
  size_t written = ZSTD_decompressDCtx(contexts_->zstd, target, payload.size, payload.body.data(), payload.body.size());
  if (ZSTD_isError(written) || written != payload.size) {
    return Corruption("a zstd payload does not decompress to {} bytes", payload.size);
  }
  return Bytes(target, payload.size);
}

struct Compressor::Contexts {
  ZSTD_CCtx* zstd = ZSTD_createCCtx();
  ~Contexts() { ZSTD_freeCCtx(zstd); }
};

Compressor::Compressor() = default;
Compressor::Compressor(Compressor&&) noexcept = default;
Compressor& Compressor::operator=(Compressor&&) noexcept = default;
Compressor::~Compressor() = default;

arrow::Status Compressor::Compress(CompressionScheme scheme, int level, Bytes input, std::vector<uint8_t>& out) {
  const size_t start = out.size();
  if (scheme == CompressionScheme::kLz4) {
    if (input.size() > LZ4_MAX_INPUT_SIZE) return InvalidInput("{} bytes are too many for one lz4 block", input.size());
    const int bound = LZ4_compressBound(static_cast<int>(input.size()));
    out.resize(start + 4 + bound);
    StoreAt<uint32_t>(out.data() + start, static_cast<uint32_t>(input.size()));
    int written =
        LZ4_compress_default(reinterpret_cast<const char*>(input.data()),
                             reinterpret_cast<char*>(out.data() + start + 4), static_cast<int>(input.size()), bound);
    if (written <= 0) return Internal("lz4 refused {} bytes", input.size());
    out.resize(start + 4 + written);
    return arrow::Status::OK();
  }
  if (contexts_ == nullptr) contexts_ = std::make_unique<Contexts>();
  if (contexts_->zstd == nullptr) return OutOfMemory("no memory for a zstd context");
  const size_t bound = ZSTD_compressBound(input.size());
  out.resize(start + 8 + bound);
  StoreAt<uint64_t>(out.data() + start, input.size());
  size_t written = ZSTD_compressCCtx(contexts_->zstd, out.data() + start + 8, bound, input.data(), input.size(), level);
  if (ZSTD_isError(written)) return Internal("zstd refused {} bytes: {}", input.size(), ZSTD_getErrorName(written));
  out.resize(start + 8 + written);
  return arrow::Status::OK();
}

}  // namespace javelin::file
