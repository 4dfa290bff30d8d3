#pragma once

/// The activation gradient of a row's output as its backward operations want it: what comes back from all who read the
/// output, summed, and through the gate of the row's ReLU.

#include <cstdint>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "kernels/onednn/plan/builder.hpp"

namespace nocturne::onednn {

/// What one reader's backward operations gave back.
struct ReturnedGradient {
  dnnl::memory memory;
  bool shared = false;  ///< somebody else reads it too: it must not be written over
};

struct GradientJoin {
  std::vector<ReturnedGradient> parts;  ///< at least one
  dnnl::memory gate;                    ///< the ReLU's output; empty: no gate
  std::int64_t slices = 1;              ///< the loop of one part and a gate is cut into so many (slices.hpp)
};

/// Adds the loops, in place where a part may be written over. `layout` is that of the row's output; a single part
/// without a gate is returned as it is, in whatever layout.
[[nodiscard]] dnnl::memory bind_join(Builder& builder, const dnnl::memory::desc& layout, const GradientJoin& join);

}  // namespace nocturne::onednn
