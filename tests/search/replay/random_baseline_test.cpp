#include "search/replay/random_baseline.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "search/replay/scoreboard.hpp"
#include "tests/search/replay/files.hpp"

using namespace nocturne;
using namespace nocturne::search::replay;
using Catch::Approx;

namespace {

constexpr double kFailed = std::numeric_limits<double>::quiet_NaN();

/// Four rows are ok, one failed.
RandomBaseline tiny() {
  return {{2, 4, 8, 16}, 5};
}

}  // namespace

TEST_CASE("random search's expectation is that of all draws counted by hand", "[replay]") {
  const auto random_baseline = tiny();
  CHECK(random_baseline.expected_best(1) == Approx((2 + 4 + 8 + 16) / 4.0));
  // Ten pairs of five rows: the best is 2 in four, 4 in three, 8 in two, 16 in one (with the failed row).
  CHECK(random_baseline.expected_best(2) == Approx((4 * 2 + 3 * 4 + 2 * 8 + 1 * 16) / 10.0));
  CHECK(random_baseline.expected_best(4) == Approx((4 * 2 + 4) / 5.0));
  CHECK(random_baseline.expected_best(5) == 2);
  CHECK(random_baseline.expected_best(500) == 2);
  CHECK(random_baseline.expected_draws(1.05) == 3);
  CHECK(random_baseline.expected_draws(2) == 2);
  // Two failed of three: one draw is ok given that it is.
  CHECK(RandomBaseline({3}, 3).expected_best(1) == Approx(3));
}

TEST_CASE("the score's range and baselines are those computed by hand", "[replay]") {
  const auto random_baseline = tiny();
  // Median 6: 1 % of the way to 2 is 5.96, two are better, ceil(2 / 3) = 1; 95 % is 2.2, ceil(3 / 2) = 2.
  CHECK(random_baseline.range(1000).first == 1);
  CHECK(random_baseline.range(1000).last == 2);
  const std::vector<double> a = {8, 2}, b = {kFailed, 4}, c = {2};
  const std::vector<RunValues> runs = {a, b, c};
  const auto score = random_baseline.score(runs, 1000);
  // After one evaluation they stand at 8, 16 (nothing found: the worst) and 2. The published baseline is at rank
  // round(5 / 2) = 2 of 4, the value 4; the exact one at 7.5.
  CHECK(score.published == Approx((4.0 - 8) / (4 - 2)));
  CHECK(score.exact == Approx((7.5 - 26.0 / 3) / (7.5 - 2)));
}

TEST_CASE("the optimum at once scores one, however long the range", "[replay]") {
  std::vector<double> ordered;
  for (int i = 1; i <= 5000; ++i) ordered.push_back(i);
  const RandomBaseline random_baseline(ordered, 6000);
  const std::vector<double> at_once = {1};
  const std::vector<RunValues> runs = {at_once};
  CHECK(random_baseline.range(1000).last == 39);  // 95 % of the way: 125 are better, ceil(4875 / 126)
  CHECK(random_baseline.score(runs, 1000).exact == Approx(1));
  CHECK(random_baseline.score(runs, 1000).published == Approx(1));
  CHECK(random_baseline.range(10).last == 10);
}

TEST_CASE("a scoreboard has means, errors and the test against random search", "[replay]") {
  const test::Files files;
  const std::vector spaces = {test::loaded({files.write_space("tiny", test::kTinyDescription, test::kTinyResults)})};
  const ReplayOptions options{.strategies = {"one", "two"}, .evaluations = 2, .repeats = 3};
  const auto run = [](std::vector<double> values) {
    return RunTrace{.seed = 1, .values = std::move(values), .cpu_seconds = 0.01};
  };
  const std::vector<Series> series = {
      {.space = 0, .strategy = 0, .runs = {run({8, 2}), run({kFailed, 4}), run({2, 16})}},
      {.space = 0, .strategy = 1, .runs = {run({16, kFailed}), run({16, kFailed}), run({16, kFailed})}}};
  const auto board = make_scoreboard(spaces, options, series, 1000);
  CHECK(board.budgets == std::vector<std::size_t>{2});
  REQUIRE(board.rows.size() == 2);
  const auto& cell = board.rows[0].cells[0];
  CHECK(cell.ratio == Approx(4.0 / 3));            // 1, 2, 1
  CHECK(*cell.standard_error == Approx(1.0 / 3));  // variance 1/3, of three
  CHECK(cell.random == Approx(2.6));
  CHECK_FALSE(cell.worse_than_random);
  CHECK(board.rows[0].median_to_5_percent == 2);
  CHECK(board.rows[0].milliseconds == Approx(5));
  CHECK(board.rows[1].cells[0].ratio == 8);
  CHECK(board.rows[1].cells[0].worse_than_random);
  CHECK(std::isinf(board.rows[1].median_to_5_percent));
  CHECK(board.summaries[0].worse == 0);
  CHECK(board.summaries[1].worse == 1);
  CHECK(board.summaries[0].cells[0].ratio == Approx(4.0 / 3));
  CHECK(*board.summaries[0].cells[0].standard_error == Approx(1.0 / 3));
}

TEST_CASE("three runs prove less than a normal distribution would have it", "[replay]") {
  const test::Files files;
  const std::vector spaces = {test::loaded({files.write_space("tiny", test::kTinyDescription, test::kTinyResults)})};
  const ReplayOptions options{.strategies = {"one"}, .evaluations = 2, .repeats = 3};
  const auto run = [](double value) { return RunTrace{.seed = 1, .values = {value, value}, .cpu_seconds = 0}; };
  const std::vector<Series> series = {{.space = 0, .strategy = 0, .runs = {run(16), run(16), run(8)}}};
  const auto board = make_scoreboard(spaces, options, series, 1000);
  const auto& cell = board.rows[0].cells[0];
  // 8, 8, 4 against 2.6: three standard errors. With two degrees of freedom it takes seven.
  CHECK((cell.ratio - cell.random) / *cell.standard_error == Approx(3.05));
  CHECK_FALSE(cell.worse_than_random);
}

TEST_CASE("of two runs one is half of them", "[replay]") {
  const test::Files files;
  const std::vector spaces = {test::loaded({files.write_space("tiny", test::kTinyDescription, test::kTinyResults)})};
  const ReplayOptions options{.strategies = {"one"}, .evaluations = 2, .repeats = 2};
  const std::vector<Series> series = {{.space = 0,
                                       .strategy = 0,
                                       .runs = {RunTrace{.seed = 1, .values = {8, 2}, .cpu_seconds = 0},
                                                RunTrace{.seed = 2, .values = {8, 16}, .cpu_seconds = 0}}}};
  CHECK(make_scoreboard(spaces, options, series, 1000).rows[0].median_to_5_percent == 2);
}

TEST_CASE("the geometric mean over spaces propagates their errors", "[replay]") {
  const test::Files files;
  const auto tiny_space = test::loaded({files.write_space("tiny", test::kTinyDescription, test::kTinyResults)});
  const std::vector spaces = {tiny_space, tiny_space};
  const ReplayOptions options{.strategies = {"one"}, .evaluations = 2, .repeats = 2};
  const auto run = [](double value) { return RunTrace{.seed = 1, .values = {value}, .cpu_seconds = 0}; };
  const std::vector<Series> series = {{.space = 0, .strategy = 0, .runs = {run(2), run(4)}},   // 1.5 ± 0.5
                                      {.space = 1, .strategy = 0, .runs = {run(8), run(8)}}};  // 4 ± 0
  const auto board = make_scoreboard(spaces, options, series, 1000);
  const auto& mean = board.summaries[0].cells[0];
  CHECK(mean.ratio == Approx(std::sqrt(6.0)));
  CHECK(*mean.standard_error == Approx(std::sqrt(6.0) * (0.5 / 1.5) / 2));
  CHECK(mean.random == Approx(2.6));
  CHECK(board.summaries[0].worse == 1);  // 4 in both runs, where 2.6 is expected
}
