// One page of any layout without a file around it: version, rows, the schema of its column, its encoding, its buffers.
// Mutations reach the decoders here instead of the checks of a container.
#include <google/protobuf/stubs/logging.h>

#include "lanceproto/file.pb.h"

#include "fuzz_support.h"
#include "javelin/file/crafted_page_internal.h"
#include "javelin/file/schema.h"

using namespace javelin;

namespace {

// Enough for several chunks; more would only take time.
constexpr uint64_t kMaxRows = 5000;

arrow::Result<file::Field> FieldOf(const std::string& bytes) {
  lance::file::Schema proto;
  if (!proto.ParseFromString(bytes)) return Corruption("no schema");
  ARROW_ASSIGN_OR_RAISE(const file::Schema schema, file::Schema::FromProto(proto.fields(), {}));
  if (schema.fields().size() != 1) return Corruption("not one column");
  return schema.fields().front();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto quiet = google::protobuf::SetLogHandler(nullptr);  // a line for every damaged message
  (void)quiet;
  static const fuzz::Watched watched;
  fuzz::Input input(data, size);
  file::testing::CraftedPage page;
  page.version = {2, static_cast<uint16_t>(input.Number(1) % 3)};
  page.num_rows = input.Number(8);
  const auto field = FieldOf(input.Part());
  if (!field.ok()) {
    fuzz::CheckRefusal(field.status());
    return 0;
  }
  page.encoding = input.Part();
  page.buffers = input.Parts();
  const auto read = [&](std::vector<file::Slice> slices) {
    const uint64_t count = file::TotalCount(slices);
    const auto leaves = file::LeafColumnsOf(*field);
    if (!leaves.ok() || leaves->size() != 1) return;
    // A page of lists of fixed size counts their items.
    const uint64_t scale = file::PageRowsPerRow(leaves->front().layers);
    if (count % scale != 0) return;
    fuzz::Check(file::testing::ReadCraftedPage(watched.resources, page, *field, std::move(slices)), count / scale);
  };
  const uint64_t rows = std::min(page.num_rows, kMaxRows);
  if (rows == 0) return 0;
  read({{0, rows}});
  if (rows >= 6) {
    read({{rows / 3, rows / 2}});
    read({{0, 1}, {rows / 2, 1}, {rows - 1, 1}});
  }
  watched.Check(4 * size);
  return 0;
}
