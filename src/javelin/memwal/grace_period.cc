#include "javelin/memwal/grace_period.h"

namespace javelin::memwal {

namespace {
constexpr Duration kShortestPause = std::chrono::milliseconds(100);
}

GracePeriod::GracePeriod(std::shared_ptr<WriterState> state, Duration grace)
    : state_(std::move(state)),
      grace_(grace),
      between_sweeps_(std::max(grace / 3, kShortestPause)),
      mutex_(state_->runtime()),
      strand_(state_->runtime(), "memwal.grace", PoolKind::kCpu) {}

void GracePeriod::Begin(const std::shared_ptr<MemTable>& table) {
  const bool stays = grace_ > Duration::zero();
  const TimePoint now = state_->runtime().Now();
  state_->UpdateResident([&](ResidentSet& set) {
    std::erase(set.tables, table);
    if (stays) set.in_grace.push_back({table, now});
  });
  if (stays) Arm();
}

void GracePeriod::Arm() {
  std::lock_guard lock(mutex_);
  if (stopped_ || timer_.has_value()) return;
  timer_ =
      state_->runtime().At(state_->runtime().Now() + between_sweeps_, [this] { strand_.Post([this] { Sweep(); }); });
}

void GracePeriod::Sweep() {
  {
    std::lock_guard lock(mutex_);
    timer_.reset();
  }
  const TimePoint latest = state_->runtime().Now() - grace_;
  bool any_left = false;
  state_->UpdateResident([&](ResidentSet& set) {
    std::erase_if(set.in_grace, [&](const ResidentSet::Flushed& flushed) { return flushed.since <= latest; });
    any_left = !set.in_grace.empty();
  });
  if (any_left) Arm();
}

void GracePeriod::Stop() {
  std::optional<TimerId> timer;
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    timer = std::exchange(timer_, std::nullopt);
  }
  if (timer.has_value()) state_->runtime().Cancel(*timer);
  strand_.Close();
  state_->UpdateResident([](ResidentSet& set) { set.in_grace.clear(); });
}

}  // namespace javelin::memwal
