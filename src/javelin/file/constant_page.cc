// Constant pages: all rows null, or one value for all rows that are not.
#include <algorithm>
#include <mutex>
#include <optional>

#include "javelin/file/page_layouts_internal.h"
#include "javelin/file/row_picker_internal.h"

namespace javelin::file {

namespace {

constexpr uint64_t kLevelBytes = 2;

// One kind of level of the page, as a buffer of its own.
struct LevelStream {
  ByteRange range;
  uint64_t count = 0;
  BlockDecoderPtr decoder;  // null: raw 16-bit numbers
};

struct Form {
  PageLayers layers;
  uint64_t num_rows = 0;
  bool all_null = false;         // no value is there; else one for all that are not null
  bool is_empty_struct = false;  // likewise, and nothing is null
  std::string value;             // of the one value, where it is in the layout itself
  std::optional<ByteRange> value_buffer;
  std::optional<LevelStream> rep;
  std::optional<LevelStream> def;

  // Rows can be told apart in the bytes of the levels: only those that are wanted are read.
  bool rows_have_places() const { return !rep && def && def->decoder == nullptr; }
};

// The levels of all rows, where rows have no places in them: decoded once for all scans that are on their way.
struct AllLevels {
  explicit AllLevels(const Resources& resources)
      : memory(resources.pool, resources.memory.get()),
        mutex(*resources.runtime),
        rep(FixedShape(16), memory),
        def(FixedShape(16), memory) {}
  SinkMemory memory;
  Mutex mutex;                           // held while they are decoded
  std::optional<arrow::Status> decoded;  // guarded by mutex; constant from then on, as what follows
  ValueSink rep;
  ValueSink def;
  // Of lists: how many rows begin before each block of levels, so that a scan looks at those of its rows only.
  static constexpr uint64_t kBlock = 4096;
  std::vector<uint64_t> rows_before;

  std::span<const uint16_t> RepOf(size_t block) const { return OfBlock(AsLevels(rep), block); }
  std::span<const uint16_t> DefOf(size_t block) const { return OfBlock(AsLevels(def), block); }

 private:
  static std::span<const uint16_t> OfBlock(std::span<const uint16_t> levels, size_t block) {
    return levels.empty() ? levels : levels.subspan(block * kBlock, std::min(kBlock, levels.size() - block * kBlock));
  }
};

class ConstantPage final : public PageReader {
 public:
  ConstantPage(Form form, std::shared_ptr<PageEnvironment> environment)
      : form_(std::move(form)), environment_(std::move(environment)) {}
  std::unique_ptr<PageScan> Scan(std::vector<Slice> rows) const override;
  const Form& form() const { return form_; }

  std::shared_ptr<AllLevels> levels() const {
    std::lock_guard lock(environment_->mutex);
    std::shared_ptr<AllLevels> levels = levels_.lock();
    if (levels == nullptr) levels_ = levels = std::make_shared<AllLevels>(environment_->resources);
    return levels;
  }

 private:
  Form form_;
  std::shared_ptr<PageEnvironment> environment_;
  mutable std::weak_ptr<AllLevels> levels_;  // guarded by the environment's mutex
};

// The one value of a string page: the number of Arrow buffers, their sizes, the buffers (offsets [0, n] and n bytes).
arrow::Result<Bytes> StringValue(Bytes block, uint64_t offset_bytes) {
  const uint64_t header = 4 + 2 * 4;
  if (block.size() < header || LoadAt<uint32_t>(block.data()) != 2)
    return Corruption("a constant string of {} bytes has no header", block.size());
  const uint64_t offsets_size = LoadAt<uint32_t>(block.data() + 4);
  const uint64_t bytes_size = LoadAt<uint32_t>(block.data() + 8);
  if (offsets_size != 2 * offset_bytes || block.size() != header + offsets_size + bytes_size) {
    return Corruption("a constant string of {} bytes claims {} and {}", block.size(), offsets_size, bytes_size);
  }
  const uint8_t* offsets = block.data() + header;
  const uint64_t begin = LoadUnsigned(offsets, static_cast<unsigned>(offset_bytes));
  const uint64_t end = LoadUnsigned(offsets + offset_bytes, static_cast<unsigned>(offset_bytes));
  if (begin > end || end > bytes_size)
    return Corruption("a constant string lies at {} to {} of {} bytes", begin, end, bytes_size);
  return Bytes(offsets + offsets_size + begin, end - begin);
}

arrow::Result<Bytes> FixedValue(Bytes block, uint64_t value_bytes) {
  const uint64_t header = 4 + 4;
  if (block.size() != header + value_bytes || LoadAt<uint32_t>(block.data()) != 1 ||
      LoadAt<uint32_t>(block.data() + 4) != value_bytes) {
    return Corruption("a constant of {} bytes does not hold a value of {}", block.size(), value_bytes);
  }
  return block.subspan(header);
}

arrow::Status AppendConstant(Bytes value, uint64_t count, ValueSink& out) {
  if (out.shape().kind == ValueShape::Kind::kVariable) {
    uint64_t total;
    if (__builtin_mul_overflow(count, value.size(), &total))
      return OutOfMemory("{} rows are too many to read at once; ask for fewer rows", count);
    ARROW_RETURN_NOT_OK(out.ReserveBytes(total));
    for (uint64_t i = 0; i < count; ++i) ARROW_RETURN_NOT_OK(out.AppendValue(value));
    return arrow::Status::OK();
  }
  if (out.shape().bits == 1) return out.AppendBitRun(value[0] & 1, count);
  ARROW_ASSIGN_OR_RAISE(uint8_t* target, out.AppendFixed(count));
  if (value.size() == 8) {
    const uint64_t word = LoadAt<uint64_t>(value.data());
    for (uint64_t i = 0; i < count; ++i) StoreAt<uint64_t>(target + i * 8, word);
    return arrow::Status::OK();
  }
  for (uint64_t i = 0; i < count; ++i) std::memcpy(target + i * value.size(), value.data(), value.size());
  return arrow::Status::OK();
}

class ConstantScan final : public PageScan {
 public:
  ConstantScan(const ConstantPage& page, std::vector<Slice> rows) : form_(page.form()), rows_(std::move(rows)) {
    if (!form_.rows_have_places() && (form_.rep || form_.def)) levels_ = page.levels();
  }

  arrow::Result<std::vector<ByteRange>> Wanted() override {
    std::vector<ByteRange> ranges;
    if (!bytes_.empty()) return ranges;
    if (form_.value_buffer) ranges.push_back(*form_.value_buffer);
    if (form_.rows_have_places()) {
      for (const Slice& slice : rows_)
        ranges.push_back({form_.def->range.offset + slice.first * kLevelBytes, slice.count * kLevelBytes});
      return ranges;
    }
    if (form_.rep) ranges.push_back(form_.rep->range);
    if (form_.def) ranges.push_back(form_.def->range);
    return ranges;
  }

  arrow::Status Supply(std::vector<BufferPtr> bytes) override {
    bytes_ = std::move(bytes);
    return arrow::Status::OK();
  }

  arrow::Status Decode(DecodeContext& context, LeafSink& out) override {
    const uint64_t num_rows = TotalCount(rows_);
    if (form_.all_null && form_.layers.is_flat()) {
      if (out.values().shape().kind != ValueShape::Kind::kNull)
        ARROW_RETURN_NOT_OK(out.values().validity().AppendNull(num_rows));
      return out.values().AppendPlaceholders(num_rows);
    }
    Levels levels(context.memory);
    uint64_t num_values = num_rows;
    if (form_.rows_have_places()) {
      for (size_t i = form_.value_buffer ? 1 : 0; i < bytes_.size(); ++i)
        ARROW_RETURN_NOT_OK(levels.def.AppendBytes(ViewOf(bytes_[i])));
    } else if (levels_ != nullptr) {
      ARROW_ASSIGN_OR_RAISE(num_values, PickLevels(context, levels));
    }
    if (form_.all_null && !form_.is_empty_struct && num_values > 0)
      ARROW_RETURN_NOT_OK(CheckNoValue(levels.def.levels()));
    ARROW_RETURN_NOT_OK(AppendValues(num_values, out.values()));
    return out.AppendRows(form_.layers, std::move(levels), num_rows);
  }

 private:
  // The levels of the wanted rows out of all of them. Returns how many values these have slots for.
  arrow::Result<uint64_t> PickLevels(DecodeContext& context, Levels& levels) const {
    ARROW_RETURN_NOT_OK(DecodeLevels(context));
    if (!form_.rep) {
      for (const Slice& slice : rows_) {
        const Bytes wanted = levels_->def.fixed_values().subspan(slice.first * kLevelBytes, slice.count * kLevelBytes);
        ARROW_RETURN_NOT_OK(levels.def.AppendBytes(wanted));
      }
      return TotalCount(rows_);
    }
    const std::vector<uint64_t>& rows_before = levels_->rows_before;
    const auto after = std::upper_bound(rows_before.begin(), rows_before.end(), rows_.front().first);
    auto block = static_cast<size_t>(after - rows_before.begin()) - 1;  // in which the first row begins
    RowPicker picker(form_.layers, rows_, rows_before[block]);
    uint64_t num_values = 0;
    for (; block < rows_before.size() && rows_before[block] <= rows_.back().end(); ++block) {
      ARROW_ASSIGN_OR_RAISE(const RowPicker::Counts counts,
                            picker.Pick(levels_->RepOf(block), levels_->DefOf(block), levels, nullptr, nullptr));
      num_values += counts.wanted;
    }
    return num_values;
  }

  arrow::Status DecodeLevels(DecodeContext& context) const {
    std::lock_guard lock(levels_->mutex);
    if (levels_->decoded) return *levels_->decoded;
    size_t next = form_.value_buffer ? 1 : 0;
    arrow::Status status;
    if (form_.rep) status = DecodeStream(*form_.rep, ViewOf(bytes_[next++]), context, levels_->rep);
    if (form_.def && status.ok()) status = DecodeStream(*form_.def, ViewOf(bytes_[next]), context, levels_->def);
    if (form_.rep && status.ok()) status = CountRows();
    levels_->decoded = status;
    return status;
  }

  arrow::Status CountRows() const {
    const uint64_t num_blocks = (AsLevels(levels_->rep).size() + AllLevels::kBlock - 1) / AllLevels::kBlock;
    ARROW_RETURN_NOT_OK(levels_->memory.Reserve(num_blocks * sizeof(uint64_t)));
    levels_->rows_before.reserve(num_blocks);
    uint64_t rows = 0;
    for (size_t block = 0; block < num_blocks; ++block) {
      levels_->rows_before.push_back(rows);
      const std::span<const uint16_t> rep = levels_->RepOf(block);
      rows += static_cast<uint64_t>(std::count(rep.begin(), rep.end(), form_.layers.max_rep()));
    }
    if (rows == form_.num_rows) return arrow::Status::OK();
    return Corruption("the levels of a page make {} rows, it has {}", rows, form_.num_rows);
  }

  static arrow::Status DecodeStream(const LevelStream& stream, Bytes bytes, DecodeContext& context, ValueSink& out) {
    if (stream.decoder != nullptr) return stream.decoder->Decode(bytes, stream.count, context, out);
    ARROW_ASSIGN_OR_RAISE(uint8_t* target, out.AppendFixed(stream.count));
    std::memcpy(target, bytes.data(), bytes.size());
    return arrow::Status::OK();
  }

  // Without any value, every slot must be null.
  arrow::Status CheckNoValue(std::span<const uint16_t> def) const {
    uint16_t lowest = def.empty() ? 0 : def.front();
    for (const uint16_t level : def) lowest = std::min(lowest, level);  // without a branch, many at once
    if (lowest > 0) return arrow::Status::OK();
    return Corruption("a page without values has one that is not null");
  }

  arrow::Status AppendValues(uint64_t count, ValueSink& out) const {
    if (form_.all_null) return out.AppendPlaceholders(count);
    ARROW_ASSIGN_OR_RAISE(Bytes value, Value(out.shape()));
    return AppendConstant(value, count, out);
  }

  arrow::Result<Bytes> Value(const ValueShape& shape) const {
    if (!form_.value_buffer) return Bytes(reinterpret_cast<const uint8_t*>(form_.value.data()), form_.value.size());
    const Bytes block = ViewOf(bytes_[0]);
    return shape.kind == ValueShape::Kind::kVariable ? StringValue(block, shape.bytes())
                                                     : FixedValue(block, BytesForBits(shape.bits));
  }

  const Form& form_;
  std::vector<Slice> rows_;
  std::shared_ptr<AllLevels> levels_;  // null: there are none, or rows have places in them
  std::vector<BufferPtr> bytes_;
};

std::unique_ptr<PageScan> ConstantPage::Scan(std::vector<Slice> rows) const {
  return std::make_unique<ConstantScan>(*this, std::move(rows));
}

// ---- what a layout says ----

// The two buffers of levels, of which either may be empty: repetition, definition.
arrow::Status SetLevels(const pb::ConstantLayout& layout, std::span<const ByteRange> buffers, Form* form) {
  const auto stream = [](const ByteRange& range, bool compressed, const pb::CompressiveEncoding& encoding,
                         uint64_t count) -> arrow::Result<std::optional<LevelStream>> {
    LevelStream levels{.range = range, .count = count};
    if (compressed) {
      ARROW_ASSIGN_OR_RAISE(levels.decoder, MakeBlockDecoder(encoding, FixedShape(16)));
      return levels;
    }
    if (range.length == 0) return std::nullopt;
    if (range.length % kLevelBytes != 0) return Corruption("a page has {} bytes of levels", range.length);
    levels.count = range.length / kLevelBytes;
    return levels;
  };
  ARROW_ASSIGN_OR_RAISE(
      form->rep, stream(buffers[0], layout.has_rep_compression(), layout.rep_compression(), layout.num_rep_values()));
  ARROW_ASSIGN_OR_RAISE(
      form->def, stream(buffers[1], layout.has_def_compression(), layout.def_compression(), layout.num_def_values()));
  return arrow::Status::OK();
}

arrow::Status CheckLevels(const Form& form) {
  if (form.rep.has_value() != (form.layers.max_rep() > 0) || form.def.has_value() != (form.layers.max_def() > 0))
    return Corruption("the levels of a page do not match its layers");
  if (form.rep && form.def && form.rep->count != form.def->count)
    return Corruption("a page has {} repetition levels and {} definition levels", form.rep->count, form.def->count);
  if (!form.rep && form.def && form.def->count != form.num_rows)
    return Corruption("{} levels do not cover {} rows", form.def->count, form.num_rows);
  return arrow::Status::OK();
}

// A struct without fields has one layer also where others lie around it, which are never null then.
bool IsEmptyStruct(const pb::ConstantLayout& layout, const PageSpec& spec) {
  const auto is_struct = [](const ColumnLayer& layer) { return !layer.is_list && layer.dimension == 1; };
  return spec.shape.kind == ValueShape::Kind::kNull && layout.layers_size() == 1 && spec.layers.size() > 1 &&
         std::all_of(spec.layers.begin(), spec.layers.end(), is_struct) && spec.page.buffers.empty();
}

arrow::Result<PageReaderPtr> MakeEmptyStruct(const PageSpec& spec) {
  const std::vector<int> valid(spec.layers.size(), pb::ALL_VALID_ITEM);
  ARROW_ASSIGN_OR_RAISE(PageLayers layers, PageLayers::Make(valid, spec.layers));
  return std::make_shared<ConstantPage>(
      Form{.layers = std::move(layers), .num_rows = spec.page.num_rows, .all_null = true, .is_empty_struct = true},
      spec.environment);
}

// Buffers: [repetition, definition]; of a plain column none, or they say nothing.
arrow::Result<PageReaderPtr> MakeAllNull(const pb::ConstantLayout& layout, const PageSpec& spec, PageLayers layers) {
  Form form{.layers = std::move(layers), .num_rows = spec.page.num_rows, .all_null = true};
  if (form.layers.is_flat()) {
    if (form.layers.max_def() == 0) return Corruption("a page without values claims that all are valid");
    return std::make_shared<ConstantPage>(std::move(form), spec.environment);
  }
  if (spec.page.buffers.size() != 2)
    return Corruption("a page without values has {} buffers", spec.page.buffers.size());
  ARROW_RETURN_NOT_OK(SetLevels(layout, spec.page.buffers, &form));
  ARROW_RETURN_NOT_OK(CheckLevels(form));
  return std::make_shared<ConstantPage>(std::move(form), spec.environment);
}

// Buffers: [value] or none, then [repetition, definition] or none.
arrow::Result<PageReaderPtr> MakeScalar(const pb::ConstantLayout& layout, const PageSpec& spec, PageLayers layers) {
  if (spec.version < FileVersion{2, 2})
    return Corruption("a page of version {} holds a constant, which came with 2.2", ToString(spec.version));
  const ValueShape& shape = spec.shape;
  if (shape.kind != ValueShape::Kind::kFixed && shape.kind != ValueShape::Kind::kVariable) {
    return Corruption("a page of {} holds a constant", ToString(shape));
  }
  const std::span<const ByteRange> buffers = spec.page.buffers;
  const bool has_buffer = buffers.size() % 2 == 1;
  if (buffers.size() > 3 || has_buffer == layout.has_inline_value()) {
    return Corruption("a page with {}constant value has {} buffers", layout.has_inline_value() ? "an inline " : "a ",
                      buffers.size());
  }
  Form form{.layers = std::move(layers), .num_rows = spec.page.num_rows};
  if (has_buffer) {
    form.value_buffer = buffers[0];
  } else {
    form.value = layout.inline_value();
    if (shape.kind == ValueShape::Kind::kVariable)
      return NotSupported("constant strings inside the layout are not readable");
    if (form.value.size() != BytesForBits(shape.bits)) {
      return Corruption("a constant of {} bytes stands for {}", form.value.size(), ToString(shape));
    }
  }
  if (buffers.size() >= 2) ARROW_RETURN_NOT_OK(SetLevels(layout, buffers.subspan(has_buffer), &form));
  ARROW_RETURN_NOT_OK(CheckLevels(form));
  return std::make_shared<ConstantPage>(std::move(form), spec.environment);
}

}  // namespace

arrow::Result<PageReaderPtr> MakeConstantPage(const pb::ConstantLayout& layout, const PageSpec& spec) {
  if (spec.version < FileVersion{2, 2} && (layout.has_rep_compression() || layout.has_def_compression())) {
    return Corruption("a page of version {} has compressed levels, which came with 2.2", ToString(spec.version));
  }
  if (IsEmptyStruct(layout, spec)) return MakeEmptyStruct(spec);
  ARROW_ASSIGN_OR_RAISE(PageLayers layers, LayersOf(layout, spec));
  const bool scalar = layout.has_inline_value() || spec.page.buffers.size() == 1 || spec.page.buffers.size() == 3;
  return scalar ? MakeScalar(layout, spec, std::move(layers)) : MakeAllNull(layout, spec, std::move(layers));
}

}  // namespace javelin::file
