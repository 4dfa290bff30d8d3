#include "kernels/onednn/plan/memory_plan.hpp"

#include <algorithm>
#include <cstdint>

namespace nocturne::onednn {
namespace {

// A line more than whole pages would let neighbours begin at the same place of a page, and so on the same cache sets.
std::int64_t occupied(std::int64_t bytes) {
  constexpr std::int64_t kLine = 64;
  return (std::max<std::int64_t>(bytes, 1) + kLine - 1) / kLine * kLine + kLine;
}

}  // namespace

worker::MemoryPlan place_buffers(const std::vector<worker::Lifetime>& buffers) {
  return worker::plan_memory(buffers, occupied);
}

}  // namespace nocturne::onednn
