#include "javelin/memwal/wal_entry.h"

#include <charconv>

#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/message.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "javelin/base/error.h"
#include "javelin/file/array_shape.h"
#include "javelin/memwal/ipc_messages_internal.h"

namespace javelin::memwal {

namespace {

constexpr std::string_view kWriterEpoch = "writer_epoch";
constexpr std::string_view kGeneration = "generation";
constexpr std::string_view kFenceSentinel = "fence_sentinel";
constexpr std::string_view kTargetGeneration = "mem_wal_target_generation";
constexpr std::string_view kTargetFolder = "mem_wal_target_generation_dir";
constexpr std::string_view kTargetDataFile = "mem_wal_target_data_file";
constexpr std::string_view kTargetCreatorEpoch = "mem_wal_target_creator_epoch";
constexpr std::string_view kTargetBatchCapacity = "mem_wal_target_batch_capacity";
constexpr std::string_view kReservedKeys[] = {kWriterEpoch,        kGeneration,         kFenceSentinel,
                                              kTargetGeneration,   kTargetFolder,       kTargetDataFile,
                                              kTargetCreatorEpoch, kTargetBatchCapacity};

using Metadata = std::map<std::string, std::string>;

bool IsReserved(std::string_view key) {
  return std::find(std::begin(kReservedKeys), std::end(kReservedKeys), key) != std::end(kReservedKeys);
}

// ---- writing ----

arrow::Status CheckContent(const WalEntry& entry) {
  if (entry.fence_sentinel) {
    if (!entry.batches.empty())
      return InvalidInput("a fence sentinel holds no batches, {} were given", entry.batches.size());
    return arrow::Status::OK();
  }
  if (entry.batches.empty()) return InvalidInput("a WAL entry needs at least one batch");
  if (entry.schema == nullptr) return InvalidInput("a WAL entry with batches needs a schema");
  for (size_t i = 0; i < entry.batches.size(); ++i) {
    if (entry.batches[i]->num_rows() == 0) return InvalidInput("batch {} of a WAL entry has no rows", i);
    if (!entry.batches[i]->schema()->Equals(*entry.schema, /*check_metadata=*/false)) {
      return InvalidInput("batch {} of a WAL entry has the schema [{}], the entry has [{}]", i,
                          entry.batches[i]->schema()->ToString(), entry.schema->ToString());
    }
  }
  return arrow::Status::OK();
}

void AppendReserved(const WalEntry& entry, arrow::KeyValueMetadata* metadata) {
  auto append = [&](std::string_view key, std::string value) { metadata->Append(std::string(key), std::move(value)); };
  append(kWriterEpoch, fmt::to_string(entry.writer_epoch));
  if (entry.generation) append(kGeneration, fmt::to_string(*entry.generation));
  if (entry.fence_sentinel) append(kFenceSentinel, "true");
  if (!entry.target) return;
  append(kTargetGeneration, fmt::to_string(entry.target->generation));
  append(kTargetFolder, entry.target->folder);
  append(kTargetDataFile, entry.target->data_file);
  append(kTargetCreatorEpoch, fmt::to_string(entry.target->creator_epoch));
  append(kTargetBatchCapacity, fmt::to_string(entry.target->batch_capacity));
}

// The caller's metadata, with our keys in place of whatever it had under their names.
std::shared_ptr<arrow::Schema> StampedSchema(const WalEntry& entry) {
  auto schema = entry.fence_sentinel || entry.schema == nullptr ? arrow::schema(arrow::FieldVector{}) : entry.schema;
  auto metadata = std::make_shared<arrow::KeyValueMetadata>();
  if (entry.schema != nullptr && entry.schema->metadata() != nullptr && !entry.fence_sentinel) {
    const auto& given = *entry.schema->metadata();
    for (int64_t i = 0; i < given.size(); ++i) {
      if (!IsReserved(given.key(i))) metadata->Append(given.key(i), given.value(i));
    }
  }
  AppendReserved(entry, metadata.get());
  return schema->WithMetadata(metadata);
}

// ---- reading ----

arrow::Result<uint64_t> ParseDecimal(std::string_view key, const std::string& value) {
  uint64_t number = 0;
  const char* end = value.data() + value.size();
  auto [stop, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || stop != end) return WalCorrupt("metadata {} = '{}' is not a decimal number", key, value);
  return number;
}

// The values of our keys; each at most once.
arrow::Result<Metadata> TakeReserved(const arrow::Schema& schema) {
  Metadata reserved;
  if (schema.metadata() == nullptr) return reserved;
  for (int64_t i = 0; i < schema.metadata()->size(); ++i) {
    const std::string& key = schema.metadata()->key(i);
    if (!IsReserved(key)) continue;
    if (!reserved.emplace(key, schema.metadata()->value(i)).second) return WalCorrupt("metadata {} occurs twice", key);
  }
  return reserved;
}

std::shared_ptr<arrow::Schema> WithoutReserved(const arrow::Schema& schema) {
  auto kept = std::make_shared<arrow::KeyValueMetadata>();
  if (schema.metadata() != nullptr) {
    for (int64_t i = 0; i < schema.metadata()->size(); ++i) {
      if (!IsReserved(schema.metadata()->key(i))) kept->Append(schema.metadata()->key(i), schema.metadata()->value(i));
    }
  }
  arrow::FieldVector fields;
  for (const auto& field : schema.fields()) fields.push_back(file::WithoutExtensions(field));
  return arrow::schema(std::move(fields), kept->size() == 0 ? nullptr : kept);
}

const std::string* Find(const Metadata& metadata, std::string_view key) {
  auto found = metadata.find(std::string(key));
  return found == metadata.end() ? nullptr : &found->second;
}

bool IsPathComponent(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\\') == std::string::npos;
}

arrow::Result<std::optional<WalTarget>> ParseTarget(const Metadata& reserved, Epoch writer_epoch) {
  const std::string* generation = Find(reserved, kTargetGeneration);
  const std::string* folder = Find(reserved, kTargetFolder);
  const std::string* data_file = Find(reserved, kTargetDataFile);
  const std::string* creator_epoch = Find(reserved, kTargetCreatorEpoch);
  const std::string* capacity = Find(reserved, kTargetBatchCapacity);
  int present = (generation != nullptr) + (folder != nullptr) + (data_file != nullptr) + (creator_epoch != nullptr) +
                (capacity != nullptr);
  if (present == 0) return std::nullopt;
  if (present != 5) return WalCorrupt("{} of the 5 metadata keys of a flush target are there", present);
  WalTarget target{.folder = *folder, .data_file = *data_file};
  ARROW_ASSIGN_OR_RAISE(uint64_t generation_number, ParseDecimal(kTargetGeneration, *generation));
  ARROW_ASSIGN_OR_RAISE(uint64_t epoch_number, ParseDecimal(kTargetCreatorEpoch, *creator_epoch));
  ARROW_ASSIGN_OR_RAISE(target.batch_capacity, ParseDecimal(kTargetBatchCapacity, *capacity));
  target.generation = Generation(generation_number);
  target.creator_epoch = Epoch(epoch_number);
  if (!IsPathComponent(*folder) || !folder->ends_with(fmt::format("_gen_{}", generation_number))) {
    return WalCorrupt("flush target folder '{}' is not a folder name of generation {}", *folder, generation_number);
  }
  if (!IsPathComponent(*data_file) || !data_file->ends_with(".lance")) {
    return WalCorrupt("flush target data file '{}' is not the name of a data file", *data_file);
  }
  if (target.batch_capacity == 0) return WalCorrupt("the flush target has room for 0 batches");
  if (target.creator_epoch > writer_epoch) {
    return WalCorrupt("the flush target was made in epoch {}, after the entry's epoch {}", target.creator_epoch,
                      writer_epoch);
  }
  return target;
}

arrow::Status ParseReserved(const Metadata& reserved, WalEntry* entry) {
  const std::string* epoch = Find(reserved, kWriterEpoch);
  if (epoch == nullptr) return WalCorrupt("metadata {} is missing", kWriterEpoch);
  ARROW_ASSIGN_OR_RAISE(uint64_t epoch_number, ParseDecimal(kWriterEpoch, *epoch));
  entry->writer_epoch = Epoch(epoch_number);
  if (const std::string* generation = Find(reserved, kGeneration)) {
    ARROW_ASSIGN_OR_RAISE(uint64_t number, ParseDecimal(kGeneration, *generation));
    if (number == 0 || number == UINT64_MAX) return WalCorrupt("generation {} cannot hold rows", number);
    entry->generation = Generation(number);
  }
  if (const std::string* sentinel = Find(reserved, kFenceSentinel)) {
    if (*sentinel != "true") return WalCorrupt("metadata {} = '{}' is not 'true'", kFenceSentinel, *sentinel);
    entry->fence_sentinel = true;
  }
  ARROW_ASSIGN_OR_RAISE(entry->target, ParseTarget(reserved, entry->writer_epoch));
  return arrow::Status::OK();
}

// Checks every length and offset of the batch against its buffers, and puts it under the schema without extensions.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> CheckedBatch(const arrow::RecordBatch& batch,
                                                                const std::shared_ptr<arrow::Schema>& schema) {
  ARROW_RETURN_NOT_OK(batch.ValidateFull());
  std::vector<std::shared_ptr<arrow::ArrayData>> columns;
  for (int i = 0; i < batch.num_columns(); ++i) {
    ARROW_ASSIGN_OR_RAISE(auto column,
                          file::ShapeArray(*batch.column_data(i), *schema->field(i), schema->field(i)->name()));
    columns.push_back(std::move(column));
  }
  return arrow::RecordBatch::Make(schema, batch.num_rows(), std::move(columns));
}

arrow::Result<WalEntry> Decode(const BufferPtr& bytes) {
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.use_threads = false;
  options.ensure_alignment = arrow::ipc::Alignment::kDataTypeSpecificAlignment;
  auto stream = std::make_shared<arrow::io::BufferReader>(bytes);
  ARROW_ASSIGN_OR_RAISE(auto reader,
                        arrow::ipc::RecordBatchStreamReader::Open(MakePlainMessageReader(stream), options));
  WalEntry entry;
  ARROW_ASSIGN_OR_RAISE(Metadata reserved, TakeReserved(*reader->schema()));
  ARROW_RETURN_NOT_OK(ParseReserved(reserved, &entry));
  entry.schema = WithoutReserved(*reader->schema());
  while (true) {
    std::shared_ptr<arrow::RecordBatch> batch;
    ARROW_RETURN_NOT_OK(reader->ReadNext(&batch));
    if (batch == nullptr) break;
    if (batch->num_rows() == 0) continue;  // nobody writes one; it would say nothing
    ARROW_ASSIGN_OR_RAISE(batch, CheckedBatch(*batch, entry.schema));
    entry.batches.push_back(std::move(batch));
  }
  ARROW_ASSIGN_OR_RAISE(int64_t end, stream->Tell());
  if (end != bytes->size()) return WalCorrupt("{} bytes follow the end of the stream", bytes->size() - end);
  if (entry.fence_sentinel && !entry.batches.empty())
    return WalCorrupt("a fence sentinel holds {} batches", entry.batches.size());
  return entry;
}

}  // namespace

uint64_t WalEntry::num_rows() const {
  uint64_t rows = 0;
  for (const auto& batch : batches) rows += static_cast<uint64_t>(batch->num_rows());
  return rows;
}

arrow::Result<BufferPtr> EncodeWalEntry(const WalEntry& entry) {
  ARROW_RETURN_NOT_OK(CheckContent(entry));
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  options.use_threads = false;
  int64_t expected_bytes = 1024;
  for (const auto& batch : entry.batches) {
    int64_t batch_bytes = 0;
    ARROW_RETURN_NOT_OK(arrow::ipc::GetRecordBatchSize(*batch, options, &batch_bytes));
    expected_bytes += batch_bytes;
  }
  ARROW_ASSIGN_OR_RAISE(auto sink, arrow::io::BufferOutputStream::Create(expected_bytes));
  ARROW_ASSIGN_OR_RAISE(auto writer, arrow::ipc::MakeStreamWriter(sink, StampedSchema(entry), options));
  for (const auto& batch : entry.batches) ARROW_RETURN_NOT_OK(writer->WriteRecordBatch(*batch));
  ARROW_RETURN_NOT_OK(writer->Close());
  return sink->Finish();
}

arrow::Result<WalEntry> DecodeWalEntry(const BufferPtr& bytes) {
  arrow::Result<WalEntry> entry = Decode(bytes);
  if (entry.ok()) return entry;
  return WalCorrupt(
      "the entry does not decode ({}): it is torn, damaged or no log entry; restore the object, or let an operator "
      "decide what to do with its rows",
      entry.status().message());
}

}  // namespace javelin::memwal
