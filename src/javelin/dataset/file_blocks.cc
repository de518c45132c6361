#include "javelin/dataset/file_blocks.h"

namespace javelin {

namespace {
struct Blocks final : SessionPart {
  explicit Blocks(const Resources& resources)
      : cache(resources, static_cast<uint64_t>(resources.memory->limit()) / 8) {}
  BlockCache cache;
};
}  // namespace

std::shared_ptr<BlockCache> FileBlocks(Session& session) {
  const auto part = session.Part("dataset.blocks", [&] { return std::make_shared<Blocks>(session.resources()); });
  return {part, &std::static_pointer_cast<Blocks>(part)->cache};
}

}  // namespace javelin
