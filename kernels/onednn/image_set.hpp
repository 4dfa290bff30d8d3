#pragma once

/// Labelled images in memory, as they are stored: one byte a pixel. And the order in which an epoch visits them.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/networks/network.hpp"
#include "kernels/onednn/bf16.hpp"
#include "kernels/onednn/idx_file.hpp"

namespace nocturne::onednn {

enum class Split { Train, Test };

struct ImageSet {
  IdxArray images, labels;
  [[nodiscard]] std::int64_t count() const { return labels.count; }
  [[nodiscard]] std::int64_t pixels() const { return images.count / labels.count; }
};

/// Throws Unsupported for a data set this worker does not know, DataError where the files are missing, torn, or do not
/// fit the network.
[[nodiscard]] ImageSet load_images(const std::string& data, const std::string& folder, Split split,
                                   const networks::Network& network);

/// A random permutation of [0, count), the same for the same seed and epoch everywhere.
[[nodiscard]] std::vector<std::int32_t> epoch_order(std::int64_t count, std::uint64_t seed, std::int64_t epoch);

/// Copies the named images into a batch, scaled to [0, 1], and their labels; in parallel, without allocating.
void gather(const ImageSet& set, std::span<const std::int32_t> indices, float* images, std::uint8_t* labels);
void gather(const ImageSet& set, std::span<const std::int32_t> indices, Bfloat16* images, std::uint8_t* labels);

}  // namespace nocturne::onednn
