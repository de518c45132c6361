// The rules that the conflict matrix (conflicts.cc) names. Each is a pure function of the two transactions, but for one
// that prunes the coverage of our new indices. Not for use outside module table.
#pragma once

#include "javelin/table/transaction.h"

namespace javelin::table::conflict {

enum class Verdict { kFine, kRetry, kNever };  // from good to bad

using Rule = Verdict (*)(Operation& ours, const Operation& theirs, const Transaction& transaction);

#define JAVELIN_RULE(name) Verdict name(Operation& ours, const Operation& theirs, const Transaction& transaction)

JAVELIN_RULE(Fine);
JAVELIN_RULE(Again);  // run the operation again
JAVELIN_RULE(Never);

// Nullability: new rows may lack, or null, a column that must not be null any more.
JAVELIN_RULE(TheirNullability);  // again if theirs did not keep it
JAVELIN_RULE(OurNullability);    // again if ours does not keep it

// Configuration keys and metadata that both set.
JAVELIN_RULE(OverwriteTwice);          // never if both set a configuration key, else again
JAVELIN_RULE(ConfigUnderOverwrite);    // ours Overwrite, theirs UpdateConfig: never if both set a key
JAVELIN_RULE(OverwriteUnderConfig);    // ours UpdateConfig, theirs Overwrite: also if ours is on schema or fields
JAVELIN_RULE(NeverIfOurSchemaConfig);  // ours UpdateConfig of schema or field metadata
JAVELIN_RULE(AgainIfOurSchemaConfig);
JAVELIN_RULE(NeverIfTheirSchemaConfig);
JAVELIN_RULE(AgainIfTheirSchemaConfig);
JAVELIN_RULE(AgainIfTheirFieldConfig);  // a schema of ours would undo it
JAVELIN_RULE(ConfigTwice);              // never if both change one key, or both the schema's or one field's metadata
JAVELIN_RULE(SameBases);                // never if both add a base of the same id, name or path

// Indices.
JAVELIN_RULE(SameIndexName);           // both CreateIndex
JAVELIN_RULE(RewrittenUnderIndex);     // theirs Rewrite moved rows that ours covers
JAVELIN_RULE(IndexOverRewritten);      // theirs CreateIndex covers rows that our Rewrite moves
JAVELIN_RULE(ReplacedUnderIndex);      // theirs DataReplacement of an indexed field
JAVELIN_RULE(IndexOverReplaced);       // theirs CreateIndex on a field whose values ours replaces
JAVELIN_RULE(OverlaidUnderIndex);      // theirs DataOverlay
JAVELIN_RULE(PruneRewrittenColumns);   // theirs Update of columns: its fragments leave the coverage of our indices
JAVELIN_RULE(AgainIfWeInstallMemWal);  // ours CreateIndex
JAVELIN_RULE(AgainIfTheyInstallMemWal);

// Rows of a fragment. Fragments "meet" if both change one.
JAVELIN_RULE(FragmentsMeet);      // again
JAVELIN_RULE(MaskedRows);         // again, unless both only mask rows, and ours are known: merged later (row_rebase.h)
JAVELIN_RULE(OverlaidRows);       // theirs DataOverlay, again if ours changes any fragment
JAVELIN_RULE(RewriteTwice);       // as FragmentsMeet; again if ours brings a fragment reuse entry
JAVELIN_RULE(UpdateTwice);        // MaskedRows, inserted keys and progress together
JAVELIN_RULE(AppendedKeys);       // again if ours lists inserted keys: the appended rows may have them
JAVELIN_RULE(TargetRemoved);      // ours DataReplacement: never if theirs removed its fragment
JAVELIN_RULE(TargetMoved);        // ours DataReplacement: the same, again if theirs changed its fragment
JAVELIN_RULE(ReplacedFieldGone);  // ours DataReplacement: never if the field is no longer in the schema
JAVELIN_RULE(ReplacedTwice);      // both DataReplacement: again if a field of one fragment meets

// Progress of one shard in both: never if theirs is at or above ours, else again.
JAVELIN_RULE(Progress);

#undef JAVELIN_RULE

}  // namespace javelin::table::conflict
