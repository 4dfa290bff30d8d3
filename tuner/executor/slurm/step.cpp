#include "tuner/executor/slurm/step.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "measure/artifact/process.hpp"
#include "measure/machine/machine_part.hpp"
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
constexpr int kMostTries = 3;  // to cancel a step
/// What srun says where the step was never started.
constexpr std::array<std::string_view, 6> kNeverRan = {"Unable to create step",
                                                       "Unable to confirm allocation",
                                                       "Unable to contact",
                                                       "Memory required by task is not available",
                                                       "step creation temporarily disabled",
                                                       "Requested nodes are busy"};

/// Said of every step where tasks are not bound at all, and of every task that fails, behind its own words.
constexpr std::array<std::string_view, 2> kSaidOfAll = {"lacks support for cpu binding", ": Exited with exit code"};

/// A file in memory, under a name that this process can open.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& text = {}) : descriptor_(::memfd_create("nocturne-step", MFD_CLOEXEC)) {
    if (!text.empty()) std::ofstream(path()) << text;
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  [[nodiscard]] fs::path path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }
  [[nodiscard]] std::int64_t length() const {
    struct stat status{};
    return ::fstat(descriptor_, &status) == 0 ? status.st_size : 0;
  }

 private:
  int descriptor_;
};

std::optional<OrderAnswer> read_answer(const fs::path& file) {
  const auto text = space::read_file(file, kLongestAnswerBytes);
  if (!text) return std::nullopt;
  const auto document = nlohmann::json::parse(*text, nullptr, false);
  if (document.is_discarded()) return std::nullopt;
  auto answer = answer_from_json(document);
  if (!answer) return std::nullopt;
  return *std::move(answer);
}

/// Numbers of the job's steps of that name on that node, as scancel wants them. Of one name there may be several: each
/// node has its `describe` and its `default`, and a trial that was lost on one node is given to the next. The error is
/// a sentence.
std::expected<std::vector<std::string>, std::string> numbers_of(const SlurmCommands& commands, const SlurmStep& step) {
  const auto listed = ask_slurm({commands.squeue.string(), "-s", "-h", "-j", step.job, "-o", "%i %j %N"});
  if (!listed) return std::unexpected(listed.error());
  std::vector<std::string> numbers;
  std::istringstream lines(*listed);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string number, name, node;
    if (words >> number >> name >> node && name == step.name && node == step.node) numbers.push_back(number);
  }
  return numbers;
}

bool has_cancelled(const SlurmCommands& commands, const SlurmStep& step) {
  const auto numbers = numbers_of(commands, step);
  return numbers && std::ranges::all_of(*numbers, [&](const std::string& number) {
           return ask_slurm({commands.scancel.string(), number}).has_value();
         });
}

/// For a step whose srun did not end it: srun hangs, or was killed, and what it started would live on and keep the
/// node's slot. The controller may be away for a moment.
void cancel(const SlurmCommands& commands, const SlurmStep& step, const std::stop_token& stop) {
  const auto pause = step.beats.value_or(Rhythm()).pause;
  for (int tries = 1; !has_cancelled(commands, step) && tries < kMostTries; ++tries)
    if (!pause_for(pause, stop)) return;
}

StepResult judge(const measure::CommandResult& result, std::optional<OrderAnswer> answer, const std::string& said) {
  if (answer) return {.end = End::Answered, .answer = std::move(answer)};
  if (result.end == measure::CommandEnd::Stopped) return {.end = End::Stopped, .reason = "it was stopped"};
  if (result.end == measure::CommandEnd::DeadlinePassed)
    return {.end = End::DeadlinePassed, .reason = "it took longer than an order may"};
  const bool ran = result.end != measure::CommandEnd::NotStarted &&
                   std::ranges::none_of(kNeverRan, [&](std::string_view words) { return said.contains(words); });
  const std::string line = last_word_of_srun(said);
  return {.end = ran ? End::NoAnswer : End::NeverRan,
          .reason = fmt::format("srun ended without an answer ({}){}{}", measure::to_text(result),
                                line.empty() ? "" : ": ", line)};
}

/// Ends a step that gives no sign of life, while this lives.
class Listener {
 public:
  /// `said`: where its standard error goes. Both outlive it.
  Listener(const SlurmStep& step, const MemoryFile& said, std::stop_source& ending) {
    if (!step.beats) return;
    thread_ = std::jthread([this, rhythm = *step.beats, &said, &ending](const std::stop_token& stop) {
      const auto length = [&] { return std::optional(std::to_string(said.length())); };
      if (!wait_for_silence(length, rhythm, stop)) return;
      heard_nothing_ = true;
      ending.request_stop();
    });
  }
  [[nodiscard]] bool heard_nothing() const { return heard_nothing_; }

 private:
  std::atomic<bool> heard_nothing_ = false;
  std::jthread thread_;
};

std::string silence_words(const Rhythm& rhythm) {
  return fmt::format("it gave no sign of life for {:g} s",
                     std::chrono::duration<double>(rhythm.pause * rhythm.silent_looks).count());
}

}  // namespace

std::vector<std::string> unset_for_steps() {
  std::vector<std::string> names = {"SLURM_MEM_PER_*",     "SLURM_CPU_BIND*",  "SLURM_NTASKS*", "SLURM_TASKS_PER_NODE",
                                    "SLURM_CPUS_PER_TASK", "SLURM_EXPORT_ENV", "SLURM_STEP_*",  "SLURM_EXACT",
                                    "SLURM_TRES_PER_TASK", "SLURM_GPUS*",      "SLURM_NNODES",  "COLUMNS"};
  std::ranges::move(measure::present_part_variables(), std::back_inserter(names));
  return names;
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
  const MemoryFile input(step.input), output, errors;
  std::stop_source ending;
  const std::stop_callback with_caller(stop, [&ending] { ending.request_stop(); });
  const Listener listener(step, errors, ending);
  const auto result = measure::run_command({.argv = srun_words(commands, step),
                                            .unset = unset_for_steps(),
                                            .input = step.input.empty() ? fs::path() : input.path(),
                                            .errors = errors.path(),
                                            .polite = kPolite,
                                            .whole_environment = true},
                                           output.path(), deadline, ending.get_token());
  auto judged =
      judge(result, read_answer(output.path()), space::read_file(errors.path(), kLongestComplaintBytes).value_or(""));
  if (judged.end == End::Stopped && listener.heard_nothing() && !stop.stop_requested())
    judged = StepResult{.end = End::Silent, .reason = silence_words(*step.beats)};
  using measure::CommandEnd;
  if (result.end != CommandEnd::Exited && result.end != CommandEnd::NotStarted) cancel(commands, step, stop);
  return judged;
}

}  // namespace nocturne::tuner
