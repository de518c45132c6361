// What a read returns: columns of the table and system columns, in the order asked.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include "javelin/file/schema.h"

namespace javelin::internal {

inline constexpr std::string_view kRowIdName = "_rowid";
inline constexpr std::string_view kRowAddressName = "_rowaddr";
inline constexpr std::string_view kCreatedVersionName = "_row_created_at_version";
inline constexpr std::string_view kUpdatedVersionName = "_row_last_updated_at_version";

// All but kField are system columns: uint64, there for every table.
enum class ColumnKind { kField, kRowId, kRowAddress, kCreatedVersion, kUpdatedVersion };
inline constexpr ColumnKind kSystemColumns[] = {ColumnKind::kRowId, ColumnKind::kRowAddress,
                                                ColumnKind::kCreatedVersion, ColumnKind::kUpdatedVersion};
std::string_view NameOf(ColumnKind system_column);
ColumnKind KindOfName(std::string_view name);

// A column and, behind it, the names of fields of structs that lead into it.
using ColumnPath = std::vector<std::string>;

struct OutputColumn {
  ColumnKind kind = ColumnKind::kField;
  file::Field field;  // of kField
};

class Projection {
 public:
  // `columns` none = all of the table. Blobs are read as their descriptions. The flags append what `columns` does not
  // name already. InvalidInput: unknown or repeated name.
  static arrow::Result<Projection> Make(const file::Schema& schema,
                                        const std::optional<std::vector<std::string>>& columns, bool with_row_id,
                                        bool with_row_address);
  // The columns that the paths lead into, in the order of their first mention; of structs only what they lead to.
  // InvalidInput: unknown name of a column.
  static arrow::Result<Projection> OfPaths(const file::Schema& schema, const std::vector<ColumnPath>& paths);

  const std::vector<OutputColumn>& columns() const { return columns_; }
  const std::shared_ptr<arrow::Schema>& arrow_schema() const { return arrow_schema_; }
  bool Has(ColumnKind kind) const;

 private:
  void MakeArrowSchema(const file::Schema& schema);

  std::vector<OutputColumn> columns_;
  std::shared_ptr<arrow::Schema> arrow_schema_;
};

}  // namespace javelin::internal
