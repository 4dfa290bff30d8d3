#pragma once

/// What a campaign asks Slurm for: /executor/slurm of its file. Each key is an option of `tune`, too, which takes
/// precedence.

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "tuner/campaign_file/checks.hpp"

namespace nocturne::tuner {

/// Where it stands in a campaign's document.
inline constexpr std::string_view kSlurmPointer = "/executor/slurm";

/// What is empty is left to the site.
struct SlurmRequest {
  std::optional<std::int64_t> nodes{};
  std::string partition{}, account{}, qos{}, constraint{}, exclude{}, gres{};
  std::string time{};     ///< wall limit of the job (parse_job_time)
  std::string cluster{};  ///< name of a registered infrastructure
  std::string slots{};    ///< what measures one trial at a time: "node", "gpu", "numa"; empty: a node
};

/// One key of it. The schema of campaign files has the same names; a test compares them.
struct SlurmKey {
  std::string_view name{};                     ///< in the file; with "--" before it the option's, and Slurm's
  std::string SlurmRequest::* text = nullptr;  ///< null: it is the number of nodes
  std::string_view placeholder{};              ///< of its value, in the help: "P"; "a|b": one of these words
  std::string_view help{};
  bool passed_on = false;  ///< it goes into the job's script as it is
};

/// All of them, in the order of a job's script.
[[nodiscard]] std::span<const SlurmKey> slurm_keys();

/// REQUIRES: the document was checked. Empty: it asks for no job.
[[nodiscard]] std::optional<SlurmRequest> slurm_request(const nlohmann::json& document);

/// What the schema cannot say.
void check_slurm(Checks& checks);

/// Whether Slurm takes it as the value of an option in a script: a word without spaces, quotes and control characters.
[[nodiscard]] bool is_slurm_word(std::string_view text);

/// "8:00:00" as Slurm has it, or as campaign files have it ("8h"). The error says what is allowed.
[[nodiscard]] std::expected<std::chrono::seconds, std::string> parse_job_time(const std::string& text);

}  // namespace nocturne::tuner
