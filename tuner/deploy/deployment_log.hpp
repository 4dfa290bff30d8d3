#pragma once

/// What was seen of deployed trainings, and where: a file a host, a line of JSON each time, only appended to.
///
///   FOLDER/HOST.jsonl   {"time", "host", "profile", "trial", "finding", "step_s", "expected_s", "limit_s", "because"}
///
/// A folder of files and not the database: exported scripts write here too (kernels/inject), on nodes that have no
/// database, and several hosts may share the folder.

#include <cstdint>
#include <expected>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace nocturne::deploy {

struct Deployment {
  std::string time;  ///< UTC, RFC 3339
  std::string host;
  std::string profile;  ///< name of its campaign
  std::int64_t trial = 0;
  std::string finding;  ///< of CanaryFinding; "fell back": the default was started instead
  double step_s = 0;    ///< as seen; as the profile expects it; the most it expects of a new process
  double expected_s = 0;
  double limit_s = 0;
  std::string because;  ///< a sentence
  friend bool operator==(const Deployment&, const Deployment&) = default;
};

/// As its line has it.
[[nodiscard]] nlohmann::json to_json(const Deployment& deployment);

/// Makes the folder where it is missing. The error is a sentence.
[[nodiscard]] std::expected<void, std::string> append_deployment(const std::filesystem::path& folder,
                                                                 const Deployment& deployment);

/// Of all hosts, oldest first; lines that cannot be understood are left out.
[[nodiscard]] std::vector<Deployment> read_deployments(const std::filesystem::path& folder);

/// The last of each host, of this profile, by host.
[[nodiscard]] std::vector<Deployment> last_deployments(const std::vector<Deployment>& deployments,
                                                       const std::string& profile);

/// This host's name.
[[nodiscard]] std::string host_here();

}  // namespace nocturne::deploy
