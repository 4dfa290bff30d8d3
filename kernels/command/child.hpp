#pragma once

/// The user's command as a child of the worker.

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/command/private_view.hpp"

namespace nocturne::command {

struct ChildPlan {
  std::vector<std::string> argv;
  std::string folder;                              ///< empty: as it is
  std::map<std::string, std::string> environment;  ///< beside the worker's own
  bool read_output = false;                        ///< stdout and stderr come through output()
  ViewPlan view;                                   ///< prepared; it starts inside, or not at all
};

struct ChildEnd {
  int status = 0;  ///< as wait(2) has it
  std::chrono::nanoseconds wall{};
  std::chrono::nanoseconds cpu{};  ///< its own and that of descendants it waited for
};

/// Not thread-safe. One that is not waited for is killed by the supervisor of the run, not by the destructor.
class Child {
 public:
  /// Throws std::runtime_error with a sentence where the command cannot be started.
  explicit Child(const ChildPlan& plan);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  /// Reading end of its output, not blocking; -1 where it is not read.
  [[nodiscard]] int output() const { return output_; }
  /// Waits; empty: still there after `patience`. Throws std::runtime_error where the system tells of no end.
  [[nodiscard]] std::optional<ChildEnd> wait(std::chrono::milliseconds patience);
  [[nodiscard]] ChildEnd wait();
  /// SIGTERM, and after two seconds SIGKILL.
  void terminate();

 private:
  Child() = default;  ///< delegated to, so that the destructor runs where the constructor throws
  [[nodiscard]] std::optional<ChildEnd> reap(int flags);

  pid_t pid_ = -1;
  int output_ = -1;
  std::chrono::steady_clock::time_point began_;
  std::optional<ChildEnd> end_;
  ViewPlan view_;  ///< to be recorded at its end
};

}  // namespace nocturne::command
