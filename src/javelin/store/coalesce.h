// Which requests a set of ranges becomes.
#pragma once

#include <span>
#include <vector>

#include "javelin/store/object_store.h"

namespace javelin {

// Bytes nobody asked for that are cheaper to read than a further request.
inline constexpr uint64_t kCoalesceGap = 64 * 1024;

// The ranges to request, ascending and disjoint: neighbours less than or equal to `max_gap` apart become one. Every
// range given lies inside exactly one of them; empty ones need no request.
std::vector<ByteRange> CoalesceRanges(std::span<const ByteRange> ranges, uint64_t max_gap = kCoalesceGap);

}  // namespace javelin
