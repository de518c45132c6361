// What one commit did to a table, as plain values (docs/format.md, "Tables: transactions").
//
// Append, Overwrite, CreateIndex and Update are what we commit, and hold every field that ours have. The other
// operations are what somebody else may have committed meanwhile; they hold what the conflict rules (table/conflicts.h)
// ask for.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <arrow/result.h>

#include "javelin/base/ids.h"
#include "javelin/file/schema.h"
#include "javelin/table/manifest.h"
#include "javelin/table/mem_wal_details.h"

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

struct Delete {
  std::vector<Fragment> updated_fragments;
  std::vector<FragmentId> deleted_fragment_ids;
};

// Rows go, in fragments whose new deletion file masks them or with their whole fragment, and rows come, in new
// fragments. The commit may also record that SSTables are in the table now; their shards are distinct and their
// generations rise.
struct Update {
  std::vector<FragmentId> removed_fragment_ids;
  std::vector<Fragment> updated_fragments;  // as read, but for the deletion file: all masked rows, old and new
  std::vector<Fragment> new_fragments;      // id 0 = assigned when the commit is applied
  std::vector<FieldId> fields_modified;     // with rewrites_columns
  std::vector<CompactedSsTable> compacted_sstables;
  bool rewrites_columns = false;      // instead of masking rows, columns were replaced in place. Never ours
  bool guards_inserted_keys = false;  // it inserted keys that it had not found, and lists them. Never ours
};

struct Rewrite {
  std::vector<FragmentId> old_fragments;  // of all groups
};

struct Merge {
  bool preserves_nullability = false;
};

struct Project {
  bool preserves_nullability = false;
};

struct Restore {
  TableVersion version;
};

struct ReserveFragments {
  uint32_t num_fragments = 0;
};

struct UpdateConfig {
  std::set<std::string> config_keys;  // set or deleted
  bool replaces_config = false;       // every key is touched
  bool touches_schema_metadata = false;
  bool touches_field_metadata = false;
};

struct DataReplacement {
  struct Replacement {
    FragmentId fragment;
    std::vector<FieldId> fields;
  };
  std::vector<Replacement> replacements;
};

struct UpdateMemWalState {
  std::vector<CompactedSsTable> compacted_sstables;
};

struct Clone {};
struct UpdateBases {};
struct DataOverlay {};

// Committed by a writer that knows more operations than we do; nothing can be said about it.
struct UnknownOperation {
  int number = 0;  // of the message's oneof; 0 = none given
};

using Operation =
    std::variant<Append, Overwrite, CreateIndex, Delete, Update, Rewrite, Merge, Project, Restore, ReserveFragments,
                 UpdateConfig, DataReplacement, UpdateMemWalState, Clone, UpdateBases, DataOverlay, UnknownOperation>;

struct Transaction {
  TableVersion read_version;  // the version it was built against; 0 = the table does not exist yet
  std::string uuid;           // text form; a commit fills it in if it is empty
  std::string tag;
  std::map<std::string, std::string> properties;  // "__lance_commit_message" is the commit message
  Operation operation;
};

// "Append", "CreateIndex", ...: the word of messages.
std::string_view NameOf(const Operation& operation);

// The stored message. NotSupported for an operation that we never commit.
arrow::Result<std::string> EncodeTransaction(const Transaction& transaction);
// Corruption if the bytes do not decode; an operation number we do not know gives UnknownOperation.
arrow::Result<Transaction> DecodeTransaction(std::string_view bytes);

// "{read version}-{uuid}.txn", below `_transactions/`.
std::string TransactionFileName(const Transaction& transaction);

}  // namespace javelin::table
