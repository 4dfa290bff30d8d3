#pragma once

/// A profile that was measured on the host, moved into a container: what is measured to know what that costs, and the
/// profile that comes out of it.

#include <expected>
#include <string>

#include "measure/comparison/comparison.hpp"
#include "tuner/deploy/profile.hpp"

namespace nocturne::deploy {

/// The profile as its configuration would be in that container, compared with the host: for verification_campaign().
/// The error is a sentence: it is in a container already, it is a command of the user's own, no such runtime.
[[nodiscard]] std::expected<Profile, std::string> moved_into(const Profile& profile, const std::string& runtime,
                                                             const std::string& image);

/// What the pairs of `moved` against the host say becomes its proof, its estimate the host's times what it costs. What
/// it gained over its campaign's default stays a sentence.
void keep_cost(Profile& moved, const Profile& on_host, const measure::Comparison& cost);

}  // namespace nocturne::deploy
