#include "javelin/file/container_internal.h"

#include <google/protobuf/any.pb.h>
#include <google/protobuf/io/coded_stream.h>
#include "lanceproto/encodings_v2_0.pb.h"
#include "lanceproto/file.pb.h"
#include "lanceproto/file2.pb.h"

#include "javelin/base/error.h"
#include "javelin/file/blob_field.h"
#include "javelin/file/byte_span_internal.h"
#include "javelin/file/logical_type_internal.h"
#include "javelin/file/schema_internal.h"

namespace javelin::file {

namespace {

constexpr uint64_t kTableEntryBytes = 16;
// Read in front of the tables when they alone fill the tail: the descriptor lies there, and its size is not known yet.
constexpr uint64_t kDescriptorGuess = 1u << 20;

struct Footer {
  uint64_t column_metadata = 0;
  uint64_t column_table = 0;
  uint64_t buffer_table = 0;
  uint32_t num_buffers = 0;
  uint32_t num_columns = 0;
  FileVersion version;
};

arrow::Result<Footer> ParseFooter(Bytes tail, uint64_t file_size) {
  if (tail.size() < kFooterBytes) return Corruption("the file has only {} bytes", file_size);
  const uint8_t* bytes = tail.data() + tail.size() - kFooterBytes;
  if (std::memcmp(bytes + 36, kMagic, 4) != 0)
    return Corruption("the file does not end in LANC; it is cut short or no Lance file");
  Footer footer;
  footer.column_metadata = LoadAt<uint64_t>(bytes);
  footer.column_table = LoadAt<uint64_t>(bytes + 8);
  footer.buffer_table = LoadAt<uint64_t>(bytes + 16);
  footer.num_buffers = LoadAt<uint32_t>(bytes + 24);
  footer.num_columns = LoadAt<uint32_t>(bytes + 28);
  ARROW_ASSIGN_OR_RAISE(footer.version, ReadableVersion({LoadAt<uint16_t>(bytes + 32), LoadAt<uint16_t>(bytes + 34)}));
  const uint64_t end = file_size - kFooterBytes;
  auto table_fits = [&](uint64_t position, uint64_t entries) {
    return position <= end && entries <= (end - position) / kTableEntryBytes;
  };
  if (!table_fits(footer.column_table, footer.num_columns) || !table_fits(footer.buffer_table, footer.num_buffers) ||
      footer.column_metadata > end || footer.num_buffers < 1) {
    return Corruption("the footer points outside the file of {} bytes", file_size);
  }
  return footer;
}

arrow::Result<MemoryReservation> Reserve(const Resources& resources, uint64_t bytes) {
  return MemoryReservation::Make(*resources.memory, static_cast<int64_t>(bytes), "file metadata");
}

// The end of the file, as far forward as it has been read.
class Window {
 public:
  Window(const Resources& resources, ObjectStore& store, const std::string& key, ObjectTail tail)
      : resources_(resources),
        store_(store),
        key_(key),
        bytes_(tail.bytes),
        file_size_(tail.object_size),
        start_(tail.object_size - static_cast<uint64_t>(tail.bytes->size())) {}

  uint64_t start() const { return start_; }

  // Reads forward to `start` where that is not there yet.
  arrow::Status ExtendTo(uint64_t start) {
    if (start >= start_) return arrow::Status::OK();
    const ByteRange missing{start, start_ - start};
    ARROW_ASSIGN_OR_RAISE(MemoryReservation joined, Reserve(resources_, file_size_ - start));
    ARROW_ASSIGN_OR_RAISE(const MemoryReservation read, Reserve(resources_, missing.length));
    ARROW_ASSIGN_OR_RAISE(std::vector<BufferPtr> front, store_.GetRanges(key_, std::span(&missing, 1)));
    if (front.size() != 1 || front[0]->size() != static_cast<int64_t>(missing.length))
      return Internal("the store answered other ranges than asked");
    ARROW_ASSIGN_OR_RAISE(bytes_, arrow::ConcatenateBuffers({front[0], bytes_}, resources_.pool));
    reservation_ = std::move(joined);
    start_ = start;
    return arrow::Status::OK();
  }

  arrow::Result<Bytes> View(ByteRange range) {
    if (range.offset < start_ || range.offset > file_size_ || range.length > file_size_ - range.offset) {
      return Internal("bytes {}+{} of the file were not read", range.offset, range.length);
    }
    return Bytes(bytes_->data() + (range.offset - start_), range.length);
  }

 private:
  const Resources& resources_;
  ObjectStore& store_;
  const std::string& key_;
  BufferPtr bytes_;
  uint64_t file_size_;
  uint64_t start_;
  MemoryReservation reservation_;
};

arrow::Status CheckInside(ByteRange range, uint64_t file_size, std::string_view what) {
  if (range.offset > file_size || range.length > file_size - range.offset) {
    return Corruption("{} lies at {}+{}, outside the file of {} bytes", what, range.offset, range.length, file_size);
  }
  return arrow::Status::OK();
}

std::vector<ByteRange> ParseTable(Bytes table) {
  std::vector<ByteRange> ranges;
  for (uint64_t at = 0; at + kTableEntryBytes <= table.size(); at += kTableEntryBytes) {
    ranges.push_back({LoadAt<uint64_t>(table.data() + at), LoadAt<uint64_t>(table.data() + at + 8)});
  }
  return ranges;
}

// A message of two bytes can hold another that takes over a hundred in memory.
constexpr uint64_t kParsedBytesPerByte = 128;

arrow::Result<MemoryReservation> ReserveParsed(const Resources& resources, Bytes message) {
  return Reserve(resources, message.size() * kParsedBytesPerByte);
}

template <typename Message>
arrow::Status ParseMessage(Bytes bytes, std::string_view what, Message& message) {
  if (bytes.size() > static_cast<uint64_t>(std::numeric_limits<int>::max()) ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Corruption("{} does not parse", what);
  }
  return arrow::Status::OK();
}

struct TypedBytes {
  std::string name;
  std::string bytes;
};

// The message that an encoding holds, by the name behind the last '/'.
arrow::Result<TypedBytes> UnpackEncoding(const lance::file::v2::Encoding& encoding) {
  if (!encoding.has_direct()) return NotSupported("there is no encoding of its own in place");
  google::protobuf::Any any;
  if (!any.ParseFromString(encoding.direct().encoding())) return Corruption("the encoding does not parse");
  const std::string& url = any.type_url();
  return TypedBytes{url.substr(url.rfind('/') + 1), std::move(*any.mutable_value())};
}

// The parts of the message of a column, each to be parsed by itself: all pages parsed together could take a hundred
// times their bytes.
struct ColumnParts {
  Bytes encoding;
  std::vector<Bytes> pages;
};

bool SkipNumber(google::protobuf::io::CodedInputStream& in, uint32_t wire_type) {
  uint64_t number = 0;
  switch (wire_type) {
    case 0: return in.ReadVarint64(&number);
    case 1: return in.Skip(8);
    case 5: return in.Skip(4);
    default: return false;  // groups, which no version wrote
  }
}

arrow::Result<ColumnParts> SplitColumn(Bytes message) {
  constexpr uint32_t kBytes = 2;  // wire type
  if (message.size() > static_cast<uint64_t>(std::numeric_limits<int>::max()))
    return Corruption("the metadata is too long");
  google::protobuf::io::CodedInputStream in(message.data(), static_cast<int>(message.size()));
  ColumnParts parts;
  while (const uint32_t tag = in.ReadTag()) {
    if (tag % 8 != kBytes) {
      if (!SkipNumber(in, tag % 8)) return Corruption("the metadata does not parse");
      continue;
    }
    uint32_t length = 0;
    if (!in.ReadVarint32(&length)) return Corruption("the metadata does not parse");
    const auto begin = static_cast<size_t>(in.CurrentPosition());
    if (length > message.size() - begin) return Corruption("the metadata does not parse");
    const Bytes part = message.subspan(begin, length);
    in.Skip(static_cast<int>(length));
    if (tag / 8 == lance::file::v2::ColumnMetadata::kEncodingFieldNumber) parts.encoding = part;
    if (tag / 8 == lance::file::v2::ColumnMetadata::kPagesFieldNumber) parts.pages.push_back(part);
  }
  if (!in.ConsumedEntireMessage()) return Corruption("the metadata does not parse");
  return parts;
}

// Which column it is says the caller.
class ColumnReader {
 public:
  ColumnReader(const Resources& resources, FileVersion version, uint64_t file_size)
      : resources_(resources), version_(version), file_size_(file_size) {}

  arrow::Result<ColumnMetadata> Read(Bytes bytes) {
    // Two bytes can be a page.
    ARROW_ASSIGN_OR_RAISE(const MemoryReservation split_memory, Reserve(resources_, bytes.size() / 2 * sizeof(Bytes)));
    ARROW_ASSIGN_OR_RAISE(const ColumnParts parts, SplitColumn(bytes));
    ARROW_ASSIGN_OR_RAISE(const MemoryReservation memory,
                          Reserve(resources_, parts.pages.size() * sizeof(PageMetadata) + bytes.size()));
    ColumnMetadata column;
    ARROW_RETURN_NOT_OK(ReadColumnEncoding(parts.encoding, column));
    column.pages.reserve(parts.pages.size());
    for (const Bytes page : parts.pages) {
      arrow::Result<PageMetadata> metadata = ReadPage(page);
      if (!metadata.ok()) return WithContext(metadata.status(), fmt::format("page {}", column.pages.size()));
      metadata->first_row = column.num_rows;
      if (__builtin_add_overflow(column.num_rows, metadata->num_rows, &column.num_rows))
        return Corruption("the pages have too many rows");
      column.pages.push_back(*std::move(metadata));
    }
    return column;
  }

 private:
  arrow::Status ReadColumnEncoding(Bytes bytes, ColumnMetadata& column) {
    // Only 2.0 files may go without.
    if (bytes.data() == nullptr && version_ == FileVersion{2, 0}) return arrow::Status::OK();
    ARROW_ASSIGN_OR_RAISE(const MemoryReservation memory, ReserveParsed(resources_, bytes));
    lance::file::v2::Encoding proto;
    ARROW_RETURN_NOT_OK(ParseMessage(bytes, "the encoding", proto));
    ARROW_ASSIGN_OR_RAISE(TypedBytes encoding, UnpackEncoding(proto));
    lance::encodings::ColumnEncoding message;
    if (encoding.name != message.GetTypeName()) return NotSupported("the encoding {} is not known", encoding.name);
    if (!message.ParseFromString(encoding.bytes)) return Corruption("the encoding does not parse");
    column.plain_values = message.has_values();
    column.blobs = message.has_blob() && message.blob().inner().has_values();
    return arrow::Status::OK();
  }

  arrow::Result<PageMetadata> ReadPage(Bytes bytes) {
    ARROW_ASSIGN_OR_RAISE(const MemoryReservation memory, ReserveParsed(resources_, bytes));
    lance::file::v2::ColumnMetadata::Page proto;
    ARROW_RETURN_NOT_OK(ParseMessage(bytes, "the metadata", proto));
    if (proto.buffer_offsets_size() != proto.buffer_sizes_size())
      return Corruption("{} buffer offsets and {} sizes", proto.buffer_offsets_size(), proto.buffer_sizes_size());
    PageMetadata page;
    for (int i = 0; i < proto.buffer_offsets_size(); ++i) {
      const ByteRange buffer{proto.buffer_offsets(i), proto.buffer_sizes(i)};
      ARROW_RETURN_NOT_OK(CheckInside(buffer, file_size_, "a buffer"));
      if (version_ > FileVersion{2, 0} && buffer.offset % kBufferAlignment != 0)
        return Corruption("a buffer lies at {}, which is not a multiple of 64", buffer.offset);
      page.buffers.push_back(buffer);
    }
    page.num_rows = proto.length();
    ARROW_ASSIGN_OR_RAISE(TypedBytes encoding, UnpackEncoding(proto.encoding()));
    page.encoding_name = std::move(encoding.name);
    page.encoding = std::move(encoding.bytes);
    return page;
  }

  const Resources& resources_;
  FileVersion version_;
  uint64_t file_size_;
};

class ContainerReader {
 public:
  ContainerReader(const Resources& resources, ObjectStore& store, const std::string& key, ObjectTail tail)
      : resources_(resources), tail_(tail), window_(resources, store, key, tail) {}

  arrow::Result<Container> Read() {
    ARROW_ASSIGN_OR_RAISE(
        footer_, ParseFooter({tail_.bytes->data(), static_cast<size_t>(tail_.bytes->size())}, tail_.object_size));
    container_.version = footer_.version;
    container_.file_size = tail_.object_size;
    container_.tail = {tail_.object_size - static_cast<uint64_t>(tail_.bytes->size()),
                       static_cast<uint64_t>(tail_.bytes->size())};
    container_.tail_bytes = tail_.bytes;
    ARROW_ASSIGN_OR_RAISE(ByteRange descriptor, FindDescriptor());
    ARROW_RETURN_NOT_OK(ReadDescriptor(descriptor));
    ARROW_RETURN_NOT_OK(ReadColumns());
    return std::move(container_);
  }

 private:
  // Also brings everything up to the descriptor into the window.
  arrow::Result<ByteRange> FindDescriptor() {
    const uint64_t first = std::min({footer_.column_metadata, footer_.column_table, footer_.buffer_table});
    if (footer_.buffer_table < window_.start()) {
      ARROW_RETURN_NOT_OK(window_.ExtendTo(first - std::min(first, kDescriptorGuess)));
    }
    ARROW_ASSIGN_OR_RAISE(Bytes table, window_.View({footer_.buffer_table, footer_.num_buffers * kTableEntryBytes}));
    const std::vector<ByteRange> buffers = ParseTable(table);
    for (const ByteRange& buffer : buffers) {
      ARROW_RETURN_NOT_OK(CheckInside(buffer, tail_.object_size, "a global buffer"));
      if (footer_.version > FileVersion{2, 0} && buffer.offset % kBufferAlignment != 0) {
        return Corruption("a global buffer lies at {}, which is not a multiple of 64", buffer.offset);
      }
    }
    ARROW_RETURN_NOT_OK(window_.ExtendTo(std::min(first, buffers[0].offset)));
    return buffers[0];
  }

  arrow::Status ReadDescriptor(ByteRange range) {
    ARROW_ASSIGN_OR_RAISE(Bytes bytes, window_.View(range));
    ARROW_ASSIGN_OR_RAISE(const MemoryReservation memory, ReserveParsed(resources_, bytes));
    lance::file::FileDescriptor descriptor;
    ARROW_RETURN_NOT_OK(ParseMessage(bytes, "the file descriptor", descriptor));
    std::map<std::string, std::string> metadata(descriptor.schema().metadata().begin(),
                                                descriptor.schema().metadata().end());
    ARROW_ASSIGN_OR_RAISE(container_.schema, Schema::FromProto(descriptor.schema().fields(), std::move(metadata)));
    container_.num_rows = descriptor.length();
    return arrow::Status::OK();
  }

  arrow::Status ReadColumns() {
    ARROW_ASSIGN_OR_RAISE(Bytes table, window_.View({footer_.column_table, footer_.num_columns * kTableEntryBytes}));
    const std::vector<ByteRange> ranges = ParseTable(table);
    // Metadata of columns does not overlap; without this a small file could make us parse the same bytes many times.
    uint64_t total = 0;
    uint64_t first = window_.start();
    for (const ByteRange& range : ranges) {
      ARROW_RETURN_NOT_OK(CheckInside(range, tail_.object_size, "the metadata of a column"));
      total += range.length;
      first = std::min(first, range.offset);
    }
    if (total > tail_.object_size) return Corruption("the metadata of the columns overlaps");
    ARROW_RETURN_NOT_OK(window_.ExtendTo(first));
    for (uint32_t i = 0; i < footer_.num_columns; ++i) {
      ARROW_ASSIGN_OR_RAISE(Bytes bytes, window_.View(ranges[i]));
      auto column = ColumnReader(resources_, footer_.version, tail_.object_size).Read(bytes);
      if (!column.ok()) return WithContext(column.status(), fmt::format("column {}", i));
      container_.columns.push_back(*std::move(column));
    }
    return arrow::Status::OK();
  }

  const Resources& resources_;
  ObjectTail tail_;
  Window window_;
  Footer footer_;
  Container container_;
};

void AppendColumns(const Field& field, FileVersion version, std::vector<FieldId>& out) {
  const bool leaf = IsLeafColumn(field);
  if (leaf || version == FileVersion{2, 0}) out.push_back(field.id);
  if (leaf) return;
  for (const Field& child : field.children) AppendColumns(child, version, out);
}

}  // namespace

arrow::Result<FileVersion> ReadableVersion(FileVersion named) {
  const auto [major, minor] = named;
  if ((major == 0 && minor == 3) || (major == 2 && minor == 0)) return FileVersion{2, 0};
  if (major == 2 && (minor == 1 || minor == 2)) return named;
  if (major == 0 && minor < 3)
    return NotSupported("the file has the legacy version 0.1; rewrite it as 2.0, 2.1 or 2.2");
  return NotSupported(
      "the file has version {}.{}, which is not known here; rewrite it as 2.0, 2.1 or 2.2, or read it with a newer "
      "version of this library",
      major, minor);
}

std::string ToString(FileVersion version) { return fmt::format("{}.{}", version.major, version.minor); }

arrow::Result<FileVersion> ParseFileVersion(std::string_view name) {
  std::string lower(name);
  for (char& letter : lower) letter = 'A' <= letter && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  if (lower == "stable") return FileVersion{2, 2};
  if (lower == "next") return FileVersion{2, 3};
  if (lower == "legacy" || lower == "0.1") return FileVersion{0, 1};
  if (lower == "0.3") return FileVersion{2, 0};
  if (lower.size() == 3 && lower.starts_with("2.") && lower[2] >= '0' && lower[2] <= '3')
    return FileVersion{2, static_cast<uint16_t>(lower[2] - '0')};
  return InvalidInput("'{}' is no version of data files; there are '2.0', '2.1', '2.2' and 'stable', which is 2.2",
                      name);
}

arrow::Result<Container> OpenContainer(const Resources& resources, ObjectStore& store, const std::string& key,
                                       std::optional<uint64_t> known_size) {
  ARROW_ASSIGN_OR_RAISE(ObjectTail tail, store.GetTail(key, kTailBytes));
  if (known_size && *known_size != tail.object_size) {
    return Corruption("the file has {} bytes, the table says {}", tail.object_size, *known_size);
  }
  return ContainerReader(resources, store, key, std::move(tail)).Read();
}

bool IsLeafColumn(const Field& field) {
  if (field.children.empty()) return true;
  if (BlobKindOf(field) != BlobKind::kNone) return true;
  return field.logical_type == "struct" && AsksForPacking(field.metadata);
}

std::vector<FieldId> PhysicalColumns(const Schema& schema, FileVersion version) {
  std::vector<FieldId> columns;
  for (const Field& field : schema.fields()) AppendColumns(field, version, columns);
  return columns;
}

}  // namespace javelin::file
