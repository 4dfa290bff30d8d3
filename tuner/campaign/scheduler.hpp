#pragma once

/// One queue of trials, and the orders in flight. A free slot takes the next of the queue; what came to nothing goes
/// back to its head.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "db/records.hpp"
#include "tuner/campaign/clock.hpp"
#include "tuner/campaign/session.hpp"
#include "tuner/executor/carry_out.hpp"
#include "tuner/executor/order.hpp"

namespace nocturne::tuner {

class Scheduler {
 public:
  /// An order that was lost so often is not lost by chance: the session ends.
  static constexpr int kMostLosses = 3;

  /// Both outlive it.
  Scheduler(OrderExecutor& executor, const Clock& clock) : executor_(executor), clock_(clock) {}

  /// `expected`: of one run of it; empty: not known.
  void enqueue(db::AskAnswer asked, std::optional<search::Expectation> expected = {}) {
    queue_.push_back({.asked = std::move(asked), .expected = expected});
  }
  [[nodiscard]] bool queue_is_empty() const { return queue_.empty(); }
  [[nodiscard]] std::size_t in_flight() const { return flights_.size(); }
  [[nodiscard]] bool has_free_slot() const { return flights_.size() < executor_.slots(); }

  /// Gives the next of the queue to a free slot. `limit`: of a run of it. REQUIRES: there are both.
  void submit_next(const std::optional<space::Estimate>& incumbent, std::optional<std::chrono::nanoseconds> limit = {});

  struct FinishedOrder {
    TrialAnswer answer;
    std::chrono::nanoseconds since_submitted{};
  };
  /// Blocks until an order has ended. Lost for the kMostLosses-th time: its end is Interrupted. Throws db::Error,
  /// also for an answer that belongs to no order. REQUIRES: one is in flight.
  [[nodiscard]] FinishedOrder next();
  [[nodiscard]] std::vector<DefaultOnNode> take_defaults() { return executor_.take_defaults(); }

 private:
  struct Queued {
    db::AskAnswer asked;
    std::optional<search::Expectation> expected;
  };
  struct Flight {
    Queued queued;
    std::chrono::steady_clock::time_point submitted;
  };
  OrderExecutor& executor_;
  const Clock& clock_;
  std::deque<Queued> queue_;
  std::map<std::int64_t, Flight> flights_;  // by number of the trial
  std::map<std::int64_t, int> losses_;      // likewise
};

/// Carries orders out in this process, on this machine: one slot.
class LocalSlot final : public OrderExecutor {
 public:
  /// The session outlives it.
  explicit LocalSlot(const Session& session) : session_(session) {}

  /// With what trials take turns from now on; empty: with nothing.
  void pair_with(std::optional<TrialReference> reference) { reference_ = std::move(reference); }
  [[nodiscard]] std::size_t slots() const override { return 1; }
  /// Keeps the order; next() carries it out.
  void submit(TrialOrder order) override;
  [[nodiscard]] TrialAnswer next() override;

 private:
  const Session& session_;
  std::optional<TrialOrder> order_;
  std::optional<TrialReference> reference_;
};

}  // namespace nocturne::tuner
