#include "javelin/table/offset_set.h"

namespace javelin::table {

OffsetSet OffsetSet::FromUnsorted(std::vector<uint32_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  OffsetSet set;
  for (uint32_t number : numbers) {
    if (set.empty() || number > set.max()) set.Append(number, number);
  }
  return set;
}

void OffsetSet::Append(uint32_t first, uint32_t last) {
  if (!runs_.empty() && uint64_t{runs_.back().last} + 1 == first) {
    runs_.back().last = last;
  } else {
    runs_.push_back({first, last, size()});
  }
}

bool OffsetSet::Contains(uint32_t number) const {
  auto after =
      std::upper_bound(runs_.begin(), runs_.end(), number, [](uint32_t n, const Run& run) { return n < run.first; });
  return after != runs_.begin() && number <= std::prev(after)->last;
}

uint64_t OffsetSet::CountBelow(uint64_t bound) const {
  auto after =
      std::lower_bound(runs_.begin(), runs_.end(), bound, [](const Run& run, uint64_t n) { return run.first < n; });
  if (after == runs_.begin()) return 0;
  const Run& run = *std::prev(after);
  return run.before + std::min(bound - run.first, run.size());
}

bool OffsetSet::ContainsAll(const OffsetSet& other) const { return other.Without(*this).empty(); }

bool OffsetSet::Intersects(const OffsetSet& other) const {
  auto a = runs_.begin(), b = other.runs_.begin();
  while (a != runs_.end() && b != other.runs_.end()) {
    if (a->last < b->first) {
      ++a;
    } else if (b->last < a->first) {
      ++b;
    } else {
      return true;
    }
  }
  return false;
}

OffsetSet OffsetSet::Without(const OffsetSet& other) const {
  OffsetSet out;
  auto cut = other.runs_.begin();
  for (const Run& run : runs_) {
    uint64_t next = run.first;  // 64 bits: may pass 2^32 - 1
    while (cut != other.runs_.end() && cut->last < next) ++cut;
    for (auto c = cut; c != other.runs_.end() && c->first <= run.last; ++c) {
      if (c->first > next) out.Append(static_cast<uint32_t>(next), c->first - 1);
      next = uint64_t{c->last} + 1;
    }
    if (next <= run.last) out.Append(static_cast<uint32_t>(next), run.last);
  }
  return out;
}

OffsetSet OffsetSet::With(const OffsetSet& other) const {
  std::vector<Run> all(runs_.size() + other.runs_.size());
  std::merge(runs_.begin(), runs_.end(), other.runs_.begin(), other.runs_.end(), all.begin(),
             [](const Run& a, const Run& b) { return a.first < b.first; });
  OffsetSet out;
  for (const Run& run : all) {
    if (out.empty() || run.first > out.max()) {
      out.Append(run.first, run.last);
    } else if (run.last > out.max()) {
      out.Append(out.max() + 1, run.last);
    }
  }
  return out;
}

uint64_t OffsetSet::NthAbsent(uint64_t n) const {
  // Absent numbers below a run's start: first - before. The answer lies behind every run that has at most n of them.
  auto after = std::upper_bound(runs_.begin(), runs_.end(), n,
                                [](uint64_t m, const Run& run) { return m < run.first - run.before; });
  if (after == runs_.begin()) return n;
  const Run& run = *std::prev(after);
  return n + run.before + run.size();
}

}  // namespace javelin::table
