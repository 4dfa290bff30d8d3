#include "kernels/command/command_run.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <stdexcept>
#include <vector>

#include "kernels/command/child.hpp"
#include "kernels/command/learning_curve.hpp"
#include "kernels/command/line_rule.hpp"
#include "kernels/command/output_steps.hpp"

namespace nocturne::command {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

/// So many steps are enough to see that a command reports them.
constexpr std::int64_t kDetectSteps = 20;

int say_ok(protocol::EventWriter& events) {
  events.end("ok", "");
  return 0;
}

int say_failed(protocol::EventWriter& events, const std::string& reason) {
  events.end("failed", reason);
  return 0;
}

/// Dies as the command did, or gives its exit code.
int end_as(const ChildEnd& end) {
  if (WIFSIGNALED(end.status)) {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);  // the command left the core, if there is to be one
    ::signal(WTERMSIG(end.status), SIG_DFL);
    ::raise(WTERMSIG(end.status));
    return 128 + WTERMSIG(end.status);
  }
  return WEXITSTATUS(end.status);
}

bool ended_well(const ChildEnd& end) {
  return WIFEXITED(end.status) && WEXITSTATUS(end.status) == 0;
}

int say_process(const ChildEnd& end, std::optional<double> seconds, protocol::EventWriter& events) {
  const auto wall = seconds ? nanoseconds_in(*seconds) : end.wall;
  events.sample({.first_step = 0,
                 .steps = 1,
                 .wall_ns = std::max<std::int64_t>(1, wall.count()),
                 .cpu_ns = end.cpu.count(),
                 .loss_known = false});
  return say_ok(events);
}

constexpr milliseconds kLook{50};

/// Empty: the command failed when all that was wanted of it was there, as where several processes train together and
/// one has left them. That is no failure.
std::optional<ChildEnd> unless_done(const ChildEnd& end, const std::function<bool()>& done) {
  return ended_well(end) || !done() ? std::optional(end) : std::nullopt;
}

/// Waits for the command, or for `done`: what is left then nobody needs. Empty: that came first.
std::optional<ChildEnd> wait_until(Child& child, const std::function<bool()>& done) {
  for (;;) {
    if (const auto end = child.wait(kLook)) return unless_done(*end, done);
    if (done()) return child.wait(kLook * 4);
  }
}

/// Where the module leaves what a script learns, and ends the process that trained. Empty: it is not to.
std::string learning_file() {
  const char* file = std::getenv("NOCTURNE_INJECT_LEARNING");
  return file == nullptr ? "" : file;
}

int run_process(const ChildPlan& plan, protocol::EventWriter& events) {
  events.ready({{"timing", "process"}});
  events.phase_begin("command");
  Child child(plan);
  const std::string learnt = learning_file();
  const auto end = learnt.empty() ? std::optional(child.wait()) : wait_until(child, [&] { return fs::exists(learnt); });
  if (!end) child.terminate();
  if (end && !ended_well(*end)) return end_as(*end);
  events.phase_end("command");
  return say_process(child.wait(), std::nullopt, events);
}

// --- the output -----------------------------------------------------------------------------------------------------

/// False for ever where the rule reads the time of the whole run.
bool is_enough(const OutputSteps& steps, std::int64_t wanted) {
  return steps.begun() && steps.steps() >= wanted;
}

/// Who reads what a command prints.
struct OutputReader {
  std::function<void(std::string_view)> line;
  std::function<bool()> enough;  ///< the command is not needed any more
};

/// Passes on what the command prints, until there is no more for now or it is enough: who prints faster than it is read
/// would never be left. False: it has closed its output.
bool copy_output(int output, OutputLines& lines, const OutputReader& reader) {
  std::array<char, 16384> buffer;
  while (!reader.enough()) {
    const ssize_t count = ::read(output, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return true;  // nothing more for now
    if (count == 0) return false;
    lines.take(std::string_view(buffer.data(), static_cast<std::size_t>(count)), reader.line);
    for (ssize_t done = 0; done < count;) {
      const ssize_t written = ::write(STDOUT_FILENO, buffer.data() + done, static_cast<std::size_t>(count - done));
      if (written < 0 && errno != EINTR) break;  // nobody keeps the log any more
      done += std::max<ssize_t>(0, written);
    }
  }
  return true;
}

/// Reads the output of the command to its end. Empty: it was enough before, and the command is ended.
std::optional<ChildEnd> read_to_end(Child& child, const OutputReader& reader) {
  ::signal(SIGPIPE, SIG_IGN);  // that nobody keeps the log is no reason to end; the command does not inherit it
  OutputLines lines;
  bool open = true;
  for (;;) {
    pollfd watched{.fd = open ? child.output() : -1, .events = POLLIN, .revents = 0};
    ::poll(&watched, 1, 50);
    if (open) open = copy_output(child.output(), lines, reader);
    if (reader.enough()) {
      child.terminate();
      return std::nullopt;
    }
    if (const auto end = child.wait(milliseconds(0))) {
      if (open) copy_output(child.output(), lines, reader);
      lines.finish(reader.line);
      return end;
    }
  }
}

/// So that lines come when they are printed.
void read_output_of(ChildPlan& plan) {
  plan.read_output = true;
  plan.environment["PYTHONUNBUFFERED"] = "1";
}

int say_curve(const LearningCurve& curve, const Options& options, protocol::EventWriter& events) {
  return curve.seen()
             ? say_ok(events)
             : say_failed(events, "no line of its output says how accurate it is: none matches " + options.accuracy);
}

int run_pattern(const Options& options, ChildPlan plan, const protocol::Request& request,
                protocol::EventWriter& events) {
  const LineRule rule(options.pattern, options.batch);
  read_output_of(plan);
  events.ready({{"timing", "pattern"}, {"pattern", options.pattern}});
  const std::string phase = rule.reads_total() ? "command" : "first_step";
  events.phase_begin(phase);
  Child child(plan);
  OutputSteps steps(rule, events);
  std::optional<LearningCurve> curve;
  if (request.curve)
    curve.emplace(options.accuracy, request, [&] { return steps.begun() ? steps.steps() + 1 : 0; }, events);
  const auto end =
      read_to_end(child, {.line =
                              [&](std::string_view text) {
                                steps.line(text, OutputSteps::Clock::now());
                                if (curve) curve->line(text);
                              },
                          .enough = [&] { return curve ? curve->over() : is_enough(steps, request.steps); }});
  if (!end) return say_ok(events);
  if (!ended_well(*end)) return end_as(*end);
  if (curve) return say_curve(*curve, options, events);
  if (rule.reads_total()) {
    if (!steps.total_seconds())
      return say_failed(events, "no line of its output says how long it took: none matches " + options.pattern);
    events.phase_end(phase);
    return say_process(*end, steps.total_seconds(), events);
  }
  if (is_enough(steps, request.steps)) return say_ok(events);
  if (!steps.begun()) return say_failed(events, "no line of its output matches " + options.pattern);
  if (request.steps == protocol::kUntilEnded) {
    return say_failed(events, "it ended after " + std::to_string(steps.steps()) +
                                  " steps behind the first, before all turns were over: lower verify.slices or "
                                  "verify.slice_steps");
  }
  return say_failed(events, "it ended after " + std::to_string(steps.steps()) + " steps behind the first, and " +
                                std::to_string(request.steps) + " are asked for: lower run.steps");
}

// --- steps ----------------------------------------------------------------------------------------------------------

/// The module comes first, for Python imports it at its start by the place alone. nocturne_steps.py has a folder of its
/// own: beside it may lie modules that the command must not find.
std::string python_path(const Options& options) {
  std::string path = options.inject.empty() ? "" : fs::absolute(options.inject).string();
  const auto append = [&](const std::string& place) { path += (path.empty() ? "" : ":") + place; };
  if (!options.shim.empty()) {
    const fs::path place = fs::absolute(options.events).parent_path() / "python";
    fs::create_directory(place);
    fs::create_symlink(fs::absolute(options.shim), place / fs::path(options.shim).filename());
    append(place.string());
  }
  const char* known = std::getenv("PYTHONPATH");
  if (known != nullptr && *known != '\0') append(known);
  return path;
}

/// Events of that name in the file, so far, that say a number of steps.
std::vector<nlohmann::json> events_named(std::string_view name, const std::string& file) {
  std::ifstream events(file);
  std::vector<nlohmann::json> found;
  for (std::string line; std::getline(events, line);) {
    nlohmann::json event = nlohmann::json::parse(line, nullptr, false);
    if (event.is_object() && event.value("event", nlohmann::json()) == name && event.contains("steps") &&
        event["steps"].is_number_integer())
      found.push_back(std::move(event));
  }
  return found;
}

/// Steps behind the first that the command has reported.
std::int64_t reported_steps(const std::string& file) {
  std::int64_t steps = 0;
  for (const nlohmann::json& sample : events_named("sample", file)) steps += sample["steps"].get<std::int64_t>();
  return steps;
}

/// With the first, where it has ended.
std::int64_t steps_by_now(const std::string& file) {
  const std::int64_t steps = reported_steps(file);
  return steps > 0 ? steps + 1 : 0;
}

/// Waits for the command, or for the process that trained to be gone with all `done`: whatever started it may have more
/// to do, which nobody needs. Empty: that came first.
std::optional<ChildEnd> wait_for_trainer(Child& child, const fs::path& pid_file, const std::function<bool()>& done) {
  pid_t trainer = 0;
  for (;;) {
    if (const auto end = child.wait(kLook)) return unless_done(*end, done);
    if (trainer == 0) std::ifstream(pid_file) >> trainer;
    if (trainer <= 0 || ::kill(trainer, 0) == 0 || errno != ESRCH) continue;
    if (done()) return std::nullopt;
    return child.wait();
  }
}

/// Whether the process that trains has ended because nobody wants more steps of it.
bool has_said_ended(const fs::path& pid_file) {
  std::string trainer, word;
  std::ifstream(pid_file) >> trainer >> word;
  return word == "ended";
}

/// Where the module and nocturne_steps tell the steps.
struct StepFiles {
  fs::path events, pid;
};

StepFiles tell_steps(const Options& options, const protocol::Request& request, ChildPlan& plan) {
  const fs::path events = fs::absolute(options.events);
  const StepFiles files{.events = events, .pid = events.parent_path() / "steps.pid"};
  plan.environment["NOCTURNE_STEPS_EVENTS"] = files.events.string();
  plan.environment["NOCTURNE_STEPS_PID_FILE"] = files.pid.string();
  plan.environment["NOCTURNE_STEPS_PER_SAMPLE"] = std::to_string(request.steps_per_sample);
  // The clock that Python's time.monotonic() reads.
  plan.environment["NOCTURNE_STEPS_BEGAN_NS"] =
      std::to_string(std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
  return files;
}

constexpr const char* kNoSteps =
    "no steps were seen: the command trains with no framework that is known, or runs no Python that finds the module "
    "in front of it, and does not import nocturne_steps";

/// A learning curve that the module sees is over: as accurate as wanted, or as long as it may be.
bool is_curve_over(const std::vector<nlohmann::json>& points, const protocol::Request& request) {
  if (points.empty()) return false;
  const nlohmann::json& last = points.back();
  return last.value("accuracy", 0.0) >= request.curve->until.value_or(2) || last.value("steps", 0) >= request.steps;
}

/// As run_curve, where the module sees what the framework evaluates, and ends the training.
int run_seen_curve(ChildPlan plan, const StepFiles& files, const protocol::Request& request,
                   protocol::EventWriter& events) {
  plan.environment["NOCTURNE_INJECT_EVALUATIONS"] = "1";
  if (request.curve->until) plan.environment["NOCTURNE_INJECT_UNTIL"] = std::to_string(*request.curve->until);
  plan.environment["NOCTURNE_INJECT_MOST"] = std::to_string(request.steps);
  Child child(plan);
  const auto ended = wait_for_trainer(
      child, files.pid, [&] { return is_curve_over(events_named("accuracy", files.events.string()), request); });
  if (!ended) child.terminate();
  if (ended && !ended_well(*ended)) return end_as(*ended);
  if (!fs::exists(files.pid)) return say_failed(events, kNoSteps);
  if (events_named("accuracy", files.events.string()).empty()) {
    return say_failed(events,
                      "no evaluation was seen: Keras's fit has no validation data with an accuracy, and no Trainer of "
                      "transformers evaluates one. A pattern finds it in what the command prints");
  }
  return say_ok(events);
}

/// The command trains as it would, and is ended when it is as accurate as wanted.
int run_curve(const Options& options, ChildPlan plan, const protocol::Request& request, protocol::EventWriter& events) {
  const StepFiles files = tell_steps(options, request, plan);
  if (options.accuracy == "seen") return run_seen_curve(std::move(plan), files, request, events);
  read_output_of(plan);
  Child child(plan);
  LearningCurve curve(options.accuracy, request, [&] { return steps_by_now(files.events.string()); }, events);
  const auto end = read_to_end(
      child, {.line = [&](std::string_view text) { curve.line(text); }, .enough = [&] { return curve.over(); }});
  if (!end) return say_ok(events);
  if (!ended_well(*end)) return end_as(*end);
  return fs::exists(files.pid) ? say_curve(curve, options, events) : say_failed(events, kNoSteps);
}

int run_steps(const Options& options, ChildPlan plan, const protocol::Request& request, protocol::EventWriter& events) {
  const bool detect = options.timing == Timing::Detect;
  const std::int64_t wanted = detect ? kDetectSteps : request.steps;
  const auto [events_file, pid_file] = tell_steps(options, request, plan);
  if (request.turns)
    plan.environment["NOCTURNE_STEPS_TURNS"] = *request.turns;
  else
    plan.environment["NOCTURNE_STEPS_LIMIT"] = std::to_string(wanted);
  Child child(plan);
  const auto ended =
      request.turns ? unless_done(child.wait(), [&] { return has_said_ended(pid_file); })
                    : wait_for_trainer(child, pid_file, [&] { return reported_steps(events_file.string()) >= wanted; });
  if (!ended) {
    child.terminate();
    return say_ok(events);
  }
  const ChildEnd& end = *ended;
  if (!ended_well(end)) return end_as(end);
  const bool speaker_seen = fs::exists(pid_file);
  if (!speaker_seen && detect) {
    events.ready({{"timing", "process"}});
    return say_process(end, std::nullopt, events);
  }
  if (!speaker_seen) return say_failed(events, kNoSteps);
  const std::int64_t steps = reported_steps(events_file.string());
  if (steps == 0) {
    return say_failed(
        events,
        "no two steps were seen: where it imports nocturne_steps, call nocturne_steps.step() at the end of each "
        "training step");
  }
  if (!detect && !request.turns && steps < request.steps) {
    return say_failed(events, "it ended after " + std::to_string(steps) + " steps behind the first, and " +
                                  std::to_string(request.steps) + " are asked for: lower run.steps");
  }
  return say_ok(events);
}

ChildPlan plan_for(const Options& options) {
  ChildPlan plan{.argv = options.command, .folder = options.folder, .environment = {}};
  if (options.view.kind == ViewKind::None) return plan;
  ViewPlan wish = options.view;
  wish.folder = options.folder;
  wish.run = fs::absolute(options.events).parent_path();
  plan.view = prepare_view(std::move(wish));
  plan.folder = start_folder(plan.view).string();
  plan.environment = view_environment(plan.view);
  return plan;
}

}  // namespace

int converse(const Options& options, const protocol::Request& request, protocol::EventWriter& events) {
  if (request.gate) {
    events.end("unsupported", "a command of the user's own knows nothing of the gate");
    return 0;
  }
  if (request.curve && options.accuracy.empty()) {
    events.end("unsupported", "nothing says how accurate the command is: worker.accuracy is a pattern that finds it");
    return 0;
  }
  try {
    ChildPlan plan = plan_for(options);
    if (!options.shim.empty() || !options.inject.empty()) plan.environment["PYTHONPATH"] = python_path(options);
    switch (options.timing) {
      case Timing::Process:
        return run_process(plan, events);
      case Timing::Pattern:
        return run_pattern(options, plan, request, events);
      case Timing::Steps:
        if (request.curve) return run_curve(options, plan, request, events);
        break;
      case Timing::Detect:
        break;
    }
    return run_steps(options, plan, request, events);
  } catch (const std::exception& error) {
    return say_failed(events, error.what());
  }
}

}  // namespace nocturne::command
