#include "search/replay/replay.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <set>
#include <string>

#include "search/replay/scoreboard.hpp"
#include "tests/search/replay/files.hpp"

using namespace nocturne;
using namespace nocturne::search::replay;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Two parameters of sixteen values, a valley in both; every tenth row failed.
RecordedSpace valley(const test::Files& files) {
  std::string description = R"({"name": "valley", "parameters": [)";
  std::string results = "x,y,objective,status\n";
  for (const std::string name : {"x", "y"}) {
    description += R"({"name": ")" + name + R"(", "type": "integer", "values": [)";
    for (int i = 0; i < 16; ++i) description += (i == 0 ? "" : ", ") + std::to_string(i);
    description += name == "x" ? "]}, " : "]}], \"constraints\": [], \"constraints_exact\": true}";
  }
  for (int row = 0; row < 256; ++row) {
    const int x = row / 16, y = row % 16;
    results += std::to_string(x) + "," + std::to_string(y) + ",";
    results += row % 10 == 7 ? ",runtime\n" : std::to_string(10 + (x - 5) * (x - 5) + (y - 11) * (y - 11)) + ",ok\n";
  }
  return test::loaded({files.write_space("valley", description, results)});
}

std::string traces(const std::vector<RecordedSpace>& spaces, const ReplayOptions& options) {
  const auto series = replay(spaces, options);
  if (!series) FAIL(series.error());
  return trace_lines(spaces, options, *series);
}

std::vector<double> values_of(const std::vector<RecordedSpace>& spaces, const ReplayOptions& options) {
  const auto series = replay(spaces, options);
  if (!series) FAIL(series.error());
  return series->front().runs.front().values;
}

}  // namespace

TEST_CASE("a run counts distinct evaluations and ends when the space is used up", "[replay]") {
  const test::Files files;
  const std::vector spaces = {test::loaded({files.write_space("tiny", test::kTinyDescription, test::kTinyResults)})};
  for (const std::string strategy : {"random", "exhaustive", "local", "local-best"}) {
    CAPTURE(strategy);
    auto values = values_of(spaces, {.strategies = {strategy}, .evaluations = 200, .repeats = 1});
    REQUIRE(values.size() == 5);
    CHECK(std::ranges::count_if(values, [](double each) { return std::isnan(each); }) == 1);
    std::erase_if(values, [](double each) { return std::isnan(each); });
    std::ranges::sort(values);
    CHECK(values == spaces[0].ordered());
    CHECK(values_of(spaces, {.strategies = {strategy}, .evaluations = 3, .repeats = 1}).size() == 3);
  }
}

TEST_CASE("the trace does not depend on the number of threads", "[replay]") {
  const test::Files files;
  const std::vector spaces = {valley(files),
                              test::loaded({files.write_space("tiny", test::kTinyDescription, test::kTinyResults)})};
  ReplayOptions options{.strategies = {"local", "random"}, .evaluations = 30, .repeats = 7, .seed = 5, .threads = 1};
  const auto alone = traces(spaces, options);
  options.threads = 4;
  CHECK(traces(spaces, options) == alone);
  CHECK(std::ranges::count(alone, '\n') == 2 * 2 * 7);
  CHECK(alone.starts_with(R"({"space": "valley", "tuner": "local", "seed": 5, "values": [)"));
  CHECK(alone.contains(R"({"space": "tiny", "tuner": "random", "seed": 11, "values": [)"));
  CHECK(alone.contains("null"));
  options.seed = 6;
  CHECK(traces(spaces, options) != alone);
}

TEST_CASE("random search does what is computed for it", "[replay]") {
  const test::Files files;
  const std::vector spaces = {valley(files)};
  const ReplayOptions options{.strategies = {"random"}, .evaluations = 25, .repeats = 2000};
  const auto series = replay(spaces, options);
  REQUIRE(series);
  const auto board = make_scoreboard(spaces, options, *series, 1000);
  const auto& cell = board.rows[0].cells[0];
  CHECK(std::abs(cell.ratio - cell.random) < 4 * *cell.standard_error);
  CHECK(*cell.standard_error < 0.01);
  CHECK(std::abs(board.rows[0].score.exact) < 0.05);
}

TEST_CASE("strategies that cannot be are refused before anything is run", "[replay]") {
  const test::Files files;
  const std::vector spaces = {valley(files)};
  const auto refused = replay(spaces, {.strategies = {"random", "randm"}});
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error(), ContainsSubstring("unknown strategy 'randm', did you mean 'random'?"));
  const auto stopped = replay(spaces, {.strategies = {"random"}}, {}, [] { return true; });
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error() == "stopped");
}

TEST_CASE("disturbance changes what is told and never what is scored", "[replay]") {
  const test::Files files;
  const std::vector spaces = {valley(files)};
  const ReplayOptions clean{.strategies = {"local"}, .evaluations = 60, .repeats = 1};
  auto failing = clean;
  failing.disturbance.outliers = 1;  // all of them alike: their order is the same
  CHECK(traces(spaces, failing) == traces(spaces, clean));
  failing.disturbance = {.noise = 1};
  const auto noisy = values_of(spaces, failing);
  CHECK(noisy != values_of(spaces, clean));
  for (const double value : noisy) CHECK((std::isnan(value) || std::ranges::binary_search(spaces[0].ordered(), value)));
  CHECK(traces(spaces, failing) == traces(spaces, failing));
}

TEST_CASE("made failures are a share of the configurations, the same for the same seed", "[replay]") {
  const test::Files files;
  const std::vector spaces = {valley(files)};
  const auto failed = [&](const std::string& strategy, double share, std::uint64_t seed) {
    const auto values = values_of(
        spaces,
        {.strategies = {strategy}, .evaluations = 256, .repeats = 1, .seed = seed, .disturbance = {.failures = share}});
    return std::ranges::count_if(values, [](double each) { return std::isnan(each); });
  };
  CHECK(failed("random", 0, 1) == 25);
  CHECK(failed("random", 1, 1) == 256);
  // 231 rows could fail: 92 ± 7.4 do.
  CHECK(std::abs(static_cast<double>(failed("random", 0.4, 1)) - 25 - 92.4) < 4 * 7.4);
  CHECK(failed("random", 0.4, 1) == failed("exhaustive", 0.4, 1));
}

TEST_CASE("parameters that do nothing widen the space and keep its rows", "[replay]") {
  const test::Files files;
  const auto description = [&](bool exact) {
    std::string text(test::kTinyDescription);
    return exact ? text : text.replace(text.find("_exact\": true"), 13, "_exact\": false");
  };
  for (const bool exact : {true, false}) {
    CAPTURE(exact);
    const auto narrow =
        test::loaded({files.write_space(exact ? "rule" : "rows", description(exact), test::kTinyResults)});
    const std::vector wide = {narrow.with_dummies(3).value()};
    CHECK(wide[0].space().count().count == space::Count(5 * 8));
    CHECK(wide[0].rows().size() == 5);
    const auto values = values_of(wide, {.strategies = {"random"}, .evaluations = 100, .repeats = 1});
    CHECK(values.size() == 40);
    CHECK(std::ranges::count(values, 2.0) == 8);
    CHECK(narrow.with_dummies(20).value().space().count().count == space::Count(5 << 20U));
    CHECK_FALSE(narrow.with_dummies(33));
  }
}

TEST_CASE("a past campaign is drawn from the rows, anew for each seed, failed ones too", "[replay]") {
  const test::Files files;
  const auto space = valley(files);
  const auto past = sampled_campaign(space, 200, 3);
  CHECK_FALSE(past.same_machine_and_workload);
  CHECK(past.name == "valley");
  std::set<std::string> distinct;
  for (const auto& each : past.trials) distinct.insert(each.configuration.identity());
  CHECK(distinct.size() == 200);
  CHECK(std::ranges::any_of(past.trials, [](const auto& each) { return !each.estimate; }));
  const auto first = [&](std::uint64_t seed) { return sampled_campaign(space, 1, seed).trials[0].configuration; };
  CHECK(first(3) == past.trials[0].configuration);
  CHECK(first(3) != first(4));
  CHECK(sampled_campaign(space, 1000, 3).trials.size() == 256);
}

TEST_CASE("a run that is given an earlier one begins with its best", "[replay]") {
  const test::Files files;
  const std::vector spaces = {valley(files)};
  ReplayOptions options{.strategies = {"auto"}, .evaluations = 3, .repeats = 3, .seed = 5};
  options.history = [](const RecordedSpace& space, std::uint64_t seed) {
    return std::vector{earlier_campaign(space, 25, seed)};
  };
  const auto series = replay(spaces, options);
  REQUIRE(series);
  for (const auto& run : series->front().runs) {
    const auto past = earlier_campaign(spaces[0], 25, run.seed);
    CHECK(past.same_machine_and_workload);
    REQUIRE(past.trials.size() == 25);
    double best = 1e9;
    for (const auto& each : past.trials) best = each.estimate ? std::min(best, each.estimate->value) : best;
    CHECK(run.values[0] == best);
  }
  const auto with = traces(spaces, options);
  options.threads = 1;
  CHECK(traces(spaces, options) == with);
  options.history = {};
  CHECK(traces(spaces, options) != with);
}
