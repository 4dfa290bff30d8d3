#pragma once

/// What a step and an epoch of a trial consist of: asked wherever times are made of its samples, so that all agree.

#include <expected>
#include <string>

#include "measure/comparison/statistics.hpp"
#include "space/configuration.hpp"
#include "space/workload.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

namespace nocturne::tuner {

/// Whether nothing is known within its runs: a command of the user's own whose process is timed, or says at its end how
/// long it took.
[[nodiscard]] bool is_timed_whole(const WorkerChoice& worker);

/// By the batch of the configuration. Without one a step is 128 examples; of a command of the user's own it is one, for
/// an epoch of its workload counts steps then; and one that is timed as a whole has no batch that would count. The
/// error is a sentence.
[[nodiscard]] std::expected<measure::Schedule, std::string> trial_schedule(const WorkerChoice& worker,
                                                                           const space::Workload& workload,
                                                                           const space::Configuration& configuration);

}  // namespace nocturne::tuner
