#pragma once

/// Data sets that are kept in memory whole: MNIST's, and synthetic images.

#include <memory>

#include "kernels/data/image_source.hpp"

namespace nocturne::data {

/// MNIST's files of one split (idx_file.hpp). Throws DataError where they do not fit the network's image and classes.
[[nodiscard]] std::unique_ptr<ImageSource> read_mnist(const SourceOptions& options);

inline constexpr std::int64_t kSyntheticImages = 256, kSyntheticSteps = 64;

/// 256 images of random bytes with random labels, the same for every seed: byte b of image i is byte (i · size + b) of
/// draw(key_of(0, 0x5e7), 0, 1, …), little-endian, in the order (C, H, W); its label is draw(key_of(0, 0x5e8), i)
/// modulo the classes. They repeat: count() is a whole number of batches, at least kSyntheticSteps and all 256 images,
/// so that no epoch ends in a smaller batch and samples of several steps are not cut short.
[[nodiscard]] std::unique_ptr<ImageSource> make_synthetic(const SourceOptions& options);

}  // namespace nocturne::data
