#include "tuner/campaign/scheduler.hpp"

#include <fmt/format.h>

#include "tuner/campaign/trial_runner.hpp"

namespace nocturne::tuner {

void Scheduler::submit_next(const std::optional<space::Estimate>& incumbent,
                            std::optional<std::chrono::nanoseconds> limit) {
  Queued queued = std::move(queue_.front());
  queue_.pop_front();
  const std::int64_t number = queued.asked.number;
  TrialOrder order{.number = number,
                   .configuration = queued.asked.configuration,
                   .purpose = queued.asked.purpose,
                   .incumbent = incumbent,
                   .expected = queued.expected,
                   .limit = limit};
  flights_.insert_or_assign(number, Flight{.queued = std::move(queued), .submitted = clock_.steady()});
  executor_.submit(std::move(order));
}

Scheduler::FinishedOrder Scheduler::next() {
  auto answer = executor_.next();
  const auto flight = flights_.find(answer.number);
  if (flight == flights_.end()) {
    throw db::Error(db::ErrorCode::Inconsistent,
                    fmt::format("an answer came for trial {}, which is not in flight", answer.number));
  }
  FinishedOrder ended{.answer = std::move(answer), .since_submitted = {}};
  // To the front: it was asked first, and its number comes before the others.
  if (ended.answer.end != TrialAnswer::End::Finished) queue_.push_front(std::move(flight->second.queued));
  // A machine that kills one trial again and again would keep the campaign for ever.
  if (ended.answer.end == TrialAnswer::End::Lost && ++losses_[ended.answer.number] == kMostLosses)
    ended.answer.end = TrialAnswer::End::Interrupted;
  ended.since_submitted = clock_.steady() - flight->second.submitted;
  flights_.erase(flight);
  return ended;
}

void LocalSlot::submit(TrialOrder order) {
  order_ = std::move(order);
}

TrialAnswer LocalSlot::next() {
  auto answer = run_here(session_, *order_, reference_ ? &*reference_ : nullptr);
  order_.reset();
  return answer;
}

}  // namespace nocturne::tuner
