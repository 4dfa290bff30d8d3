#pragma once

/// The ResNet of 20 weighted layers for images of 32×32 in 10 classes (the paper's section 4.2; residual_table.hpp
/// names it), with 1×1 convolutions past the blocks that change shape (its option B): 272,474 parameters.

#include "kernels/networks/residual_table.hpp"

namespace nocturne::networks {

inline constexpr ResidualRows<53> kResNet20Rows(ResidualShape{.stem_outputs = 16,
                                                              .stem_kernel = 3,
                                                              .stem_stride = 1,
                                                              .stem_pool = false,
                                                              .bottleneck = false,
                                                              .stages = 3,
                                                              .blocks = {3, 3, 3, 0},
                                                              .widths = {16, 32, 64, 0},
                                                              .average = 8,
                                                              .classes = 10});

inline constexpr std::array kResNet20Layers = layers_of(kResNet20Rows);

inline constexpr Network kResNet20 = {
    .name = "resnet20",
    .image = {.channels = 3, .height = 32, .width = 32},
    .classes = 10,
    .parameters = 272'474,
    .layers = kResNet20Layers,
    .data = "synthetic",
    .optimizer = "sgd_momentum",
};

}  // namespace nocturne::networks
