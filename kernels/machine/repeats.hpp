#pragma once

/// How often something is measured, and how long it must last to be measured at all.

#include <chrono>
#include <cstdint>
#include <functional>

#include "kernels/machine/spread.hpp"

namespace nocturne::machine {

using Seconds = std::chrono::duration<double>;

inline constexpr int kFewestRepeats = 5;  // for quartiles to mean something
inline constexpr Seconds kRepeat{0.02};   // long against starting threads, short against a neighbour's bursts

/// Repeats until the time is over, but at least kFewestRepeats times.
[[nodiscard]] Spread repeat(Seconds budget, const std::function<double()>& once);

/// The smallest of `fewest`, 2 · fewest, … for which `once` lasts kRepeat, at most `most`.
[[nodiscard]] std::int64_t enough_iterations(std::int64_t fewest, std::int64_t most,
                                             const std::function<std::chrono::nanoseconds(std::int64_t)>& once);

/// Above zero, so that it can be divided by.
[[nodiscard]] double seconds_of(std::chrono::nanoseconds time);

}  // namespace nocturne::machine
