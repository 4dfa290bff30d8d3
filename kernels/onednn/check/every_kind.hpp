#pragma once

/// A small network with every kind of layer and every way in which rows of a residual network read each other: what a
/// check of gradients can afford. It is no network to train.

#include "kernels/networks/network.hpp"

namespace nocturne::onednn {

inline constexpr networks::Layer kEveryKindLayers[] = {
    {.name = "conv1",
     .kind = networks::Kind::Convolution,
     .outputs = 16,
     .kernel = 7,
     .stride = 2,
     .padding = 3,
     .bias = false},
    {.name = "norm1", .kind = networks::Kind::BatchNormalisation, .relu = true},
    {.name = "pool", .kind = networks::Kind::MaxPool, .kernel = 3, .stride = 2, .padding = 1},
    {.name = "block1.conv1", .kind = networks::Kind::Convolution, .outputs = 16, .kernel = 1, .bias = false},
    {.name = "block1.norm1", .kind = networks::Kind::BatchNormalisation, .relu = true},
    {.name = "block1.conv2",
     .kind = networks::Kind::Convolution,
     .outputs = 32,
     .kernel = 3,
     .stride = 2,
     .padding = 1,
     .bias = false},
    {.name = "block1.norm2", .kind = networks::Kind::BatchNormalisation},
    {.name = "block1.conv3",
     .kind = networks::Kind::Convolution,
     .outputs = 32,
     .kernel = 1,
     .stride = 2,
     .bias = false,
     .input = "pool"},
    {.name = "block1.norm3", .kind = networks::Kind::BatchNormalisation},
    {.name = "block1.add",
     .kind = networks::Kind::Add,
     .relu = true,
     .input = "block1.norm2",
     .input2 = "block1.norm3"},
    {.name = "block2.conv1",
     .kind = networks::Kind::Convolution,
     .outputs = 32,
     .kernel = 3,
     .padding = 1,
     .relu = true},
    {.name = "block2.add", .kind = networks::Kind::Add, .input = "block2.conv1", .input2 = "block1.add"},
    {.name = "block3.norm1", .kind = networks::Kind::BatchNormalisation},
    {.name = "block3.add", .kind = networks::Kind::Add, .relu = true, .input = "block3.norm1", .input2 = "block2.add"},
    {.name = "average", .kind = networks::Kind::AveragePool, .kernel = 2, .stride = 2},
    {.name = "dropout", .kind = networks::Kind::Dropout, .rate = 0.25},
    {.name = "dense1", .kind = networks::Kind::Dense, .outputs = 24, .relu = true},
    {.name = "dense2", .kind = networks::Kind::Dense, .outputs = 10},
};

inline constexpr networks::Network kEveryKind = {
    .name = "every_kind",
    .image = {.channels = 3, .height = 32, .width = 32},
    .classes = 10,
    .parameters = 0,
    .layers = kEveryKindLayers,
};

}  // namespace nocturne::onednn
