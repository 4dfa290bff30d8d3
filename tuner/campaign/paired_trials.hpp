#pragma once

/// Trials that are measured in turns with a living process of the default (TrialMethod::Paired).
///
/// With r = ln(step of the default / step of the trial), measured in alternating slices, a trial's step is taken to be
///
///     level · exp(−r),
///
/// where the level is the median step over all runs of the default by now: its own, and those beside trials. It is one
/// and the same for all trials, so that the noise which two processes share is in none of them. Whenever there are
/// twice as many of these runs the level is found anew, and all such trials are judged again: stored in one
/// transaction, and told. The level in force is the step of trial 0 as it is stored, and the count that it rests on the
/// number of its runs: nothing else needs to be remembered.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tuner/campaign/session.hpp"
#include "tuner/executor/order.hpp"
#include "tuner/executor/paired_run.hpp"

namespace nocturne::tuner {

/// Why trials of this campaign cannot take turns with the default, in a clause; empty: they can, as far as is known
/// before one was measured. `is_local`: this process carries them out, one at a time.
[[nodiscard]] std::string no_turns_because(const CampaignSpec& spec, bool is_local);

class PairedTrials {
 public:
  /// The session outlives it.
  PairedTrials(const Session& session, bool is_local);

  /// What the campaign measures so, and why not where that was asked for: a sentence; empty: trials are alone, as
  /// nobody wanted otherwise.
  [[nodiscard]] std::string sentence() const;
  /// With what the next trial takes turns; empty: it is measured alone.
  [[nodiscard]] std::optional<TrialReference> reference() const;

  /// The campaign was opened, and what it knew was told. The trials that are judged otherwise from now on, by number,
  /// and stored so.
  [[nodiscard]] std::vector<space::Trial> open();
  /// The answer was stored and told. Likewise.
  [[nodiscard]] std::vector<space::Trial> learn(const TrialAnswer& answer);

 private:
  /// Takes over what trial 0 says.
  void refer_to(const db::StoredTrial& baseline);
  [[nodiscard]] bool is_due() const { return judged_by_ > 0 && runs_ >= 2 * judged_by_; }
  [[nodiscard]] std::vector<space::Trial> judge_again();

  const Session& session_;
  std::string why_not_{};                      ///< a clause; empty: trials are paired
  std::optional<TrialReference> reference_{};  ///< once the default has trained
  std::int64_t runs_ = 0, judged_by_ = 0;      ///< of the default: known, and those that the level rests on
  int alone_in_a_row_ = 0;                     ///< good trials whose turns came to nothing
};

}  // namespace nocturne::tuner
