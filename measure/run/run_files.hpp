#pragma once

/// The files of a run's private folder.

#include <expected>
#include <filesystem>
#include <string>

#include "measure/run/runner.hpp"
#include "measure/supervisor/run_folder.hpp"

namespace nocturne::measure {

/// Makes the folder (mode 0700) with the request in it, and the FIFO where the request names one. The error is a
/// sentence.
[[nodiscard]] std::expected<RunFolder, std::string> prepare_folder(const RunPlan& plan);

}  // namespace nocturne::measure
