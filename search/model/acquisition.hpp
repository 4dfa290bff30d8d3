#pragma once

/// What a candidate is worth.

namespace nocturne::search::model {

/// E[max(0, best - y)] for y normal: sd (u Phi(u) + phi(u)), u = (best - mean) / sd (Jones, Schonlau, Welch, "Efficient
/// global optimization of expensive black-box functions", J. Global Optimization 13, 1998, equation 15).
/// REQUIRES: sd > 0.
[[nodiscard]] double expected_improvement(double mean, double sd, double best);

}  // namespace nocturne::search::model
