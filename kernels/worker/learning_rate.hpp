#pragma once

/// How the learning rate follows the batch size: the parameter `learning_rate_rule`, the same for every worker
/// (kernels/python/nocturne_worker/learning_rate.py is its twin).
///
///     none                the optimizer's rate, whatever the batch size
///     linear              rate · batch / kUsualBatch (P. Goyal and others, arXiv 1706.02677, section 2.1)
///     square_root         rate · sqrt(batch / kUsualBatch) (A. Krizhevsky, arXiv 1404.5997, section 5)
///     …_warm_up           during the first epoch the rate goes from the optimizer's own to that one, in equal steps
///                         (Goyal and others, section 2.2)

#include <cstdint>

#include <nlohmann/json.hpp>

namespace nocturne::worker {

/// The batch size whose rate no rule changes: what workers train with where nothing is said.
inline constexpr double kUsualBatch = 128;

struct LearningRateRule {
  enum class Scaling { None, Linear, SquareRoot } scaling = Scaling::None;
  bool warm_up = false;

  /// Factor on the optimizer's rate in step `step` (0 is the first) of a training. Exactly 1 with Scaling::None.
  [[nodiscard]] double factor(std::int64_t batch, std::int64_t step, std::int64_t steps_per_epoch) const;
};

/// Absent: none. Throws Unsupported with the words that are allowed.
[[nodiscard]] LearningRateRule read_learning_rate_rule(const nlohmann::json& configuration);

}  // namespace nocturne::worker
