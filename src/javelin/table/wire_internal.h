// Between the values of manifest.h and their protobuf messages. Not for use outside module table.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/result.h>
#include <google/protobuf/message_lite.h>
#include <google/protobuf/repeated_ptr_field.h>

#include "javelin/table/manifest.h"
#include "javelin/table/mem_wal_details.h"
#include "lanceproto/file.pb.h"
#include "lanceproto/table.pb.h"

namespace javelin::table {

namespace wire = ::lance::table;

// The message's bytes; equal messages give equal bytes (maps in key order).
std::string Serialize(const google::protobuf::MessageLite& message);
// Corruption naming `what` if the bytes do not decode.
arrow::Status Parse(std::string_view bytes, google::protobuf::MessageLite& message, std::string_view what);

wire::DataFile ToWire(const DataFile& file);
arrow::Result<DataFile> FromWire(const wire::DataFile& message);

wire::DataFragment ToWire(const Fragment& fragment);
arrow::Result<Fragment> FromWire(const wire::DataFragment& message);
arrow::Result<std::vector<Fragment>> FromWire(const google::protobuf::RepeatedPtrField<wire::DataFragment>& messages);

wire::BasePath ToWire(const BasePath& base);
BasePath FromWire(const wire::BasePath& message);

// The entry of a stored IndexMetadata message; `encoded` keeps it whole.
arrow::Result<IndexEntry> DecodeIndexEntry(std::string encoded);

// Corruption if a shard id is not a UUID.
arrow::Result<std::vector<CompactedSsTable>> FromWire(
    const google::protobuf::RepeatedPtrField<wire::CompactedSsTable>& messages);

void FillSsTables(const std::vector<CompactedSsTable>& tables,
                  google::protobuf::RepeatedPtrField<wire::CompactedSsTable>* messages);

void FillSchema(const file::Schema& schema, google::protobuf::RepeatedPtrField<lance::file::Field>* fields);

// Arrow metadata values are bytes on the wire; text in ours.
template <typename ProtoMap>
std::map<std::string, std::string> ToStdMap(const ProtoMap& map) {
  return std::map<std::string, std::string>(map.begin(), map.end());
}
template <typename ProtoMap>
void FillProtoMap(const std::map<std::string, std::string>& from, ProtoMap* to) {
  for (const auto& [key, value] : from) (*to)[key] = value;
}

}  // namespace javelin::table
