#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>
#include <set>

#include "search/model/horizon_prediction.hpp"
#include "search/model/pruning.hpp"
#include "search/pruned_search.hpp"
#include "tests/search/drawn_campaign.hpp"
#include "tests/space/build.hpp"

namespace nocturne::search {

using namespace space::test;
using space::Configuration;
using space::Space;
using space::Trial;
using test::normal;

namespace {

/// Says what a function says.
class SaidForecast : public model::Forecast {
 public:
  using Said = std::function<double(space::Point, std::size_t)>;  // the bound at which something is ruled out
  SaidForecast(std::size_t horizons, Said said) : horizons_(horizons), said_(std::move(said)) {}
  [[nodiscard]] std::size_t horizons() const override { return horizons_; }
  void predict_horizons(space::Point point, double widening, std::span<model::HorizonPrediction> result) override {
    for (std::size_t i = 0; i < horizons_; ++i) {
      const double bound = said_(point, i);
      result[i] = {.log_mean = bound + widening,
                   .log_optimistic = bound,
                   .log_pessimistic = bound + 2 * widening,
                   .log_extreme = bound};
    }
  }

 private:
  std::size_t horizons_;
  Said said_;
};

std::string name(const char* text) {
  return text;
}

/// Three frameworks, of which one is three times as slow whatever else is set, and a threads parameter.
Space frameworks() {
  auto framework = choices("framework", {name("lean"), name("fat"), name("other")});
  framework.stage = space::Stage::Environment;
  return make_space({framework, integers("threads", 1, 8), integers("batch", 1, 14)});
}

space::Parts parts_of(const Configuration& configuration) {
  const auto& framework = std::get<std::string>(*configuration.find("framework"));
  const auto threads = static_cast<double>(std::get<std::int64_t>(*configuration.find("threads")));
  const auto batch = static_cast<double>(std::get<std::int64_t>(*configuration.find("batch")));
  const double factor = framework == "fat" ? 3 : framework == "other" ? 1.05 : 1;
  return {.import = factor * 0.5,
          .data = 0.1,
          .epoch_overhead = factor * 0.05,
          .steps_per_epoch = 1200 / batch,
          .steady_step = factor * 0.001 * (8 / threads + 0.2) * (0.5 + batch / 14)};
}

Trial measured(const Configuration& configuration, double factor = 1) {
  Trial trial;
  trial.configuration = configuration;
  trial.outcome = space::Outcome::Ok;
  trial.parts = parts_of(configuration);
  trial.parts->steady_step *= factor;
  trial.estimate = space::Estimate{.value = space::total_time(*trial.parts, 12), .standard_error = 0, .runs = 1};
  return trial;
}

const std::vector<double> kHorizons = {1, 12, 90};

}  // namespace

TEST_CASE("parts compose to the logarithm of T with the shares of their reaches", "[model]") {
  const auto total =
      model::compose(std::vector<model::PartPrediction>{{.times = 1, .log_mean = std::log(2.0), .log_reach = 0.1},
                                                        {.times = 12, .log_mean = std::log(0.5), .log_reach = 0.04}});
  CHECK(total.log_mean == Catch::Approx(std::log(8.0)));
  CHECK(total.log_reach == Catch::Approx(std::hypot(0.25 * 0.1, 0.75 * 0.04)));
}

TEST_CASE("pruned is what loses at every horizon, and not what may win at one", "[model]") {
  SaidForecast forecast(2, [](space::Point point, std::size_t horizon) {
    if (point[0] == 0) return horizon == 0 ? 1.2 : 2.5;  // worse at both
    if (point[0] == 1) return horizon == 0 ? 0.9 : 9.0;  // may win the short one
    return horizon == 0 ? 9.0 : 1.9;                     // may win the long one
  });
  model::Pruning pruning(forecast, {1.0, 2.0}, 1);
  const std::vector<std::vector<space::Level>> points = {{0}, {1}, {2}};
  CHECK(pruning.pruned(points[0]));
  CHECK(pruning.margin(points[0]) == Catch::Approx(0.2));
  CHECK_FALSE(pruning.pruned(points[1]));
  CHECK_FALSE(pruning.pruned(points[2]));
}

TEST_CASE("a configuration is ruled out by its extreme end, a level by its optimistic one", "[model]") {
  class Forecast : public model::Forecast {
   public:
    [[nodiscard]] std::size_t horizons() const override { return 1; }
    void predict_horizons(space::Point point, double, std::span<model::HorizonPrediction> result) override {
      const double mean = point[0] == 1 ? 0.5 : 0;
      result[0] = {
          .log_mean = mean, .log_optimistic = mean - 0.1, .log_pessimistic = mean + 0.1, .log_extreme = mean - 0.6};
    }
  };
  const auto space = frameworks();
  space::Lattice lattice(space);
  Forecast forecast;
  model::Pruning pruning(forecast, {0}, 1);
  CHECK_FALSE(pruning.pruned(std::vector<space::Level>{1, 3, 3}));
  space::PointList starts(3);
  starts.push_back(std::vector<space::Level>{0, 3, 3});
  space::Random random(1);
  const auto levels = pruning.levels(lattice, starts, random);
  REQUIRE(levels.size() == 1);
  CHECK(levels[0].level == 1);
  CHECK(levels[0].margin == Catch::Approx(0.4));
}

TEST_CASE("a level is pruned where even its most hopeful configuration loses, and the user reads why", "[model]") {
  const auto space = frameworks();
  space::Lattice lattice(space);
  // 'fat' loses by 27 % at best; 'other' wins with eight threads and batch 14 alone.
  SaidForecast forecast(3, [](space::Point point, std::size_t) {
    const double away = 0.1 * (7 - point[1]) + 0.1 * (13 - point[2]);
    return away + (point[0] == 1 ? 0.27 : point[0] == 2 ? -0.01 : 0);
  });
  model::Pruning pruning(forecast, {0, 0, 0}, 1);
  space::PointList starts(3);
  starts.push_back(std::vector<space::Level>{0, 3, 3});
  space::Random random(1);
  const auto levels = pruning.levels(lattice, starts, random);
  REQUIRE(levels.size() == 1);
  CHECK(levels[0].level == 1);
  CHECK(levels[0].margin == Catch::Approx(0.27));
  CHECK(to_text(levels[0], lattice, kHorizons) ==
        "framework=fat pruned: at best 31 % slower (5 % optimistic bound) than the incumbent at 1, 12 and 90 epochs");
  CHECK(model::epochs_text(std::vector{1.0}) == "1 epoch");
  CHECK(model::epochs_text(std::vector{2.0, 2.5}) == "2 and 2.5 epochs");
}

TEST_CASE("parts modelled apart predict every horizon, with intervals that hold", "[model]") {
  const auto space = frameworks();
  space::Lattice lattice(space);
  model::PartsForecast forecast(lattice, kHorizons);
  space::Random random(3);
  std::set<std::string> seen;
  for (int i = 0; i < 60; ++i) {
    const auto drawn = *space.sample(random);
    if (!seen.insert(drawn.identity()).second) continue;
    const auto trial = measured(drawn, std::exp(0.02 * normal(random)));
    forecast.tell(*lattice.point_of(drawn), *trial.parts);
  }
  forecast.fit();
  int inside = 0, tested = 0;
  double error = 0;
  std::vector<model::HorizonPrediction> prediction(3);
  space.for_each([&](const Configuration& each) {
    if (seen.contains(each.identity())) return true;
    forecast.predict_horizons(*lattice.point_of(each), 1, prediction);
    const auto trial = measured(each, std::exp(0.02 * normal(random)));
    for (std::size_t i = 0; i < 3; ++i) {
      const double log_time = std::log(space::total_time(*trial.parts, kHorizons[i]));
      error += std::abs(prediction[i].log_mean - log_time);
      inside += prediction[i].log_optimistic <= log_time && log_time <= prediction[i].log_pessimistic;
      ++tested;
    }
    return true;
  });
  CHECK(error < 0.1 * tested);  // of times that span a factor of hundred
  CHECK(inside > 0.8 * tested);
  CHECK(inside < 0.995 * tested);
}

TEST_CASE("an audit of an earlier session is judged by what was predicted then", "[search]") {
  const auto space = frameworks();
  const Options options{.seed = 5, .objective = {.epochs = kHorizons, .primary = 12}};
  const space::Trial trial = measured(space.default_configuration());
  for (const double off : {-0.1, 0.1}) {
    PrunedSearch search(space, options);
    const double log_value = std::log(trial.estimate->value);
    search.adopt_audit(trial.configuration, AuditPrediction{.log_bound = log_value + off, .margin = 0.3});
    search.tell({&trial, 1});  // no model yet: what is known now could predict nothing
    REQUIRE(search.audits().size() == 1);
    CHECK(search.audits()[0].told);
    CHECK(search.audits()[0].beat_its_bound == (off > 0));
    CHECK(search.audit().audits() == 1);
  }
}

TEST_CASE("a slow framework is pruned as such, audited, and asked last", "[search]") {
  const auto space = frameworks();
  const Options options{.seed = 5, .objective = {.epochs = kHorizons, .primary = 12}};
  PrunedSearch search(space, options);
  search.tell(std::vector{measured(space.default_configuration())});
  int fat_late = 0, audits = 0;
  for (int i = 1; i < 90; ++i) {
    const auto next = search.ask(1);
    REQUIRE(next.size() == 1);
    const auto& framework = std::get<std::string>(*next[0].configuration.find("framework"));
    if (next[0].purpose == space::Purpose::Audit) {
      ++audits;
      CHECK(next[0].reason.starts_with("audit: drawn from the pruned, at best "));
      REQUIRE(next[0].prediction);
      CHECK(*next[0].prediction == search.audits().back().prediction);
    } else if (i >= 40) {
      fat_late += framework == "fat";
    }
    search.tell(std::vector{measured(next[0].configuration)});
  }
  CHECK(audits >= 2);
  CHECK(audits <= 3);
  CHECK(search.audit().audits() == static_cast<std::size_t>(audits));
  CHECK(search.audits().size() == static_cast<std::size_t>(audits));
  CHECK(search.audit().misses() == 0);
  CHECK(fat_late <= 2);                           // a third of 50 without pruning
  REQUIRE_FALSE(search.pruned_levels().empty());  // the other framework, 5 % slower, may be found out too
  CHECK(to_text(search.pruned_levels()[0], search.models().lattice(), search.horizons()).starts_with("framework=fat "));
  Configuration fat = space.default_configuration();
  fat.set("framework", name("fat"));
  CHECK(*search.margin(fat) > 0);
  CHECK(search.predict_horizons(fat).size() == 3);
  const auto [pruned, drawn] = search.pruned_share(300);
  CHECK(drawn == 300);
  CHECK(pruned > 100);

  // The whole space comes in the end, what was put aside included.
  std::set<std::string> rest;
  for (auto next = search.ask(20); !next.empty(); next = search.ask(20)) {
    for (const auto& each : next) {
      CHECK(rest.insert(each.configuration.identity()).second);
      search.tell(std::vector{measured(each.configuration)});
    }
  }
  CHECK(rest.size() == 3 * 8 * 14 - 90);
}

TEST_CASE("what was learnt outlives the first trial without parts", "[search]") {
  const auto space = frameworks();
  PrunedSearch search(space, {.seed = 5, .objective = {.epochs = kHorizons, .primary = 12}});
  search.tell(std::vector{measured(space.default_configuration())});
  for (int i = 1; i < 40; ++i) search.tell(std::vector{measured(search.ask(1).front().configuration)});
  REQUIRE(search.margin(space.default_configuration()));
  auto partless = measured(search.ask(1).front().configuration);
  partless.parts.reset();
  search.tell(std::vector{partless});
  CHECK(search.margin(space.default_configuration()));
  CHECK(search.horizons().empty());
}

TEST_CASE("what is deferred is not proposed while there is something else, and comes last", "[search]") {
  const auto space = make_space({integers("a", 0, 1), integers("b", 0, 14), integers("c", 0, 9)});
  ModelSearch search(space, {.seed = 4});
  const auto tell = [&](const Configuration& configuration) {
    double away = 1;
    for (const auto& [key, value] : configuration.values())
      away += key == "a" ? 0 : std::abs(static_cast<double>(std::get<std::int64_t>(value)) - 6);
    Trial trial;
    trial.configuration = configuration;
    trial.outcome = space::Outcome::Ok;
    trial.estimate = space::Estimate{.value = away, .standard_error = 0, .runs = 1};
    search.tell(std::vector{trial});
  };
  tell(space.default_configuration());
  for (std::size_t i = 1; i < ModelSearch::kStart; ++i) tell(search.ask(1).front().configuration);
  search.defer([](space::Point point) { return point[0] == 1; }, [](space::Point point) { return point[1] == 0; });
  int whole = 0, single = 0, asked = 0;
  for (auto next = search.ask(1); !next.empty(); next = search.ask(1), ++asked) {
    const auto number = [&](const char* key) { return std::get<std::int64_t>(*next[0].configuration.find(key)); };
    whole += asked < 100 && number("a") == 1;
    single += asked < 50 && number("b") == 0;
    tell(next[0].configuration);
  }
  CHECK(whole == 0);  // half of them otherwise
  CHECK(single == 0);
  CHECK(asked == 2 * 15 * 10 - static_cast<int>(ModelSearch::kStart));
}

TEST_CASE("a configuration that is pruned is not proposed while another is not, but for audits", "[search]") {
  const auto space = make_space({integers("a", 0, 29), integers("b", 0, 29), integers("c", 0, 29)});
  PrunedSearch search(space, {.seed = 6});
  space::Random random(9);
  const auto tell = [&](const Configuration& configuration) {
    double sum = 0;
    for (const auto& [key, value] : configuration.values())
      sum += std::abs(static_cast<double>(std::get<std::int64_t>(value)) - 11);
    Trial trial;
    trial.configuration = configuration;
    trial.outcome = space::Outcome::Ok;
    // So rough that the best of them is never known for sure.
    const double seconds = (1 + sum / 10) * std::exp(0.2 * normal(random));
    trial.estimate = space::Estimate{.value = seconds, .standard_error = 0, .runs = 1};
    search.tell(std::vector{trial});
  };
  tell(space.default_configuration());
  int pruned = 0;
  for (int i = 1; i < 80; ++i) {
    const auto next = search.ask(1).front();
    if (next.purpose != space::Purpose::Audit) pruned += search.margin(next.configuration).value_or(0) > 0;
    tell(next.configuration);
  }
  CHECK(pruned == 0);
  CHECK(search.pruned_share(200).first > 10);
}

TEST_CASE("bounds that audits find too tight are widened", "[search]") {
  // The search is told of a smooth surface, the audits of one that is faster wherever it was not asked.
  const auto space = make_space({integers("a", 0, 29), integers("b", 0, 29), integers("c", 0, 29)});
  PrunedSearch search(space, {.seed = 2});
  const auto smooth = [](const Configuration& configuration) {
    double sum = 0;
    for (const auto& [key, value] : configuration.values()) sum += static_cast<double>(std::get<std::int64_t>(value));
    return 1 + sum / 30;
  };
  const auto tell = [&](const Configuration& configuration, double value) {
    Trial trial;
    trial.configuration = configuration;
    trial.outcome = space::Outcome::Ok;
    trial.estimate = space::Estimate{.value = value, .standard_error = 0, .runs = 1};
    search.tell(std::vector{trial});
  };
  tell(space.default_configuration(), smooth(space.default_configuration()));
  for (int i = 1; i < 130; ++i) {
    const auto next = search.ask(1).front();
    tell(next.configuration, smooth(next.configuration) * (next.purpose == space::Purpose::Audit ? 0.3 : 1));
  }
  CHECK(search.audit().failures() >= 3);
  CHECK(search.audit().alarms() >= 1);
  CHECK(search.audit().widening() > 1);
  CHECK(search.horizons().empty());
}

}  // namespace nocturne::search
