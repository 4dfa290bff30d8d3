#include "measure/comparison/pair.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "measure/comparison/pair_side.hpp"
#include "measure/comparison/pair_whole.hpp"

namespace nocturne::measure {
namespace {

using space::Outcome;

std::size_t index_of(Side side) {
  return side == Side::A ? 0 : 1;
}
Side other_of(Side side) {
  return side == Side::A ? Side::B : Side::A;
}

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
    if (stop.why == Wait::Done) {
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
    for (const Side side : {first, other_of(first)}) {
      Slice slice{.side = side, .samples = {}};
      if (const Wait waited = live(side).take_turn(limits_, slice.samples); waited != Wait::Done) return {waited, side};
      result_.slices.push_back(std::move(slice));
      if (control_.progress) control_.progress({result_.slices.size(), 2 * plan_.slices});
    }
  }
  for (const Side side : {Side::A, Side::B}) {
    if (const Wait waited = live(side).end(limits_); waited != Wait::Done) return {waited, side};
  }
  return {};
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
  // It never began.
  space::Run& run = result_.runs[index];
  const RunPlan& plan = plan_.sides[index].plan;
  run.id = plan.id;
  run.purpose = plan.purpose;
  run.artifact = plan.artifact;
  run.seed = static_cast<std::int64_t>(plan.request.seed);
  if (verdict) run.outcome = verdict->outcome, run.reason = verdict->reason;
}

void Pair::settle(const Stop& stop) {
  const Side side = stop.side;
  const Side partner = other_of(side);
  if (stop.why == Wait::Interrupted) {
    for (const Side each : {side, partner}) {
      if (live_[index_of(each)]) live(each).abandon(std::chrono::milliseconds(0), "interrupted");
    }
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
  record(side, verdict);
  space::Run& failed = result_.runs[index_of(side)];
  if (failed.outcome == Outcome::Ok) {
    failed.outcome = Outcome::Failed;
    failed.reason = fmt::format("ended after {} of {} slices", slices_of(side), plan_.slices);
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
