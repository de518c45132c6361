// One decoder alone, in each of the positions that an encoding has: position, type, number of values, encoding,
// buffers.
#include "lanceproto/encodings_v2_1.pb.h"

#include "fuzz_support.h"
#include "javelin/file/decoder_internal.h"
#include "split_file.h"

using namespace javelin;
using file::Bytes;
using file::Slice;

namespace {

constexpr uint64_t kMaxValues = 1 << 17;

// What a decoder is asked for: all of its values, a part, single ones.
std::vector<std::vector<Slice>> Wishes(uint64_t num_values) {
  std::vector<std::vector<Slice>> wishes = {{{0, num_values}}};
  if (num_values >= 6) {
    wishes.push_back({{num_values / 3, num_values / 2}});
    wishes.push_back({{0, 1}, {num_values / 2, 1}, {num_values - 1, 1}});
  }
  return wishes;
}

class Decoding {
 public:
  Decoding(const Resources& resources, const fuzz::EncodingInput& input)
      : resources_(resources), input_(input), type_(fuzz::EncodingTypes()[input.type]) {
    for (const std::string& buffer : input.buffers)  // each in memory of its own
      buffers_.emplace_back(buffer.begin(), buffer.end());
    for (const auto& buffer : buffers_) views_.emplace_back(buffer.data(), buffer.size());
  }

  arrow::Status Run() {
    if (!encoding_.ParseFromString(input_.encoding)) return Corruption("no encoding");
    ARROW_ASSIGN_OR_RAISE(shape_, file::ShapeOf(*type_));
    switch (input_.position) {
      case fuzz::Position::kChunk: return RunChunk();
      case fuzz::Position::kBlock: return RunBlock();
      case fuzz::Position::kFixedValue: return RunFixedValues();
      default: return RunVariableValues();
    }
  }

 private:
  // Runs `decode` on memory of its own; what it appends must be `count` sound values.
  template <typename Decode>
  void Expect(uint64_t count, const Decode& decode) const {
    file::SinkMemory memory(resources_.pool, resources_.memory.get());
    file::Decompressor decompressor;
    file::DecodeContext context(memory, decompressor);
    file::ValueSink sink(shape_, memory, count);
    fuzz::Check(Finished(count, sink, decode(context, sink)), count);
  }
  arrow::Result<std::shared_ptr<arrow::Array>> Finished(uint64_t count, file::ValueSink& sink,
                                                        const arrow::Status& decoded) const {
    ARROW_RETURN_NOT_OK(decoded);
    if (sink.length() != count) __builtin_trap();
    ARROW_RETURN_NOT_OK(sink.validity().AppendValid(count));
    ARROW_ASSIGN_OR_RAISE(auto data, sink.Finish(type_));
    return arrow::MakeArray(std::move(data));
  }

  arrow::Status RunChunk() const {
    ARROW_ASSIGN_OR_RAISE(const auto decoder, file::MakeMiniBlockDecoder(encoding_, shape_));
    if (decoder->num_buffers() != views_.size()) return Corruption("other buffers");
    const uint64_t num_values = std::min(input_.num_values, kMaxValues);
    for (const std::vector<Slice>& slices : Wishes(num_values)) {
      Expect(file::TotalCount(slices), [&](file::DecodeContext& context, file::ValueSink& sink) {
        return decoder->Decode(views_, num_values, slices, context, sink);
      });
    }
    return arrow::Status::OK();
  }

  arrow::Status RunBlock() const {
    ARROW_ASSIGN_OR_RAISE(const auto decoder, file::MakeBlockDecoder(encoding_, shape_));
    for (const Bytes& view : views_) {
      Expect(input_.num_values, [&](file::DecodeContext& context, file::ValueSink& sink) {
        return decoder->Decode(view, input_.num_values, context, sink);
      });
    }
    return arrow::Status::OK();
  }

  arrow::Status RunFixedValues() const {
    ARROW_ASSIGN_OR_RAISE(const auto decoder, file::MakeFixedValueDecoder(encoding_, shape_));
    const uint64_t control = input_.num_values % 3;
    const uint64_t stride = decoder->bytes() + control;
    for (const Bytes& view : views_) {
      const uint64_t count = std::min(stride == 0 ? 100 : view.size() / stride, kMaxValues);
      if (count == 0) continue;
      Expect(count, [&](file::DecodeContext&, file::ValueSink& sink) {
        return decoder->Decode(view.data() + control, stride, count, sink);
      });
    }
    return arrow::Status::OK();
  }

  arrow::Status RunVariableValues() const {
    ARROW_ASSIGN_OR_RAISE(const auto decoder, file::MakeVariableValueDecoder(encoding_, shape_));
    Expect(views_.size(), [&](file::DecodeContext& context, file::ValueSink& sink) {
      for (const Bytes& view : views_) ARROW_RETURN_NOT_OK(decoder->Decode(view, context, sink));
      return arrow::Status::OK();
    });
    return arrow::Status::OK();
  }

  const Resources& resources_;
  const fuzz::EncodingInput& input_;
  const std::shared_ptr<arrow::DataType> type_;
  std::vector<std::vector<uint8_t>> buffers_;
  std::vector<Bytes> views_;
  lance::encodings21::CompressiveEncoding encoding_;
  file::ValueShape shape_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Watched watched;
  const fuzz::EncodingInput input = fuzz::EncodingInput::Parse({data, size});
  if (const arrow::Status status = Decoding(watched.resources, input).Run(); !status.ok()) fuzz::CheckRefusal(status);
  watched.Check(0);
  return 0;
}
