#pragma once

/// What a campaign's configurations could reach at best: the figures of its machine, the work of its network.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "db/store.hpp"
#include "search/work_bound.hpp"
#include "space/configuration.hpp"
#include "space/fingerprint.hpp"
#include "space/workload.hpp"
#include "tuner/roofline/machine_figures.hpp"
#include "tuner/roofline/step_bound.hpp"

namespace nocturne::tuner {

/// Typical share of the peak, between a good kernel and a framework as it is installed: what a first estimate of a step
/// assumes while nothing was measured.
inline constexpr double kTypicalShare = 0.5;

/// A value.
struct PeakFigures {
  MachineFigures machine;
  NetworkWork network;
  std::string optimizer;
  nlohmann::json document;  ///< all it was made from, as it is stored with a campaign

  /// `figures`, `fields`: as stored of the machine. `description`: of the network. The error is a sentence.
  [[nodiscard]] static std::expected<PeakFigures, std::string> make(const nlohmann::json& figures,
                                                                    const nlohmann::json& fields,
                                                                    const nlohmann::json& description,
                                                                    const std::string& optimizer);
  [[nodiscard]] static std::expected<PeakFigures, std::string> from_json(const nlohmann::json& document);

  /// Bound of a step of this configuration; `batch` where it has no parameter of that name. On a GPU where `framework`
  /// is cudnn or `device` begins with cuda or gpu.
  [[nodiscard]] std::expected<StepBound, std::string> bound(const space::Configuration& configuration,
                                                            std::int64_t batch) const;
};

/// For the machine with this fingerprint and the network of a workload, from what is stored. Empty: one of both is not
/// known, or cannot be read.
[[nodiscard]] std::optional<PeakFigures> stored_peaks(const db::Store& store, const space::Fingerprint& fingerprint,
                                                      const space::Workload& workload);

/// What a campaign's model knew when it began. Empty: nothing.
[[nodiscard]] std::optional<PeakFigures> peaks_of_campaign(const db::Store& store, db::CampaignId campaign);

/// For a strategy. Where a configuration has no bound (a precision that was not measured) it is that of f32. Without a
/// peak figures: nothing.
[[nodiscard]] search::WorkBound work_bound(std::optional<PeakFigures> peaks);

}  // namespace nocturne::tuner
