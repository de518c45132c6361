// A 16-byte UUID: shards, indices, transactions and data files are named by one.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include <arrow/result.h>

namespace javelin::table {

// 16 bytes; text form is lower case with hyphens.
class Uuid {
 public:
  Uuid() = default;
  static arrow::Result<Uuid> Parse(std::string_view text);       // InvalidInput unless 8-4-4-4-12 hex
  static arrow::Result<Uuid> FromBytes(std::string_view bytes);  // Corruption unless 16 bytes
  static Uuid Random(uint64_t high, uint64_t low);               // version 4, from 128 random bits
  const std::string& bytes() const { return bytes_; }
  std::string ToString() const;
  friend auto operator<=>(const Uuid&, const Uuid&) = default;

 private:
  std::string bytes_;
};

}  // namespace javelin::table
