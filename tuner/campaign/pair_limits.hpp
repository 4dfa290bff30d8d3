#pragma once

/// What pairs of a command of the user's own cannot do, as those have shown that failed: have turns that are longer
/// than the script has steps for, or let both sides live at the same time.

#include <cstdint>
#include <optional>
#include <string>

#include "tuner/executor/order.hpp"

namespace nocturne::tuner {

/// Shared by all pairs of a session.
class PairLimits {
 public:
  /// Steps that are no part of a turn's time, behind the wait before it (kernels/inject, recorder.py).
  static constexpr std::int64_t kLeftOut = 5;

  /// The order with turns that fit; those of both sides still last about equally long.
  [[nodiscard]] PairOrder fitted(PairOrder order) const;
  /// What a pair says that is not complete. A sentence: a side ended by itself, well, before its turns were over, and
  /// shorter ones fit, which the next orders have. Empty: it failed.
  std::optional<std::string> learn(const PairOrder& order, const PairAnswer& answer);

  /// Whether two of its processes cannot live at the same time; set once pairs go through without.
  [[nodiscard]] bool apart() const { return apart_; }
  void keep_apart() { apart_ = true; }

 private:
  std::int64_t longest_ = 0;  ///< steps; 0: nothing is known
  bool apart_ = false;
};

/// Whether a side of a pair in turns failed by itself, as one does that finds its port, its lock or its file taken by
/// the other one: the sentence that says so, and that pairs follow each other from now on. Empty: it did not.
[[nodiscard]] std::optional<std::string> failed_beside_the_other(const PairOrder& order, const PairAnswer& answer);

}  // namespace nocturne::tuner
