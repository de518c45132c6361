#include "javelin/memwal/ticket_internal.h"

#include "javelin/base/error.h"

namespace javelin::memwal {

namespace {

// One registered interest in a ticket. Fires once; registers again on every wake until then.
class Waiter : public std::enable_shared_from_this<Waiter> {
 public:
  Waiter(std::shared_ptr<const Ticket::State> ticket, std::function<void(const arrow::Status&)> callback)
      : ticket_(std::move(ticket)), callback_(std::move(callback)) {}

  // The look before the registration only saves its cost; the one behind it counts: a wake between the two is not lost.
  void Arm() {
    if (FireIfDone()) return;
    WaitList& waiters = ticket_->writer->waiters();
    const uint64_t id = waiters.Register([self = shared_from_this()] { self->Arm(); });
    registration_.store(id);
    if (FireIfDone() || fired_.load()) waiters.Remove(id);
  }
  // The callback will not run any more, unless it already does.
  void Disarm() {
    fired_.store(true);
    ticket_->writer->waiters().Remove(registration_.load());
  }

 private:
  bool FireIfDone() {
    const std::optional<arrow::Status> outcome = ticket_->Outcome();
    if (outcome.has_value() && !fired_.exchange(true)) callback_(*outcome);
    return outcome.has_value();
  }

  const std::shared_ptr<const Ticket::State> ticket_;
  const std::function<void(const arrow::Status&)> callback_;
  std::atomic<bool> fired_{false};
  std::atomic<uint64_t> registration_{0};
};

}  // namespace

std::optional<arrow::Status> Ticket::State::Outcome() const {
  const auto failure = writer->poison();
  if (!failure.ok()) {
    return WithContext(failure,
                       "the writer failed before this put was acknowledged (its rows may or may not be in the log)");
  }
  const bool durable = !durable_write || writer->durable_end() >= durable_target;
  if (durable && indexed->Get() >= indexed_target.value()) return arrow::Status::OK();
  if (!writer->ended()) return std::nullopt;
  return Closed(
      "the writer of shard {} was stopped before this put was acknowledged; its rows may or may not be in the log",
      writer->manifests()->shard().ToString());
}

arrow::Status Ticket::Wait(TimePoint deadline) const {
  ARROW_RETURN_NOT_OK(state_->writer->runtime().CheckProcess());
  struct Answer {
    explicit Answer(Runtime& runtime) : ready(runtime) {}
    Event ready;
    arrow::Status outcome;
  };
  auto answer = std::make_shared<Answer>(state_->writer->runtime());
  auto waiter = std::make_shared<Waiter>(state_, [answer](const arrow::Status& outcome) {
    answer->outcome = outcome;
    answer->ready.Set();
  });
  waiter->Arm();
  if (answer->ready.Wait(deadline)) return answer->outcome;
  waiter->Disarm();
  return Cancelled("the deadline passed before the put was acknowledged; it may still be");
}

bool Ticket::Done() const { return state_->Outcome().has_value(); }

void Ticket::OnDone(std::function<void(const arrow::Status&)> callback) const {
  std::make_shared<Waiter>(state_, std::move(callback))->Arm();
}

const std::string& Ticket::token() const { return state_->token; }

}  // namespace javelin::memwal
