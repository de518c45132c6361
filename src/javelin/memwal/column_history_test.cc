// What became of columns that rows were written under, told from the versions of the table.
#include "javelin/memwal/column_history.h"

#include "javelin/memwal/schema_change_test_support.h"
#include "javelin/table/index_entry.h"
#include "javelin/table/versions.h"

namespace javelin::memwal {
namespace {

using namespace test;

// Transactions as others store them: {uuid "x", operation}.
const std::string kOverwrite("\x12\x01x\xb2\x06\x00", 6);
const std::string kUnknown("\x12\x01x\xba\x0c\x00", 6);
std::string RestoreOf(char version) { return std::string("\x12\x01x\xd2\x06\x02\x08", 7) + version; }

constexpr FieldId kText(1);

// A table whose column 1 is `text` in its versions 1 and 2, and whatever a test says in those that follow.
class History {
 public:
  History() {
    world_.CreateTable();
    world_.Run([&](Process& process) { indices_ = process.Table()->manifest().indices; });
  }

  enum MemWal { kOff, kOn, kOnAgain };
  // The next version.
  void Commit(const std::string& name, const std::string& transaction, MemWal mem_wal = kOn) {
    world_.Run([&](Process& process) {
      const PutRequest version = NextVersion(
          *process.Table(),
          [&](table::Manifest& manifest) {
            auto columns = manifest.schema.fields();
            columns.at(1).name = name;
            manifest.schema = {columns, manifest.schema.metadata()};
            manifest.indices.clear();
            if (mem_wal == kOn) manifest.indices = indices_;
            if (mem_wal == kOnAgain)
              manifest.indices = {table::Reissued(indices_.at(0), table::Uuid::Random(9, 9), 5, 1)};
            manifest.transaction_file.clear();
          },
          transaction);
      ASSERT_OK(world_.store->raw().PutIfAbsent(version.key, version.bytes));
    });
  }
  void Rename(const std::string& name, MemWal mem_wal = kOn) {
    Commit(name, std::string("\x12\x01x\xea\x06\x02\x10\x01", 8), mem_wal);
  }
  void DeleteVersion(uint64_t version) {
    ASSERT_OK(world_.store->raw().Delete("table/_versions/" +
                                         table::ToFileName({TableVersion(version), table::NamingScheme::kV2})));
  }

  // Of rows that were written when the column had that name, in a version of the table; by default the newest.
  arrow::Status Check(const std::string& then, bool ids_kept = false, std::optional<uint64_t> version = {}) {
    arrow::Status status;
    world_.Run([&](Process& process) {
      auto table = process.Table();
      if (version.has_value()) table = Must(table->Checkout(TableVersion(*version)));
      status = CheckColumnsStay(*table, {{kText, then}}, ids_kept);
    });
    return status;
  }
  World& world() { return world_; }

 private:
  World world_;
  std::vector<table::IndexEntry> indices_;
};

TEST(ColumnHistory, AnOverwriteIsNoRename) {
  for (const bool ids_kept : {false, true}) {
    History table;                                      // 1, 2: text
    table.Rename("words");                              // 3
    table.Commit("note", kOverwrite, History::kOff);    // 4
    table.Commit("note", kReserve, History::kOnAgain);  // 5
    table.Rename("remark", History::kOnAgain);          // 6
    for (const std::string then : {"text", "words"})
      ExpectError(table.Check(then, ids_kept), ErrorKind::kNotSupported, "version 4 overwrote the table");
    ASSERT_OK(table.Check("note", ids_kept));
    ASSERT_OK(table.Check("remark", ids_kept));
  }
}

// The table is read at a version of before, or the name of then is older than what was overwritten.
TEST(ColumnHistory, OnlyWhatLiesBetweenCounts) {
  History table;                                      // 1, 2: text
  table.Rename("words");                              // 3
  table.Commit("note", kOverwrite, History::kOff);    // 4
  table.Commit("note", kReserve, History::kOnAgain);  // 5
  table.Rename("remark", History::kOnAgain);          // 6
  ASSERT_OK(table.Check("words", false, 2));
  ASSERT_OK(table.Check("text", false, 3));
  ASSERT_OK(table.Check("remark", false, 5));
  for (const std::string then : {"note", "remark"})
    ExpectError(table.Check(then, false, 3), ErrorKind::kNotSupported, "version 4 overwrote the table");
}

// The commit before and the one behind it have no MemWAL either.
TEST(ColumnHistory, AnOverwriteWhileMemWalIsOffIsSeenToo) {
  History table;                                        // 1, 2: text
  table.Commit("text", kReserve, History::kOff);        // 3
  table.Commit("note", kOverwrite, History::kOff);      // 4
  table.Rename("remark", History::kOff);                // 5
  table.Commit("remark", kReserve, History::kOnAgain);  // 6
  ExpectError(table.Check("text"), ErrorKind::kNotSupported, "version 4 overwrote the table");
  ASSERT_OK(table.Check("note"));
}

// Rows of such a name may be of before it or of after it, and nothing tells which.
TEST(ColumnHistory, ANameThatAnOverwriteKeepsIsTheSameColumn) {
  History table;                                    // 1, 2: text
  table.Commit("text", kOverwrite, History::kOff);  // 3
  table.Rename("words", History::kOnAgain);         // 4
  ASSERT_OK(table.Check("text"));
  ASSERT_OK(table.Check("words"));
}

TEST(ColumnHistory, ARestoreLeadsPastWhatItUndid) {
  History renamed;                                   // 1, 2: text
  renamed.Rename("words");                           // 3
  renamed.Commit("words", kReserve, History::kOff);  // 4
  renamed.Commit("text", RestoreOf(2));              // 5
  ASSERT_OK(renamed.Check("words"));
  History overwritten;                                    // 1, 2: text
  overwritten.Commit("note", kOverwrite, History::kOff);  // 3
  overwritten.Rename("remark", History::kOnAgain);        // 4
  overwritten.Commit("text", RestoreOf(2));               // 5
  ExpectError(overwritten.Check("remark"), ErrorKind::kNotSupported, "version 3 overwrote the table");
  overwritten.Rename("words");  // 6
  ASSERT_OK(overwritten.Check("text"));
  for (const std::string then : {"note", "remark"})
    ExpectError(overwritten.Check(then), ErrorKind::kNotSupported, "version 3 overwrote the table");
}

TEST(ColumnHistory, WhatAVersionDidMustBeKnown) {
  for (const std::string& transaction : {kUnknown, std::string()}) {
    History table;                                      // 1, 2: text
    table.Commit("words", transaction, History::kOff);  // 3
    table.Rename("x");                                  // 4
    ExpectError(table.Check("text"), ErrorKind::kNotSupported, "nothing says what version 3 did");
    ASSERT_OK(table.Check("text", /*ids_kept=*/true));
  }
}

TEST(ColumnHistory, VersionsThatAreGone) {
  History table;          // 1, 2: text
  table.Rename("words");  // 3
  table.Rename("x");      // 4
  table.DeleteVersion(2);
  ExpectError(table.Check("text"), ErrorKind::kNotSupported, "the versions before 3 are gone");
  ASSERT_OK(table.Check("text", /*ids_kept=*/true));
  ASSERT_OK(table.Check("words"));
}

// No rows are spoken of where only the table was opened.
TEST(ColumnHistory, AnOldVersionOfTheTable) {
  History table;          // 1, 2: text
  table.Rename("words");  // 3
  table.Rename("x");      // 4
  table.world().Run([&](Process& process) {
    const auto newest = process.Table();
    const auto opened = Must(newest->Checkout(TableVersion(2)));
    ASSERT_OK(CheckColumnsStaySince(*opened, *newest));
    table.DeleteVersion(3);
    const auto status = CheckColumnsStaySince(*opened, *newest);
    ExpectError(status, ErrorKind::kNotSupported, "open the newest version of the table");
    EXPECT_EQ(status.message().find("rows"), std::string::npos) << status.message();
  });
}

// Wherever the rows lie, values of a column of before are never shown as those of another one.
TEST(ColumnHistory, RowsOfATableThatWasOverwrittenAreNotShown) {
  for (const bool flushed : {false, true}) {
    SCOPED_TRACE(flushed);
    History table;
    World& world = table.world();
    world.Run([&](Process& process) {
      const auto writer = process.Open(Eager());
      ASSERT_OK(writer->Put({Row(1, "before")}));
      if (flushed) ASSERT_OK(writer->Flush());
      writer->Abort();
    });
    table.Commit("text", kReserve);
    table.Commit("note", kOverwrite, History::kOff);
    table.Commit("note", kReserve, History::kOnAgain);
    world.Run([&](Process& process) {
      const auto now = process.Table();
      const std::string word = "overwrote the table; the rows are of the table that was there before";
      if (!flushed) {
        ExpectError(ShardWriter::Open(*now, kShard, Eager()).status(), ErrorKind::kNotSupported, word);
        return;
      }
      const auto view = Must(FreshView::Open(*now));
      ExpectError(Must(view->Scan())->ToTable().status(), ErrorKind::kNotSupported, word);
      ExpectError(view->Get(*Keys("[[1]]")).status(), ErrorKind::kNotSupported, word);
      ExpectError(view->Get(*Keys("[[2]]")).status(), ErrorKind::kNotSupported, word);
      ExpectError(CompactShards(*now).status(), ErrorKind::kNotSupported, word);
      EXPECT_EQ(process.Table()->version(), now->version());
    });
    // As the error says.
    for (const auto& object : Must(ListAll(world.store->raw(), {.prefix = Paths().shard_folder + "/"})).objects)
      ASSERT_OK(world.store->raw().Delete(object.key));
    world.Run([&](Process& process) {
      const auto writer = process.Open(Eager());
      ASSERT_OK(writer->Put({Batch(writer->arrow_schema(), R"([[2, "after"]])")}));
      ASSERT_OK(writer->Close());
      EXPECT_EQ(process.Fresh(), "2:after");
    });
  }
}

// Without a key, and where every column has another id, rows of before would come out as rows of nothing but nulls.
class RowsWithoutAKey : public testing::TestWithParam<std::string> {
 protected:
  // A row that lies where the parameter says; then all columns are others, by that transaction.
  void Make(const std::string& transaction, const std::function<void(Process&, ShardWriter&)>& then) {
    world_.CreateTable("[]", {}, KeylessSchema());
    world_.Run([&](Process& process) {
      const auto writer = process.Open(Eager());
      ASSERT_OK(writer->Put({Row(1, "before")}));
      if (GetParam() == "sstable") ASSERT_OK(writer->Flush());
      if (GetParam() != "memory") writer->Abort();
      const PutRequest version = NextVersion(
          *process.Table(),
          [&](table::Manifest& manifest) {
            manifest.schema = {{Column("x", 2, arrow::int64()), Column("y", 3, arrow::utf8())}, {}};
            manifest.indices = {table::Reissued(manifest.indices.at(0), table::Uuid::Random(9, 9), 5, 1)};
          },
          transaction);
      ASSERT_OK(world_.store->raw().PutIfAbsent(version.key, version.bytes));
      then(process, *writer);
    });
  }
  World world_;
};

TEST_P(RowsWithoutAKey, AreNotThoseOfATableThatOverwroteTheirs) {
  Make(kOverwrite, [&](Process& process, ShardWriter& writer) {
    const auto table = process.Table();
    if (GetParam() == "memory") {
      ExpectError(FreshView::Open(*table).status(), ErrorKind::kNotSupported, "none of the columns");
      ExpectError(writer.Evolve().status(), ErrorKind::kInvalidInput, "no column");
      writer.Abort();
    }
    if (GetParam() != "sstable") {
      ExpectError(ShardWriter::Open(*table, kShard, Eager()).status(), ErrorKind::kNotSupported, "overwrote the table");
      return;
    }
    const auto view = Must(FreshView::Open(*table));
    ExpectError(Must(view->Scan())->ToTable().status(), ErrorKind::kNotSupported, "overwrote the table");
    ExpectError(CompactShards(*table).status(), ErrorKind::kNotSupported, "overwrote the table");
  });
}

TEST_P(RowsWithoutAKey, AreRowsStillWhereTheirColumnsWereDropped) {
  Make(std::string("\x12\x01x\xea\x06\x02\x10\x01", 8), [&](Process& process, ShardWriter& writer) {
    if (GetParam() == "memory") writer.Abort();
    if (GetParam() != "sstable") ASSERT_OK(process.Open(Eager())->Close());
    EXPECT_EQ(process.Fresh(), "null:null");
    Compact(process);
    EXPECT_EQ(Base(process), "null:null");
  });
}

INSTANTIATE_TEST_SUITE_P(In, RowsWithoutAKey, testing::Values("memory", "log", "sstable"),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace javelin::memwal
