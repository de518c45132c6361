// Changes of a table's columns as somebody else commits them, for the tests of writers that follow.
#pragma once

#include <string>
#include <vector>

#include "javelin/memwal/compactor_test_world.h"

namespace javelin::memwal::test {

inline file::Field Column(const std::string& name, int32_t id, const std::shared_ptr<arrow::DataType>& type) {
  file::Field field;
  field.id = FieldId(id);
  field.name = name;
  field.logical_type = Must(file::LogicalTypeOf(*type));
  field.type = type;
  field.nullable = true;
  return field;
}

using ChangeOfColumns = std::function<void(std::vector<file::Field>&)>;

// The next version of the table with other columns. As the peer does it: a Project where columns go or are renamed,
// which compaction can be rebased over, a Merge where columns come, which it cannot.
inline PutRequest WithColumns(const Dataset& table, const ChangeOfColumns& change) {
  static const std::string kProject("\x12\x01x\xea\x06\x02\x10\x01", 8);
  static const std::string kMerge("\x12\x01x\xca\x06\x00", 6);
  auto columns = table.schema().fields();
  change(columns);
  return NextVersion(
      table, [&](table::Manifest& manifest) { manifest.schema = {columns, manifest.schema.metadata()}; },
      columns.size() > table.schema().fields().size() ? kMerge : kProject);
}
inline void ChangeColumns(World& world, const Process& process, const ChangeOfColumns& change) {
  const PutRequest version = WithColumns(*process.Table(), change);
  ASSERT_OK(world.store->raw().PutIfAbsent(version.key, version.bytes));
}
inline void AddColumn(World& world, const Process& process, const file::Field& column) {
  ChangeColumns(world, process, [&](auto& columns) { columns.push_back(column); });
}
inline void DropColumn(World& world, const Process& process, const std::string& name) {
  ChangeColumns(world, process, [&](auto& columns) {
    std::erase_if(columns, [&](const file::Field& column) { return column.name == name; });
  });
}
inline void RenameColumn(World& world, const Process& process, const std::string& from, const std::string& to) {
  ChangeColumns(world, process, [&](auto& columns) {
    for (file::Field& column : columns) {
      if (column.name == from) column.name = to;
    }
  });
}

// Rows of the columns that the writer takes now.
inline std::shared_ptr<arrow::RecordBatch> RowsFor(const ShardWriter& writer, const std::string& json) {
  return Batch(writer.arrow_schema(), json);
}

}  // namespace javelin::memwal::test
