#pragma once

/// Running several rows a few images at a time.
///
/// A convolution writes and the pool below reads tens of megabytes; done batch by batch they go through memory, done
/// slice by slice they stay in the second-level cache. Operations whose images do not depend on each other are
/// therefore split along the batch, and neighbours in a list take turns: row 1 slice 1, row 2 slice 1, row 1 slice 2, …
/// Gradients of weights sum over the batch and are not split.

#include <cstdint>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "kernels/networks/network.hpp"
#include "kernels/onednn/plan/builder.hpp"

namespace nocturne::onednn {

/// Into how many slices of equal size the rows from the first to the last max-pool are split, 1: not at all (there is
/// no pool, or no divisor of the batch gives a slice that fits). A slice fits if the largest input and output of a row
/// take no more than 1 MiB a thread; it has at least one image a thread.
[[nodiscard]] std::int64_t slice_count(const std::vector<networks::LayerFigures>& rows, std::int64_t batch,
                                       std::int64_t bytes_per_value, int threads);
/// Whether a row takes part: it lies at or above the last max-pool.
[[nodiscard]] bool is_sliced(const std::vector<networks::LayerFigures>& rows, std::size_t row);

/// True where `count` slices of the outermost dimension lie one after the other in memory.
[[nodiscard]] bool can_slice(const dnnl::memory::desc& desc, std::int64_t count);
/// REQUIRES: can_slice.
[[nodiscard]] dnnl::memory::desc slice_of(const dnnl::memory::desc& desc, std::int64_t count);
/// Slice `index` of `count`; shares the buffer.
[[nodiscard]] dnnl::memory slice_of(const dnnl::memory& memory, std::int64_t count, std::int64_t index);

/// Lets neighbouring sliced operations take turns. Operations that are not sliced stay where they are, and nothing
/// moves across them.
void interleave_slices(std::vector<Operation>& list);

}  // namespace nocturne::onednn
