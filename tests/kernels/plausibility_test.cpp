#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/machine/plausibility.hpp"
#include "kernels/machine/report.hpp"

namespace nocturne::machine {
namespace {

Measurement rate_of(const char* name, int threads, double most) {
  return {.name = name,
          .unit = "GFLOP/s",
          .threads = threads,
          .kernel = "loop",
          .rate = {.median = most, .minimum = most, .maximum = most, .relative_spread = 0, .repeats = 5},
          .absent = {}};
}

int two_units(const Measurement&) {
  return 2;
}

}  // namespace

TEST_CASE("several threads that are hardly faster than one are doubted, by as many cores as they have", "[machine]") {
  const auto doubted = [](double one, double all, int threads, int units) {
    const auto doubts = doubts_about({rate_of("fma_f32", 1, one), rate_of("fma_f32", threads, all)},
                                     [&](const Measurement&) { return units; });
    return doubts.empty() ? -1 : static_cast<int>(doubts.front().figure);
  };
  CHECK(doubted(117, 117, 2, 2) == 1);
  CHECK(doubted(117, 150, 2, 2) == 1);
  CHECK(doubted(117, 231, 2, 2) == -1);
  CHECK(doubted(117, 117, 2, 1) == -1);  // two threads of one core, or of one memory
  CHECK(doubted(117, 100, 2, 1) == 1);
  CHECK(doubted(100, 2500, 64, 64) == 1);
  CHECK(doubted(100, 3500, 64, 64) == -1);  // clocks fall where all compute
  CHECK(doubted(60, 231, 2, 2) == 0);       // the one that is too low is that of one thread
  CHECK(least_gain(1) == 0.9);
  CHECK(least_gain(2) == 1.3);
  CHECK(least_gain(10) == Catch::Approx(4));
}

TEST_CASE("only rates of the same name are held against each other", "[machine]") {
  std::vector<Measurement> figures = {rate_of("fma_f32", 1, 100), rate_of("fma_bf16", 2, 100),
                                      rate_of("latency", 1, 100), rate_of("latency", 2, 100),
                                      rate_of("triad", 1, 100),   rate_of("triad", 2, 100)};
  figures[2].unit = figures[3].unit = "ns";
  figures[5].absent = "it was not measured";
  CHECK(doubts_about(figures, two_units).empty());
  figures[5].absent.clear();
  CHECK(doubts_about(figures, two_units).size() == 1);
  figures[5].node = 0;
  CHECK(doubts_about(figures, two_units).empty());
}

TEST_CASE("what is doubted is measured again, and the best is kept", "[machine]") {
  std::vector<Measurement> figures = {rate_of("fma_f32", 1, 117), rate_of("fma_f32", 2, 117)};
  std::vector<std::size_t> asked;
  std::vector<double> next = {110, 231};
  measure_doubted_again(figures, two_units, [&](std::size_t index) {
    asked.push_back(index);
    Measurement again = rate_of("fma_f32", 2, next.at(asked.size() - 1));
    again.right = asked.size() != 1;
    return again;
  });
  CHECK(asked == std::vector<std::size_t>{1, 1});
  CHECK(figures[1].rate.maximum == 231);
  CHECK(figures[1].tries == 3);
  CHECK(figures[1].doubt.empty());
  CHECK_FALSE(figures[1].right);  // a wrong result stays one, however often others were right
  CHECK(figures[0].tries == 1);
}

TEST_CASE("what stays implausible ends after a few tries, as doubtful, and is printed so", "[machine]") {
  std::vector<Measurement> figures = {rate_of("fma_f32", 1, 117), rate_of("fma_f32", 2, 117)};
  int asked = 0;
  measure_doubted_again(figures, two_units, [&](std::size_t) {
    ++asked;
    return rate_of("fma_f32", 2, 100);
  });
  CHECK(asked == kMostTries - 1);
  CHECK(figures[1].rate.maximum == 117);
  CHECK(figures[1].tries == kMostTries);
  CHECK(figures[1].doubt == "2 threads reached 1.00 times what one did, at least 1.30 times is expected");
  const nlohmann::json report = to_json(figures);
  CHECK(report["measurements"][1]["tries"] == kMostTries);
  CHECK(report["measurements"][1]["doubt"] == figures[1].doubt);
  CHECK_FALSE(report["measurements"][0].contains("doubt"));
  std::ostringstream table;
  print_table(table, figures);
  CHECK(table.str().find("best of 4 tries") != std::string::npos);
  CHECK(table.str().find("fma_f32 with 2 threads is doubtful after 4 tries: 2 threads reached") != std::string::npos);
}

}  // namespace nocturne::machine
