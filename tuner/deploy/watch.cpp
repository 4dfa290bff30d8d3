#include "tuner/deploy/watch.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <system_error>

#include <fmt/format.h>

#include "measure/container/runtimes.hpp"
#include "measure/run/event_reader.hpp"
#include "measure/supervisor/load.hpp"
#include "measure/supervisor/process_tree.hpp"
#include "measure/supervisor/run_folder.hpp"
#include "space/file_contents.hpp"
#include "space/folder_entries.hpp"

namespace nocturne::deploy {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr milliseconds kLook{100};
constexpr milliseconds kWait{1000};
constexpr std::int64_t kMostBytesOfEvents = std::int64_t{256} << 20;

/// Signals that are waited for instead of acted upon, for the time of the watch.
class BlockedSignals {
 public:
  BlockedSignals() {
    ::sigemptyset(&waited_);
    for (const int each : {SIGCHLD, SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2}) ::sigaddset(&waited_, each);
    ::sigprocmask(SIG_BLOCK, &waited_, &before_);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals() { restore(); }
  void restore() const { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

  /// Waits for one; hands on to `child` what was sent to this process alone.
  void wait(milliseconds patience, pid_t child) const {
    const timespec time{.tv_sec = patience.count() / 1000, .tv_nsec = patience.count() % 1000 * 1'000'000};
    siginfo_t info{};
    const int signal = ::sigtimedwait(&waited_, &info, &time);
    if (signal > 0 && signal != SIGCHLD && info.si_code <= 0) ::kill(child, signal);
  }

 private:
  sigset_t waited_{}, before_{};
};

/// The child's end of the pipe closes by itself when the command runs.
[[noreturn]] void become(const ApplyPlan& plan, const BlockedSignals& signals, pid_t parent, int report) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  signals.restore();
  const ExecuteFailure failure = execute(plan);
  const std::string text = std::to_string(static_cast<int>(failure.step)) + failure.message;
  ::_exit(::write(report, text.data(), text.size()) < 0 ? 126 : 127);
}

struct StartedChild {
  pid_t pid = 0;
  std::optional<ExecuteFailure> failure{};
};

StartedChild start(const ApplyPlan& plan, const BlockedSignals& signals) {
  const auto failed = [](const char* what) {
    return StartedChild{.failure =
                            ExecuteFailure{ExecuteStep::Prepare, fmt::format("{}: {}", what, std::strerror(errno))}};
  };
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return failed("no pipe could be made");
  const pid_t parent = ::getpid();
  StartedChild child{.pid = ::fork()};
  if (child.pid == 0) become(plan, signals, parent, ends[1]);
  ::close(ends[1]);
  const measure::OpenFile report(ends[0]);
  if (child.pid < 0) return failed("no process could be started");
  std::string text(4096, '\0');
  ssize_t count = 0;
  while ((count = ::read(report.descriptor(), text.data(), text.size())) < 0 && errno == EINTR) {
  }
  if (count <= 0) return child;
  text.resize(static_cast<std::size_t>(count));
  child.failure = ExecuteFailure{static_cast<ExecuteStep>(text.front() - '0'), text.substr(1)};
  int status = 0;
  ::waitpid(child.pid, &status, 0);
  return child;
}

/// Of this process and all that came of the job.
nanoseconds cpu_of_job() {
  nanoseconds cpu = measure::cpu_time_of(::getpid());
  for (const pid_t each : measure::descendants_of(::getpid())) cpu += measure::cpu_time_of(each);
  return cpu;
}

/// How often processors were held back for heat, of all cores and packages since boot; 0 where that is not told.
std::int64_t held_back_count(const fs::path& cpus) {
  std::int64_t count = 0;
  for (const fs::directory_entry& cpu : space::entries_of(cpus)) {
    for (const char* name : {"core_throttle_count", "package_throttle_count"}) {
      const auto text = space::read_file(cpu.path() / "thermal_throttle" / name, 32);
      if (text) count += std::strtoll(text->c_str(), nullptr, 10);
    }
  }
  return count;
}

/// One window after the other.
class Observation {
 public:
  Observation(const WatchedJob& job, const WatchSettings& settings)
      : job_(job), settings_(settings), cpus_(job.plan.cpus), reader_("events.jsonl", kMostBytesOfEvents) {
    for (const space::FingerprintDifference& each : job.plan.differences)
      differences_.push_back(fmt::format("{} is '{}' and was '{}'", each.name, each.now, each.before));
    if (!cpus_.empty()) return;
    cpu_set_t mask;
    if (::sched_getaffinity(0, sizeof mask, &mask) != 0) return;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(static_cast<std::size_t>(cpu), &mask)) cpus_.push_back(cpu);
  }

  /// What a window that has just ended says; empty: none has.
  std::optional<Canary> look() {
    if (!folder_) {
      auto opened = measure::RunFolder::open(job_.folder);
      if (!opened) return std::nullopt;
      folder_.emplace(*std::move(opened));
    }
    reader_.read(*folder_);
    const measure::Events& events = reader_.events();
    if (!events.first_step_done && events.samples.empty()) return std::nullopt;
    if (!began_) {
      begin();
      return std::nullopt;
    }
    const auto now = steady_clock::now();
    const bool whole = now - began_->at >= settings_.window && events.samples.size() - first_ >= kFewestSamples;
    if (!whole) return std::nullopt;
    CanaryWindow window = seen();
    auto canary = judge(window, job_.limits);
    begin();
    return canary;
  }

 private:
  void begin() {
    first_ = reader_.events().samples.size();
    cpu_ = cpu_of_job();
    held_back_ = held_back_count(settings_.cpus);
    began_ = measure::read_load(settings_.proc, cpus_);
  }

  [[nodiscard]] CanaryWindow seen() const {
    const measure::Events& events = reader_.events();
    CanaryWindow window{
        .run = {}, .cpu_held_back = held_back_count(settings_.cpus) > held_back_, .differences = differences_};
    window.run.samples.assign(events.samples.begin() + static_cast<std::ptrdiff_t>(first_), events.samples.end());
    window.run.device = events.device;
    // Of a process that a daemon started nobody knows but itself.
    nanoseconds told{};
    for (const space::Sample& sample : window.run.samples) told += sample.cpu;
    const auto after = measure::read_load(settings_.proc, cpus_);
    window.run.load = measure::load_between(*began_, after, std::max(told, cpu_of_job() - cpu_));
    return window;
  }

  const WatchedJob& job_;
  const WatchSettings& settings_;
  std::vector<int> cpus_;
  std::vector<std::string> differences_;
  measure::EventReader reader_;
  std::optional<measure::RunFolder> folder_;
  std::optional<measure::LoadSnapshot> began_;  ///< the window; empty: before the first
  std::size_t first_ = 0;                       ///< sample of the window
  nanoseconds cpu_{};
  std::int64_t held_back_ = 0;
};

/// The child's end, where it has come; orphans of the job are buried as well.
std::optional<int> reap(pid_t child) {
  std::optional<int> end;
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;)
    if (pid == child) end = status;
  return end;
}

void end_job(const WatchedJob& job, const WatchSettings& settings, const BlockedSignals& signals, pid_t child) {
  ::kill(child, SIGTERM);
  const auto until = steady_clock::now() + settings.grace;
  std::optional<int> end;
  while (!(end = reap(child)) && steady_clock::now() < until) signals.wait(kLook, child);
  measure::kill_descendants(::getpid());
  while (::waitpid(-1, nullptr, 0) > 0) {
  }
  if (!job.plan.clean_up.empty()) static_cast<void>(measure::ask_tool(job.plan.clean_up, std::chrono::seconds(30)));
}

/// Windows until there is a finding.
class Finding {
 public:
  explicit Finding(const WatchSettings& settings) : settings_(settings) {}

  struct Step {
    bool tell = false, fall_back = false, over = false;
  };
  Step hear(const Canary& canary) {
    ++windows_;
    if (canary.finding == CanaryFinding::AsMeasured) return {.tell = !told_, .over = true};
    if (windows_ == 1) return {};  // a start may disturb it
    const bool beyond = settings_.fall_back && canary.finding == CanaryFinding::SlowerThanDefault;
    Step step{.tell = !told_, .fall_back = beyond && !canary.explained};
    step.tell = step.tell || step.fall_back;
    step.over = !beyond || step.fall_back || windows_ >= settings_.windows;
    told_ = told_ || step.tell;
    return step;
  }

 private:
  const WatchSettings& settings_;
  int windows_ = 0;
  bool told_ = false;
};

}  // namespace

milliseconds window_for(const Profile& profile) {
  constexpr milliseconds kLongest{10'000}, kShortest{2'000};
  const std::int64_t batch = profile.configuration.integer_of("batch").value_or(0);
  if (!profile.step || batch <= 0) return kLongest;
  const double steps = static_cast<double>(profile.workload.training_examples) / static_cast<double>(batch);
  const double quarter_ms = std::min(1000 * profile.step->seconds * steps / 4, 1e9);
  return std::clamp(milliseconds(static_cast<std::int64_t>(quarter_ms)), kShortest, kLongest);
}

WatchEnd watch(const WatchedJob& job, const WatchSettings& settings,
               const std::function<void(const Canary&, bool falls_back)>& seen) {
  const BlockedSignals signals;
  ::signal(SIGCHLD, SIG_DFL);  // ignored, as some leave it to those they start, no end could be waited for
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  StartedChild child = start(job.plan, signals);
  WatchEnd end{.failure = std::move(child.failure)};
  if (!end.failure) {
    std::optional<Observation> observation(std::in_place, job, settings);
    Finding finding(settings);
    std::optional<int> status;
    while (!(status = reap(child.pid)) && !end.fell_back) {
      const auto canary = observation ? observation->look() : std::nullopt;
      if (canary) {
        const Finding::Step step = finding.hear(*canary);
        if (step.tell) seen(*canary, step.fall_back);
        end.fell_back = step.fall_back;
        if (step.over) observation.reset();
        std::error_code ignored;
        if (step.over && job.private_folder) fs::remove_all(job.folder, ignored);
      }
      if (!end.fell_back) signals.wait(observation ? kLook : kWait, child.pid);
    }
    if (end.fell_back && !status) end_job(job, settings, signals, child.pid);
    end.status = status.value_or(0);
    // It ended well before it could be ended.
    end.fell_back = end.fell_back && !status;
  }
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  return end;
}

int end_as(int status) {
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  const int signal = WTERMSIG(status);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
  return 128 + signal;
}

}  // namespace nocturne::deploy
