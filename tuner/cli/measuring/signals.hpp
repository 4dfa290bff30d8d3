#pragma once

/// What signals mean to a campaign.
///
/// - SIGINT (Ctrl-C): end after the run in flight, and give the answer. An installation or a build is cut.
/// - SIGTERM: the same, but the run in flight has a grace period; then it is killed, and repeated by the next session.
/// - a second of these: kill the run in flight at once, and give the answer.
/// - SIGUSR1: the same as the first SIGINT. Slurm sends it where the job's time is nearly over (slurm/job.hpp).
/// - SIGHUP: the terminal is gone; go on, and write into a log file what would have gone there.
/// - SIGTSTP (Ctrl-Z): kill the run in flight, so that nothing measures or holds memory or the slot; only then stop;
///   repeat it when continued. Heard while the campaign ends it is nothing.
///
/// Workers get none of these: they live in sessions of their own. SIGSTOP cannot be heard: then the run in flight goes
/// on under its supervisor, deadline included, and is read when the tuner is continued.

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "tuner/cli/exit_codes.hpp"
#include "tuner/executor/interruption.hpp"

namespace nocturne::cli {

struct SignalRules {
  std::chrono::milliseconds grace{20'000};  ///< after SIGTERM, for the run in flight
  /// A sentence for the user at the terminal; called from a thread of its own.
  std::function<void(const std::string&)> say;
  /// Standard output and standard error that are terminals continue here after SIGHUP (appended to, mode 0600).
  std::filesystem::path log;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
};

/// Listens while it lives. One instance at a time. A SIGHUP or SIGTSTP that was ignored when the program started
/// (nohup) stays ignored.
class SignalWatch {
 public:
  /// `interruption` outlives it.
  SignalWatch(tuner::Interruption& interruption, SignalRules rules);
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;
  ~SignalWatch();

  /// What a subcommand that was interrupted ends with: Interrupted, or Terminated where SIGTERM was what ended it.
  [[nodiscard]] ExitCode interruption_code() const;
  /// Whether SIGUSR1 was what ended it.
  [[nodiscard]] bool job_ends() const;
  /// Set once the terminal is gone.
  [[nodiscard]] const std::atomic<bool>& hung_up() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nocturne::cli
