#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <string>

#include "tests/tuner/cli/cli_fixture.hpp"
#include "tests/tuner/roofline/sample_peaks.hpp"

using namespace nocturne;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using cli::ExitCode;
using nlohmann::json;

namespace {

/// What test::fill() measures: bf16 twice as fast as f32, two threads as one and a half.
std::string asked_file(const test::CliFixture& cli, const char* command = "/bin/true",
                       const char* batches = "100, 200") {
  const auto file = cli.folder() / "asked.json";
  std::ofstream(file) << R"({"campaign": "asked", "worker": {"command": [")" << command << R"(", "--quiet"]},
    "workload": {"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta", "training_examples": 10000},
    "objective": {"minimise": "time", "epochs": [1, 12], "primary": 1},
    "space": {"parameters": [
      {"name": "batch", "stage": "run", "values": [)"
                      << batches << R"(], "type": "ordinal", "default": 100},
      {"name": "precision", "stage": "run", "values": ["f32", "bf16"], "default": "f32"},
      {"name": "threads", "stage": "run", "range": [1, 2], "default": 2}]}})";
  return file.string();
}

test::NightOptions night_on(const char* host, const char* cpu) {
  test::NightOptions night{.name = std::string("on-") + host};
  night.machine.set({.name = "cpu.model", .value = cpu});
  night.machine.set({.name = "system.host", .value = host, .match = space::Match::Ignore});
  return night;
}

const json& of(const json& list, const char* precision, int threads, int batch = 100) {
  for (const json& each : list) {
    const json& configuration = each.at("configuration");
    if (configuration.at("precision") == precision && configuration.at("threads") == threads &&
        configuration.at("batch") == batch) {
      return each;
    }
  }
  FAIL("not listed: " << list.dump(1));
  return list;
}

}  // namespace

TEST_CASE("nothing is predicted from nothing", "[predict]") {
  test::CliFixture cli;
  const auto file = asked_file(cli);
  CHECK(cli.nocturne({"predict", file}) == ExitCode::NotFound);
  test::fill(cli, night_on("a", "x"));  // four trials are too few
  CHECK(cli.nocturne({"predict", file}) == ExitCode::NotFound);
  CHECK_THAT(cli.err(), ContainsSubstring("4 trials of all campaigns say something of this space"));
}

TEST_CASE("what was measured on the machine itself is known, with what it rests on", "[predict]") {
  test::CliFixture cli;
  test::fill(cli, night_on("a", "x"));
  test::fill(cli, night_on("b", "y"));
  REQUIRE(cli.nocturne({"predict", asked_file(cli), "--machine", "a", "--json"}) == ExitCode::Ok);
  const json page = cli.json();
  const json& pairs = of(page.at("best"), "bf16", 2);
  CHECK(pairs.at("evidence") == "pairs");
  CHECK(pairs.at("campaign") == "on-a");
  CHECK(pairs.at("trial") == 1);
  CHECK(pairs.at("gain").get<double>() == Approx(1 / 0.6));
  CHECK(pairs.at("gain_low").get<double>() == Approx(1 / 0.65));
  CHECK(of(page.at("best"), "bf16", 1).at("evidence") == "trials");
  CHECK(of(page.at("best"), "f32", 1, 200).at("evidence") == "machine");
  CHECK(page.at("default").at("trial") == 0);
  CHECK(page.at("times_known") == true);
  CHECK(page.at("default").at("time_s").get<double>() == Approx(5).epsilon(0.25));  // 1 s, and an epoch of 4 s
  CHECK(page.at("all_candidates") == true);
  CHECK(page.at("candidates") == 8);
  CHECK(page.at("sources").at(0).at("campaign") == "on-a");
  CHECK(page.at("sources").at(0).at("same_machine") == true);

  REQUIRE(cli.nocturne({"predict", asked_file(cli), "--machine", "a", "--count", "2"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("to be expected, not measured"));
  CHECK_THAT(cli.out(), ContainsSubstring("pairs here, trial 1"));
  CHECK_THAT(cli.out(), ContainsSubstring("What settles it: "));
  CHECK_THAT(cli.out(), !ContainsSubstring("precision=f32"));  // the default's
  CHECK_THAT(cli.out(), ContainsSubstring("what 2 machines say"));
}

TEST_CASE("on a machine where nothing was measured the others are evidence, and times are not claimed", "[predict]") {
  test::CliFixture cli;
  test::fill(cli, night_on("a", "x"));
  auto slower = night_on("b", "y");
  slower.slowdown = 6;
  test::fill(cli, slower);
  for (const char* host : {"c", "d", "e"}) test::fill(cli, night_on(host, host));
  REQUIRE(cli.nocturne({"predict", asked_file(cli), "--json"}) == ExitCode::Ok);
  const json page = cli.json();
  const json& best = of(page.at("best"), "bf16", 2);
  CHECK(best.at("evidence") == "workload");
  CHECK(best.at("trial").is_null());
  CHECK(best.at("gain").get<double>() > 1.3);
  CHECK(best.at("gain").get<double>() > of(page.at("best"), "f32", 1).at("gain").get<double>());
  CHECK(page.at("times_known") == false);
  REQUIRE(cli.nocturne({"predict", asked_file(cli)}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("not known to within a factor of two"));
}

TEST_CASE("who asks for a machine that nobody knows is told which there are", "[predict]") {
  test::CliFixture cli;
  test::fill(cli, night_on("node17", "x"));
  CHECK(cli.nocturne({"predict", asked_file(cli), "--machine", "node71"}) == ExitCode::NotFound);
  CHECK_THAT(cli.err(), ContainsSubstring("no campaign was measured on 'node71'"));
  CHECK_THAT(cli.err(), ContainsSubstring("node17"));
}

TEST_CASE("a machine that was only described is ranked by its peak figures, and what they do not decide is withheld",
          "[predict]") {
  test::CliFixture cli;
  const auto described = cli.folder() / "big.json";
  std::ofstream(described) << R"({"machine": "big", "cpus": 2, "peaks_gflops": {"f32": 100, "bf16": 1600},
    "bandwidth_gb_s": 400})";
  REQUIRE(cli.nocturne({"machine", "import", described.string()}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("big, described"));
  cli.open().save_network("mnist_cnn", test::sample_network());
  const auto file = asked_file(cli);
  REQUIRE(cli.nocturne({"predict", file, "--machine", "big", "--json"}) == ExitCode::Ok);
  const json page = cli.json();
  const json& best = of(page.at("best"), "bf16", 2);
  CHECK(best.at("evidence") == "roofline");
  CHECK(best.at("gain").get<double>() > 5);
  CHECK(best.at("gain_low").get<double>() < 0.5 * best.at("gain").get<double>());
  CHECK(page.at("withheld").get<int>() > 0);  // another batch
  CHECK(page.at("by_share") == true);
  REQUIRE(cli.nocturne({"predict", file, "--machine", "big"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("roofline alone"));
  CHECK_THAT(cli.out(), ContainsSubstring("Withheld: "));
  CHECK(cli.nocturne({"machine", "import", file}) == ExitCode::Usage);  // a campaign is no machine
  test::fill(cli, night_on("a", "x"));                                  // four trials say too little to change that
  REQUIRE(cli.nocturne({"predict", file, "--machine", "big", "--json"}) == ExitCode::Ok);
  CHECK(of(cli.json().at("best"), "bf16", 2).at("evidence") == "roofline");
  CHECK(cli.json().at("sources").empty());
  // Where the default is the fastest of what is no guess, nothing is listed.
  std::ofstream(described) << R"({"machine": "big", "cpus": 2, "peaks_gflops": {"f32": 1600, "bf16": 100},
    "bandwidth_gb_s": 400})";
  REQUIRE(cli.nocturne({"machine", "import", described.string()}) == ExitCode::Ok);
  REQUIRE(cli.nocturne({"predict", file, "--machine", "big"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("Nothing that is no guess is expected to be faster"));
  CHECK_THAT(cli.out(), !ContainsSubstring("roofline alone"));
}

TEST_CASE("a machine of the same processor is nearer than any other", "[predict]") {
  test::CliFixture cli;
  test::fill(cli, night_on("a", "x"));
  test::fill(cli, night_on("b", "y"));
  const auto described = cli.folder() / "like-a.json";
  std::ofstream(described) << R"({"machine": "like-a", "cpu_model": "x", "cpus": 2, "peaks_gflops": {"f32": 100},
    "bandwidth_gb_s": 400})";
  REQUIRE(cli.nocturne({"machine", "import", described.string()}) == ExitCode::Ok);
  REQUIRE(cli.nocturne({"predict", asked_file(cli), "--machine", "like-a", "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("default").at("evidence") == "class");
  CHECK(cli.json().at("by_share") == false);  // of the others nobody knows what they can do
}
