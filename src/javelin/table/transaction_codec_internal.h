// Between operations and their messages, by family. Not for use outside module table.
#pragma once

#include <arrow/result.h>

#include "javelin/table/transaction.h"
#include "lanceproto/transaction.pb.h"

namespace javelin::table {

using TransactionMessage = ::lance::table::Transaction;

// Rows (transaction_rows.cc).
void Encode(const Append& append, TransactionMessage& message);
void Encode(const Overwrite& overwrite, TransactionMessage& message);
void Encode(const Delete& deletion, TransactionMessage& message);
void Encode(const Update& update, TransactionMessage& message);
void Encode(const Rewrite& rewrite, TransactionMessage& message);
void Encode(const DataReplacement& replacement, TransactionMessage& message);
arrow::Result<Operation> Decode(const TransactionMessage::Append& message);
arrow::Result<Operation> Decode(const TransactionMessage::Overwrite& message);
arrow::Result<Operation> Decode(const TransactionMessage::Delete& message);
arrow::Result<Operation> Decode(const TransactionMessage::Update& message);
arrow::Result<Operation> Decode(const TransactionMessage::Rewrite& message);
arrow::Result<Operation> Decode(const TransactionMessage::DataReplacement& message);

// What a table says of itself (transaction_metadata.cc).
void Encode(const CreateIndex& create, TransactionMessage& message);
void Encode(const Merge& merge, TransactionMessage& message);
void Encode(const Project& project, TransactionMessage& message);
void Encode(const Restore& restore, TransactionMessage& message);
void Encode(const ReserveFragments& reserve, TransactionMessage& message);
void Encode(const UpdateConfig& config, TransactionMessage& message);
void Encode(const UpdateMemWalState& state, TransactionMessage& message);
void Encode(const Clone& clone, TransactionMessage& message);
void Encode(const UpdateBases& bases, TransactionMessage& message);
arrow::Result<Operation> Decode(const TransactionMessage::CreateIndex& message);
arrow::Result<Operation> Decode(const TransactionMessage::Merge& message);
arrow::Result<Operation> Decode(const TransactionMessage::Project& message);
arrow::Result<Operation> Decode(const TransactionMessage::UpdateConfig& message);
arrow::Result<Operation> Decode(const TransactionMessage::UpdateMemWalState& message);
arrow::Result<Operation> Decode(const TransactionMessage::Clone& message);
arrow::Result<Operation> Decode(const TransactionMessage::UpdateBases& message);
arrow::Result<Operation> Decode(const TransactionMessage::DataOverlay& message);

}  // namespace javelin::table
