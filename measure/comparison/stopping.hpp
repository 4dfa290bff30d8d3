#pragma once

/// Does this trial need another run? A pure rule: no clock, no state; the tuner asks after each run.

#include <optional>
#include <string>

#include "space/outcome.hpp"
#include "space/trial.hpp"

namespace nocturne::measure {

struct StoppingOptions {
  int repeats = 3;  ///< runs of a trial that may be the best, from the campaign; at least 1
  /// A trial is hopeless once its estimate, less this many standard errors, is still above the incumbent's plus as
  /// many.
  double hopeless_errors = 3;
  /// A single process knows nothing of the luck between processes (memory placement: sd of 2 to 7 % on virtual
  /// machines, single pairs 10 % apart), so after one run a trial must also be this much slower than the incumbent to
  /// be hopeless.
  double single_run_margin = 0.15;
};

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
