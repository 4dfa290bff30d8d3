#pragma once

/// Before a finalist may win: does it train as the reference does? (measure/gate/gate.hpp, measure/gate/loss_band.hpp)
///
/// The reference is our own worker in f32 with all settings left alone, at the finalist's batch size; its gradients are
/// checked against double precision (nocturne-onednn --check-gradients). Its runs are stored with the default's trial,
/// the finalist's with its own, all with purpose gate; epochs of the reference serve every campaign of the workload in
/// the same database. What is refused becomes a trial with outcome `wrong` and the deviation as its reason; what cannot
/// be judged is let through, and that is said.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "tuner/campaign/finals/learning_gate.hpp"
#include "tuner/campaign/pacing.hpp"
#include "tuner/campaign/session.hpp"
#include "tuner/executor/order.hpp"

namespace nocturne::tuner {

enum class Admission {
  Admitted,     ///< it agrees with the reference, or changes nothing that could differ
  NotJudged,    ///< nobody can tell: it is let through, and that is said
  Refused,      ///< it trains wrongly: no longer among the ok trials
  Interrupted,  ///< to be asked again in the next session
};

[[nodiscard]] constexpr bool may_win(Admission admission) {
  return admission == Admission::Admitted || admission == Admission::NotJudged;
}

/// One instance a session; not thread-safe. OWNER of the campaign.
class FinalistGate {
 public:
  /// `time`: empty where the campaign is not bounded by time.
  FinalistGate(const Session& session, std::optional<TimeFrame> time)
      : session_(session), time_(time), learning_(session, time) {}

  /// The exact part: a few steps without dropout from the same weights on the same batches. Seconds. Judges a changed
  /// script by its longer run only where that leaves the time that is needed `after`.
  [[nodiscard]] Admission admits(const db::StoredTrial& trial, std::chrono::nanoseconds after = {});

  /// The statistical part, from the epoch in which the trial's accuracy was measured (of which nothing is repeated):
  /// its accuracy against the default's, its losses against several seeds of the reference, an epoch each where there
  /// is time for it. Admitted where that epoch was not trained.
  [[nodiscard]] Admission admits_epoch(const db::StoredTrial& trial, const db::StoredTrial& baseline);

 private:
  /// The reference's exact run of one batch size and rule for the learning rate.
  struct Reference {
    space::Run run;
    std::string initial;   ///< file it began with
    std::string why_none;  ///< not empty: there is no such run
  };

  /// Empty: interrupted. Stored with `owner`.
  [[nodiscard]] std::optional<GateAnswer> train(GateOrder order, const PreparedWorker& prepared, db::TrialId owner);
  /// What `trial` is compared with. Null: interrupted.
  [[nodiscard]] const Reference* exact_reference(const db::StoredTrial& trial, std::int64_t batch, std::int64_t steps);
  /// Epochs that the reference trained for this or another campaign of the same workload, by seed.
  [[nodiscard]] std::map<std::uint64_t, space::Run> known_epochs(std::int64_t batch, std::int64_t seeds,
                                                                 const std::string& artifact) const;
  /// So many as are wanted and there is time for, made where missing. Empty optional: interrupted.
  [[nodiscard]] std::optional<std::vector<space::Run>> reference_epochs(const db::StoredTrial& trial,
                                                                        const db::StoredTrial& baseline);
  /// Epochs of the reference: as the campaign says, else as many as there is time for.
  [[nodiscard]] std::int64_t seeds_wanted(const db::StoredTrial& baseline) const;
  [[nodiscard]] bool is_time_for_epoch(const db::StoredTrial& baseline) const;
  /// Judges a command of the user's own.
  [[nodiscard]] Admission admits_changed(const db::StoredTrial& trial, std::chrono::nanoseconds after);

  [[nodiscard]] Admission refuse(const db::StoredTrial& trial, const std::string& why);
  [[nodiscard]] Admission let_through(const db::StoredTrial& trial, const std::string& why);

  const Session& session_;
  std::optional<TimeFrame> time_;
  LearningGate learning_;
  std::map<std::string, Reference> references_;  ///< by identity of their configuration
  std::set<std::string> said_;                   ///< why trials were let through
};

}  // namespace nocturne::tuner
