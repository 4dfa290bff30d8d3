#pragma once

/// The published results as one picture, an SVG: what the paper says, what came along, what this machine says, each
/// with its interval, on one axis of speed. Pure.

#include <optional>
#include <string>
#include <vector>

#include "tuner/report/evidence.hpp"
#include "tuner/report/published_results.hpp"

namespace nocturne::report {

struct PicturedResult {
  PublishedResult published;
  std::optional<Evidence> evidence;  ///< of this machine; what was not interleaved is left out
};

/// Groups in the order of their first result; results about epochs have no speed and are left out. Light and dark.
[[nodiscard]] std::string published_picture(const std::vector<PicturedResult>& results);

}  // namespace nocturne::report
