#pragma once

/// From facts to an outcome: what the events said and how the process ended, joined by a pure function.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "measure/run/event_reader.hpp"
#include "space/outcome.hpp"

namespace nocturne::measure {

/// How the process ended, as far as the supervisor saw it.
struct ExitFacts {
  std::optional<std::string> start_error;  ///< the worker could not be started, and why
  std::optional<int> exit_code;
  std::optional<int> signal;
  bool timed_out = false;          ///< killed for its deadline (or the total limit)
  bool interrupted = false;        ///< killed because the caller wanted so, or the tuner's supervisor was killed
  std::string interrupted_reason;  ///< sentence for the record
  std::optional<std::string> memory_evidence;  ///< why memory is to blame, a sentence; empty: no evidence
  std::chrono::nanoseconds wall{};
  int processors = 0;                 ///< processors of this machine, whoever may use them; 0: not known
  std::chrono::milliseconds limit{};  ///< the deadline that passed
  std::string last_log_line;
};

/// What was asked of the worker, as far as it matters for judging its answer.
struct WorkerTask {
  std::int64_t steps = 0;  ///< timed steps wanted; 0: not fixed (epochs, turns)
  bool accuracy = false;
};

struct Judgement {
  space::Outcome outcome = space::Outcome::Ok;
  std::string reason;  ///< a sentence; empty when ok
};

/// Pure: no clock, no files. The order of the questions is the table in the source.
[[nodiscard]] Judgement classify(const Events& events, const ExitFacts& facts, const WorkerTask& asked);

/// "SIGSEGV (segmentation fault)"; "signal 61" where it has no name.
[[nodiscard]] std::string signal_name(int signal);

}  // namespace nocturne::measure
