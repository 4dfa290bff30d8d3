#pragma once

/// Each configuration that a campaign measured against what its machine could do at best.

#include <cstdint>
#include <expected>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "space/configuration.hpp"
#include "tuner/roofline/peak_figures.hpp"

namespace nocturne::tuner {

/// A step that was measured may seem this much faster than it is, at least.
inline constexpr double kLeastNoise = 0.02;

struct RooflineRow {
  std::int64_t trial = 0;
  space::Configuration configuration;
  std::int64_t batch = 0;
  double step_s = 0;                 ///< measured, steady
  std::optional<StepBound> bound{};  ///< empty: `without` says why
  std::string without{};
  double noise = kLeastNoise;  ///< share of the measured step: two standard errors of the trial's time, or kLeastNoise
                               ///< where that is more
  [[nodiscard]] double images_a_second() const { return static_cast<double>(batch) / step_s; }
  /// Share of the bound; above 1: the step is faster than the bound allows (step_bound.hpp). REQUIRES: a bound.
  [[nodiscard]] double share() const { return bound->seconds / step_s; }
  /// Faster than its bound, beyond the noise: one of both is wrong.
  [[nodiscard]] bool beats_bound() const { return bound && share() > 1 + noise; }
};

struct Roofline {
  std::vector<RooflineRow> rows{};    ///< trials that worked, most images a second first
  std::optional<std::size_t> best{};  ///< the row of the campaign's best
  std::string network;
  double operations_an_image = 0;  ///< forward and backward
};

/// What bounds a stored workload on the machine with this fingerprint: the figures from the store, the network from
/// there or, where it is not stored yet, from our worker in `programs` (empty: beside this program). The error is a
/// sentence that says what to do.
[[nodiscard]] std::expected<PeakFigures, std::string> peaks_for(const db::Store& store,
                                                                const space::Fingerprint& fingerprint,
                                                                const space::Workload& workload,
                                                                const std::filesystem::path& programs = {});

/// Trials without parts are left out.
[[nodiscard]] Roofline roofline_of(const db::Store& store, const db::CampaignSummary& campaign,
                                   const PeakFigures& peaks);

/// "2 of 7 configurations are faster than their bounds, by up to 52 %, …": that the machine's figures are too low, and
/// the command that measures them again. Empty: none is.
[[nodiscard]] std::string doubt_sentence(const Roofline& roofline);

/// "The best (trial 27) runs at 78 % of what its cores could do in bf16; at most 1.28 x is left in its steps." Empty:
/// there is no best, or it has no bound.
[[nodiscard]] std::string best_sentence(const Roofline& roofline);

}  // namespace nocturne::tuner
