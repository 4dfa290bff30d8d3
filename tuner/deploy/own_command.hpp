#pragma once

/// A profile of a command of the user's own: its words in the configuration that was measured.

#include <expected>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tuner/deploy/profile.hpp"

namespace nocturne::deploy {

/// The profile is one of a command of the user's own.
[[nodiscard]] bool has_own_command(const Profile& profile);

/// What may stand behind the name of a script that trains as the profile says: "[--epochs N]", or words of the
/// command's own.
[[nodiscard]] std::string argument_words(const Profile& profile);

/// The words of the profile's configuration. REQUIRES: has_own_command(). The error is a sentence.
[[nodiscard]] std::expected<std::vector<std::string>, std::string> own_words(const Profile& profile);

/// Words with a value of the configuration in them that `command` does not have, each group as a shell has it:
/// "--batch-size 64".
[[nodiscard]] std::vector<std::string> missing_options(const Profile& profile, const std::vector<std::string>& command);

/// Whether the configuration pulls a lever of the script (measure::Lever).
[[nodiscard]] bool pulls_levers(const Profile& profile);

/// Whether its script can compare its steps with what was measured.
[[nodiscard]] bool is_watched(const Profile& profile);

/// Whether a script of it wants the module with it: to pull levers, or to watch the steps.
[[nodiscard]] bool needs_module(const Profile& profile);

/// Files of the module that pulls levers, as they are installed: path → text. Empty where one cannot be read.
[[nodiscard]] std::map<std::string, std::string> module_files(const std::filesystem::path& kernels);

/// The script that runs it: `sh` of the exporters. The module goes with it, where levers are pulled.
[[nodiscard]] std::string own_command_script(const Profile& profile);

}  // namespace nocturne::deploy
