#pragma once

/// The loop: ask, prepare, run, judge, store, tell; then the finals. The database is the only memory: a campaign that
/// was killed at any moment is opened again and goes on.

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "db/store.hpp"
#include "measure/run/sweep.hpp"
#include "search/registry.hpp"
#include "search/strategy.hpp"
#include "tuner/campaign/clock_watch.hpp"
#include "tuner/campaign/dead_end.hpp"
#include "tuner/campaign/first_looks.hpp"
#include "tuner/campaign/pacing.hpp"
#include "tuner/campaign/preparation.hpp"
#include "tuner/campaign/rehearsal/rehearsal.hpp"
#include "tuner/campaign/replay.hpp"
#include "tuner/campaign/sitting.hpp"

namespace nocturne::tuner {

/// How a sitting ended.
enum class Ending {
  Complete,        ///< budget used or nothing left to propose; best and default measured again
  AlreadyDone,     ///< an earlier sitting had completed this very campaign: nothing was done
  Interrupted,     ///< by a person or the system; the next sitting goes on
  Rehearsed,       ///< only the rehearsal was wanted
  MachineChanged,  ///< a field of the fingerprint that must match changed meanwhile: open again, as a new generation
};

struct SittingResult {
  Ending ending = Ending::Complete;
  std::string because;  ///< why the search ended, one sentence
  db::CampaignId campaign = 0;
  std::optional<RehearsalReport> rehearsal{};  ///< where one was made
};

class Campaign {
 public:
  /// The sitting's campaign id is set by run(). `fresh`: measure again whatever is known.
  Campaign(Sitting& sitting, bool fresh) : sitting_(sitting), fresh_(fresh) {}

  /// Opens or resumes, searches, measures the best again. Blocks. `swept`: what was cleared away before, to be told.
  [[nodiscard]] db::Expected<SittingResult> run(const measure::SweepReport& swept = {});

 private:
  [[nodiscard]] db::Expected<std::optional<db::CampaignId>> completed_before() const;
  [[nodiscard]] db::Expected<void> open(const measure::SweepReport& swept);
  /// Whether results from before hold after what changed on this machine. Set: interrupted, the sitting ends with it.
  [[nodiscard]] db::Expected<std::optional<SittingResult>> verify_changes();
  /// What is known of the machine's peaks is stored with a new generation: its strategy knows that, and no more, in
  /// every sitting.
  [[nodiscard]] db::Expected<void> keep_roof(db::CampaignId campaign);
  [[nodiscard]] db::Expected<void> make_strategy(db::CampaignId campaign);
  /// Rows that were prepared before cost nothing more; what did not go is to be told.
  [[nodiscard]] db::Expected<void> know_rehearsals(db::CampaignId campaign);
  /// What a new generation knows of others; empty: nothing, and so wants the user.
  [[nodiscard]] db::Expected<std::optional<std::vector<db::HistorySource>>> history_to_begin_with() const;
  /// What is looked at before a strategy that learns is asked: what no history of this machine has seen.
  void plan_first_looks(const std::vector<search::History>& history);
  /// The next of them that nobody measured and the budget allows; empty: none.
  [[nodiscard]] std::optional<FirstLook> first_look();
  /// The next configuration that a person wants and nobody measured; null: none.
  [[nodiscard]] const space::Configuration* wanted() const;
  /// Tries the rows, where that is wanted. Set: the sitting ends with it.
  [[nodiscard]] db::Expected<std::optional<SittingResult>> rehearse();
  /// What will not go is told as failed trials, once each: the search need not find that out.
  [[nodiscard]] db::Expected<void> tell_no_go();
  /// Ending::Complete when the budget is used, else why it stopped.
  [[nodiscard]] db::Expected<SittingResult> search();
  /// Empty: interrupted.
  [[nodiscard]] db::Expected<bool> run_trial(const db::Asked& asked);
  /// A trial that the finals want; one that is known is not measured again. Empty: interrupted.
  [[nodiscard]] db::Expected<std::optional<db::StoredTrial>> run_extra_trial(const space::Configuration& configuration,
                                                                             const std::string& reason);
  void learn(const space::Trial& trial);
  /// What a first look takes, about: what is missing of its configuration, and a trial as long as the default's; zero
  /// where that is not known. (campaign_open.cpp)
  [[nodiscard]] std::chrono::nanoseconds preparation_time(const space::Configuration& configuration) const;
  [[nodiscard]] std::chrono::nanoseconds default_time() const;
  /// While somebody is there to hear it: what makes the whole campaign pointless.
  void warn_of_failures(const space::Trial& trial);
  /// A line of the campaign's log. A log that cannot be written stops nothing: what follows will meet the same trouble.
  void log(db::Level level, const std::string& what);
  /// The same, and to who watches; what is said before the campaign is open waits until then.
  void say(db::Level level, std::string sentence);
  /// Says so where the wall clock was set, and finds the hour of --until anew.
  void watch_clock();
  [[nodiscard]] std::optional<std::string> search_is_over() const;
  [[nodiscard]] std::chrono::nanoseconds spent() const;
  [[nodiscard]] PaceState pace() const;
  [[nodiscard]] Standing standing() const;

  Sitting& sitting_;
  bool fresh_;
  std::unique_ptr<search::Strategy> strategy_;
  std::shared_ptr<PreparationCosts> costs_;  ///< null: preparation is no matter
  std::optional<RehearsalReport> rehearsal_;
  std::vector<db::RehearsalRecord> no_go_;
  bool open_ = false;
  std::vector<FirstLook> first_looks_;  ///< that are left
  FirstLooksPace first_looks_pace_;
  bool set_aside_ = false;  ///< what the campaign measured before does not hold any more
  std::vector<std::pair<db::Level, std::string>> unsaid_;
  std::vector<db::Asked> pending_;
  std::int64_t next_number_ = 0;
  std::int64_t finished_ = 0, failed_ = 0;
  DeadEnd dead_end_;
  std::optional<space::Trial> baseline_, best_;
  bool is_new_best_ = false;  ///< the trial learnt last beats that by more than noise, or is the first
  std::optional<space::Estimate> announced_best_;               ///< the last that beat all before it by more than noise
  std::set<std::string> known_;                                 ///< identities of finished trials
  std::vector<std::chrono::nanoseconds> durations_;             ///< of finished trials, in order
  std::map<std::int64_t, std::chrono::nanoseconds> run_times_;  ///< of one of their runs each, by number
  std::chrono::nanoseconds spent_before_{};                     ///< in earlier sittings
  std::chrono::steady_clock::time_point began_;
  std::optional<ClockWatch> watch_;
  std::optional<std::chrono::system_clock::time_point> until_;
};

}  // namespace nocturne::tuner
