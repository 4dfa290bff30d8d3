#pragma once

/// Quantiles of Student's t distribution, which all intervals of predictions are made of.

namespace nocturne::search::model {

/// The value that it stays below with this probability, in (0, 1); `degrees` of freedom > 0. Models ask for the same
/// few again and again: those are remembered, by thread.
[[nodiscard]] double student_quantile(double degrees, double probability);

}  // namespace nocturne::search::model
