#include "kernels/onednn/plan/memory_plan.hpp"

#include <algorithm>
#include <cstdint>

#include "kernels/worker/memory_plan.hpp"

namespace nocturne::onednn {
namespace {

// A line more than whole pages would let neighbours begin at the same place of a page, and so on the same cache sets.
std::int64_t occupied(std::int64_t bytes) {
  constexpr std::int64_t kLine = 64;
  return (std::max<std::int64_t>(bytes, 1) + kLine - 1) / kLine * kLine + kLine;
}

}  // namespace

Placement place_buffers(std::span<const BufferLife> buffers) {
  std::vector<worker::Lifetime> lives;
  for (const BufferLife& each : buffers) {
    lives.push_back({static_cast<std::int64_t>(each.bytes), static_cast<std::int64_t>(each.first),
                     static_cast<std::int64_t>(each.last)});
  }
  const worker::MemoryPlan plan = worker::plan_memory(lives, occupied);
  Placement result;
  result.bytes = static_cast<std::size_t>(plan.bytes);
  for (const std::int64_t offset : plan.offsets) result.offsets.push_back(static_cast<std::size_t>(offset));
  return result;
}

}  // namespace nocturne::onednn
