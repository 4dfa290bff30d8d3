#pragma once

/// After the search: the best and the default are measured again, both alive and in turns, and both train for their
/// accuracy. Only this is reported as the gain.

#include <cstdint>

#include "db/store.hpp"
#include "tuner/campaign/sitting.hpp"

namespace nocturne::tuner {

class Finals {
 public:
  explicit Finals(const Sitting& sitting) : sitting_(sitting) {}

  /// Pairs of fresh processes until spec.verify.pairs are there (those of earlier sittings count), a verdict for each
  /// horizon of the objective, then accuracy. Does only what is missing. Nothing to do where the default failed, or is
  /// itself the best. Ends early, keeping what is done, when interrupted. Returns whether everything is there.
  [[nodiscard]] db::Expected<bool> run();

 private:
  struct Pairing;
  [[nodiscard]] db::Expected<bool> compare(const db::StoredTrial& baseline, const db::StoredTrial& candidate);
  [[nodiscard]] db::Expected<bool> measure_pair(const Pairing& pairing, std::int64_t index);
  [[nodiscard]] db::Expected<std::optional<measure::Comparison>> judge(const Pairing& pairing);
  [[nodiscard]] db::Expected<bool> accuracy(const db::StoredTrial& trial, const std::string& who);
  [[nodiscard]] std::optional<Prepared> prepare(const db::StoredTrial& trial);
  const Sitting& sitting_;
};

}  // namespace nocturne::tuner
