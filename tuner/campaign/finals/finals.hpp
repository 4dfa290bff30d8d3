#pragma once

/// After the search: the winner is chosen among those that may be the best, then compared with the default, both alive
/// and in turns, and both train for their accuracy. Only this is reported as the gain.
///
/// Settings of the winner that do nothing are put back to the default, as far as the model of the campaign
/// predicts it costs nothing and pairs with the winner (role simplify) do not contradict.
///
/// What chooses does not report: the winner comes from one set of pairs (role select), its gain from fresh ones (role
/// verify), or the best of several would flatter itself. The fresh pairs are judged at looks that are planned before
/// the first of them (measure/comparison/planned_looks.hpp): after `verify.pairs` of them, then, while FASTER, SLOWER
/// and SAME are all open and time is left, after some more, up to `verify.most_pairs`.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/store.hpp"
#include "space/configuration.hpp"
#include "space/space.hpp"
#include "tuner/campaign/finals/comparing.hpp"
#include "tuner/campaign/finals/finalist_gate.hpp"
#include "tuner/campaign/session.hpp"

namespace nocturne::tuner {

/// Measures a configuration that the search did not, as a trial of the campaign. Empty: interrupted.
using ExtraTrial =
    std::function<std::optional<db::StoredTrial>(const space::Configuration&, const std::string& reason)>;

class Finals {
 public:
  /// `time`: the campaign's. The first look is waited for all the same. Empty: not bounded by time.
  Finals(const Session& session, std::optional<TimeFrame> time, ExtraTrial extra_trial)
      : session_(session), time_(time), gate_(session, time), extra_trial_(std::move(extra_trial)) {}

  /// For the best that the gate admits (finalist_gate.hpp). Does only what is missing. Nothing to do where the default
  /// failed, or is itself the best. Ends early, keeping what is done, when interrupted, and where twenty in turn were
  /// refused, or one when the time is over (said to the observer). Returns whether everything is there.
  [[nodiscard]] bool run();

  /// Mean time of the pairs with the default that run() measured last; empty: it measured none.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> pair_time() const { return pair_time_; }

 private:
  /// Whether another winner is looked for after so many that the gate refused; says why not.
  [[nodiscard]] bool may_choose(int refused) const;
  /// The winner among the finished trials; empty: interrupted, or none ended well.
  [[nodiscard]] std::optional<db::StoredTrial> choose(const db::StoredTrial& baseline);
  /// By so many pairs of each finalist with the first one; null: interrupted. The winner is one of them.
  [[nodiscard]] const db::StoredTrial* fastest_of(const std::vector<const db::StoredTrial*>& finalists,
                                                  const db::StoredTrial& baseline, int rounds);
  /// Leaves out the last finalists, and gives the rounds of pairs for the others, as time allows.
  [[nodiscard]] int fit_choice(std::vector<const db::StoredTrial*>& finalists, const db::StoredTrial& baseline) const;
  /// The winner, or one with fewer changes that is as fast; empty: interrupted.
  [[nodiscard]] std::optional<db::StoredTrial> simplest(const db::StoredTrial& baseline, const db::StoredTrial& winner);
  /// Empty: it cannot be measured, or is slower; or interrupted.
  [[nodiscard]] std::optional<db::StoredTrial> as_fast(const space::Configuration& simpler,
                                                       const db::StoredTrial& winner);
  /// The gain over the default, and the accuracy of both.
  [[nodiscard]] bool measure_again(const db::StoredTrial& baseline, const db::StoredTrial& best);
  [[nodiscard]] bool verify(const db::StoredTrial& baseline, const db::StoredTrial& candidate);
  [[nodiscard]] bool accuracy(const db::StoredTrial& trial, const std::string& who);
  [[nodiscard]] bool time_for(std::chrono::nanoseconds work) const;
  /// What is trained after the pairs: the epochs for the accuracy, and the gate's.
  [[nodiscard]] std::chrono::nanoseconds forecast_epochs(const db::StoredTrial& baseline,
                                                         const db::StoredTrial& best) const;
  [[nodiscard]] std::optional<std::chrono::nanoseconds> whole_time() const;

  const Session& session_;
  std::optional<TimeFrame> time_;
  FinalistGate gate_;
  ExtraTrial extra_trial_;
  std::optional<std::chrono::nanoseconds> pair_time_;
};

// The smallest change that wins: of the settings in which a winner differs from the default, most do nothing; they
// were carried along. Pure; the model proposes, measuring disposes.

/// ln T of a configuration as the model predicts it.
using PredictedLogTime = std::function<double(const space::Configuration&)>;

/// Valid configurations on the way from the winner to the default, each with fewer changes than the one before: the
/// setting that is predicted to cost least is put back first, as long as the prediction stays within `margin_percent`
/// of the winner's. Neither the winner nor the default is among them; empty: every setting matters.
[[nodiscard]] std::vector<space::Configuration> simplify(const space::Space& space, const space::Configuration& winner,
                                                         const space::Configuration& baseline,
                                                         const PredictedLogTime& predicted, double margin_percent);

}  // namespace nocturne::tuner
