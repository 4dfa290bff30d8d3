#pragma once

/// What a campaign knows of its search: what was asked and told, the incumbent, the time it took; and from these, how
/// it stands and when it is over. No database: who stores also tells this.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "db/records.hpp"
#include "space/trial.hpp"
#include "tuner/campaign/clock.hpp"
#include "tuner/campaign/observer.hpp"
#include "tuner/campaign/pacing.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

namespace nocturne::tuner {

/// Whether nothing works: all that a campaign has tried, its default first, failed in one and the same way. Pure.
///
/// A night of equal failures says no more than the first twenty did; who hears of them at eleven can still fix the
/// cause. Failures that differ are what a search is for: then something else may work.
class DeadEnd {
 public:
  static constexpr std::size_t kFailures = 20;  ///< trials, without one that worked

  void learn(const space::Trial& trial);
  /// Why continuing is hopeless, in a sentence with the common reason; empty: it is not.
  [[nodiscard]] std::optional<std::string> reached() const;

 private:
  std::size_t failures_ = 0;
  bool open_ = false;  ///< something worked, or failed otherwise
  std::string first_reason_;
};

class SearchState {
 public:
  /// The session begins now. Both outlive it.
  SearchState(const CampaignSpec& spec, const Clock& clock);

  /// A trial was asked for, in this session or an earlier one.
  void asked(const db::AskAnswer& asked);
  /// It was told. A trial of number 0 is the default.
  void learn(const space::Trial& trial);
  /// All finished trials again, judged otherwise than when they were told.
  void revise(const std::vector<space::Trial>& trials);
  /// How long a trial took, start to end, for which `runs` processes were started in this session.
  void took(std::int64_t number, std::chrono::nanoseconds duration, std::int64_t runs);
  /// The same in an earlier session.
  void took_before(std::int64_t number, std::chrono::nanoseconds duration, std::int64_t runs);
  /// The finals had no time for a verdict: what is left is the search's.
  void has_no_verdict() { no_verdict_ = true; }
  [[nodiscard]] bool is_without_verdict() const { return no_verdict_; }
  /// What a pair of the finals took.
  void pair_took(std::chrono::nanoseconds duration) { pair_time_ = duration; }
  [[nodiscard]] std::optional<std::chrono::nanoseconds> pair_time() const { return pair_time_; }
  /// What earlier sessions spent beside trials.
  void spent_before(std::chrono::nanoseconds time) { spent_before_ += time; }
  /// A sentence where the wall clock was set, or the machine slept; finds the hour of --until anew then.
  [[nodiscard]] std::optional<std::string> watch_clock();

  [[nodiscard]] std::int64_t next_number() const { return next_number_; }
  [[nodiscard]] std::int64_t finished() const { return finished_; }
  [[nodiscard]] std::int64_t failed() const { return failed_; }
  /// Whether the default was told: strategies are told that before they are asked first.
  [[nodiscard]] bool knows_default() const { return baseline_.has_value(); }
  /// Whether a trial of it was told.
  [[nodiscard]] bool knows(const space::Configuration& configuration) const;
  /// Whether one was asked for, told or not.
  [[nodiscard]] bool was_asked(const space::Configuration& configuration) const;
  /// What was asked and not told, by number.
  [[nodiscard]] std::vector<space::Configuration> in_flight() const;
  [[nodiscard]] std::optional<space::Estimate> incumbent() const;
  /// What a trial of the default takes, about, once it is prepared; zero: it was not measured.
  [[nodiscard]] std::chrono::nanoseconds default_time() const;

  [[nodiscard]] PaceState pace() const;
  [[nodiscard]] Progress progress() const;
  /// Why nothing more is to be asked, in a sentence. What is in flight counts as finished.
  [[nodiscard]] std::optional<std::string> is_over() const;
  /// Trials that fit into the budget by what they took so far; empty: it has no end.
  [[nodiscard]] std::optional<std::int64_t> trials_in_budget() const {
    return tuner::trials_in_budget(spec_.budget, pace());
  }
  /// How long an installation or a build that begins now may take: until the time that is kept for the finals where
  /// they have something to verify, else until the end. Empty: the budget has no end.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> preparation_time() const;
  /// How long a run that begins now may take, for what comes behind it. Empty: as the campaign's deadline says.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> run_limit() const;
  /// What was found so far is measured again. Whether there is time to go on with the search.
  [[nodiscard]] bool goes_on_after_finals();

 private:
  [[nodiscard]] std::chrono::nanoseconds since_begin() const { return clock_.steady() - began_; }
  [[nodiscard]] Pace paced_by_its_run(const space::Trial& trial) const;

  const CampaignSpec& spec_;
  const Clock& clock_;
  std::chrono::steady_clock::time_point began_;
  ClockWatch watch_;
  std::optional<std::chrono::system_clock::time_point> until_;

  std::int64_t next_number_ = 0;
  std::map<std::int64_t, space::Configuration> in_flight_;
  std::set<std::string> known_;  // identities of finished trials
  std::int64_t finished_ = 0, failed_ = 0;
  DeadEnd dead_end_;
  bool verified_ = false, no_verdict_ = false;  // as in PaceState
  std::optional<space::Trial> baseline_, best_;
  bool is_new_best_ = false;                       // the trial learnt last beats the announced one, or is the first
  std::optional<space::Estimate> announced_best_;  // the last that beat all before it by more than noise

  std::vector<std::chrono::nanoseconds> durations_;             // of finished trials, in order
  std::map<std::int64_t, std::chrono::nanoseconds> run_times_;  // of one of their runs each, by number
  std::optional<std::chrono::nanoseconds> pair_time_;           // of the last finals of this session
  std::chrono::nanoseconds spent_before_{};
};

}  // namespace nocturne::tuner
