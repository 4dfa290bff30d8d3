#pragma once

/// How much faster one configuration is than another, from the pairs that the database has of them. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/records.hpp"
#include "space/configuration.hpp"

namespace nocturne::tuner {

/// How much faster one is than the other, from pairs that were alive together.
struct StoredGain {
  std::string verdict;      ///< faster, slower, same, undecided: of the candidate
  double gain_percent = 0;  ///< 100 · (T(reference) / T(candidate) − 1)
  double low_percent = 0, high_percent = 0;
  double confidence = 0.95;
  std::int64_t pairs = 0;
  double epochs = 0;  ///< the horizon
  std::string role;   ///< what the comparison was made for: compare, verify, simplify
};

/// A verdict as seen from the candidate; `turned`: the reference was what the pairs call the candidate.
[[nodiscard]] StoredGain gain_of(const db::VerdictRecord& verdict, const std::string& role, bool turned);

/// Takes the comparison of these two, in either direction, with the most pairs. Pairs that chose a winner tell
/// nothing here (they flatter it). Empty: there is none at this horizon.
[[nodiscard]] std::optional<StoredGain> stored_gain(const std::vector<db::StoredComparison>& comparisons,
                                                    const space::Configuration& reference,
                                                    const space::Configuration& candidate, double epochs);

}  // namespace nocturne::tuner
