#include "measure/run/classify.hpp"

#include <fmt/core.h>
#include <string.h>

#include <map>
#include <string_view>
#include <vector>

namespace nocturne::measure {
namespace {

// What a worker says of its times, held against what the supervisor saw of its life.
//
// Only what is certain counts: nobody who means well is called a liar. Parts of a life that follow one another are not
// longer than it, and no process takes more than all processors. That little of a life is accounted for proves
// nothing: one may read, evaluate or write without saying so.

/// How long the process lived, by the supervisor's clock.
struct ProcessLife {
  std::chrono::nanoseconds wall{};
  int processors = 0;  ///< processors of the machine; 0: not known, and no processor time is too long
};

using Seconds = std::chrono::duration<double>;

constexpr double kClockRatio = 1.01;
constexpr Seconds kClockSlack{0.025};
constexpr Seconds kShortestStep{10e-9};

Seconds longest(const ProcessLife& life) {
  return Seconds(life.wall) * kClockRatio + kClockSlack;
}

std::int64_t line_at(const std::vector<std::int64_t>& lines, std::size_t index) {
  return index < lines.size() ? lines[index] : 0;
}

// Adds times up; the line at which they became more than they can be is kept.
class Sum {
 public:
  explicit Sum(Seconds most) : most_(most) {}
  void add(Seconds time, std::int64_t line) {
    sum_ += time;
    if (sum_ <= most_ || broken_) return;
    broken_ = true;
    line_ = line;
  }
  [[nodiscard]] bool broken() const { return broken_; }
  [[nodiscard]] double seconds() const { return sum_.count(); }
  [[nodiscard]] EventError error(std::string_view what, const ProcessLife& life) const {
    return {line_, fmt::format("its {} {:.3g} s in all, the process lived {:.3g} s", what, seconds(),
                               Seconds(life.wall).count())};
  }
  [[nodiscard]] EventError cpu_error(std::string_view what, const ProcessLife& life) const {
    EventError error = this->error(what, life);
    error.what += fmt::format(" on {} CPU{}", life.processors, life.processors == 1 ? "" : "s");
    return error;
  }

 private:
  Seconds most_;
  Seconds sum_{0};
  bool broken_ = false;
  std::int64_t line_ = 0;  ///< at which it broke
};

std::optional<EventError> impossible_samples(const Events& events, const ProcessLife& life) {
  Sum wall(longest(life)), wait(longest(life)), cpu(longest(life) * life.processors);
  std::int64_t steps = 0;
  for (std::size_t index = 0; index < events.samples.size(); ++index) {
    const space::Sample& sample = events.samples[index];
    const std::int64_t line = line_at(events.lines.samples, index);
    wall.add(sample.wall, line);
    wait.add(sample.data_wait, line);
    cpu.add(sample.cpu, line);
    steps += sample.steps;
  }
  if (wall.broken()) return wall.error("samples last", life);
  if (wait.broken()) return wait.error("waits for data last", life);
  if (life.processors > 0 && cpu.broken()) return cpu.cpu_error("samples take a processor time of", life);
  if (wall.seconds() < kShortestStep.count() * static_cast<double>(steps)) {
    return EventError{line_at(events.lines.samples, 0),
                      fmt::format("{} steps in {:.3g} s in all: no step is that short", steps, wall.seconds())};
  }
  return std::nullopt;
}

std::optional<EventError> impossible_epochs(const Events& events, const ProcessLife& life) {
  Sum wall(longest(life));
  for (std::size_t index = 0; index < events.epochs.size(); ++index)
    wall.add(events.epochs[index].wall, line_at(events.lines.epochs, index));
  if (wall.broken()) return wall.error("epochs last", life);
  return std::nullopt;
}

// A phase may lie within another, but not within one of its own name. Phases that have not ended are not judged.
std::optional<EventError> impossible_phases(const Events& events, const ProcessLife& life) {
  struct Both {
    Sum wall, cpu;
  };
  std::map<std::string_view, Both> sums;
  for (std::size_t index = 0; index < events.phases.size(); ++index) {
    const space::Phase& phase = events.phases[index];
    if (!phase.finished) continue;
    auto& [wall, cpu] =
        sums.try_emplace(phase.name, Both{Sum(longest(life)), Sum(longest(life) * life.processors)}).first->second;
    wall.add(phase.wall, line_at(events.lines.phases, index));
    cpu.add(phase.cpu, line_at(events.lines.phases, index));
    if (wall.broken()) return wall.error(fmt::format("phases '{}' last", phase.name), life);
    if (life.processors > 0 && cpu.broken())
      return cpu.cpu_error(fmt::format("phases '{}' take a processor time of", phase.name), life);
  }
  return std::nullopt;
}

/// The first thing that cannot be, with its line (0 where `events` has none), or nothing. Pure.
/// Samples follow one another, and so do their waits for data, epochs, and phases of one name. The clocks may differ by
/// 1 % and 25 ms. Steps that take less than 10 ns each, all samples together, are none: reading the clock takes longer.
/// (A worker may have rounded one of its samples down to nothing.)
std::optional<EventError> impossible_time(const Events& events, const ProcessLife& life) {
  if (auto error = impossible_samples(events, life)) return error;
  if (auto error = impossible_epochs(events, life)) return error;
  return impossible_phases(events, life);
}

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

std::optional<std::string> broken_promise(const Events& events, const WorkerTask& asked) {
  if (events.samples.empty() && events.epochs.empty()) return "it said 'ok' without a sample";
  if (events.steps() < asked.steps)
    return fmt::format("it said 'ok' after {} of {} steps", events.steps(), asked.steps);
  if (asked.accuracy && !events.accuracy) return "it said 'ok' without the accuracy that was asked for";
  return std::nullopt;
}

Judgement judge_words(const Events& events, const ExitFacts& facts, const WorkerTask& asked) {
  if (!events.worker && !events.error) return {Outcome::ProtocolError, "exited with 0 without a single event"};
  if (events.error)
    return {Outcome::ProtocolError, fmt::format("events, line {}: {}", events.error->line, events.error->what)};
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
Judgement classify(const Events& events, const ExitFacts& facts, const WorkerTask& asked) {
  if (facts.start_error) return {Outcome::Failed, *facts.start_error};
  if (events.overflow && events.error)
    return {Outcome::ProtocolError, fmt::format("events, line {}: {}", events.error->line, events.error->what)};
  if (facts.interrupted) return {Outcome::Killed, facts.interrupted_reason};
  if (facts.memory_evidence)
    return {Outcome::OutOfMemory, fmt::format("{}, {}", *facts.memory_evidence, place(events))};
  if (facts.timed_out)
    return {Outcome::Timeout, fmt::format("not finished within {}, {}", duration(facts.limit), place(events))};
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
