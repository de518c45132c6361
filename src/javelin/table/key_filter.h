// Which keys a merge-insert inserted, so that two that insert the same key at once can tell (docs/format.md, "Tables:
// key filters").
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/base/ids.h"

namespace javelin::table {

struct KeyFilter {
  struct Exact {
    std::vector<uint64_t> key_hashes;
    friend bool operator==(const Exact&, const Exact&) = default;
  };
  // A split-block Bloom filter of blocks of 32 bytes; number_of_items 0 / probability 0 mean the defaults.
  struct Bloom {
    std::string bitmap;
    uint32_t num_bits = 0;
    uint64_t number_of_items = 0;
    double probability = 0;
    friend bool operator==(const Bloom&, const Bloom&) = default;
  };
  std::vector<FieldId> field_ids;  // of the key, in key order
  std::variant<std::monostate, Exact, Bloom> data;
  friend bool operator==(const KeyFilter&, const KeyFilter&) = default;
};

// May a key be in both? True unless it is certain that none is; filters that cannot be compared may share keys.
bool MayShareKeys(const KeyFilter& a, const KeyFilter& b);

// Collects the inserted keys of one merge-insert. Not thread-safe.
class KeyFilterBuilder {
 public:
  explicit KeyFilterBuilder(std::vector<FieldId> field_ids);

  // The keys of rows: one column for each field of the key, of equal length. A key whose bytes the released writer does
  // not define (a part that is null or of another type than integers of 32 or 64 bits, text and binary) fills the
  // filter, which then shares keys with every other one that is not empty. InvalidInput: another number of columns.
  arrow::Status Add(const arrow::ArrayVector& key_columns);
  KeyFilter Finish() &&;

 private:
  void Insert(std::string_view key);

  KeyFilter filter_;
  std::string bitmap_;
};

}  // namespace javelin::table
