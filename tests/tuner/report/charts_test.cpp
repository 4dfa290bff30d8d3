// Each chart of the page, as it is handed to the script that draws it: golden/NAME.json.
//
// To make them anew, on purpose and said so in the commit:   nocturne_tuner_test "[charts-remake]"

#include "tuner/report/html/charts/charts.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "space/file_contents.hpp"

namespace nocturne::test {
namespace {

using report::Activity;
using report::Chart;

const std::filesystem::path kFolder = std::filesystem::path(NOCTURNE_SOURCE_DIR) / "tests/tuner/report/golden";

tuner::OtherValue other(std::string value, double mean, double lower, double upper, std::optional<double> measured = {},
                        std::int64_t pairs = 0) {
  return {.value = std::move(value),
          .change = {.trials = 3, .mean = mean, .interval = {.lower = lower, .upper = upper}},
          .measured = measured,
          .pairs = pairs};
}

std::optional<Chart> pairs() {
  return report::pairs_chart({.log_ratios = {std::log(1.5), std::log(1.7), std::log(1.55), std::log(1.6)},
                              .policy = {.pairs = 3, .most_pairs = 6, .margin_percent = 1}});
}

std::optional<Chart> accuracy() {
  return report::accuracy_chart(
      measure::AccuracyDifference{.lower = 0.1, .at_least = -0.2, .at_most = 0.4, .sentence = ""}, 0.5, 1);
}

std::optional<Chart> timeline() {
  const std::vector<report::Stretch> night = {
      {.activity = Activity::Preparing, .from_s = 0, .to_s = 60, .trial = 0},
      {.activity = Activity::Trial, .from_s = 60, .to_s = 90, .trial = 0},
      {.activity = Activity::FailedTrial, .from_s = 90, .to_s = 95, .trial = 1},
      {.activity = Activity::Interrupted, .from_s = 95, .to_s = 600},
      {.activity = Activity::Pair, .from_s = 600, .to_s = 720, .text = "trials 0 and 2"},
      {.activity = Activity::Trial, .from_s = 720, .to_s = 750, .trial = 2}};
  return report::timeline_chart(night);
}

std::optional<Chart> convergence() {
  return report::convergence_chart(
      {.trials = {{.at_s = 30, .seconds = 40, .trial = 0, .settings = "default"},
                  {.at_s = 60, .seconds = 44, .trial = 1, .settings = "threads=1"},
                  {.at_s = 90, .seconds = 22, .trial = 2, .settings = "precision=bf16"}},
       .default_seconds = 40,
       .verified = report::Convergence::Verified{.low = 20, .high = 24, .from_s = 90, .to_s = 300},
       .hour_gain = 0.05,
       .end_s = 300,
       .horizon = "12 epochs"});
}

std::optional<Chart> effects() {
  tuner::Matters matters;
  matters.much = {{.parameter = "precision", .value = "bf16", .others = {other("f32", 0.6, 0.4, 0.8, 0.62, 6)}}};
  matters.unsure = {
      {.parameter = "threads", .value = "2", .others = {other("1", 0.02, -0.1, 0.14), other("4", 0.3, -2, 2.6, 0.35)}}};
  return report::effects_chart(matters);
}

const std::vector<report::Side>& sides() {
  static const std::vector<report::Side> two = {
      {.name = "laptop",
       .machine = "Zen 4",
       .horizon = "1 epoch",
       .default_seconds = 40,
       .best_seconds = 22,
       .gain = tuner::StoredGain{.verdict = "faster",
                                 .gain_percent = 80,
                                 .low_percent = 70,
                                 .high_percent = 91,
                                 .pairs = 6,
                                 .role = "verify"},
       .settings = "precision=bf16"},
      {.name = "server", .machine = "Xeon", .horizon = "1 epoch", .default_seconds = 30, .best_seconds = {}}};
  return two;
}

std::optional<Chart> epochs() {
  return report::epochs_chart(
      {.lines = {{.name = "the default", .start_s = 1, .epoch_s = 4},
                 {.name = "trial 7, the best", .start_s = 20, .epoch_s = 2, .settings = "xla=true"}},
       .horizons = {1, 12},
       .break_evens = {"trial 7 is faster from 10 epochs on"}});
}

std::optional<Chart> memory() {
  return report::memory_chart({.trials = {{.gibibytes = 1, .seconds = 40, .trial = 0, .settings = "default"},
                                          {.gibibytes = 2, .seconds = 20, .trial = 1, .settings = "batch=256"},
                                          {.gibibytes = 3, .seconds = 30, .trial = 2, .settings = "batch=512"}},
                               .front = {{.trial = 1, .as_good = "5, 6"}, {.trial = 0}},
                               .baseline = 0,
                               .best = 1,
                               .horizon = "1 epoch"});
}

std::optional<Chart> possible() {
  return report::possible_chart(
      {.rows = {{.trial = 3, .share = 0.78, .waits_for = "arithmetic", .settings = "precision=bf16"}},
       .sentence = "The best runs at 78 %."});
}

std::optional<Chart> steps() {
  return report::steps_chart(
      {.processes = {{.name = "the default", .first_step = {0, 1, 2}, .seconds = {0.2, 0.1, 0.11}},
                     {.name = "trial 7, the best", .first_step = {0, 1}, .seconds = {0.1, 0.05}}},
       .noise = "Two equal programs seem 1 % apart."});
}

std::optional<Chart> predictions() {
  const std::vector<tuner::LeftOutTrial> trials = {
      {.trial = 0, .predicted = 41, .low = 38, .high = 44, .measured = 40},
      {.trial = 1, .predicted = 30, .low = 28, .high = 32, .measured = 20}};
  return report::predictions_chart(trials);
}

std::optional<Chart> failures() {
  const std::vector<tuner::FailureGroup> groups = {
      {.outcome = space::Outcome::Crashed, .reason = "signal 11", .trials = {4}},
      {.outcome = space::Outcome::OutOfMemory, .reason = "it exceeded its limit", .trials = {5, 9}}};
  return report::failures_chart(groups);
}

std::optional<Chart> ranking() {
  tuner::Ranking made{.parameter = "framework", .levels = {}};
  for (const auto& [name, seconds] : {std::pair<std::string, double>{"onednn", 20}, {"mxnet", 30}, {"cntk", 0}}) {
    tuner::RankedLevel level{.level = space::Value(name), .best = {}, .seconds = seconds};
    if (seconds > 0) level.best.emplace().trial.number = 3;
    if (seconds == 0) level.reason = "it cannot be installed";
    (seconds > 0 ? level.trained : level.failed) = 2;
    made.levels.push_back(std::move(level));
  }
  return report::ranking_chart(made, "12 epochs");
}

std::map<std::string, std::optional<Chart>> all() {
  return {{"sides", report::side_times_chart(sides())},
          {"side-gains", report::side_gains_chart(sides())},
          {"epochs", epochs()},
          {"memory", memory()},
          {"possible", possible()},
          {"steps", steps()},
          {"predictions", predictions()},
          {"failures", failures()},
          {"ranking", ranking()},
          {"pairs", pairs()},
          {"accuracy", accuracy()},
          {"timeline", timeline()},
          {"convergence", convergence()},
          {"effects", effects()}};
}

nlohmann::json document_of(const Chart& chart) {
  nlohmann::json document = report::to_json(chart);
  document["title"] = chart.title;
  document["says"] = chart.says;
  document["table"] = {{"columns", chart.table.columns}, {"rows", chart.table.rows}};
  return document;
}

}  // namespace

TEST_CASE("each chart is handed over as it was", "[report]") {
  for (const auto& [name, chart] : all()) {
    CAPTURE(name);
    REQUIRE(chart);
    CHECK(chart->id == name);
    const auto golden = space::read_file(kFolder / (name + ".json"), 1 << 20);
    REQUIRE(golden);
    CHECK(document_of(*chart).dump(1) + "\n" == *golden);
  }
}

TEST_CASE("each row of a chart's table has as many cells as there are columns, and each bar has its row", "[report]") {
  for (const auto& [name, chart] : all()) {
    CAPTURE(name);
    REQUIRE(chart);
    CHECK_FALSE(chart->says.empty());
    CHECK_FALSE(chart->table.rows.empty());
    for (const auto& row : chart->table.rows) CHECK(row.size() == chart->table.columns.size());
    for (const report::Series& series : chart->series) {
      for (const report::Datum& datum : series.data) {
        CHECK(datum.low <= datum.high);
        if (!chart->rows.empty()) CHECK(datum.at < static_cast<double>(chart->rows.size()));
      }
    }
  }
}

TEST_CASE("where there is nothing to show there is no chart", "[report]") {
  CHECK_FALSE(report::pairs_chart({}));
  CHECK_FALSE(report::accuracy_chart({}, 0.5, 1));
  CHECK_FALSE(report::timeline_chart({}));
  CHECK_FALSE(report::convergence_chart({}));
  CHECK_FALSE(report::effects_chart({}));
  CHECK_FALSE(report::effects_chart(tuner::Matters{}));
  CHECK_FALSE(report::side_times_chart({}));
  CHECK_FALSE(report::side_gains_chart({}));
  CHECK_FALSE(report::epochs_chart({}));
  CHECK_FALSE(report::memory_chart({}));
  CHECK_FALSE(report::possible_chart({}));
  CHECK_FALSE(report::steps_chart({}));
  CHECK_FALSE(report::predictions_chart({}));
  CHECK_FALSE(report::failures_chart({}));
  CHECK_FALSE(report::ranking_chart({}, ""));
  // One value is no choice.
  CHECK_FALSE(report::ranking_chart(tuner::Ranking{.parameter = "framework", .levels = {}}, ""));
}

TEST_CASE("the running interval of the pairs ends with the one that the verdict is read off", "[report]") {
  const auto chart = pairs();
  REQUIRE(chart);
  const auto& interval = chart->series[0].data;
  REQUIRE(interval.size() == 3);
  CHECK(interval.front().high - interval.front().low > interval.back().high - interval.back().low);
  // All pairs are seen, however wide the first interval is.
  for (const report::Datum& pair : chart->series[2].data) {
    CHECK(pair.low > *chart->y.low);
    CHECK(pair.high < *chart->y.high);
  }
}

TEST_CASE("charts are made anew", "[.][charts-remake]") {
  for (const auto& [name, chart] : all())
    std::ofstream(kFolder / (name + ".json")) << document_of(*chart).dump(1) << '\n';
}

}  // namespace nocturne::test
