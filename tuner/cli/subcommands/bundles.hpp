#pragma once

/// What the subcommands that make, pack or unpack something for a profile share.

#include <functional>
#include <string_view>

#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"
#include "tuner/cli/measuring/signals.hpp"
#include "tuner/deploy/bundle.hpp"

namespace nocturne::cli {

/// The folders of `context`. `frameworks` must outlive what is returned.
[[nodiscard]] deploy::BundlePlaces bundle_places(const Context& context, const tuner::Frameworks& frameworks,
                                                 std::function<void(std::string_view)> progress);

/// Says it on `err`; `failed`, or what an interruption ends with.
ExitCode say_making_failure(const Context& context, const deploy::MakingFailure& failure, const SignalWatch& signals,
                            ExitCode failed);

}  // namespace nocturne::cli
