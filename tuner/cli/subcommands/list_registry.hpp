#pragma once

/// `nocturne list` of what is registered (tuner/registry).

#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

[[nodiscard]] ExitCode list_infrastructures(const Context& context);
[[nodiscard]] ExitCode list_fragments(const Context& context);
/// Images of the registry, and recipes of images that have labels.
[[nodiscard]] ExitCode list_images(const Context& context);

}  // namespace nocturne::cli
