#include "kernels/onednn/check_gradients.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <span>

#include "kernels/onednn/plan.hpp"
#include "kernels/onednn/random.hpp"
#include "kernels/onednn/reference.hpp"
#include "kernels/onednn/reference_loops.hpp"
#include "kernels/onednn/refusal.hpp"

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
  for (std::size_t n = 0; n < reference.labels.size(); ++n) {
    reference.labels[n] = static_cast<std::uint8_t>(key_of(seed, 0x1abe, n) % 10);
  }
}

Values widen(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

// One run of both sides: what the plan computed, row by row, in plain order.
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
        input_differences_(network.layers.size()) {}

  std::vector<GradientCheck> run() {
    parameters_.initialise(options_.seed, stream_);
    plan_.bind(parameters_);
    fill_batch(plan_, reference_, options_.seed);
    plan_.observe([this](std::size_t row, const dnnl::memory& memory) { outputs_[row] = read_plain(memory, stream_); },
                  [this](std::size_t row, const dnnl::memory& memory) {
                    if (row > 0) input_differences_[row] = read_plain(memory, stream_);
                  });
    const double loss = static_cast<double>(plan_.train(reference_.labels.data(), key_of(options_.seed, 0xd409)));
    if (options_.tamper) options_.tamper(parameters_);
    copy_parameters();
    const double near_tie = decide_like_plan();
    const double expected = reference_.forward(false);
    reference_.backward();
    checks_.push_back({"loss", "", std::abs(loss - expected) / expected, tolerance()});
    checks_.push_back({"all", "decisions", near_tie, tolerance()});
    compare();
    return checks_;
  }

 private:
  [[nodiscard]] double tolerance() const {
    return options_.settings.precision == Precision::F32 ? kToleranceF32 : kToleranceBf16;
  }

  std::vector<float> read(const ReferenceLayer& layer, const char* tensor, bool gradient) {
    ParameterTensor& found = parameters_.tensor(std::string(layer.figures.layer->name) + tensor);
    return read_plain(gradient ? found.gradient : found.value, stream_);
  }

  void copy_parameters() {
    for (ReferenceLayer& layer : reference_.layers) {
      if (layer.weights.empty()) continue;
      layer.weights = widen(read(layer, ".weights", false));
      layer.biases = widen(read(layer, ".biases", false));
    }
  }

  // Takes the plan's decisions. Returns how far from a tie the worst was that the reference would have taken otherwise,
  // relative to the largest value of its row.
  double decide_like_plan() {
    double worst = 0;
    for (std::size_t row = 0; row < reference_.layers.size(); ++row) {
      ReferenceLayer& layer = reference_.layers[row];
      if (layer.figures.layer->kind != Kind::Dropout) continue;
      for (std::size_t i = 0; i < layer.factor.size(); ++i) {
        layer.factor[i] = outputs_[row][i] != 0.0F ? 1 / (1 - layer.figures.layer->rate) : 0;
      }
    }
    reference_.forward(true);
    for (std::size_t row = 0; row < reference_.layers.size(); ++row) {
      ReferenceLayer& layer = reference_.layers[row];
      const double scale = std::max(largest_magnitude(layer.output), 1e-300);
      for (std::size_t i = 0; i < layer.open.size(); ++i) {
        const char open = outputs_[row][i] > 0.0F ? 1 : 0;
        if (open == layer.open[i]) continue;
        // Closed here, open there: its size there; open here, closed there: as large as rounding made it here.
        const double size = open == 0 ? layer.output[i] : static_cast<double>(outputs_[row][i]);
        worst = std::max(worst, std::abs(size) / scale);
        layer.open[i] = open;
      }
      if (!layer.winner.empty()) worst = std::max(worst, take_winners(row, scale));
    }
    return worst;
  }

  double take_winners(std::size_t row, double scale) {
    ReferenceLayer& layer = reference_.layers[row];
    ReferenceLayer chosen = layer;
    reference_max_pool(chosen, widen(outputs_[row - 1]), reference_.batch(), true);
    const Values& input = reference_.input(row);
    double worst = 0;
    for (std::size_t i = 0; i < layer.winner.size(); ++i) {
      const double other = input[static_cast<std::size_t>(chosen.winner[i])];
      worst = std::max(worst, std::abs(layer.output[i] - other) / scale);
    }
    layer.winner = chosen.winner;
    return worst;
  }

  void compare() {
    for (std::size_t row = 0; row < reference_.layers.size(); ++row) {
      ReferenceLayer& layer = reference_.layers[row];
      const std::string name(layer.figures.layer->name);
      if (!layer.weights.empty()) {
        checks_.push_back(
            {name, "weights", relative_error(read(layer, ".weights", true), layer.weights_gradient), tolerance()});
        checks_.push_back(
            {name, "biases", relative_error(read(layer, ".biases", true), layer.biases_gradient), tolerance()});
      }
      if (row == 0) continue;
      // What the ReLU above would stop does not count: it may have been stopped already (plan.hpp).
      Values expected = layer.input_difference;
      std::vector<float> found = input_differences_[row];
      const std::vector<float>& input = outputs_[row - 1];
      for (std::size_t i = 0; i < expected.size(); ++i) {
        if (input[i] == 0.0F) expected[i] = 0, found[i] = 0;
      }
      checks_.push_back({name, "input difference", relative_error(found, expected), tolerance()});
    }
  }

  const CheckOptions& options_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  Plan plan_;
  Parameters parameters_;
  ReferenceNetwork reference_;
  std::vector<std::vector<float>> outputs_, input_differences_;
  std::vector<GradientCheck> checks_;
};

}  // namespace

std::vector<GradientCheck> check_kernels(const networks::Network& network, const CheckOptions& options) {
  return Comparison(network, options).run();
}

int check_gradients(const networks::Network& network, const CheckOptions& options, std::ostream& out) {
  apply(options.settings);
  std::vector<GradientCheck> kernels = check_kernels(network, options);
  const std::vector<GradientCheck> reference = check_reference(network, options.seed);
  bool passed = true;
  const auto print = [&](const char* title, const std::vector<GradientCheck>& checks) {
    out << title << '\n';
    for (const GradientCheck& check : checks) {
      passed = passed && check.passed();
      out << "  " << std::left << std::setw(10) << check.layer << std::setw(18) << check.tensor << std::right
          << std::scientific << std::setprecision(2) << check.error << "  of " << check.tolerance
          << (check.passed() ? "  ok" : "  WRONG") << '\n';
    }
  };
  const std::string precision(to_text(options.settings.precision));
  print(("kernels (" + precision + ") against the double-precision reference, relative error:").c_str(), kernels);
  print("the reference against finite differences, relative error:", reference);
  out << (passed ? "all gradients agree\n" : "gradients DIFFER\n");
  return passed ? 0 : 1;
}

}  // namespace nocturne::onednn
