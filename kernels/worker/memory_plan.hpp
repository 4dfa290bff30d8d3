#pragma once

/// Where buffers lie in one piece of memory, so that those that are not needed at the same moment share bytes.
///
/// Greedy by size: the largest buffer first, each into the smallest gap between those already placed that live at the
/// same time, else behind them (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", arXiv
/// 2001.03288, "greedy by size").

#include <cstdint>
#include <vector>

namespace nocturne::worker {

/// Moments are whole numbers in the order in which a step runs its operations; both ends are lived through.
struct Lifetime {
  std::int64_t bytes = 0;
  std::int64_t first = 0, last = 0;
};

struct MemoryPlan {
  std::vector<std::int64_t> offsets;  ///< one a buffer: a sum of what others occupy
  std::int64_t bytes = 0;             ///< size of all together
};

/// How many bytes a buffer takes up, so that the next begins where the device likes it.
using Occupied = std::int64_t (*)(std::int64_t bytes);

[[nodiscard]] MemoryPlan plan_memory(const std::vector<Lifetime>& buffers, Occupied occupied);

/// The most bytes alive at one moment: no plan can do with fewer.
[[nodiscard]] std::int64_t least_bytes(const std::vector<Lifetime>& buffers, Occupied occupied);

}  // namespace nocturne::worker
