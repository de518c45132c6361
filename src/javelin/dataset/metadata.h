// The maps of text that a table carries: its configuration, its own metadata, those of its schema and of its columns.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include <arrow/result.h>

#include "javelin/dataset/dataset.h"
#include "javelin/table/transaction.h"

namespace javelin {

struct MetadataChange {
  std::optional<table::MapUpdate> config{};           // how programs are to treat the table
  std::optional<table::MapUpdate> table_metadata{};   // of no meaning to the library
  std::optional<table::MapUpdate> schema_metadata{};  // of the Arrow schema that reads return
  // By path: the name of a column, or of a part of one as "column.part". A name that holds a dot is found whole.
  std::map<std::string, table::MapUpdate> field_metadata{};
};

// One commit, also if nothing changes; in an update that replaces, keys without a value are left out. Blocks.
// InvalidInput: no such column, or a key mark of a column (they are given with the table). IncompatibleConflict: the
// same key, the schema's metadata or those of the same column were changed since.
arrow::Result<std::shared_ptr<Dataset>> ChangeMetadata(const Dataset& dataset, const MetadataChange& change);

}  // namespace javelin
