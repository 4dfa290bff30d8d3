#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "search/history/prior.hpp"
#include "search/model/linear_model.hpp"
#include "tests/search/told.hpp"
#include "tests/space/build.hpp"

namespace nocturne::search {

using namespace space::test;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using space::Configuration;
using space::Trial;
using test::told;

TEST_CASE("only what was measured in the present space is the same measurement", "[history]") {
  const auto space = make_space({integers("threads", 1, 8), choices("kind", {std::string("a"), std::string("b")}),
                                 integers("extra", 0, 3, "kind == 'b'")},
                                {require_that("threads != 5")});
  space::Lattice lattice(space);
  const auto point = [&](Configuration::Values values) {
    return history::same_point(lattice, Configuration(std::move(values))).has_value();
  };
  const std::int64_t three = 3, five = 5, nine = 9;
  CHECK(point({{"threads", three}, {"kind", std::string("a")}}));
  CHECK(point({{"threads", three}, {"kind", std::string("b")}, {"extra", three}}));
  CHECK_FALSE(point({{"threads", nine}, {"kind", std::string("a")}}));  // no value of it
  CHECK_FALSE(point({{"threads", five}, {"kind", std::string("a")}}));  // forbidden by now
  CHECK_FALSE(point({{"kind", std::string("a")}}));                     // who knows how many there were
  CHECK_FALSE(point({{"threads", three}, {"kind", std::string("b")}}));
  CHECK_FALSE(point({{"threads", three}, {"kind", std::string("a")}, {"more", three}}));  // it may have mattered

  const auto nearest =
      history::nearest_point(lattice, Configuration({{"threads", nine}, {"kind", std::string("a")}, {"more", three}}));
  CHECK(nearest == std::vector<space::Level>{7, 0, space::kNoLevel});
  CHECK(history::nearest_point(lattice, Configuration({{"kind", std::string("b")}, {"extra", three}})) ==
        std::vector<space::Level>{lattice.axis(0).default_level, 1, 3});
  CHECK_FALSE(history::nearest_point(lattice, Configuration({{"threads", three}, {"kind", std::string("c")}})));
}

TEST_CASE("of too many past trials the fastest half stays and an even choice of the others", "[history]") {
  std::vector<history::PastTrial> trials;
  for (space::Level i = 0; i < 100; ++i) trials.push_back({.point = {i}, .log_value = (i * 37) % 100});
  trials.push_back({.point = {3}, .log_value = -5});  // the first of a point counts
  for (space::Level i = 200; i < 220; ++i) trials.push_back({.point = {i}});
  const auto few = history::thinned(trials, 20);
  REQUIRE(few.size() == 30);
  std::vector<double> values;
  for (std::size_t i = 0; i < 20; ++i) values.push_back(few[i].log_value.value());
  CHECK(std::vector(values.begin(), values.begin() + 10) == std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(std::vector(values.begin() + 10, values.end()) == std::vector<double>{10, 19, 28, 37, 46, 55, 64, 73, 82, 91});
  CHECK(std::ranges::none_of(few.begin() + 20, few.end(), [](const auto& each) { return each.log_value.has_value(); }));
}

TEST_CASE("a common offset is found beside one configuration that changed", "[history]") {
  CHECK(history::offset_of({}).mean == 0);
  CHECK(history::offset_of({}).sd == history::Offset::kPriorSd);
  CHECK(history::offset_of(std::vector{0.1}).mean == Approx(0.1).margin(0.01));
  CHECK(std::abs(history::offset_of(std::vector{2.0}).mean) < 0.1);  // not a machine, but a configuration
  const auto many = history::offset_of(std::vector{0.05, 0.06, 0.04, 0.9});
  CHECK(many.mean == Approx(0.05).margin(0.01));
  CHECK(many.sd < 0.02);
  const auto scattered = history::offset_of(std::vector{0.3, -0.3, 0.25, -0.25, 0.1});
  CHECK(scattered.sd > 3 * many.sd);
}

TEST_CASE("evidence against the past adds up, begins again, and rejects once it is 1/alpha", "[history]") {
  history::Agreement agreement(0.01);
  agreement.tell(-1, -3, true);  // the past predicted it better: no credit for later
  CHECK(agreement.log_evidence() == 0);
  agreement.tell(-3, -1, false);
  agreement.tell(-3, -1, false);
  CHECK(agreement.log_evidence() == Approx(4));
  CHECK_FALSE(agreement.rejected());
  agreement.tell(-1.7, -1, true);
  CHECK(agreement.rejected());
  CHECK(agreement.measured() == 4);
  CHECK(agreement.inside() == 2);
}

TEST_CASE("the density of a prediction is one, bent target and offset included", "[history]") {
  model::Prediction prediction{.mean = 0.3, .latent_sd = 0.3, .observed_sd = 0.4, .widening = 1.2, .target = {}};
  prediction.target = {.knee = 1.1, .softness = 0.3, .centre = 0.9, .scale = 0.5};
  for (const double extra : {0.0, 0.2}) {
    double mass = 0;
    constexpr double kStep = 0.002;
    for (int i = 0; i < 50'000; ++i) mass += kStep * std::exp(history::log_density(prediction, -40 + i * kStep, extra));
    CHECK(mass == Approx(1).margin(extra == 0 ? 0.01 : 0.1));  // the slope at x stands for that along the way
  }
}

TEST_CASE("a past that is outgrown is dropped, and is not said to be wrong", "[history]") {
  const auto space = make_space({integers("a", 0, 19), integers("b", 0, 19)});
  space::Lattice lattice(space);
  const auto seconds = [](space::Point point) { return std::exp(0.05 * point[0] + 0.1 * std::sin(point[1])); };
  History past{.same_machine_and_workload = true, .trials = {}};
  for (space::Level i = 0; i < 20; ++i) {
    const std::vector<space::Level> point = {i, static_cast<space::Level>(19 - i)};
    past.trials.push_back(told(lattice.configuration(point), seconds(point)));
  }
  history::Prior prior(lattice, {.history = {past}}, 0.25);
  model::LinearModel times(lattice, {.knee = 0.25});
  model::Feasibility feasibility(lattice);
  prior.teach(times, feasibility);
  REQUIRE(times.size() == 20);
  std::size_t fitted = 0;
  for (std::size_t i = 0; i < history::Prior::kOutgrown; ++i) {
    REQUIRE(prior.holds());
    const auto number = (i * 37) % 400;  // each once, in disorder
    const std::vector<space::Level> point = {static_cast<space::Level>(number / 20),
                                             static_cast<space::Level>(number % 20)};
    const double value = std::log(seconds(point)) + 1e-4 * static_cast<double>(i % 7);
    if (model::fit_is_due(times.size(), fitted)) {
      times.fit();
      fitted = times.size();
    }
    prior.compare(point, value, times);
    times.tell(point, value);
    prior.settle(times);
  }
  CHECK_FALSE(prior.holds());
  CHECK_FALSE(prior.agreement().rejected());
  CHECK(times.size() == history::Prior::kOutgrown);
  CHECK_THAT(prior.given_up(), ContainsSubstring("256 trials of this campaign say more"));
}

TEST_CASE("the past is evidence, but its best is not this campaign's", "[history]") {
  std::vector<space::ParameterSpec> five;
  for (int i = 0; i < 5; ++i) five.push_back(integers(fmt::format("p{}", i), 0, 9));
  const auto space = make_space(five);
  space::Lattice lattice(space);
  model::LinearModel times(lattice, {});
  const std::vector<space::Level> fast = {7, 7, 7, 7, 7}, slow = {1, 1, 1, 1, 1}, middle = {4, 4, 4, 4, 4};
  times.tell_past(fast, 0);
  times.tell_past(middle, 1);
  times.fit();
  CHECK(times.target().to_log(times.best()) == Approx(0).margin(1e-9));  // there is nothing else
  times.tell(slow, 2);
  CHECK(times.target().to_log(times.best()) == Approx(2).margin(1e-6));
  CHECK(times.predict(fast).log_mean() < times.predict(middle).log_mean());
  times.tell(middle, 1.5);  // measured anew
  times.tell_past(middle, 0.5);
  CHECK(times.log_value(1) == 1.5);
  CHECK(times.target().to_log(times.best()) == Approx(1.5).margin(1e-6));
  times.forget_past();
  CHECK(times.size() == 2);
}

TEST_CASE("times of parts are those of the present horizon", "[history]") {
  Trial trial = told(Configuration(), 99);
  CHECK(history::log_value_of(trial, {}).value() == Approx(std::log(99)));
  trial.parts = space::Parts{.import = 2, .epoch_overhead = 1, .steps_per_epoch = 10, .steady_step = 0.1};
  CHECK(history::log_value_of(trial, {.epochs = {1, 5}, .primary = 5}).value() == Approx(std::log(12)));
  CHECK(history::log_value_of(trial, {.epochs = {1, 5}, .primary = 1}).value() == Approx(std::log(4)));
  trial.estimate.reset();
  CHECK_FALSE(history::log_value_of(trial, {}));
}

}  // namespace nocturne::search
