#pragma once

/// An optimisation request: a job in JSON, which is answered with a measured configuration and a job script. README.md
/// beside this file has the language and its generations.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "tuner/campaign_file/problem.hpp"

namespace nocturne::tuner {

/// A value. The sections are as the schema has them (tuner/schema/request.schema.json); an absent one is an empty
/// object.
struct JobRequest {
  nlohmann::json job_options = nlohmann::json::object();
  nlohmann::json target = nlohmann::json::object();
  nlohmann::json application = nlohmann::json::object();
  nlohmann::json optimisation = nlohmann::json::object();
  bool has_options = false;       ///< without, the script has no lines for a batch system
  std::vector<Problem> warnings;  ///< unknown keys, and what is read and not followed

  /// "slurm" or "torque"; empty: a plain shell script.
  [[nodiscard]] std::string scheduler() const;
};

/// Reads the text of a request; `file` names it in problems. Everything that is wrong is named at once. Unknown keys
/// are warnings, or with `strict` problems.
[[nodiscard]] std::expected<JobRequest, std::vector<Problem>> read_request(std::string_view text,
                                                                           const std::string& file, bool strict);

/// What the request demands of what trains.
struct Demands {
  std::string framework;  ///< tensorflow, pytorch, mxnet, cntk; empty: any
  std::string version;    ///< "2.1", ">=2,<3"; empty: any
  std::optional<bool> xla, ngraph, glow;
  std::string accelerator;  ///< nvidia, amd, fpga, none; empty: any
  std::string workload;     ///< app_tag: a network, a data set or a campaign; empty: not named
  std::optional<std::int64_t> threads;
  bool hpc = false;                ///< no training is asked for
  std::vector<std::string> words;  ///< of executable and arguments, split at blanks
};

[[nodiscard]] Demands demands_of(const JobRequest& request);

}  // namespace nocturne::tuner
