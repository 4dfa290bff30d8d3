#pragma once

/// Measures learning curves before the search, for a campaign that minimises the time to an accuracy: which one is next
/// decides the race of measure/accuracy/curve_race.hpp, and they take at most kCurveShare of the campaign's time. What
/// they say goes into every trial (compose()).

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "db/store.hpp"
#include "tuner/campaign/curves/stored_curves.hpp"
#include "tuner/campaign/session.hpp"

namespace nocturne::tuner {

/// Share of a budget, for all curves together. The first of the default is drawn in any case: without it nothing is
/// known.
inline constexpr double kCurveShare = 0.25;

class LearningCurves {
 public:
  /// Measures a configuration as a trial of the campaign. Empty: interrupted.
  using MeasureTrial =
      std::function<std::optional<db::StoredTrial>(const space::Configuration&, const std::string& reason)>;

  /// The session outlives it. Knows what is stored. OWNER of the campaign. `whole`: the budget's time, where there is
  /// one.
  LearningCurves(const Session& session, MeasureTrial measure_trial, std::optional<std::chrono::nanoseconds> whole);

  /// Draws curves while the race wants one and their share of the budget allows. False: interrupted.
  [[nodiscard]] bool run();
  /// Draws one of what learns as this configuration, of so many epochs at most, unless there is one. False:
  /// interrupted, or it could not.
  [[nodiscard]] bool draw_for(const space::Configuration& configuration, std::int64_t most_epochs);
  /// Learns what the finals' trainings, stored since, say.
  void learn_trainings() { read(); }
  /// What that is expected to take.
  [[nodiscard]] std::chrono::nanoseconds forecast_for(const space::Configuration& configuration,
                                                      std::int64_t most_epochs) const;

  [[nodiscard]] const StoredCurves& known() const { return known_; }
  void compose(space::Trial& trial) const {
    tuner::compose(trial, known_, session_.spec.worker, session_.spec.workload);
  }
  /// As parts_to_target(); the parts themselves where it can have no epoch.
  [[nodiscard]] space::Parts to_target(const space::Configuration& configuration, const space::Parts& parts) const {
    return parts_to_target(configuration, parts, known_, session_.spec.worker, session_.spec.workload).value_or(parts);
  }

 private:
  void read();
  /// The next one, and whether it has no target of its own yet.
  [[nodiscard]] std::optional<measure::NextCurve> next() const;
  [[nodiscard]] bool is_worth_its_time(const measure::NextCurve& next) const;
  enum class Drawn { Stored, Failed, Interrupted };
  [[nodiscard]] Drawn draw(const measure::NextCurve& next);
  void say_what_is_known() const;

  const Session& session_;
  MeasureTrial measure_trial_;
  std::optional<std::chrono::nanoseconds> whole_;
  StoredCurves known_;
};

}  // namespace nocturne::tuner
