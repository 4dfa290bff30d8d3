#pragma once

/// The profile that a word on the command line means.

#include <filesystem>
#include <string>

#include "tuner/cli/context.hpp"
#include "tuner/deploy/profile.hpp"

namespace nocturne::cli {

/// A path, or the name of a campaign that was exported.
[[nodiscard]] std::filesystem::path profile_file(const std::string& word, const Context& context);

/// `error`, why that file cannot be read; where there is none, and the word is the name of a campaign, what to do.
[[nodiscard]] std::string unreadable_profile(const std::string& word, const std::string& error, const Context& context);

/// That file, read. Throws Refusal: NotFound, there is no such profile; Usage, it is none.
[[nodiscard]] deploy::Profile open_profile(const std::string& word, const Context& context);

}  // namespace nocturne::cli
