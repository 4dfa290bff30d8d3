#pragma once

/// Steps in what a command prints: the pattern (worker.time.pattern) that would find them. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nocturne::tuner {

struct StepLines {
  std::string pattern;                   ///< RE2, with groups that the command worker knows
  std::string line;                      ///< one that it matches
  std::optional<std::int64_t> examples;  ///< examples of an epoch, where the lines say so
};

/// Empty: no kind of line that says how far a training is comes often enough to be its steps.
[[nodiscard]] std::optional<StepLines> find_step_lines(std::string_view output);

}  // namespace nocturne::tuner
