#pragma once

/// After the search: the winner is chosen among those that may be the best, then compared with the default, both alive
/// and in turns, and both train for their accuracy. Only this is reported as the gain.
///
/// Settings of the winner that do nothing are put back to the default, as far as the model of the campaign
/// predicts it costs nothing and pairs with the winner (role simplify) do not contradict.
///
/// A winner that its fresh pairs call SLOWER is none: what chose it was wrong, and one of the others is chosen while
/// there is time for its verdict, kMostWinners at most. This is done after SLOWER alone: where all are equal a second
/// one is judged after one of forty verdicts, so that a false FASTER stays as rare as it is.
///
/// Where the pairs contradict the trials of both by far, one of these was disturbed: it is judged by its pairs from
/// then on (contradicted_trial.hpp), by those who choose after that as well.
///
/// What chooses does not report: the winner comes from one set of pairs (role select), its gain from fresh ones (role
/// verify), or the best of several would flatter itself. The fresh pairs are judged at looks that are planned before
/// the first of them (measure/comparison/planned_looks.hpp): after `verify.pairs` of them, then, while FASTER, SLOWER
/// and SAME are all open and time is left, after some more, up to `verify.most_pairs` or as many as the time allows
/// (planned_pairs()). Where there is no time for `verify.pairs`, one look is planned after as many as there is time
/// for; where these are fewer than fewest_pairs(), none is measured, and the time goes back to the search. Nothing is
/// begun that is forecast to end later than the budget and kOverrunShare of it allow (pacing.hpp).
///
/// Where the executor of the campaign has nodes, pairs are spread over three of them and measured at the same time;
/// forecasts count them one after the other all the same, so that they err on the safe side. The gain is measured on
/// other nodes than those that chose, where there are enough: a winner may owe its choice to what three nodes do to it
/// alone. The rest (gate, accuracy) is done here.

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
  /// `time`: the campaign's; empty: not bounded by time. `pair_time`: what a pair of earlier finals took. `nodes`:
  /// measures the pairs, where it has nodes; null: this machine does.
  Finals(const Session& session, std::optional<TimeFrame> time, ExtraTrial extra_trial,
         std::optional<std::chrono::nanoseconds> pair_time = {}, OrderExecutor* nodes = nullptr)
      : session_(session),
        time_(time),
        gate_(session, time),
        extra_trial_(std::move(extra_trial)),
        pair_time_(pair_time),
        nodes_(nodes) {}

  /// For the best that the gate admits (finalist_gate.hpp). Does only what is missing. Nothing to do where the default
  /// failed, or is itself the best. Ends early, keeping what is done, when interrupted, and where twenty in turn were
  /// refused, or one when the time is over, and where there is no time for a verdict (said to the observer). Returns
  /// whether everything is there that there was time for.
  [[nodiscard]] bool run();

  /// Mean time of the pairs with the default that run() measured last; it measured none: as given, or empty.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> pair_time() const { return pair_time_; }
  /// Trials that were judged anew by their pairs, by number.
  [[nodiscard]] const std::vector<space::Trial>& judged_again() const { return judged_again_; }
  /// Whether there was no time for a verdict.
  [[nodiscard]] bool no_verdict() const { return no_verdict_; }

 private:
  /// One pair of the two, as measured before or forecast.
  [[nodiscard]] std::chrono::nanoseconds expected_pair(const db::StoredTrial& baseline,
                                                       const db::StoredTrial& candidate) const;
  /// What a verdict takes at least, beside the gate.
  [[nodiscard]] std::chrono::nanoseconds fewest_pairs_time(const db::StoredTrial& baseline,
                                                           const db::StoredTrial& candidate) const;
  /// What a verdict takes at least, with the gate.
  [[nodiscard]] std::chrono::nanoseconds expected_verdict(const db::StoredTrial& baseline,
                                                          const db::StoredTrial& candidate) const;
  /// Whether the fewest pairs that give a verdict fit into the time, or are there already; says why not.
  [[nodiscard]] bool is_time_for_verdict(const db::StoredTrial& baseline);
  /// Says and remembers that there will be none of the trial.
  void give_up_verdict(const db::StoredTrial& baseline, const db::StoredTrial& candidate);
  /// The planned looks, or one for as many pairs as there is time for, of which so many are known. Empty: not for the
  /// fewest.
  [[nodiscard]] std::optional<measure::ComparisonPolicy> fit_looks(const measure::ComparisonPolicy& planned,
                                                                   std::chrono::nanoseconds pair,
                                                                   std::chrono::nanoseconds training,
                                                                   std::int64_t known) const;
  /// Whether another winner is looked for after so many that the gate refused; says why not.
  [[nodiscard]] bool may_choose(int refused, const db::StoredTrial& baseline);
  /// The winner among the finished trials; empty: interrupted, or none ended well.
  [[nodiscard]] std::optional<db::StoredTrial> choose(const db::StoredTrial& baseline);
  /// The largest number of pairs by which the winner is chosen, as time allows.
  [[nodiscard]] int pairs_to_choose(const db::StoredTrial& fastest, const db::StoredTrial& baseline) const;
  /// The winner, or one with fewer changes that is as fast; empty: interrupted.
  [[nodiscard]] std::optional<db::StoredTrial> simplest(const db::StoredTrial& baseline, const db::StoredTrial& winner);
  /// Empty: it cannot be measured, or is slower; or interrupted, or out of time, of which so much is kept.
  [[nodiscard]] std::optional<db::StoredTrial> as_fast(const space::Configuration& simpler,
                                                       const db::StoredTrial& winner, std::chrono::nanoseconds after);
  /// That the one that was judged is taken, and not the simpler one that was not.
  void tell_stays(const db::StoredTrial& chosen, const db::StoredTrial& simpler) const;
  /// Whether the winner is one of them and another is looked for, after `judged` that were; says so.
  [[nodiscard]] bool chooses_another(const db::StoredTrial& baseline, const db::StoredTrial& winner, int judged);
  /// The accuracy of both.
  [[nodiscard]] bool train_both(const db::StoredTrial& baseline, const db::StoredTrial& best);
  /// The gain over the default. Either trial may be judged anew by it.
  [[nodiscard]] bool verify(db::StoredTrial& baseline, db::StoredTrial& candidate);
  /// Judges a trial that the pairs contradict by them, in the store and here.
  void heed_pairs(const Comparing& comparing, db::StoredTrial& baseline, db::StoredTrial& candidate);
  /// Nodes that measured the pairs by which the winner was chosen.
  [[nodiscard]] std::vector<std::string> nodes_that_chose() const;
  [[nodiscard]] bool is_time_for_accuracy(const db::StoredTrial& trial, const std::string& who) const;
  [[nodiscard]] bool accuracy(const db::StoredTrial& trial, const std::string& who);
  [[nodiscard]] bool time_for(std::chrono::nanoseconds work) const;
  /// For a driver whose pairs are of these two: whether one more fits before what must come `after`.
  [[nodiscard]] std::function<bool(std::size_t, std::chrono::nanoseconds)> while_time(
      std::chrono::nanoseconds pair, std::chrono::nanoseconds after) const;
  /// What is trained after the pairs: the epochs for the accuracy, and the gate's.
  [[nodiscard]] std::chrono::nanoseconds forecast_epochs(const db::StoredTrial& baseline,
                                                         const db::StoredTrial& best) const;
  [[nodiscard]] std::optional<std::chrono::nanoseconds> whole_time() const;

  const Session& session_;
  std::optional<TimeFrame> time_;
  FinalistGate gate_;
  ExtraTrial extra_trial_;
  std::optional<std::chrono::nanoseconds> pair_time_;
  OrderExecutor* nodes_;
  bool no_verdict_ = false;
  std::vector<space::Trial> judged_again_;
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
