#pragma once

/// Preparations that failed, so that each later trial of the same software stack is answered at once. The next session
/// tries again. Where the network was gone this one does, too: when it is asked ten minutes later, and three times at
/// most.

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "tuner/executor/executor.hpp"

namespace nocturne::tuner {

/// Not thread-safe.
class FailureMemory {
 public:
  using Now = std::function<std::chrono::steady_clock::time_point()>;
  explicit FailureMemory(Now now) : now_(std::move(now)) {}

  /// Why `what` fails, valid until the next remember(); nullptr: nothing is known, or it is time to try again.
  [[nodiscard]] const PreparationFailure* find(const std::string& what) const;
  /// Without its log, which stands with the trial that met it. What a stop ended is not remembered.
  void remember(const std::string& what, const PreparationFailure& failure);
  void forget(const std::string& what) { failed_.erase(what); }

 private:
  struct FailedPreparation {
    PreparationFailure failure;
    int times = 0;
    std::chrono::steady_clock::time_point last{};
  };
  Now now_;
  std::map<std::string, FailedPreparation> failed_;
};

}  // namespace nocturne::tuner
