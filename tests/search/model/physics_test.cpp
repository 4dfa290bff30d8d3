#include "search/model/physics.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "search/model/linear_model.hpp"
#include "tests/space/build.hpp"

namespace nocturne::search::model {

using namespace space::test;
using Catch::Approx;

namespace {

space::Space steps() {
  const auto batches = [] {
    std::vector<space::Value> values;
    for (std::int64_t each = 16; each <= 8192; each *= 2) values.emplace_back(each);
    return values;
  }();
  return make_space({ordered("batch", batches), integers("threads", 1, 16),
                     choices("layout", {std::string("a"), std::string("b"), std::string("c")}), boolean("pages"),
                     choices("allocator", {std::string("a"), std::string("b"), std::string("c")})});
}

/// An epoch of 60,000 examples: 4 ms a step and 0.8 ms an example and thread, and effects of the rest.
double log_epoch(const space::Lattice& lattice, space::Point point) {
  const double batch = lattice.axis(0).numbers[point[0]];
  const double threads = lattice.axis(1).numbers[point[1]];
  const double work = 0.0008 * (1 + 0.2 * point[2]) * (1 + 0.1 * point[4]);
  return std::log(60000 / batch * (0.004 + work * batch / threads));
}

/// Root mean square error of the predictions for others, from so many trials.
double error_after(std::size_t trials, const Roles& roles) {
  const auto space = steps();
  double squares = 0;
  constexpr int kOthers = 300;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    space::Lattice lattice(space);
    LinearModel model(lattice, {.knee = 1}, step_features(lattice, roles));
    space::Random random(seed);
    std::vector<space::Level> point(lattice.width());
    for (std::size_t t = 0; t < trials; ++t) {
      REQUIRE(lattice.sample(random, point));
      model.tell(point, log_epoch(lattice, point));
    }
    model.fit();
    for (int i = 0; i < kOthers; ++i) {
      REQUIRE(lattice.sample(random, point));
      squares += std::pow(model.predict(point).log_mean() - log_epoch(lattice, point), 2) / (3 * kOthers);
    }
  }
  return std::sqrt(squares);
}

}  // namespace

TEST_CASE("features of a step are its work over threads and its fixed cost over the batch", "[model]") {
  const auto space = steps();
  const space::Lattice lattice(space);
  const auto features = step_features(lattice, {.batch = "batch", .threads = "threads"});
  REQUIRE(features.size() == 3);
  CHECK(features[1].name == "log(1 / threads + 8 / batch)");
  const std::vector<space::Level> point = {1, 3, 0, 0, 0};  // 32 examples on 4 threads
  CHECK(features[0].value(point) == Approx(std::log(1.0 / 4 + 2.0 / 32)));
  CHECK(features[2].value(point) == Approx(std::log(1.0 / 4 + 32.0 / 32)));
  CHECK(step_features(lattice, {.batch = "batch"})[0].value(point) == Approx(std::log(1 + 2.0 / 32)));
  CHECK(step_features(lattice, {.threads = "threads"})[0].value(point) == Approx(std::log(1.0 / 4)));
  CHECK(startup_features(lattice, {.batch = "batch"})[0].value(point) == Approx(std::log(32)));
  for (const auto* nobody : {"", "layout", "pages", "nowhere"}) {
    CHECK(step_features(lattice, {.batch = nobody, .threads = nobody}).empty());
    CHECK(startup_features(lattice, {.batch = nobody}).empty());
  }
}

TEST_CASE("twenty trials predict steps of a known form twice as well with physical features", "[model]") {
  CHECK(2 * error_after(20, {.batch = "batch", .threads = "threads"}) < error_after(20, {}));
}

TEST_CASE("a known bound is a feature of the parameters it depends on, asked once for each of their values",
          "[model]") {
  const auto space =
      make_space({choices("precision", {std::string("f32"), std::string("bf16")}),
                  ordered("batch", {std::int64_t{16}, std::int64_t{32}}, "precision == 'f32'"), boolean("pages")});
  const space::Lattice lattice(space);
  int asked = 0;
  const WorkBound bound{.parameters = {"batch", "precision", "elsewhere"},
                        .seconds_an_example = [&](const space::Configuration& configuration) {
                          ++asked;
                          CHECK(configuration.find("pages") == nullptr);
                          const bool half = *configuration.find("precision") == space::Value("bf16");
                          return (half ? 1.0 : 2.0) * (configuration.find("batch") == nullptr ? 1 : 10);
                        }};
  const auto features = bound_feature(lattice, bound);
  REQUIRE(features.size() == 1);
  const std::vector<space::Level> slow = {0, 1, 0}, other_pages = {0, 1, 1}, inactive = {1, space::kNoLevel, 0};
  CHECK(features[0].value(slow) == Approx(std::log(20)));
  CHECK(features[0].value(other_pages) == Approx(std::log(20)));
  CHECK(features[0].value(inactive) == Approx(std::log(1)));
  CHECK(asked == 2);
  CHECK(bound_feature(lattice, {}).empty());
  CHECK(bound_feature(lattice, {.parameters = {"elsewhere"}, .seconds_an_example = bound.seconds_an_example}).empty());
}

TEST_CASE("without a bound the features of a step are those without it", "[model]") {
  const auto space = steps();
  const space::Lattice lattice(space);
  const Roles roles{.batch = "batch", .threads = "threads"};
  CHECK(step_features(lattice, roles, {}).size() == step_features(lattice, roles).size());
  const WorkBound bound{.parameters = {"batch"}, .seconds_an_example = [](const space::Configuration&) { return 1.0; }};
  CHECK(step_features(lattice, roles, bound).size() == step_features(lattice, roles).size() + 1);
}

TEST_CASE("a machine whose bound is known is predicted better from ten trials", "[model]") {
  // Three precisions of very different peaks, half of which is reached: without the bound, three values to be learnt.
  const auto space = make_space(
      {choices("precision", {std::string("f32"), std::string("tf32"), std::string("bf16")}), integers("threads", 1, 16),
       ordered("batch", {std::int64_t{16}, std::int64_t{64}, std::int64_t{256}, std::int64_t{1024}}),
       choices("allocator", {std::string("a"), std::string("b"), std::string("c")})});
  const auto seconds = [](const space::Configuration& configuration) {
    const std::string precision = space::to_text(*configuration.find("precision"));
    const auto threads = static_cast<double>(std::get<std::int64_t>(*configuration.find("threads")));
    return 0.01 / (precision == "f32" ? 1 : precision == "tf32" ? 3 : 8) / std::min(threads, 6.0);
  };
  const WorkBound bound{.parameters = {"precision", "threads"}, .seconds_an_example = seconds};
  const auto error = [&](const WorkBound& known) {
    double squares = 0;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      space::Lattice lattice(space);
      LinearModel model(lattice, {.knee = 1}, step_features(lattice, {.batch = "batch", .threads = "threads"}, known));
      space::Random random(seed);
      std::vector<space::Level> point(lattice.width());
      const auto truth = [&] {
        return std::log(60000 * 2 * seconds(lattice.configuration(point)) * (1 + 0.1 * point[3]));
      };
      for (int t = 0; t < 10; ++t) {
        REQUIRE(lattice.sample(random, point));
        model.tell(point, truth());
      }
      model.fit();
      for (int i = 0; i < 200; ++i) {
        REQUIRE(lattice.sample(random, point));
        squares += std::pow(model.predict(point).log_mean() - truth(), 2);
      }
    }
    return std::sqrt(squares / 1000);
  };
  CHECK(1.5 * error(bound) < error({}));
}

}  // namespace nocturne::search::model
