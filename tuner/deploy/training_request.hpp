#pragma once

/// What the worker of a profile is asked for when it trains.

#include "measure/protocol/request.hpp"
#include "tuner/deploy/profile.hpp"

namespace nocturne::deploy {

/// Whole epochs (as many as the profile's horizon) with the accuracy at the end. The caller may change seed, epochs,
/// steps and data_folder.
[[nodiscard]] protocol::Request training_request(const Profile& profile);

}  // namespace nocturne::deploy
