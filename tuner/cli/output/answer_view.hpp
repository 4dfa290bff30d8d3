#pragma once

/// The one screen that a campaign ends with; `tune` and `best` print it.

#include <iosfwd>

#include <nlohmann/json.hpp>

#include "tuner/campaign/answer.hpp"

namespace nocturne::cli {

/// Best configuration, gain over the default with its interval, what was tried and what failed. No trailing blank line.
void print_answer(std::ostream& out, const tuner::Answer& answer, bool colour);

/// The same for machines; keys in README.md (verb `best`).
[[nodiscard]] nlohmann::json answer_json(const tuner::Answer& answer);

}  // namespace nocturne::cli
