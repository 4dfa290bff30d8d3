#include "measure/comparison/pair_side.hpp"

#include <fmt/core.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ranges>
#include <utility>

#include "measure/run/run_files.hpp"

namespace nocturne::measure {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

RunPlan plan_with_turns(const PairSide& side) {
  RunPlan plan = side.plan;
  if (side.mode == TurnMode::Fifo) plan.request.turns = (plan.folder / kTurnsFile).string();
  return plan;
}

}  // namespace

LiveSide::LiveSide(const PairSide& side, const SupervisorChoice& supervisor)
    : side_(side), active_(plan_with_turns(side), supervisor) {
  if (active_.finished()) return;
  turns_ = active_.take_turns();
  notify_ = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (notify_ >= 0)
    ::inotify_add_watch(notify_, active_.plan().folder.c_str(), IN_MODIFY | IN_ONLYDIR | IN_DONT_FOLLOW);
}

LiveSide::~LiveSide() {
  close_turns();
  if (notify_ >= 0) ::close(notify_);
}

void LiveSide::close_turns() {
  turns_ = OpenFile();
}

// Wakes when the events grow, so that a slice ends at once and nothing runs while it lasts; where a file system does
// not notify, 50 ms is the price.
template <typename Condition>
Wait LiveSide::wait_until(const PairLimits& limits, Condition done) {
  for (;;) {
    if (done()) return Wait::Done;
    if (active_.finished()) return Wait::Ended;
    if (limits.stop.stop_requested()) return Wait::Interrupted;
    const auto left = std::chrono::ceil<milliseconds>(limits.end - Clock::now());
    if (left.count() <= 0) return Wait::OutOfTime;
    active_.wait(std::min(left, milliseconds(50)), notify_);
    std::array<char, 4096> ignored;
    while (notify_ >= 0 && ::read(notify_, ignored.data(), ignored.size()) > 0) {
    }
  }
}

Wait LiveSide::become_ready(const PairLimits& limits) {
  const Wait waited = wait_until(limits, [this] { return active_.events().first_step_done; });
  if (waited != Wait::Done) return waited;
  const Wait stopped = stop(limits);
  if (stopped == Wait::Done && side_.mode == TurnMode::Fifo && !active_.events().samples.empty()) {
    break_rules("it trained before its first turn");
    return Wait::Ended;
  }
  // One that does not wait by itself is always stopped within a sample; what it finished before is not of a turn.
  spans_stop_ = side_.mode == TurnMode::Signal;
  return stopped;
}

Wait LiveSide::take_turn(const PairLimits& limits, std::vector<space::Sample>& samples) {
  const auto& said = active_.events().samples;
  std::size_t begin = said.size();
  if (turns_) {
    const std::string line = std::to_string(side_.slice_steps) + '\n';
    if (!turns_.write(line)) {
      break_rules(fmt::format("its turn could not be announced: {}", std::strerror(errno)));
      return Wait::Ended;
    }
  }
  const auto resumed = Clock::now();
  active_.resume();
  const auto steps_done = [&] {
    if (spans_stop_ && said.size() > begin) {
      dropped_.push_back(begin++);
      spans_stop_ = false;
    }
    std::int64_t steps = 0;
    for (std::size_t index = begin; index < said.size(); ++index) steps += said[index].steps;
    return steps;
  };
  Wait waited = wait_until(limits, [&] { return steps_done() >= side_.slice_steps; });
  if (waited == Wait::Done) waited = stop(limits);
  if (waited != Wait::Done) return waited;
  if (side_.mode == TurnMode::Fifo) {
    if (const auto how = rule_broken(steps_done(), begin, Clock::now() - resumed)) {
      break_rules(*how);
      return Wait::Ended;
    }
    allowed_ += side_.slice_steps;
  }
  samples.assign(said.begin() + static_cast<std::ptrdiff_t>(begin), said.end());
  spans_stop_ = side_.mode == TurnMode::Signal;
  return Wait::Done;
}

// A worker that does not wait for its turns is stopped in the middle of a step, and that step would count the other
// side's slice as its own.
std::optional<std::string> LiveSide::rule_broken(std::int64_t steps, std::size_t begin, Clock::duration turn) const {
  if (steps > side_.slice_steps) return fmt::format("it trained {} steps in a turn of {}", steps, side_.slice_steps);
  int unread = 0;
  if (::ioctl(turns_.descriptor(), FIONREAD, &unread) == 0 && unread > 0) return "it trained without reading its turns";
  const auto& said = active_.events().samples;
  std::chrono::nanoseconds sum{};
  for (std::size_t index = begin; index < said.size(); ++index) sum += said[index].wall;
  if (sum > turn + milliseconds(1)) return "its samples last longer than its turn";
  return std::nullopt;
}

Wait LiveSide::stop(const PairLimits& limits) {
  active_.stop();
  // Bounded: a worker that had stopped itself is not reported again.
  const auto patience = Clock::now() + std::chrono::seconds(1);
  return wait_until(limits, [&] { return active_.stopped() || (!active_.finished() && Clock::now() >= patience); });
}

Wait LiveSide::end(const PairLimits& limits) {
  close_turns();
  active_.resume();
  if (side_.mode == TurnMode::Signal && !active_.finished()) {
    ended_by_us_ = true;
    active_.kill("its slices are done");
  }
  const Wait waited = wait_until(limits, [this] { return active_.finished(); });
  if (waited != Wait::Done || side_.mode != TurnMode::Fifo) return waited;
  // One step too many may be written only after the worker was stopped: then each turn begins with that of the last.
  std::int64_t steps = 0;
  for (const space::Sample& sample : active_.events().samples) steps += sample.steps;
  if (steps <= allowed_) return waited;
  break_rules(fmt::format("it trained {} steps in turns of {} together", steps, allowed_));
  return Wait::Ended;
}

void LiveSide::abandon(milliseconds patience, const std::string& reason) {
  close_turns();
  active_.resume();
  const PairLimits limits{.stop = {}, .end = Clock::now() + patience};
  if (wait_until(limits, [this] { return active_.finished(); }) == Wait::Done) return;
  active_.kill(reason);
  while (!active_.finished()) active_.wait(milliseconds(50));
}

void LiveSide::break_rules(const std::string& how) {
  broken_ = Judgement{space::Outcome::ProtocolError, how};
  abandon(milliseconds(0), how);
}

space::Run LiveSide::record(const std::optional<Judgement>& verdict) {
  space::Run run = active_.record();
  for (const std::size_t index : dropped_ | std::views::reverse) {
    if (index < run.samples.size()) run.samples.erase(run.samples.begin() + static_cast<std::ptrdiff_t>(index));
  }
  if (ended_by_us_ && run.outcome == space::Outcome::Killed) {
    run.outcome = space::Outcome::Ok;
    run.reason.clear();
  }
  if (verdict) {
    run.outcome = verdict->outcome;
    run.reason = verdict->reason;
  }
  return run;
}

}  // namespace nocturne::measure
