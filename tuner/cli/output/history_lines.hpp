#pragma once

/// What earlier campaigns told this one, and whether it still holds, in words.

#include <string>
#include <vector>

#include "space/lattice.hpp"
#include "tuner/campaign/learned.hpp"

namespace nocturne::cli {

/// Sentences for `model`. Empty: it began without history.
[[nodiscard]] std::vector<std::string> history_lines(tuner::Learned& learned);

/// For `explain`: "3.21 s in an earlier campaign", "failed in an earlier campaign; history does not hold any more …".
/// Empty: no campaign of this machine and workload had it.
[[nodiscard]] std::string history_text(const tuner::Learned& learned, space::Point point);

}  // namespace nocturne::cli
