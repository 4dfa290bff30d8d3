#pragma once

/// Does a deployed training run as fast as it was measured? A window of its steps against what is expected of one new
/// process (step_forecast.hpp), and what slowed it. Pure. kernels/inject/nocturne_inject/watch.py says the same of
/// scripts; tests/tuner/deploy/canary_cases.json holds both to it.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "space/run.hpp"
#include "tuner/deploy/step_forecast.hpp"

namespace nocturne::deploy {

enum class CanaryFinding {
  AsMeasured,
  Slower,             ///< than one new process of the profile is expected to be
  SlowerThanDefault,  ///< than one of the default is, too
};
/// "as measured", "slower than measured", "slower than the default"
[[nodiscard]] std::string_view to_text(CanaryFinding finding);

/// What is expected.
struct CanaryLimits {
  StepForecast measured;
  std::optional<StepForecast> of_default;  ///< empty: not known
};

/// What was seen for some seconds.
struct CanaryWindow {
  space::Run run;                        ///< its samples, and its load and device where they are known
  bool cpu_held_back = false;            ///< a processor lowered its clock for heat
  std::vector<std::string> differences;  ///< how the machine differs from the one that was measured, clauses
};

struct Canary {
  CanaryFinding finding = CanaryFinding::AsMeasured;
  double seconds = 0;                  ///< a step: median behind the warm-up
  std::vector<std::string> reasons{};  ///< likely ones of what made it slower, clauses, the most telling first
  bool explained = false;              ///< by what would slow the default as well: the default is not worth a try
};

/// Empty: the window has no samples.
[[nodiscard]] std::optional<Canary> judge(const CanaryWindow& window, const CanaryLimits& limits);

/// "a step takes 0.31 s; 0.1 s were measured, and at most 0.13 s are expected of a new process (99.9 %): …", no full
/// stop.
[[nodiscard]] std::string sentence_of(const Canary& canary, const CanaryLimits& limits);

}  // namespace nocturne::deploy
