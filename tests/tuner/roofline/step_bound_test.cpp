#include "tuner/roofline/step_bound.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/tuner/roofline/sample_peaks.hpp"
#include "tuner/roofline/peak_figures.hpp"

using namespace nocturne;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;

namespace {

tuner::MachineFigures sample_machine(const nlohmann::json& fields = {}) {
  auto machine = tuner::MachineFigures::from_json(test::sample_figures(), fields);
  if (!machine) FAIL(machine.error());
  return *std::move(machine);
}

tuner::StepBound bound_of(const tuner::TrainingStep& step) {
  const auto network = tuner::network_work(test::sample_network());
  if (!network) FAIL(network.error());
  auto bound = tuner::step_bound(*network, sample_machine(), step);
  if (!bound) FAIL(bound.error());
  return *std::move(bound);
}

tuner::PeakFigures sample_peaks() {
  auto peaks = tuner::PeakFigures::make(test::sample_figures(), {}, test::sample_network(), "adadelta");
  if (!peaks) FAIL(peaks.error());
  return *std::move(peaks);
}

}  // namespace

TEST_CASE("the MNIST CNN takes 71.6 MFLOP an image, in four layers that compute", "[roofline]") {
  const auto network = tuner::network_work(test::sample_network());
  REQUIRE(network);
  CHECK(network->operations() == 71'565'312);
  CHECK(network->parameters == 1'199'882);
  REQUIRE(network->layers.size() == 4);
  CHECK(network->layers[0].name == "conv1");
  CHECK(network->layers[0].values == 2 * (784 + 21'632));  // nothing below it wants a difference
  CHECK(network->layers[0].parameters == 2 * 320);
  CHECK(network->layers[1].values == 2 * (21'632 + 36'864) + 21'632);
  CHECK(network->layers[1].parameters == 3 * 18'496);
}

TEST_CASE("what is no description of a network is refused in a sentence", "[roofline]") {
  for (const char* wrong : {"{}", R"({"network": "n", "parameters": 1, "layers": []})",
                            R"({"network": "n", "parameters": 1, "layers": [{"name": "a"}]})", R"({"network": 3})"}) {
    CAPTURE(wrong);
    const auto network = tuner::network_work(nlohmann::json::parse(wrong));
    REQUIRE_FALSE(network);
    CHECK_FALSE(network.error().empty());
  }
}

TEST_CASE("figures are the most that was seen, by as many threads as work", "[roofline]") {
  const auto machine = sample_machine();
  CHECK(machine.rate("fma_f32", 1) == 100);
  CHECK(machine.rate("fma_f32", 2) == 200);
  CHECK(machine.rate("fma_f32", 0) == 200);
  CHECK(machine.rate("fma_f32", 64) == 200);
  CHECK(machine.rate("triad", 1) == 20);
  CHECK(machine.rate("triad", 2) == 30);  // not twice that of one
  CHECK_FALSE(machine.rate("fma_f16", 1));
  CHECK_FALSE(machine.rate("latency_l3", 2));  // absent
  CHECK(machine.cache_bytes(0, 1) == 1 << 20);
  CHECK(machine.cache_bytes(0, 2) == 2 << 20);
  CHECK(machine.cache_bytes(0, 9) == 2 << 20);
  CHECK(machine.cache_bytes(1, 2) == 32 << 20);  // one, shared
}

TEST_CASE("figures that cannot be read are refused in a sentence", "[roofline]") {
  auto wrong_result = test::sample_figures();
  for (auto& each : wrong_result["measurements"]) each["right"] = false;
  auto without_peak = test::sample_figures();
  without_peak["measurements"] = nlohmann::json::array();
  for (const nlohmann::json& document : {nlohmann::json::object(), without_peak, wrong_result,
                                         nlohmann::json{{"measurements", "many"}}, nlohmann::json(3)}) {
    CAPTURE(document.dump());
    CHECK_FALSE(tuner::MachineFigures::from_json(document));
  }
}

TEST_CASE("a step's bound is that of its layers and of the optimizer, by hand", "[roofline]") {
  const auto bound = bound_of({.precision = "f32", .batch = 100, .threads = 2, .optimizer = "adadelta"});
  REQUIRE(bound.layers.size() == 5);
  // conv2: 63,700,992 operations an image at 200 GFLOP/s; 55.7 MB are more than the L3 holds: 30 GB/s.
  CHECK(bound.layers[1].arithmetic_s == Approx(63'700'992.0 * 100 / 200e9));
  CHECK(bound.layers[1].bytes_s == Approx((138'624.0 * 100 + 55'488) * 4 / 30e9));
  CHECK(bound.layers[1].resource == "arithmetic");
  // dense1: 25.3 MB lie in the L3: 80 GB/s. dense2: 177 kB in the two L2: 200 GB/s.
  CHECK(bound.layers[2].bytes_s == Approx((27'904.0 * 100 + 3'539'328) * 4 / 80e9));
  CHECK(bound.layers[3].bytes_s == Approx((404.0 * 100 + 3'870) * 4 / 200e9));
  // Adadelta: the gradient once; parameters and two averages read and written. 33.6 MB.
  CHECK(bound.layers[4].name == "optimizer");
  CHECK(bound.layers[4].seconds() == Approx(7 * 1'199'882.0 * 4 / 30e9));
  CHECK(bound.layers[4].resource == "memory");
  CHECK(bound.seconds == Approx(71'565'312.0 * 100 / 200e9 + 7 * 1'199'882.0 * 4 / 30e9));
  CHECK(bound.resource == "arithmetic");
  CHECK(bound.resource_share == Approx(35.782656 / 36.902546).epsilon(1e-6));
}

TEST_CASE("fewer threads, bf16 and another optimizer change the bound as they must", "[roofline]") {
  const tuner::TrainingStep step{.precision = "f32", .batch = 100, .threads = 2, .optimizer = "adadelta"};
  tuner::TrainingStep one = step, half = step, plain = step, tiny = step;
  one.threads = 1;
  CHECK(bound_of(one).seconds == Approx(71'565'312.0 * 100 / 100e9 + 7 * 1'199'882.0 * 4 / 20e9));
  half.precision = "bf16";
  CHECK(bound_of(half).seconds == Approx(71'565'312.0 * 100 / 400e9 + 7 * 1'199'882.0 * 4 / 30e9));
  plain.optimizer = "sgd";
  CHECK(bound_of(plain).layers[4].seconds() == Approx(3 * 1'199'882.0 * 4 / 80e9));  // 14.4 MB: the L3
  tiny.batch = 1;
  CHECK(bound_of(tiny).resource != "arithmetic");  // the weights alone are 14 MB
}

TEST_CASE("a precision without a peak has no bound, and says so", "[roofline]") {
  const auto network = tuner::network_work(test::sample_network());
  REQUIRE(network);
  const auto half = tuner::step_bound(*network, sample_machine(), {.precision = "f16", .batch = 1});
  REQUIRE_FALSE(half);
  CHECK_THAT(half.error(), ContainsSubstring("'f16'"));
  // AMX multiplies bf16 many times faster than vectors do.
  const auto tiles = sample_machine({{"cpu.isa", "amx_bf16 avx512f"}});
  CHECK_FALSE(tuner::step_bound(*network, tiles, {.precision = "bf16", .batch = 1}));
  CHECK(tuner::step_bound(*network, tiles, {.precision = "f32", .batch = 1}));
  auto with_tiles = test::sample_figures();
  with_tiles["measurements"].push_back(test::sample_figure("amx_bf16", "GFLOP/s", 2, 4000));
  const auto measured = tuner::MachineFigures::from_json(with_tiles, {{"cpu.isa", "amx_bf16 avx512f"}});
  REQUIRE(measured);
  const auto in_tiles = tuner::step_bound(*network, *measured, {.precision = "bf16", .batch = 100, .threads = 2});
  REQUIRE(in_tiles);
  CHECK(in_tiles->layers[1].arithmetic_s == Approx(63'700'992.0 * 100 / 4000e9));
  CHECK(tuner::step_bound(*network, *measured, {.precision = "f32", .batch = 100, .threads = 2})
            ->layers[1]
            .arithmetic_s == Approx(63'700'992.0 * 100 / 200e9));
  // Where a CPU has no instructions for bf16, it computes in f32.
  auto figures = test::sample_figures();
  auto& list = figures["measurements"];
  for (auto& each : list)
    if (each["name"] == "fma_bf16") each["absent"] = "this processor has no AVX512_BF16";
  const auto machine = tuner::MachineFigures::from_json(figures);
  REQUIRE(machine);
  const auto emulated = tuner::step_bound(*network, *machine, {.precision = "bf16", .batch = 100, .threads = 2});
  REQUIRE(emulated);
  CHECK(emulated->layers[1].arithmetic_s == Approx(63'700'992.0 * 100 / 200e9));
}

TEST_CASE("figures belong to the processor and its kernel, not to libraries", "[roofline]") {
  space::Fingerprint machine;
  machine.set({.name = "cpu.model", .value = "A"});
  machine.set({.name = "system.kernel", .value = "6.1"});
  machine.set({.name = "software.onednn", .value = "3.8"});
  const std::string key = tuner::figures_key(machine);
  CHECK(key.size() == 32);
  machine.set({.name = "software.onednn", .value = "3.9"});
  CHECK(tuner::figures_key(machine) == key);
  for (const char* field : {"cpu.model", "cpu.microcode", "system.kernel", "memory"}) {
    space::Fingerprint other = machine;
    other.set({.name = field, .value = "another"});
    CAPTURE(field);
    CHECK(tuner::figures_key(other) != key);
  }
  CHECK(tuner::figure_fields(machine).size() == 2);
}

TEST_CASE("a peak figures bounds configurations, and comes out of its document as it went in", "[roofline]") {
  const auto read = tuner::PeakFigures::from_json(sample_peaks().document);
  REQUIRE(read);
  space::Configuration configuration;
  configuration.set("precision", "bf16");
  configuration.set("threads", std::int64_t{2});
  configuration.set("batch", std::int64_t{100});
  const auto bound = read->bound(configuration, 1);
  REQUIRE(bound);
  CHECK(bound->seconds ==
        Approx(bound_of({.precision = "bf16", .batch = 100, .threads = 2, .optimizer = "adadelta"}).seconds));
  CHECK(read->bound({}, 100)->seconds ==
        Approx(bound_of({.precision = "f32", .batch = 100, .threads = 2, .optimizer = "adadelta"}).seconds));
  configuration.set("framework", "cudnn");
  CHECK(read->bound(configuration, 1).error() == "its GPU was not measured");
  CHECK_FALSE(tuner::PeakFigures::from_json({{"figures", 1}}));
}

TEST_CASE("a GPU's bound is by its own figures", "[roofline]") {
  auto figures = test::sample_figures();
  figures["gpus"] = nlohmann::json::array(
      {{{"name", "G"},
        {"memory_bytes", std::int64_t{80} << 30},
        {"measurements", nlohmann::json::array({test::sample_figure("fma_tf32", "GFLOP/s", 1, 400'000),
                                                test::sample_figure("triad", "GB/s", 1, 2'000)})}}});
  const auto peaks = tuner::PeakFigures::make(figures, {}, test::sample_network(), "sgd");
  REQUIRE(peaks);
  space::Configuration configuration;
  configuration.set("device", "cuda");
  configuration.set("precision", "tf32");
  const auto bound = peaks->bound(configuration, 1000);
  REQUIRE(bound);
  CHECK(bound->layers[1].arithmetic_s == Approx(63'700'992.0 * 1000 / 400e12));
  CHECK(bound->layers[1].resource == "memory");
  CHECK_FALSE(peaks->bound({}, 1000)->seconds == Approx(bound->seconds));
}

TEST_CASE("a strategy is told the bound of an example; what has none counts as f32", "[roofline]") {
  const auto bound = tuner::work_bound(sample_peaks());
  space::Configuration configuration;
  configuration.set("batch", std::int64_t{100});
  configuration.set("threads", std::int64_t{2});
  const double f32 = bound.seconds_an_example(configuration);
  CHECK(f32 == Approx(0.36902546e-3).epsilon(1e-6));
  configuration.set("precision", "bf16");
  CHECK(bound.seconds_an_example(configuration) < 0.6 * f32);
  configuration.set("precision", "f16");
  CHECK(bound.seconds_an_example(configuration) == Approx(f32));
  CHECK_FALSE(tuner::work_bound(std::nullopt).seconds_an_example);
}
