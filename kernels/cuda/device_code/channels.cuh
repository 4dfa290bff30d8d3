#pragma once

/// Which channel a value of a flat array belongs to.

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/device_code/launchers.hpp"

namespace nocturne::cuda {

/// The channel of a flat index; 32 bits where they suffice, for a division of 64 bits takes longer than a load.
template <typename Index>
struct Channels {
  Index channels, pixels;
  bool last;  // channels last
  __device__ Index operator()(Index i) const { return last ? i % channels : i / pixels % channels; }
};

template <typename Index>
Channels<Index> channels_of(const ChannelOrder& order) {
  return {static_cast<Index>(order.channels), static_cast<Index>(order.pixels), order.layout == Layout::Nhwc};
}

/// Whether indices fit into 32 bits, one more stride beyond the end included.
inline bool is_small(std::int64_t count) {
  return count < (std::int64_t{1} << 30);
}

}  // namespace nocturne::cuda
