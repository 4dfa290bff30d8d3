#pragma once

/// Whether figures of one and of several threads can both be true, and measuring again where they cannot.
///
/// A neighbour that computes while a loop runs takes away what the loop was to show. Two things hold on any machine,
/// whatever its speed:
///
///   more is more     Several threads that have u cores (or caches) between them reach at least max(1.3, 0.4 u) times
///                    as much as one: not u times, because clocks fall where all compute. Where they share what they
///                    use (u = 1), they reach at least 0.9 times as much.
///   a fair share     One thread alone reaches at least 1 / 1.25 of what each of several reached.
///
/// Which one is too low follows from which rule is broken. It is measured again, and the better measurement is kept: a
/// peak is a maximum. What still breaks a rule is reported as doubtful; it may be right (a quota that grants less than
/// the CPUs there are, threads of one core that a hypervisor shows as two), so whoever measures it twice with the same
/// result should believe it.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "kernels/machine/measurement.hpp"

namespace nocturne::machine {

/// Measurements of one figure, at most.
inline constexpr int kMostTries = 4;

/// Rate of several threads over that of one, at least. `units`: cores or caches that they have between them.
[[nodiscard]] double least_gain(int units);

struct Doubt {
  std::size_t figure = 0;  ///< index of the one that is too low
  std::string because;     ///< a clause
};

/// The units of a figure of several threads.
using UnitsOf = std::function<int(const Measurement&)>;

/// Compares each rate of several threads with that of one thread of the same name. Latencies, and what belongs to a
/// NUMA node, are passed over.
[[nodiscard]] std::vector<Doubt> doubts_about(const std::vector<Measurement>& figures, const UnitsOf& units_of);

/// Until nothing is doubted, or the doubted were measured kMostTries times: `again(i)` measures figures[i] once more.
/// Sets `tries`, and `doubt` of those that remain.
void measure_doubted_again(std::vector<Measurement>& figures, const UnitsOf& units_of,
                           const std::function<Measurement(std::size_t)>& again);

}  // namespace nocturne::machine
