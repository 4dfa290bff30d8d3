#include "tuner/executor/slurm/step.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "measure/artifact/process.hpp"
#include "space/file_contents.hpp"
#include "tuner/executor/order_json.hpp"

namespace nocturne::tuner {
namespace {

namespace fs = std::filesystem;
using End = StepResult::End;

constexpr std::size_t kLongestAnswerBytes = 64U << 20U;
constexpr std::size_t kLongestComplaintBytes = 64U << 10U;
/// srun that is told to end kills its step at once; one that hangs is killed after this time.
constexpr std::chrono::seconds kPolite{5};
/// What srun says where the step was never started.
constexpr std::array<std::string_view, 6> kNeverRan = {"Unable to create step",
                                                       "Unable to confirm allocation",
                                                       "Unable to contact",
                                                       "Memory required by task is not available",
                                                       "step creation temporarily disabled",
                                                       "Requested nodes are busy"};

/// Said of every step where tasks are not bound at all, and of every task that fails, behind its own words.
constexpr std::array<std::string_view, 2> kSaidOfAll = {"lacks support for cpu binding", ": Exited with exit code"};

std::optional<OrderAnswer> read_answer(const fs::path& file) {
  const auto text = space::read_file(file, kLongestAnswerBytes);
  if (!text) return std::nullopt;
  const auto document = nlohmann::json::parse(*text, nullptr, false);
  if (document.is_discarded()) return std::nullopt;
  auto answer = answer_from_json(document);
  if (!answer) return std::nullopt;
  return *std::move(answer);
}

/// Numbers of the job's steps of that name, as scancel wants them.
std::vector<std::string> steps_named(const SlurmCommands& commands, const SlurmStep& step) {
  const auto listed = ask_slurm({commands.squeue.string(), "-s", "-h", "-j", step.job, "-o", "%i %j"});
  std::vector<std::string> numbers;
  std::istringstream lines(listed.value_or(""));
  for (std::string number, name; lines >> number >> name;)
    if (name == step.name) numbers.push_back(number);
  return numbers;
}

/// For a step whose srun did not end it: srun may hang where the node's daemon was restarted.
void cancel(const SlurmCommands& commands, const SlurmStep& step) {
  for (const std::string& number : steps_named(commands, step)) (void)ask_slurm({commands.scancel.string(), number});
}

StepResult judge(const measure::CommandResult& result, std::optional<OrderAnswer> answer, const std::string& said) {
  if (answer) return {.end = End::Answered, .answer = std::move(answer)};
  if (result.end == measure::CommandEnd::Stopped) return {.end = End::Stopped, .reason = "it was stopped"};
  if (result.end == measure::CommandEnd::DeadlinePassed)
    return {.end = End::DeadlinePassed, .reason = "it took longer than an order may"};
  const bool ran = std::ranges::none_of(kNeverRan, [&](std::string_view words) { return said.contains(words); });
  const std::string line = last_word_of_srun(said);
  return {.end = ran ? End::NoAnswer : End::NeverRan,
          .reason = fmt::format("srun ended without an answer ({}){}{}", measure::to_text(result),
                                line.empty() ? "" : ": ", line)};
}

}  // namespace

const std::vector<std::string>& unset_for_steps() {
  static const std::vector<std::string> kUnset = {"SLURM_MEM_PER_*",      "SLURM_CPU_BIND*",     "SLURM_NTASKS*",
                                                  "SLURM_TASKS_PER_NODE", "SLURM_CPUS_PER_TASK", "SLURM_EXPORT_ENV",
                                                  "SLURM_STEP_*",         "SLURM_EXACT",         "SLURM_TRES_PER_TASK",
                                                  "SLURM_GPUS*",          "SLURM_NNODES",        "COLUMNS"};
  return kUnset;
}

std::string last_word_of_srun(const std::string& text) {
  std::istringstream lines(text);
  std::string last, of_all;
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const bool says_it_always = std::ranges::any_of(kSaidOfAll, [&](auto words) { return line.contains(words); });
    (says_it_always ? of_all : last) = line;
  }
  return last.empty() ? of_all : last;
}

std::vector<std::string> srun_words(const SlurmCommands& commands, const SlurmStep& step) {
  std::vector<std::string> words = {
      commands.srun.string(), "-Q", "-N1",    "-n1", "-w", step.node, "--overlap", "--mem=0",
      "--cpu-bind=none",      "-J", step.name};
  words.insert(words.end(), step.words.begin(), step.words.end());
  return words;
}

StepResult run_step(const SlurmCommands& commands, const SlurmStep& step,
                    std::chrono::steady_clock::time_point deadline, const std::stop_token& stop) {
  const fs::path output = step.folder / (step.node + ".answer"), errors = step.folder / (step.node + ".errors");
  std::error_code ignored;
  for (const fs::path& file : {output, errors}) fs::remove(file, ignored);
  const auto result = measure::run_command({.argv = srun_words(commands, step),
                                            .unset = unset_for_steps(),
                                            .input = step.input,
                                            .errors = errors,
                                            .polite = kPolite,
                                            .whole_environment = true},
                                           output, deadline, stop);
  auto judged = judge(result, read_answer(output), space::read_file(errors, kLongestComplaintBytes).value_or(""));
  if (judged.end == End::DeadlinePassed || judged.end == End::Stopped) cancel(commands, step);
  for (const fs::path& file : {output, errors}) fs::remove(file, ignored);
  return judged;
}

}  // namespace nocturne::tuner
