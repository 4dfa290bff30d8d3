#pragma once

/// Brings one trial from asked to finished: slot, preparation, runs, judgement, store.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "space/trial.hpp"
#include "tuner/campaign/sitting.hpp"

namespace nocturne::tuner {

struct FinishedTrial {
  space::Trial trial;
  bool reused = false;  ///< an equal trial was known: nothing was run
};

class TrialRunner {
 public:
  explicit TrialRunner(const Sitting& sitting) : sitting_(sitting) {}

  /// Empty: interrupted; the trial is run again by the next sitting. `incumbent` spares the hopeless their repeats.
  [[nodiscard]] db::Expected<std::optional<FinishedTrial>> run(std::int64_t number,
                                                               const space::Configuration& configuration,
                                                               const std::optional<space::Estimate>& incumbent,
                                                               space::Purpose purpose = space::Purpose::Search);

  /// Stores a trial whose failure the rehearsal saw; nothing is run.
  [[nodiscard]] db::Expected<space::Trial> conclude(std::int64_t number, const db::RehearsalRecord& seen);

 private:
  /// Whether an equal trial was measured under the present state of this machine; that it was not is told.
  [[nodiscard]] db::Expected<bool> unchanged(const db::StoredTrial& known) const;
  /// Good runs that an earlier sitting, which was ended in the middle of this trial, has stored; by seed.
  [[nodiscard]] db::Expected<std::vector<space::Run>> runs_of_before(db::TrialId trial, space::Purpose purpose) const;
  /// Writes the result of its runs so far into the record; whether it wants another.
  [[nodiscard]] bool judge(const std::vector<space::Run>& runs, const Prepared& prepared,
                           const std::optional<space::Estimate>& incumbent, space::Trial& record) const;
  /// `runs`: those it has already.
  [[nodiscard]] db::Expected<std::optional<FinishedTrial>> measure(db::TrialId trial, space::Trial record,
                                                                   const Prepared& prepared,
                                                                   std::vector<space::Run> runs,
                                                                   const std::optional<space::Estimate>& incumbent,
                                                                   space::Purpose purpose);
  const Sitting& sitting_;
};

/// Hash of workload, configuration, fidelity, program, the fingerprint's fields that must match and the images
/// (data_state.hpp; empty: the workload's own): trials with equal keys measure the same thing.
[[nodiscard]] std::string trial_key(const CampaignSpec& spec, const space::Configuration& configuration,
                                    const space::Fidelity& fidelity, const std::string& worker,
                                    const std::string& fingerprint_key, const std::string& images = {});

}  // namespace nocturne::tuner
