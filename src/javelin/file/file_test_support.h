// For tests of data files: files in memory, every request seen, columns of all kinds at random.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include <arrow/api.h>
#include <gtest/gtest.h>

#include <google/protobuf/stubs/logging.h>

#include "javelin/base/error.h"
#include "javelin/file/data_file_reader.h"
#include "javelin/file/data_file_writer.h"
#include "javelin/store/stores.h"

namespace javelin::file::testing {

// Protobuf would print a line for every damaged message.
inline const bool kProtobufIsQuiet = (google::protobuf::SetLogHandler(nullptr), true);

inline Resources TestResources(int64_t memory_limit = int64_t{1} << 30) {
  return MakeResources(MakeThreadRuntime({.cpu_threads = 2}), memory_limit);
}

#define EXPECT_KIND(status_expression, error_kind, text)                        \
  do {                                                                          \
    const arrow::Status checked_status = (status_expression);                   \
    ASSERT_FALSE(checked_status.ok());                                          \
    EXPECT_EQ(KindOf(checked_status), error_kind) << checked_status.ToString(); \
    EXPECT_THAT(checked_status.message(), ::testing::HasSubstr(text));          \
  } while (false)

// One object in memory; remembers what was read of it.
class RecordingStore final : public ObjectStore {
 public:
  explicit RecordingStore(BufferPtr bytes) : bytes_(std::move(bytes)) {}

  struct Request {
    bool tail = false;
    std::vector<ByteRange> ranges;
  };
  std::vector<Request> requests;
  uint64_t bytes_read() const {
    uint64_t total = 0;
    for (const Request& request : requests) {
      for (const ByteRange& range : request.ranges) total += range.length;
    }
    return total;
  }

  arrow::Result<std::vector<BufferPtr>> GetRanges(const std::string&, std::span<const ByteRange> ranges) override {
    requests.push_back({false, {ranges.begin(), ranges.end()}});
    std::vector<BufferPtr> answers;
    for (const ByteRange& range : ranges) {
      if (range.end() > static_cast<uint64_t>(bytes_->size())) return MakeError(ErrorKind::kIO, "past the end");
      answers.push_back(
          arrow::SliceBuffer(bytes_, static_cast<int64_t>(range.offset), static_cast<int64_t>(range.length)));
    }
    return answers;
  }
  arrow::Result<ObjectTail> GetTail(const std::string&, uint64_t max_bytes) override {
    const auto size = static_cast<uint64_t>(bytes_->size());
    const uint64_t length = std::min(size, max_bytes);
    requests.push_back({true, {{size - length, length}}});
    return ObjectTail{arrow::SliceBuffer(bytes_, static_cast<int64_t>(size - length), static_cast<int64_t>(length)),
                      size};
  }
  std::string Describe(const std::string& key) const override { return "test:" + key; }

  arrow::Result<BufferPtr> Get(const std::string&) override { return NotSupported("not in this test"); }
  arrow::Result<ObjectInfo> Head(const std::string&) override { return NotSupported("not in this test"); }
  arrow::Status Put(const std::string&, const BufferPtr&) override { return NotSupported("not in this test"); }
  arrow::Status PutIfAbsent(const std::string&, const BufferPtr&) override { return NotSupported("not in this test"); }
  arrow::Result<std::string> PutIfMatch(const std::string&, const BufferPtr&, const std::string&) override {
    return NotSupported("not in this test");
  }
  arrow::Result<ListPage> List(const ListRequest&) override { return NotSupported("not in this test"); }
  arrow::Status Delete(const std::string&) override { return NotSupported("not in this test"); }
  arrow::Status Copy(const std::string&, const std::string&) override { return NotSupported("not in this test"); }
  arrow::Result<std::unique_ptr<ObjectWriter>> OpenWriter(const std::string&) override {
    return NotSupported("not in this test");
  }
  bool lists_in_order() const override { return true; }

 private:
  BufferPtr bytes_;
};

// Collects a file's bytes.
class BytesWriter final : public ObjectWriter {
 public:
  explicit BytesWriter(std::shared_ptr<std::string> out) : out_(std::move(out)) {}
  arrow::Status Write(BufferPtr bytes) override {
    out_->append(reinterpret_cast<const char*>(bytes->data()), static_cast<size_t>(bytes->size()));
    bytes_written_ += static_cast<uint64_t>(bytes->size());
    return arrow::Status::OK();
  }
  arrow::Status Finish() override { return arrow::Status::OK(); }

 private:
  std::shared_ptr<std::string> out_;
};

struct WrittenFile {
  std::string bytes;
  DataFileSummary summary;
  Schema schema;
};

inline arrow::Result<WrittenFile> WriteFile(const Resources& resources, const arrow::RecordBatchVector& batches,
                                            DataFileWriteOptions options = {}) {
  WrittenFile file;
  ARROW_ASSIGN_OR_RAISE(file.schema, Schema::FromArrow(*batches[0]->schema()));
  auto bytes = std::make_shared<std::string>();
  ARROW_ASSIGN_OR_RAISE(auto writer,
                        DataFileWriter::Make(resources, std::make_unique<BytesWriter>(bytes), file.schema, options));
  for (const auto& batch : batches) ARROW_RETURN_NOT_OK(writer->Write(*batch));
  ARROW_ASSIGN_OR_RAISE(file.summary, writer->Finish());
  file.bytes = std::move(*bytes);
  return file;
}

// What we write, and tests of values that come back write each.
inline constexpr FileVersion kWrittenVersions[] = {{2, 0}, {2, 1}, {2, 2}};
inline std::string VersionName(const ::testing::TestParamInfo<FileVersion>& info) {
  return fmt::format("V{}_{}", info.param.major, info.param.minor);
}

inline std::shared_ptr<RecordingStore> StoreOf(std::string bytes) {
  return std::make_shared<RecordingStore>(arrow::Buffer::FromString(std::move(bytes)));
}

inline std::shared_ptr<arrow::RecordBatch> OneColumn(std::shared_ptr<arrow::Array> array, bool nullable = true) {
  auto field = arrow::field("c", array->type(), nullable);
  return arrow::RecordBatch::Make(arrow::schema({field}), array->length(), {array});
}

// How the values of a random column are spread.
enum class Spread { kSequence, kFew, kSmall, kAny, kOne, kRuns };
inline constexpr Spread kSpreads[] = {Spread::kSequence, Spread::kFew, Spread::kSmall,
                                      Spread::kAny,      Spread::kOne, Spread::kRuns};

class RandomColumns {
  using Generator = std::mt19937_64;

 public:
  explicit RandomColumns(uint64_t seed) : random_(seed) {}

  uint64_t Below(uint64_t limit) { return random_() % limit; }
  // Types that the version holds.
  static std::vector<std::shared_ptr<arrow::DataType>> Types(FileVersion version = {2, 2}) {
    using arrow::TimeUnit;
    std::vector<std::shared_ptr<arrow::DataType>> types = {
        arrow::boolean(),
        arrow::int8(),
        arrow::int16(),
        arrow::int32(),
        arrow::int64(),
        arrow::uint8(),
        arrow::uint16(),
        arrow::uint32(),
        arrow::uint64(),
        arrow::float16(),
        arrow::float32(),
        arrow::float64(),
        arrow::utf8(),
        arrow::large_utf8(),
        arrow::binary(),
        arrow::large_binary(),
        arrow::timestamp(TimeUnit::MICRO),
        arrow::timestamp(TimeUnit::NANO, "UTC"),
        arrow::date32(),
        arrow::date64(),
        arrow::time32(TimeUnit::MILLI),
        arrow::time64(TimeUnit::NANO),
        arrow::duration(TimeUnit::SECOND),
        arrow::decimal128(30, 4),
        arrow::decimal256(60, 4),
        arrow::fixed_size_binary(5),
        arrow::fixed_size_binary(300),
        arrow::null(),
        arrow::fixed_size_list(arrow::float32(), 3),
        arrow::fixed_size_list(arrow::float32(), 64),
        arrow::fixed_size_list(arrow::int8(), 17),
        arrow::fixed_size_list(arrow::boolean(), 5),
        arrow::fixed_size_list(arrow::fixed_size_list(arrow::int16(), 3), 2),
        arrow::fixed_size_list(arrow::fixed_size_list(arrow::float64(), 20), 2),
        arrow::fixed_size_list(arrow::null(), 3),
        arrow::fixed_size_list(arrow::fixed_size_list(arrow::null(), 9), 2)};
    if (version >= FileVersion{2, 2}) types.push_back(arrow::fixed_size_binary(0));
    return types;
  }

  std::shared_ptr<arrow::Array> Make(const std::shared_ptr<arrow::DataType>& type, int64_t length, double null_part,
                                     Spread spread) {
    if (type->id() == arrow::Type::NA) return std::make_shared<arrow::NullArray>(length);
    auto validity = Validity(length, null_part);
    std::shared_ptr<arrow::ArrayData> data;
    if (type->id() == arrow::Type::FIXED_SIZE_LIST) {
      const auto& list = static_cast<const arrow::FixedSizeListType&>(*type);
      // Items are null in one column of two.
      auto items = Make(list.value_type(), length * list.list_size(), Below(2) == 0 ? 0 : null_part, spread);
      data = arrow::ArrayData::Make(type, length, {validity}, {items->data()});
    } else if (arrow::is_base_binary_like(type->id())) {
      data = Strings(type, length, validity, spread);
    } else {
      data = Fixed(type, length, validity, spread);
    }
    return arrow::MakeArray(data);
  }

 private:
  static constexpr uint64_t kDayMillis = 86'400'000;

  BufferPtr Validity(int64_t length, double null_part) {
    if (null_part == 0) return nullptr;
    auto bits = arrow::AllocateEmptyBitmap(length).ValueOrDie();
    for (int64_t i = 0; i < length; ++i) {
      if (static_cast<double>(Below(1000)) >= null_part * 1000)
        bits->mutable_data()[i / 8] |= static_cast<uint8_t>(1 << (i % 8));
    }
    return bits;
  }

  uint64_t Number(int64_t index, Spread spread) {
    switch (spread) {
      case Spread::kSequence: return static_cast<uint64_t>(index);
      case Spread::kFew: return (Below(7) + 1) * 0x0102030405060708u;
      case Spread::kSmall: return Below(100);
      case Spread::kAny: return random_();
      case Spread::kOne: return 0x2A;
      case Spread::kRuns: return static_cast<uint64_t>(index / 40);
    }
    return 0;
  }

  std::shared_ptr<arrow::ArrayData> Fixed(const std::shared_ptr<arrow::DataType>& type, int64_t length,
                                          BufferPtr validity, Spread spread) {
    const int bits = static_cast<const arrow::FixedWidthType&>(*type).bit_width();
    if (bits == 1) {
      auto values = arrow::AllocateEmptyBitmap(length).ValueOrDie();
      for (int64_t i = 0; i < length; ++i) {
        if (Number(i, spread) % 2 == 1) values->mutable_data()[i / 8] |= static_cast<uint8_t>(1 << (i % 8));
      }
      return arrow::ArrayData::Make(type, length, {validity, std::move(values)});
    }
    const int width = bits / 8;
    const bool decimal = arrow::is_decimal(type->id());
    auto values = arrow::AllocateBuffer(length * width).ValueOrDie();
    for (int64_t i = 0; i < length; ++i) {
      uint8_t* target = values->mutable_data() + i * width;
      std::memset(target, 0, static_cast<size_t>(width));
      uint64_t number = Number(i, spread);
      if (decimal) number >>= 1;
      if (arrow::is_time(type->id())) number %= kDayMillis;                             // within a day
      if (type->id() == arrow::Type::DATE64) number = number % 1'000'000 * kDayMillis;  // whole days
      std::memcpy(target, &number, static_cast<size_t>(std::min(width, 8)));
      if (width == 300) std::memcpy(target + 290, &number, 8);
    }
    return arrow::ArrayData::Make(type, length, {validity, std::move(values)});
  }

  std::shared_ptr<arrow::ArrayData> Strings(const std::shared_ptr<arrow::DataType>& type, int64_t length,
                                            BufferPtr validity, Spread spread) {
    static constexpr std::string_view kWords[] = {
        "", "of", "river", "mountain", "a longer word", "Zürich", "\xF0\x9F\xA6\x92"};
    const bool large = arrow::is_large_binary_like(type->id());
    const bool long_values = spread == Spread::kAny && Below(2) == 0;
    std::string bytes;
    std::vector<int64_t> ends = {0};
    for (int64_t i = 0; i < length; ++i) {
      const uint64_t number = Number(i, spread);
      if (spread != Spread::kSmall) bytes += "v" + std::to_string(number % 100000);
      for (uint64_t word = 0; word < number % 4; ++word) bytes += kWords[(number + word) % 7];
      if (long_values && number % 11 == 0) bytes.append(200 + number % 3000, static_cast<char>('a' + number % 26));
      ends.push_back(static_cast<int64_t>(bytes.size()));
    }
    BufferPtr offsets;
    if (large) {
      offsets = arrow::Buffer::FromVector(ends);
    } else {
      offsets = arrow::Buffer::FromVector(std::vector<int32_t>(ends.begin(), ends.end()));
    }
    return arrow::ArrayData::Make(type, length, {validity, offsets, arrow::Buffer::FromString(std::move(bytes))});
  }

  Generator random_;
};

}  // namespace javelin::file::testing
