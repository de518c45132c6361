// An arbitrary text as a filter: read, bound to a table of many types, and run over rows of it.
#include <arrow/array/util.h>

#include "fuzz_support.h"
#include "javelin/query/filter.h"

using namespace javelin;

namespace {

std::shared_ptr<arrow::RecordBatch> Rows() {
  const auto micros = arrow::TimeUnit::MICRO;
  const arrow::FieldVector fields = {
      arrow::field("id", arrow::int64()),
      arrow::field("i8", arrow::int8()),
      arrow::field("u64", arrow::uint64()),
      arrow::field("f32", arrow::float32()),
      arrow::field("f64", arrow::float64()),
      arrow::field("dec", arrow::decimal128(10, 2)),
      arrow::field("s", arrow::utf8()),
      arrow::field("ls", arrow::large_utf8()),
      arrow::field("bin", arrow::binary()),
      arrow::field("fsb", arrow::fixed_size_binary(2)),
      arrow::field("b", arrow::boolean()),
      arrow::field("d", arrow::date32()),
      arrow::field("ts", arrow::timestamp(micros)),
      arrow::field("tz", arrow::timestamp(micros, "UTC")),
      arrow::field("dur", arrow::duration(micros)),
      arrow::field("t", arrow::time32(arrow::TimeUnit::SECOND)),
      arrow::field("l", arrow::list(arrow::int64())),
      arrow::field("tags", arrow::list(arrow::utf8())),
      arrow::field("v", arrow::fixed_size_list(arrow::float32(), 2)),
      arrow::field("st", arrow::struct_({arrow::field("x", arrow::int32()), arrow::field("y", arrow::utf8())})),
      arrow::field("dict", arrow::dictionary(arrow::int32(), arrow::utf8())),
      arrow::field("nul", arrow::null()),
  };
  // One row of nulls, one of the empty value of each type.
  arrow::ArrayVector arrays;
  for (const auto& field : fields) {
    const auto builder = arrow::MakeBuilder(field->type()).ValueOrDie();
    if (!builder->AppendNull().ok() || !builder->AppendEmptyValue().ok()) __builtin_trap();
    arrays.push_back(builder->Finish().ValueOrDie());
  }
  return arrow::RecordBatch::Make(arrow::schema(fields), 2, arrays);
}

void Check(const arrow::Status& status) {
  if (!status.ok() && KindOf(status) == ErrorKind::kInternal) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 4096) return 0;
  static const auto rows = Rows();
  static const auto scope = query::Scope::Of(*rows->schema());
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto expression = query::Expression::Parse(text, scope, {.now_nanoseconds = 0});
  Check(expression.status());
  const auto filter = query::Filter::Parse(text, scope, {.now_nanoseconds = 0});
  Check(filter.status());
  if (!expression.ok()) {
    if (filter.ok()) __builtin_trap();
    return 0;
  }
  const auto values = expression->Evaluate(*rows);
  Check(values.status());
  if (values.ok() && !(*values)->ValidateFull().ok()) __builtin_trap();
  if (!filter.ok()) return 0;
  const auto mask = filter->Mask(*rows);
  Check(mask.status());
  // Rows of a part are those of the whole.
  const auto second = filter->Mask(*rows->Slice(1));
  if (mask.ok() && (!second.ok() || !(*second)->Equals((*mask)->Slice(1)))) __builtin_trap();
  for (const query::BoundPtr& node : filter->Conjuncts()) query::AsColumnCondition(*node);
  return 0;
}
