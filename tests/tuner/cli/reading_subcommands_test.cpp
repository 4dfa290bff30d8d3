#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/tuner/cli/cli_fixture.hpp"

using namespace nocturne;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using cli::ExitCode;

TEST_CASE("best names the best trial and its gain over the default", "[cli]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  CHECK(cli.nocturne({"best", "--json"}) == ExitCode::Ok);
  const auto document = cli.json();
  CHECK(document.at("campaign") == "evening");
  CHECK(document.at("best").at("trial") == 1);
  CHECK(document.at("best").at("configuration").at("precision") == "bf16");
  CHECK(document.at("default").at("trial") == 0);
  CHECK(document.at("gain").at("verdict") == "faster");
  CHECK(document.at("gain").at("percent").get<double>() == Approx(100 * (1 / 0.6 - 1)));
  CHECK(document.at("gain").at("low_percent").get<double>() == Approx(100 * (1 / 0.65 - 1)));
  CHECK(cli.err().empty());

  CHECK(cli.nocturne({"best", "evening"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("bf16") && ContainsSubstring("1.67 times as fast") &&
                            ContainsSubstring(" would take 3.00 s (12 steps were timed), 5000 examples/s"));
  CHECK(cli.out().find('\x1b') == std::string::npos);  // no terminal, no colours
}

TEST_CASE("best says that single trials which contradict the pairs do not count", "[cli]") {
  test::CliFixture agreeing, contradicting;
  (void)test::fill(agreeing);
  (void)test::fill(contradicting,
                   {.verdict_low = std::log(0.9), .verdict_mean = std::log(0.92), .verdict_high = std::log(0.94)});
  CHECK(agreeing.nocturne({"best"}) == ExitCode::Ok);
  CHECK_THAT(agreeing.out(), !ContainsSubstring("a run was disturbed"));
  CHECK(contradicting.nocturne({"best"}) == ExitCode::Ok);
  CHECK_THAT(contradicting.out(), ContainsSubstring("these two single runs say 1.67 times, the pairs 1.09"));
}

TEST_CASE("best composes the time of other horizons from the parts", "[cli]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  CHECK(cli.nocturne({"best", "--epochs", "90", "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("best").at("seconds").get<double>() == Approx(1 + 90 * 2));
  CHECK(cli.json().at("gain").is_null());  // compared for one epoch only
}

TEST_CASE("a campaign that does not exist is not found, and the nearest is named", "[cli]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  CHECK(cli.nocturne({"best", "evenign"}) == ExitCode::NotFound);
  CHECK_THAT(cli.err(), ContainsSubstring("evening"));
  CHECK(cli.nocturne({"best", "evening", "--generation", "9"}) == ExitCode::NotFound);
  CHECK(cli.nocturne({"best", "--generation", "9"}) == ExitCode::NotFound);
  CHECK_THAT(cli.err(), ContainsSubstring("no campaign has a generation 9"));
}

TEST_CASE("list shows campaigns and their state", "[cli]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  const auto running = test::fill(cli, {.name = "late", .finished = false, .artifact = {}, .machine = {}});
  CHECK(cli.nocturne({"list", "--json"}) == ExitCode::Ok);
  const auto document = cli.json().at("campaigns");
  REQUIRE(document.size() == 2);
  CHECK(document[0].at("name") == "late");
  CHECK(document[0].at("state") == "running");
  CHECK(document[1].at("state") == "finished");
  CHECK(document[1].at("ok") == 4);
  CHECK(cli.nocturne({"list", "campaigns", "--limit", "1"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("late") && !ContainsSubstring("evening"));
}

TEST_CASE("list filters, sorts and limits trials", "[cli]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  const auto numbers = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"list", "trials", "--json"});
    CHECK(cli.nocturne(words) == ExitCode::Ok);
    std::vector<int> result;
    const auto document = cli.json();
    for (const auto& row : document.at("trials")) result.push_back(row.at("trial").get<int>());
    return result;
  };
  CHECK(numbers({}) == std::vector{0, 1, 2, 3, 4, 5});
  CHECK(numbers({"--sort", "value"}) == std::vector{1, 3, 0, 2});
  CHECK(numbers({"--sort", "value", "--limit", "2"}) == std::vector{1, 3});
  CHECK(numbers({"--outcome", "crashed"}) == std::vector{4});
  CHECK(numbers({"--outcome", "failed"}) == std::vector{4});
  CHECK(numbers({"--outcome", "ok", "--limit", "1"}) == std::vector{0});
  CHECK(numbers({"--outcome", "timeout"}).empty());
  CHECK(cli.nocturne({"list", "trials", "evening"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(),
             ContainsSubstring("precision=bf16") && ContainsSubstring("in flight") && ContainsSubstring("signal 11"));
}

TEST_CASE("list comparisons shows which trials were measured in pairs, and what these say", "[cli]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  CHECK(cli.nocturne({"list", "comparisons", "--json"}) == ExitCode::Ok);
  const auto document = cli.json().at("comparisons");
  REQUIRE(document.size() == 1);
  CHECK(document[0].at("role") == "verify");
  CHECK(document[0].at("candidate") == 1);
  CHECK(document[0].at("baseline") == 0);
  const auto verdict = document[0].at("verdicts").at(0);
  CHECK(verdict.at("verdict") == "faster");
  CHECK(verdict.at("gain_percent").get<double>() == Approx(100 * (1 / 0.6 - 1)));
  CHECK(verdict.at("low_percent").get<double>() == Approx(100 * (1 / 0.65 - 1)));
  CHECK(cli.nocturne({"list", "comparisons", "evening"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("verify") && ContainsSubstring("faster") && ContainsSubstring("+66.7 %"));
}

TEST_CASE("list names what can be named in a campaign file", "[cli]") {
  test::CliFixture cli;
  for (const char* what : {"strategies", "workers", "exporters"}) {
    CAPTURE(what);
    CHECK(cli.nocturne({"list", what, "--json"}) == ExitCode::Ok);
    CHECK(cli.json().at("names").at(0).contains("name"));
    CHECK(cli.nocturne({"list", what}) == ExitCode::Ok);
  }
  (void)test::fill(cli);
  for (const char* what : {"parameters", "builds"}) {
    CAPTURE(what);
    CHECK(cli.nocturne({"list", what, "--json"}) == ExitCode::Ok);
    CHECK(cli.json().at(what).is_array());
    CHECK(cli.nocturne({"list", what}) == ExitCode::Ok);
  }
}

TEST_CASE("show gives a trial with its runs, and the samples when asked", "[cli]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  CHECK(cli.nocturne({"show", "1", "--json"}) == ExitCode::Ok);
  auto document = cli.json();
  CHECK(document.at("estimate").at("seconds") == Approx(3));
  CHECK(document.at("parts_s").at("steady_step").get<double>() == Approx(0.02));
  REQUIRE(document.at("runs").size() == 1);
  const auto& run = document.at("runs")[0];
  CHECK(run.at("steps").at("median_s").get<double>() == Approx(0.02));
  CHECK(run.at("phases")[0].at("name") == "import");
  CHECK(run.at("command").get<std::string>().find("--request") != std::string::npos);
  CHECK_FALSE(run.contains("samples"));
  CHECK(cli.nocturne({"show", "1", "--json", "--samples"}) == ExitCode::Ok);
  CHECK(cli.json().at("runs")[0].at("samples").size() == 12);

  CHECK(cli.nocturne({"show", "1", "--runs"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("repeat with") && ContainsSubstring("median 20.0 ms") &&
                            ContainsSubstring("300.0 MiB") && ContainsSubstring("loss         2.3 → 1.2") &&
                            ContainsSubstring("configuration  batch=100 precision=bf16 threads=2\n"));
  CHECK(cli.nocturne({"show", "1"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("settings       precision=bf16\n") &&
                            ContainsSubstring("search  ok       7.00 s  20.0 ms\n") &&
                            ContainsSubstring("nocturne show 1 evening --generation 1 --runs\n") &&
                            ContainsSubstring("computed from the steps that were timed") &&
                            !ContainsSubstring("repeat with"));
  CHECK(cli.nocturne({"show", "4"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("| Segmentation fault"));
  CHECK(cli.nocturne({"show", "99"}) == ExitCode::NotFound);
}

TEST_CASE("show tells what the device said of itself, and that it was held back", "[cli]") {
  test::CliFixture cli;
  space::DeviceReport device{.name = "Some GPU", .readings = 8, .energy_j = 1234.56, .throttled = {{"thermal", 0.25}}};
  device.sm_clock_mhz = {.min = 900, .mean = 1200, .max = 1500};
  device.power_w = {.min = {}, .mean = 200, .max = 250};
  (void)test::fill(cli, {.artifact = {}, .machine = {}, .device = device});
  CHECK(cli.nocturne({"show", "1", "--json"}) == ExitCode::Ok);
  const auto run = cli.json().at("runs").at(0);
  CHECK(run["device"]["energy_j"] == 1234.56);
  CHECK(run["device"]["sm_clock_mhz"] == nlohmann::json({{"min", 900.0}, {"mean", 1200.0}, {"max", 1500.0}}));
  CHECK(run["device"]["temperature_c"]["max"].is_null());
  CHECK(run["device"]["throttled"] == nlohmann::json::object({{"thermal", 0.25}}));
  CHECK(run["disturbed"] == nlohmann::json::array({"its device was held back: thermal in 25 % of its readings"}));
  CHECK(cli.nocturne({"show", "1", "--runs"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(),
             ContainsSubstring("device       Some GPU, asked 8 times") && ContainsSubstring("energy       1235 J") &&
                 ContainsSubstring("clock        min 900, mean 1200, max 1500 MHz") &&
                 ContainsSubstring("power        mean 200, max 250 W") &&
                 ContainsSubstring("throttled    thermal in 25.0 % of its readings") &&
                 ContainsSubstring("disturbed    its device was held back") && !ContainsSubstring("temperature"));
}

TEST_CASE("show counts the ends of epochs, and the starts of a loader's processes", "[cli]") {
  test::CliFixture cli;
  (void)test::fill(cli, {.epoch_starts = 3, .epoch_ends = 2});
  CHECK(cli.nocturne({"show", "1", "--runs"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("epochs       3 starts of the loader's processes, 600 ms in all") &&
                            ContainsSubstring("epochs       2 ends: evaluation and the like, 600 ms in all") &&
                            !ContainsSubstring("phase epoch"));
}

TEST_CASE("a run without a device, on a quiet machine, is shown without either", "[cli]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  CHECK(cli.nocturne({"show", "1", "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("runs")[0].at("device").is_null());
  CHECK(cli.json().at("runs")[0].at("disturbed").empty());
  CHECK(cli.nocturne({"show", "1"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), !ContainsSubstring("device  ") && !ContainsSubstring("disturbed"));
}

TEST_CASE("show says where a failed run was and what it printed last, harmless to the terminal", "[cli]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  CHECK(cli.nocturne({"show", "4"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(),
             ContainsSubstring("crashed: signal 11 in phase first_step") && ContainsSubstring("| Segmentation fault"));
  CHECK(cli.out().find('\x1b') == std::string::npos);
  CHECK(cli.nocturne({"show", "4", "--runs"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("first_step") && ContainsSubstring("not finished"));
  CHECK(cli.nocturne({"show", "5"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("in flight"));
}

TEST_CASE("explain gives the effect of each value", "[cli]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  CHECK(cli.nocturne({"explain", "--json"}) == ExitCode::Ok);
  const auto document = cli.json();
  const auto& effects = document.at("effects");
  REQUIRE(effects.size() == 2);  // batch never varied
  const auto precision = std::ranges::find(effects, "precision", [](const auto& each) { return each.at("parameter"); });
  REQUIRE(precision != effects.end());
  const auto& bf16 = precision->at("values")[0];
  CHECK(bf16.at("value") == "bf16");
  CHECK(bf16.at("measured") == 2);
  // T(1): 3 against 5 with two threads, 4.5 against 9 with one.
  CHECK(bf16.at("alone").at("time_ratio").get<double>() == Approx(std::sqrt(0.6 * 0.5)));
  CHECK(bf16.at("alone").at("pairs") == 2);
  CHECK(document.at("changes")[0].at("parameter") == "precision");

  CHECK(cli.nocturne({"explain"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("×0.548") && ContainsSubstring("f32 *"));
}

TEST_CASE("pareto shows the best for each wish and who is fastest for how many epochs", "[cli]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  REQUIRE(cli.nocturne({"pareto", "--wanted", "time:1,throughput"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("Nothing beats these in all of it (1 of 4 configurations)"));
  CHECK_THAT(cli.out(), ContainsSubstring("from      1 on  trial 1"));
  REQUIRE(cli.nocturne({"pareto", "--wanted", "time:1,throughput", "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("best").at("time:1") == 1);
  CHECK(cli.json().at("front").size() == 1);
  CHECK(cli.nocturne({"pareto", "--wanted", "energy"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("sensor"));
}
