#include "javelin/table/conflicts.h"

#include "javelin/base/error.h"
#include "javelin/table/conflict_rules_internal.h"

namespace javelin::table {

namespace {

using namespace conflict;

// The operations that follow others; Clone is always the first of its table, the last two are never ours.
constexpr size_t kOurs = 13;
using Row = std::array<Rule, kOurs + 1>;

// What was committed by another (rows, in the order of Operation) against ours (columns).
// clang-format off
constexpr std::array<Row, std::variant_size_v<Operation>> kMatrix = {{
// Append             Overwrite             CreateIndex             Delete         Update            Rewrite             Merge                     Project                  Restore                   Reserve  UpdateConfig            DataReplacement    UpdateMemWal  UpdateBases
/* Append */
  {Fine,              Fine,                 Fine,                   Fine,          AppendedKeys,     Fine,               Again,                    OurNullability,          Fine,                     Fine,    Fine,                   Fine,              Never,        Fine},
/* Overwrite */
  {Never,             OverwriteTwice,       Never,                  Never,         Never,            Never,              Never,                    Never,                   Fine,                     Never,   OverwriteUnderConfig,   Never,             Never,        Fine},
/* CreateIndex */
  {Fine,              Fine,                 SameIndexName,          Fine,          Fine,             IndexOverRewritten, AgainIfTheyInstallMemWal, Fine,                    Fine,                     Fine,    Fine,                   IndexOverReplaced, Progress,     Fine},
/* Delete */
  {Fine,              Fine,                 Fine,                   MaskedRows,    MaskedRows,       FragmentsMeet,      Again,                    Fine,                    Fine,                     Fine,    Fine,                   TargetRemoved,     Never,        Fine},
/* Update */
  {Fine,              Fine,                 PruneRewrittenColumns,  MaskedRows,    UpdateTwice,      FragmentsMeet,      Again,                    OurNullability,          Fine,                     Fine,    Fine,                   TargetMoved,       Progress,     Fine},
/* Rewrite */
  {Fine,              Fine,                 RewrittenUnderIndex,    FragmentsMeet, FragmentsMeet,    RewriteTwice,       Again,                    Fine,                    Fine,                     Fine,    Fine,                   FragmentsMeet,     Fine,         Fine},
/* Merge */
  {TheirNullability,  Fine,                 AgainIfWeInstallMemWal, Again,         Again,            Again,              Again,                    Again,                   Fine,                     Fine,    AgainIfOurSchemaConfig, Again,             Never,        Fine},
/* Project */
  {TheirNullability,  Fine,                 Fine,                   Fine,          TheirNullability, Fine,               Never,                    Again,                   Fine,                     Fine,    Fine,                   ReplacedFieldGone, Never,        Fine},
/* Restore */
  {Never,             Fine,                 Never,                  Never,         Never,            Never,              Never,                    Never,                   Fine,                     Never,   NeverIfOurSchemaConfig, Never,             Never,        Fine},
/* Reserve */
  {Fine,              Fine,                 Fine,                   Fine,          Fine,             Fine,               Fine,                     Fine,                    Fine,                     Fine,    Fine,                   Fine,              Fine,         Fine},
/* UpdateConfig */
  {Fine,              ConfigUnderOverwrite, Fine,                   Fine,          Fine,             Fine,               AgainIfTheirSchemaConfig, AgainIfTheirFieldConfig, NeverIfTheirSchemaConfig, Fine,    ConfigTwice,            Fine,              Fine,         Fine},
/* DataReplacement */
  {Fine,              Fine,                 ReplacedUnderIndex,     FragmentsMeet, FragmentsMeet,    FragmentsMeet,      Again,                    OurNullability,          Fine,                     Fine,    Fine,                   ReplacedTwice,     Never,        Fine},
/* UpdateMemWal */
  {Never,             Never,                Fine,                   Never,         Progress,         Fine,               Never,                    Never,                   Never,                    Fine,    Fine,                   Never,             Progress,     Fine},
/* Clone */
  {Never,             Never,                Never,                  Never,         Never,            Never,              Never,                    Never,                   Never,                    Never,   Never,                  Never,             Never,        Never},
/* UpdateBases */
  {Fine,              Fine,                 Fine,                   Fine,          Fine,             Fine,               Fine,                     Fine,                    Fine,                     Fine,    Fine,                   Fine,              Fine,         SameBases},
/* DataOverlay */
  {Fine,              Fine,                 OverlaidUnderIndex,     OverlaidRows,  OverlaidRows,     FragmentsMeet,      Again,                    Fine,                    Fine,                     Fine,    Fine,                   FragmentsMeet,     Fine,         Fine},
/* Unknown */
  {Never,             Never,                Never,                  Never,         Never,            Never,              Never,                    Never,                   Never,                    Never,   Never,                  Never,             Never,        Never},
}};
// clang-format on

std::optional<size_t> ColumnOf(const Operation& ours) {
  constexpr size_t kLastInOrder = 12;  // UpdateMemWalState
  if (ours.index() <= kLastInOrder) return ours.index();
  if (std::holds_alternative<UpdateBases>(ours)) return kOurs;
  return std::nullopt;
}

}  // namespace

arrow::Status Rebase(Transaction& ours, const Transaction& other, TableVersion other_version) {
  const std::optional<size_t> column = ColumnOf(ours.operation);
  if (!column) return NotSupported("committing an operation of kind {}", NameOf(ours.operation));
  const Verdict verdict = kMatrix[other.operation.index()][*column](ours.operation, other.operation, ours);
  if (verdict == Verdict::kFine) return arrow::Status::OK();
  const ErrorFields fields = {{"version", fmt::format("{}", other_version)},
                              {"operation", std::string(NameOf(other.operation))}};
  if (verdict == Verdict::kRetry) {
    return MakeError(
        ErrorKind::kRetryableConflict,
        fmt::format("this {} was preempted by a concurrent {} at version {}; run it again on the newest version",
                    NameOf(ours.operation), NameOf(other.operation), other_version),
        fields);
  }
  return MakeError(ErrorKind::kIncompatibleConflict,
                   fmt::format("this {} is incompatible with a concurrent {} at version {}", NameOf(ours.operation),
                               NameOf(other.operation), other_version),
                   fields);
}

}  // namespace javelin::table
