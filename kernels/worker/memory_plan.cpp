#include "kernels/worker/memory_plan.hpp"

#include <algorithm>
#include <numeric>

namespace nocturne::worker {
namespace {

bool meet(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

struct Interval {
  std::int64_t begin = 0, end = 0;
};

// The offset of the smallest gap that holds `bytes`, else the end of what is taken. REQUIRES: sorted by begin.
std::int64_t find_place(const std::vector<Interval>& taken, std::int64_t bytes) {
  std::int64_t reached = 0, best = -1, best_gap = 0;
  for (const Interval& each : taken) {
    const std::int64_t gap = each.begin - reached;
    if (gap >= bytes && (best < 0 || gap < best_gap)) best = reached, best_gap = gap;
    reached = std::max(reached, each.end);
  }
  return best >= 0 ? best : reached;
}

}  // namespace

MemoryPlan plan_memory(const std::vector<Lifetime>& buffers, Occupied occupied) {
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return buffers[a].bytes > buffers[b].bytes; });
  MemoryPlan plan{.offsets = std::vector<std::int64_t>(buffers.size(), 0), .bytes = 0};
  std::vector<std::size_t> placed;
  for (const std::size_t current : order) {
    std::vector<Interval> taken;
    for (const std::size_t other : placed) {
      if (!meet(buffers[current], buffers[other])) continue;
      taken.push_back({plan.offsets[other], plan.offsets[other] + occupied(buffers[other].bytes)});
    }
    std::sort(taken.begin(), taken.end(), [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
    const std::int64_t bytes = occupied(buffers[current].bytes);
    plan.offsets[current] = find_place(taken, bytes);
    plan.bytes = std::max(plan.bytes, plan.offsets[current] + bytes);
    placed.push_back(current);
  }
  return plan;
}

std::int64_t least_bytes(const std::vector<Lifetime>& buffers, Occupied occupied) {
  std::int64_t most = 0;
  for (const Lifetime& moment : buffers) {  // the sum can only grow where a life begins
    std::int64_t alive = 0;
    for (const Lifetime& each : buffers)
      if (each.first <= moment.first && moment.first <= each.last) alive += occupied(each.bytes);
    most = std::max(most, alive);
  }
  return most;
}

}  // namespace nocturne::worker
