#pragma once

/// The loop: ask, prepare, run, judge, store, tell; then the finals. The database is the only memory: a campaign that
/// was killed at any moment is opened again and goes on.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "db/store.hpp"
#include "search/strategy.hpp"
#include "tuner/campaign/pacing.hpp"
#include "tuner/campaign/replay.hpp"
#include "tuner/campaign/sitting.hpp"

namespace nocturne::tuner {

/// How a sitting ended.
enum class Ending {
  Complete,        ///< budget used or nothing left to propose; best and default measured again
  AlreadyDone,     ///< an earlier sitting had completed this very campaign: nothing was done
  Interrupted,     ///< by a person or the system; the next sitting goes on
  MachineChanged,  ///< a field of the fingerprint that must match changed meanwhile: open again, as a new generation
};

struct SittingResult {
  Ending ending = Ending::Complete;
  std::string because;  ///< why the search ended, one sentence
  db::CampaignId campaign = 0;
};

class Campaign {
 public:
  /// The sitting's campaign id is set by run(). `fresh`: measure again whatever is known.
  Campaign(Sitting& sitting, bool fresh) : sitting_(sitting), fresh_(fresh) {}

  /// Opens or resumes, searches, measures the best again. Blocks. `processes_swept` only for the observer.
  [[nodiscard]] db::Expected<SittingResult> run(std::size_t processes_swept = 0);

 private:
  [[nodiscard]] db::Expected<std::optional<db::CampaignId>> completed_before() const;
  /// The fields that must match and do not, in words; empty: the same machine, or no earlier sitting.
  [[nodiscard]] db::Expected<std::string> machine_changed_since_last_sitting() const;
  [[nodiscard]] db::Expected<void> open(std::size_t processes_swept);
  [[nodiscard]] db::Expected<void> make_strategy(db::CampaignId campaign);
  /// What a new generation knows of others; empty: nothing, and so wants the user.
  [[nodiscard]] db::Expected<std::optional<std::vector<db::HistorySource>>> history_to_begin_with() const;
  /// The next configuration that a person wants and nobody measured; null: none.
  [[nodiscard]] const space::Configuration* wanted() const;
  /// Ending::Complete when the budget is used, else why it stopped.
  [[nodiscard]] db::Expected<SittingResult> search();
  /// Empty: interrupted.
  [[nodiscard]] db::Expected<bool> run_trial(const db::Asked& asked);
  void learn(const space::Trial& trial);
  /// A line of the campaign's log. A log that cannot be written stops nothing: what follows will meet the same trouble.
  void log(db::Level level, const std::string& what);
  /// The same, and to who watches; what is said before the campaign is open waits until then.
  void say(db::Level level, std::string sentence);
  [[nodiscard]] std::optional<std::string> budget_ends() const;
  [[nodiscard]] std::chrono::nanoseconds spent() const;
  [[nodiscard]] PaceState pace() const;
  [[nodiscard]] Standing standing() const;

  Sitting& sitting_;
  bool fresh_;
  std::unique_ptr<search::Strategy> strategy_;
  bool open_ = false;
  std::vector<std::pair<db::Level, std::string>> unsaid_;
  std::vector<db::Asked> pending_;
  std::int64_t next_number_ = 0;
  std::int64_t finished_ = 0, failed_ = 0;
  std::optional<space::Trial> baseline_, best_;
  std::set<std::string> known_;                      ///< identities of finished trials
  std::vector<std::chrono::nanoseconds> durations_;  ///< of finished trials, in order
  std::chrono::nanoseconds spent_before_{};          ///< in earlier sittings
  std::chrono::steady_clock::time_point began_;
  std::optional<std::chrono::system_clock::time_point> until_;
};

}  // namespace nocturne::tuner
