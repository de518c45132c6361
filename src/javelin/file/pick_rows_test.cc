#include "javelin/file/pick_rows.h"

#include <arrow/array/concatenate.h>

#include "javelin/file/nested_test_support.h"

namespace javelin::file {
namespace {

using namespace testing;

// Arrow's kernels alone fail here: lists of lists that are slices, or lie in slices.
TEST(PickRows, SlicesOfNestedColumns) {
  RandomNested random(11);
  const auto matrix = arrow::fixed_size_list(arrow::fixed_size_list(arrow::int16(), 3), 2);
  for (const auto& type :
       {matrix, arrow::struct_({arrow::field("m", matrix)}), arrow::list(matrix),
        arrow::list(arrow::struct_({arrow::field("m", matrix)})), arrow::utf8(), arrow::map(arrow::utf8(), matrix)}) {
    for (double null_part : {0.0, 0.3}) {
      SCOPED_TRACE(fmt::format("{}, {} null", type->ToString(), null_part));
      const auto batch = OneColumn(random.Make(type, 40, {.null_part = null_part, .empty_part = 0.2}));
      arrow::UInt64Builder numbers;
      arrow::BooleanBuilder mask;
      arrow::ArrayVector taken;
      arrow::ArrayVector kept;
      for (int64_t row = 0; row < 40; ++row) {
        const auto number = random.Below(40);
        ASSERT_TRUE(numbers.Append(number).ok());
        taken.push_back(batch->column(0)->Slice(static_cast<int64_t>(number), 1));
        const bool keep = random.Below(2) == 0;
        ASSERT_TRUE(mask.Append(keep).ok());
        if (keep) kept.push_back(batch->column(0)->Slice(row, 1));
      }
      const auto indices = numbers.Finish().ValueOrDie();
      const auto keep = mask.Finish().ValueOrDie();
      const auto expected = arrow::Concatenate(taken).ValueOrDie();
      EXPECT_TRUE(TakeRows(batch, *indices).ValueOrDie()->column(0)->Equals(*expected));
      EXPECT_TRUE(FilterRows(batch, static_cast<const arrow::BooleanArray&>(*keep))
                      .ValueOrDie()
                      ->column(0)
                      ->Equals(*arrow::Concatenate(kept).ValueOrDie()));
    }
  }
}

}  // namespace
}  // namespace javelin::file
