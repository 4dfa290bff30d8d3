#pragma once

/// Do the profiles of a machine still hold, all of them? One sequential test (measure/comparison/family_looks.hpp): in rounds, one
/// pair of each profile that is still open, in an order of its own, so that no profile has a quieter hour than the
/// others, and what was interrupted says something of each. A profile that is decided is measured no further.

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/comparison/comparison.hpp"
#include "tuner/deploy/verification.hpp"

namespace nocturne::deploy {

/// A profile against its default, ready to be measured. Abstract so that the test of it needs no processes.
class FamilyMember {
 public:
  virtual ~FamilyMember() = default;
  /// Measures until so many pairs are there. False: interrupted, or pair after pair failed. The error is a sentence.
  [[nodiscard]] virtual std::expected<bool, std::string> measure_up_to(std::int64_t pairs) = 0;
  [[nodiscard]] virtual std::int64_t pairs() const = 0;
  /// Of one pair, as far as is known.
  [[nodiscard]] virtual std::chrono::nanoseconds pair_time() const = 0;
  /// ln(T(default) / T(profile)) of each pair.
  [[nodiscard]] virtual std::expected<std::vector<double>, std::string> log_ratios() = 0;
};

struct FamilySettings {
  int pairs = 6;        ///< of each, before the first look
  int most_pairs = 20;  ///< while it is open; no fewer than `pairs`
  double margin_percent = 1;
  double error = 0.05;     ///< that any finding is wrong
  std::uint64_t seed = 1;  ///< of the order within rounds
  /// Whether a pair that takes that long may still be begun.
  std::function<bool(std::chrono::nanoseconds)> time_for = [](std::chrono::nanoseconds) { return true; };
  std::function<bool()> interrupted = [] { return false; };
  /// Before each pair: the member's index, the pair's number from 1, members that are open.
  std::function<void(std::size_t, std::int64_t, std::size_t)> measuring = [](auto...) {};
};

struct FamilyFinding {
  Finding finding = Finding::NotMeasured;
  std::string because;                            ///< one sentence
  std::optional<measure::Comparison> comparison;  ///< with the interval it was judged by; empty: fewer than two pairs
};

/// Holds where the whole interval is above zero; does not where it is below the margin. `members` may hold null for
/// what cannot be measured at all; its finding is left as it is made. In the order given.
[[nodiscard]] std::vector<FamilyFinding> verify_family(const std::vector<FamilyMember*>& members,
                                                       const FamilySettings& settings);

}  // namespace nocturne::deploy
