#include "tuner/campaign/noise/trial_method.hpp"

#include <cmath>
#include <numbers>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

namespace nocturne::test {
namespace {

using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using measure::PairMethod;
using tuner::TrialMethod;

/// `process_sd`: of one process alone; `seconds`: a pair takes, by either method.
tuner::NoiseFloor floor_of(double process_sd, double pair_sd, double seconds_alone = 2, double seconds_in_turns = 2) {
  return {.rows = {{.method = PairMethod::Sequential,
                    .estimator = tuner::StepEstimator::Median,
                    .noise = {.pairs = 20, .sd = process_sd * std::numbers::sqrt2},
                    .seconds_a_pair = seconds_alone},
                   {.method = PairMethod::Slices,
                    .estimator = tuner::StepEstimator::Paired,
                    .noise = {.pairs = 20, .sd = pair_sd},
                    .seconds_a_pair = seconds_in_turns}},
          .left_out = {}};
}

TrialMethod chosen(const tuner::NoiseFloor& floor) {
  return tuner::choose_trial_method(floor, TrialMethod::Auto).method;
}

tuner::CampaignSpec spec_of(const std::string& run) {
  auto spec = tuner::parse_campaign(R"({"campaign": "test", "workload": {"network": "mnist_cnn"},
    "worker": {"command": ["/bin/true"]}, "run": {)" +
                                        run + R"(},
    "space": {"parameters": [{"name": "threads", "stage": "run", "range": [1, 4], "default": 1}]}})",
                                    "test.json", "/", space::Facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return std::move(*spec);
}

}  // namespace

TEST_CASE("trials take turns only where that tells the same in far less time", "[trial_method]") {
  // Of one process: sd² times half of a pair's seconds; of a pair: sd² times its seconds.
  const double equal = 0.13 / std::numbers::sqrt2;
  const double pays = equal / std::sqrt(tuner::kWorthTurns);
  CHECK(chosen(floor_of(0.13, equal)) == TrialMethod::Alone);
  CHECK(chosen(floor_of(0.13, pays * 1.01)) == TrialMethod::Alone);
  CHECK(chosen(floor_of(0.13, pays * 0.99)) == TrialMethod::Paired);
  CHECK(chosen(floor_of(0.13, pays * 0.99, 2, 4)) == TrialMethod::Alone);  // pairs that take twice as long
  CHECK(chosen(floor_of(0.087, 0.094)) == TrialMethod::Alone);             // processes themselves differ
}

TEST_CASE("what was not measured, or does not scatter, decides for trials alone", "[trial_method]") {
  auto floor = floor_of(0.13, 0.01);
  floor.rows.pop_back();
  CHECK(chosen(floor) == TrialMethod::Alone);
  CHECK(chosen({}) == TrialMethod::Alone);
  CHECK(chosen(floor_of(0, 0)) == TrialMethod::Alone);
  CHECK(tuner::choose_trial_method({}, TrialMethod::Auto).sentence.empty());
}

TEST_CASE("how trials are measured is said in a sentence with its figures", "[trial_method]") {
  const auto choice = tuner::choose_trial_method(floor_of(0.13, 0.02, 2, 2.2), TrialMethod::Auto);
  CHECK(choice.process_sd == Approx(0.13));
  CHECK(choice.pair_sd == Approx(0.02));
  CHECK_THAT(choice.sentence, ContainsSubstring("in turns with a living process of the default"));
  CHECK_THAT(choice.sentence, ContainsSubstring("by 13.0 % (sd)"));
  CHECK_THAT(choice.sentence, ContainsSubstring("by 2.0 % in 2.2 times the time"));
  CHECK_THAT(tuner::choose_trial_method(floor_of(0.05, 0.05), TrialMethod::Auto).sentence,
             ContainsSubstring("trials are measured alone"));
}

TEST_CASE("the campaign's file overrides what noise would choose", "[trial_method]") {
  CHECK(spec_of("").run.method == TrialMethod::Auto);
  for (const auto& [word, method] : {std::pair{"alone", TrialMethod::Alone}, {"paired", TrialMethod::Paired}}) {
    const auto spec = spec_of(std::string(R"("method": ")") + word + '"');
    CHECK(spec.run.method == method);
    for (const auto& floor : {floor_of(0.13, 0.01), floor_of(0.01, 0.13), tuner::NoiseFloor{}}) {
      const auto choice = tuner::choose_trial_method(floor, spec.run.method);
      CHECK(choice.method == method);
      CHECK(choice.sentence.empty());
    }
  }
}

TEST_CASE("a campaign that began with paired trials goes on with them, whatever noise says later", "[trial_method]") {
  auto began = spec_of("");
  tuner::apply_choice(tuner::choose_trial_method(floor_of(0.13, 0.01), TrialMethod::Auto), began);
  CHECK(began.run.method == TrialMethod::Paired);
  CHECK(began.run.trial_sd() == Approx(0.01));
  auto later = spec_of("");
  tuner::keep_trial_method(began.document, later);
  CHECK(later.run.method == TrialMethod::Paired);
  CHECK(later.document == began.document);
  auto fixed = spec_of(R"("method": "alone")");
  tuner::keep_trial_method(began.document, fixed);
  CHECK(fixed.run.method == TrialMethod::Alone);

  // Where nothing is chosen nothing is written: the campaign is what it was.
  auto alone = spec_of("");
  const auto document = alone.document;
  tuner::apply_choice(tuner::choose_trial_method(floor_of(0.05, 0.05), TrialMethod::Auto), alone);
  CHECK(alone.document == document);
  auto goes_on = spec_of("");
  tuner::keep_trial_method(alone.document, goes_on);
  CHECK(goes_on.run.method == TrialMethod::Auto);
}

}  // namespace nocturne::test
