#pragma once

/// Batches made ahead by threads of their own, while the worker trains.
///
/// A ring of `prefetch` batches. Threads take the images of the batches to come one by one, in order, so a batch is
/// shared by all of them and the first is ready soonest; they wait where all places of the ring are full. Which image
/// goes where is the schedule's choice alone, so the batches are those of gather_batches(), whatever the threads.
/// Memory: prefetch times the batch, one byte a value.

#include <memory>

#include "kernels/data/image_source.hpp"

namespace nocturne::data {

/// REQUIRES: options.threads >= 1, options.prefetch >= 1. An image that cannot be made is thrown by the call of next()
/// that would have had it; batches before it are delivered.
[[nodiscard]] std::unique_ptr<BatchSource> prefetch_batches(std::unique_ptr<ImageSource> images, SourceOptions options);

}  // namespace nocturne::data
