#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "kernels/networks/mnist_cnn.hpp"
#include "kernels/networks/resnet.hpp"
#include "kernels/onednn/check/check_gradients.hpp"
#include "kernels/onednn/check/every_kind.hpp"
#include "kernels/onednn/instruction_set.hpp"

namespace nocturne::onednn {
namespace {

CheckOptions options_of(Precision precision, Layout layout) {
  return {.settings = {.precision = precision, .batch = 6, .layout = layout, .threads = 0, .isa = "auto"},
          .seed = 3,
          .tamper = {}};
}

void require_all_pass(const std::vector<GradientCheck>& checks) {
  for (const GradientCheck& check : checks) {
    INFO(check.layer << " " << check.tensor << ": " << check.error << " of " << check.tolerance);
    CHECK(check.passed());
  }
}

std::vector<std::string> failures(const std::vector<GradientCheck>& checks) {
  std::vector<std::string> names;
  for (const GradientCheck& check : checks)
    if (!check.passed()) names.push_back(check.layer + " " + check.tensor);
  return names;
}

}  // namespace

TEST_CASE("gradients of every layer agree with the double-precision reference, f32", "[onednn]") {
  const Layout layout = GENERATE(Layout::Blocked, Layout::Plain);
  const auto checks = check_kernels(networks::kMnistCnn, options_of(Precision::F32, layout));
  CHECK(checks.size() == 22);  // 7 outputs, the loss, 4 × weights and biases, 6 input activation gradients
  require_all_pass(checks);
}

TEST_CASE("gradients of every layer agree with the double-precision reference, bf16", "[onednn]") {
  if (bf16_support() == "none") SKIP("this CPU has no AVX-512");
  const Layout layout = GENERATE(Layout::Blocked, Layout::Plain);
  require_all_pass(check_kernels(networks::kMnistCnn, options_of(Precision::Bf16, layout)));
}

TEST_CASE("every kind of layer, strided, padded, forking and joining, agrees with the reference", "[onednn]") {
  const Layout layout = GENERATE(Layout::Blocked, Layout::Plain);
  require_all_pass(check_kernels(kEveryKind, options_of(Precision::F32, layout)));
  if (bf16_support() != "none") require_all_pass(check_kernels(kEveryKind, options_of(Precision::Bf16, layout)));
}

TEST_CASE("ResNet20's rows agree with the reference", "[onednn]") {
  require_all_pass(check_kernels(networks::kResNet20, options_of(Precision::F32, Layout::Blocked)));
}

TEST_CASE("a wrong gradient of a scale is found in its layer", "[onednn]") {
  CheckOptions options = options_of(Precision::F32, Layout::Blocked);
  options.tamper = [](Parameters& parameters) {
    static_cast<float*>(parameters.tensor("block1.norm2.scale").gradient.get_data_handle())[5] *= 1.1F;
  };
  CHECK(failures(check_kernels(kEveryKind, options)) == std::vector<std::string>{"block1.norm2 scale"});
}

TEST_CASE("the reference agrees with finite differences where every kind of layer is", "[onednn]") {
  require_all_pass(check_reference(kEveryKind, 5));
}

TEST_CASE("the reference agrees with finite differences", "[onednn]") {
  const auto checks = check_reference(networks::kMnistCnn, 5);
  CHECK(checks.size() == 16);  // the image, 7 outputs, 4 × weights and biases
  require_all_pass(checks);
  for (const GradientCheck& check : checks) CHECK(check.error > 0);  // nothing was compared with itself
}

TEST_CASE("a planted wrong gradient is found in its layer", "[onednn]") {
  CheckOptions options = options_of(Precision::F32, Layout::Blocked);
  options.tamper = [](Parameters& parameters) {
    auto* gradient = static_cast<float*>(parameters.tensor("conv2.weights").gradient.get_data_handle());
    for (int i = 0; i < 64 * 32 * 9; ++i) gradient[i] *= 1.001F;
  };
  CHECK(failures(check_kernels(networks::kMnistCnn, options)) == std::vector<std::string>{"conv2 weights"});
}

TEST_CASE("one wrong bias gradient is enough", "[onednn]") {
  CheckOptions options = options_of(Precision::F32, Layout::Blocked);
  options.tamper = [](Parameters& parameters) {
    static_cast<float*>(parameters.tensor("dense1.biases").gradient.get_data_handle())[17] += 1.0F;
  };
  CHECK(failures(check_kernels(networks::kMnistCnn, options)) == std::vector<std::string>{"dense1 biases"});
}

TEST_CASE("a gradient that is no number passes nowhere", "[onednn]") {
  CheckOptions options = options_of(Precision::F32, Layout::Blocked);
  options.tamper = [](Parameters& parameters) {
    static_cast<std::uint32_t*>(parameters.tensor("conv1.weights").gradient.get_data_handle())[3] = 0x7fc00000U;
  };
  CHECK(failures(check_kernels(networks::kMnistCnn, options)) == std::vector<std::string>{"conv1 weights"});
}

}  // namespace nocturne::onednn
