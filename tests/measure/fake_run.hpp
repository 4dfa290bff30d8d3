#pragma once

/// Plans for the fake worker (tests/support/fake_worker.cpp) and waiting for what happens in other processes.

#include <sys/types.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include <nlohmann/json.hpp>

#include "measure/run/runner.hpp"
#include "measure/supervisor/process_tree.hpp"

namespace nocturne::test {

/// A plan for one run of the fake worker in `folder`/run; ten steps, a generous deadline.
inline measure::RunPlan fake_plan(const std::filesystem::path& folder, const std::string& mode,
                                  nlohmann::json configuration = nlohmann::json::object()) {
  configuration["mode"] = mode;
  measure::RunPlan plan;
  plan.id = measure::new_run_id();
  plan.folder = folder / "run";
  plan.argv = {NOCTURNE_FAKE_WORKER};
  plan.request.configuration = std::move(configuration);
  plan.request.steps = 10;
  plan.deadline = std::chrono::minutes(1);
  plan.grace = std::chrono::milliseconds(50);
  return plan;
}

/// A process that is gone: another started under this pid since.
inline measure::ProcessIdentity process_that_is_gone() {
  measure::ProcessIdentity process = measure::ProcessIdentity::of_this_process();
  --process.start_ticks;
  return process;
}

/// What takes a moment takes a minute on a machine that is busy enough.
inline constexpr std::chrono::seconds kPatience{60};

/// True as soon as the condition holds; false when it does not within the time.
template <typename Condition>
bool comes_true(Condition condition, std::chrono::milliseconds within = kPatience) {
  const auto end = std::chrono::steady_clock::now() + within;
  while (std::chrono::steady_clock::now() < end) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return condition();
}

/// Deadlines to try one after the other: a busy machine may need more than the first for what comes before.
inline constexpr std::array kDeadlines = {std::chrono::milliseconds(300), std::chrono::milliseconds(3'000),
                                          std::chrono::milliseconds(30'000)};

/// Runs it under a deadline that gets longer until the worker has come as far as the test wants it to.
template <typename Reached>
space::Run run_until_deadline(measure::RunPlan plan, const measure::RunControl& control, Reached reached) {
  const std::filesystem::path folder = plan.folder;
  space::Run run;
  for (const std::chrono::milliseconds deadline : kDeadlines) {
    plan.id = measure::new_run_id();
    plan.folder = folder.string() + '-' + std::to_string(deadline.count());
    plan.deadline = deadline;
    run = measure::run(plan, control);
    if (reached(run)) break;
  }
  return run;
}

/// The letter of proc_pid_stat(5): R, S, T, Z…; '?' when there is no such process.
inline char process_state(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::size_t close = text.rfind(')');
  return close == std::string::npos ? '?' : text.at(close + 2);
}

/// False also for one that is dead and waits for its parent to look.
inline bool process_runs(pid_t pid) {
  const char state = process_state(pid);
  return state != '?' && state != 'Z' && state != 'X';
}

/// The number in a file; 0 where there is none.
inline pid_t pid_in(const std::filesystem::path& file) {
  pid_t pid = 0;
  std::ifstream(file) >> pid;
  return pid;
}

}  // namespace nocturne::test
