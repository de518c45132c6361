// The hash of a primary key that the key filter of an SSTable is made of (docs/format.md, "MemWAL: key filter").
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

namespace javelin::index {

// SipHash-1-3 with a key of zeros.
uint64_t SipHash13(std::string_view bytes);

// Hashes keys by value, whatever their type. The same value in columns of different width hashes differently.
class KeyHasher {
 public:
  // InvalidInput: a type that is no key type (key_encoding.h).
  static arrow::Result<KeyHasher> Make(std::vector<std::shared_ptr<arrow::DataType>> types);
  // One hash per row. `columns` in key order, types as given to Make; InvalidInput otherwise.
  arrow::Result<std::vector<uint64_t>> Hash(const std::vector<std::shared_ptr<arrow::Array>>& columns) const;
  // The same of one key as a KeyEncoder of these types encoded it; Internal: it did not.
  arrow::Result<uint64_t> HashEncoded(std::string_view key) const;

  // True if the released peer hashes these types by value too. Of any other key it hashes the null flags alone, so a
  // filter that it may have written says nothing about them.
  bool SharedWithPeer() const;

 private:
  std::vector<std::shared_ptr<arrow::DataType>> types_;
};

}  // namespace javelin::index
