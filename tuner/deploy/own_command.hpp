#pragma once

/// A profile of a command of the user's own: its words in the configuration that was measured.

#include <expected>
#include <string>
#include <vector>

#include "tuner/deploy/profile.hpp"

namespace nocturne::deploy {

/// The profile is one of a command of the user's own.
[[nodiscard]] bool has_own_command(const Profile& profile);

/// The words of the profile's configuration. REQUIRES: has_own_command(). The error is a sentence.
[[nodiscard]] std::expected<std::vector<std::string>, std::string> own_words(const Profile& profile);

/// Words with a value of the configuration in them that `command` does not have, each group as a shell has it:
/// "--batch-size 64".
[[nodiscard]] std::vector<std::string> missing_options(const Profile& profile, const std::vector<std::string>& command);

/// The script that runs it: `sh` of the exporters.
[[nodiscard]] std::string own_command_script(const Profile& profile);

}  // namespace nocturne::deploy
