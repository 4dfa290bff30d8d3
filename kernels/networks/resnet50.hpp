#pragma once

/// ResNet50 version 1.5 for images of 224×224 in 1000 classes: 25,557,032 parameters (residual_table.hpp names the
/// paper). Where a stage halves the image it is the 3×3 convolution of its first block that has stride 2.

#include "kernels/networks/residual_table.hpp"

namespace nocturne::networks {

inline constexpr ResidualRows<125> kResNet50Rows(ResidualShape{.stem_outputs = 64,
                                                               .stem_kernel = 7,
                                                               .stem_stride = 2,
                                                               .stem_pool = true,
                                                               .bottleneck = true,
                                                               .stages = 4,
                                                               .blocks = {3, 4, 6, 3},
                                                               .widths = {64, 128, 256, 512},
                                                               .average = 7,
                                                               .classes = 1000});

inline constexpr std::array kResNet50Layers = layers_of(kResNet50Rows);

inline constexpr Network kResNet50 = {
    .name = "resnet50",
    .image = {.channels = 3, .height = 224, .width = 224},
    .classes = 1000,
    .parameters = 25'557'032,
    .layers = kResNet50Layers,
    .data = "synthetic",
    .optimizer = "sgd_momentum",
};

}  // namespace nocturne::networks
