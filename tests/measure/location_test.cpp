#include "measure/comparison/location.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>
#include <vector>

namespace nocturne::measure {

using Catch::Approx;

TEST_CASE("the trimmed mean leaves a fifth out at each end", "[location]") {
  // ⌊0.2·10⌋ = 2 at each end: the mean of 3 … 8.
  CHECK(trimmed_mean(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 1000}) == Approx(5.5));
  CHECK(trimmed_mean(std::vector<double>{4, 1, 1000, 2, 3}) == Approx(3));  // one at each end: 2, 3, 4
  CHECK(trimmed_mean(std::vector<double>{7, 9}) == Approx(8));              // nothing to cut
  CHECK(trimmed_mean(std::vector<double>{7}) == 7);
}

TEST_CASE("the standard error is that of the winsorised values over 1 - 2·0.2", "[location]") {
  // Five values, one winsorised at each end: 2 2 3 4 4, variance 1; 5 batches of one value each.
  const Location location = steady_location(std::vector<double>{1, 2, 3, 4, 50});
  CHECK(location.value == Approx(3));
  CHECK(location.standard_error == Approx(std::sqrt(1.0 / 5) / 0.6));
  CHECK(location.samples == 5);
}

TEST_CASE("a single sample has no known error", "[location]") {
  CHECK(steady_location(std::vector<double>{4.5}) == Location{.value = 4.5, .standard_error = 0, .samples = 1});
}

TEST_CASE("bursts count in full, and a spike does not", "[location]") {
  std::vector<double> waits(160, 0);
  for (std::size_t i = 7; i < waits.size(); i += 8) waits[i] = 8;  // each eighth waits for all
  CHECK(steady_location(waits).value == 0);
  CHECK(bursty_location(waits).value == Approx(1));
  CHECK(bursty_location(waits).standard_error < 1e-12);
  CHECK(bursty_location(waits).samples == 160);
  waits[50] = 1000;
  CHECK(bursty_location(waits).value == Approx(1));
  CHECK(bursty_location(std::vector<double>{0, 0, 0, 8}).value == Approx(2));  // few: the mean
  CHECK(bursty_location(std::vector<double>{0, 0, 0, 8}).standard_error == Approx(2));
  CHECK(bursty_location(std::vector<double>{3}) == Location{.value = 3, .standard_error = 0, .samples = 1});
}

TEST_CASE("batch means see that neighbours are alike", "[location]") {
  // Blocks of four equal values: as if each fourth sample were measured alone.
  std::vector<double> blocks, alternating;
  std::mt19937 generator(1);
  std::normal_distribution<double> noise(50, 2);
  for (int block = 0; block < 10; ++block) {
    const double value = noise(generator);
    for (int i = 0; i < 4; ++i) blocks.push_back(value);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) alternating.push_back(blocks[(i * 4 + i / 10) % 40]);
  const double correlated = steady_location(blocks).standard_error;
  const double independent = steady_location(alternating).standard_error;
  CHECK(steady_location(blocks).value == Approx(steady_location(alternating).value));
  CHECK(correlated > 1.5 * independent);
}

TEST_CASE("the standard error covers the truth for calm and for correlated series", "[location]") {
  for (const double correlation : {0.0, 0.43}) {  // 0.43: measured of training steps on a virtual machine
    std::mt19937 generator(11);
    std::normal_distribution<double> noise(0, 1);
    int covered = 0;
    constexpr int kSeries = 1000;
    for (int series = 0; series < kSeries; ++series) {
      std::vector<double> values;
      double state = noise(generator);
      for (int i = 0; i < 60; ++i) {
        state = correlation * state + std::sqrt(1 - correlation * correlation) * noise(generator);
        values.push_back(50 + state);
      }
      const Location location = steady_location(values);
      covered += std::abs(location.value - 50) < 2.262 * location.standard_error;  // t of 9 degrees, 95 %
    }
    CAPTURE(correlation);
    CHECK(covered > 0.90 * kSeries);
    CHECK(covered < 0.995 * kSeries);
  }
}

}  // namespace nocturne::measure
