// An arbitrary byte string as the descriptor of a file: its fields as a tree, to Arrow and back.
#include "lanceproto/file.pb.h"

#include "javelin/base/error.h"
#include "javelin/file/container_internal.h"
#include "javelin/file/nested_array_internal.h"
#include "javelin/file/schema.h"

using namespace javelin;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lance::file::FileDescriptor descriptor;
  if (!descriptor.ParseFromArray(data, static_cast<int>(size))) return 0;
  const auto schema = file::Schema::FromProto(descriptor.schema().fields(), {});
  if (!schema.ok()) {
    if (KindOf(schema.status()) == ErrorKind::kInternal) __builtin_trap();
    return 0;
  }
  schema->ToArrow()->ToString();
  schema->ToArrowWithIds()->ToString();
  for (const file::FileVersion version : {file::FileVersion{2, 0}, file::FileVersion{2, 2}})
    file::PhysicalColumns(*schema, version);
  for (const file::Field& field : schema->fields()) {
    const auto leaves = file::LeafColumnsOf(field);
    if (!leaves.ok() && KindOf(leaves.status()) == ErrorKind::kInternal) __builtin_trap();
  }
  // What was understood is written so that it is understood again.
  lance::file::Schema again;
  for (lance::file::Field& field : schema->ToProto()) *again.add_fields() = std::move(field);
  const auto back = file::Schema::FromProto(again.fields(), {});
  if (!back.ok() || !(back->fields() == schema->fields())) __builtin_trap();
  return 0;
}
