#pragma once

/// Before a changed script of the user's own may win: does it learn as it does unchanged? (measure/gate/learning.hpp)
///
/// The reference is the script in the finalist's configuration with its levers left alone, so that what is judged is
/// what the levers do: a batch size or an option that the user lets vary is the same on both sides, and what that does
/// to learning is not judged. All runs have purpose gate: the references' are stored with the default's trial, the
/// finalist's with its own, its last one with the verdict, which is shown wherever the trial is.

#include <chrono>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "measure/gate/learning.hpp"
#include "tuner/campaign/answer/judged_learning.hpp"
#include "tuner/campaign/pacing.hpp"
#include "tuner/campaign/session.hpp"

namespace nocturne::tuner {

/// One instance a session; not thread-safe. OWNER of the campaign.
class LearningGate {
 public:
  /// `time`: empty where the campaign is not bounded by time; the longer run is left out where it does not fit.
  LearningGate(const Session& session, std::optional<TimeFrame> time) : session_(session), time_(time) {}

  /// Whether there is something to judge: levers that are not as the script is.
  [[nodiscard]] bool concerns(const db::StoredTrial& trial) const;
  /// Empty: interrupted. A judgement of an earlier session is not made again. `after`: time that must be left.
  /// REQUIRES: concerns(trial).
  [[nodiscard]] std::optional<JudgedLearning> judge(const db::StoredTrial& trial, std::chrono::nanoseconds after = {});

 private:
  /// What one run of a configuration recorded, or a sentence why it did not.
  struct Recording {
    std::expected<measure::LearningRecord, std::string> record;
    space::Run run;
  };
  /// Learning records of one configuration without its levers; made anew in each session.
  struct References {
    std::vector<measure::LearningRecord> starts, longer;
    std::string why_none;  ///< not empty: there is no reference
  };
  /// How one run of it records.
  struct Way {
    RunOrder::Learning learning = RunOrder::Learning::Start;
    std::int64_t steps = 0;  ///< at most
  };
  static const Way kStart;
  /// Empty: interrupted. Not stored.
  [[nodiscard]] std::optional<Recording> record(const space::Configuration& configuration, const Way& way,
                                                std::uint64_t seed);
  /// Null: interrupted. Made once for each reference. `longer_steps`: 0: the starts alone; else `longer` such runs.
  [[nodiscard]] const References* references(const space::Configuration& configuration, std::int64_t longer_steps,
                                             std::size_t longer = measure::kLearningReferences);
  /// By more references where it lies outside of the usual ones and there is time. Empty: interrupted.
  [[nodiscard]] std::optional<measure::LearningJudgement> judge_longer(const space::Configuration& unchanged,
                                                                       std::int64_t longer_steps,
                                                                       const Recording& trained,
                                                                       std::chrono::nanoseconds after);
  /// Steps of the longer runs; 0: there is no time for them.
  [[nodiscard]] std::int64_t longer_steps(const db::StoredTrial& trial, std::chrono::nanoseconds after) const;

  const Session& session_;
  std::optional<TimeFrame> time_;
  std::map<std::string, References> references_;  ///< by the configuration's identity
};

}  // namespace nocturne::tuner
