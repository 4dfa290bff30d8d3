#include "tuner/campaign/noise/noise_plan.hpp"

#include <cmath>
#include <map>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/tuner/campaign/campaign_fixture.hpp"
#include "tuner/campaign/noise/stored_noise.hpp"

namespace nocturne::test {
namespace {

using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using measure::PairMethod;
using measure::StepEstimator;

tuner::NoiseRow noise_of(PairMethod method, StepEstimator estimator, double sd, double seconds) {
  return {
      .method = method, .estimator = estimator, .noise = {.pairs = 10, .sd = sd, .bias = 0}, .seconds_a_pair = seconds};
}

/// Half an hour of pairs fits into two hours.
constexpr std::chrono::hours kTwoHours{2};

tuner::NoisePlan plan_of(std::vector<tuner::NoiseRow> rows, tuner::NoiseWishes wishes = {.length = kTwoHours}) {
  return tuner::plan_by_noise({.rows = std::move(rows), .left_out = {}}, {}, wishes);
}

tuner::CampaignSpec fateful_spec() {
  auto spec = tuner::parse_campaign(R"({
    "campaign": "test", "workload": {"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"},
    "objective": {"minimise": "time", "epochs": [12]},
    "space": {"parameters": [{"name": "threads", "stage": "run", "range": [1, 6], "default": 1}]},
    "strategy": {"name": "exhaustive"},
    "verify": {"finalists": 1, "simplify": false, "accuracy_epochs": 0, "gate": {"on": false}}})",
                                    "test.json", "/", space::Facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return std::move(*spec);
}

space::Fingerprint machine_of(const std::string& kernel) {
  space::Fingerprint fingerprint;
  fingerprint.set({.name = "cpu.model", .value = "A CPU", .match = space::Match::Must});
  fingerprint.set({.name = "system.kernel", .value = kernel, .match = space::Match::Verify});
  fingerprint.set({.name = "system.host", .value = kernel, .match = space::Match::Ignore});
  return fingerprint;
}

}  // namespace

TEST_CASE("a quiet machine compares as usual, and says what it tells", "[noise_plan]") {
  const auto plan = plan_of({noise_of(PairMethod::Slices, StepEstimator::Paired, 0.004, 10)});
  CHECK(plan.verify.method == PairMethod::Slices);
  CHECK(plan.verify.pairs == 6);
  CHECK(plan.verify.most_pairs == 20);
  CHECK(plan.verify.margin_percent == 1);
  CHECK_THAT(plan.sentence,
             ContainsSubstring("this machine resolves 0.6 % in 6 pairs (slices, judged by neighbouring slices); "
                               "1 % would cost 40 seconds"));
}

TEST_CASE("a noisy machine takes more pairs as time allows, and its margin is what it can tell", "[noise_plan]") {
  const auto row = noise_of(PairMethod::Slices, StepEstimator::Paired, 0.05, 60);
  const auto plan = plan_of({row});
  CHECK(plan.verify.most_pairs == 30);  // a quarter of two hours
  CHECK(plan.verify.pairs == 20);
  CHECK(plan.verify.margin_percent >= measure::resolution_percent(0.05, 30));
  CHECK(plan.verify.margin_percent < measure::resolution_percent(0.05, 30) + 0.1);
  const auto night = plan_of({row}, {.length = std::chrono::hours(12)});
  CHECK(night.verify.most_pairs == 180);
  CHECK(night.verify.margin_percent < plan.verify.margin_percent);
  CHECK_THAT(night.sentence, ContainsSubstring("1 % would cost 3.4 hours"));
}

TEST_CASE("the way of measuring is the cheapest one, where it is cheaper by half", "[noise_plan]") {
  const auto slices = noise_of(PairMethod::Slices, StepEstimator::Paired, 0.05, 10);
  const auto duet = noise_of(PairMethod::Duet, StepEstimator::Minimum, 0.016, 8);
  const auto alone = noise_of(PairMethod::Sequential, StepEstimator::Median, 0.04, 10);
  CHECK(plan_of({slices, alone}).verify.method == PairMethod::Slices);  // 0.64 of its cost: within chance
  CHECK(plan_of({slices, alone, duet}).verify.method == PairMethod::Slices);
  const auto plan = plan_of({slices, alone, duet}, {.default_fits_half = true, .length = kTwoHours});
  CHECK(plan.verify.method == PairMethod::Duet);
  CHECK(plan.verify.estimator == StepEstimator::Minimum);
  CHECK(plan.verify.known_costs.size() == 3);
}

TEST_CASE("what the file says stays", "[noise_plan]") {
  const std::vector<tuner::NoiseRow> rows = {noise_of(PairMethod::Slices, StepEstimator::Paired, 0.05, 60),
                                             noise_of(PairMethod::Sequential, StepEstimator::Median, 0.01, 10)};
  const auto fixed = tuner::fixed_by_file(
      nlohmann::json::parse(R"({"verify": {"pairs": 8, "most_pairs": 9, "margin_percent": 1, "method": "slices"}})"));
  tuner::VerifySettings verify;
  verify.pairs = 8;
  verify.most_pairs = 9;
  const auto plan = tuner::plan_by_noise({.rows = rows, .left_out = {}}, verify, {.fixed = fixed, .length = kTwoHours});
  CHECK(plan.verify.pairs == 8);
  CHECK(plan.verify.most_pairs == 9);
  CHECK(plan.verify.margin_percent == 1);
  CHECK(plan.verify.method == PairMethod::Slices);
  CHECK(plan_of(rows).process_sd == Approx(0.01 / std::sqrt(2.0)));
}

TEST_CASE("a plan is in the campaign and in its document, by which pairs are judged again", "[noise_plan]") {
  auto spec = fateful_spec();
  const std::string identity = spec.identity();
  tuner::apply_plan(plan_of({noise_of(PairMethod::Slices, StepEstimator::Paired, 0.05, 60),
                             noise_of(PairMethod::Sequential, StepEstimator::Median, 0.1, 60)}),
                    spec);
  CHECK(spec.run.process_sd == Approx(0.1 / std::sqrt(2.0)));
  CHECK(spec.identity() == identity);
  const auto again = tuner::parse_campaign(spec.document.dump(), "again.json", "/", space::Facts());
  REQUIRE(again);
  CHECK(again->verify.most_pairs == spec.verify.most_pairs);
  CHECK(again->verify.margin_percent == spec.verify.margin_percent);
  CHECK(again->verify.method == spec.verify.method);
}

TEST_CASE("a campaign that has begun compares as it began", "[noise_plan]") {
  auto began = fateful_spec();
  tuner::apply_plan(plan_of({noise_of(PairMethod::Sequential, StepEstimator::Minimum, 0.02, 60),
                             noise_of(PairMethod::Sequential, StepEstimator::Median, 0.1, 60)}),
                    began);
  auto goes_on = fateful_spec();
  tuner::keep_plan(began.document, goes_on);
  CHECK(goes_on.verify.method == PairMethod::Sequential);
  CHECK(goes_on.verify.estimator == StepEstimator::Minimum);
  CHECK(goes_on.verify.most_pairs == began.verify.most_pairs);
  CHECK(goes_on.verify.margin_percent == began.verify.margin_percent);
  CHECK(goes_on.document == began.document);  // so that it is known to be complete

  auto without = fateful_spec();
  const auto document = without.document;
  tuner::keep_plan(document, without);
  CHECK(without.document == document);
  CHECK(without.verify.method == PairMethod::Slices);
}

TEST_CASE("a stored noise floor counts on the same machine, until it changes", "[noise_plan]") {
  const CampaignFolder folder;
  auto store = db::Store::open(folder.path / "test.db", db::Mode::ReadWrite);
  const auto spec = fateful_spec();
  CHECK_FALSE(tuner::known_noise(store, spec, machine_of("6.1")).floor);
  const tuner::NoiseFloor floor{.rows = {noise_of(PairMethod::Duet, StepEstimator::Minimum, 0.01, 2.5),
                                         noise_of(PairMethod::Slices, StepEstimator::Paired, 0.02, 3)},
                                .left_out = {}};
  tuner::store_noise(store, spec, machine_of("6.1"), floor);
  space::Fingerprint other_host = machine_of("6.1");
  other_host.set({.name = "system.host", .value = "elsewhere", .match = space::Match::Ignore});
  const auto known = tuner::known_noise(store, spec, other_host);
  REQUIRE(known.floor);
  CHECK(known.set_aside.empty());
  REQUIRE(known.floor->rows.size() == 2);
  CHECK(known.floor->rows[0].method == PairMethod::Duet);
  CHECK(known.floor->rows[0].noise.sd == 0.01);
  CHECK(known.floor->rows[0].seconds_a_pair == Approx(2.5));

  const auto changed = tuner::known_noise(store, spec, machine_of("6.2"));
  CHECK_FALSE(changed.floor);
  CHECK_THAT(changed.set_aside, ContainsSubstring("set aside: system.kernel was '6.1' and is '6.2'"));

  auto other = fateful_spec();
  other.workload.network = "resnet50";
  CHECK_FALSE(tuner::known_noise(store, other, machine_of("6.1")).floor);
}

TEST_CASE("who compares outside of a campaign measures pairs as the stored noise says", "[noise_plan]") {
  const CampaignFolder folder;
  auto store = db::Store::open(folder.path / "test.db", db::Mode::ReadWrite);
  auto spec = fateful_spec();
  tuner::measure_as_noise_says(store, spec, machine_of("6.1"), 4);
  CHECK(spec.verify.method == PairMethod::Slices);  // nothing is known
  const tuner::NoiseFloor floor{.rows = {noise_of(PairMethod::Duet, StepEstimator::Minimum, 0.01, 2.5),
                                         noise_of(PairMethod::Slices, StepEstimator::Paired, 0.02, 3)},
                                .left_out = {}};
  tuner::store_noise(store, spec, machine_of("6.1"), floor);
  tuner::measure_as_noise_says(store, spec, machine_of("6.1"), 1);
  CHECK(spec.verify.method == PairMethod::Slices);  // one CPU has no halves
  CHECK(spec.verify.known_costs.size() == 2);
  const auto document = spec.document;
  tuner::measure_as_noise_says(store, spec, machine_of("6.1"), 4);
  CHECK(spec.verify.method == PairMethod::Duet);
  CHECK(spec.verify.estimator == StepEstimator::Minimum);
  CHECK(spec.verify.pairs == 6);
  CHECK(spec.document == document);
  auto fixed = fateful_spec();
  fixed.document["verify"]["method"] = "slices";
  tuner::measure_as_noise_says(store, fixed, machine_of("6.1"), 4);
  CHECK(fixed.verify.method == PairMethod::Slices);
}

TEST_CASE("a trial runs as often as its fate needs", "[noise_plan]") {
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  auto spec = fateful_spec();
  spec.run.repeats = 3;
  spec.run.process_sd = 0.03;
  const std::map<std::int64_t, double> steps = {{1, 0.10}, {2, 0.15}, {3, 0.099}, {4, 0.2}, {5, 0.101}, {6, 0.05}};
  const auto threads = [](const space::Configuration& each) { return std::get<std::int64_t>(*each.find("threads")); };
  campaign_fixture.executor.step_seconds = [&](const space::Configuration& each) { return steps.at(threads(each)); };
  campaign_fixture.sit(spec);
  std::map<std::int64_t, int> runs;
  for (const auto& each : campaign_fixture.executor.run_configurations) ++runs[threads(each)];
  CHECK(runs == std::map<std::int64_t, int>{{1, 3}, {2, 1}, {3, 3}, {4, 1}, {5, 3}, {6, 3}});
}

}  // namespace nocturne::test
