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

inline constexpr int kControlDescriptor = 3;  ///< where the supervisor finds its socket

/// A supervised worker. Move-only; not thread-safe. Destroying it unfinished ends the worker and waits for that.
class Supervised {
 public:
  /// Starts `program` (nocturne-supervisor) and hands it the spec.
  [[nodiscard]] static std::expected<Supervised, std::string> start(const SuperviseSpec& spec,
                                                                    const std::filesystem::path& program);
  Supervised(Supervised&& other) noexcept;
  Supervised& operator=(Supervised&&) = delete;
  Supervised(const Supervised&) = delete;
  Supervised& operator=(const Supervised&) = delete;
  ~Supervised();

  /// Waits until the supervisor says something, `also` (a file descriptor, or -1) is readable, or the time has passed.
  void wait(std::chrono::milliseconds timeout, int also = -1);
  [[nodiscard]] bool finished() const { return result_.has_value(); }
  /// REQUIRES: finished(). When the supervisor itself was killed: killed, with that as its reason; the worker's
  /// processes are ended then too.
  [[nodiscard]] const SuperviseResult& result() const { return *result_; }

  /// Stops all processes of the worker; done when stopped() says so, or it finished.
  void stop();
  void resume();
  [[nodiscard]] bool stopped() const { return stopped_; }
  /// SIGTERM now, SIGKILL after the grace of the spec. A supervisor that does not report the end in time (the spec's
  /// last_resort) is killed in wait(), and the worker with it.
  void kill(const std::string& reason);
  [[nodiscard]] pid_t supervisor_pid() const { return pid_; }

 private:
  Supervised() = default;
  void command(const char* word, const std::string& reason = {}) const;
  void receive();
  void lose();
  void bury();

  std::string run_id_;
  pid_t pid_ = -1;
  int socket_ = -1;
  std::chrono::milliseconds kill_takes_{};
  std::optional<std::chrono::steady_clock::time_point> give_up_;  ///< set once it was told to kill
  bool stopped_ = false;
  LineBuffer lines_;
  std::optional<SuperviseResult> result_;
};

}  // namespace nocturne::measure
