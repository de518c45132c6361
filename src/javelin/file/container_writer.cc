#include "javelin/file/container_writer_internal.h"

#include <google/protobuf/any.pb.h>
#include "lanceproto/encodings_v2_0.pb.h"
#include "lanceproto/file.pb.h"
#include "lanceproto/file2.pb.h"

#include "javelin/base/error.h"
#include "javelin/file/container_internal.h"
#include "javelin/file/wire_internal.h"

namespace javelin::file {

namespace {

// Blobs below this size are copied, to be written many at once.
constexpr int64_t kSmallBlob = 4 << 10;
constexpr size_t kMostGathered = 64 << 10;

// The message behind "/", its full name as the released reader expects it.
void SetEncoding(const google::protobuf::Message& message, lance::file::v2::Encoding& encoding) {
  google::protobuf::Any any;
  any.set_type_url("/" + message.GetTypeName());
  any.set_value(SerializeDeterministically(message));
  encoding.mutable_direct()->set_encoding(SerializeDeterministically(any));
}

void AppendNumber(std::string& out, auto number) { out.append(reinterpret_cast<const char*>(&number), sizeof(number)); }

std::string Table(const std::vector<ByteRange>& entries) {
  std::string table;
  for (const ByteRange& entry : entries) {
    AppendNumber(table, entry.offset);
    AppendNumber(table, entry.length);
  }
  return table;
}

}  // namespace

ContainerWriter::ContainerWriter(std::unique_ptr<ObjectWriter> sink, FileVersion version, size_t num_columns)
    : sink_(std::move(sink)), version_(version), columns_(num_columns), column_rows_(num_columns, 0) {
  lance::encodings::ColumnEncoding plain;
  plain.mutable_values();
  for (auto& column : columns_) SetEncoding(plain, *column.mutable_encoding());
}

ContainerWriter::~ContainerWriter() = default;

void ContainerWriter::MarkBlobs(size_t column) {
  lance::encodings::ColumnEncoding blobs;
  blobs.mutable_blob()->mutable_inner()->mutable_values();
  SetEncoding(blobs, *columns_[column].mutable_encoding());
}

arrow::Result<uint64_t> ContainerWriter::WriteBlob(BufferPtr bytes) {
  const bool is_small = bytes->size() < kSmallBlob;
  if (!is_small) ARROW_RETURN_NOT_OK(Align());
  const uint64_t position = RoundUp(position_, kBufferAlignment);
  if (!is_small) {
    ARROW_RETURN_NOT_OK(Put(std::move(bytes)));
    return position;
  }
  gathered_.resize(gathered_.size() + (position - position_));
  gathered_.append(reinterpret_cast<const char*>(bytes->data()), static_cast<size_t>(bytes->size()));
  position_ = position + static_cast<uint64_t>(bytes->size());
  if (gathered_.size() >= kMostGathered) ARROW_RETURN_NOT_OK(Flush());
  return position;
}

arrow::Status ContainerWriter::Flush() {
  if (gathered_.empty()) return arrow::Status::OK();
  return sink_->Write(arrow::Buffer::FromString(std::exchange(gathered_, {})));
}

arrow::Status ContainerWriter::Put(BufferPtr bytes) {
  if (bytes->size() == 0) return arrow::Status::OK();
  ARROW_RETURN_NOT_OK(Flush());
  position_ += static_cast<uint64_t>(bytes->size());
  return sink_->Write(std::move(bytes));
}

arrow::Status ContainerWriter::Put(std::string bytes) { return Put(arrow::Buffer::FromString(std::move(bytes))); }

arrow::Status ContainerWriter::Align() {
  return Put(std::string((kBufferAlignment - position_ % kBufferAlignment) % kBufferAlignment, '\0'));
}

arrow::Status ContainerWriter::WritePage(size_t column, const EncodedPage& page) {
  auto& pages = *columns_[column].mutable_pages();
  column_rows_[column] += page.num_rows;
  // The released reader wants a struct of 2.0 to be one page however long it is.
  if (page.array_v2_0 && page.array_v2_0->has_struct_() && !pages.empty()) {
    pages[0].set_length(column_rows_[column]);
    return arrow::Status::OK();
  }
  auto* metadata = pages.Add();
  for (const EncodedBuffer& buffer : page.buffers) {
    ARROW_RETURN_NOT_OK(Align());
    metadata->add_buffer_offsets(position_);
    metadata->add_buffer_sizes(buffer.size());
    for (const BufferPtr& piece : buffer.pieces) ARROW_RETURN_NOT_OK(Put(piece));
  }
  metadata->set_length(page.num_rows * page.items_per_row);
  if (page.array_v2_0) {
    SetEncoding(*page.array_v2_0, *metadata->mutable_encoding());
  } else {
    metadata->set_priority(column_rows_[column] - page.num_rows);
    SetEncoding(page.layout, *metadata->mutable_encoding());
  }
  return arrow::Status::OK();
}

arrow::Status ContainerWriter::Finish(const Schema& schema, uint64_t num_rows) {
  const bool is_2_0 = version_ == FileVersion{2, 0};
  for (uint64_t rows : column_rows_) {
    if (rows != num_rows && !is_2_0) return Internal("a column of {} rows in a file of {}", rows, num_rows);
  }
  lance::file::FileDescriptor descriptor;
  descriptor.set_length(num_rows);
  for (auto& field : schema.ToProto()) *descriptor.mutable_schema()->add_fields() = field;
  for (const auto& [key, value] : schema.metadata()) (*descriptor.mutable_schema()->mutable_metadata())[key] = value;
  ARROW_RETURN_NOT_OK(Align());
  const std::string descriptor_bytes = SerializeDeterministically(descriptor);
  const std::vector<ByteRange> buffers = {{position_, descriptor_bytes.size()}};
  const uint64_t column_metadata = position_ + descriptor_bytes.size();
  std::string rest = descriptor_bytes;
  std::vector<ByteRange> columns;
  for (const auto& column : columns_) {
    const std::string bytes = SerializeDeterministically(column);
    columns.push_back({position_ + rest.size(), bytes.size()});
    rest += bytes;
  }
  const uint64_t column_table = position_ + rest.size();
  rest += Table(columns);
  const uint64_t buffer_table = position_ + rest.size();
  rest += Table(buffers);
  AppendNumber(rest, column_metadata);
  AppendNumber(rest, column_table);
  AppendNumber(rest, buffer_table);
  AppendNumber(rest, static_cast<uint32_t>(buffers.size()));
  AppendNumber(rest, static_cast<uint32_t>(columns.size()));
  const FileVersion footer = is_2_0 ? FileVersion{0, 3} : version_;
  AppendNumber(rest, footer.major);
  AppendNumber(rest, footer.minor);
  rest.append(kMagic, 4);
  ARROW_RETURN_NOT_OK(Put(std::move(rest)));
  return sink_->Finish();
}

}  // namespace javelin::file
