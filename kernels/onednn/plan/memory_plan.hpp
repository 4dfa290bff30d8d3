#pragma once

/// Gives the buffers of a plan their places in one slab, so that dead buffers' bytes are used again.
///
/// Greedy by size (Y. Pisarchyk, J. Lee, "Efficient Memory Management for Deep Neural Net Inference", arXiv 2001.03288):
/// the largest buffer first, each into the smallest gap between those it lives with, else behind them.

#include <cstddef>
#include <span>
#include <vector>

namespace nocturne::onednn {

/// One buffer: from the position of the first operation that touches it to that of the last, both included.
struct BufferLife {
  std::size_t bytes = 0;
  std::size_t first = 0, last = 0;
};

struct Placement {
  std::vector<std::size_t> offsets;  ///< by buffer; multiples of a cache line
  std::size_t bytes = 0;             ///< of the slab
};

/// Two buffers that live at the same position never share a byte. REQUIRES: first <= last.
[[nodiscard]] Placement place_buffers(std::span<const BufferLife> buffers);

}  // namespace nocturne::onednn
