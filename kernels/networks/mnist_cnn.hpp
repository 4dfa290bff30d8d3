#pragma once

/// The CNN for MNIST of "Optimising AI Training Deployments using Graph Compilers and Containers" (arXiv 2008.11675),
/// which is the one of the Keras examples: 1,199,882 parameters.

#include "kernels/networks/network.hpp"

namespace nocturne::networks {

inline constexpr Layer kMnistCnnLayers[] = {
    {.name = "conv1", .kind = Kind::Convolution, .outputs = 32, .kernel = 3, .relu = true},
    {.name = "conv2", .kind = Kind::Convolution, .outputs = 64, .kernel = 3, .relu = true},
    {.name = "pool", .kind = Kind::MaxPool, .kernel = 2, .stride = 2},
    {.name = "dropout1", .kind = Kind::Dropout, .rate = 0.25},
    {.name = "dense1", .kind = Kind::Dense, .outputs = 128, .relu = true},
    {.name = "dropout2", .kind = Kind::Dropout, .rate = 0.5},
    {.name = "dense2", .kind = Kind::Dense, .outputs = 10},
};

inline constexpr Network kMnistCnn = {
    .name = "mnist_cnn",
    .image = {.channels = 1, .height = 28, .width = 28},
    .classes = 10,
    .parameters = 1'199'882,
    .layers = kMnistCnnLayers,
};

}  // namespace nocturne::networks
