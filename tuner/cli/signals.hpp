#pragma once

/// Ctrl-C and its kin, as an interruption of the campaign.

#include <functional>
#include <memory>

#include "tuner/campaign/interruption.hpp"

namespace nocturne::cli {

/// While it lives: the first SIGINT asks to finish after the run in flight, the second abandons it; SIGTERM and SIGHUP
/// abandon at once, because whoever sends them will not wait for a minute. Workers get none of these: they live in
/// process groups of their own. One instance at a time.
class SignalWatch {
 public:
  /// `told` is called from a thread of its own when the first SIGINT comes.
  SignalWatch(tuner::Interruption& interruption, std::function<void()> told);
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;
  ~SignalWatch();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nocturne::cli
