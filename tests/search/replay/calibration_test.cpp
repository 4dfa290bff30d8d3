#include "search/replay/calibration.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <string>

#include "search/replay/calibration_table.hpp"
#include "search/replay/replay.hpp"
#include "tests/search/replay/files.hpp"

using namespace nocturne;
using namespace nocturne::search;
using namespace nocturne::search::replay;
using Catch::Approx;

namespace {

/// Three parameters of ten values, a valley in all; every tenth row failed.
RecordedSpace valley(const test::Files& files) {
  std::string description = R"({"name": "valley", "constraints": [], "constraints_exact": true, "parameters": [)";
  for (const std::string name : {"x", "y", "z"}) {
    description += R"({"name": ")" + name + R"(", "type": "integer", "values": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]})";
    description += name == "z" ? "]}" : ", ";
  }
  std::string results = "x,y,z,objective,status\n";
  for (int row = 0; row < 1000; ++row) {
    const int x = row / 100, y = row / 10 % 10, z = row % 10;
    results += std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z) + ",";
    results += (x + y + z) % 10 == 7
                   ? ",runtime\n"
                   : std::to_string(10 + (x - 5) * (x - 5) + 2 * (y - 8) * (y - 8) + (z - 1) * (z - 1)) + ",ok\n";
  }
  return test::loaded({files.write_space("valley", description, results)});
}

/// A search that was told sixty trials, and what is true.
struct TrainedSearch {
  explicit TrainedSearch(const RecordedSpace& recorded_space)
      : recorded(recorded_space), search(recorded.space(), {.seed = 3}) {
    for (int i = 0; i < 60; ++i) {
      space::Trial trial;
      trial.configuration = search.ask(1).front().configuration;
      const double value = recorded.rows().objectives[recorded.find(trial.configuration)->row];
      trial.outcome = std::isnan(value) ? space::Outcome::Crashed : space::Outcome::Ok;
      if (!std::isnan(value)) trial.estimate = space::Estimate{.value = value, .standard_error = 0, .runs = 1};
      search.tell(std::span(&trial, 1));
      trials.push_back(std::move(trial));
    }
  }

  [[nodiscard]] CalibrationCheck check(const std::function<std::optional<double>(RecordedSpace::Place)>& truth,
                                       double best = 1e9) {
    const auto calibration = check_calibration(search, recorded,
                                               {.evaluations = 60,
                                                .seed = 1,
                                                .best = best,
                                                .measured = [](auto) { return false; },
                                                .truth = truth,
                                                .told = trials});
    if (!calibration) FAIL("nothing is predicted");
    return *calibration;
  }

  const RecordedSpace& recorded;
  PrunedSearch search;
  std::vector<space::Trial> trials;
};

CalibrationCheck calibration(std::size_t evaluations, std::size_t inside, std::size_t pruned) {
  CalibrationCheck made{.evaluations = evaluations};
  made.search_intervals = {.inside = inside, .below = 10 - inside, .above = 0};
  made.report_intervals = {.inside = 9, .below = 0, .above = 1};
  made.pruned = pruned;
  return made;
}

}  // namespace

TEST_CASE("predictions are held against the truth, whatever it is", "[replay]") {
  const test::Files files;
  const auto recorded = valley(files);
  TrainedSearch told(recorded);

  const auto fast = told.check([](auto) { return 1e-6; });
  CHECK(fast.drawn() == kCalibrationDraws);
  CHECK(fast.search_intervals.below == kCalibrationDraws);
  CHECK(fast.report_intervals.below == kCalibrationDraws);
  CHECK(fast.pruned > kCalibrationDraws / 4);
  CHECK(fast.beat_bound == fast.pruned);
  CHECK(fast.beat_incumbent == fast.pruned);

  const auto slow = told.check([](auto) { return 1e300; });
  CHECK(slow.search_intervals.above == kCalibrationDraws);
  CHECK(slow.pruned == fast.pruned);
  CHECK(slow.beat_bound == 0);
  CHECK(slow.beat_incumbent == 0);

  // Just above the incumbent: the bounds of the pruned are beaten, the incumbent is not.
  const auto between = told.check([](auto) { return 10.0001; });
  CHECK(between.beat_bound == between.pruned);
  CHECK(between.beat_incumbent == 0);

  const auto predicted = told.check([&](RecordedSpace::Place place) {
    const auto point = told.search.models().lattice().point_of(recorded.configuration(place));
    return std::exp(told.search.models().times().predict(*point).log_mean());
  });
  CHECK(predicted.search_intervals.inside == kCalibrationDraws);
}

TEST_CASE("what was measured or would fail has no calibration", "[replay]") {
  const test::Files files;
  const auto recorded = valley(files);
  TrainedSearch told(recorded);
  const auto truth = [&](RecordedSpace::Place place) {
    const double value = recorded.rows().objectives[place.row];
    return std::isnan(value) ? std::nullopt : std::optional(value);
  };
  const auto checked = told.check(truth);
  CHECK(checked.drawn() < kCalibrationDraws);  // a tenth fails
  CHECK(checked.drawn() > kCalibrationDraws * 4 / 5);
  CHECK(checked.audits == told.search.audit().audits());
  CHECK(checked.audits > 0);
  const auto none = check_calibration(told.search, recorded,
                                      {.evaluations = 60,
                                       .seed = 1,
                                       .best = 10,
                                       .measured = [](auto) { return true; },
                                       .truth = truth,
                                       .told = told.trials});
  REQUIRE(none);
  CHECK(none->drawn() == 0);
}

TEST_CASE("the optimum is lost where it was not found and is ruled out", "[replay]") {
  const test::Files files;
  const auto recorded = valley(files);
  TrainedSearch told(recorded);
  const auto truth = [](auto) { return 20.0; };
  CHECK(told.check(truth, recorded.optimum()).optimum_found);
  CHECK_FALSE(told.check(truth, recorded.optimum()).optimum_pruned);
  // By now it is measured, so that it is the incumbent, which nothing rules out.
  CHECK_FALSE(told.check(truth, 2 * recorded.optimum()).optimum_found);
  CHECK_FALSE(told.check(truth, 2 * recorded.optimum()).optimum_pruned);
  space::Trial better;  // a better one far away rules all of the valley out
  better.configuration = recorded.configuration(std::size_t{999});
  better.outcome = space::Outcome::Ok;
  better.estimate = space::Estimate{.value = 1e-3, .standard_error = 0, .runs = 1};
  told.search.tell(std::span(&better, 1));
  CHECK(told.check(truth, 2 * recorded.optimum()).optimum_pruned);
}

TEST_CASE("checking the calibration changes nothing of a run", "[replay]") {
  const test::Files files;
  const std::vector spaces = {valley(files)};
  ReplayOptions options{.strategies = {"auto", "random"}, .evaluations = 100, .repeats = 2};
  const auto plain = replay::replay(spaces, options);
  options.calibration = true;
  const auto checked = replay::replay(spaces, options);
  REQUIRE(plain);
  REQUIRE(checked);
  CHECK(trace_lines(spaces, options, *checked) == trace_lines(spaces, options, *plain));
  CHECK(plain->front().runs[0].calibration.empty());
  REQUIRE(checked->front().runs[0].calibration.size() == 3);
  CHECK(checked->front().runs[0].calibration[2].evaluations == 100);
  CHECK(checked->back().runs[0].calibration.empty());  // random search predicts nothing
}

TEST_CASE("the table of calibration has means of runs, sums of audits, and means of spaces", "[replay]") {
  const ReplayOptions options{.strategies = {"auto"}, .evaluations = 60, .repeats = 2};
  std::vector<Series> series(3);
  for (std::size_t s = 0; s < 3; ++s) series[s] = {.space = s, .strategy = 0, .runs = std::vector<RunTrace>(2)};
  series[0].runs[0].calibration = {calibration(25, 8, 4), calibration(50, 9, 5)};
  series[0].runs[1].calibration = {calibration(25, 10, 0)};
  series[1].runs[0].calibration = {calibration(25, 6, 10)};
  series[1].runs[1].calibration = {calibration(25, 6, 10)};
  auto& first = series[0].runs[0].calibration[0];
  first.beat_bound = 1;
  first.audits = 3;
  first.audit_failures = 1;
  first.optimum_found = true;
  series[0].runs[1].calibration[0].audits = 7;
  series[0].runs[1].calibration[0].optimum_pruned = true;

  const auto table = make_calibration_table(options, series);
  CHECK(table.budgets == std::vector<std::size_t>{25, 50});
  REQUIRE(table.rows.size() == 2);  // the third space has no prediction
  const auto& cell = table.rows[0].cells[0];
  CHECK(cell.runs == 2);
  CHECK(cell.search_coverage.value == Approx(0.9));
  CHECK(*cell.search_coverage.standard_error == Approx(0.1));
  CHECK(cell.search_below.value == Approx(0.1));
  CHECK(cell.report_coverage.value == Approx(0.9));
  CHECK(cell.pruned.value == Approx(0.2));
  CHECK(cell.beat_bound.value == Approx(0.25));
  CHECK(cell.beat_bound.count == 1);  // the other run pruned nothing
  CHECK(cell.audits == 10);
  CHECK(cell.audit_failures == 1);
  CHECK(cell.failure_rate().upper == Approx(0.394163).epsilon(1e-4));  // 1 of 10, 95 % one-sided
  CHECK(cell.miss_rate().upper == Approx(1 - std::pow(0.05, 0.1)));    // 0 of 10
  CHECK(cell.optimum_found == 1);
  CHECK(cell.optimum_pruned == 1);
  CHECK(table.rows[0].cells[1].runs == 1);
  CHECK_FALSE(table.rows[0].cells[1].search_coverage.standard_error.has_value());
  CHECK(table.rows[1].cells[1].search_coverage.count == 0);

  REQUIRE(table.all.size() == 1);
  const auto& all = table.all[0].cells[0];
  CHECK(all.search_coverage.value == Approx((0.9 + 0.6) / 2));
  CHECK(*all.search_coverage.standard_error == Approx(0.1 / 2));
  CHECK(all.search_coverage.count == 2);
  CHECK(all.audits == 10);
}
