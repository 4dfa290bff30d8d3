#pragma once

/// Networks as data: one table of layers that every native worker reads (C++ on the CPU, CUDA on the GPU).
///
/// C++20 and the standard library only. A table says *what* is computed; how (layouts, fusion, kernels) is each
/// worker's own business. A worker that meets a kind of layer it does not know answers `unsupported` and names it.
///
/// Shapes are those of one image, channels first: (C, H, W); after a dense layer (C, 1, 1).

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace nocturne::networks {

/// The kinds a table may use. Batch normalisation, addition and average pooling are there for residual networks.
///
/// Batch normalisation (Ioffe and Szegedy, ICML 2015, algorithm 1) keeps running averages of mean and variance for
/// evaluation: r ← (1 - m) r + m b of each batch's b, the variance with its divisor n - 1; they begin as 0 and 1.
/// Average pooling divides by the whole window, padding included.
enum class Kind { Convolution, BatchNormalisation, Add, MaxPool, AveragePool, Dropout, Dense };

inline constexpr double kNormalisationEpsilon = 1e-5;   ///< added to the variance, under the root
inline constexpr double kRunningAverageMomentum = 0.1;  ///< m

[[nodiscard]] std::string_view to_text(Kind kind);

/// One row of a table. Fields that a kind does not use keep their defaults.
struct Layer {
  std::string_view name = {};  ///< unique in the network; addresses the layer in events and reports
  Kind kind = Kind::Convolution;
  std::int64_t outputs = 0;      ///< convolution: output channels; dense: units
  std::int64_t kernel = 1;       ///< convolution and pooling: side of the square window, pixels
  std::int64_t stride = 1;       ///< convolution and pooling
  std::int64_t padding = 0;      ///< convolution and pooling: zeros on each side, 0 is "valid"
  bool bias = true;              ///< convolution and dense
  bool relu = false;             ///< a rectifier on the layer's output (after the addition, for Add)
  double rate = 0;               ///< dropout: share of values set to zero; the others are divided by 1 - rate
  std::string_view input = {};   ///< layer whose output is read; empty: the row above (the image, for the first)
  std::string_view input2 = {};  ///< Add: the other summand
};

struct Shape {
  std::int64_t channels = 0, height = 1, width = 1;
  [[nodiscard]] std::int64_t elements() const { return channels * height * width; }
  friend bool operator==(const Shape&, const Shape&) = default;
};

/// A network ends in `classes` logits; the loss is softmax cross-entropy, mean over the batch.
struct Network {
  std::string_view name;
  Shape image;
  std::int64_t classes = 0;
  std::int64_t parameters = 0;  ///< as its paper states them: find_network() checks the table against it
  std::span<const Layer> layers;
  std::string_view data = "mnist",
                   optimizer = "adadelta";  ///< names of what it is trained with (data: mnist or synthetic)
};

/// What one layer is for one image, derived from the table.
///
/// A multiplication and an addition are two floating-point operations; bias, ReLU, pooling and dropout count as none
/// (under 1 % of the work). Backward is the input's activation gradient and the weights' gradient, each as much as
/// forward; the first layer needs no activation gradient of its input.
struct LayerFigures {
  const Layer* layer = nullptr;
  Shape input, output;
  std::int64_t source = -1;              ///< row whose output is read; -1: the image
  std::int64_t source2 = -1;             ///< Add: row of the other summand
  std::int64_t weights = 0, biases = 0;  ///< numbers of parameters; scale and shift of a normalisation
  std::int64_t forward_flops = 0, backward_flops = 0;
};

/// One entry per row of the table, in order. Throws std::logic_error naming the layer where shapes do not fit.
[[nodiscard]] std::vector<LayerFigures> figures(const Network& network);

/// Throws std::out_of_range with the known names where there is no such network, and std::logic_error where a table
/// contradicts its own number of parameters.
[[nodiscard]] const Network& find_network(std::string_view name);

/// Names of all networks, in the order of the list in network.cpp.
[[nodiscard]] std::vector<std::string_view> network_names();

}  // namespace nocturne::networks
