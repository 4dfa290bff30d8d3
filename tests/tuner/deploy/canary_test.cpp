#include "tuner/deploy/canary.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <random>

#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/deploy/shell.hpp"
#include "tuner/deploy/deployment_log.hpp"

using namespace nocturne;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

std::chrono::nanoseconds time_of(double seconds) {
  return std::chrono::nanoseconds(std::llround(seconds * 1e9));
}

/// Thirty steps that all take the same.
deploy::CanaryWindow window_of(const json& each) {
  deploy::CanaryWindow window;
  for (std::int64_t step = 0; step < 30; ++step) {
    space::Sample sample{.first_step = step, .wall = time_of(each.at("step_s").get<double>())};
    sample.data_wait = time_of(each.value("waited_s", 0.0));
    window.run.samples.push_back(sample);
  }
  if (each.contains("spike_s")) window.run.samples[17].wall = time_of(each["spike_s"].get<double>());
  window.run.load.other_cpu = each.value("other_cpu", 0.0);
  window.run.load.steal = each.value("steal", 0.0);
  window.cpu_held_back = each.value("held_back", false);
  window.differences = each.value("differences", std::vector<std::string>());
  return window;
}

/// Without scatter: the limit is the value.
deploy::StepForecast exactly(double seconds) {
  return {.seconds = seconds, .sd = 0, .degrees = 4, .processes = 1};
}

}  // namespace

TEST_CASE("a deployed training is judged as the table says", "[deploy]") {
  const json cases = json::parse(test::read_file(NOCTURNE_SOURCE_DIR "/tests/tuner/deploy/canary_cases.json"));
  REQUIRE(cases.size() > 10);
  for (const json& each : cases) {
    CAPTURE(each.at("name"));
    deploy::CanaryLimits limits{.measured = exactly(0.125), .of_default = exactly(0.2)};
    if (each.contains("default_limit_s")) limits.of_default.reset();
    const auto canary = deploy::judge(window_of(each), limits);
    REQUIRE(canary);
    CHECK(deploy::to_text(canary->finding) == each.at("expected").get<std::string>());
    CHECK(canary->seconds == Approx(each.at("step_s").get<double>()));
    CHECK(canary->reasons == each.at("reasons").get<std::vector<std::string>>());
    CHECK(canary->explained == each.at("explained").get<bool>());
  }
}

TEST_CASE("a window without steps says nothing", "[deploy]") {
  CHECK_FALSE(deploy::judge({}, {.measured = exactly(1), .of_default = {}}));
}

TEST_CASE("the warning has both numbers and what explains them", "[deploy]") {
  const deploy::CanaryLimits limits{.measured = exactly(0.125), .of_default = exactly(0.2)};
  const auto busy = deploy::judge(window_of({{"step_s", 0.25}, {"other_cpu", 0.5}}), limits);
  CHECK_THAT(deploy::sentence_of(*busy, limits), ContainsSubstring("a step takes 0.25 s; 0.125 s were measured") &&
                                                     ContainsSubstring("0.2 s of the default") &&
                                                     ContainsSubstring("other processes took 50 % of the machine"));
  const auto bare = deploy::judge(window_of({{"step_s", 0.25}}), limits);
  CHECK_THAT(deploy::sentence_of(*bare, limits), ContainsSubstring("nothing that was looked at explains it"));
}

TEST_CASE("the limit is that of one new process, and few processes know little", "[deploy]") {
  // Hand-computed: three processes 1, 1 and 1 with a machine of 5 %: nu = 6, sd = 0.05 * sqrt(4/6), t = 5.959.
  const std::vector<double> alike = {1, 1, 1};
  const auto three = deploy::forecast_step(alike, 0.05);
  REQUIRE(three);
  CHECK(three->seconds == Approx(1));
  CHECK(three->degrees == Approx(6));
  CHECK(three->sd == Approx(0.05 * std::sqrt(4.0 / 6)));
  CHECK(three->limit() == Approx(std::exp(5.959 * 0.05 * std::sqrt(4.0 / 6) * std::sqrt(4.0 / 3))).epsilon(1e-3));
  const auto one = deploy::forecast_step(std::span(alike).first(1), 0.05);
  CHECK(one->limit() > three->limit());
  CHECK_FALSE(deploy::forecast_step({}, 0.05));
  const std::vector<double> impossible = {0, -1, std::nan("")};
  CHECK_FALSE(deploy::forecast_step(impossible, 0.05));
  const std::vector<double> wild = {1e-6, 1, 1e6};
  CHECK_FALSE(deploy::forecast_step(wild, 0.05));
}

TEST_CASE("one new process in two thousand is beyond the limit", "[deploy]") {
  // Processes of a machine whose noise is known: what is beyond the upper end of 99.9 % is 1 of 2000.
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal(0, 0.05);
  int beyond = 0;
  constexpr int kDraws = 40'000;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<double> steps;
    for (int i = 0; i < 6; ++i) steps.push_back(std::exp(normal(random)));
    beyond += std::exp(normal(random)) > deploy::forecast_step(steps, 0.05)->limit() ? 1 : 0;
  }
  CHECK(beyond < 2 * kDraws / 2000);  // the noise is known better than by its degrees, so rather fewer
  CHECK(beyond > 0);
}

TEST_CASE("what was seen of deployments is appended, a file a host", "[deploy]") {
  const test::TemporaryFolder folder;
  const std::filesystem::path log = folder.path() / "deployments";
  CHECK(deploy::read_deployments(log).empty());
  deploy::Deployment seen{.time = "2026-01-02T03:04:05Z",
                          .host = "n 1/..",
                          .profile = "mnist",
                          .trial = 7,
                          .finding = "as measured",
                          .step_s = 0.1,
                          .expected_s = 0.1,
                          .limit_s = 0.125,
                          .because = "a \"step\"\n"};
  REQUIRE(deploy::append_deployment(log, seen));
  deploy::Deployment later = seen;
  later.time = "2026-01-03T03:04:05Z";
  later.finding = "fell back";
  REQUIRE(deploy::append_deployment(log, later));
  deploy::Deployment elsewhere = seen;
  elsewhere.host = "n2";
  REQUIRE(deploy::append_deployment(log, elsewhere));
  test::make_file(log / "n3.jsonl", "not JSON\n{\"time\": 7}\n[]\n");
  const auto all = deploy::read_deployments(log);
  REQUIRE(all.size() == 3);
  CHECK(all.back() == later);
  CHECK(deploy::last_deployments(all, "mnist") == std::vector{later, elsewhere});
  CHECK(deploy::last_deployments(all, "other").empty());
  test::make_file(folder.path() / "file", "");
  CHECK_THAT(deploy::append_deployment(folder.path() / "file", seen).error(), ContainsSubstring("cannot write"));
}
