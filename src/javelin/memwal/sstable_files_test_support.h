// For tests: whether every file of an SSTable that is listed is there and says what it should. Rows are read without
// the key files, so what is wrong with them shows nowhere else.
#pragma once

#include <memory>
#include <set>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <arrow/api.h>

#include "javelin/base/error.h"
#include "javelin/file/data_file_reader.h"
#include "javelin/index/bloom_filter.h"
#include "javelin/index/btree_files.h"
#include "javelin/index/key_hash.h"
#include "javelin/memwal/shard_manifest.h"
#include "javelin/memwal/sstable.h"
#include "javelin/table/deletion_vector.h"
#include "javelin/table/versions.h"

namespace javelin::memwal {

// One folder as one flush of ours wrote it.
class SsTableFolder {
 public:
  SsTableFolder(const Resources& resources, std::shared_ptr<ObjectStore> store, std::string folder)
      : resources_(resources), store_(std::move(store)), folder_(std::move(folder)) {}

  // Corruption, or the error of the store or of a decoder, if anything is missing, is there besides, or says something
  // else than the data file.
  arrow::Status Check() {
    ARROW_ASSIGN_OR_RAISE(const auto loaded, table::LoadVersion({store_, folder_, folder_}, kVersion));
    manifest_ = *loaded.manifest;
    ARROW_ASSIGN_OR_RAISE(table_, SsTable::Open(resources_, store_, folder_));
    ARROW_RETURN_NOT_OK(ReadKeys());
    ARROW_RETURN_NOT_OK(CheckNames());
    if (keys_.empty()) return arrow::Status::OK();
    ARROW_RETURN_NOT_OK(CheckKeyIndex());
    return CheckKeyFilter();
  }
  uint64_t num_rows() const { return table_->num_rows(); }

 private:
  static constexpr table::ManifestName kVersion{TableVersion(1)};

  arrow::Status Wrong(const std::string& what) const { return Corruption("{}: {}", folder_, what); }

  arrow::Status ReadKeys() {
    std::vector<file::Field> key;
    for (const file::Field* field : manifest_.schema.PrimaryKey()) key.push_back(*field);
    if (key.empty()) return arrow::Status::OK();
    ARROW_ASSIGN_OR_RAISE(const auto rows, table_->Read(file::Schema(key, {}), 0, num_rows()));
    keys_ = rows->columns();
    return arrow::Status::OK();
  }

  arrow::Status CheckNames() const {
    const table::Fragment& fragment = manifest_.fragments.at(0);
    std::set<std::string> expected = {"data/" + fragment.files.at(0).path, "_versions/" + table::ToFileName(kVersion)};
    if (!keys_.empty())
      expected.insert({"_pk_index/page_data.lance", "_pk_index/page_lookup.lance", "bloom_filter.bin"});
    if (fragment.deletion_file.has_value())
      expected.insert("_deletions/" + table::DeletionFileName(fragment.id, *fragment.deletion_file));
    std::set<std::string> there;
    ARROW_ASSIGN_OR_RAISE(const ListPage page, ListAll(*store_, {.prefix = folder_ + "/"}));
    for (const ObjectInfo& object : page.objects) there.insert(object.key.substr(folder_.size() + 1));
    if (there == expected) return arrow::Status::OK();
    return Wrong(fmt::format("holds [{}], not [{}]", fmt::join(there, ", "), fmt::join(expected, ", ")));
  }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Decode(const std::string& name) const {
    ARROW_ASSIGN_OR_RAISE(const auto reader, file::DataFileReader::Open(resources_, store_, JoinKey(folder_, name)));
    return reader->Read(reader->schema(), reader->DefaultColumns(), 0, reader->num_rows());
  }

  // Every row once, under its key; rows of one key side by side, so that all but one of them are superseded.
  arrow::Status CheckKeyIndex() const {
    ARROW_ASSIGN_OR_RAISE(const auto pairs, Decode("_pk_index/page_data.lance"));
    if (pairs->num_rows() != static_cast<int64_t>(num_rows()))
      return Wrong(fmt::format("the key index has {} entries for {} rows", pairs->num_rows(), num_rows()));
    ARROW_ASSIGN_OR_RAISE(const auto expected, index::KeyIndexValues(keys_, resources_.pool));
    const auto& values = *pairs->GetColumnByName("values");
    const auto& rows = static_cast<const arrow::UInt64Array&>(*pairs->GetColumnByName("ids"));
    std::set<uint64_t> seen;
    uint64_t doubled = 0;
    for (int64_t i = 0; i < pairs->num_rows(); ++i) {
      const auto row = static_cast<int64_t>(rows.Value(i));
      const bool right =
          seen.insert(rows.Value(i)).second && row < expected->length() && values.RangeEquals(*expected, i, i + 1, row);
      if (!right) return Wrong(fmt::format("entry {} of the key index is wrong", i));
      if (i > 0 && values.RangeEquals(values, i, i + 1, i - 1)) ++doubled;
    }
    if (table_->superseded().size() != doubled)
      return Wrong(fmt::format("{} rows are superseded, {} are taken out", doubled, table_->superseded().size()));
    ARROW_ASSIGN_OR_RAISE(const auto pages, Decode("_pk_index/page_lookup.lance"));
    const uint64_t expected_pages = (num_rows() + index::kKeyIndexPageRows - 1) / index::kKeyIndexPageRows;
    if (pages->num_rows() != static_cast<int64_t>(expected_pages))
      return Wrong("the key index has another number of pages");
    return arrow::Status::OK();
  }

  arrow::Status CheckKeyFilter() const {
    ARROW_ASSIGN_OR_RAISE(const BufferPtr bytes, store_->Get(JoinKey(folder_, "bloom_filter.bin")));
    ARROW_ASSIGN_OR_RAISE(const auto filter, index::BloomFilter::FromBytes(*bytes));
    std::vector<std::shared_ptr<arrow::DataType>> types;
    for (const auto& column : keys_) types.push_back(column->type());
    ARROW_ASSIGN_OR_RAISE(const auto hasher, index::KeyHasher::Make(types));
    ARROW_ASSIGN_OR_RAISE(const auto hashes, hasher.Hash(keys_));
    for (const uint64_t hash : hashes)
      if (!filter.MayContain(hash)) return Wrong("the key filter hides a row");
    return arrow::Status::OK();
  }

  const Resources resources_;
  const std::shared_ptr<ObjectStore> store_;
  const std::string folder_;
  table::Manifest manifest_;
  std::shared_ptr<SsTable> table_;
  arrow::ArrayVector keys_;  // columns of the key; none without one
};

// All that the manifest lists.
inline arrow::Status CheckSsTableFiles(const Resources& resources, const std::shared_ptr<ObjectStore>& store,
                                       const ShardPaths& paths, const ShardManifest& manifest) {
  for (const SsTableEntry& entry : manifest.sstables) {
    SsTableFolder folder(resources, store, JoinKey(paths.shard_folder, entry.path));
    ARROW_RETURN_NOT_OK(folder.Check());
    if (entry.physical_rows != folder.num_rows())
      return Corruption("{} has {} rows, the shard says otherwise", entry.path, folder.num_rows());
  }
  return arrow::Status::OK();
}

}  // namespace javelin::memwal
