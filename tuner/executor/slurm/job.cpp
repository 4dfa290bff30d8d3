#include "tuner/executor/slurm/job.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "measure/artifact/process.hpp"
#include "measure/run/shell_words.hpp"
#include "space/file_contents.hpp"
#include "tuner/campaign_file/quantity.hpp"
#include "tuner/campaign_file/slurm_section.hpp"
#include "tuner/executor/staging.hpp"

namespace nocturne::tuner {
namespace {

constexpr std::string_view kOneAtATime = "#SBATCH --dependency=singleton";

/// The number of the job that sbatch makes of these words, without the name of the cluster that may follow it.
std::expected<std::string, std::string> hand_in(std::vector<std::string> words,
                                                std::map<std::string, std::string> variables = {}) {
  words.insert(words.begin() + 1, "--parsable");
  auto number = ask_slurm(std::move(words), std::move(variables));
  if (!number) return number;
  number->erase(0, number->rfind('\n') + 1);  // warnings stand before it
  number->erase(std::min(number->find(';'), number->size()));
  return number;
}

}  // namespace

std::string job_script(const CampaignJob& job) {
  std::string text = "#!/bin/sh\n";
  const auto add = [&](std::string_view option, const std::string& value) {
    if (!value.empty()) text += fmt::format("#SBATCH --{}={}\n", option, value);
  };
  add("job-name", job.name);
  add("nodes", fmt::format("{}", job.request.nodes.value_or(1)));
  text += "#SBATCH --exclusive\n";
  add("mem", "0");
  for (const SlurmKey& key : slurm_keys())
    if (key.passed_on) add(key.name, job.request.*key.text);
  if (job.time) add("time", clock_text(*job.time));
  add("signal", fmt::format("B:USR1@{}", job.notice.count()));
  if (job.one_at_a_time) text += std::string(kOneAtATime) + "\n";
  text += "#SBATCH --requeue\n#SBATCH --no-kill\n#SBATCH --open-mode=append\n";
  add("output", fmt::format("\"{}\"", job.log.string()));
  for (const std::string& line : job.modules) text += line + "\n";
  if (!job.local_folder.empty()) {
    text += fmt::format("[ -n \"${{{0}+set}}\" ] || export {0}={1}\n", kLocalFolderVariable,
                        measure::shell_quote(job.local_folder));
  }
  text += fmt::format("export {}={}\n", kScriptVariable, measure::shell_quote(job.script.string()));
  return text + fmt::format("exec {}\n", measure::shell_command(job.command));
}

std::expected<std::string, std::string> submit_job(const SlurmCommands& commands, const std::filesystem::path& script) {
  if (auto tested = ask_slurm({commands.sbatch.string(), "--test-only", script.string()}); !tested) return tested;
  return hand_in({commands.sbatch.string(), script.string()});
}

std::expected<QueuedAgain, std::string> queue_again(const SlurmCommands& commands, const Allocation& allocation,
                                                    const std::filesystem::path& script) {
  if (!allocation.batch) return std::unexpected("this is no batch job: start the same command again");
  const auto again = ask_slurm({commands.scontrol.string(), "requeue", allocation.job});
  // Slurm ends all that runs in the job, also the command that asked for it.
  if (again || again.error().contains("killed by signal"))
    return QueuedAgain{.sentence = fmt::format("job {} is queued again", allocation.job)};
  if (script.empty()) return std::unexpected(again.error());
  // An option replaces the script's own.
  const bool alone = space::read_file(script).value_or("").contains(kOneAtATime);
  auto next =
      hand_in({commands.sbatch.string(),
               fmt::format("--dependency=afterany:{}{}", allocation.job, alone ? ",singleton" : ""), script.string()},
              {{kGoesOnVariable, "1"}});
  if (!next) return std::unexpected(again.error() + "; " + next.error());
  return QueuedAgain{
      .sentence = fmt::format("job {} may not be queued again; job {} goes on after it", allocation.job, *next),
      .dependent = true};
}

std::expected<bool, std::string> may_be_requeued(const SlurmCommands& commands,
                                                 const std::vector<std::string>& options) {
  std::vector<std::string> words = {
      commands.sbatch.string(),     "--hold",  "--requeue", "--nodes=1", "--output=/dev/null",
      "--job-name=may-be-requeued", "--wrap=:"};
  words.insert(words.end(), options.begin(), options.end());
  const auto job = hand_in(std::move(words));
  if (!job) return std::unexpected(job.error());
  const auto said = ask_slurm({commands.scontrol.string(), "show", "job", *job});
  (void)ask_slurm({commands.scancel.string(), *job});
  if (!said) return std::unexpected(said.error());
  return said->contains("Requeue=1");
}

}  // namespace nocturne::tuner
