#pragma once

/// Tables of residual networks (K. He, X. Zhang, S. Ren, J. Sun, "Deep Residual Learning for Image Recognition", CVPR
/// 2016), built at compile time from a few numbers: a hundred rows by hand hide one slip too well.
///
/// Rows come in this order, which is the order of the parameters too:
///
///   conv1, norm1 (ReLU) [, pool]                                        the stem
///   stageS.blockB.conv1, .norm1, .conv2, .norm2 [, .conv3, .norm3]      the block; all but its last norm have a ReLU
///                [, .convN, .normN]                                     the way past it, where it changes shape: 1×1
///                 .add (ReLU)                                           their sum, or the sum with the block's input
///   average, dense
///
/// A block of three convolutions is the bottleneck 1×1, 3×3, 1×1; one of two is the basic 3×3, 3×3. Convolutions have
/// no biases, the normalisation behind each has a shift.

#include <array>
#include <cstddef>
#include <stdexcept>

#include "kernels/networks/network.hpp"

namespace nocturne::networks {

struct ResidualShape {
  std::int64_t stem_outputs = 64;
  std::int64_t stem_kernel = 7, stem_stride = 2;
  bool stem_pool = true;               ///< 3×3, stride 2, padding 1
  bool bottleneck = true;              ///< else the basic block
  std::int64_t stages = 4;             ///< each but the first halves the image in its first block
  std::array<std::int64_t, 4> blocks;  ///< by stage
  std::array<std::int64_t, 4> widths;  ///< by stage: channels of the 3×3 convolutions
  std::int64_t average = 7;            ///< side of what the last stage leaves
  std::int64_t classes = 1000;
};

/// One row before it has become a Layer: names need a place that lasts, which a finished table is.
struct ResidualRow {
  std::array<char, 24> name{};
  std::size_t name_length = 0;
  Layer layer{};    ///< without its names
  int input = -1;   ///< row; -1: the row above
  int input2 = -1;  ///< row
  [[nodiscard]] constexpr std::string_view text() const { return {name.data(), name_length}; }
};

template <std::size_t Rows>
class ResidualRows {
 public:
  /// Does not compile where Rows is not the number of rows.
  constexpr explicit ResidualRows(const ResidualShape& shape) : shape_(shape) {
    add_normalised("", '1', shape.stem_outputs, shape.stem_kernel, shape.stem_stride, true);
    if (shape.stem_pool) add("", "pool", {.kind = Kind::MaxPool, .kernel = 3, .stride = 2, .padding = 1});
    channels_ = shape.stem_outputs;
    for (std::int64_t stage = 0; stage < shape.stages; ++stage)
      for (std::int64_t block = 0; block < shape.blocks[static_cast<std::size_t>(stage)]; ++block)
        add_block(stage, block);
    add("", "average", {.kind = Kind::AveragePool, .kernel = shape.average});
    add("", "dense", {.kind = Kind::Dense, .outputs = shape.classes});
    if (count_ != Rows) throw std::logic_error("a residual network has another number of rows");
  }
  [[nodiscard]] constexpr const std::array<ResidualRow, Rows>& rows() const { return rows_; }

 private:
  constexpr int add(std::string_view prefix, std::string_view name, const Layer& layer) {
    ResidualRow& row = rows_.at(count_);
    for (const std::string_view part : {prefix, name})
      for (const char each : part) row.name.at(row.name_length++) = each;
    row.layer = layer;
    return static_cast<int>(count_++);
  }

  // convN without biases and its normN; returns the row of the latter.
  constexpr int add_normalised(std::string_view prefix, char number, std::int64_t outputs, std::int64_t kernel,
                               std::int64_t stride, bool relu, int input = -1) {
    const char conv[] = {'c', 'o', 'n', 'v', number}, norm[] = {'n', 'o', 'r', 'm', number};
    const int row = add(prefix, {conv, 5},
                        {.kind = Kind::Convolution,
                         .outputs = outputs,
                         .kernel = kernel,
                         .stride = stride,
                         .padding = kernel / 2,
                         .bias = false});
    rows_.at(static_cast<std::size_t>(row)).input = input;
    return add(prefix, {norm, 5}, {.kind = Kind::BatchNormalisation, .relu = relu});
  }

  constexpr void add_block(std::int64_t stage, std::int64_t block) {
    const char text[] = {'s', 't', 'a', 'g', 'e', static_cast<char>('1' + stage), '.',
                         'b', 'l', 'o', 'c', 'k', static_cast<char>('1' + block), '.'};
    const std::string_view prefix(text, sizeof text);
    const std::int64_t width = shape_.widths[static_cast<std::size_t>(stage)];
    const std::int64_t outputs = shape_.bottleneck ? 4 * width : width, stride = stage > 0 && block == 0 ? 2 : 1;
    const int input = static_cast<int>(count_) - 1;
    int body = 0;
    if (shape_.bottleneck) {
      add_normalised(prefix, '1', width, 1, 1, true);
      add_normalised(prefix, '2', width, 3, stride, true);  // version 1.5: the 3×3 has the stride, not the first 1×1
      body = add_normalised(prefix, '3', outputs, 1, 1, false);
    } else {
      add_normalised(prefix, '1', width, 3, stride, true);
      body = add_normalised(prefix, '2', outputs, 3, 1, false);
    }
    int past = input;
    if (channels_ != outputs || stride != 1)
      past = add_normalised(prefix, shape_.bottleneck ? '4' : '3', outputs, 1, stride, false, input);
    ResidualRow& sum = rows_.at(static_cast<std::size_t>(add(prefix, "add", {.kind = Kind::Add, .relu = true})));
    sum.input = body;
    sum.input2 = past;
    channels_ = outputs;
  }

  ResidualShape shape_;
  std::array<ResidualRow, Rows> rows_{};
  std::size_t count_ = 0;
  std::int64_t channels_ = 0;
};

/// The table itself; its names lie in `rows`, which must last.
template <std::size_t Rows>
constexpr std::array<Layer, Rows> layers_of(const ResidualRows<Rows>& rows) {
  std::array<Layer, Rows> layers{};
  for (std::size_t i = 0; i < Rows; ++i) {
    const ResidualRow& row = rows.rows()[i];
    layers[i] = row.layer;
    layers[i].name = row.text();
    if (row.input >= 0) layers[i].input = rows.rows()[static_cast<std::size_t>(row.input)].text();
    if (row.input2 >= 0) layers[i].input2 = rows.rows()[static_cast<std::size_t>(row.input2)].text();
  }
  return layers;
}

// The ResNet of 20 weighted layers for images of 32×32 in 10 classes (the paper's section 4.2), with 1×1 convolutions
// past the blocks that change shape (its option B): 272,474 parameters.

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

// ResNet50 version 1.5 for images of 224×224 in 1000 classes: 25,557,032 parameters (the second paper named above).
// Where a stage halves the image it is the 3×3 convolution of its first block that has stride 2.

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
