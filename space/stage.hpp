#pragma once

/// When a parameter takes effect, and so what changing it costs.

#include <optional>
#include <string_view>

namespace nocturne::space {

/// In the order in which a configuration is prepared; a change at one stage invalidates all later ones.
enum class Stage {
  Environment,  ///< framework, version, container: minutes, cached by recipe and lock
  Build,        ///< compiler and flags: seconds to minutes, cached by content
  Compile,      ///< graph compiler: paid in each process
  Run,          ///< batch, threads, precision, …: nothing to prepare
};

[[nodiscard]] std::string_view to_text(Stage stage);  ///< environment, build, compile, run
[[nodiscard]] std::optional<Stage> stage_from_text(std::string_view text);

}  // namespace nocturne::space
