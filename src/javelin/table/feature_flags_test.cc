#include "javelin/table/feature_flags.h"

#include "javelin/table/row_lineage.h"
#include "javelin/table/test_support_internal.h"
#include "lanceproto/table.pb.h"

namespace javelin::table {
namespace {

Manifest WithWords(uint64_t reader, uint64_t writer) {
  Manifest manifest;
  manifest.reader_feature_flags = reader;
  manifest.writer_feature_flags = writer;
  manifest.data_format_version = "2.2";
  return manifest;
}

TEST(FeatureFlags, WhatMayBeReadBitByBit) {
  constexpr uint64_t kReadable = 1 | 2 | 4 | 8 | 16 | 32 | 128 | 256 | 1024 | 2048 | 16384;
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t flag = uint64_t{1} << bit;
    const arrow::Status status = CheckReadable(WithWords(flag, flag));
    if ((kReadable & flag) != 0) {
      EXPECT_TRUE(status.ok()) << flag << status.ToString();
    } else if (flag == 32768) {
      ExpectError(status, ErrorKind::kCorruption, "32768");
    } else {
      ExpectError(status, ErrorKind::kNotSupported, fmt::format("bit {} ", flag));
      EXPECT_EQ(FieldsOf(status)["flag"], fmt::format("{}", flag));
    }
  }
}

TEST(FeatureFlags, RefusedBitsAreNamed) {
  ExpectError(CheckReadable(WithWords(64, 64)), ErrorKind::kNotSupported, "data overlays");
  ExpectError(CheckReadable(WithWords(512 | 1, 0)), ErrorKind::kNotSupported,
              "bit 512 (stable row ids with a fragment reuse index)");
  ExpectError(CheckReadable(WithWords(131072, 0)), ErrorKind::kNotSupported, "unknown to this version");
}

TEST(FeatureFlags, PairedBitsNeedBothWords) {
  for (uint64_t flag : {256u, 1024u, 16384u, 65536u}) {
    ExpectError(CheckReadable(WithWords(flag, 0)), ErrorKind::kCorruption, fmt::format("bit {} ", flag));
    ExpectError(CheckReadable(WithWords(0, flag)), ErrorKind::kCorruption, fmt::format("bit {} ", flag));
  }
  ExpectError(CheckReadable(WithWords(65536, 65536)), ErrorKind::kNotSupported, "65536");
}

TEST(FeatureFlags, LastingFieldIdsMustAgreeWithTheMark) {
  Manifest manifest = WithWords(0, 32768);
  ExpectError(CheckReadable(manifest), ErrorKind::kCorruption, "32768");
  manifest.max_allocated_field_id = 5;
  ASSERT_OK(CheckReadable(manifest));
  ASSERT_OK(CheckWritable(manifest));
  manifest.writer_feature_flags = 0;
  ExpectError(CheckReadable(manifest), ErrorKind::kCorruption, "32768");
}

TEST(FeatureFlags, AnUnknownWriterBitLeavesTheTableReadable) {
  for (uint64_t flag : {64ull, 512ull, 4096ull, 8192ull, 131072ull, 1ull << 63}) {
    ASSERT_OK(CheckReadable(WithWords(0, flag)));
    ExpectError(CheckWritable(WithWords(0, flag)), ErrorKind::kNotSupported, fmt::format("bit {} ", flag));
  }
  ASSERT_OK(CheckWritable(WithWords(0, 1 | 2 | 4 | 8 | 16 | 32 | 128 | 256 | 1024 | 2048 | 16384)));
}

Fragment OneFile(file::FileVersion version) {
  return {FragmentId(0), {DataFile{"f", {0}, {0}, version, 1, {}}}, {}, 1, ""};
}

TEST(FeatureFlags, RecomputedFromWhatTheTableHolds) {
  Manifest manifest = WithWords(4 | 32, 4 | 8 | 32);
  manifest.fragments = {OneFile({2, 2})};
  RecomputeFlags(nullptr, manifest);
  EXPECT_EQ(manifest.reader_feature_flags, 0u);
  EXPECT_EQ(manifest.writer_feature_flags, 0u);

  manifest.fragments[0].deletion_file = DeletionFile{};
  manifest.config = {{"k", "v"}};
  manifest.base_paths = {BasePath{}};
  RecomputeFlags(nullptr, manifest);
  EXPECT_EQ(manifest.reader_feature_flags, 1u | 16u);
  EXPECT_EQ(manifest.writer_feature_flags, 1u | 8u | 16u);
}

TEST(FeatureFlags, MixedVersionsSpilledLineageAndCoveringIndices) {
  Manifest manifest = WithWords(0, 0);
  manifest.fragments = {OneFile({2, 1})};
  RecomputeFlags(nullptr, manifest);
  EXPECT_EQ(manifest.reader_feature_flags, 256u);
  EXPECT_EQ(manifest.writer_feature_flags, 256u);

  ::lance::table::DataFragment spilled;
  spilled.mutable_row_ids_in_column();
  manifest.fragments = {OneFile({2, 2})};
  manifest.fragments[0].lineage = spilled.SerializeAsString();
  ::lance::table::IndexMetadata covering;
  covering.add_covering_fields(1);
  manifest.indices = {IndexEntry{}};
  manifest.indices[0].encoded = covering.SerializeAsString();
  RecomputeFlags(nullptr, manifest);
  EXPECT_EQ(manifest.reader_feature_flags, 2048u | 128u);
}

TEST(FeatureFlags, StickyBitsAreKeptForGood) {
  Manifest previous = WithWords(2 | 256 | 1024 | 16384 | 1 | 128, 2 | 256 | 1024 | 16384 | 32768 | 1 | 8 | 128);
  previous.max_allocated_field_id = 3;
  Manifest next = previous;
  RecomputeFlags(&previous, next);
  EXPECT_EQ(next.reader_feature_flags, 2u | 256u | 1024u | 16384u);
  EXPECT_EQ(next.writer_feature_flags, 2u | 256u | 1024u | 16384u | 32768u);
}

}  // namespace
}  // namespace javelin::table
