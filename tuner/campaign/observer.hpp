#pragma once

/// Who watches a campaign: the progress on a terminal, a log, a test. Nothing here may disturb a measurement: calls come
/// between runs, and at most four times a second during one.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measure/comparison.hpp"
#include "measure/runner.hpp"
#include "measure/slot.hpp"
#include "space/trial.hpp"

namespace nocturne::tuner {

/// Where the campaign stands.
struct Standing {
  std::int64_t finished = 0, failed = 0;
  std::optional<std::int64_t> wanted;      ///< trials the budget allows; empty: bounded by time or by the space
  std::optional<space::Trial> baseline;    ///< the default
  std::optional<space::Trial> best;
  std::chrono::nanoseconds elapsed{};      ///< of the search, all sittings
  std::optional<std::chrono::nanoseconds> left;  ///< until the answer, as forecast
};

struct Opening {
  std::string campaign;
  std::int64_t generation = 1;
  bool resumed = false;
  std::int64_t trials_known = 0;       ///< finished in earlier sittings
  std::vector<std::int64_t> recovered;  ///< interrupted by a kill, to be run again
  std::size_t processes_swept = 0;      ///< left over from a killed sitting
  std::string strategy;
  std::uint64_t seed = 1;
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void opened(const Opening& /*opening*/) {}
  virtual void waiting_for_slot(const measure::SlotHolder& /*holder*/) {}
  virtual void preparing(std::int64_t /*number*/, const space::Configuration& /*configuration*/) {}
  virtual void prepared(std::int64_t /*number*/, std::chrono::nanoseconds /*build_time*/) {}
  virtual void running(std::int64_t /*number*/, const space::Configuration& /*configuration*/) {}
  virtual void progress(const measure::RunProgress& /*progress*/) {}
  virtual void finished(const space::Trial& /*trial*/, bool /*reused*/, const Standing& /*standing*/) {}
  virtual void verifying(std::int64_t /*pairs_done*/, std::int64_t /*pairs_wanted*/) {}
  virtual void pair_finished(std::int64_t /*pairs_done*/, std::int64_t /*pairs_wanted*/,
                             const std::optional<measure::Comparison>& /*so_far*/) {}
  virtual void training(const std::string& /*who*/, std::int64_t /*epochs*/) {}
  virtual void trained(const std::string& /*who*/, const space::Run& /*run*/) {}
  virtual void note(const std::string& /*sentence*/) {}
};

}  // namespace nocturne::tuner
