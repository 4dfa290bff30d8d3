#pragma once

/// When to stop searching, so that what must come after still fits. Pure: no clock.

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "db/records.hpp"
#include "space/objective.hpp"
#include "space/trial.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

namespace nocturne::tuner {

/// Share of a budget of time that is kept for measuring the best and the default again, at least.
inline constexpr double kReservedShare = 0.15;
/// And at most: a search that has no time finds nothing worth measuring again.
inline constexpr double kLargestReservedShare = 0.6;

/// And for choosing among finalists and simplifying the winner, beyond what must be measured: no more than this.
inline constexpr double kChoiceShare = 0.1;

/// Until so many beside the default have trained, only a verdict's time is kept, and until one has, none: nothing else
/// could be measured again.
inline constexpr std::int64_t kFewestRivals = 3;

/// An order of the finals is begun where it is forecast to end by then: so much of the budget later than the budget.
inline constexpr double kOverrunShare = 0.02;

/// Fewer pairs than this give no verdict, whatever `verify.pairs` says: the interval of two is 13 standard errors wide.
inline constexpr int kFewestVerdictPairs = 3;
/// The smallest number of pairs at which a verdict is given, where there is no time for `verify.pairs` of them.
[[nodiscard]] int fewest_pairs(const VerifySettings& verify);

/// Pairs of the best with the default for which time is kept: `verify.pairs`, and where the whole budget has room for
/// more than sixty, a third of those beyond, up to forty: there a pair buys more than the trials it takes. `pair`: how
/// long one takes. Not beyond a number of pairs that is given.
[[nodiscard]] int reserved_pairs(const VerifySettings& verify, std::optional<std::chrono::nanoseconds> whole,
                                 std::chrono::nanoseconds pair);
/// When these pairs are judged. Their largest number is the one that is given; else as many as the time that is kept
/// allows, and no fewer than `verify.most_pairs`. A function of the budget and of what trials took, not of the time
/// that is left: a resumed campaign looks as it would have looked.
[[nodiscard]] measure::ComparisonPolicy planned_pairs(const VerifySettings& verify,
                                                      std::optional<std::chrono::nanoseconds> whole,
                                                      std::chrono::nanoseconds pair);

struct PaceState {
  std::int64_t finished_trials = 0;
  std::int64_t rivals = kFewestRivals;                 ///< that trained, beside the default
  std::chrono::nanoseconds spent{};                    ///< by the search, in all sessions
  std::chrono::nanoseconds session{};                  ///< since this session began
  std::optional<std::chrono::nanoseconds> until_left;  ///< until the time of day the campaign names
  std::chrono::nanoseconds next_trial{};               ///< expected
  std::chrono::nanoseconds finals{};                   ///< forecast of what comes after the search in any case
  std::chrono::nanoseconds choice{};                   ///< likewise of what is done besides where there is time
  std::chrono::nanoseconds verdict{};                  ///< likewise of the fewest pairs that give a verdict
  /// The finals had no time for those: nothing is kept for them any more.
  bool no_verdict = false;
  /// What was found so far is measured again: time is kept only for what may yet be found. All that a verdict takes,
  /// where that is within kLargestReservedShare of the budget; else, as it never fits, this share of what is left.
  bool verified = false;
};

/// Why the search ends, in words; empty: another trial fits.
[[nodiscard]] std::optional<std::string> search_ends(const Budget& budget, const PaceState& state);

/// Fewer than this are not worth another look at the finals.
inline constexpr int kFewestMoreTrials = 3;
/// Whether the finals, which are done, left time for so many more trials and for measuring again what they find.
[[nodiscard]] bool is_time_for_more(const Budget& budget, PaceState state);

/// Trials that fit into the budget, those that were finished included; empty: it has no end.
[[nodiscard]] std::optional<std::int64_t> trials_in_budget(const Budget& budget, const PaceState& state);

/// Time left for the search and what comes after it together; empty: not bounded by time.
[[nodiscard]] std::optional<std::chrono::nanoseconds> time_left(const Budget& budget, const PaceState& state);

/// Time left for the search alone; empty: not bounded by time.
[[nodiscard]] std::optional<std::chrono::nanoseconds> search_time_left(const Budget& budget, const PaceState& state);

/// A run of the search is never ended for its time before it has taken so many times what the default takes.
inline constexpr int kPatience = 3;
/// What is kept from such a run for a verdict, as a multiple of its forecast: real pairs of scripts took up to 1.3
/// times as long.
inline constexpr double kVerdictMargin = 1.3;
/// How long a run of the search that begins now may take: until the time that a verdict takes, where that is kept, or
/// the budget's end; no less than kPatience of the default's. Empty: the budget has no end.
[[nodiscard]] std::optional<std::chrono::nanoseconds> run_limit(const Budget& budget, const PaceState& state,
                                                                std::chrono::nanoseconds of_default);

/// The budget of time, all sessions; empty: not bounded by time.
[[nodiscard]] std::optional<std::chrono::nanoseconds> whole_time(const Budget& budget, const PaceState& state);

struct TimeFrame {
  std::chrono::nanoseconds whole{};
  std::chrono::steady_clock::time_point end{};  ///< when it is over

  /// Whether work that begins now ends in time, or late by no more than kOverrunShare.
  [[nodiscard]] bool has_time_for(std::chrono::nanoseconds work, std::chrono::steady_clock::time_point now) const;
};
/// Likewise, as it is `now`. Where the hour is over already, for the machine slept, the finals have what they take.
[[nodiscard]] std::optional<TimeFrame> time_frame(const Budget& budget, const PaceState& state,
                                                  std::chrono::steady_clock::time_point now);

/// Seconds of a forecast as a duration: at most eleven days, so that thousands can be added up; not below zero.
[[nodiscard]] std::chrono::nanoseconds forecast_of(double seconds);

/// What one more trial will take is judged by so many of the last ones.
inline constexpr std::size_t kRecentTrials = 20;

/// What one more trial will take: the mean of those before, of the last kRecentTrials at most. None before: zero.
[[nodiscard]] std::chrono::nanoseconds expected_trial(std::span<const std::chrono::nanoseconds> durations);

/// How long a finished trial can have taken at most (its reservation comes after its build), where the moments of its
/// begin and end are `between` apart by a clock that may have been set meanwhile. Not below zero.
[[nodiscard]] std::chrono::nanoseconds plausible_duration(std::chrono::nanoseconds between, std::int64_t runs,
                                                          std::chrono::nanoseconds deadline);

/// A configuration as far as its pairs are concerned.
struct Pace {
  space::Parts parts;
  /// Seconds of a step as turns count them. Those of our workers are steps of the parts; the lines of a command of the
  /// user's own need not be, and how long one takes is said only by what a run lasted.
  double turn_step = 0;
  /// Seconds of a run, if a command is timed as a whole: a side of its pairs does nothing else.
  std::optional<double> whole_run{};
  /// Seconds of a script's process before its import, after its last step, and of each evaluation between epochs: steps
  /// are seen in it, and what the run lasted beyond them is none of their time.
  double around = 0;
  double evaluation = 0;
  /// Steps that a script trains in each turn of a pair beside those that are timed.
  std::int64_t left_out = 0;

  /// Seconds of a process that trains so many steps, as turns count them.
  [[nodiscard]] double run_of(std::int64_t steps) const;
};

/// For one of our workers.
[[nodiscard]] Pace pace_of(const space::Parts& parts);
/// For a trial of this campaign whose one run lasted so long, start to end. REQUIRES: it is Ok.
[[nodiscard]] Pace pace_of(const measure::CommandTemplate& own, const space::Trial& trial,
                           std::chrono::nanoseconds run);
[[nodiscard]] Pace pace_of(const CampaignSpec& spec, const space::Trial& trial, std::chrono::nanoseconds run);
/// Likewise, by when it began and ended; `own`: the campaign's command, `deadline`: of a run.
[[nodiscard]] Pace pace_of(const measure::CommandTemplate& own, std::chrono::nanoseconds deadline,
                           const db::StoredTrial& stored);
[[nodiscard]] Pace pace_of(const CampaignSpec& spec, const db::StoredTrial& stored);

/// A trial of it, start to end, once it is prepared.
[[nodiscard]] std::chrono::nanoseconds forecast_trial(const RunSettings& run, const Pace& configuration);

/// One pair of the two, start to end.
[[nodiscard]] std::chrono::nanoseconds forecast_pair(const VerifySettings& verify, const Pace& baseline,
                                                     const Pace& candidate);

/// The epochs that one of them trains for its accuracy.
[[nodiscard]] std::chrono::nanoseconds forecast_accuracy(const VerifySettings& verify, const space::Parts& parts);

/// The epochs that both train for their accuracy.
[[nodiscard]] std::chrono::nanoseconds forecast_accuracy(const VerifySettings& verify, const space::Parts& baseline,
                                                         const space::Parts& best);

/// Of a budget's time so much is kept for those epochs at most: where they take more, nothing is, and they are trained
/// in what is left.
inline constexpr double kAccuracyShare = 0.25;
[[nodiscard]] std::chrono::nanoseconds reserved_accuracy(const VerifySettings& verify, const space::Parts& baseline,
                                                         const space::Parts& best,
                                                         std::optional<std::chrono::nanoseconds> whole);

/// Epochs of the reference that the gate trains where a campaign names no number.
inline constexpr std::int64_t kBandSeeds = 6;  // the quantile of t falls little beyond it
/// They take at most this share of the budget's time.
inline constexpr double kBandShare = 0.1;

/// So many of them as a campaign with this time has room for: all or none; none without a budget of time.
[[nodiscard]] std::int64_t band_seeds(const space::Parts& baseline, std::optional<std::chrono::nanoseconds> whole);
/// Those epochs, or as many as the campaign names.
[[nodiscard]] std::chrono::nanoseconds forecast_band(const VerifySettings& verify, const space::Parts& baseline,
                                                     std::optional<std::chrono::nanoseconds> whole);

/// What judges whether a changed script learns as it does unchanged (finals/learning_gate.hpp) takes at most this share
/// of the budget's time.
inline constexpr double kLearningShare = 0.2;
/// Steps of each of its longer runs: as many as fit into that share, 52 to 130. `reference`: the script unchanged.
[[nodiscard]] std::int64_t learning_steps(const space::Parts& reference, std::optional<std::chrono::nanoseconds> whole);
/// All of its runs; without steps of the longer ones the starts alone.
[[nodiscard]] std::chrono::nanoseconds forecast_learning(const space::Parts& reference, std::int64_t longer_steps);

/// The gate's steps, and the epochs of the reference.
[[nodiscard]] std::chrono::nanoseconds forecast_gate(const VerifySettings& verify, const space::Parts& baseline,
                                                     std::optional<std::chrono::nanoseconds> whole = {});

/// How long what comes after the search in any case will take, from the parts of both: reserved_pairs(),
/// reserved_accuracy(), the gate. `best` may be the default. `whole`: the budget's time, where there is one.
/// `pair`: what a pair took, where some were measured.
[[nodiscard]] std::chrono::nanoseconds forecast_finals(const VerifySettings& verify, const Pace& baseline,
                                                       const Pace& best,
                                                       std::optional<std::chrono::nanoseconds> whole = {},
                                                       std::optional<std::chrono::nanoseconds> pair = {});

/// Likewise what a verdict takes at least: the fewest pairs that give one, and the steps by which the gate judges.
[[nodiscard]] std::chrono::nanoseconds forecast_verdict(const VerifySettings& verify, const Pace& baseline,
                                                        const Pace& best,
                                                        std::optional<std::chrono::nanoseconds> pair = {});

/// Whether time is kept for it in a budget of so much: it takes at most kLargestReservedShare.
[[nodiscard]] bool has_room(std::chrono::nanoseconds whole, std::chrono::nanoseconds verdict);
/// A budget of time, of whole minutes, in which a search still finds something to measure again: two fifths are the
/// verdict's. Of a campaign that has `spent` so much already, what it takes comes on top.
[[nodiscard]] std::chrono::minutes wall_for(std::chrono::nanoseconds verdict, std::chrono::nanoseconds spent = {});

/// Likewise the choice among the finalists.
[[nodiscard]] std::chrono::nanoseconds forecast_race(const VerifySettings& verify, const Pace& best);
/// That, and the winner against a simpler one.
[[nodiscard]] std::chrono::nanoseconds forecast_choice(const VerifySettings& verify, const Pace& best);

/// Factor on the time of an epoch for the evaluations of a learning curve, about: four of a sixth as many images,
/// forward only.
inline constexpr double kEvaluations = 1.25;
/// So many trainings to the target of both, one after the other, evaluations included; parts are those of a training.
[[nodiscard]] std::chrono::nanoseconds forecast_trainings(const space::Parts& baseline, const space::Parts& candidate,
                                                          std::int64_t count);

/// Steps a turn of each side, so that turns of both last about equally long: `verify.slice_steps` for the slower side,
/// more for the faster one.
struct SliceSteps {
  std::int64_t baseline = 1, candidate = 1;
};
[[nodiscard]] SliceSteps slice_steps(const VerifySettings& verify, const space::Parts& baseline,
                                     const space::Parts& candidate);

}  // namespace nocturne::tuner
