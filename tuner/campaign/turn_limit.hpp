#pragma once

/// How long turns may be in pairs of a command that ends by itself: a script of a hundred steps has no six turns of
/// sixty, and how many it has is known only when it has ended.

#include <cstdint>
#include <optional>
#include <string>

#include "tuner/executor/order.hpp"

namespace nocturne::tuner {

class TurnLimit {
 public:
  /// Steps that are no part of a turn's time, behind the wait before it (kernels/inject, recorder.py).
  static constexpr std::int64_t kLeftOut = 5;

  /// The order with turns that fit; those of both sides still last about equally long.
  [[nodiscard]] PairOrder fitted(PairOrder order) const;
  /// What a pair says that is not complete. A sentence: a side ended by itself, well, before its turns were over, and
  /// shorter ones fit, which the next orders have. Empty: it failed.
  std::optional<std::string> learn(const PairOrder& order, const PairAnswer& answer);

 private:
  std::int64_t longest_ = 0;  ///< steps; 0: nothing is known
};

}  // namespace nocturne::tuner
