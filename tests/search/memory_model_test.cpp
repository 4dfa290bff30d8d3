#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <set>

#include "search/model/memory_model.hpp"
#include "space/random.hpp"
#include "tests/search/drawn_campaign.hpp"

namespace nocturne::search::model {

using test::normal;

namespace {

constexpr double kGibibyte = 1024.0 * 1024 * 1024;

struct Machine {
  double fixed = 0, each = 0, noise = 0, limit = 0;
  [[nodiscard]] double need(std::int64_t batch) const { return fixed + each * static_cast<double>(batch); }
};

Machine made_up(space::Random& random) {
  Machine machine;
  machine.limit = kGibibyte * std::exp2(6 * random.unit());
  machine.fixed = machine.limit * 0.6 * random.unit();
  // The largest batch that fits lies anywhere from a handful to thousands.
  machine.each = (machine.limit - machine.fixed) / std::exp2(2 + 9 * random.unit());
  machine.noise = machine.limit * 0.01 * random.unit();
  return machine;
}

space::Configuration configuration(std::string framework, std::string precision, std::int64_t threads) {
  space::Configuration made;
  made.set("framework", std::move(framework));
  made.set("precision", std::move(precision));
  made.set("threads", threads);
  return made;
}

}  // namespace

TEST_CASE("memory is a line whose interval is that of the textbook", "[model]") {
  MemoryModel model;
  CHECK_FALSE(model.need("g", 10).has_value());
  // By hand: mean batch 20, mean 300, slope 10, residuals 0, so s² is the prior's alone: 2 (0.01 · 400)² / 3.
  model.tell("g", 10, 200);
  model.tell("g", 20, 300);
  model.tell("g", 30, 400);
  const auto need = model.need("g", 40, 0.9);
  REQUIRE(need.has_value());
  CHECK(need->expected == Catch::Approx(500));
  const double sd = std::sqrt(2 * 16.0 / 3 * (1 + 1.0 / 3 + 400.0 / 200));
  CHECK(need->upper == Catch::Approx(500 + 2.353363 * sd));  // t of 3 degrees at 95 %
  CHECK(need->lower == Catch::Approx(500 - 2.353363 * sd));
  CHECK(model.fits("g", 40, 500) == Catch::Approx(0.5));
  CHECK(model.fits("g", 20, 300) == 1);
}

TEST_CASE("one point bounds: its own peak below, in proportion above", "[model]") {
  MemoryModel model;
  model.tell("g", 10, 200);
  const auto need = model.need("g", 20);
  CHECK(need->lower == Catch::Approx(200 * 0.97));
  CHECK(need->upper == Catch::Approx(400 * 1.03));
  CHECK(model.fits("g", 20, 500) == 1);
  CHECK(model.fits("g", 20, 100) == 0);
  CHECK(model.fits("g", 20, 300) == 0.5);
  CHECK(model.fits("stranger", 20, 300) == 0.5);
}

TEST_CASE("one batch size, however often it was measured, is no line", "[model]") {
  MemoryModel model;
  for (int i = 0; i < 11; ++i) model.tell("g", 128, 1000 + i % 3);
  CHECK_FALSE(model.coefficients("g"));
  const auto largest = model.largest("g", 4000).value();
  CHECK(largest.lower >= 490);  // in proportion at most: 128 of 1000, and 3 % for chance
  CHECK(largest.upper == MemoryModel::kUnbounded);
  model.tell("g", 256, 1500);
  CHECK(model.coefficients("g")->bytes_each == Catch::Approx(499.0 / 128).epsilon(0.01));
  CHECK(model.largest("g", 4000)->upper < 2000);
}

TEST_CASE("an out-of-memory is a lower bound for it and all larger batches, and bends the line up", "[model]") {
  MemoryModel model;
  model.tell("g", 10, 200);
  model.tell("g", 20, 300);
  const double before = model.need("g", 30)->expected;
  model.tell_out_of_memory("g", 40, 900);
  CHECK(model.need("g", 50)->lower >= 900);
  CHECK(model.fits("g", 40, 900) == 0);
  CHECK(model.fits("g", 40, 800) == 0);
  CHECK(model.need("g", 30)->expected > before);
  CHECK(model.out_of_memory("g") == 1);
  CHECK(model.out_of_memory("h") == 0);
}

TEST_CASE("intervals of memory hold as often as they say", "[model]") {
  space::Random random(11);
  int inside = 0;
  constexpr int kMachines = 2000;
  for (int i = 0; i < kMachines; ++i) {
    const auto machine = made_up(random);
    MemoryModel model;
    for (const std::int64_t batch : {8, 12, 16, 24, 32})
      model.tell("g", batch, machine.need(batch) + 0.01 * machine.need(32) * normal(random));
    const double next = machine.need(48) + 0.01 * machine.need(32) * normal(random);
    const auto need = model.need("g", 48, 0.9);
    inside += need->lower <= next && next <= need->upper;
  }
  CHECK(inside > 0.87 * kMachines);
  CHECK(inside < 0.96 * kMachines);  // the physical bounds are never too tight, so it may be a little more
}

TEST_CASE("the grouping finds the parameters that change the line, and no others", "[model]") {
  space::Random random(3);
  std::vector<MemoryObservation> observations;
  for (int i = 0; i < 60; ++i) {
    const std::string framework = random.below(2) == 0 ? "onednn" : "mxnet";
    const std::string precision = random.below(2) == 0 ? "f32" : "bf16";
    const auto batch = static_cast<std::int64_t>(16 << random.below(5));
    const double fixed = framework == "mxnet" ? 500 : 100;
    const double slope = precision == "f32" ? 4 : 2;
    observations.push_back({configuration(framework, precision, static_cast<std::int64_t>(1 + random.below(8))), batch,
                            fixed + slope * static_cast<double>(batch) + 5 * normal(random)});
  }
  const auto grouping = choose_grouping(observations, "batch");
  REQUIRE(grouping.size() == 2);
  CHECK(std::set<std::string>(grouping.begin(), grouping.end()) == std::set<std::string>{"framework", "precision"});
  CHECK(group_of(observations[0].configuration, std::vector<std::string>{"precision", "xla"}) ==
        "precision=" + space::to_text(*observations[0].configuration.find("precision")) + " xla=-");
  CHECK(choose_grouping({}, "batch").empty());
}

}  // namespace nocturne::search::model
