#pragma once

/// Why a thing answers a request, for people.

#include <string>
#include <vector>

#include "tuner/request/choose.hpp"
#include "tuner/request/deployment.hpp"

namespace nocturne::tuner {

/// What was demanded, what was chosen, how well that is known, what the demand costs, what was decided on the way.
[[nodiscard]] std::vector<std::string> why_lines(const Deployment& deployment, const Choice& choice);

/// The same as a page, with what was not chosen.
[[nodiscard]] std::string why_page(const Deployment& deployment, const Choice& choice);

}  // namespace nocturne::tuner
