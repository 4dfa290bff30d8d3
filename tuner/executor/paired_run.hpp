#pragma once

/// Pairs carried out on this machine: those of a comparison (carry_out() of a PairOrder), and the process of a trial in
/// turns with one of the default.

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "tuner/executor/carry_out.hpp"

namespace nocturne::tuner {

/// A reference, ready to be started.
struct PreparedReference {
  const TrialReference& reference;
  const PreparedWorker& prepared;
};

/// A trial's process that took turns with the reference.
struct RunInTurns {
  db::RunRecord run{};  ///< the trial's own; Killed: it was cut short, or it does not count
  /// ln(step of the reference / step of the trial); empty: it failed, or does not count.
  std::optional<double> log_ratio{};
  /// Why the run does not count, a clause: the turns may be to blame, or the reference. Only a run alone will say.
  std::string why_alone{};
};

/// Both train as many examples a turn. Of the trial's process the start-up, the memory and the failure are its own. A
/// pair that is whole is kept at once. `index`: of the run in its trial. Throws as carry_out().
[[nodiscard]] RunInTurns run_in_turns(const TrialOrder& order, const PreparedWorker& prepared,
                                      const PreparedReference& reference, std::size_t index, const Workplace& place,
                                      TrialKeeper& keeper);

/// The trial as if its step took so many seconds; its standard error keeps its share of the time. REQUIRES: it ended
/// well.
void set_step(double seconds, double epochs, space::Trial& trial);

/// Judges a trial by its turns: its step is the reference's times exp(−mean ratio), so that what disturbed both is in
/// neither; what is no step stays as it was measured. REQUIRES: a ratio at least; it ended well.
void judge_by_ratios(std::span<const double> log_ratios, double reference_step, double epochs, space::Trial& trial);

}  // namespace nocturne::tuner
