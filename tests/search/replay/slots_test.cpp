// Searches with several evaluations under way.

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "search/replay/slots.hpp"
#include "tests/search/replay/files.hpp"

using namespace nocturne;
using namespace nocturne::search::replay;

namespace {

/// A line of 200 configurations, the best in its middle.
RecordedSpace line(const test::Files& files) {
  std::string description = R"({"name": "line", "parameters": [{"name": "x", "type": "integer", "values": [0)";
  std::string results = "x,objective,status\n";
  for (int x = 1; x < 200; ++x) description += ", " + std::to_string(x);
  for (int x = 0; x < 200; ++x) results += std::to_string(x) + "," + std::to_string(10 + std::abs(x - 100)) + ",ok\n";
  return test::loaded(
      {files.write_space("line", description + "]}], \"constraints\": [], \"constraints_exact\": true}", results)});
}

std::vector<SlotsRun> replayed(const std::vector<RecordedSpace>& spaces, const std::vector<std::size_t>& slots,
                               const std::string& strategy) {
  std::vector<SlotsRun> runs;
  for (const std::size_t each : slots) {
    auto series = nocturne::search::replay::replay(
        spaces, {.strategies = {strategy}, .evaluations = 60, .repeats = 4, .slots = each});
    if (!series) FAIL(series.error());
    runs.push_back({.slots = each, .series = *std::move(series)});
  }
  return runs;
}

}  // namespace

TEST_CASE("evaluations under way at once stay distinct, and take less time together", "[replay][slots]") {
  const test::Files files;
  const std::vector spaces = {line(files)};
  for (const std::string strategy : {"auto", "random", "local"}) {
    CAPTURE(strategy);
    const auto runs = replayed(spaces, {1, 8}, strategy);
    for (std::size_t run = 0; run < 4; ++run) {
      const RunTrace& alone = runs[0].series[0].runs[run];
      const RunTrace& together = runs[1].series[0].runs[run];
      CHECK(together.values.size() == 60);
      CHECK(std::ranges::is_sorted(together.ended));
      CHECK(alone.ended.back() > 3 * together.ended.back());
      double sum = 0;
      for (const double each : alone.values) sum += each;  // no cost was recorded: the objective stands for it
      CHECK(alone.ended.back() == Catch::Approx(sum));
    }
  }
}

TEST_CASE("what slots cost and save is compared with the first number of them", "[replay][slots]") {
  const test::Files files;
  const std::vector spaces = {line(files)};
  const auto rows = compare_slots(spaces, 1, 60, replayed(spaces, {1, 1, 8}, "random"));
  REQUIRE(rows.size() == 3);
  CHECK(rows[1].sooner == Catch::Approx(1));
  CHECK(rows[1].ratio == rows[0].ratio);
  CHECK(rows[2].slots == 8);
  CHECK(rows[2].sooner > 3);
  CHECK(rows[2].runs == 4);
  CHECK(rows[0].ratio >= 1);
}
