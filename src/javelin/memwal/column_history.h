// Tells a column that was renamed from one that was dropped, or overwritten with the whole table, before its id was
// given to another.
//
// A table that keeps its field ids (table/field_ids.h) never does the latter. One that only other libraries have
// written to may have done it, and then the values of the one column would be read as those of the other.
#pragma once

#include <map>
#include <string>

#include <arrow/status.h>

#include "javelin/dataset/dataset.h"

namespace javelin::memwal {

// Names of the columns that some rows were written under.
using ColumnNames = std::map<FieldId, std::string>;
ColumnNames NamesOf(const file::Schema& schema);
// False: the table has none of them, by id. Rows without a key are as likely those of a table that was overwritten.
bool HaveColumnLeft(const file::Schema& table, const ColumnNames& written);

// OK if every column that rows of a shard were written under is the same in `table`, is gone from it, or was renamed.
// Where a name has changed, or all are gone, reads versions, newest first, and only as far back as it takes. Blocks;
// contexts T, S.
//
// NotSupported: the id was given again, by an overwrite of the table too, or the versions that would tell are cleaned
// away. Where every column has the name of before, nothing is noticed: not that another library dropped one and added
// it again, nor that it overwrote the table with such columns.
//
// `ids_kept`: the table kept its ids when the rows were written, so that a column was renamed where versions are gone.
arrow::Status CheckColumnsStay(const Dataset& table, ColumnNames written, bool ids_kept);

// The same of the columns of an older version, at which somebody opened the table, in its latest one.
arrow::Status CheckColumnsStaySince(const Dataset& opened, const Dataset& latest);

}  // namespace javelin::memwal
