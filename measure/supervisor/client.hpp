#pragma once

/// The tuner's end of a supervisor: start, watch, stop, continue, kill.

#include <sys/types.h>
#include <chrono>
#include <expected>
#include <filesystem>
#include <optional>
#include <string>

#include "measure/supervisor/control.hpp"

namespace nocturne::measure {

inline constexpr int kControlDescriptor = 3;  ///< descriptor of the supervisor's socket

/// A supervised worker. Move-only; not thread-safe. Destroying it unfinished ends the worker and waits for that.
///
/// The supervisor keeps the deadline. Should it fail to, because somebody stopped or hung it, wait() ends it with all
/// its processes: at once after the grace where it is stopped, else when the spec's last_resort has passed too.
class SupervisedWorker {
 public:
  /// Starts `program` (nocturne-supervisor) and hands it the spec.
  [[nodiscard]] static std::expected<SupervisedWorker, std::string> start(const SuperviseSpec& spec,
                                                                          const std::filesystem::path& program);
  SupervisedWorker(SupervisedWorker&& other) noexcept;
  SupervisedWorker& operator=(SupervisedWorker&&) = delete;
  SupervisedWorker(const SupervisedWorker&) = delete;
  SupervisedWorker& operator=(const SupervisedWorker&) = delete;
  ~SupervisedWorker();

  /// Waits until the supervisor says something, `also` (a file descriptor, or -1) is readable, or the time has passed.
  void wait(std::chrono::milliseconds timeout, int also = -1);
  [[nodiscard]] bool finished() const { return result_.has_value(); }
  /// REQUIRES: finished(). When the supervisor itself was killed, or had to be: killed, with that as its reason; the
  /// worker's processes are ended then too. One whose words make no sense: start_error.
  [[nodiscard]] const SuperviseResult& result() const { return *result_; }

  /// Stops all processes of the worker; done when stopped() says so, or it finished.
  void stop();
  void resume();
  [[nodiscard]] bool stopped() const { return stopped_; }
  /// Without a word of the supervisor on how it ended: what it would have cleaned up is still there.
  [[nodiscard]] bool lost() const { return lost_; }
  /// SIGTERM now, SIGKILL after the grace of the spec.
  void kill(const std::string& reason);
  [[nodiscard]] pid_t supervisor_pid() const { return pid_; }

 private:
  SupervisedWorker() = default;
  void command(const char* word, const std::string& reason = {}) const;
  void receive();
  void accept(const nlohmann::json& result);
  [[nodiscard]] std::chrono::nanoseconds time_left(std::chrono::steady_clock::time_point now) const;
  void end_overdue();
  void lose(std::string reason);
  void bury();

  std::string run_id_;
  pid_t pid_ = -1;
  int socket_ = -1;
  std::chrono::milliseconds deadline_{}, grace_{}, last_resort_{};
  std::optional<std::chrono::milliseconds> total_limit_;
  std::chrono::steady_clock::time_point started_, resumed_;
  std::chrono::nanoseconds ran_{};  ///< before the stop it is in, or before resumed_
  bool stop_wanted_ = false;
  std::string kill_reason_;
  /// Since when the supervisor ought to be ending it: told to, or seen beyond the deadline.
  std::optional<std::chrono::steady_clock::time_point> ending_since_;
  bool stopped_ = false;
  bool lost_ = false;
  LineBuffer lines_;
  std::optional<SuperviseResult> result_;
};

}  // namespace nocturne::measure
