#pragma once

/// What a training begins with, as a file, so that workers with other random generators begin with the same: initial
/// weights and the images of each batch.
///
///   8 bytes   "NOCTINIT"
///   4 bytes   version, 1                                      (all numbers little-endian)
///   4 bytes   length H of the header, at most 1 MiB
///   H bytes   JSON: {"network": "mnist_cnn",
///                    "tensors": [{"name": "conv1.weights", "shape": [32, 1, 3, 3]}, …],
///                    "batches": [128, 128, 96]}               (images of each step)
///   f32 …     the tensors' values in this order, row-major: convolutions (O, I, H, W), dense layers (O, I) or
///             (O, C, H, W) of the tensor they read, biases (O)
///   i32 …     the steps' images in order, as positions in the training set, from 0
///
/// Nothing follows: the sizes that the header states are the size of the file.

#include <cstdint>
#include <string>
#include <vector>

namespace nocturne::protocol {

struct InitialTensor {
  std::string name;                 ///< layer and tensor: "conv1.weights"
  std::vector<std::int64_t> shape;  ///< each at least 1
  std::vector<float> values;        ///< as many as the shape says, all finite
  friend bool operator==(const InitialTensor&, const InitialTensor&) = default;
};

struct InitialState {
  std::string network;
  std::vector<InitialTensor> tensors;              ///< names differ
  std::vector<std::vector<std::int32_t>> batches;  ///< none empty, none negative
  friend bool operator==(const InitialState&, const InitialState&) = default;
};

/// Replaces the file whole. Throws std::runtime_error naming the file, also where the state is not as described.
void write_initial_state(const std::string& path, const InitialState& state);

/// Believes nothing: sizes are checked against the file before anything is allocated. Throws std::runtime_error with
/// the file and what is wrong with it.
[[nodiscard]] InitialState read_initial_state(const std::string& path);

}  // namespace nocturne::protocol
