#include "kernels/onednn/check/check_gradients.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <span>
#include <utility>

#include "kernels/onednn/check/every_kind.hpp"
#include "kernels/onednn/check/reference.hpp"
#include "kernels/onednn/plan/plan.hpp"
#include "kernels/onednn/random.hpp"

namespace nocturne::onednn {
namespace {

using networks::Kind;

double largest_magnitude(std::span<const double> values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

// NaN in either tensor gives NaN, which passes nowhere.
double relative_error(std::span<const float> found, std::span<const double> expected) {
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double error = std::abs(static_cast<double>(found[i]) - expected[i]);
    if (std::isnan(error)) return error;
    worst = std::max(worst, error);
  }
  return worst / std::max(largest_magnitude(expected), 1e-300);
}

Values widen(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

// Noise for images (positive, as pixels are) and labels; both sides read what the plan's precision leaves of it.
void fill_batch(Plan& plan, ReferenceNetwork& reference, std::uint64_t seed) {
  for (std::size_t i = 0; i < reference.image.size(); ++i) {
    const float pixel = uniform(key_of(seed, 0x1a6e), i);
    if (plan.precision() == Precision::F32) {
      plan.input_f32()[i] = pixel;
      reference.image[i] = static_cast<double>(pixel);
    } else {
      plan.input_bf16()[i] = to_bf16(pixel);
      reference.image[i] = static_cast<double>(to_float(to_bf16(pixel)));
    }
  }
  const auto classes = static_cast<std::uint64_t>(plan.network().classes);
  for (std::size_t n = 0; n < reference.labels.size(); ++n)
    reference.labels[n] = static_cast<std::int32_t>(key_of(seed, 0x1abe, n) % classes);
}

// One step of the plan, and each row of it once more in the reference.
class Comparison {
 public:
  Comparison(const networks::Network& network, const CheckOptions& options)
      : options_(options),
        engine_(dnnl::engine::kind::cpu, 0),
        stream_(engine_),
        plan_(network, options.settings.batch, options.settings.precision, options.settings.layout, engine_),
        parameters_(plan_.parameter_layouts(), engine_),
        reference_(network, options.settings.batch),
        outputs_(network.layers.size()),
        input_gradients_(network.layers.size()) {}

  std::vector<GradientCheck> run() {
    parameters_.initialise(options_.seed, stream_);
    plan_.bind(parameters_);
    fill_batch(plan_, reference_, options_.seed);
    plan_.observe([this](std::size_t row, const dnnl::memory& memory) { outputs_[row] = read_plain(memory, stream_); },
                  [this](std::size_t row, const dnnl::memory& memory) {
                    if (memory) input_gradients_[row] = read_plain(memory, stream_);
                  });
    const double loss = static_cast<double>(plan_.train(reference_.labels.data(), key_of(options_.seed, 0xd409)));
    if (options_.tamper) options_.tamper(parameters_);
    copy_parameters();
    compare_outputs();
    const double expected = reference_.loss();
    for (std::size_t row = reference_.layers.size(); row-- > 0;) compare_gradients(row);
    checks_.push_back({"loss", "", std::abs(loss - expected) / expected, tolerance()});
    std::reverse(checks_.begin() + static_cast<std::ptrdiff_t>(reference_.layers.size()), checks_.end());
    return checks_;
  }

 private:
  [[nodiscard]] bool bf16() const { return options_.settings.precision == Precision::Bf16; }
  [[nodiscard]] double tolerance() const { return bf16() ? kToleranceBf16 : kToleranceF32; }

  std::vector<float> read(const ReferenceLayer& layer, const char* tensor, bool gradient) {
    ParameterTensor& found = parameters_.tensor(std::string(layer.figures.layer->name) + "." + tensor);
    return read_plain(gradient ? found.gradient : found.value, stream_);
  }

  void copy_parameters() {
    for (ReferenceLayer& layer : reference_.layers) {
      const TensorNames names = tensor_names(layer.figures.layer->kind);
      if (!layer.weights.empty()) layer.weights = widen(read(layer, names.weights, false));
      if (!layer.biases.empty()) layer.biases = widen(read(layer, names.biases, false));
      if (!bf16() || layer.figures.layer->kind == Kind::BatchNormalisation) continue;
      for (double& weight : layer.weights) weight = static_cast<double>(to_float(to_bf16(static_cast<float>(weight))));
    }
  }

  // Each row from what the plan's rows above it computed; leaves the plan's outputs in the reference.
  void compare_outputs() {
    for (std::size_t row = 0; row < reference_.layers.size(); ++row) {
      ReferenceLayer& layer = reference_.layers[row];
      const std::vector<float>& found = outputs_[row];
      const double kept = 1 / (1 - layer.figures.layer->rate);
      for (std::size_t i = 0; i < layer.factor.size(); ++i) layer.factor[i] = found[i] != 0.0F ? kept : 0;
      reference_.forward_row(row, true);
      add_check(row, "output", relative_error(found, layer.output));
      layer.output = widen(found);
      for (std::size_t i = 0; i < layer.open.size(); ++i) layer.open[i] = found[i] > 0.0F ? 1 : 0;
      std::ranges::fill(layer.activation_gradient, 0.0);
    }
  }

  // Given the activation gradients that the rows below gave back; adds the row's own to those it reads.
  void compare_gradients(std::size_t row) {
    ReferenceLayer& layer = reference_.layers[row];
    reference_.backward_row(row);
    if (layer.figures.source >= 0) compare_input_gradient(row);
    const TensorNames names = tensor_names(layer.figures.layer->kind);
    if (!layer.biases.empty())
      add_check(row, names.biases, relative_error(read(layer, names.biases, true), layer.biases_gradient));
    if (!layer.weights.empty())
      add_check(row, names.weights, relative_error(read(layer, names.weights, true), layer.weights_gradient));
  }

  void compare_input_gradient(std::size_t row) {
    ReferenceLayer& layer = reference_.layers[row];
    const networks::LayerFigures& figures = layer.figures;
    std::vector<float> found = input_gradients_[row];
    if (found.empty()) found.assign(layer.input_gradient.begin(), layer.input_gradient.end());  // handed through
    for (const std::int64_t source : {figures.source, figures.source2}) {
      if (source < 0) continue;
      Values& sum = reference_.activation_gradient(source);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(found[i]);
    }
    // What the ReLU above would stop does not count: it may have been stopped already (plan.hpp).
    Values expected = layer.input_gradient;
    const std::vector<float>& input = outputs_[static_cast<std::size_t>(figures.source)];
    for (std::size_t i = 0; i < expected.size() && figures.layer->kind != Kind::Add; ++i)
      if (input[i] == 0.0F) expected[i] = 0, found[i] = 0;
    add_check(row, "input activation gradient", relative_error(found, expected));
  }

  void add_check(std::size_t row, const char* tensor, double error) {
    checks_.push_back({std::string(reference_.layers[row].figures.layer->name), tensor, error, tolerance()});
  }

  const CheckOptions& options_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  Plan plan_;
  Parameters parameters_;
  ReferenceNetwork reference_;
  std::vector<std::vector<float>> outputs_, input_gradients_;
  std::vector<GradientCheck> checks_;
};

constexpr std::int64_t kImages = 2;
constexpr std::size_t kPositions = 6;  // sampled in each tensor
constexpr double kStep = 1e-4;  // error of the formula about step², of rounding 1e-16 / step: both far under 1e-6

void fill(ReferenceNetwork& reference, std::uint64_t seed) {
  for (std::size_t i = 0; i < reference.image.size(); ++i)
    reference.image[i] = static_cast<double>(uniform(key_of(seed, 1), i));
  for (std::size_t n = 0; n < reference.labels.size(); ++n) reference.labels[n] = static_cast<std::int32_t>(3 + n);
  for (std::size_t row = 0; row < reference.layers.size(); ++row) {
    ReferenceLayer& layer = reference.layers[row];
    const auto noise = [&](Values& values, std::uint64_t use, double size) {
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = (2 * static_cast<double>(uniform(key_of(seed, use, row), i)) - 1) * size;
    };
    const double inputs = static_cast<double>(std::max<std::int64_t>(1, layer.figures.weights)) /
                          static_cast<double>(layer.figures.output.channels);
    noise(layer.weights, 2, std::sqrt(3 / inputs));
    noise(layer.biases, 3, 0.1);
    if (layer.figures.layer->kind == networks::Kind::BatchNormalisation)
      for (double& scale : layer.weights) scale = 1 + scale / 8;  // near 1, and none is 0
    for (std::size_t i = 0; i < layer.factor.size(); ++i) {
      const double rate = layer.figures.layer->rate;
      layer.factor[i] = static_cast<double>(uniform(key_of(seed, 4, row), i)) < rate ? 0 : 1 / (1 - rate);
    }
  }
}

// A position where something can be seen: most gradients behind a dropout or a closed ReLU are zero.
std::size_t sample(const Values& gradient, double largest, std::uint64_t key) {
  std::size_t at = 0;
  for (std::uint64_t attempt = 0; attempt < 1000; ++attempt) {
    at = key_of(key, attempt) % gradient.size();
    if (std::abs(gradient[at]) > 0.01 * largest) break;
  }
  return at;
}

// Moves sampled values of a tensor and compares slopes; rows from `first` on feel it.
GradientCheck check_tensor(ReferenceNetwork& reference, std::size_t first, std::string layer, const char* name,
                           Values& values, const Values& gradient) {
  double largest = 0, worst = 0;
  for (const double each : gradient) largest = std::max(largest, std::abs(each));
  for (std::size_t k = 0; k < kPositions; ++k) {
    const std::size_t at = sample(gradient, largest, key_of(k, first));
    const double before = values[at];
    values[at] = before + kStep;
    const double above = reference.forward(false, first);
    values[at] = before - kStep;
    const double below = reference.forward(false, first);
    values[at] = before;
    const double error = std::abs((above - below) / (2 * kStep) - gradient[at]);
    if (std::isnan(error)) return {std::move(layer), name, error, kToleranceFiniteDifferences};
    worst = std::max(worst, error);
  }
  return {std::move(layer), name, worst / std::max(largest, 1e-300), kToleranceFiniteDifferences};
}

}  // namespace

std::vector<GradientCheck> check_kernels(const networks::Network& network, const CheckOptions& options) {
  return Comparison(network, options).run();
}

TensorNames tensor_names(Kind kind) {
  if (kind == Kind::BatchNormalisation) return {.weights = "scale", .biases = "shift"};
  return {.weights = "weights", .biases = "biases"};
}

int check_gradients(const networks::Network& network, const CheckOptions& options, std::ostream& out) {
  apply(options.settings);
  std::vector<GradientCheck> kernels = check_kernels(network, options);
  std::int64_t flops = 0;
  for (const networks::LayerFigures& figures : networks::figures(network)) flops += figures.forward_flops;
  const networks::Network& small = flops > kMostFlopsForFiniteDifferences ? kEveryKind : network;
  const std::vector<GradientCheck> reference = check_reference(small, options.seed);
  bool passed = true;
  const auto print = [&](const char* title, const std::vector<GradientCheck>& checks) {
    out << title << '\n';
    for (const GradientCheck& check : checks) {
      passed = passed && check.passed();
      out << "  " << std::left << std::setw(22) << check.layer << std::setw(18) << check.tensor << std::right
          << std::scientific << std::setprecision(2) << check.error << "  of " << check.tolerance
          << (check.passed() ? "  ok" : "  WRONG") << '\n';
    }
  };
  const std::string precision(to_text(options.settings.precision));
  print(("kernels (" + precision + ") against the double-precision reference, relative error:").c_str(), kernels);
  print(("the reference against finite differences (" + std::string(small.name) + "), relative error:").c_str(),
        reference);
  out << (passed ? "all gradients agree\n" : "gradients DIFFER\n");
  return passed ? 0 : 1;
}

// check_reference(): the reference's gradients against central differences of its loss.

std::vector<GradientCheck> check_reference(const networks::Network& network, std::uint64_t seed) {
  ReferenceNetwork reference(network, kImages);
  fill(reference, seed);
  reference.forward(true);
  reference.backward();
  const std::vector<ReferenceLayer> computed = reference.layers;  // forward() moves the last row's gradient
  std::vector<GradientCheck> checks;
  // From the last row up: moving a row's values disturbs only the outputs below it, which later checks compute again.
  for (std::size_t row = reference.layers.size(); row-- > 0;) {
    ReferenceLayer& layer = reference.layers[row];
    const std::string name(layer.figures.layer->name);
    const TensorNames names = tensor_names(layer.figures.layer->kind);
    checks.push_back(
        check_tensor(reference, row + 1, name, "activation gradient", layer.output, computed[row].activation_gradient));
    if (!layer.biases.empty())
      checks.push_back(check_tensor(reference, row, name, names.biases, layer.biases, computed[row].biases_gradient));
    if (!layer.weights.empty()) {
      checks.push_back(
          check_tensor(reference, row, name, names.weights, layer.weights, computed[row].weights_gradient));
    }
  }
  checks.push_back(
      check_tensor(reference, 0, "image", "activation gradient", reference.image, reference.image_gradient));
  std::reverse(checks.begin(), checks.end());
  return checks;
}

}  // namespace nocturne::onednn
