#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "tests/space/build.hpp"
#include "tuner/campaign/preparation.hpp"

using namespace nocturne;
using namespace nocturne::space::test;
using tuner::PreparationCosts;

namespace {

space::Space staged() {
  auto framework = choices("framework", {std::string("lean"), std::string("fat")});
  framework.stage = space::Stage::Environment;
  auto level = choices("opt_level", {std::string("O2"), std::string("O3")});
  level.stage = space::Stage::Build;
  return make_space({framework, level, integers("threads", 1, 4)});
}

}  // namespace

TEST_CASE("what was prepared costs nothing again, what shares less costs what is missing", "[tuner]") {
  const auto space = staged();
  const std::vector<db::BuildRecord> builds = {{.build_ns = 4'000'000'000, .created_unix_ns = 5},
                                               {.build_ns = 6'000'000'000, .created_unix_ns = 6},
                                               {.build_ns = 5'000'000'000, .created_unix_ns = 7},
                                               {.build_ns = 90'000'000'000, .created_unix_ns = 50}};
  PreparationCosts costs(space, builds, 10);  // the last one was made by the campaign itself
  REQUIRE(costs.matter());
  auto configuration = space.default_configuration();
  CHECK(costs.seconds(configuration) == Catch::Approx(PreparationCosts::kEnvironmentSeconds + 5));
  costs.prepared(configuration);
  CHECK(costs.seconds(configuration) == 0);
  configuration.set("threads", std::int64_t{3});
  CHECK(costs.seconds(configuration) == 0);
  configuration.set("opt_level", std::string("O3"));
  CHECK(costs.seconds(configuration) == Catch::Approx(5));
  configuration.set("framework", std::string("fat"));
  CHECK(costs.seconds(configuration) == Catch::Approx(PreparationCosts::kEnvironmentSeconds + 5));
}

TEST_CASE("an environment costs what its installation takes, once, and is not built", "[tuner]") {
  const auto space = staged();
  const std::vector<db::BuildRecord> builds = {
      {.build_ns = 5'000'000'000, .created_unix_ns = 7},
      {.flags = {{"environment", "fat"}}, .build_ns = 99'000'000'000, .created_unix_ns = 8},
      {.flags = {{"environment", "fat"}}, .build_ns = 1'000'000'000, .created_unix_ns = 50}};
  PreparationCosts costs(space, builds, 10, {{"fat", 30.0}});
  auto configuration = space.default_configuration();
  CHECK(costs.seconds(configuration) == Catch::Approx(5));  // lean is built: no environment of a price
  configuration.set("framework", std::string("fat"));
  CHECK(costs.seconds(configuration) == Catch::Approx(99));  // as it was before this campaign began
  costs.prepared(configuration);
  configuration.set("opt_level", std::string("O3"));
  CHECK(costs.seconds(configuration) == 0);
  PreparationCosts installed(space, builds, 10, {{"fat", 0.0}});
  CHECK(installed.seconds(configuration) == 0);
  CHECK(PreparationCosts(space, {}, 10, {{"fat", 30.0}}).seconds(configuration) == Catch::Approx(30));
}

TEST_CASE("an environment that framework and source choose together costs what its recipe does", "[tuner]") {
  auto framework = choices("framework", {std::string("lean"), std::string("fat")});
  auto source = choices("source", {std::string("pip"), std::string("distribution")});
  framework.stage = source.stage = space::Stage::Environment;
  const auto space = make_space({framework, source});
  const std::map<std::string, double> installs = {{"fat-9", 30.0}, {"debian-fat", 7.0}};
  PreparationCosts costs(space, {}, 10, installs, {{"fat", "pip", "fat-9"}, {"fat", "distribution", "debian-fat"}});
  auto configuration = space.default_configuration();
  CHECK(costs.seconds(configuration) == 0);
  configuration.set("framework", std::string("fat"));
  CHECK(costs.seconds(configuration) == Catch::Approx(30));
  costs.prepared(configuration);
  CHECK(costs.seconds(configuration) == 0);
  configuration.set("source", std::string("distribution"));
  CHECK(costs.seconds(configuration) == Catch::Approx(7));
}

TEST_CASE("a space without expensive stages has no costs of preparation", "[tuner]") {
  CHECK_FALSE(PreparationCosts(make_space({integers("threads", 1, 4)}), {}, 0).matter());
}
