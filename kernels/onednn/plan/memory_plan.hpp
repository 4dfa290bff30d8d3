#pragma once

/// Gives the buffers of a plan their places in one slab, so that dead buffers' bytes are used again
/// (kernels/worker/memory_plan.hpp says how).

#include <vector>

#include "kernels/worker/memory_plan.hpp"

namespace nocturne::onednn {

/// Buffers live from the position of the first operation that touches them to that of the last, both included; offsets
/// are multiples of a cache line. Two buffers that live at the same position never share a byte. REQUIRES: first <=
/// last.
[[nodiscard]] worker::MemoryPlan place_buffers(const std::vector<worker::Lifetime>& buffers);

}  // namespace nocturne::onednn
