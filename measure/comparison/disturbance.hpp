#pragma once

/// What made a run slower than its configuration is, as far as it can be told: other programs, the hypervisor, an
/// accelerator that was held back. Pure.
///
/// A little load of the CPUs is told and nothing more: how much of it a run felt is not known, and what is compared
/// closely is measured in turns. Much of it, and clocks that an accelerator lowered for its heat, or because its supply
/// made it, have slowed the run: a trial is measured once more, and its estimate passes over such runs where there are
/// others (statistics.hpp).

#include <string>
#include <vector>

#include "space/run.hpp"

namespace nocturne::measure {

inline constexpr double kQuietOthers = 0.05;     ///< share of the machine that others may use before step times suffer
inline constexpr double kQuietSteal = 0.01;      ///< share of CPU time
inline constexpr double kQuietThrottled = 0.05;  ///< share of a device's readings
inline constexpr double kMuchOthers = 0.25;      ///< share of the machine with which others surely slow a run
inline constexpr double kMuchSteal = 0.1;        ///< likewise of CPU time

/// "thermal in 40 % of its readings": the reasons for which the run's device lowered its clocks in more than
/// kQuietThrottled of its readings. Empty: it did not, or there is none. "power_cap" is no such reason: that is how a
/// device under full load keeps to its rating, in every run of the configuration alike.
[[nodiscard]] std::string held_back(const space::Run& run);

/// "other processes took 40 % of the machine": why a run measured its neighbours as well as its configuration. Empty:
/// it did not, or it is a pair's, whose other side is such a neighbour.
[[nodiscard]] std::string under_load(const space::Run& run);

/// Whether either of both slowed it: an estimate passes over such a run where there are others.
[[nodiscard]] bool was_slowed(const space::Run& run);

/// A clause each, worst to know first; empty: nothing is known to have disturbed it.
[[nodiscard]] std::vector<std::string> disturbances(const space::Run& run);

}  // namespace nocturne::measure
