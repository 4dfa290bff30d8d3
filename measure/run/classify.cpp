#include "measure/run/classify.hpp"

#include <fmt/core.h>
#include <string.h>

#include "measure/run/possible_times.hpp"

namespace nocturne::measure {
namespace {

using space::Outcome;

// Where it was when it ended: a hang needs an address.
std::string place(const Events& events) {
  if (!events.worker) return "before 'hello'";
  if (const std::string phase = events.open_phase(); !phase.empty()) return fmt::format("in phase '{}'", phase);
  if (!events.samples.empty()) {
    const auto& last = events.samples.back();
    return fmt::format("after step {}", last.first_step + last.steps - 1);
  }
  if (!events.phases.empty()) return fmt::format("after phase '{}'", events.phases.back().name);
  return "after 'hello'";
}

std::string duration(std::chrono::milliseconds time) {
  return time.count() % 1000 == 0 ? fmt::format("{} s", time.count() / 1000) : fmt::format("{} ms", time.count());
}

std::optional<std::string> broken_promise(const Events& events, const Asked& asked) {
  if (events.samples.empty() && events.epochs.empty()) return "it said 'ok' without a sample";
  if (events.steps() < asked.steps) {
    return fmt::format("it said 'ok' after {} of {} steps", events.steps(), asked.steps);
  }
  if (asked.accuracy && !events.accuracy) return "it said 'ok' without the accuracy that was asked for";
  return std::nullopt;
}

Judgement judge_words(const Events& events, const ExitFacts& facts, const Asked& asked) {
  if (!events.worker && !events.error) {
    return {Outcome::ProtocolError, "exited with 0 without a single event"};
  }
  if (events.error) {
    return {Outcome::ProtocolError, fmt::format("events, line {}: {}", events.error->line, events.error->what)};
  }
  if (!events.end) {
    return {Outcome::ProtocolError, fmt::format("exited with 0 without 'end', {}{}", place(events),
                                                events.torn ? "; its last line is torn" : "")};
  }
  const EndEvent& end = *events.end;
  if (end.status == "unsupported") return {Outcome::Unsupported, end.reason.empty() ? "no reason given" : end.reason};
  // An allocator's refusal is evidence, too; a device's memory is seen by nobody but the worker.
  if (end.status == "out_of_memory") {
    return {Outcome::OutOfMemory,
            fmt::format("{}, {}", end.reason.empty() ? "on the device" : end.reason, place(events))};
  }
  if (end.status == "failed") return {Outcome::Failed, end.reason.empty() ? "no reason given" : end.reason};
  if (const auto lie = impossible_time(events, {.wall = facts.wall, .processors = facts.processors})) {
    const std::string place = lie->line > 0 ? fmt::format("events, line {}: ", lie->line) : std::string();
    return {Outcome::ProtocolError, place + lie->what};
  }
  if (end.status == "diverged") return {Outcome::Diverged, end.reason.empty() ? "loss not finite" : end.reason};
  if (events.not_finite_at)
    return {Outcome::Diverged, fmt::format("loss not finite at step {}", *events.not_finite_at)};
  if (const auto broken = broken_promise(events, asked)) return {Outcome::ProtocolError, *broken};
  return {Outcome::Ok, ""};
}

}  // namespace

// What was done to the process is asked before what it did, and that before what it said:
//
//   could not be started        failed        killed by the caller          killed
//   more events than allowed    protocol      evidence about memory         out_of_memory
//   deadline passed             timeout       ended by a signal             crashed
//   exit code not 0             failed        anything wrong in its events  protocol_error
//   otherwise its own last word
Judgement classify(const Events& events, const ExitFacts& facts, const Asked& asked) {
  if (facts.start_error) return {Outcome::Failed, *facts.start_error};
  if (events.overflow && events.error) {
    return {Outcome::ProtocolError, fmt::format("events, line {}: {}", events.error->line, events.error->what)};
  }
  if (facts.interrupted) return {Outcome::Killed, facts.interrupted_reason};
  if (facts.memory_evidence)
    return {Outcome::OutOfMemory, fmt::format("{}, {}", *facts.memory_evidence, place(events))};
  if (facts.timed_out) {
    return {Outcome::Timeout, fmt::format("not finished within {}, {}", duration(facts.limit), place(events))};
  }
  if (facts.signal) return {Outcome::Crashed, fmt::format("{}, {}", signal_name(*facts.signal), place(events))};
  if (facts.exit_code.value_or(0) != 0) {
    std::string why = events.end && !events.end->reason.empty() ? events.end->reason : facts.last_log_line;
    if (why.empty()) why = place(events);
    return {Outcome::Failed, fmt::format("exit code {}: {}", *facts.exit_code, why)};
  }
  return judge_words(events, facts, asked);
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  const char* words = ::sigdescr_np(signal);
  if (name == nullptr || words == nullptr) return fmt::format("signal {}", signal);
  std::string description(words);
  if (!description.empty() && description[0] >= 'A' && description[0] <= 'Z' && description.size() > 1 &&
      !(description[1] >= 'A' && description[1] <= 'Z')) {
    description[0] = static_cast<char>(description[0] - 'A' + 'a');
  }
  return fmt::format("SIG{} ({})", name, description);
}

}  // namespace nocturne::measure
