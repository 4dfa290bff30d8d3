#pragma once

/// Which parameters the workers of our own understand. A misspelt one would be varied all night to no effect.

#include <string>
#include <string_view>
#include <vector>

namespace nocturne::tuner {

/// Those of the launch (measure/run/launch.hpp), of builds (measure/artifact/recipe.hpp), and of the workers.
[[nodiscard]] std::vector<std::string> known_parameters();
/// One of them, or env.NAME.
[[nodiscard]] bool is_known_parameter(std::string_view name);

}  // namespace nocturne::tuner
