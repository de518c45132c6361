// What one commit did to a table, as plain values (docs/format.md, "Tables: transactions").
//
// Every operation holds all that its stored message has, so that ours and another's are the same type. What a commit
// knows beyond the message (rows it masks, a fragment reuse entry) says so and is never stored.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <arrow/result.h>

#include "javelin/base/ids.h"
#include "javelin/file/schema.h"
#include "javelin/table/key_filter.h"
#include "javelin/table/manifest.h"
#include "javelin/table/mem_wal_details.h"
#include "javelin/table/offset_set.h"

namespace javelin::table {

struct Append {
  std::vector<Fragment> fragments;  // id 0 = assigned when the commit is applied
};

// Replaces the contents and the schema of the table, and creates it (read_version 0). Indices are dropped,
// configuration stays.
struct Overwrite {
  std::vector<Fragment> fragments;
  file::Schema schema;
  std::map<std::string, std::string> config_upserts;
  std::vector<BasePath> initial_bases;  // only when the table is created
  std::string data_format_version;  // of the new files, "2.2"; empty = the table's own. Not part of the stored message
};

// Removal is by UUID, but the MemWAL entry, whose UUID changes with every progress update, is removed by its name. A
// new MemWAL entry takes compaction progress and catch-up from the entry of the version it lands on, never from this
// transaction.
struct CreateIndex {
  std::vector<IndexEntry> new_indices;
  std::vector<IndexEntry> removed_indices;
};

// Rows go: in fragments whose new deletion file masks them, or with their whole fragment.
struct Delete {
  std::vector<Fragment> updated_fragments;  // as read, but for the deletion file: all masked rows, old and new
  std::vector<FragmentId> deleted_fragment_ids;
  std::string predicate;  // for people
};

// Rows go as in Delete, and rows come, in new fragments. The commit may also record that SSTables are in the table now;
// their shards are distinct and their generations rise.
struct Update {
  std::vector<FragmentId> removed_fragment_ids;
  // Rows rewritten: as in Delete. Columns rewritten: with the new file, and the old files' ids of these columns -2.
  std::vector<Fragment> updated_fragments;
  std::vector<Fragment> new_fragments;   // id 0 = assigned when the commit is applied
  std::vector<FieldId> fields_modified;  // columns rewritten in place
  std::vector<CompactedSsTable> compacted_sstables;
  bool rewrites_columns = false;  // columns of the updated fragments were replaced, instead of rows masked
  // Columns whose values the new fragments may have changed; stored as all that they hold when empty.
  std::vector<FieldId> changed_fields{};
  // With rewrites_columns, by fragment: the rows whose values changed; a fragment not listed: all of them.
  std::map<FragmentId, OffsetSet> updated_offsets{};
  std::optional<KeyFilter> inserted_keys{};  // of a merge-insert on the primary key: keys it did not find and inserted
};

struct IndexFile {
  std::string path;  // below the folder of the index
  uint64_t size_bytes = 0;
  friend bool operator==(const IndexFile&, const IndexFile&) = default;
};

// The rows of each group's old fragments now lie in its new ones, whose ids were reserved before (ReserveFragments).
struct Rewrite {
  struct Group {
    std::vector<Fragment> old_fragments, new_fragments;
  };
  struct RewrittenIndex {
    std::string old_uuid, new_uuid;  // 16 bytes each
    std::string details_type_url, details;
    uint32_t version = 0;
    std::vector<IndexFile> files;
    friend bool operator==(const RewrittenIndex&, const RewrittenIndex&) = default;
  };
  std::vector<Group> groups;
  std::vector<RewrittenIndex> rewritten_indices;
  // Replaces the fragment reuse entry of the table; then the other indices stay as they are. Not stored.
  std::optional<IndexEntry> fragment_reuse{};

  std::vector<FragmentId> OldFragments() const;  // of all groups
};

// Columns come: the whole list of fragments and the schema anew.
struct Merge {
  std::vector<Fragment> fragments;
  file::Schema schema;
  bool preserves_nullability = false;  // no column became non-nullable
};

// The schema alone: columns dropped, renamed, or made nullable.
struct Project {
  file::Schema schema;
  bool preserves_nullability = false;
};

// The contents of an older version again.
struct Restore {
  TableVersion version;
};

// Takes fragment ids, for a Rewrite that follows.
struct ReserveFragments {
  uint32_t num_fragments = 0;
};

// A change of a map; a key without a value is deleted.
struct MapUpdate {
  std::map<std::string, std::optional<std::string>> entries;
  bool replaces = false;  // the entries are all that is left

  std::map<std::string, std::string> ApplyTo(std::map<std::string, std::string> map) const;
  friend bool operator==(const MapUpdate&, const MapUpdate&) = default;
};

struct UpdateConfig {
  std::optional<MapUpdate> config;
  std::optional<MapUpdate> table_metadata;
  std::optional<MapUpdate> schema_metadata;
  std::map<FieldId, MapUpdate> field_metadata;
  friend bool operator==(const UpdateConfig&, const UpdateConfig&) = default;
};

// New files for columns of fragments, with a value for each physical row.
struct DataReplacement {
  struct Replacement {
    FragmentId fragment;
    DataFile new_file;
    friend bool operator==(const Replacement&, const Replacement&) = default;
  };
  std::vector<Replacement> replacements;
};

struct UpdateMemWalState {
  std::vector<CompactedSsTable> compacted_sstables;
};

// The first version of a table that takes over the files of another's version.
struct Clone {
  bool is_shallow = true;
  std::optional<std::string> ref_name;
  TableVersion ref_version;
  std::string ref_path;
  std::optional<std::string> branch_name;
  friend bool operator==(const Clone&, const Clone&) = default;
};

struct UpdateBases {
  std::vector<BasePath> new_bases;  // id 0 = assigned when the commit is applied
};

// Never ours.
struct DataOverlay {
  std::vector<FragmentId> fragments;
};

// Committed by a writer that knows more operations than we do; nothing can be said about it.
struct UnknownOperation {
  int number = 0;  // of the message's oneof; 0 = none given
};

using Operation =
    std::variant<Append, Overwrite, CreateIndex, Delete, Update, Rewrite, Merge, Project, Restore, ReserveFragments,
                 UpdateConfig, DataReplacement, UpdateMemWalState, Clone, UpdateBases, DataOverlay, UnknownOperation>;

// By fragment, the offsets of rows.
using RowsByFragment = std::map<FragmentId, OffsetSet>;

struct Transaction {
  TableVersion read_version;  // the version it was built against; 0 = the table does not exist yet
  std::string uuid;           // text form; a commit fills it in if it is empty
  std::string tag;
  std::map<std::string, std::string> properties;  // "__lance_commit_message" is the commit message
  Operation operation;
  // All rows that a Delete or Update masks or removes: with them it is merged with other deletions in the same
  // fragments, without them it has to run again. Not stored.
  std::optional<RowsByFragment> affected_rows{};
};

// "Append", "CreateIndex", ...: the word of messages.
std::string_view NameOf(const Operation& operation);

// The stored message. NotSupported: DataOverlay and UnknownOperation.
arrow::Result<std::string> EncodeTransaction(const Transaction& transaction);
// Corruption if the bytes do not decode; an operation number we do not know gives UnknownOperation.
arrow::Result<Transaction> DecodeTransaction(std::string_view bytes);

// "{read version}-{uuid}.txn", below `_transactions/`.
std::string TransactionFileName(const Transaction& transaction);

}  // namespace javelin::table
