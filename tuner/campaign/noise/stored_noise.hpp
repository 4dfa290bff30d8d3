#pragma once

/// The noise floor of this machine, as it was measured once and stored: by fingerprint, workload and way of measuring.

#include <cstddef>
#include <optional>
#include <string>

#include "db/store.hpp"
#include "space/fingerprint.hpp"
#include "space/workload.hpp"
#include "tuner/campaign/noise/noise_floor.hpp"

namespace nocturne::tuner {

/// "mnist_cnn/mnist/adadelta".
[[nodiscard]] std::string noise_workload(const space::Workload& workload);

/// Stores it for the machine as it is now; what was stored for the same machine and workload is replaced.
void store_noise(db::Store& store, const CampaignSpec& spec, const space::Fingerprint& fingerprint,
                 const NoiseFloor& floor);

struct KnownNoise {
  std::optional<NoiseFloor> floor;  ///< empty: none that holds
  std::string set_aside;            ///< why noise measured on another machine or earlier is not used; or empty
};

/// The latest floor of this workload whose fingerprint differs in nothing that matters (Match::Must, Match::Verify):
/// what a machine resolves may change with its kernel, its governor, its microcode.
[[nodiscard]] KnownNoise known_noise(const db::Store& store, const CampaignSpec& spec,
                                     const space::Fingerprint& fingerprint);

/// Lets a campaign that `tune` does not begin measure its pairs the way that the noise of this machine makes cheapest:
/// method, estimator, what the others cost; and tells it how processes scatter here. Numbers of pairs and the margin
/// stay. What is not known changes nothing. `cpus`: how many workers may use.
void measure_as_noise_says(const db::Store& store, CampaignSpec& spec, const space::Fingerprint& fingerprint,
                           std::size_t cpus);

}  // namespace nocturne::tuner
