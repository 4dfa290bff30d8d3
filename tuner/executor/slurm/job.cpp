#include "tuner/executor/slurm/job.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <ranges>
#include <utility>

#include <fmt/format.h>

#include "measure/artifact/process.hpp"
#include "measure/run/shell_words.hpp"
#include "tuner/campaign_file/quantity.hpp"

namespace nocturne::tuner {
namespace {

using std::chrono::seconds;

/// The number of the job that sbatch makes of these words, without the name of the cluster that may follow it.
std::expected<std::string, std::string> hand_in(std::vector<std::string> words,
                                                std::map<std::string, std::string> variables = {}) {
  words.insert(words.begin() + 1, "--parsable");
  auto number = ask_slurm(std::move(words), std::move(variables));
  if (number) number->erase(std::min(number->find(';'), number->size()));
  return number;
}

/// Empty: it is no "HH:MM:SS".
std::optional<seconds> parse_clock(std::string_view text) {
  std::array<std::int64_t, 3> parts{};
  std::size_t index = 0;
  for (const auto part : text | std::views::split(':')) {
    const std::string_view digits(part.begin(), part.end());
    if (index == parts.size() || digits.empty() || digits.size() > 5) return std::nullopt;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), parts.at(index));
    if (error != std::errc() || end != digits.data() + digits.size() || parts.at(index) < 0) return std::nullopt;
    if (index > 0 && parts.at(index) > 59) return std::nullopt;
    ++index;
  }
  if (index != parts.size()) return std::nullopt;
  return seconds(parts[0] * 3600 + parts[1] * 60 + parts[2]);
}

}  // namespace

bool is_option_word(std::string_view text) {
  constexpr std::string_view kHarmless = "_-./:,+@%=*&|()[]!~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || kHarmless.contains(c);
  });
}

std::expected<seconds, std::string> parse_job_time(const std::string& text) {
  if (const auto clock = parse_clock(text); clock && clock->count() > 0) return *clock;
  const auto duration = parse_duration(text);
  if (!duration) return std::unexpected(fmt::format("'{}' is no time: HH:MM:SS, or 8h, 90min", text));
  return std::chrono::ceil<seconds>(*duration);
}

std::string job_script(const CampaignJob& job) {
  std::string text = "#!/bin/sh\n";
  const auto add = [&](std::string_view option, const std::string& value) {
    if (!value.empty()) text += fmt::format("#SBATCH --{}={}\n", option, value);
  };
  add("job-name", job.name);
  add("nodes", fmt::format("{}", job.nodes));
  text += "#SBATCH --exclusive\n";
  add("mem", "0");
  add("partition", job.partition);
  add("account", job.account);
  add("constraint", job.constraint);
  add("gres", job.gres);
  if (job.time) add("time", clock_text(*job.time));
  add("signal", fmt::format("B:USR1@{}", job.notice.count()));
  text += "#SBATCH --requeue\n#SBATCH --no-kill\n#SBATCH --open-mode=append\n";
  add("output", fmt::format("\"{}\"", job.log.string()));
  for (const std::string& line : job.modules) text += line + "\n";
  text += fmt::format("export {}={}\n", kScriptVariable, measure::shell_quote(job.script.string()));
  return text + fmt::format("exec {}\n", measure::shell_command(job.command));
}

std::expected<std::string, std::string> submit_job(const SlurmCommands& commands, const std::filesystem::path& script) {
  if (auto tested = ask_slurm({commands.sbatch.string(), "--test-only", script.string()}); !tested) return tested;
  return hand_in({commands.sbatch.string(), script.string()});
}

std::expected<std::string, std::string> queue_again(const SlurmCommands& commands, const Allocation& allocation,
                                                    const std::filesystem::path& script) {
  if (!allocation.batch) return std::unexpected("this is no batch job: start the same command again");
  const auto again = ask_slurm({commands.scontrol.string(), "requeue", allocation.job});
  // Slurm ends all that runs in the job, also the command that asked for it.
  if (again || again.error().contains("killed by signal")) return fmt::format("job {} is queued again", allocation.job);
  if (script.empty()) return std::unexpected(again.error());
  auto next = hand_in({commands.sbatch.string(), "--dependency=afterany:" + allocation.job, script.string()},
                      {{kGoesOnVariable, "1"}});
  if (!next) return std::unexpected(again.error() + "; " + next.error());
  return fmt::format("job {} may not be queued again; job {} goes on after it", allocation.job, *next);
}

}  // namespace nocturne::tuner
