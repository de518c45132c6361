// Random puts, deletions, changes of the columns, evolves, flushes, compactions, crashes and reopens (also with an old
// version of the table) against a plain map.
#include "javelin/memwal/schema_change_test_support.h"

namespace javelin::memwal {
namespace {

using namespace test;

// A column never gets a name or an id that was used before, so a name says which column it is.
class SchemaChangeModel {
 public:
  explicit SchemaChangeModel(uint64_t seed) : world_(seed), random_(world_.sim.plan_random()) {}

  void Run() {
    world_.CreateTable(R"([[0, "base"], [1, "base"]])");
    id_of_["text"] = 1;
    columns_ = {"text"};
    for (const int64_t id : {0, 1}) rows_[id][1] = "base";
    world_.Run([this](Process& process) {
      process_ = &process;
      Reopen();
      for (int step = 0; step < 100 && !testing::Test::HasFailure(); ++step) Step();
      ASSERT_OK(writer_->Close());
      (void)Compact(process, AtOnce());
      writer_.reset();
      EXPECT_EQ(Sorted(Base(process)), Expected());
      EXPECT_EQ(process.Fresh(), Expected());
    });
  }

  uint64_t changes() const { return changes_; }
  uint64_t evolved() const { return evolved_; }

 private:
  uint64_t Below(uint64_t limit) { return random_.Below(limit); }

  void Step() {
    switch (Below(12)) {
      case 0:
      case 1:
      case 2:
      case 3: Put(); break;
      case 4: Delete(); break;
      case 5: ASSERT_OK(writer_->Flush()); break;
      case 6: (void)Compact(*process_, Below(2) == 0 ? AtOnce() : KeepFolders()); break;
      case 7:
      case 8: ChangeTable(); break;
      case 9: Evolve(); break;
      case 10:
        if (Below(3) == 0) {
          ASSERT_OK(writer_->Close());
        } else {
          writer_->Abort();
        }
        Reopen();
        break;
      default: process_->runtime().Sleep(std::chrono::seconds(Below(5)));
    }
    if (testing::Test::HasFailure()) return;
    EXPECT_EQ(process_->Fresh(), Expected());
    const auto id = static_cast<int64_t>(Below(6));
    EXPECT_EQ(Get(*writer_, id), rows_.contains(id) ? RowText(id) : "");
  }

  // With a grace now and then; some opens hold the table as it was some changes ago.
  void Reopen() {
    WriterOptions options = Eager();  // no ticker: the clock leaps here
    options.max_memtable_batches = 2 + Below(6);
    if (Below(3) == 0) options.max_memtable_size = 100;  // so that a replay flushes
    if (Below(3) == 0) options.frozen_memtable_grace = std::chrono::seconds(1 + Below(5));
    writer_.reset();
    OpenOptions version;
    const uint64_t newest = process_->Table()->version().value();
    if (Below(2) == 0) version.version = TableVersion(2 + Below(newest - 1));
    writer_ = Must(ShardWriter::Open(*Must(Dataset::Open(process_->session, kTableUri, version)), kShard, options));
  }

  void Evolve() {
    const bool behind = writer_->arrow_schema()->field_names() != process_->Table()->arrow_schema()->field_names();
    const auto evolved = writer_->Evolve();
    ASSERT_OK(evolved.status());
    EXPECT_EQ(*evolved, behind);
    evolved_ += *evolved ? 1 : 0;
    EXPECT_TRUE(writer_->arrow_schema()->Equals(*process_->Table()->arrow_schema(), true));
  }

  void ChangeTable() {
    ++changes_;
    const uint64_t what = columns_.empty() ? 0 : Below(4);
    if (what <= 1) {
      const int32_t id = ++last_id_;
      static const std::vector<std::shared_ptr<arrow::DataType>> types = {arrow::utf8(), arrow::int32(),
                                                                          arrow::boolean()};
      const std::string name = fmt::format("c{}", id);
      type_of_[id] = types[Below(types.size())];
      id_of_[name] = id;
      columns_.push_back(name);
      return AddColumn(world_, *process_, Column(name, id, type_of_[id]));
    }
    const size_t which = Below(columns_.size());
    const std::string name = columns_[which];
    if (what == 2) {
      columns_.erase(columns_.begin() + static_cast<ptrdiff_t>(which));
      return DropColumn(world_, *process_, name);
    }
    columns_[which] = fmt::format("{}r", name);
    id_of_[columns_[which]] = id_of_[name];
    RenameColumn(world_, *process_, name, columns_[which]);
  }

  // A value as JSON, and as a scan shows it.
  std::pair<std::string, std::string> RandomValue(int32_t column) {
    if (Below(5) == 0) return {"null", "null"};
    const arrow::Type::type type = type_of_.contains(column) ? type_of_[column]->id() : arrow::Type::STRING;
    if (type == arrow::Type::BOOL) {
      const std::string value = Below(2) == 0 ? "true" : "false";
      return {value, value};
    }
    const std::string value = fmt::to_string(++version_);
    if (type == arrow::Type::INT32) return {value, value};
    return {fmt::format("\"v{}\"", value), "v" + value};
  }

  void Put() {
    const std::vector<std::string> names = writer_->arrow_schema()->field_names();
    std::string json;
    const uint64_t count = 1 + Below(3);
    for (uint64_t i = 0; i < count; ++i) {
      const auto id = static_cast<int64_t>(Below(6));
      rows_[id].clear();
      json += fmt::format("{}[{}", i == 0 ? "" : ", ", id);
      for (size_t column = 1; column < names.size(); ++column) {
        const auto [value, shown] = RandomValue(id_of_.at(names[column]));
        json += ", " + value;
        rows_[id][id_of_.at(names[column])] = shown;
      }
      json += "]";
    }
    ASSERT_OK(writer_->Put({RowsFor(*writer_, "[" + json + "]")}));
  }

  void Delete() {
    const auto id = static_cast<int64_t>(Below(6));
    rows_.erase(id);
    ASSERT_OK(writer_->Delete({Keys(fmt::format("[[{}]]", id))}));
  }

  std::string RowText(int64_t id) const {
    std::string text = fmt::to_string(id);
    for (const std::string& name : columns_) {
      const auto& values = rows_.at(id);
      const auto value = values.find(id_of_.at(name));
      text += ":" + (value == values.end() ? "null" : value->second);
    }
    return text;
  }
  std::string Expected() const {
    std::vector<std::string> rows;
    for (const auto& [id, values] : rows_) rows.push_back(RowText(id));
    return Sorted(fmt::format("{}", fmt::join(rows, " ")));
  }

  World world_;
  SeededRandom& random_;
  Process* process_ = nullptr;
  std::shared_ptr<ShardWriter> writer_;
  std::map<int64_t, std::map<int32_t, std::string>> rows_;  // by key, then by field id
  std::vector<std::string> columns_;                        // of the table, without the key
  std::map<std::string, int32_t> id_of_;
  std::map<int32_t, std::shared_ptr<arrow::DataType>> type_of_;  // of added columns
  int32_t last_id_ = 1;
  int version_ = 0;
  uint64_t changes_ = 0;
  uint64_t evolved_ = 0;
};

TEST(SchemaChangeModel, RandomOperationsMatchAMap) {
  uint64_t changes = 0;
  uint64_t evolved = 0;
  for (const uint64_t seed : Seeds(12)) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    SchemaChangeModel model(seed);
    model.Run();
    changes += model.changes();
    evolved += model.evolved();
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
  EXPECT_GT(changes, 5 * Seeds(12).size());
  EXPECT_GT(evolved, Seeds(12).size()) << "the runs follow too few changes to show anything";
}

}  // namespace
}  // namespace javelin::memwal
