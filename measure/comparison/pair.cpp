#include "measure/comparison/pair.hpp"

#include <fmt/core.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <ranges>
#include <stop_token>
#include <string>
#include <utility>

#include "measure/run/active_run.hpp"
#include "measure/run/classify.hpp"
#include "measure/run/event_reader.hpp"
#include "measure/run/runner.hpp"

namespace nocturne::measure {
namespace {

// A pair of workers whose time is known only when they have ended: they run one after the other.

/// Of a side that never began.
space::Run not_run(const RunPlan& plan, std::string reason = {}) {
  space::Run run;
  run.id = plan.id;
  run.purpose = plan.purpose;
  run.artifact = plan.artifact;
  run.seed = static_cast<std::int64_t>(plan.request.seed);
  run.outcome = space::Outcome::Killed;
  run.reason = std::move(reason);
  return run;
}

/// Side A, then side B, each to its end; the caller swaps them from pair to pair. All samples of a side are its one
/// slice. A side that fails leaves the other unmeasured, with that failure as its reason.
PairResult run_pair_whole(const PairPlan& plan, const PairControl& control) {
  const auto end = std::chrono::steady_clock::now() + plan.total_limit;
  PairResult result;
  result.wanted = 1;
  for (const std::size_t index : {std::size_t{0}, std::size_t{1}}) {
    RunPlan side = plan.sides[index].plan;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    side.total_limit = std::max(left, std::chrono::milliseconds(1));
    space::Run& run = result.runs[index];
    run =
        measure::run(side, {.stop = control.stop, .supervisor = control.supervisor, .use_cgroup = control.use_cgroup});
    if (run.outcome != space::Outcome::Ok) {
      const std::string lost = fmt::format("its partner in the pair: {}: {}", space::to_text(run.outcome), run.reason);
      if (index == 0) result.runs[1] = not_run(plan.sides[1].plan, lost);
      return result;
    }
    result.slices.push_back({.side = index == 0 ? Side::A : Side::B, .samples = run.samples});
    if (control.progress) control.progress(result.slices.size());
  }
  return result;
}

// One of two workers that take turns: brings it to its first step, gives it a turn, makes it wait, lets it end.

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

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

RunPlan plan_with_turns(const PairSide& side) {
  RunPlan plan = side.plan;
  if (side.mode == TurnMode::Fifo) plan.request.turns = (plan.folder / kTurnsFile).string();
  return plan;
}

LiveSide::LiveSide(const PairSide& side, const SupervisorChoice& supervisor)
    : side_(side), active_(plan_with_turns(side), supervisor) {
  if (active_.finished()) return;
  // The reading end is the worker's: as long as this one is open, its read of the next turn blocks instead of ending.
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
      // Its clock ran while the worker stood still, so it contains the whole slice of the other side.
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
  const std::int64_t steps = active_.events().steps();
  if (steps <= allowed_) return waited;
  break_rules(fmt::format("it trained {} steps in turns of {} together", steps, allowed_));
  return Wait::Ended;
}

void LiveSide::abandon(milliseconds patience, const std::string& reason) {
  close_turns();
  active_.resume();
  const PairLimits limits{.stop = {}, .end = Clock::now() + patience};
  if (wait_until(limits, [this] { return active_.finished(); }) == Wait::Done) return;
  // It had its chance to end by itself. From here on it is killed, which ends in any case: no limit is needed.
  active_.kill(reason);
  while (!active_.finished()) active_.wait(milliseconds(50));
}

void LiveSide::break_rules(const std::string& how) {
  broken_ = Judgement{space::Outcome::ProtocolError, how};
  abandon(milliseconds(0), how);
}

space::Run LiveSide::record(const std::optional<Judgement>& verdict) {
  space::Run run = active_.record();
  for (const std::size_t index : dropped_ | std::views::reverse)
    if (index < run.samples.size()) run.samples.erase(run.samples.begin() + static_cast<std::ptrdiff_t>(index));
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

using space::Outcome;

std::size_t index_of(Side side) {
  return side == Side::A ? 0 : 1;
}
Side other_of(Side side) {
  return side == Side::A ? Side::B : Side::A;
}

/// Of each side of a pair whose command ended before all were run: steady ones are left behind a warm-up.
constexpr std::size_t kFewestSlices = 4;

// Where the alternation came to an end before its time.
struct Stop {
  Wait why = Wait::Done;
  Side side = Side::A;
};

class Pair {
 public:
  Pair(const PairPlan& plan, const PairControl& control)
      : plan_(plan), control_(control), limits_{control.stop, std::chrono::steady_clock::now() + plan.total_limit} {}

  PairResult run() {
    result_.wanted = plan_.slices;
    const Stop stop = alternate();
    if (stop.why == Wait::Done || end_shorter(stop)) {
      record(Side::A, std::nullopt);
      record(Side::B, std::nullopt);
    } else {
      settle(stop);
    }
    return std::move(result_);
  }

 private:
  Stop alternate();
  void settle(const Stop& stop);
  /// Where a side had no more steps: ends the other one, and keeps the slices that both have. False: they are too few.
  [[nodiscard]] bool end_shorter(const Stop& stop);
  void record(Side side, const std::optional<Judgement>& verdict);
  [[nodiscard]] std::size_t slices_of(Side side) const;

  LiveSide& live(Side side) { return *live_[index_of(side)]; }

  const PairPlan& plan_;
  const PairControl& control_;
  PairLimits limits_;
  std::array<std::unique_ptr<LiveSide>, 2> live_;
  PairResult result_;
};

Stop Pair::alternate() {
  const SupervisorChoice supervisor{.program = control_.supervisor, .use_cgroup = control_.use_cgroup};
  for (const Side side : {Side::A, Side::B}) {
    live_[index_of(side)] = std::make_unique<LiveSide>(plan_.sides[index_of(side)], supervisor);
    if (const Wait waited = live(side).become_ready(limits_); waited != Wait::Done) return {waited, side};
  }
  for (std::size_t block = 0; block < plan_.slices; ++block) {
    const Side first = block % 2 == 0 ? Side::A : Side::B;
    // The order swaps in each block (ABBA): a machine that drifts steadily then favours neither side.
    for (const Side side : {first, other_of(first)}) {
      Slice slice{.side = side, .samples = {}};
      if (const Wait waited = live(side).take_turn(limits_, slice.samples); waited != Wait::Done) return {waited, side};
      result_.slices.push_back(std::move(slice));
      if (control_.progress) control_.progress(result_.slices.size());
    }
  }
  for (const Side side : {Side::A, Side::B})
    if (const Wait waited = live(side).end(limits_); waited != Wait::Done) return {waited, side};
  return {};
}

bool Pair::end_shorter(const Stop& stop) {
  if (stop.why != Wait::Ended || !live_[index_of(other_of(stop.side))] || live(stop.side).broken() ||
      live(stop.side).record(std::nullopt).outcome != Outcome::Ok) {
    return false;
  }
  const std::size_t common = std::min(slices_of(Side::A), slices_of(Side::B));
  if (common < kFewestSlices || 2 * common < plan_.slices) return false;
  if (live(other_of(stop.side)).end(limits_) != Wait::Done) return false;
  // The other side may have been a turn ahead.
  result_.slices.resize(2 * common);
  result_.wanted = common;
  return true;
}

std::size_t Pair::slices_of(Side side) const {
  return static_cast<std::size_t>(std::ranges::count(result_.slices, side, &Slice::side));
}

void Pair::record(Side side, const std::optional<Judgement>& verdict) {
  const std::size_t index = index_of(side);
  if (live_[index]) {
    result_.runs[index] = live_[index]->record(verdict);
    return;
  }
  space::Run& run = result_.runs[index] = not_run(plan_.sides[index].plan);
  if (verdict) run.outcome = verdict->outcome, run.reason = verdict->reason;
}

void Pair::settle(const Stop& stop) {
  const Side side = stop.side;
  const Side partner = other_of(side);
  if (stop.why == Wait::Interrupted) {
    for (const Side each : {side, partner})
      if (live_[index_of(each)]) live(each).abandon(std::chrono::milliseconds(0), "interrupted");
    const Judgement killed{Outcome::Killed, "interrupted"};
    record(side, killed);
    record(partner, killed);
    return;
  }
  std::optional<Judgement> verdict = live(side).broken();
  if (stop.why == Wait::OutOfTime) {
    live(side).abandon(std::chrono::milliseconds(0), "out of time");
    verdict =
        Judgement{Outcome::Timeout,
                  fmt::format("the pair was not finished within {} s, {} of {} slices of this side done",
                              static_cast<double>(plan_.total_limit.count()) / 1000.0, slices_of(side), plan_.slices)};
  }
  // The failure belongs to the side that stopped the pair; what the partner did until then was no fault of its own.
  record(side, verdict);
  space::Run& failed = result_.runs[index_of(side)];
  if (failed.outcome == Outcome::Ok) {
    failed.outcome = Outcome::Failed;
    failed.reason = fmt::format("ended by itself after {} of {} slices, {} steps behind the first: let it train longer",
                                slices_of(side), plan_.slices, count_steps(failed.samples));
  }

  const Judgement lost{Outcome::Killed,
                       fmt::format("its partner in the pair: {}: {}", space::to_text(failed.outcome), failed.reason)};
  if (!live_[index_of(partner)]) return record(partner, lost);
  // Told that no more steps follow, most end by themselves and their record is whole.
  live(partner).abandon(std::chrono::seconds(2), lost.reason);
  record(partner, lost);
}

}  // namespace

bool PairResult::complete() const {
  return runs[0].outcome == Outcome::Ok && runs[1].outcome == Outcome::Ok && slices.size() == 2 * wanted;
}

PairResult run_pair(const PairPlan& plan, const PairControl& control) {
  const bool whole = std::ranges::any_of(plan.sides, [](const PairSide& side) { return side.mode == TurnMode::Whole; });
  return whole ? run_pair_whole(plan, control) : Pair(plan, control).run();
}

}  // namespace nocturne::measure
