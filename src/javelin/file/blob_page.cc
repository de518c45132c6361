// Blob pages of 2.1 and 2.2: positions and sizes of values that lie elsewhere in the file, as a page inside the page.
// Its own layers say nothing; a null is a size of 0 at a position that is a definition level.
#include "javelin/file/page_layouts_internal.h"

namespace javelin::file {

namespace {

constexpr unsigned kLevelShift = 16;  // below lies the repetition level

class BlobPage final : public PageReader {
 public:
  BlobPage(PageReaderPtr inner, PageLayers layers, ValueShape shape)
      : inner_(std::move(inner)), layers_(std::move(layers)), shape_(std::move(shape)) {}
  std::unique_ptr<PageScan> Scan(std::vector<Slice> rows) const override;
  const PageReader& inner() const { return *inner_; }
  const PageLayers& layers() const { return layers_; }
  const ValueShape& shape() const { return shape_; }

 private:
  PageReaderPtr inner_;
  PageLayers layers_;
  ValueShape shape_;
};

class BlobScan final : public PageScan {
 public:
  BlobScan(const BlobPage& page, std::vector<Slice> rows)
      : page_(page), num_rows_(TotalCount(rows)), inner_(page.inner().Scan(std::move(rows))) {}

  arrow::Result<std::vector<ByteRange>> Wanted() override { return inner_->Wanted(); }
  arrow::Status Supply(std::vector<BufferPtr> bytes) override { return inner_->Supply(std::move(bytes)); }

  arrow::Status Decode(DecodeContext& context, LeafSink& out) override {
    LeafSink stored(page_.shape(), kFlatColumn, context.memory, num_rows_);
    ARROW_RETURN_NOT_OK(inner_->Decode(context, stored));
    const Bytes positions = stored.values().field(0).fixed_values();
    const Bytes sizes = stored.values().field(1).fixed_values();
    if (positions.size() != num_rows_ * sizeof(uint64_t) || sizes.size() != positions.size())
      return Corruption("{} blobs were asked of a page, it describes {}", num_rows_, stored.values().length());
    ARROW_ASSIGN_OR_RAISE(uint8_t* position, out.values().field(0).AppendFixed(num_rows_));
    ARROW_ASSIGN_OR_RAISE(uint8_t* size, out.values().field(1).AppendFixed(num_rows_));
    Levels levels(context.memory);
    uint16_t* level = nullptr;
    if (page_.layers().max_def() > 0) {
      ARROW_ASSIGN_OR_RAISE(level, levels.def.Append(num_rows_));
    }
    for (uint64_t i = 0; i < num_rows_; ++i) {
      uint64_t at = LoadElement<uint64_t>(positions.data(), i);
      const uint64_t length = LoadElement<uint64_t>(sizes.data(), i);
      const bool null = length == 0 && at != 0;
      if (null && (level == nullptr || at >> kLevelShift == 0 || at >> kLevelShift > page_.layers().max_def()))
        return Corruption("a blob without bytes lies at {}, which is no level of its column", at);
      if (level != nullptr) level[i] = null ? static_cast<uint16_t>(at >> kLevelShift) : uint16_t{0};
      if (null) at = 0;
      StoreAt<uint64_t>(position + i * sizeof(uint64_t), at);
      StoreAt<uint64_t>(size + i * sizeof(uint64_t), length);
    }
    for (size_t field = 0; field < 2; ++field)
      ARROW_RETURN_NOT_OK(out.values().field(field).validity().AppendValid(num_rows_));
    out.values().CommitStructs(num_rows_);
    return out.AppendRows(page_.layers(), std::move(levels), num_rows_);
  }

 private:
  const BlobPage& page_;
  uint64_t num_rows_;
  std::unique_ptr<PageScan> inner_;
};

std::unique_ptr<PageScan> BlobPage::Scan(std::vector<Slice> rows) const {
  return std::make_unique<BlobScan>(*this, std::move(rows));
}

}  // namespace

arrow::Result<PageReaderPtr> MakeBlobPage(const pb::BlobLayout& layout, const PageSpec& spec) {
  const ValueShape description{.kind = ValueShape::Kind::kStruct, .fields = {FixedShape(64), FixedShape(64)}};
  if (!(spec.shape == description)) return Corruption("a page of blobs stands for {}", ToString(spec.shape));
  ARROW_ASSIGN_OR_RAISE(PageLayers layers, LayersOf(layout, spec));
  if (layers.max_rep() > 0) return NotSupported("blobs in lists are not readable");
  if (!layout.inner_layout().has_mini_block_layout())
    return NotSupported("blobs whose places are not in a mini-block page are not readable");
  ARROW_ASSIGN_OR_RAISE(PageReaderPtr inner,
                        MakeMiniBlockPage(layout.inner_layout().mini_block_layout(),
                                          {spec.page, spec.version, spec.shape, kFlatColumn, spec.environment}));
  return std::make_shared<BlobPage>(std::move(inner), std::move(layers), spec.shape);
}

}  // namespace javelin::file
