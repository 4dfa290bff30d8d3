#pragma once

/// One of two workers that take turns: brings it to its first step, gives it a turn, makes it wait, lets it end.

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "measure/comparison/pair.hpp"
#include "measure/run/active_run.hpp"
#include "measure/run/classify.hpp"

namespace nocturne::measure {

/// What everybody in a pair has to keep to.
struct PairLimits {
  std::stop_token stop;
  std::chrono::steady_clock::time_point end;
};

/// How waiting for a worker came out.
enum class Wait {
  Done,
  Ended,        ///< the process is gone, or broke the rules of the turn and was ended
  Interrupted,  ///< the caller wants no more
  OutOfTime,    ///< the pair's total limit
};

/// Not thread-safe.
class LiveSide {
 public:
  LiveSide(const PairSide& side, const SupervisorChoice& supervisor);
  LiveSide(const LiveSide&) = delete;
  LiveSide& operator=(const LiveSide&) = delete;
  ~LiveSide();

  /// Waits for the end of the first step, then stops the worker.
  [[nodiscard]] Wait become_ready(const PairLimits& limits);
  /// Continues the worker for one slice and stops it again; appends what it measured.
  [[nodiscard]] Wait take_turn(const PairLimits& limits, std::vector<space::Sample>& samples);
  /// No more steps: lets the worker end by itself, or ends it where it does not read turns.
  [[nodiscard]] Wait end(const PairLimits& limits);
  /// Ends it without waiting for its good will, after `patience`.
  void abandon(std::chrono::milliseconds patience, const std::string& reason);

  /// Its record; `verdict` stands instead of what it would be judged by itself. REQUIRES: it has ended.
  [[nodiscard]] space::Run record(const std::optional<Judgement>& verdict);
  /// Set when it broke the rules of the turn.
  [[nodiscard]] const std::optional<Judgement>& broken() const { return broken_; }

 private:
  template <typename Condition>
  Wait wait_until(const PairLimits& limits, Condition done);
  Wait stop(const PairLimits& limits);
  void close_turns();
  /// How the turn that began with sample `begin` and lasted `turn` went against the rules, if it did.
  [[nodiscard]] std::optional<std::string> rule_broken(std::int64_t steps, std::size_t begin,
                                                       std::chrono::steady_clock::duration turn) const;
  void break_rules(const std::string& how);

  PairSide side_;
  ActiveRun active_;
  OpenFile turns_;            ///< writing end of the FIFO
  int notify_ = -1;           ///< inotify: the folder's files grow
  bool spans_stop_ = false;   ///< the next sample was under way when the worker was stopped
  std::int64_t allowed_ = 0;  ///< steps of all turns that it had
  bool ended_by_us_ = false;
  std::vector<std::size_t> dropped_;  ///< samples across a stop
  std::optional<Judgement> broken_;
};

}  // namespace nocturne::measure
