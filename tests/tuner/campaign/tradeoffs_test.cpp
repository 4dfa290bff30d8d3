#include "tuner/campaign/answer/tradeoffs.hpp"

#include <random>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

namespace nocturne::test {
namespace {

using Catch::Approx;
using Catch::Matchers::ContainsSubstring;

/// T(N) = start + N · epoch, ten steps an epoch.
db::StoredTrial trial_with(std::int64_t number, double start, double epoch, std::int64_t bytes = 0) {
  db::StoredTrial trial;
  trial.id = number + 1;
  trial.trial.number = number;
  trial.trial.outcome = space::Outcome::Ok;
  trial.trial.parts = space::Parts{.compile = start, .steps_per_epoch = 10, .steady_step = epoch / 10};
  if (bytes > 0) trial.trial.peak_bytes = bytes;
  return trial;
}

tuner::Wish wish(const std::string& text) {
  const auto parsed = tuner::parse_wish(text);
  if (!parsed) FAIL(parsed.error());
  return *parsed;
}

bool beats(const std::vector<double>& a, const std::vector<double>& b) {
  return a[0] <= b[0] && a[1] <= b[1] && a != b;
}

}  // namespace

TEST_CASE("the front holds exactly what nothing else beats", "[tradeoffs]") {
  std::mt19937 generator(7);
  std::uniform_int_distribution<int> value(0, 12);  // few values: many ties
  for (int repeat = 0; repeat < 50; ++repeat) {
    std::vector<std::vector<double>> points(30);
    for (auto& point : points) point = {double(value(generator)), double(value(generator))};
    const auto front = tuner::pareto_front(points);
    for (std::size_t i = 0; i < points.size(); ++i) {
      bool beaten = false, seen_before = false;
      for (std::size_t j = 0; j < points.size(); ++j) {
        beaten = beaten || beats(points[j], points[i]);
        seen_before = seen_before || (j < i && points[j] == points[i]);
      }
      CHECK((std::ranges::find(front, i) != front.end()) == (!beaten && !seen_before));
    }
  }
}

TEST_CASE("each wish has its best, and what nobody measured is counted apart", "[tradeoffs]") {
  const std::vector<db::StoredTrial> trials = {trial_with(0, 1, 10, 100), trial_with(1, 50, 5, 300),
                                               trial_with(2, 60, 12, 400), trial_with(3, 1, 1)};
  const std::vector<tuner::Wish> wishes = {wish("time:1"), wish("throughput"), wish("memory")};
  const auto weighed = tuner::weigh(trials, wishes, {}, {.training_examples = 1000});
  REQUIRE(weighed.front.size() == 2);  // trial 2 is beaten in everything, of trial 3 no memory is known
  CHECK(weighed.front[0].trial.trial.number == 0);
  CHECK(weighed.front[1].trial.trial.number == 1);
  CHECK(weighed.incomplete == 1);
  CHECK(weighed.considered == 3);
  CHECK(weighed.best[0] == 0);
  CHECK(weighed.best[1] == 1);
  CHECK(weighed.best[2] == 0);
  CHECK(*weighed.front[1].values[1] == Approx(200));  // 1000 examples in 5 s
}

TEST_CASE("the time to an accuracy is that of the epochs after which it was reached", "[tradeoffs]") {
  const std::vector<db::StoredTrial> trials = {trial_with(0, 1, 10), trial_with(1, 1, 5)};
  const std::vector<tuner::ReachedAccuracy> reached = {{.trial = 1, .epochs = 2, .accuracy = 0.98},
                                                       {.trial = 1, .epochs = 1, .accuracy = 0.95},
                                                       {.trial = 2, .epochs = 1, .accuracy = 0.90}};
  const auto weighed = tuner::weigh(trials, std::vector{wish("accuracy:0.97")}, reached, {});
  REQUIRE(weighed.front.size() == 1);
  CHECK(weighed.front[0].trial.trial.number == 0);
  CHECK(*weighed.front[0].values[0] == Approx(21));
  CHECK(weighed.incomplete == 1);
}

TEST_CASE("who is fastest for how many epochs is the lower envelope", "[tradeoffs]") {
  const std::vector<db::StoredTrial> trials = {trial_with(0, 1, 10), trial_with(1, 21, 8), trial_with(2, 100, 7.9),
                                               trial_with(3, 41, 7)};
  const auto reigns = tuner::reigns(trials);
  REQUIRE(reigns.size() == 3);  // trial 2 never leads
  CHECK(reigns[0].trial == 0);
  CHECK(reigns[1].trial == 1);
  CHECK(reigns[1].from == Approx(10));
  CHECK(reigns[2].trial == 3);
  CHECK(reigns[2].from == Approx(20));
}

TEST_CASE("rows of the front that differ within noise are one group", "[tradeoffs]") {
  const std::vector<tuner::Wish> wishes = {wish("time:1"), wish("throughput"), wish("memory")};
  const std::vector<db::StoredTrial> trials = {trial_with(0, 1, 10, 1000), trial_with(1, 0.5, 10.3, 1010),
                                               trial_with(2, 30, 4, 1005), trial_with(3, 1.5, 9.9, 900)};
  const auto front = tuner::weigh(trials, wishes, {}, {.training_examples = 1000}).front;
  std::vector<std::vector<std::int64_t>> numbers;
  for (const auto& group : tuner::groups_of(front, wishes)) {
    numbers.emplace_back();
    for (const std::size_t row : group) numbers.back().push_back(front[row].trial.trial.number);
  }
  // Trial 2 has other times, trial 3 takes a tenth less memory.
  CHECK(numbers == std::vector<std::vector<std::int64_t>>{{1, 0}, {3}, {2}});
}

TEST_CASE("who reigns reigns from whole epochs on, and beyond noise", "[tradeoffs]") {
  // By the lines alone trial 1 leads from 0.2 epochs on, trial 2 from 0.5 on, trial 3 from 12.5 on, trial 4 from 30 on.
  const std::vector<db::StoredTrial> trials = {trial_with(0, 1, 10), trial_with(1, 1.4, 8), trial_with(2, 2, 6.8),
                                               trial_with(3, 27, 4.8), trial_with(4, 30, 4.7)};
  REQUIRE(tuner::reigns(trials).size() == 5);
  const auto reigns = tuner::reigns_beyond_noise(trials);
  REQUIRE(reigns.size() == 2);
  CHECK(reigns[0].trial == 2);
  CHECK(reigns[0].from == 1);
  CHECK(reigns[1].trial == 3);
  CHECK(reigns[1].from == 13);
}

TEST_CASE("what cannot be wanted is refused in a sentence", "[tradeoffs]") {
  CHECK_THAT(tuner::parse_wish("energy").error(), ContainsSubstring("sensor"));
  for (const char* text : {"time", "time:", "time:-1", "time:1x", "accuracy:97", "speed", "", "memory:3"})
    CHECK_THAT(tuner::parse_wish(text).error(), ContainsSubstring("allowed: time:EPOCHS"));
}

}  // namespace nocturne::test
