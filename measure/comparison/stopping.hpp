#pragma once

/// Does this trial need another run? One for the hopeless, more for contenders. A pure rule: no clock, no state; the
/// tuner asks after each run.
///
/// The log of a trial's estimate after k processes scatters about the truth with variance process_sd² / k (plus what
/// the samples within them leave open), the incumbent's likewise. A trial is given up at a look where it is above the
/// incumbent by more than that look's critical value allows. Looks are planned (planned_looks.hpp, scatter known, one
/// side): a trial that is in truth as fast as the incumbent is given up at any of them in at most `error` of all cases.
/// The incumbent's own scatter is the same at all looks, which makes them more alike than planned, and the error
/// smaller.

#include <optional>
#include <string>

#include "space/outcome.hpp"
#include "space/trial.hpp"

namespace nocturne::measure {

struct StoppingOptions {
  int repeats = 3;  ///< runs of a trial that may be the best, from the campaign; at least 1
  /// Standard deviation of the log of a process's time, by chance (memory placement: 2 to 7 % on virtual machines):
  /// from the machine's noise where that is known.
  double process_sd = 0.05;
  double error = 0.05;  ///< probability of giving up, at some look, a trial that is as fast as the incumbent
};

/// Whether a single run says something so far from what was expected of it that a disturbance is likelier: more than
/// kSurprise standard deviations of the logarithm, which happens by chance in one of 250 runs where the sd is learnt
/// from a few dozen trials. Of several runs none is: they bear each other out.
inline constexpr double kSurprise = 4;
[[nodiscard]] bool is_surprising(const space::Estimate& estimate, double expected_log, double log_sd);

struct Decision {
  bool another_run = false;
  std::string because;  ///< one sentence for the log
};

/// `last` is the outcome of the trial's last run, `estimate` what its runs so far say, `incumbent` the best trial's
/// estimate (empty: none yet). A run that was not Ok ends the trial (Killed: it runs again).
[[nodiscard]] Decision needs_another_run(space::Outcome last, const std::optional<space::Estimate>& estimate,
                                         const std::optional<space::Estimate>& incumbent,
                                         const StoppingOptions& options = {});

}  // namespace nocturne::measure
