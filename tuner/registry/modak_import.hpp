#pragma once

/// An infrastructure as MODAK's JSON has it, as a file of ours.

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "tuner/campaign_file/problem.hpp"

namespace nocturne::tuner {

/// {"name", "description", "disabled", and either beside them or in "configuration": "scheduler" (also
/// "job_scheduler", "job_scheduler_type"), "storage", "partitions"}; a storage location is its class, or an object with
/// it. Unknown keys are problems. The result is sound by the schema of infrastructures and by what it cannot say.
[[nodiscard]] std::expected<nlohmann::json, std::vector<Problem>> import_infrastructure(std::string_view text,
                                                                                        const std::string& file);

}  // namespace nocturne::tuner
