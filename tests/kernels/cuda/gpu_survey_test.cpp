#include "kernels/cuda/survey/gpu_survey.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <set>
#include <stdexcept>

#include "kernels/machine/report.hpp"

namespace nocturne::cuda {
namespace {

using machine::Measurement;
using machine::Seconds;
using std::chrono::nanoseconds;

constexpr Seconds kNoTime{0};  // the fewest repeats

// A loop of a GPU whose clock says that an iteration takes `each`.
GpuLoop simulated(const std::string& name, const std::string& kernel, double work, nanoseconds each,
                  bool right = true) {
  return {.name = name,
          .unit = "GFLOP/s",
          .kernel = kernel,
          .work = work,
          .fewest = 4,
          .most = 1 << 30,
          .run = [each](std::int64_t iterations) { return each * iterations; },
          .is_right = [right] { return right; }};
}

std::set<std::string> keys(const nlohmann::json& object) {
  std::set<std::string> names;
  for (const auto& [key, value] : object.items()) names.insert(key);
  return names;
}

}  // namespace

TEST_CASE("a GPU's rate is its work by its own clock, over runs long enough to be timed", "[cuda]") {
  std::vector<std::int64_t> asked;
  GpuLoop loop = simulated("fma_f32", "fma", 5000, nanoseconds(10));
  const auto run = loop.run;
  loop.run = [&](std::int64_t iterations) {
    asked.push_back(iterations);
    return run(iterations);
  };
  const auto results = survey_gpu({loop}, kNoTime);
  REQUIRE(results.size() == 1);
  CHECK(results[0].rate.median == Catch::Approx(500));
  CHECK(results[0].rate.repeats == machine::kFewestRepeats);
  CHECK(asked.front() == 4);
  CHECK(asked.back() * 10 >= 20'000'000);  // 20 ms
}

TEST_CASE("of two loops for one figure the faster counts, unless it computes something else", "[cuda]") {
  const GpuLoop slow = simulated("fma_bf16", "mma", 100, nanoseconds(10)),
                fast = simulated("fma_bf16", "cudnn", 100, nanoseconds(5)),
                wrong = simulated("fma_bf16", "broken", 100, nanoseconds(1), false);
  for (const auto& loops : {std::vector{slow, fast, wrong}, std::vector{wrong, fast, slow}}) {
    const auto results = survey_gpu(loops, kNoTime);
    REQUIRE(results.size() == 1);
    CHECK(results[0].kernel == "cudnn");
    CHECK(results[0].right);
  }
  CHECK_FALSE(survey_gpu({wrong}, kNoTime)[0].right);
}

TEST_CASE("one wrong run among many is remembered", "[cuda]") {
  int runs = 0;
  GpuLoop loop = simulated("triad", "triad", 12, nanoseconds(100));
  loop.is_right = [&] { return ++runs != 2; };
  CHECK_FALSE(survey_gpu({loop}, kNoTime)[0].right);
}

TEST_CASE("what a GPU cannot do, or refuses, is absent with the reason, and the others are measured", "[cuda]") {
  GpuLoop refused = simulated("triad", "triad", 12, nanoseconds(1));
  refused.run = [](std::int64_t) -> nanoseconds { throw std::runtime_error("the GPU refused 1.0 GiB for the triad"); };
  const auto results = survey_gpu({{.name = "fma_bf16", .unit = "GFLOP/s", .kernel = "mma", .absent = "bf16 needs 8.0"},
                                   refused,
                                   simulated("fma_f32", "fma", 1, nanoseconds(1))},
                                  kNoTime);
  REQUIRE(results.size() == 3);
  CHECK(results[0].absent == "bf16 needs 8.0");
  CHECK(results[1].absent == "the GPU refused 1.0 GiB for the triad");
  CHECK(results[2].rate.maximum == Catch::Approx(1));
}

TEST_CASE("a GPU's figures have the fields of the processor's", "[cuda]") {
  DeviceFacts facts;
  facts.name = "Some GPU";
  facts.major = 9;
  facts.memory_bytes = 1 << 30;
  GpuLoop loop = simulated("triad", "triad", 12, nanoseconds(10));
  loop.working_set_bytes = 1 << 20;
  const nlohmann::json gpu = describe_gpu(facts, survey_gpu({loop}, kNoTime));
  CHECK(gpu["name"] == "Some GPU");
  CHECK(gpu["compute_capability"] == "9.0");
  CHECK(gpu["memory_bytes"] == 1 << 30);
  Measurement processor{.name = "triad", .unit = "GB/s", .working_set_bytes = 1};
  CHECK(keys(gpu["measurements"][0]) == keys(machine::to_json({processor})["measurements"][0]));
  CHECK(gpu["measurements"][0]["threads"] == 1);
}

}  // namespace nocturne::cuda
