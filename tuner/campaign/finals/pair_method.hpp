#pragma once

/// How two configurations are measured against each other: as the campaign wants it, or, where they cannot, by the next
/// best way. Pure.

#include <cstdint>
#include <optional>
#include <string>

#include "measure/comparison/noise.hpp"
#include "measure/run/launch.hpp"
#include "space/configuration.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

namespace nocturne::tuner {

/// What decides it, of one side.
struct PairedSide {
  const space::Configuration& configuration;
  const measure::LaunchSettings& launch;
  std::optional<std::int64_t> peak_bytes{};           ///< peak memory of a process; empty: not known
  bool contained = false;                             ///< it runs in a container
  std::optional<std::int64_t> device_bytes{};         ///< GPU memory of a process; empty: it uses none
  std::optional<std::int64_t> device_memory_bytes{};  ///< what the GPU has; empty: not known
};

/// Why these two cannot share the machine, in a clause; empty: they can. Each must say that it uses at most half of the
/// `cpus` (parameter `threads`) and leave open which ones; they cannot compute on one GPU at a time; together they must
/// stay below `memory_bytes` (0: no limit).
[[nodiscard]] std::string no_duet_because(const PairedSide& a, const PairedSide& b, std::size_t cpus,
                                          std::int64_t memory_bytes);

/// Why both cannot be alive together, in a clause; empty: they can, as far as is known. Of a GPU's memory a tenth is
/// left to what each process has there beside its tensors, which no worker counts.
[[nodiscard]] std::string not_together_because(const PairedSide& a, const PairedSide& b, std::int64_t memory_bytes);

struct PairMethodChoice {
  measure::PairMethod method = measure::PairMethod::Slices;
  measure::StepEstimator estimator = measure::StepEstimator::Paired;
  std::string instead{};  ///< why not as the campaign wants it, and what that costs, in a clause; empty: it is so
};

/// `verify.method` where these two allow it. A duet that cannot be becomes slices, slices (or a duet) that do not fit
/// into the memory become sequential; judged as the noise of the machine says it is best (verify.known_costs).
[[nodiscard]] PairMethodChoice choose_pair_method(const VerifySettings& verify, const PairedSide& a,
                                                  const PairedSide& b, std::size_t cpus, std::int64_t memory_bytes);

}  // namespace nocturne::tuner
