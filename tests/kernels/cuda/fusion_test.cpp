#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <stdexcept>

#include "kernels/cuda/fusion/fusion_choice.hpp"

namespace nocturne::cuda {
namespace {

using Catch::Matchers::ContainsSubstring;

// A GPU whose passes leave a number and take a time.
struct SimulatedGpu {
  double apart_leaves = 8, fused_leaves = 8;
  double apart_ms = 2, fused_ms = 1;
  bool fused_writes = true, fused_fails = false, fused_hides = false;
  int timed = 0;
  std::string order = {};

  double lies_there = 0, kept = 0, now_ms = 0;
  bool poisoned = false;

  FusionWays ways() {
    return {.prepare =
                [this] {
                  order += 'p';
                  poisoned = false;
                },
            .poison = [this] { poisoned = true; },
            .apart =
                [this] {
                  order += 'a';
                  lies_there = apart_leaves;
                  now_ms = apart_ms;
                },
            .fused =
                [this] {
                  order += 'f';
                  if (fused_fails) throw std::runtime_error("no plan");
                  if (fused_writes) lies_there = poisoned && !fused_hides ? std::nan("") : fused_leaves;
                  now_ms = fused_ms;
                },
            .keep =
                [this] {
                  kept = lies_there;
                  lies_there = -1e30;
                },
            .compare =
                [this] {
                  return std::vector{Agreement{.largest_difference = std::abs(lies_there - kept),
                                               .largest_value = std::abs(kept),
                                               .finite = !std::isnan(lies_there)}};
                },
            .time =
                [this](const std::function<void()>& pass) {
                  ++timed;
                  pass();
                  return now_ms;
                }};
  }
  FusionChoice choice(Precision precision) { return choose_fusion(try_fusion(ways(), precision), precision); }
};

}  // namespace

TEST_CASE("a fused pass is used where it is right and faster", "[cuda]") {
  SimulatedGpu gpu;
  const FusionChoice choice = gpu.choice(Precision::Bf16);
  CHECK(choice.fused);
  CHECK(choice.reason == "1.0000 ms, one by one 2.0000 ms");
  CHECK(gpu.order.starts_with("papffpafaf"));  // compared, poisoned, then timed in turn
  CHECK_FALSE(gpu.poisoned);
  SimulatedGpu slow{.fused_ms = 2};
  CHECK_FALSE(slow.choice(Precision::Bf16).fused);
}

TEST_CASE("a fused pass that computes something else is refused, however fast it is", "[cuda]") {
  for (const Precision precision : {Precision::F32, Precision::Tf32, Precision::Bf16, Precision::F16}) {
    const double tolerance = fusion_tolerance(precision);
    SimulatedGpu inside{.fused_leaves = 8 * (1 + 0.9 * tolerance), .fused_ms = 0.01};
    CHECK(inside.choice(precision).fused);
    SimulatedGpu beyond{.fused_leaves = 8 * (1 + 1.1 * tolerance), .fused_ms = 0.01};
    const FusionChoice choice = beyond.choice(precision);
    CHECK_FALSE(choice.fused);
    CHECK_THAT(choice.reason, ContainsSubstring("refused: its result differs by"));
    CHECK(beyond.timed == 0);
  }
}

TEST_CASE("a fused pass that writes nothing, or no number, is refused", "[cuda]") {
  SimulatedGpu silent{.fused_writes = false};
  CHECK_FALSE(silent.choice(Precision::Bf16).fused);
  SimulatedGpu nothing{.fused_leaves = std::nan("")};
  CHECK(nothing.choice(Precision::Bf16).reason == "refused: its result is not finite");
}

TEST_CASE("a fused pass that hides what is no number is refused: the loss must show a diverged training", "[cuda]") {
  SimulatedGpu hiding{.fused_hides = true};
  const FusionChoice choice = hiding.choice(Precision::Bf16);
  CHECK_FALSE(choice.fused);
  CHECK(choice.reason == "refused: it makes numbers of what is none");
  CHECK(hiding.timed == 0);
}

TEST_CASE("where there is no graph the operations stay apart, and the reason is known", "[cuda]") {
  SimulatedGpu gpu{.fused_fails = true};
  const FusionChoice choice = gpu.choice(Precision::F16);
  CHECK_FALSE(choice.fused);
  CHECK(choice.reason == "no plan");
  CHECK(gpu.timed == 0);
}

TEST_CASE("narrower numbers allow more rounding, and tf32 in place of f32 is not rounding", "[cuda]") {
  CHECK(fusion_tolerance(Precision::F32) < fusion_tolerance(Precision::F16));
  CHECK(fusion_tolerance(Precision::F16) < fusion_tolerance(Precision::Bf16));
  CHECK(fusion_tolerance(Precision::F32) < 1.0 / (1 << 11));  // half a unit of tf32
}

TEST_CASE("a convolution is fused with its bias and rectifier, or with the statistics of its normalisation", "[cuda]") {
  const NetworkPlan plain = plan_network(networks::find_network("mnist_cnn"), 8, 4);
  const auto groups = fusion_groups(plain);
  REQUIRE(groups.size() == 4);  // two convolutions, two dense layers
  for (const FusionGroup& group : groups) CHECK_FALSE(group.normalisation);

  const NetworkPlan residual = plan_network(networks::find_network("resnet50"), 2, 2);
  std::size_t normalised = 0;
  for (const FusionGroup& group : fusion_groups(residual)) {
    const networks::LayerFigures& own = residual.rows[group.row].figures;
    CAPTURE(own.layer->name);
    CHECK(own.layer->bias == !group.normalisation);
    if (!group.normalisation) continue;
    ++normalised;
    const networks::LayerFigures& norm = residual.rows[*group.normalisation].figures;
    CHECK(norm.layer->kind == networks::Kind::BatchNormalisation);
    CHECK(norm.source == static_cast<std::int64_t>(group.row));
  }
  CHECK(normalised == 53);
}

}  // namespace nocturne::cuda
