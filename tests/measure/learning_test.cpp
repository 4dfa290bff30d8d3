#include <cmath>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "measure/gate/learning.hpp"

namespace nocturne::measure {
namespace {

using Catch::Matchers::ContainsSubstring;

LearningRecord start() {
  return {.losses = {2.30, 2.21, 2.15, 2.10, 2.02},
          .updates = {{{"0.conv.weight", 0.31}, {"0.conv.bias", 0.02}, {"0.fc.weight", 0.77}, {"0.norm.bias", 1e-9}},
                      {{"0.conv.weight", 0.60}, {"0.conv.bias", 0.04}, {"0.fc.weight", 1.50}, {"0.norm.bias", 2e-9}}},
          .notes = {}};
}

LearningRecord longer(double mean, std::size_t steps = kLearningSteps) {
  LearningRecord record;
  for (std::size_t i = 0; i < steps; ++i) record.losses.emplace_back(mean + (i % 2 == 0 ? 0.1 : -0.1));
  return record;
}

Learning judged(const LearningRecord& candidate, Arithmetic arithmetic = Arithmetic::Rounding) {
  return judge_start(start(), std::vector{start()}, candidate, arithmetic).learning;
}

}  // namespace

TEST_CASE("a start that differs by rounding is the same, one that moves parameters otherwise is not", "[gate]") {
  auto candidate = start();
  candidate.updates[0]["0.fc.weight"] *= 1.01;
  candidate.losses[2] = 2.15 * (1 + 4e-6);
  CHECK(judged(candidate) == Learning::Same);
  candidate.updates[0]["0.fc.weight"] = 2 * 0.77;  // twice the learning rate
  const auto doubled = judge_start(start(), std::vector{start()}, candidate, Arithmetic::Precision);
  CHECK(doubled.learning == Learning::Other);
  CHECK_THAT(doubled.sentence, ContainsSubstring("moves 0.fc.weight 2 times as far"));
  candidate.updates[0]["0.fc.weight"] = 0;  // it stands still
  CHECK(judged(candidate, Arithmetic::Precision) == Learning::Other);
  candidate = start();
  candidate.updates[0].erase("0.conv.bias");
  CHECK(judged(candidate) == Learning::Other);
}

TEST_CASE("a shorter mantissa may do more than rounding, and not everything", "[gate]") {
  auto candidate = start();
  candidate.updates[0]["0.conv.weight"] *= 0.95;
  candidate.losses[1] = 2.21 * 1.004;
  CHECK(judged(candidate) == Learning::Other);
  CHECK(judged(candidate, Arithmetic::Precision) == Learning::Same);
  candidate.losses[2] = 2.15 * 1.02;
  CHECK(judged(candidate, Arithmetic::Precision) == Learning::Other);
  candidate.losses[2] = std::nan("");
  CHECK(judged(candidate, Arithmetic::Precision) == Learning::Other);
}

TEST_CASE("where a first step throws the loss far off, the digits that differ grow with it", "[gate]") {
  auto wild = start();
  wild.losses = {2.3, 6.333, 5.1, 4.0, 3.5};
  const auto judge = [&](const LearningRecord& candidate) {
    return judge_start(wild, std::vector{wild}, candidate, Arithmetic::Precision);
  };
  auto candidate = wild;
  candidate.losses[1] = 6.541;  // 3.2 %, of a change of 4.03
  CHECK(judge(candidate).learning == Learning::Same);
  candidate.losses[1] = 7.0;
  CHECK(judge(candidate).learning == Learning::Other);
  CHECK_THAT(judge(candidate).sentence, ContainsSubstring("within 0.068"));
  candidate = wild;
  candidate.losses[0] = 2.35;  // before any step nothing can have grown
  CHECK(judge(candidate).learning == Learning::Other);
}

TEST_CASE("what moves by rounding alone is not compared, but must not begin to move", "[gate]") {
  auto candidate = start();
  candidate.updates[0]["0.norm.bias"] = 7e-9;
  CHECK(judged(candidate) == Learning::Same);
  candidate.updates[0]["0.norm.bias"] = 0.3;
  CHECK(judged(candidate, Arithmetic::Precision) == Learning::Other);
}

TEST_CASE("a script that does not repeat itself widens the bands, up to where nothing can be said", "[gate]") {
  auto repeat = start(), candidate = start();
  repeat.updates[0]["0.fc.weight"] *= 1.04;
  candidate.updates[0]["0.fc.weight"] *= 1.05;
  CHECK(judged(candidate) == Learning::Other);
  CHECK(judge_start(start(), std::vector{repeat}, candidate, Arithmetic::Rounding).learning == Learning::Same);
  repeat.updates[0]["0.fc.weight"] = 2;
  CHECK(judge_start(start(), std::vector{repeat}, candidate, Arithmetic::Rounding).learning == Learning::NotJudged);
  candidate = start();
  candidate.losses[1] = std::nullopt;
  CHECK(judged(candidate) == Learning::NotJudged);
  auto blind = start();
  blind.updates.clear();
  blind.notes = {"no parameters were found"};
  const auto unseen = judge_start(blind, std::vector{blind}, start(), Arithmetic::Rounding);
  CHECK(unseen.learning == Learning::NotJudged);
  CHECK_THAT(unseen.sentence, ContainsSubstring("no parameters were found"));
  const auto unseen_candidate = judge_start(start(), std::vector{start()}, blind, Arithmetic::Rounding);
  CHECK(unseen_candidate.learning == Learning::NotJudged);
  CHECK_THAT(unseen_candidate.sentence, ContainsSubstring("no parameters were found"));
}

TEST_CASE("where nothing moves nothing is compared", "[gate]") {
  auto still = start();
  for (auto& step : still.updates)
    for (auto& [name, norm] : step) norm = 0;
  CHECK(judge_start(still, std::vector{still}, still, Arithmetic::Rounding).learning == Learning::NotJudged);
  CHECK(judged(still) == Learning::Other);  // what moves in the script alone
}

TEST_CASE("what shows from the second step on is seen", "[gate]") {
  auto candidate = start();  // gradients that are not zeroed
  candidate.updates[1]["0.fc.weight"] *= 1.4;
  const auto judgement = judge_start(start(), std::vector{start()}, candidate, Arithmetic::Precision);
  CHECK(judgement.learning == Learning::Other);
  CHECK_THAT(judgement.sentence, ContainsSubstring("its first 2 steps move 0.fc.weight 1.4 times as far"));
  candidate.updates.pop_back();
  CHECK(judged(candidate) == Learning::Same);  // so far as it was seen
}

TEST_CASE("where nothing moves there is nothing to compare", "[gate]") {
  auto still = start();
  for (auto& [name, norm] : still.updates[0]) norm = 0;
  const auto judgement = judge_start(still, std::vector{still}, still, Arithmetic::Rounding);
  CHECK(judgement.learning == Learning::NotJudged);
  CHECK_THAT(judgement.sentence, ContainsSubstring("moves none of its parameters"));
}

TEST_CASE("a longer run lies among those of other random streams, or it does not", "[gate]") {
  const std::vector references{longer(1.00), longer(0.98), longer(1.08), longer(1.02), longer(1.01)};
  CHECK(judge_longer_run(references, longer(1.05)).learning == Learning::Same);
  CHECK(judge_longer_run(references, longer(1.12)).learning == Learning::Same);  // the range is 0.10
  CHECK(judge_longer_run(references, longer(1.14)).learning == Learning::Other);
  CHECK(judge_longer_run(references, longer(0.92)).learning == Learning::Other);
  CHECK(judge_longer_run(references, longer(std::nan(""))).learning == Learning::Other);
  CHECK(judge_longer_run(std::span(references).first(4), longer(1.0)).learning == Learning::NotJudged);
}

TEST_CASE("a longer run of fewer steps is judged by those that all have, down to the fewest", "[gate]") {
  // An epoch of 118 steps: the first 28 are steep, and not judged.
  const auto epoch = [](double mean, std::size_t steps, double steep = 9) {
    LearningRecord record = longer(mean, steps);
    for (std::size_t i = 0; i < steps - steps * 100 / 130; ++i) record.losses[i] = steep;
    return record;
  };
  std::vector references{epoch(1.00, 118), epoch(0.98, 118), epoch(1.08, 118), epoch(1.02, 118), epoch(1.01, 118)};
  const auto judgement = judge_longer_run(references, epoch(1.05, 118, 7));
  CHECK(judgement.learning == Learning::Same);
  CHECK_THAT(judgement.sentence, ContainsSubstring("mean loss of steps 29 to 118"));
  CHECK(judge_longer_run(references, epoch(1.14, 118)).learning == Learning::Other);
  // One that has more steps than another is judged by those of the other.
  CHECK(judge_longer_run(references, epoch(1.14, 130)).learning == Learning::Other);
  LearningRecord late = longer(1.0, 130);
  for (std::size_t i = 118; i < 130; ++i) late.losses[i] = 50;
  CHECK(judge_longer_run(references, late).learning == Learning::Same);

  for (LearningRecord& each : references) each.losses.resize(kFewestLearningSteps, 1.0);
  CHECK(judge_longer_run(references, longer(9.0, kFewestLearningSteps)).learning == Learning::Other);
  const auto too_few = judge_longer_run(references, longer(9.0, kFewestLearningSteps - 1));
  CHECK(too_few.learning == Learning::NotJudged);
  CHECK_THAT(too_few.sentence, ContainsSubstring("the losses of 51 steps were seen, and fewer than 52 tell nothing"));
  references.front().losses.resize(kFewestLearningSteps - 1);
  CHECK(judge_longer_run(references, longer(1.0)).learning == Learning::NotJudged);
}

TEST_CASE("what a training recorded is read with care", "[gate]") {
  const auto record = read_learning(nlohmann::json::parse(
      R"({"version": 1, "losses": [2.3, null, "nan"], "updates": [{"0.w": 0.5, "0.b": "inf"}], "notes": ["so", 3]})"));
  REQUIRE(record);
  REQUIRE(record->losses.size() == 3);
  CHECK(record->losses[0] == 2.3);
  CHECK_FALSE(record->losses[1]);
  CHECK(std::isnan(*record->losses[2]));
  CHECK(std::isnan(record->updates.at(0).at("0.b")));
  CHECK(record->notes == std::vector<std::string>{"so"});
  CHECK_FALSE(read_learning(nlohmann::json::array()));
  CHECK_FALSE(read_learning({{"version", 2}}));
}

}  // namespace nocturne::measure
