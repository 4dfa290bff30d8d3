#pragma once

/// Runs of a command of the user's own: nocturne-command-worker starts it and speaks the protocol for it.

#include <cstdint>
#include <expected>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "measure/comparison/pair.hpp"
#include "measure/run/command_template.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/executor/executor.hpp"
#include "tuner/installation/installation.hpp"

namespace nocturne::tuner {

/// `nocturne-command-worker` named by NOCTURNE_COMMAND_WORKER_PROGRAM, else beside the running program, else in
/// ../libexec/nocturne seen from there. Empty: none of these exists.
[[nodiscard]] std::filesystem::path find_command_worker();

/// The worker's command line around the user's `words`.
[[nodiscard]] std::vector<std::string> command_worker_argv(const measure::CommandTemplate& command,
                                                           const std::vector<std::string>& words, std::int64_t batch,
                                                           const Installation& installation);

/// Larger files are no scripts.
constexpr std::uintmax_t kLargestScriptBytes = 1 << 20;

/// Who runs what is called as scripts are: "python3" for "train.py". Empty: the word is not.
[[nodiscard]] std::string_view interpreter_of(std::string_view word);

/// The file of `folder` that the command runs, absolute: the first of the words that is called as scripts are, else the
/// first small file that is no program of the machine's. Empty: none of them is there.
[[nodiscard]] std::filesystem::path script_of(const std::vector<std::string>& words,
                                              const std::filesystem::path& folder);

/// Identity of the command: its words as the campaign has them, and the contents of the files that they name, filled in
/// (`words`). A script that was edited, or a "./train-{build}" that was built again, is another program.
[[nodiscard]] std::string command_identity(const measure::CommandTemplate& command,
                                           const std::vector<std::string>& words);

/// Checks that the words of `prepared.own` can be filled and fills in argv, worker and variables. Launch and schedule
/// are there.
[[nodiscard]] std::expected<PreparedWorker, PreparationFailure> prepare_command(
    const CampaignSpec& spec, const space::Configuration& configuration, const Installation& installation,
    PreparedWorker prepared);

/// Lets a run show what stands between epochs. `batch`: examples of a step; 0: another variable says so, or nobody.
void ask_for_epoch_ends(const measure::EpochEnds& cut, std::int64_t batch,
                        std::map<std::string, std::string>& environment);

/// What a run of this order is in detail: the words of its steps and seed. The rest of `plan` is there.
void plan_command(const CampaignSpec& spec, const space::Configuration& configuration, const PreparedWorker& prepared,
                  const RunOrder& order, const Installation& installation, measure::RunPlan& plan);

/// How this side of a pair waits for its turn.
void wait_for_turns(const measure::CommandTemplate& command, measure::PairSide& side, measure::PairPlan& plan);

}  // namespace nocturne::tuner
