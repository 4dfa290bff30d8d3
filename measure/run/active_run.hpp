#pragma once

/// A run that has begun: its folder, its supervised process and its events. What runner and pair have in common.

#include <chrono>
#include <expected>
#include <optional>
#include <string>
#include <utility>

#include "measure/run/event_reader.hpp"
#include "measure/run/runner.hpp"
#include "measure/supervisor/client.hpp"
#include "measure/supervisor/run_folder.hpp"
#include "space/run.hpp"

namespace nocturne::measure {

/// Which supervisor, and where its facts come from.
struct SupervisorChoice {
  std::filesystem::path program;  ///< empty: find_supervisor()
  std::filesystem::path proc = "/proc";
  bool use_cgroup = true;
};

/// Not thread-safe. A run that could not be started is finished from the beginning.
class ActiveRun {
 public:
  /// Makes the folder and starts the worker.
  ActiveRun(RunPlan plan, const SupervisorChoice& supervisor);

  [[nodiscard]] bool finished() const { return !process_ || process_->finished(); }
  /// Waits for the supervisor, `also` (a file descriptor, or -1) or the time; then reads new events. Kills a worker
  /// that floods its events.
  void wait(std::chrono::milliseconds timeout, int also = -1);
  [[nodiscard]] const Events& events() const { return reader_.events(); }
  [[nodiscard]] const RunPlan& plan() const { return plan_; }
  [[nodiscard]] std::chrono::nanoseconds elapsed() const { return std::chrono::steady_clock::now() - started_; }

  /// The FIFO of its turns, opened before the worker could put anything in its place; once.
  [[nodiscard]] OpenFile take_turns() { return std::move(turns_); }

  void stop();
  void resume();
  [[nodiscard]] bool stopped() const { return process_ && process_->stopped(); }
  /// Ends the worker; `reason` becomes the record's when the outcome is Killed.
  void kill(const std::string& reason);

  /// Judges and returns the record. REQUIRES: finished().
  [[nodiscard]] space::Run record();

 private:
  std::expected<void, std::string> begin(const SupervisorChoice& supervisor);

  RunPlan plan_;
  std::chrono::steady_clock::time_point started_;
  std::string start_error_;
  std::optional<RunFolder> folder_;  ///< once made
  OpenFile turns_;
  EventReader reader_;
  std::optional<SupervisedWorker> process_;
  bool flood_ended_ = false;
};

}  // namespace nocturne::measure
