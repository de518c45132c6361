#include "javelin/memwal/column_history.h"

#include "javelin/base/error.h"
#include "javelin/memwal/shard_schemas.h"
#include "javelin/table/transaction.h"
#include "javelin/table/versions.h"

namespace javelin::memwal {

ColumnNames NamesOf(const file::Schema& schema) {
  ColumnNames names;
  for (const file::Field& field : schema.fields()) {
    // The id of that one is also that of the next column which the table gets.
    if (field.name != kTombstoneColumn) names.emplace(field.id, field.name);
  }
  return names;
}

bool HaveColumnLeft(const file::Schema& table, const ColumnNames& written) {
  return written.empty() || std::any_of(written.begin(), written.end(),
                                        [&](const auto& column) { return table.FindById(column.first) != nullptr; });
}

namespace {

// Whose columns they are, and what may be done where nobody can say what became of them.
struct Asked {
  ColumnNames names;
  bool ids_kept = false;
  std::string when;
  std::string way_on;
  std::string way_on_overwritten;
};

// The columns whose name is not that of the table's version, followed down from the newest version of all: the rows may
// be older or newer than that version. Of rows that have no column left one column is followed: where it was dropped,
// the rows are the table's still, each of nothing but nulls.
class Renamed {
 public:
  Renamed(const Dataset& table, const Asked& asked) : table_(table), asked_(asked) {
    for (const auto& [id, name] : asked.names) {
      const file::Field* today = table.schema().FindById(id);
      if (today != nullptr && today->name != name) pending_.push_back({id, name, table.version()});
    }
    if (HaveColumnLeft(table.schema(), asked.names)) return;
    const auto& [id, name] = *asked.names.begin();
    pending_.push_back({id, name, table.version(), /*dropped=*/true});
  }
  bool settled() const { return pending_.empty(); }
  // That ids were kept says what is renamed, not that there was no overwrite.
  arrow::Status EndOfHistory(const std::string& why) const {
    const Column& column = pending_[0];
    if (asked_.ids_kept && !column.dropped) return arrow::Status::OK();
    return TellNot(column, why, column.dropped ? asked_.way_on_overwritten : asked_.way_on);
  }

  // Between the version of the table and the one with the name of then there must be none without the column.
  arrow::Status Visit(const table::Manifest& version) {
    for (auto column = pending_.begin(); column != pending_.end();) {
      const file::Field* field = version.schema.FindById(column->id);
      if (field == nullptr && !column->dropped && IsBetween(*column, version.version))
        return TellNot(*column, fmt::format("version {} has no such column", version.version), asked_.way_on);
      column->found = column->found || (field != nullptr && (column->dropped || field->name == column->name));
      column = column->found && version.version <= column->until ? pending_.erase(column) : std::next(column);
    }
    return arrow::Status::OK();
  }

  // Nor may the table have begun anew with that version: then only the number of an id is the same. After a restore,
  // the way back leads to the restored version, past what was undone.
  arrow::Status GoBelow(const table::LoadedManifest& version, const table::Manifest& older) {
    const TableVersion number = version.manifest->version;
    std::vector<Column*> between;
    for (Column& column : pending_) {
      if (IsBetween(column, number)) between.push_back(&column);
    }
    if (between.empty() || KeepsMemWal(*version.manifest, older)) return arrow::Status::OK();
    const auto done = CommitOf(version);
    if (!HasKind(done.status(), ErrorKind::kNotFound)) ARROW_RETURN_NOT_OK(done);
    if (!done.ok() || std::holds_alternative<table::UnknownOperation>(done->operation)) {
      return EndOfHistory(fmt::format("nothing says what version {} did", number));
    }
    if (std::holds_alternative<table::Overwrite>(done->operation))
      return TellNot(*between[0], fmt::format("version {} overwrote the table", number), asked_.way_on_overwritten);
    if (const auto* restore = std::get_if<table::Restore>(&done->operation)) {
      for (Column* column : between) column->until = std::min(column->until, restore->version);
    }
    return arrow::Status::OK();
  }

 private:
  struct Column {
    FieldId id;
    std::string name;    // of then
    TableVersion until;  // to be followed down to here, whatever is found above
    bool dropped = false;
    bool found = false;
  };

  // An overwrite takes MemWAL off, and what is turned on again, or comes back by a restore, is another entry.
  static bool KeepsMemWal(const table::Manifest& version, const table::Manifest& older) {
    const table::IndexEntry* entry = version.FindIndex(table::kMemWalIndexName);
    const table::IndexEntry* before = older.FindIndex(table::kMemWalIndexName);
    return entry != nullptr && before != nullptr && entry->uuid == before->uuid;
  }
  // A Dataset does not keep what the manifest says of it.
  arrow::Result<table::Transaction> CommitOf(const table::LoadedManifest& version) const {
    if (version.transaction.has_value()) return table::LoadTransaction(table_.location(), version);
    const table::ManifestName name{version.manifest->version, version.scheme};
    ARROW_ASSIGN_OR_RAISE(const auto whole, table::LoadVersion(table_.location(), name));
    return table::LoadTransaction(table_.location(), whole);
  }
  bool IsBetween(const Column& column, TableVersion version) const {
    return column.found || version <= table_.version();
  }
  arrow::Status TellNot(const Column& column, const std::string& why, const std::string& way_on) const {
    if (column.dropped) {
      return NotSupported("column '{}' is not in the table any more, nor is any other that there was {}, and {}; {}",
                          column.name, asked_.when, why, way_on);
    }
    return NotSupported("field id {} was column '{}' {} and is column '{}' now, but {}; {}", column.id, column.name,
                        asked_.when, table_.schema().FindById(column.id)->name, why, way_on);
  }

  const Dataset& table_;
  const Asked& asked_;
  std::vector<Column> pending_;
};

arrow::Status Check(const Dataset& table, const Asked& asked) {
  Renamed renamed(table, asked);
  if (renamed.settled()) return arrow::Status::OK();
  ARROW_ASSIGN_OR_RAISE(const auto latest, table.CheckoutLatest());
  table::LoadedManifest version = latest->loaded();
  ARROW_RETURN_NOT_OK(renamed.Visit(*version.manifest));
  while (!renamed.settled()) {
    const TableVersion number = version.manifest->version;
    const table::ManifestName name{TableVersion(number.value() - 1), table.loaded().scheme};
    auto older =
        number == TableVersion(1) ? NotFound("no version is older") : table::LoadVersion(table.location(), name);
    if (HasKind(older.status(), ErrorKind::kNotFound)) {
      return renamed.EndOfHistory(fmt::format("the versions before {} are gone", number));
    }
    ARROW_RETURN_NOT_OK(older);
    ARROW_RETURN_NOT_OK(renamed.GoBelow(version, *older->manifest));
    version = *std::move(older);
    ARROW_RETURN_NOT_OK(renamed.Visit(*version.manifest));
  }
  return arrow::Status::OK();
}

}  // namespace

arrow::Status CheckColumnsStay(const Dataset& table, ColumnNames written, bool ids_kept) {
  return Check(table, {std::move(written), ids_kept, "when rows were written to a shard",
                       "if it is another column, drop it, compact the shards and add it again; if it is the same one, "
                       "give it its old name, compact, and rename it again",
                       "the rows are of the table that was there before: restore that one to read them, or remove the "
                       "shard's folder"});
}

arrow::Status CheckColumnsStaySince(const Dataset& opened, const Dataset& latest) {
  const std::string way_on = "open the newest version of the table";
  return Check(latest,
               {NamesOf(opened.schema()), /*ids_kept=*/false,
                fmt::format("in version {}, at which the table was opened,", opened.version()), way_on, way_on});
}

}  // namespace javelin::memwal
