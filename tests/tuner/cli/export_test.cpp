#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/tuner/cli/cli_fixture.hpp"
#include "tests/tuner/deploy/shell.hpp"
#include "tuner/deploy/profile.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;
using cli::ExitCode;
namespace fs = std::filesystem;

namespace {

test::NightOptions night() {
  test::NightOptions options;
  options.machine.set({.name = "cpu.model", .value = "A CPU", .match = space::Match::Must});
  options.machine.set({.name = "kernel", .value = "6.1", .match = space::Match::Verify});
  options.machine.set({.name = "host", .value = "here", .match = space::Match::Ignore});
  return options;
}

}  // namespace

TEST_CASE("export writes the profile of the best in every format", "[cli]") {
  test::CliFixture cli;
  (void)test::fill(cli, night());
  CHECK(cli.nocturne({"export", "--json"}) == ExitCode::Ok);
  const auto files = cli.json();
  const auto profile = deploy::load_profile(files.at("json").get<std::string>());
  REQUIRE(profile);
  CHECK(fs::path(files.at("json").get<std::string>()) == cli.data() / "profiles" / "evening.json");
  CHECK(profile->trial == 1);
  CHECK(*profile->configuration.find("precision") == space::Value(std::string("bf16")));
  CHECK(profile->workload.training_examples == 10000);
  REQUIRE(profile->gain);
  CHECK(profile->gain->gain_percent == Catch::Approx(100 * (1 / 0.6 - 1)));
  CHECK(profile->gain->low_percent < profile->gain->gain_percent);
  CHECK(profile->gain->gain_percent < profile->gain->high_percent);
  REQUIRE(profile->estimate);
  CHECK(profile->estimate->value == Catch::Approx(3));
  CHECK(profile->training.program == "/bin/true");
  CHECK(profile->training.arguments == std::vector<std::string>{"--quiet"});
  CHECK(profile->measured_on.machine.find("cpu.model") != nullptr);
  CHECK(profile->measured_on.machine.find("kernel")->match == space::Match::Verify);
  CHECK(profile->measured_on.machine.find("host") == nullptr);
  CHECK(profile->launch.set.at("OMP_NUM_THREADS") == "2");
  CHECK_THAT(profile->repeat, ContainsSubstring("--request"));

  CHECK(test::shell("sh -n " + files.at("sh").get<std::string>()).code == 0);
  CHECK((fs::status(files.at("sh").get<std::string>()).permissions() & fs::perms::owner_exec) != fs::perms::none);
  CHECK_THAT(test::read_file(files.at("env").get<std::string>()), ContainsSubstring("OMP_NUM_THREADS=2"));
}

TEST_CASE("export takes the data folder and the samples' length from the run's own request", "[cli]") {
  test::CliFixture cli;
  (void)test::fill(cli, night());
  test::make_file(cli.runs() / "evening-run-1" / "request.json",
                  R"({"protocol": 1, "run_id": "x", "workload": {"network": "mnist_cnn", "data": "mnist",
                      "data_folder": "/measured/data", "optimizer": "adadelta"}, "configuration": {}, "seed": 1,
                      "steps": 12, "steps_per_sample": 3, "partial_batch": "drop"})");
  CHECK(cli.nocturne({"export", "--output", "-"}) == ExitCode::Ok);
  const auto profile = deploy::profile_from_json(cli.json());
  REQUIRE(profile);
  CHECK(profile->training.data_folder == "/measured/data");
  CHECK(profile->training.steps_per_sample == 3);
  CHECK(profile->training.partial_batch == "drop");
}

TEST_CASE("export writes one format where a file or a format is named", "[cli]") {
  test::CliFixture cli;
  (void)test::fill(cli, night());
  const std::string script = (cli.folder() / "deep" / "train.sh").string();
  CHECK(cli.nocturne({"export", "evening", "-o", script}) == ExitCode::Ok);
  CHECK(cli.out() == script + "\n");
  CHECK(test::read_file(script).starts_with("#!/bin/sh\n"));
  CHECK(cli.nocturne({"export", "--format", "env", "--output", "-"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("OMP_NUM_THREADS=2\n"));
  CHECK(cli.nocturne({"export", "--format", "sh", "--output", "/dev/null/x"}) == ExitCode::Unavailable);
}

TEST_CASE("export for another horizon exports that horizon's estimate", "[cli]") {
  test::CliFixture cli;
  (void)test::fill(cli, night());
  CHECK(cli.nocturne({"export", "--epochs", "12", "-o", "-"}) == ExitCode::Negative);  // compared for one epoch alone
  CHECK_THAT(cli.err(), ContainsSubstring("was not compared with the default for 12 epochs"));
  CHECK(cli.nocturne({"export", "--epochs", "12", "--force", "-o", "-"}) == ExitCode::Ok);
  const auto profile = deploy::profile_from_json(cli.json());
  REQUIRE(profile);
  CHECK(profile->epochs == 12);
  CHECK(profile->estimate.value().value == Catch::Approx(1 + 12 * 2));
  CHECK_FALSE(profile->gain);
  CHECK_THAT(profile->forced, ContainsSubstring("was not compared"));
}

TEST_CASE("what is not proven faster than the default is exported by force alone, and says so", "[cli]") {
  test::CliFixture cli;
  test::NightOptions options = night();
  options.verdict_low = -0.9;
  options.verdict_high = 0.02;
  (void)test::fill(cli, options);
  CHECK(cli.nocturne({"export"}) == ExitCode::Negative);
  CHECK_THAT(cli.err(), ContainsSubstring("its gain over the default is -2.0 to") && ContainsSubstring("--force"));
  CHECK_FALSE(fs::exists(cli.data() / "profiles"));
  CHECK(cli.nocturne({"export", "--force", "--json"}) == ExitCode::Ok);
  const auto files = cli.json();
  CHECK_THAT(deploy::load_profile(files.at("json").get<std::string>())->forced, ContainsSubstring("-2.0 to"));
  for (const char* format : {"sh", "env"})
    CHECK_THAT(test::read_file(files.at(format).get<std::string>()), ContainsSubstring("# Exported by force: trial 1"));
}

TEST_CASE("export says that the build is gone", "[cli]") {
  test::CliFixture cli;
  test::NightOptions options = night();
  options.artifact = std::string(64, 'a');
  (void)test::fill(cli, options);
  CHECK(cli.nocturne({"export"}) == ExitCode::Unavailable);
  CHECK_THAT(cli.err(), ContainsSubstring("aaaaaaaaaaaa") && ContainsSubstring("nocturne tune"));
}
