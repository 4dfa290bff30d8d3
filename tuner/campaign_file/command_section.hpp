#pragma once

/// The part of a campaign file that describes a command of the user's own: worker.template, environment, folder, time;
/// and what the other sections mean then.

#include <filesystem>

#include "measure/run/command_template.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/campaign_file/checks.hpp"

namespace nocturne::tuner {

/// Empty where the file has no worker.template. `home` is the folder of the file that wrote it: what the command starts
/// in, unless the file says otherwise.
[[nodiscard]] measure::CommandTemplate read_command(Checks& checks, const std::filesystem::path& home);

/// One whose command nobody shares: its trials are no history of another's.
[[nodiscard]] space::Workload command_workload(Checks& checks, const measure::CommandTemplate& command);

/// What is different where the command knows nothing of epochs, accuracy and the gate, and where a process is timed as
/// a whole. Adds a problem where the file asks for what cannot be.
void fit_to_command(Checks& checks, const measure::CommandTemplate& command, space::Objective& objective,
                    VerifySettings& verify);

/// Every place names a parameter, every condition a boolean, and no option is left standing without its value.
void check_places(Checks& checks, const measure::CommandTemplate& command);

/// Names that the template and the environment have places for.
[[nodiscard]] std::vector<std::string> names_in(const measure::CommandTemplate& command);

}  // namespace nocturne::tuner
