#include "tests/kernels/cuda/simulated_gpu/operations.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

namespace nocturne::simulated {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Map = Eigen::Map<Matrix>;
using ConstMap = Eigen::Map<const Matrix>;

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

// Calls visit(place in the image's columns, place in the image) for all but padding. Columns: (c, y, x of the window)
// by pixel of the output.
template <typename Visit>
void each_column(const Convolution& shape, const Visit& visit) {
  const std::int64_t pixels = shape.output.h * shape.output.w;
  std::int64_t row = 0;
  for (std::int64_t c = 0; c < shape.input.c; ++c) {
    for (std::int64_t y = 0; y < shape.filter.h; ++y) {
      for (std::int64_t x = 0; x < shape.filter.w; ++x, ++row) {
        for (std::int64_t p = 0; p < pixels; ++p) {
          const std::int64_t h = p / shape.output.w * shape.stride + y - shape.padding;
          const std::int64_t w = p % shape.output.w * shape.stride + x - shape.padding;
          if (h < 0 || h >= shape.input.h || w < 0 || w >= shape.input.w) continue;
          visit(at(row * pixels + p), at((c * shape.input.h + h) * shape.input.w + w));
        }
      }
    }
  }
}

struct Extents {
  std::int64_t depth, pixels, image, result;
  explicit Extents(const Convolution& shape)
      : depth(shape.filter.c * shape.filter.h * shape.filter.w),
        pixels(shape.output.h * shape.output.w),
        image(shape.input.c * shape.input.h * shape.input.w),
        result(shape.output.c * pixels) {}
};

// Calls visit(index of value, channel), channel by channel.
template <typename Visit>
void each_value(const Sizes& sizes, const Visit& visit) {
  const std::int64_t pixels = sizes.h * sizes.w;
  for (std::int64_t i = 0; i < sizes.count(); ++i) visit(at(i), at(i / pixels % sizes.c));
}

// Calls visit(place in the output, begin and end of the window's rows and columns within the image, the image's
// beginning).
struct Field {
  std::int64_t image, top, bottom, left, right;
};
template <typename Visit>
void each_field(const Sizes& in, const Sizes& out, const Window& window, const Visit& visit) {
  for (std::int64_t i = 0; i < out.count(); ++i) {
    const std::int64_t top = i / out.w % out.h * window.stride - window.padding;
    const std::int64_t left = i % out.w * window.stride - window.padding;
    visit(at(i), Field{.image = i / (out.h * out.w) * in.h * in.w,
                       .top = std::max<std::int64_t>(top, 0),
                       .bottom = std::min(top + window.side, in.h),
                       .left = std::max<std::int64_t>(left, 0),
                       .right = std::min(left + window.side, in.w)});
  }
}

std::size_t place_of_largest(const Sizes& in, const Field& field, const Values& values) {
  std::size_t best = at(field.image + field.top * in.w + field.left);
  for (std::int64_t y = field.top; y < field.bottom; ++y) {
    for (std::int64_t x = field.left; x < field.right; ++x) {
      const std::size_t here = at(field.image + y * in.w + x);
      if (values[here] > values[best] || (std::isnan(values[here]) && !std::isnan(values[best]))) best = here;
    }
  }
  return best;
}

}  // namespace

Values convolve(const Convolution& shape, const Values& input, const Values& weights) {
  const Extents e(shape);
  Values output(at(shape.output.count()));
  Values columns(at(e.depth * e.pixels), 0.0F);
  const ConstMap filter(weights.data(), shape.filter.n, e.depth);
  for (std::int64_t n = 0; n < shape.input.n; ++n) {
    const float* image = input.data() + n * e.image;
    each_column(shape, [&](std::size_t to, std::size_t from) { columns[to] = image[from]; });
    Map(output.data() + n * e.result, shape.output.c, e.pixels).noalias() =
        filter * ConstMap(columns.data(), e.depth, e.pixels);
  }
  return output;
}

Values convolve_data(const Convolution& shape, const Values& weights, const Values& activation_gradient) {
  const Extents e(shape);
  Values result(at(shape.input.count()), 0.0F);
  Matrix columns(e.depth, e.pixels);
  const ConstMap filter(weights.data(), shape.filter.n, e.depth);
  for (std::int64_t n = 0; n < shape.input.n; ++n) {
    columns.noalias() =
        filter.transpose() * ConstMap(activation_gradient.data() + n * e.result, shape.output.c, e.pixels);
    float* image = result.data() + n * e.image;
    each_column(shape, [&](std::size_t from, std::size_t to) { image[to] += columns.data()[from]; });
  }
  return result;
}

Values convolve_weights(const Convolution& shape, const Values& input, const Values& activation_gradient) {
  const Extents e(shape);
  Values result(at(shape.filter.count()), 0.0F);
  Values columns(at(e.depth * e.pixels), 0.0F);
  Map sum(result.data(), shape.filter.n, e.depth);
  for (std::int64_t n = 0; n < shape.input.n; ++n) {
    const float* image = input.data() + n * e.image;
    each_column(shape, [&](std::size_t to, std::size_t from) { columns[to] = image[from]; });
    sum.noalias() += ConstMap(activation_gradient.data() + n * e.result, shape.output.c, e.pixels) *
                     ConstMap(columns.data(), e.depth, e.pixels).transpose();
  }
  return result;
}

Values channel_sums(const Sizes& sizes, const Values& values) {
  std::vector<double> sums(at(sizes.c), 0.0);
  each_value(sizes, [&](std::size_t i, std::size_t c) { sums[c] += static_cast<double>(values[i]); });
  return {sums.begin(), sums.end()};
}

Values channel_squares(const Sizes& sizes, const Values& values) {
  std::vector<double> sums(at(sizes.c), 0.0);
  each_value(sizes, [&](std::size_t i, std::size_t c) { sums[c] += std::pow(static_cast<double>(values[i]), 2); });
  return {sums.begin(), sums.end()};
}

Statistics statistics(const Sizes& sizes, const Values& values) {
  const auto count = static_cast<float>(sizes.per_channel());
  Statistics found{.mean = channel_sums(sizes, values), .variance = {}};
  for (float& each : found.mean) each /= count;
  Values apart(values.size());
  each_value(sizes, [&](std::size_t i, std::size_t c) { apart[i] = values[i] - found.mean[c]; });
  found.variance = channel_squares(sizes, apart);
  for (float& each : found.variance) each /= count;
  return found;
}

Values normalise(const Sizes& sizes, const Values& values, const Values& mean, const Values& inverse,
                 const Values& scale, const Values& shift) {
  Values result(values.size());
  each_value(sizes, [&](std::size_t i, std::size_t c) {
    result[i] = (values[i] - mean[c]) * inverse[c] * scale[c] + shift[c];
  });
  return result;
}

NormalisationGradients normalise_back(const Sizes& sizes, const Values& values, const Values& activation_gradient,
                                      const Values& mean, const Values& inverse, const Values& scale) {
  const auto count = static_cast<float>(sizes.per_channel());
  Values normalised(values.size()), products(values.size());
  each_value(sizes, [&](std::size_t i, std::size_t c) {
    normalised[i] = (values[i] - mean[c]) * inverse[c];
    products[i] = activation_gradient[i] * normalised[i];
  });
  NormalisationGradients found{.input = Values(values.size()),
                               .scale = channel_sums(sizes, products),
                               .shift = channel_sums(sizes, activation_gradient)};
  each_value(sizes, [&](std::size_t i, std::size_t c) {
    found.input[i] =
        scale[c] * inverse[c] * (activation_gradient[i] - (found.shift[c] + normalised[i] * found.scale[c]) / count);
  });
  return found;
}

Values pool(const Sizes& in, const Sizes& out, const Window& window, bool largest, const Values& values) {
  Values result(at(out.count()));
  each_field(in, out, window, [&](std::size_t i, const Field& field) {
    if (largest) {
      result[i] = values[place_of_largest(in, field, values)];
      return;
    }
    float sum = 0;
    for (std::int64_t y = field.top; y < field.bottom; ++y)
      for (std::int64_t x = field.left; x < field.right; ++x) sum += values[at(field.image + y * in.w + x)];
    result[i] = sum / static_cast<float>(window.side * window.side);
  });
  return result;
}

Values pool_back(const Sizes& in, const Sizes& out, const Window& window, bool largest, const Values& values,
                 const Values& activation_gradient) {
  Values result(at(in.count()), 0.0F);
  each_field(in, out, window, [&](std::size_t i, const Field& field) {
    if (largest) {
      result[place_of_largest(in, field, values)] += activation_gradient[i];
      return;
    }
    const float share = activation_gradient[i] / static_cast<float>(window.side * window.side);
    for (std::int64_t y = field.top; y < field.bottom; ++y)
      for (std::int64_t x = field.left; x < field.right; ++x) result[at(field.image + y * in.w + x)] += share;
  });
  return result;
}

}  // namespace nocturne::simulated
