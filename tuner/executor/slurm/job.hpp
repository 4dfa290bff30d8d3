#pragma once

/// A campaign as a job of Slurm: its script, its way into the queue, and back into it where a wall limit is shorter
/// than the campaign.

#include <chrono>
#include <expected>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tuner/campaign_file/slurm_section.hpp"
#include "tuner/executor/slurm/allocation.hpp"

namespace nocturne::tuner {

struct CampaignJob {
  std::string campaign{};                      ///< whose job it is
  std::string name{};                          ///< the job's
  bool one_at_a_time = false;                  ///< after all of the user's jobs of this name
  SlurmRequest request{};                      ///< but for its time and cluster, which are worked out
  std::optional<std::chrono::seconds> time{};  ///< empty: the partition's
  std::chrono::seconds notice{};               ///< so long before its end it is told of it
  std::filesystem::path log{};                 ///< "%j" stands for the job's number
  std::vector<std::string> modules{};          ///< lines of a shell that come first
  std::string local_folder{};                  ///< of a node's own disk, where its environment names none; empty: none
  std::filesystem::path script{};              ///< where it will lie
  std::vector<std::string> command{};          ///< `nocturne tune …`, without the options of the job
};

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

struct QueuedAgain {
  std::string sentence{};  ///< without a full stop
  bool dependent = false;  ///< by another job, which begins when this one has ended
};

/// Queues the job again that this process is in: itself, or where the site forbids that its `script` (may be empty) as
/// a job that begins after it. To be called last: the job that is queued again itself is ended by it.
[[nodiscard]] std::expected<QueuedAgain, std::string> queue_again(const SlurmCommands& commands,
                                                                  const Allocation& allocation,
                                                                  const std::filesystem::path& script);

/// Whether Slurm lets a job queue itself again: what it says of one with these options ("--partition=cpu"), which is
/// held and cancelled at once. The error is a sentence.
[[nodiscard]] std::expected<bool, std::string> may_be_requeued(const SlurmCommands& commands,
                                                               const std::vector<std::string>& options);

}  // namespace nocturne::tuner
