#pragma once

/// Batches made by the thread that asks for them, or by its worker's own pool.

#include <memory>

#include "kernels/data/image_source.hpp"

namespace nocturne::data {

[[nodiscard]] std::unique_ptr<BatchSource> gather_batches(std::unique_ptr<ImageSource> images, SourceOptions options);

}  // namespace nocturne::data
