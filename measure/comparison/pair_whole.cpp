#include "measure/comparison/pair_whole.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace nocturne::measure {
namespace {

space::Run not_run(const RunPlan& plan, std::string reason) {
  space::Run run;
  run.id = plan.id;
  run.purpose = plan.purpose;
  run.artifact = plan.artifact;
  run.seed = static_cast<std::int64_t>(plan.request.seed);
  run.outcome = space::Outcome::Killed;
  run.reason = std::move(reason);
  return run;
}

}  // namespace

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
    if (control.progress) control.progress({result.slices.size(), 2});
  }
  return result;
}

}  // namespace nocturne::measure
