#pragma once

/// Programs that train one configuration, in pairs: the present one against each one of then. Each pair is stored
/// before the next is begun, and one that is stored is not measured again.

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "measure/comparison/planned_looks.hpp"
#include "tuner/campaign/session.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/deploy/blame.hpp"
#include "tuner/deploy/blame_record.hpp"
#include "tuner/executor/executor.hpp"

namespace nocturne::deploy {

/// The present program against one that differs from it in a candidate cause alone.
struct CauseTest {
  std::size_t cause = 0;          ///< index of the candidate cause
  tuner::PreparedWorker other{};  ///< the program with that part as it was then
};

/// As they are recorded: the present one, then that of each test.
[[nodiscard]] std::vector<BlamedProgram> blamed_programs(const tuner::PreparedWorker& present,
                                                         const std::vector<CauseTest>& tests,
                                                         const std::vector<CandidateCause>& causes);

struct BlameMeasurement {
  /// Belongs to the record's campaign (its id is set here); the default of its spec is the configuration.
  tuner::Session& session;
  BlameRecord& record;  ///< what has been measured of these programs
  const tuner::PreparedWorker& present;
  measure::ComparisonPolicy policy{};  ///< the margin is the campaign's
  /// Whether work that takes that long may still be begun.
  std::function<bool(std::chrono::nanoseconds)> time_for = [](std::chrono::nanoseconds) { return true; };
};

/// What was measured of the present program, in this session and before: seconds for the primary horizon, one a
/// process.
struct PresentTimes {
  std::vector<double> seconds;
  bool cut_short = false;  ///< by time, an interruption, or a side that does not train (which is said)
};

/// Measures the tests as one family of comparisons (tuner/executor/pair_driver.hpp); fills `causes[…].measured`.
/// Without tests the present program alone is run three times. Blocks.
[[nodiscard]] PresentTimes measure_programs(const BlameMeasurement& work, const std::vector<CauseTest>& tests,
                                            std::vector<CandidateCause>& causes);

/// What the present times say against an estimate of then; `process_sd` is the sd of the log of a process. Empty:
/// nothing.
[[nodiscard]] std::optional<WholeChange> whole_change(const PresentTimes& now,
                                                      const std::optional<space::Estimate>& then, double process_sd,
                                                      double margin_percent);

/// A result whose slowdown is looked into: how its configuration is trained.
struct BlamedResult {
  std::string name;  ///< name of the campaign or profile
  space::Workload workload{};
  std::string minimise = "time";
  double epochs = 12;
  space::Configuration configuration{};
  std::int64_t steps = 40;
  nlohmann::json worker{};  ///< as a campaign has it; null: the one of its framework
};
/// The document of a campaign whose default, and only, configuration is this one.
[[nodiscard]] nlohmann::json blame_campaign(const BlamedResult& result);

}  // namespace nocturne::deploy
