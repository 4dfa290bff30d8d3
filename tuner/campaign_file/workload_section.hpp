#pragma once

/// The section `workload` of a campaign file: what is trained, and whether its parts fit each other.
///
/// Names that no worker of ours knows are let pass: a user's own worker may know them, and ours answer `unsupported`.

#include <filesystem>
#include <string>

#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/campaign_file/checks.hpp"

namespace nocturne::tuner {

/// A relative data_folder is made absolute from `home`, the folder of the file that names it, and must be there.
/// `ours`: the workers are, so that what they would refuse can be said now.
[[nodiscard]] space::Workload read_workload(Checks& checks, const std::filesystem::path& home, bool ours);

/// What cannot be told of such a workload, and what is too expensive to be told without being asked for: an epoch of
/// a folder of images may take hours. Adds a problem where the file asks for the accuracy of synthetic data.
void fit_to_workload(Checks& checks, const space::Workload& workload, VerifySettings& verify);

}  // namespace nocturne::tuner
