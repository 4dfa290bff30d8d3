#pragma once

/// A campaign as a job of Slurm: its script, its way into the queue, and back into it where a wall limit is shorter
/// than the campaign.

#include <chrono>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/executor/slurm/allocation.hpp"

namespace nocturne::tuner {

struct CampaignJob {
  std::string name{};
  std::int64_t nodes = 1;
  std::string partition{}, account{}, constraint{}, gres{};  ///< empty: the site's default
  std::optional<std::chrono::seconds> time{};                ///< empty: the partition's
  std::chrono::seconds notice{};                             ///< so long before its end it is told of it
  std::filesystem::path log{};                               ///< "%j" stands for the job's number
  std::vector<std::string> modules{};                        ///< lines of a shell that come first
  std::filesystem::path script{};                            ///< where it will lie
  std::vector<std::string> command{};                        ///< `nocturne tune …`, without the options of the job
};

/// Whether Slurm takes it as the value of an option in a script: a word without spaces, quotes and control characters.
[[nodiscard]] bool is_option_word(std::string_view text);

/// "8:00:00" as Slurm has it, or as campaign files have it ("8h"). The error says what is allowed.
[[nodiscard]] std::expected<std::chrono::seconds, std::string> parse_job_time(const std::string& text);

/// Whole nodes with all their memory; queued again and its log kept where it is interrupted; the loss of a node does
/// not end it. `exec`, or the shell would die of the notice.
[[nodiscard]] std::string job_script(const CampaignJob& job);

/// Asks Slurm whether it would take the script, then hands it in. Gives the number of the job; the error is what Slurm
/// says.
[[nodiscard]] std::expected<std::string, std::string> submit_job(const SlurmCommands& commands,
                                                                 const std::filesystem::path& script);

/// The name of the variable that says, in a job, where its script lies.
inline constexpr const char* kScriptVariable = "NOCTURNE_JOB_SCRIPT";

/// Set in a job that goes on with what another one began.
inline constexpr const char* kGoesOnVariable = "NOCTURNE_JOB_GOES_ON";

/// Queues the job again that this process is in: itself, or where the site forbids that its `script` (may be empty) as
/// a job that begins after it. Gives a sentence. To be called last: the job is ended by it.
[[nodiscard]] std::expected<std::string, std::string> queue_again(const SlurmCommands& commands,
                                                                  const Allocation& allocation,
                                                                  const std::filesystem::path& script);

}  // namespace nocturne::tuner
