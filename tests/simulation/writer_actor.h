// An actor that opens the shard again and again, and writes and reads through it with several tasks at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "javelin/base/seeded_random.h"
#include "javelin/memwal/shard_writer.h"
#include "world.h"

namespace javelin::simulation {

enum class Ending { kClose, kCloseWhileBusy, kAbort, kDrop, kSeal };

// What one actor is going to do; drawn from the seed before it starts.
struct WriterPlan {
  std::string name;
  uint64_t stream = 0;  // of its random choices
  Duration start{};
  int openings = 2;  // at most, per life
  int putters = 2;
  int operations = 4;  // of each putter, per opening
  int64_t keys = 6;    // the smaller, the more rows are written over
  uint64_t pause_ms = 300;
  bool retries = false;  // its store repeats failed requests
  bool reads = true;
  bool compacts = false;  // in its own process, while it writes
  Ending ending = Ending::kClose;
  memwal::WriterOptions options;
};

WriterPlan DrawWriterPlan(SeededRandom& random, std::string name, uint64_t stream);

class WriterActor {
 public:
  // `life` counts the crashes before it.
  WriterActor(World& world, WriterPlan plan, int life) : world_(world), plan_(std::move(plan)), life_(life) {}

  // The body of the actor. Context T.
  void Run();

 private:
  // One opening of the shard and what follows it.
  void RunOpening(const Dataset& dataset, int opening);
  void End(memwal::ShardWriter& writer, int number);
  void Seal(memwal::ShardWriter& writer, int number);

  World& world_;
  const WriterPlan plan_;
  const int life_;
};

// One task that puts and deletes, one operation after the other, until the writer takes no more.
class Putter {
 public:
  Putter(World& world, const WriterPlan& plan, std::shared_ptr<memwal::ShardWriter> writer, int number,
         uint64_t stream);
  void Run();

 private:
  // False once the writer takes no more.
  bool RunOne();
  bool RunRefused();
  std::vector<std::vector<int64_t>> DrawBatches();
  bool Finished(int64_t operation, Moment started, const arrow::Status& status, const std::string& call);

  World& world_;
  const WriterPlan plan_;
  const std::shared_ptr<memwal::ShardWriter> writer_;
  const int number_;  // of the writer in the history
  SeededRandom random_;
};

// What a writer says of itself must fit together: cursors never fall, and nothing is visible before it is durable.
class CursorWatch {
 public:
  CursorWatch(World& world, const memwal::ShardWriter& writer) : world_(world), writer_(writer) {}
  void Look();

 private:
  World& world_;
  const memwal::ShardWriter& writer_;
  uint64_t durable_ = 0;
  std::map<uint64_t, uint64_t> visible_;  // by generation
};

}  // namespace javelin::simulation
