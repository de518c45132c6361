#include "javelin/memwal/column_history.h"

#include "javelin/base/error.h"
#include "javelin/memwal/shard_schemas.h"
#include "javelin/table/versions.h"

namespace javelin::memwal {

namespace {

arrow::Status TellNot(const Dataset& table, const std::pair<FieldId, std::string>& then, const std::string& why) {
  const auto& [id, name] = then;
  return NotSupported(
      "field id {} was column '{}' when rows were written to a shard and is column '{}' now, but {}; if it is another "
      "column, drop it, compact the shards and add it again; if it is the same one, give it its old name, compact, and "
      "rename it again",
      id, name, table.schema().FindById(id)->name, why);
}

}  // namespace

ColumnNames NamesOf(const file::Schema& schema) {
  ColumnNames names;
  for (const file::Field& field : schema.fields()) {
    // The id of that one is also that of the next column which the table gets.
    if (field.name != kTombstoneColumn) names.emplace(field.id, field.name);
  }
  return names;
}

namespace {

// The columns whose name is not that of the table's version, followed down from the newest version of all: the rows may
// be older or newer than that version.
class Renamed {
 public:
  Renamed(const Dataset& table, ColumnNames names) : table_(table) {
    for (auto& column : names) {
      const file::Field* today = table.schema().FindById(column.first);
      if (today != nullptr && today->name != column.second) pending_.push_back({std::move(column), false});
    }
  }
  bool settled() const { return pending_.empty(); }
  arrow::Status Unsure(const std::string& why) const { return TellNot(table_, pending_[0].then, why); }

  // Between the version of the table and the one with the name of then there must be none without the column.
  arrow::Status Visit(const table::Manifest& version) {
    for (auto column = pending_.begin(); column != pending_.end();) {
      const file::Field* field = version.schema.FindById(column->then.first);
      const bool reached = version.version <= table_.version();
      if (field == nullptr && (reached || column->found)) {
        return TellNot(table_, column->then, fmt::format("version {} has no such column", version.version));
      }
      column->found = column->found || (field != nullptr && field->name == column->then.second);
      column = column->found && reached ? pending_.erase(column) : std::next(column);
    }
    return arrow::Status::OK();
  }

 private:
  struct Column {
    std::pair<FieldId, std::string> then;
    bool found = false;
  };
  const Dataset& table_;
  std::vector<Column> pending_;
};

}  // namespace

arrow::Status CheckColumnsStay(const Dataset& table, ColumnNames written, bool ids_kept) {
  Renamed renamed(table, std::move(written));
  if (renamed.settled()) return arrow::Status::OK();
  ARROW_ASSIGN_OR_RAISE(const auto latest, table.CheckoutLatest());
  ARROW_RETURN_NOT_OK(renamed.Visit(latest->manifest()));
  for (uint64_t version = latest->version().value() - 1; !renamed.settled(); --version) {
    const table::ManifestName name{TableVersion(version), table.loaded().scheme};
    const arrow::Result<table::LoadedManifest> older =
        version == 0 ? NotFound("no version is older") : table::LoadVersion(table.location(), name);
    if (HasKind(older.status(), ErrorKind::kNotFound)) {
      if (ids_kept) return arrow::Status::OK();
      return renamed.Unsure(fmt::format("the versions before {} are gone", version + 1));
    }
    ARROW_RETURN_NOT_OK(older);
    ARROW_RETURN_NOT_OK(renamed.Visit(*older->manifest));
  }
  return arrow::Status::OK();
}

}  // namespace javelin::memwal
