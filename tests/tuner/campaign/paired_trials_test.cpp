// Trials that take turns with a living process of the default: what disturbs both is in neither.

#include "tuner/campaign/paired_trials.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/tuner/campaign/campaign_fixture.hpp"
#include "tuner/campaign/finals/comparing.hpp"

namespace nocturne::test {
namespace {

using Catch::Approx;
using Catch::Matchers::ContainsSubstring;

/// What the simulated tuner dies of.
struct TunerKilled {};

constexpr std::size_t kTrials = 10;

tuner::CampaignSpec spec_with(const std::string& run) {
  auto spec = tuner::parse_campaign(fmt::format(R"({{
    "campaign": "test", "workload": {{"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"}},
    "objective": {{"minimise": "time", "epochs": [12]}}, "worker": {{"command": ["/bin/true"]}},
    "space": {{"parameters": [{{"name": "threads", "stage": "run", "range": [1, 10], "default": 1}}]}},
    "strategy": {{"name": "exhaustive"}}, "run": {{{}}},
    "verify": {{"finalists": 1, "simplify": false, "accuracy_epochs": 0, "gate": {{"on": false}}}}}})",
                                                run),
                                    "test.json", "/", space::Facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return std::move(*spec);
}

tuner::CampaignSpec paired_spec() {
  return spec_with(R"("method": "paired")");
}

std::int64_t threads_of(const space::Configuration& configuration) {
  return std::get<std::int64_t>(*configuration.find("threads"));
}

/// Seconds of a step; the true ratio to the default is by the count of threads.
double true_step(const space::Configuration& configuration) {
  return 0.05 * (1 + 0.002 * static_cast<double>(threads_of(configuration) - 1));
}

/// The machine is faster and slower by a third, from process to process; two that are alive together share it.
void disturb(FakeExecutor& executor) {
  executor.step_seconds = true_step;
  executor.plan_factor = [&executor](const measure::RunPlan&) {
    return std::exp(0.3 * std::sin(static_cast<double>(3 * executor.pairs + executor.run_plans.size())));
  };
}

std::vector<db::StoredTrial> trials_of(const CampaignFixture& fixture) {
  const db::Store store = fixture.reading();
  return store.list_trials({.campaign = store.load_campaign("test").id, .state = db::TrialState::Finished});
}

std::vector<db::StoredComparison> turns_of(const CampaignFixture& fixture) {
  const db::Store store = fixture.reading();
  auto comparisons = store.comparisons(store.load_campaign("test").id);
  std::erase_if(comparisons, [](const db::StoredComparison& each) { return each.record.role != tuner::kSearchRole; });
  return comparisons;
}

/// In turns, trials of four threads end so.
void end_in_turns(FakeExecutor& executor, space::Outcome outcome) {
  executor.step_seconds = true_step;
  executor.fate_in_turns = [outcome](const space::Configuration& configuration) {
    return threads_of(configuration) == 4 ? outcome : space::Outcome::Ok;
  };
}

/// Whether all steps are to that of the default as they truly are.
void check_ratios(const std::vector<db::StoredTrial>& trials) {
  REQUIRE(trials.size() == kTrials);
  const double level = trials.front().trial.parts->steady_step;
  for (const db::StoredTrial& each : trials) {
    CAPTURE(each.trial.number);
    const double ratio = true_step(each.trial.configuration) / true_step(trials.front().trial.configuration);
    CHECK(each.trial.parts->steady_step / level == Approx(ratio).epsilon(1e-6));
    CHECK(each.trial.estimate->value == Approx(space::total_time(*each.trial.parts, 12)));
  }
}

/// The tuner dies in the pair of that number, from 1 on.
void die_in_turns(const CampaignFolder& folder, const tuner::CampaignSpec& spec, std::size_t pair) {
  CampaignFixture fixture(folder);
  disturb(fixture.executor);
  fixture.executor.while_in_turns = [&] {
    if (fixture.executor.pairs == pair) throw TunerKilled();
  };
  CHECK_THROWS_AS(fixture.sit(spec), TunerKilled);
}

/// What die_in_turns() left is measured to the end.
void go_on(CampaignFixture& fixture, const tuner::CampaignSpec& spec) {
  fixture.executor.id_suffix = "b";
  disturb(fixture.executor);
  (void)fixture.sit(spec);
  check_ratios(trials_of(fixture));
}

}  // namespace

TEST_CASE("what disturbs a trial and the default alike is in no trial's time", "[paired_trials]") {
  const CampaignFolder folder;
  CampaignFixture fixture(folder);
  disturb(fixture.executor);
  (void)fixture.sit(paired_spec());
  const auto trials = trials_of(fixture);
  check_ratios(trials);

  // The level is that of all of the default's runs, as many as there were when it was found last.
  CHECK(trials.front().trial.estimate->runs == 8);
  const auto turns = turns_of(fixture);
  REQUIRE(turns.size() == kTrials - 1);
  const db::Store store = fixture.reading();
  const auto of_default = store.load_trial(trials.front().id).runs;
  for (const db::StoredComparison& each : turns) {
    REQUIRE(each.pairs.size() == 1);
    CHECK(store.slices(each.id, each.pairs.front().index).size() == 20);
    const auto reference = store.load_run(each.pairs.front().baseline_run);
    CHECK(reference.record.run.purpose == space::Purpose::Verify);
    CHECK(std::ranges::any_of(of_default,
                              [&](const db::StoredRun& run) { return run.record.run.id == reference.record.run.id; }));
    CHECK(store.load_run(each.pairs.front().candidate_run).record.run.purpose == space::Purpose::Search);
  }
  const auto answer = fixture.answer();
  CHECK(answer.price.search == static_cast<std::int64_t>(kTrials));
  CHECK(answer.price.references == static_cast<std::int64_t>(kTrials) - 1);
}

TEST_CASE("alone, the same disturbance is in each trial's time", "[paired_trials]") {
  const CampaignFolder folder;
  CampaignFixture fixture(folder);
  disturb(fixture.executor);
  (void)fixture.sit(spec_with(R"("method": "auto")"));
  CHECK(turns_of(fixture).empty());
  const auto trials = trials_of(fixture);
  const double ratio = trials[5].trial.parts->steady_step / trials[0].trial.parts->steady_step;
  CHECK(std::abs(ratio / (true_step(trials[5].trial.configuration) / 0.05) - 1) > 0.05);
}

TEST_CASE("a killed campaign of paired trials goes on with what was measured in turns", "[paired_trials]") {
  const std::size_t killed_in = GENERATE(1UL, 2UL, 3UL, 4UL, 7UL, 8UL, 9UL);  // pair
  CAPTURE(killed_in);
  const CampaignFolder folder;
  die_in_turns(folder, paired_spec(), killed_in);
  CampaignFixture again(folder);
  go_on(again, paired_spec());
  CHECK(turns_of(again).size() == kTrials - 1);
  // No trial is measured twice: the pairs of before count.
  std::size_t pairs_of_trials = 0;
  for (const db::StoredComparison& each : turns_of(again)) pairs_of_trials += each.pairs.size();
  CHECK(pairs_of_trials == kTrials - 1);
}

TEST_CASE("of a trial with several runs in turns a kill costs one pair", "[paired_trials]") {
  const CampaignFolder folder;
  const auto spec = spec_with(R"("method": "paired", "repeats": 3)");
  die_in_turns(folder, spec, 3);  // the third of the first trial
  CHECK(turns_of(CampaignFixture(folder)).front().pairs.size() == 2);
  CampaignFixture again(folder);
  go_on(again, spec);
  CHECK(turns_of(again).front().pairs.size() == 3);
}

TEST_CASE("a reference that fails is not the trial's failure", "[paired_trials]") {
  const CampaignFolder folder;
  CampaignFixture fixture(folder);
  fixture.executor.step_seconds = true_step;
  fixture.executor.fate_in_turns = [&](const space::Configuration& configuration) {
    const bool fails = threads_of(configuration) == 1 && fixture.executor.pairs == 2;
    return fails ? space::Outcome::Crashed : space::Outcome::Ok;
  };
  (void)fixture.sit(paired_spec());
  check_ratios(trials_of(fixture));
  CHECK(turns_of(fixture).size() == kTrials - 2);  // one was measured alone
  CHECK(std::ranges::any_of(fixture.watcher.notes, [](const std::string& note) {
    return note.contains("the default beside it ended as crashed") && note.contains("it is measured alone");
  }));
}

TEST_CASE("a trial that two processes leave no memory is measured alone", "[paired_trials]") {
  const CampaignFolder folder;
  CampaignFixture fixture(folder);
  end_in_turns(fixture.executor, space::Outcome::OutOfMemory);
  (void)fixture.sit(paired_spec());
  check_ratios(trials_of(fixture));
}

TEST_CASE("a trial that fails in turns by its own fault has failed", "[paired_trials]") {
  const CampaignFolder folder;
  CampaignFixture fixture(folder);
  end_in_turns(fixture.executor, space::Outcome::Diverged);
  (void)fixture.sit(paired_spec());
  const auto trials = trials_of(fixture);
  REQUIRE(trials.size() == kTrials);
  CHECK(std::ranges::count(trials, space::Outcome::Diverged,
                           [](const db::StoredTrial& each) { return each.trial.outcome; }) == 1);
  CHECK(fixture.executor.run_configurations.size() == 1);  // the default's own trial
}

TEST_CASE("turns that come to nothing three times are given up", "[paired_trials]") {
  const CampaignFolder folder;
  CampaignFixture fixture(folder);
  fixture.executor.step_seconds = true_step;
  std::size_t in_search = 0;
  fixture.executor.fate_in_turns = [&](const space::Configuration& configuration) {
    in_search = std::max(in_search, fixture.executor.run_configurations.size() < kTrials ? fixture.executor.pairs : 0);
    return threads_of(configuration) == 1 ? space::Outcome::ProtocolError : space::Outcome::Ok;
  };
  (void)fixture.sit(paired_spec());
  CHECK(in_search == 3);
  check_ratios(trials_of(fixture));
}

TEST_CASE("the reference takes as many examples a turn as the trial", "[paired_trials]") {
  const CampaignFolder folder;
  CampaignFixture fixture(folder);
  fixture.executor.step_seconds = true_step;
  fixture.executor.schedule = [](const space::Configuration& configuration) {
    return measure::Schedule{
        .training_examples = 10000,
        .batch = configuration.find("threads") != nullptr && threads_of(configuration) > 1 ? 300 : 100,
        .partial_batch = protocol::PartialBatch::Train};
  };
  (void)fixture.sit(paired_spec());
  const db::Store store = fixture.reading();
  for (const db::StoredComparison& each : turns_of(fixture))
    for (const db::Slice& slice : store.slices(each.id, each.pairs.front().index))
      CHECK(slice.steps == (slice.side == db::Side::Baseline ? 12 : 4));
}

TEST_CASE("where trials cannot take turns it is said why", "[paired_trials]") {
  auto spec = paired_spec();
  CHECK(tuner::no_turns_because(spec, true).empty());
  CHECK_THAT(tuner::no_turns_because(spec, false), ContainsSubstring("nodes of a cluster"));
  spec.objective.target = space::AccuracyTarget{};
  CHECK_THAT(tuner::no_turns_because(spec, true), ContainsSubstring("learning curves"));
}

}  // namespace nocturne::test
