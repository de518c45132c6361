#include "javelin/table/apply.h"

#include "javelin/base/error.h"
#include "javelin/table/apply_internal.h"
#include "javelin/table/catch_up.h"
#include "javelin/table/feature_flags.h"
#include "javelin/table/field_ids.h"

namespace javelin::table {

namespace {

constexpr char kLibraryName[] = "javelin";

// What every new version takes over from the one before it.
Manifest Successor(const Transaction& transaction, const ApplyContext& context) {
  Manifest next = context.head == nullptr ? Manifest{} : *context.head;
  next.version = next.version.Next();
  next.timestamp_ns = context.now_ns;
  next.transaction_file = TransactionFileName(transaction);
  next.writer_version = ThisWriter();
  return next;
}

struct Applier {
  const ApplyContext& context;
  Manifest& next;

  arrow::Status operator()(const Append& append) const {
    ARROW_RETURN_NOT_OK(CheckNewRows(append.fragments, context));
    return AddFragments(append.fragments, NextFragmentId(*context.head), next);
  }
  arrow::Status operator()(const Overwrite& overwrite) const { return ApplyOverwrite(overwrite, context, next); }
  arrow::Status operator()(const CreateIndex& create) const { return ApplyCreateIndex(create, context, next); }
  arrow::Status operator()(const Delete& deletion) const { return ApplyDelete(deletion, context, next); }
  arrow::Status operator()(const Update& update) const { return ApplyUpdate(update, context, next); }
  arrow::Status operator()(const Rewrite& rewrite) const { return ApplyRewrite(rewrite, context, next); }
  arrow::Status operator()(const Merge& merge) const { return ApplyMerge(merge, context, next); }
  arrow::Status operator()(const Project& project) const { return ApplyProject(project, context, next); }
  arrow::Status operator()(const Restore& restore) const { return ApplyRestore(restore, context, next); }
  arrow::Status operator()(const ReserveFragments& reserve) const {
    return ApplyReserveFragments(reserve, context, next);
  }
  arrow::Status operator()(const UpdateConfig& config) const { return ApplyUpdateConfig(config, context, next); }
  arrow::Status operator()(const DataReplacement& replacement) const {
    return ApplyDataReplacement(replacement, context, next);
  }
  arrow::Status operator()(const UpdateMemWalState& state) const {
    return ApplyUpdateMemWalState(state, context, next);
  }
  arrow::Status operator()(const Clone& clone) const { return ApplyClone(clone, context, next); }
  arrow::Status operator()(const UpdateBases& bases) const { return ApplyUpdateBases(bases, context, next); }
  template <typename Other>
  arrow::Status operator()(const Other& other) const {
    return NotSupported("committing an operation of kind {}", NameOf(Operation(other)));
  }
};

bool CreatesTable(const Operation& operation) {
  return std::holds_alternative<Overwrite>(operation) || std::holds_alternative<Clone>(operation);
}

}  // namespace

WriterVersion ThisWriter() { return {kLibraryName, JAVELIN_VERSION}; }

arrow::Result<Manifest> ApplyTransaction(const Transaction& transaction, const ApplyContext& context) {
  if (context.head == nullptr && !CreatesTable(transaction.operation))
    return InvalidInput("an operation of kind {} needs a table", NameOf(transaction.operation));
  Manifest next = Successor(transaction, context);
  ARROW_RETURN_NOT_OK(std::visit(Applier{context, next}, transaction.operation));
  KeepFieldIds(context.head, next);
  // What is kept for good comes from the version before, and from the one whose contents a restore or clone brings.
  Manifest kept;
  if (context.head != nullptr) kept.reader_feature_flags = context.head->reader_feature_flags;
  if (context.head == nullptr) kept.reader_feature_flags = next.reader_feature_flags;
  if (context.source != nullptr) kept.reader_feature_flags |= context.source->reader_feature_flags;
  RecomputeFlags(&kept, next);
  if (context.head != nullptr && context.source == nullptr)
    RefreshCatchUp(*context.read, context.head->indices, context.system_index_uuid, next);
  return next;
}

}  // namespace javelin::table
