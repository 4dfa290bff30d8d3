#include "search/rescaled_search.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include <cmath>

#include "search/random_search.hpp"
#include "search/registry.hpp"

using namespace nocturne;
using Catch::Approx;
using search::Direction;
using search::RescaledSearch;
using search::ValueScale;

namespace {

/// Remembers what it was told.
class Listener : public search::Strategy {
 public:
  explicit Listener(std::vector<space::Trial>& heard) : heard_(heard) { heard_.clear(); }
  std::vector<search::Proposal> ask(std::size_t) override { return {}; }
  void tell(std::span<const space::Trial> finished) override {
    heard_.insert(heard_.end(), finished.begin(), finished.end());
  }

 private:
  std::vector<space::Trial>& heard_;
};

space::Trial trial(std::int64_t number, double value, double standard_error = 0) {
  space::Trial result{.number = number};
  result.outcome = space::Outcome::Ok;
  result.estimate = space::Estimate{.value = value, .standard_error = standard_error, .runs = 2};
  result.parts = space::Parts{.steps_per_epoch = 1, .steady_step = value};
  return result;
}

space::Space line(std::int64_t length) {
  const std::vector<space::ParameterSpec> parameters = {
      {.name = "x", .domain = space::IntegerRangeSpec{std::int64_t{0}, length - 1, std::int64_t{1}, false}},
      {.name = "y", .domain = space::IntegerRangeSpec{std::int64_t{0}, length - 1, std::int64_t{1}, false}}};
  return space::Space::create(parameters, {}, {}).value();
}

}  // namespace

TEST_CASE("a value that is better when larger is told as its inverse, with the error that has", "[search]") {
  std::vector<space::Trial> heard;
  RescaledSearch search({.direction = Direction::Maximise}, [&] { return std::make_unique<Listener>(heard); });
  const auto told = trial(0, 4, 0.4);
  search.tell({&told, 1});
  REQUIRE(heard.size() == 1);
  CHECK(heard[0].estimate->value == Approx(0.25));
  CHECK(heard[0].estimate->standard_error == Approx(0.025));  // d(1/v) = dv / v²
  CHECK_FALSE(heard[0].parts);
}

TEST_CASE("on a linear scale the order of values is kept, and everything is told again in a new unit", "[search]") {
  std::vector<space::Trial> heard;
  RescaledSearch search({.direction = Direction::Maximise, .scale = ValueScale::Linear},
                        [&] { return std::make_unique<Listener>(heard); });
  const std::vector<double> values = {-5, 0, 1000, 20, -400, 3, 77};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto told = trial(static_cast<std::int64_t>(i), values[i]);
    search.tell({&told, 1});
    REQUIRE(heard.size() == i + 1);  // the last strategy knows all of them
    for (const auto& one : heard) {
      CHECK(one.estimate->value > 0);
      for (const auto& other : heard) {
        const double a = values[static_cast<std::size_t>(one.number)],
                     b = values[static_cast<std::size_t>(other.number)];
        if (a > b) CHECK(one.estimate->value < other.estimate->value);
      }
    }
  }
  CHECK(search.renewals() > 0);
  CHECK(search.renewals() < values.size());
}

TEST_CASE("a failed trial is told as it is, and a rule says which values it takes", "[search]") {
  std::vector<space::Trial> heard;
  RescaledSearch search({.scale = ValueScale::Linear}, [&] { return std::make_unique<Listener>(heard); });
  space::Trial failed{.number = 0};
  failed.outcome = space::Outcome::Crashed;
  search.tell({&failed, 1});
  REQUIRE(heard.size() == 1);
  CHECK_FALSE(heard[0].estimate);
  CHECK(search::ValueRule{}.admits(1e-300));
  CHECK_FALSE(search::ValueRule{}.admits(0));
  CHECK(search::ValueRule{.scale = ValueScale::Linear}.admits(-7));
  CHECK_FALSE(search::ValueRule{.scale = ValueScale::Linear}.admits(std::nan("")));
}

TEST_CASE("auto finds the top of a hill of values below zero within 60 of 1600", "[search]") {
  const auto space = line(40);
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    RescaledSearch search({.direction = Direction::Maximise, .scale = ValueScale::Linear},
                          [&] { return search::make_strategy("auto", space, {.seed = seed}).value(); });
    double best = -1e9;
    for (std::int64_t i = 0; i < 60; ++i) {
      const auto asked = search.ask(1);
      REQUIRE(asked.size() == 1);
      const auto at = [&](const char* name) {
        return static_cast<double>(std::get<std::int64_t>(*asked[0].configuration.find(name)));
      };
      auto told = trial(i, -std::abs(at("x") - 31) - std::abs(at("y") - 7));
      told.configuration = asked[0].configuration;
      best = std::max(best, told.estimate->value);
      search.tell({&told, 1});
    }
    found += best >= -1 ? 1 : 0;  // five of the 1600
  }
  CHECK(found >= 4);  // at random: 0.17 in 60
}
