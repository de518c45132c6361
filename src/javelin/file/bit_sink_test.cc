#include "javelin/file/bit_sink_internal.h"

#include <random>

#include <gmock/gmock.h>

#include "javelin/file/byte_span_internal.h"
#include "javelin/file/file_test_support.h"

namespace javelin::file {
namespace {

using namespace testing;

// Whatever the positions: nothing but the bits that were appended, and zeros up to the end of the last byte.
TEST(BitSink, AppendsAtAnyPosition) {
  const Resources resources = TestResources();
  SinkMemory memory(resources.pool, resources.memory.get());
  std::mt19937_64 random(3);
  const auto below = [&](uint64_t limit) { return random() % limit; };
  for (int round = 0; round < 100; ++round) {
    SCOPED_TRACE(round);
    BitSink sink(memory, below(100));
    std::vector<bool> wanted;
    for (int step = 0; step < 20; ++step) {
      const uint64_t count = below(40);
      switch (below(3)) {
        case 0: {
          const bool value = below(2) == 1;
          ASSERT_TRUE(sink.AppendRun(value, count).ok());
          wanted.insert(wanted.end(), count, value);
          break;
        }
        case 1: {
          uint8_t bytes[16];
          for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
          const uint64_t first = below(80);
          ASSERT_TRUE(sink.AppendBits(bytes, first, count).ok());
          for (uint64_t i = 0; i < count; ++i) wanted.push_back(GetBit(bytes, first + i));
          break;
        }
        default: {
          std::vector<uint16_t> levels(count);
          for (uint16_t& level : levels) level = static_cast<uint16_t>(below(4));
          const auto most = static_cast<uint16_t>(below(4));
          ASSERT_TRUE(sink.AppendLevels(levels, most).ok());
          for (const uint16_t level : levels) wanted.push_back(level <= most);
        }
      }
    }
    ASSERT_EQ(sink.length(), wanted.size());
    EXPECT_EQ(sink.num_unset(), static_cast<uint64_t>(std::count(wanted.begin(), wanted.end(), false)));
    const BufferPtr bits = sink.Finish();
    ASSERT_EQ(bits->size(), static_cast<int64_t>(BytesForBits(wanted.size())));
    wanted.resize(static_cast<size_t>(bits->size()) * 8);
    for (size_t i = 0; i < wanted.size(); ++i) ASSERT_EQ(GetBit(bits->data(), i), wanted[i]) << i;
  }
}

}  // namespace
}  // namespace javelin::file
