// The schema of a table or data file: a tree of fields that are known by id, not by name or position.
//
// Rules of ids, logical type strings and key metadata: docs/format.md, "Schemas" (Lance format, table and file schema).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/base/ids.h"

namespace lance::file {
class Field;
class Schema;
}  // namespace lance::file

namespace javelin::file {

// Arrow field metadata keys of the format.
inline constexpr std::string_view kPrimaryKeyMetadata = "lance-schema:unenforced-primary-key";
inline constexpr std::string_view kPrimaryKeyPositionMetadata = "lance-schema:unenforced-primary-key:position";
inline constexpr std::string_view kFieldIdMetadata = "lance:field_id";  // in WAL entries only; decimal

inline constexpr FieldId kRootParent{-1};

struct Field {
  FieldId id{-1};
  std::string name;
  std::string logical_type;               // "int64", "fixed_size_list:float:128", "struct", ...
  std::shared_ptr<arrow::DataType> type;  // with children; never null
  bool nullable = false;
  std::map<std::string, std::string> metadata;  // Arrow field metadata, without lance:field_id
  bool primary_key = false;                     // unenforced; order by position, then by id
  uint32_t primary_key_position = 0;            // 1-based, 0 = none given
  bool clustering_key = false;
  uint32_t clustering_key_position = 0;
  std::vector<Field> children;  // struct fields, the list item, map entries; none for primitives and
                                // fixed-size lists of primitives
  friend bool operator==(const Field&, const Field&);  // types compared by Equals
};

class Schema {
 public:
  Schema() = default;
  Schema(std::vector<Field> fields, std::map<std::string, std::string> metadata)
      : fields_(std::move(fields)), metadata_(std::move(metadata)) {}

  // Assigns ids in pre-order from `first_id`. InvalidInput: type the format cannot express, duplicate or empty name,
  // column name with a dot, nullable primary key.
  static arrow::Result<Schema> FromArrow(const arrow::Schema& schema, FieldId first_id = FieldId(0));
  // Flat pre-order list -> tree. Corruption: unknown parent, duplicate id, child of a primitive; NotSupported: unknown
  // logical type (names the field).
  template <typename FieldList>  // a protobuf repeated field of lance::file::Field
  static arrow::Result<Schema> FromProto(const FieldList& fields, std::map<std::string, std::string> metadata);

  const std::vector<Field>& fields() const { return fields_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  const Field* FindByName(std::string_view name) const;  // top level; nullptr if absent
  const Field* FindById(FieldId id) const;               // any level; nullptr if absent
  FieldId MaxId() const;                                 // -1 if empty
  std::vector<const Field*> PrimaryKey() const;          // in key order; empty = no key
  // Top-level columns in the given order; InvalidInput names an unknown column and the nearest name.
  arrow::Result<Schema> Select(const std::vector<std::string>& names) const;

  std::shared_ptr<arrow::Schema> ToArrow() const;
  // As ToArrow, with kFieldIdMetadata on every field at every level (WAL entries).
  std::shared_ptr<arrow::Schema> ToArrowWithIds() const;
  std::vector<lance::file::Field> ToProto() const;  // flat, pre-order

  friend bool operator==(const Schema&, const Schema&) = default;

 private:
  std::vector<Field> fields_;
  std::map<std::string, std::string> metadata_;
};

// Arrow type <-> logical type string, for types without children of their own in the field list.
arrow::Result<std::string> LogicalTypeOf(const arrow::DataType& type);

std::shared_ptr<arrow::Field> ToArrowField(const Field& field);

}  // namespace javelin::file
