#include "tuner/deploy/apply.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tuner/deploy/container.hpp"
#include "tuner/deploy/own_command.hpp"
#include "tuner/deploy/shell_quote.hpp"
#include "tuner/installation/installation.hpp"

namespace nocturne::deploy {
namespace {

std::string value_text(const std::string& value) {
  return value.empty() ? "nothing" : "'" + value + "'";
}

void check_machine(const Profile& profile, const ApplyMachine& machine, ApplyPlan& plan) {
  plan.differences = profile.measured_on.machine.differences(machine.fingerprint);
  for (const space::FingerprintDifference& difference : plan.differences) {
    const std::string sentence = fmt::format("{} is {} here and was {} where the profile was measured", difference.name,
                                             value_text(difference.now), value_text(difference.before));
    (difference.match == space::Match::Must ? plan.objections : plan.warnings).push_back(sentence);
  }
}

void check_libraries(const Profile& profile, ApplyPlan& plan) {
  for (const std::filesystem::path& library : profile.launch.preload) {
    if (::access(library.c_str(), R_OK) != 0) {
      plan.objections.push_back(
          fmt::format("the library {} cannot be read: {}", library.string(), std::strerror(errno)));
    }
  }
}

void check_cpus(const Profile& profile, const ApplyMachine& machine, bool force, ApplyPlan& plan) {
  plan.cpus = profile.launch.cpus;
  std::vector<int> usable;
  std::ranges::set_intersection(plan.cpus, machine.allowed_cpus, std::back_inserter(usable));
  if (usable.size() < plan.cpus.size()) {
    plan.objections.push_back(fmt::format("the profile wants CPUs {}; this process may use {}",
                                          fmt::join(plan.cpus, ","), fmt::join(machine.allowed_cpus, ",")));
    if (force) plan.cpus = usable;
  }
}

std::filesystem::path module_folder() {
  return tuner::find_installation().source_root / "kernels/inject";
}

/// Puts the module that pulls the profile's levers, or sees the steps, in front of Python.
void use_module(ApplyPlan& plan) {
  const std::filesystem::path module = module_folder();
  if (::access((module / "sitecustomize.py").c_str(), R_OK) != 0) {
    plan.objections.push_back(fmt::format("the module {} cannot be read, without which the script trains unchanged: {}",
                                          module.string(), std::strerror(errno)));
  }
  const char* known = std::getenv("PYTHONPATH");
  plan.set["PYTHONPATH"] = module.string() + (known != nullptr && *known != '\0' ? ":" + std::string(known) : "");
}

}  // namespace

ApplyPlan plan_apply(const Profile& profile, std::vector<std::string> command, const ApplyMachine& machine,
                     bool force) {
  ApplyPlan plan;
  plan.argv = std::move(command);
  plan.set = profile.launch.variables();
  plan.unset = profile.launch.unset;
  plan.memory = profile.launch.memory;
  check_machine(profile, machine, plan);
  if (const std::string container = container_of(profile); !container.empty() && !profile.container) {
    plan.objections.push_back(fmt::format(
        "the profile was measured in the container {}, and does not say in which image: export it again", container));
  }
  if (!profile.container) check_libraries(profile, plan);  // else the image may have them
  check_cpus(profile, machine, force, plan);
  if (has_own_command(profile) && pulls_levers(profile)) use_module(plan);
  return plan;
}

ApplyPlan plan_training(const Profile& profile, const std::filesystem::path& folder,
                        const std::filesystem::path& data_folder, const ApplyMachine& machine, bool force) {
  std::vector<std::string> command = {profile.training.program.string()};
  command.insert(command.end(), profile.training.arguments.begin(), profile.training.arguments.end());
  for (const char* name : {"request.json", "events.jsonl"}) {
    command.emplace_back(std::string_view(name) == "request.json" ? "--request" : "--events");
    command.push_back((folder / name).string());
  }
  ApplyPlan plan = plan_apply(profile, std::move(command), machine, force);
  plan.working_folder = folder;
  if (!program_is_inside(profile) && ::access(profile.training.program.c_str(), X_OK) != 0) {
    plan.objections.push_back(
        fmt::format("the program {} cannot be executed: {}", profile.training.program.string(), std::strerror(errno)));
  }
  if (::access(data_folder.c_str(), R_OK | X_OK) != 0) {
    plan.objections.push_back(
        fmt::format("the data folder {} cannot be read: {}", data_folder.string(), std::strerror(errno)));
  }
  if (profile.container) put_inside(*profile.container, {data_folder}, plan);
  return plan;
}

ApplyPlan plan_command(const Profile& profile, std::vector<std::string> command, const std::filesystem::path& folder,
                       const ApplyMachine& machine, bool force, const std::filesystem::path& watched) {
  ApplyPlan plan = plan_apply(profile, std::move(command), machine, force);
  plan.working_folder = folder;
  if (!watched.empty()) {
    if (!pulls_levers(profile)) use_module(plan);
    plan.set["NOCTURNE_STEPS_EVENTS"] = (watched / "events.jsonl").string();
    plan.set["NOCTURNE_STEPS_PID_FILE"] = (watched / "steps.pid").string();
    plan.set["NOCTURNE_STEPS_PER_SAMPLE"] = fmt::format("{}", profile.training.steps_per_sample);
    // The clock that Python's time.monotonic() reads.
    plan.set["NOCTURNE_STEPS_BEGAN_NS"] =
        fmt::format("{}", std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
  }
  std::vector<std::filesystem::path> read;
  if (!watched.empty()) read.push_back(module_folder());
  if (profile.container) put_inside(*profile.container, read, plan, watched);
  return plan;
}

std::string shell_line(const ApplyPlan& plan) {
  return shell_command(measure::typed_words(
      {.set = plan.set, .unset = plan.unset, .cpus = plan.cpus, .memory = plan.memory}, plan.argv));
}

ExecuteFailure execute(const ApplyPlan& plan) {
  if (!plan.cpus.empty()) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    for (const int cpu : plan.cpus) {
      if (cpu >= CPU_SETSIZE)
        return {ExecuteStep::Prepare, fmt::format("CPU {} is beyond what this program can bind to", cpu)};
      CPU_SET(static_cast<std::size_t>(cpu), &mask);
    }
    if (::sched_setaffinity(0, sizeof mask, &mask) != 0) {
      return {ExecuteStep::Prepare,
              fmt::format("cannot bind to CPUs {}: {}", fmt::join(plan.cpus, ","), std::strerror(errno))};
    }
  }
  if (const int error = measure::set_memory_policy(plan.memory); error != 0) {
    return {ExecuteStep::Prepare, fmt::format("cannot set the memory policy '{}' on nodes {}: {}", plan.memory.mode,
                                              fmt::join(plan.memory.nodes, ","), std::strerror(error))};
  }
  if (!plan.working_folder.empty() && ::chdir(plan.working_folder.c_str()) != 0) {
    return {ExecuteStep::Prepare,
            fmt::format("cannot change to {}: {}", plan.working_folder.string(), std::strerror(errno))};
  }
  for (const std::string& name : plan.unset) ::unsetenv(name.c_str());
  for (const auto& [name, value] : plan.set) ::setenv(name.c_str(), value.c_str(), 1);
  std::signal(SIGPIPE, SIG_DFL);
  std::vector<char*> argv;
  for (const std::string& word : plan.argv)
    argv.push_back(const_cast<char*>(word.c_str()));  // NOLINT: execvp takes char* for C's sake and changes nothing
  argv.push_back(nullptr);
  ::execvp(argv.front(), argv.data());
  const int reason = errno;
  return {reason == ENOENT || reason == ENOTDIR ? ExecuteStep::NotFound : ExecuteStep::NotExecutable,
          fmt::format("cannot execute {}: {}", plan.argv.front(), std::strerror(reason))};
}

}  // namespace nocturne::deploy
