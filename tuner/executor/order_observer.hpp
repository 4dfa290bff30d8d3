#pragma once

/// Who watches while an order is carried out. Nothing here may disturb a measurement: calls come between runs, and at
/// most four times a second during one.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "measure/comparison/comparison.hpp"
#include "measure/run/runner.hpp"
#include "measure/run/slot.hpp"
#include "space/configuration.hpp"

namespace nocturne::tuner {

class OrderObserver {
 public:
  virtual ~OrderObserver() = default;
  virtual void waiting_for_slot(const measure::SlotHolder& /*holder*/) {}
  /// After having waited: how much of that is none of the budget.
  virtual void slot_taken(std::chrono::nanoseconds /*left_out*/) {}
  virtual void preparing(std::int64_t /*number*/, const space::Configuration& /*configuration*/) {}
  /// A line of an environment that is being installed.
  virtual void installing(const std::string& /*line*/) {}
  virtual void prepared(std::int64_t /*number*/, std::chrono::nanoseconds /*build_time*/) {}
  virtual void running(std::int64_t /*number*/, const space::Configuration& /*configuration*/) {}
  virtual void verifying(std::int64_t /*pairs_done*/, std::int64_t /*pairs_wanted*/) {}
  virtual void pair_finished(std::int64_t /*pairs_done*/, std::int64_t /*pairs_wanted*/,
                             const std::optional<measure::Comparison>& /*so_far*/) {}
  virtual void progress(const measure::RunProgress& /*progress*/) {}
  virtual void note(const std::string& /*sentence*/) {}
};

}  // namespace nocturne::tuner
