#include "javelin/table/key_filter.h"

#include <arrow/api.h>

#include "javelin/table/test_support_internal.h"

namespace javelin::table {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

template <typename Builder, typename Value>
std::shared_ptr<arrow::Array> Column(std::initializer_list<std::optional<Value>> values) {
  Builder builder;
  for (const auto& value : values) {
    const arrow::Status status = value ? builder.Append(*value) : builder.AppendNull();
    EXPECT_TRUE(status.ok());
  }
  return builder.Finish().ValueOrDie();
}
std::shared_ptr<arrow::Array> Int64(std::initializer_list<std::optional<int64_t>> values) {
  return Column<arrow::Int64Builder, int64_t>(values);
}
std::shared_ptr<arrow::Array> Text(std::initializer_list<std::optional<std::string>> values) {
  return Column<arrow::StringBuilder, std::string>(values);
}

KeyFilter Of(const arrow::ArrayVector& columns, std::vector<FieldId> fields = {FieldId(0)}) {
  KeyFilterBuilder builder(std::move(fields));
  EXPECT_TRUE(builder.Add(columns).ok());
  return std::move(builder).Finish();
}

std::vector<size_t> BitsOf(const KeyFilter& filter) {
  const std::string& bitmap = std::get<KeyFilter::Bloom>(filter.data).bitmap;
  std::vector<size_t> bits;
  for (size_t bit = 0; bit < bitmap.size() * 8; ++bit) {
    if ((static_cast<unsigned char>(bitmap[bit / 8]) >> (bit % 8) & 1) != 0) bits.push_back(bit);
  }
  return bits;
}

// The bits that the released writer (14.0.2) sets for the same inserted key.
TEST(KeyFilters, BitsOfTheReleasedWriter) {
  EXPECT_THAT(BitsOf(Of({Int64({20})})), ElementsAre(258070, 258094, 258129, 258148, 258204, 258228, 258267, 258302));
  EXPECT_THAT(BitsOf(Of({Column<arrow::Int32Builder, int32_t>({-20})})),
              ElementsAre(41994, 42026, 42051, 42093, 42117, 42145, 42184, 42213));
  EXPECT_THAT(BitsOf(Of({Column<arrow::UInt32Builder, uint32_t>({4000000000})})),
              ElementsAre(33812, 33825, 33877, 33889, 33930, 33977, 34010, 34026));
  EXPECT_THAT(BitsOf(Of({Text({"key"})})), ElementsAre(69918, 69926, 69971, 69992, 70034, 70077, 70086, 70125));
  EXPECT_THAT(BitsOf(Of({Int64({7}), Text({"y"})}, {FieldId(1), FieldId(0)})),
              ElementsAre(87300, 87340, 87390, 87422, 87441, 87478, 87509, 87540));
}

TEST(KeyFilters, ParametersOfTheReleasedWriter) {
  const KeyFilter filter = Of({Int64({20})}, {FieldId(3)});
  EXPECT_THAT(filter.field_ids, ElementsAre(FieldId(3)));
  const auto& bloom = std::get<KeyFilter::Bloom>(filter.data);
  EXPECT_EQ(bloom.bitmap.size(), 32768u);
  EXPECT_EQ(bloom.num_bits, 262144u);
  EXPECT_EQ(bloom.number_of_items, 8192u);
  EXPECT_EQ(bloom.probability, 0.00057);
}

TEST(KeyFilters, ASharedKeyIsAlwaysFound) {
  for (int64_t key = 0; key < 200; ++key)
    EXPECT_TRUE(MayShareKeys(Of({Int64({key, key + 1000})}), Of({Int64({key, key + 5000})}))) << key;
  EXPECT_FALSE(MayShareKeys(Of({Int64({1})}), Of({Int64({2})})));
  EXPECT_FALSE(MayShareKeys(Of({Int64({})}), Of({Int64({1})})));
}

TEST(KeyFilters, KeysWithoutDefinedBytesShareWithAll) {
  const KeyFilter other = Of({Int64({1})});
  EXPECT_TRUE(MayShareKeys(Of({Int64({std::nullopt})}), other));
  EXPECT_TRUE(MayShareKeys(Of({Column<arrow::Int16Builder, int16_t>({5})}), other));
  EXPECT_TRUE(MayShareKeys(Of({Int64({7}), Text({std::nullopt})}, {FieldId(0), FieldId(1)}),
                           Of({Int64({8}), Text({"x"})}, {FieldId(0), FieldId(1)})));
  EXPECT_FALSE(MayShareKeys(Of({Int64({std::nullopt})}), Of({Int64({})}))) << "there is no key in the other";
}

TEST(KeyFilters, WhatCannotBeComparedMayShare) {
  const KeyFilter one = Of({Int64({1})}), two = Of({Int64({2})});
  const auto changed = [&](auto change) {
    KeyFilter filter = two;
    change(std::get<KeyFilter::Bloom>(filter.data));
    return filter;
  };
  EXPECT_TRUE(MayShareKeys(one, Of({Int64({2})}, {FieldId(9)})));
  EXPECT_TRUE(MayShareKeys(one, {{FieldId(0)}, std::monostate{}}));
  EXPECT_TRUE(MayShareKeys(one, {{FieldId(0)}, KeyFilter::Exact{}}));
  EXPECT_TRUE(MayShareKeys(one, changed([](auto& bloom) { bloom.number_of_items = 1; })));
  EXPECT_TRUE(MayShareKeys(one, changed([](auto& bloom) { bloom.probability = 0.5; })));
  EXPECT_TRUE(MayShareKeys(one, changed([](auto& bloom) { bloom.bitmap.pop_back(); })));
  EXPECT_FALSE(MayShareKeys(one, changed([](auto& bloom) { bloom.number_of_items = 0; }))) << "0 = the default";
  EXPECT_FALSE(MayShareKeys(one, changed([](auto& bloom) { bloom.probability = 0; }))) << "0 = the default";
}

TEST(KeyFilters, ExactKeys) {
  const auto exact = [](std::vector<uint64_t> hashes) {
    return KeyFilter{{FieldId(0)}, KeyFilter::Exact{std::move(hashes)}};
  };
  EXPECT_TRUE(MayShareKeys(exact({1, 2}), exact({3, 2})));
  EXPECT_FALSE(MayShareKeys(exact({1, 2}), exact({3})));
}

TEST(KeyFilters, EveryFieldOfTheKeyIsGiven) {
  KeyFilterBuilder builder({FieldId(0), FieldId(1)});
  ExpectError(builder.Add({Int64({1})}), ErrorKind::kInvalidInput, "1 key columns");
  EXPECT_THAT(BitsOf(std::move(builder).Finish()), IsEmpty());
}

}  // namespace
}  // namespace javelin::table
