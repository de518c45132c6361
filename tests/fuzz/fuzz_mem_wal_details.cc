// Any bytes either decode to MemWAL details that survive being written again, or are Corruption. What they ask of
// readers and writers (defaults of options, sharding of rows) is done or refused with a typed error.
#include <arrow/api.h>
#include <arrow/compute/initialize.h>

#include "javelin/base/error.h"
#include "javelin/memwal/sharding.h"
#include "javelin/memwal/writer_options.h"
#include "javelin/table/mem_wal_details.h"

namespace javelin::table {
namespace {

void Require(bool holds) {
  if (!holds) __builtin_trap();
}

std::shared_ptr<arrow::RecordBatch> Rows() {
  arrow::Int64Builder ids;
  arrow::StringBuilder texts;
  Require(arrow::compute::Initialize().ok());
  Require(ids.AppendValues({1, -5, INT64_MAX}).ok() && texts.AppendValues({"", "a", "a longer one"}).ok());
  Require(texts.AppendNull().ok() && ids.AppendNull().ok());
  return arrow::RecordBatch::Make(
      arrow::schema({arrow::field("id", arrow::int64()), arrow::field("text", arrow::utf8())}), 4,
      {ids.Finish().ValueOrDie(), texts.Finish().ValueOrDie()});
}

// Each row goes to one shard, or the whole batch is refused.
void Route(const ShardingSpec& spec) {
  static const auto rows = Rows();
  static const file::Schema schema = file::Schema::FromArrow(*rows->schema()).ValueOrDie();
  const auto shards = memwal::RouteRows(spec, schema, rows);
  if (!shards.ok()) {
    Require(KindOf(shards.status()) == ErrorKind::kInvalidInput);
    return;
  }
  int64_t routed = 0;
  for (const auto& shard : *shards) {
    Require(shard.rows->ValidateFull().ok());
    routed += shard.rows->num_rows();
  }
  Require(routed == rows->num_rows());
}

void Check(std::string_view bytes) {
  const auto details = DecodeMemWalDetails(bytes);
  if (!details.ok()) {
    Require(KindOf(details.status()) == ErrorKind::kCorruption);
    return;
  }
  auto again = DecodeMemWalDetails(EncodeMemWalDetails(*details));
  Require(again.ok());
  again->encoded = details->encoded;  // order and repetition of its fields are the writer's
  Require(*again == *details);
  for (const CompactedSsTable& entry : details->compacted_sstables)
    Require(details->CompactedThrough(entry.shard_id) >= entry.generation);
  for (const ShardingSpec& spec : details->sharding_specs) Route(spec);
  const auto options = memwal::ResolveWriterOptions({}, details->writer_config_defaults);
  Require(options.ok() || KindOf(options.status()) == ErrorKind::kInvalidInput);
}

}  // namespace
}  // namespace javelin::table

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  javelin::table::Check(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
