#include "measure/gate/gate.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <string>

namespace nocturne::measure {
namespace {

using Catch::Approx;
using Catch::Matchers::ContainsSubstring;

constexpr GateTolerance kEach{.loss = 0.01, .moved = 0.02, .norm = 0.001};
constexpr GateTolerances kTolerances{.first = kEach, .later = kEach};

/// Two tensors, three steps; each moves by its step times 0.01.
space::Run gate_run() {
  space::Run run;
  run.outcome = space::Outcome::Ok;
  for (std::int64_t steps = 0; steps <= 3; ++steps) {
    for (const char* layer : {"conv1.weights", "conv1.biases"})
      run.norms.push_back({.steps = steps, .layer = layer, .norm = 4.0, .moved = 0.01 * static_cast<double>(steps)});
    if (steps > 0) run.samples.push_back({.first_step = steps - 1, .steps = 1, .loss = 2.3});
  }
  return run;
}

space::Norm& norm_of(space::Run& run, std::int64_t steps, const std::string& layer) {
  for (space::Norm& norm : run.norms)
    if (norm.steps == steps && norm.layer == layer) return norm;
  FAIL("no such norm");
  return run.norms.front();
}

GateComparison compared(const space::Run& candidate) {
  const auto result = compare_gate(gate_run(), candidate, kTolerances);
  if (!result) FAIL(result.error());
  return *result;
}

std::string refused(const space::Run& candidate) {
  const auto result = compare_gate(gate_run(), candidate, kTolerances);
  return result ? "" : result.error();
}

}  // namespace

TEST_CASE("equal trainings agree, and rounding within the tolerance is told", "[gate]") {
  CHECK(compared(gate_run()).agrees);
  CHECK(compared(gate_run()).difference.size == 0);
  space::Run candidate = gate_run();
  norm_of(candidate, 2, "conv1.biases").moved = 0.0201;
  const GateComparison result = compared(candidate);
  CHECK(result.agrees);
  CHECK(result.difference.what == "conv1.biases");
  CHECK(result.difference.step == 2);
  CHECK(result.difference.size == Approx(0.0001 / 0.0201));
}

TEST_CASE("a tensor that does not move is named with its step and the size of the deviation", "[gate]") {
  space::Run candidate = gate_run();
  for (const std::int64_t steps : {2, 3}) norm_of(candidate, steps, "conv1.biases").moved = 0.0;
  candidate.samples[1].loss = 2.4;  // deviates as well: the tensor says more
  const GateComparison result = compared(candidate);
  CHECK_FALSE(result.agrees);
  CHECK(result.difference.what == "conv1.biases");
  CHECK(result.difference.step == 2);
  CHECK(result.difference.size == 1);
  CHECK(result.difference.sentence ==
        "after step 2, conv1.biases has moved by 0, in the reference by 0.02: 100 % apart, 2 % is allowed");
}

TEST_CASE("the first step that deviates is told, not the worst", "[gate]") {
  space::Run candidate = gate_run();
  candidate.samples[0].loss = 2.35;
  norm_of(candidate, 3, "conv1.weights").norm = 9.0;
  const GateComparison result = compared(candidate);
  CHECK(result.difference.what == "loss");
  CHECK(result.difference.step == 1);
  CHECK_THAT(result.difference.sentence, ContainsSubstring("the loss of step 1 is 2.35, the reference's 2.3"));
}

TEST_CASE("what is not finite agrees with nothing", "[gate]") {
  space::Run candidate = gate_run();
  SECTION("a loss") {
    candidate.samples[2].loss.reset();
  }
  SECTION("a norm") {
    norm_of(candidate, 3, "conv1.weights").norm.reset();
  }
  const GateComparison result = compared(candidate);
  CHECK_FALSE(result.agrees);
  CHECK(result.difference.step == 3);
  CHECK_THAT(result.difference.sentence, ContainsSubstring("not finite"));
}

TEST_CASE("runs that cannot be compared are told from wrong ones", "[gate]") {
  space::Run candidate = gate_run();
  SECTION("a worker that ignores the gate") {
    candidate.norms.clear();
    CHECK_THAT(refused(candidate), ContainsSubstring("does not know the gate"));
  }
  SECTION("other initial weights") {
    norm_of(candidate, 0, "conv1.weights").norm = 4.1;
    CHECK_THAT(refused(candidate), ContainsSubstring("does not begin with the weights it was given: conv1.weights"));
  }
  SECTION("a layer less") {
    std::erase_if(candidate.norms, [](const space::Norm& norm) { return norm.layer == "conv1.biases"; });
    CHECK_THAT(refused(candidate), ContainsSubstring("no norm of conv1.biases after 3 steps"));
  }
  SECTION("a step less") {
    candidate.samples.pop_back();
    CHECK_THAT(refused(candidate), ContainsSubstring("no loss of step 3"));
  }
}

TEST_CASE("a worker may report the norms of the last step alone", "[gate]") {
  space::Run candidate = gate_run();
  std::erase_if(candidate.norms, [](const space::Norm& norm) { return norm.steps != 3; });
  CHECK(compared(candidate).agrees);
  norm_of(candidate, 3, "conv1.weights").moved = 0.04;
  CHECK(compared(candidate).difference.step == 3);
}

TEST_CASE("bf16 is given more room than f32", "[gate]") {
  const GateTolerances f32 = gate_tolerances("f32"), bf16 = gate_tolerances("bf16");
  for (const std::int64_t step : {1, 2}) {
    CHECK(f32.of_step(step).loss < bf16.of_step(step).loss);
    CHECK(f32.of_step(step).moved < bf16.of_step(step).moved);
    CHECK(f32.of_step(step).norm < bf16.of_step(step).norm);
  }
  CHECK(bf16.of_step(1).moved < bf16.of_step(2).moved);
}

TEST_CASE("a network that normalises is known by its scales, and judged by its first steps", "[gate]") {
  space::Run reference = gate_run();
  CHECK_FALSE(is_normalised(reference));
  for (space::Norm& norm : reference.norms)
    if (norm.layer == "conv1.biases") norm.layer = "norm1.scale";
  CHECK(is_normalised(reference));
  const GateTolerances rules = gate_tolerances("f32", true);
  space::Run candidate = reference;
  norm_of(candidate, 3, "norm1.scale").moved = 9;
  candidate.samples[2].loss = 99;
  CHECK(compare_gate(reference, candidate, rules)->agrees);
  norm_of(candidate, 1, "norm1.scale").moved = 0.009;
  CHECK_FALSE(compare_gate(reference, candidate, rules)->agrees);
  for (const bool normalised : {false, true})
    CHECK(gate_tolerances("f32", normalised).later.moved < gate_tolerances("bf16", normalised).later.moved);
}

TEST_CASE("single tensors may differ by more than half of them may", "[gate]") {
  constexpr GateTolerance kLoose{.loss = 1, .moved = 0.5, .norm = 1, .middle = 0.1};
  space::Run reference = gate_run(), candidate = gate_run();
  for (std::int64_t steps = 0; steps <= 3; ++steps) {
    const space::Norm third{
        .steps = steps, .layer = "dense1.weights", .norm = 4.0, .moved = 0.01 * static_cast<double>(steps)};
    reference.norms.push_back(third);
    candidate.norms.push_back(third);
  }
  norm_of(candidate, 2, "conv1.biases").moved = 0.03;
  CHECK(compare_gate(reference, candidate, {.first = kLoose, .later = kLoose})->agrees);
  norm_of(candidate, 2, "dense1.weights").moved = 0.03;
  const auto result = compare_gate(reference, candidate, {.first = kLoose, .later = kLoose});
  REQUIRE(result);
  CHECK_FALSE(result->agrees);
  CHECK(result->difference.what == "half of the tensors");
  CHECK(result->difference.sentence ==
        "after step 2, half of the tensors have moved by other distances than in the reference: 33.3 % apart or more, "
        "10 % is allowed");
}

TEST_CASE("biases begin at zero, so that their norm is given what their movement is given", "[gate]") {
  space::Run reference = gate_run(), candidate = gate_run();
  norm_of(reference, 2, "conv1.biases") = {.steps = 2, .layer = "conv1.biases", .norm = 0.02, .moved = 0.02};
  norm_of(candidate, 2, "conv1.biases") = {.steps = 2, .layer = "conv1.biases", .norm = 0.0203, .moved = 0.0203};
  CHECK(compare_gate(reference, candidate, kTolerances)->agrees);
  norm_of(candidate, 2, "conv1.biases").norm = 0.021;
  CHECK_FALSE(compare_gate(reference, candidate, kTolerances)->agrees);
}

}  // namespace nocturne::measure
