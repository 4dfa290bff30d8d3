#pragma once

/// An optimisation request: a job in JSON, which is answered with a job script. README.md beside this file has the
/// language and its generations.

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tuner/campaign_file/problem.hpp"
#include "tuner/registry/registry.hpp"

namespace nocturne::tuner {

/// A value. The sections are as the schema has them (tuner/schema/request.schema.json); an absent one is an empty
/// object.
struct JobRequest {
  nlohmann::json job_options = nlohmann::json::object();
  nlohmann::json target = nlohmann::json::object();
  nlohmann::json application = nlohmann::json::object();
  nlohmann::json optimisation = nlohmann::json::object();
  bool has_options = false;       ///< without, the script has no lines for a batch system
  bool has_optimisation = false;  ///< it says what is to be optimised; else nothing is asked of how it was built
  std::optional<Infrastructure> infrastructure{};  ///< registered under the target's name
  std::optional<Partition> partition{};            ///< of it: the queue's, else the default one
  std::vector<Problem> warnings;                   ///< unknown keys, and what is read and not followed

  /// "slurm" or "torque", the infrastructure's where one is registered; empty: a plain shell script.
  [[nodiscard]] std::string scheduler() const;
  /// The section of the framework or, of HPC, of the library that is asked for; an absent one is an empty object.
  [[nodiscard]] nlohmann::json feature_section() const;
};

/// Reads the text of a request; `file` names it in problems. Everything that is wrong is named at once. Unknown keys
/// are warnings, or with `strict` problems. The target's name is looked up in the registry.
[[nodiscard]] std::expected<JobRequest, std::vector<Problem>> read_request(std::string_view text,
                                                                           const std::string& file, bool strict,
                                                                           const Registry& registry = {});

/// What the request demands of what runs.
struct Demands {
  std::string framework{};  ///< tensorflow, pytorch, mxnet, cntk; empty: any
  std::string version{};    ///< "2.1", ">=2,<3"; empty: any
  bool latest = false;      ///< that is the version: of images the label, of anything else the newest
  std::optional<bool> xla{}, ngraph{}, glow{};
  std::string accelerator{};        ///< nvidia, amd, fpga, none; empty: any
  std::string cpu{};                ///< x86, arm, amd, power; empty: any
  std::optional<bool> opt_build{};  ///< an optimised build, or none; empty: nothing is asked
  std::string workload{};           ///< app_tag: a network, a data set, a campaign, an application; empty: not named
  std::optional<std::int64_t> threads{};
  bool hpc = false;                  ///< no training is asked for
  std::string library{};             ///< of MPI: mpich, openmpi, mvapich; empty: any
  std::string library_version{};     ///< as `version`
  std::vector<std::string> words{};  ///< of executable and arguments

  /// Each graph compiler, and whether it is demanded or denied; empty: neither.
  [[nodiscard]] std::array<std::pair<std::string_view, std::optional<bool>>, 3> graph_compilers() const {
    return {{{"xla", xla}, {"ngraph", ngraph}, {"glow", glow}}};
  }
};

[[nodiscard]] Demands demands_of(const JobRequest& request);

/// Words of a text as a shell splits them: at blanks, but not in quotes or behind a backslash. Nothing is expanded.
[[nodiscard]] std::vector<std::string> split_words(std::string_view text);

/// The words of the request's executable and arguments.
[[nodiscard]] std::vector<std::string> command_words(const JobRequest& request);

}  // namespace nocturne::tuner
