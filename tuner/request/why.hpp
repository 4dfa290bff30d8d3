#pragma once

/// Why a configuration answers a request, for people.

#include <string>
#include <vector>

#include "tuner/request/choose.hpp"
#include "tuner/request/job_request.hpp"

namespace nocturne::tuner {

/// What was demanded, what was chosen, how well that is known, what the demand costs.
[[nodiscard]] std::vector<std::string> why_lines(const JobRequest& request, const Fitting& chosen);

/// The same as a page, with what was not chosen. REQUIRES: something was chosen.
[[nodiscard]] std::string why_page(const JobRequest& request, const Choice& choice);

}  // namespace nocturne::tuner
