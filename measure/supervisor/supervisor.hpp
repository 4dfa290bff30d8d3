#pragma once

/// One supervised run: what is known of it while it lasts, and the loop that watches it.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/supervisor/cgroup.hpp"
#include "measure/supervisor/control.hpp"
#include "measure/supervisor/load.hpp"
#include "measure/supervisor/log.hpp"
#include "measure/supervisor/memory_watch.hpp"
#include "measure/supervisor/process_tree.hpp"
#include "measure/supervisor/run_folder.hpp"

namespace nocturne::measure {

/// How often the kernel's out-of-memory killer struck since boot (oom_kill of /proc/vmstat).
[[nodiscard]] std::int64_t kernel_oom_kills();

class Supervisor {
 public:
  /// `signals`: a signalfd that does not block.
  Supervisor(int control, pid_t tuner, int signals) : control_(control), tuner_(tuner), signals_(signals) {}

  /// Supervises one worker and writes the report; returns the exit code of the program (supervise()).
  int serve();

 private:
  bool read_spec();
  void start();
  void sleep();
  void watch();
  void clean_up();
  bool report();

  void read_control();
  void obey(const std::string& line);
  void read_signals();
  void reap();
  void check_time(std::chrono::steady_clock::time_point now);
  void check_memory(std::chrono::steady_clock::time_point now);
  void terminate(std::chrono::steady_clock::time_point now);
  void kill_all(int signal);
  [[nodiscard]] std::vector<pid_t> processes();
  [[nodiscard]] std::vector<pid_t> processes_apart(const std::vector<pid_t>& descendants);
  [[nodiscard]] bool stop_inside();
  void watch_apart(std::chrono::steady_clock::time_point now);
  void let_runtime_finish();
  void remove_container();
  void lose_tuner();
  [[nodiscard]] std::chrono::nanoseconds runnable(std::chrono::steady_clock::time_point now) const;

  const int control_;
  const pid_t tuner_;
  const int signals_;
  bool tuner_alive_ = true;
  LineBuffer lines_;

  SuperviseSpec spec_;
  SuperviseResult result_;
  ProcessIdentity self_ = ProcessIdentity::of_this_process();
  std::optional<RunFolder> folder_;  // opened before the worker can change anything
  std::optional<Cgroup> cgroup_;
  std::unique_ptr<LogCapture> log_;
  std::optional<MemoryWatch> memory_;  // only where no control group limits
  LoadSnapshot load_before_;
  std::int64_t oom_kills_before_ = 0;

  pid_t worker_ = -1;
  bool running_ = false;
  std::chrono::steady_clock::time_point started_;
  std::chrono::nanoseconds ran_{};  // before the stop it is in, or before resumed_
  std::chrono::steady_clock::time_point resumed_;
  bool stop_wanted_ = false;
  bool stop_told_ = false;
  std::optional<std::chrono::steady_clock::time_point> kill_at_;  // SIGTERM was sent; SIGKILL follows
  bool we_killed_ = false;
  std::chrono::steady_clock::time_point next_memory_check_;
  std::chrono::steady_clock::time_point next_log_read_;
  std::int64_t max_rss_bytes_ = 0;
  std::vector<pid_t> apart_;              // first processes of a container that is no descendant
  std::chrono::nanoseconds apart_cpu_{};  // of those, when last looked at
  std::chrono::steady_clock::time_point next_apart_look_;
};

// The supervisor's work: one worker, from fork to the last of its descendants. Sleeps in poll(2) while nothing
// happens.

/// Serves the tuner behind `control` (a stream socket): reads the spec, starts the worker, watches, kills what is left,
/// writes result.json into the run's folder and reports. `tuner` is the process that started this one.
/// Returns the exit code of the program: 0 when a result was reported, 1 without a spec or when the tuner was gone.
/// REQUIRES: a process of its own with one thread; signals, umask and subreaper state are changed.
int supervise(int control, pid_t tuner);

}  // namespace nocturne::measure
