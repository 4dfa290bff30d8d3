#include <cmath>
#include <fstream>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/tuner/cli/cli_fixture.hpp"
#include "tuner/campaign/answer/stored_gain.hpp"

using namespace nocturne;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using cli::ExitCode;

TEST_CASE("compare puts what is known of trials into columns, with the verdict of their pairs", "[cli][compare]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  CHECK(cli.nocturne({"compare", "default", "best", "3", "--json"}) == ExitCode::Ok);
  const auto document = cli.json();
  CHECK(document.at("campaign") == "evening");
  CHECK(document.at("epochs") == 1);
  const auto& sides = document.at("sides");
  REQUIRE(sides.size() == 3);
  CHECK(sides[0].at("trial") == 0);
  CHECK(sides[1].at("trial") == 1);
  CHECK(sides[0].at("gain").is_null());
  CHECK(sides[1].at("gain").at("verdict") == "faster");
  CHECK(sides[1].at("gain").at("pairs") == 6);
  CHECK(sides[1].at("gain").at("low_percent").get<double>() == Approx(100 * (1 / 0.65 - 1)));
  CHECK(sides[2].at("gain").is_null());
  CHECK(sides[2].at("no_gain") == "not compared");
  REQUIRE(sides[2].at("times").size() == 2);
  CHECK(sides[2].at("times")[1].at("epochs") == 12);
  CHECK(sides[2].at("times")[1].at("seconds").get<double>() == Approx(1 + 12 * 3.5));
  CHECK(sides[2].at("steady_step_s").at("seconds").get<double>() == Approx(0.035));

  CHECK(cli.nocturne({"compare", "default", "best"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("FASTER") && ContainsSubstring("6 pairs") &&
                            ContainsSubstring("A (reference)") && ContainsSubstring("bf16") &&
                            ContainsSubstring("The same everywhere: batch=100 threads=2"));
}

TEST_CASE("compared the other way round, a verdict is turned", "[cli][compare]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  CHECK(cli.nocturne({"compare", "1", "0", "--json"}) == ExitCode::Ok);
  const auto gain = cli.json().at("sides")[1].at("gain");
  CHECK(gain.at("verdict") == "slower");
  CHECK(gain.at("percent").get<double>() == Approx(100 * (0.6 - 1)));
  CHECK(gain.at("low_percent").get<double>() == Approx(100 * (0.55 - 1)));
  CHECK(gain.at("high_percent").get<double>() == Approx(100 * (0.65 - 1)));
}

TEST_CASE("a side that failed shows its reason in its column and the rest goes on", "[cli][compare]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  CHECK(cli.nocturne({"compare", "0", "4", "1"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("trial 4: crashed: signal 11") && ContainsSubstring("cannot run") &&
                            ContainsSubstring("FASTER"));
  CHECK(cli.nocturne({"compare", "4", "1", "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("sides")[1].at("no_gain") == "the reference cannot run");
}

TEST_CASE("words that name no configuration are refused with what there is", "[cli][compare]") {
  test::CliFixture cli;
  CHECK(cli.nocturne({"compare", "0", "1"}) == ExitCode::NotFound);  // no database
  (void)test::fill(cli);
  CHECK(cli.nocturne({"compare", "0"}) == ExitCode::Usage);
  CHECK(cli.nocturne({"compare", "0", "99"}) == ExitCode::NotFound);
  CHECK(cli.nocturne({"compare", "0", "fastest"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("'fastest' is no trial's number"));
  CHECK(cli.nocturne({"compare", "0", "threds=2"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("did you mean 'threads'"));
  CHECK(cli.nocturne({"compare", "0", "default"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("the same configuration"));
  CHECK(cli.nocturne({"compare", "0", "1", "--campaign", "evenign"}) == ExitCode::NotFound);
  CHECK(cli.nocturne({"compare", "0", "1", "--measure", "--time", "soon"}) == ExitCode::Usage);
  CHECK(cli.nocturne({"compare", "0", "1", "--campaign", "evening.json", "--generation", "1"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("goes with a campaign's name"));
}

TEST_CASE("of several comparisons the one with the most pairs counts, never one that chose", "[compare]") {
  space::Configuration a, b;
  a.set("x", std::int64_t{1});
  b.set("x", std::int64_t{2});
  const auto compared = [&](const std::string& role, std::int64_t pairs, double ratio, double epochs) {
    return db::StoredComparison{.record = {.campaign = 1, .candidate = b, .baseline = a, .role = role},
                                .verdicts = {{.horizon_epochs = epochs,
                                              .verdict = "faster",
                                              .log_ratio_mean = std::log(ratio),
                                              .log_ratio_low = std::log(ratio) - 0.1,
                                              .log_ratio_high = std::log(ratio) + 0.1,
                                              .pairs = pairs}}};
  };
  const std::vector<db::StoredComparison> all = {compared("select", 30, 0.2, 12), compared("verify", 6, 0.5, 12),
                                                 compared("compare", 8, 0.8, 12), compared("compare", 20, 0.1, 90)};
  const auto found = tuner::stored_gain(all, a, b, 12);
  REQUIRE(found);
  CHECK(found->pairs == 8);
  CHECK(found->role == "compare");
  CHECK(found->gain_percent == Approx(25));
  CHECK(!tuner::stored_gain(all, a, b, 1));
}

TEST_CASE("the page of a campaign names the pairs that its user measured, which are no verdict", "[cli][compare]") {
  test::CliFixture cli;
  const bool verdict = GENERATE(false, true);
  auto store = test::fill(cli, {.finished = false, .verdict = verdict});
  const auto campaign = store.load_campaign("evening");
  const auto configuration = [&](std::int64_t number) {
    return store.finished_trial(campaign.id, number)->trial.configuration;
  };
  const auto compared = [&](std::int64_t pairs) {
    // The default against the best, as 'compare best default' measures them.
    const auto id = store.begin_comparison(
        {.campaign = campaign.id, .candidate = configuration(0), .baseline = configuration(1), .role = "compare"});
    store.save_verdict({.comparison = id,
                        .horizon_epochs = 1,
                        .primary = true,
                        .verdict = "slower",
                        .log_ratio_mean = std::log(1.5),
                        .log_ratio_low = std::log(1.25),
                        .log_ratio_high = std::log(2),
                        .confidence = 0.95,
                        .pairs = pairs});
  };
  compared(4);  // fewer than those of the verdict, where there is one
  REQUIRE(cli.nocturne({"best"}) == ExitCode::Ok);
  CHECK((cli.out().find("Compared") == std::string::npos) == verdict);
  compared(16);
  REQUIRE(cli.nocturne({"best"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("Compared  faster in your own pairs: +50.0 % (+25.0 to +100.0 %), 16 pairs"));
  CHECK((cli.out().find("16 pairs; how it trains was not checked") == std::string::npos) == verdict);
  CHECK((cli.out().find("no verdict yet") == std::string::npos) == verdict);
  REQUIRE(cli.nocturne({"best", "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("compared").at("pairs") == 16);
  CHECK(cli.json().at("gain").is_null() != verdict);
  CHECK((cli.nocturne({"export", "--format", "env", "--output", "-"}) == ExitCode::Ok) == verdict);
  if (!verdict) CHECK_THAT(cli.err(), ContainsSubstring("only 'compare' has measured trial 1"));
}
