#include "javelin/dataset/open_files_internal.h"

#include "javelin/dataset/file_blocks.h"

namespace javelin::internal {

arrow::Result<std::shared_ptr<file::DataFileReader>> OpenFiles::Get(const DatasetState& table,
                                                                    const table::DataFile& file) {
  const Resources& resources = table.session->resources();
  const auto part = table.session->Part("dataset.files", [&] { return std::make_shared<OpenFiles>(resources); });
  ARROW_ASSIGN_OR_RAISE(const ObjectLocation place, table.Locate(file));
  const std::optional<uint64_t> size = file.size_bytes != 0 ? std::optional(file.size_bytes) : std::nullopt;
  return std::static_pointer_cast<OpenFiles>(part)->files_.Get(place.store, place.key, [&] {
    return file::DataFileReader::Open(resources, place.store, place.key, size, FileBlocks(*table.session));
  });
}

}  // namespace javelin::internal
