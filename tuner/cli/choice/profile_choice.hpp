#pragma once

/// The profile that a word on the command line means.

#include <expected>
#include <filesystem>
#include <string>

#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"
#include "tuner/deploy/profile.hpp"

namespace nocturne::cli {

/// A path, or the name of a campaign that was exported.
[[nodiscard]] std::filesystem::path profile_file(const std::string& word, const Context& context);

/// That file, read. Says on context.err what is wrong: NotFound, there is no such profile; Usage, it is none.
[[nodiscard]] std::expected<deploy::Profile, ExitCode> open_profile(const std::string& word, const Context& context);

}  // namespace nocturne::cli
