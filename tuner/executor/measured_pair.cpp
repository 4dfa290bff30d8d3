#include "tuner/executor/measured_pair.hpp"

#include <algorithm>
#include <future>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "space/outcome.hpp"

namespace nocturne::tuner {
namespace {

void take_half(measure::RunPlan& plan, const std::vector<int>& cpus, bool upper) {
  const auto middle = cpus.begin() + static_cast<std::ptrdiff_t>(cpus.size() / 2);
  if (upper)
    plan.cpus.assign(middle, cpus.end());
  else
    plan.cpus.assign(cpus.begin(), middle);
}

/// The side that was not begun because the other one did not end well.
space::Run never_begun(const measure::RunPlan& plan, const space::Run& other) {
  space::Run run;
  run.id = plan.id;
  run.purpose = plan.purpose;
  run.folder = plan.folder.string();
  run.outcome = space::Outcome::Killed;
  run.reason = fmt::format("the other side ended as {}: {}", space::to_text(other.outcome), other.reason);
  return run;
}

}  // namespace

std::chrono::milliseconds longest_pair(std::chrono::milliseconds one, std::chrono::milliseconds other) {
  constexpr std::chrono::minutes kAround{1};  // starting, ending, and giving each other the turn
  return std::max(measure::PairPlan{}.total_limit, one + other + kAround);
}

measure::PairResult measure_pair(Executor& executor, measure::PairPlan plan, measure::PairMethod method,
                                 const std::vector<int>& cpus, bool swapped, const measure::PairControl& control) {
  if (method == measure::PairMethod::Slices) {
    plan.total_limit = longest_pair(plan.sides[0].plan.deadline, plan.sides[1].plan.deadline);
    return executor.run_pair(plan, control);
  }
  measure::RunControl alone;
  alone.stop = control.stop;
  alone.supervisor = control.supervisor;
  alone.use_cgroup = control.use_cgroup;
  for (measure::PairSide& side : plan.sides)
    side.plan.request.steps = side.slice_steps * static_cast<std::int64_t>(plan.slices);
  measure::PairResult result;
  result.wanted = 1;
  auto& [first, second] = plan.sides;
  if (method == measure::PairMethod::Sequential) {
    result.runs[0] = executor.run(first.plan, alone);
    result.runs[1] = result.runs[0].outcome == space::Outcome::Ok ? executor.run(second.plan, alone)
                                                                  : never_begun(second.plan, result.runs[0]);
  } else {
    take_half(first.plan, cpus, swapped);
    take_half(second.plan, cpus, !swapped);
    auto other = std::async(std::launch::async, [&] { return executor.run(second.plan, alone); });
    result.runs[0] = executor.run(first.plan, alone);
    result.runs[1] = other.get();
  }
  for (const std::size_t side : {0UL, 1UL}) {
    const space::Run& run = result.runs[side];
    if (run.outcome != space::Outcome::Ok) continue;
    result.slices.push_back({.side = side == 0 ? measure::Side::A : measure::Side::B, .samples = run.samples});
  }
  return result;
}

}  // namespace nocturne::tuner
