#pragma once

/// Whole epochs of fresh processes, one after the other: whether the first epoch is longer than the later ones, which
/// single steps do not show.

#include <chrono>
#include <cstdint>
#include <optional>

#include "db/store.hpp"
#include "tuner/campaign/session.hpp"

namespace nocturne::tuner {

struct WholeEpochsSettings {
  std::int64_t epochs = 3;  ///< how many each process trains
  std::int64_t runs = 5;    ///< processes
  /// No process is begun that is expected to end later.
  std::optional<std::chrono::steady_clock::time_point> end{};
};

struct WholeEpochsResult {
  std::int64_t runs = 0;  ///< that ended well, and are stored with their trial
  bool interrupted = false;
  bool out_of_time = false;
};

/// Trains the configuration, which becomes a trial of the campaign. One that does not train gives no runs. Blocks.
[[nodiscard]] WholeEpochsResult train_whole_epochs(Session& session, const space::Configuration& configuration,
                                                   const WholeEpochsSettings& settings);

}  // namespace nocturne::tuner
