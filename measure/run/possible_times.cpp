#include "measure/run/possible_times.hpp"

#include <fmt/core.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace nocturne::measure {
namespace {

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
  for (std::size_t index = 0; index < events.epochs.size(); ++index) {
    wall.add(events.epochs[index].wall, line_at(events.lines.epochs, index));
  }
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
    if (life.processors > 0 && cpu.broken()) {
      return cpu.cpu_error(fmt::format("phases '{}' take a processor time of", phase.name), life);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<EventError> impossible_time(const Events& events, const ProcessLife& life) {
  if (auto error = impossible_samples(events, life)) return error;
  if (auto error = impossible_epochs(events, life)) return error;
  return impossible_phases(events, life);
}

}  // namespace nocturne::measure
