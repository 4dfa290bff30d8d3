#include "tuner/campaign/finals/side_by_side.hpp"

#include <csignal>

#include <filesystem>
#include <map>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/tuner/campaign/campaign_fixture.hpp"
#include "tests/tuner/campaign/manual_clock.hpp"

namespace nocturne::test {
namespace {

tuner::CampaignSpec compared_spec() {
  auto spec = tuner::parse_campaign(R"({
    "campaign": "test", "workload": {"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"},
    "objective": {"minimise": "time", "epochs": [12]},
    "space": {"parameters": [{"name": "threads", "stage": "run", "range": [1, 6], "default": 1}]},
    "strategy": {"name": "exhaustive"}, "budget": {"trials": 2},
    "verify": {"pairs": 2, "finalists": 1, "gate": {"on": false}}})",
                                    "test.json", "/", space::Facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return std::move(*spec);
}

space::Configuration with_threads(std::int64_t threads) {
  space::Configuration configuration;
  configuration.set("threads", threads);
  return configuration;
}

std::int64_t threads_in(const space::Configuration& configuration) {
  return std::get<std::int64_t>(*configuration.find("threads"));
}

/// A fixture at which the user compares.
struct Comparer : SessionFixture<ManualClock> {
  using SessionFixture<ManualClock>::SessionFixture;

  tuner::SideBySideResult compare(const std::vector<std::int64_t>& threads, tuner::SideBySideSettings settings = {}) {
    std::vector<space::Configuration> sides;
    for (const std::int64_t each : threads) sides.push_back(with_threads(each));
    return with_session(spec, [&](tuner::Session& session) { return tuner::SideBySide(session).run(sides, settings); });
  }

  [[nodiscard]] std::vector<db::StoredComparison> comparisons() const {
    const db::Store store = reading();
    return store.comparisons(store.find_campaign("test").value().id);
  }
  /// The verdict on so many threads against the reference; empty: none.
  [[nodiscard]] std::string verdict_on(std::int64_t threads) const {
    for (const db::StoredComparison& each : comparisons())
      if (threads_in(each.record.candidate) == threads && !each.verdicts.empty()) return each.verdicts.front().verdict;
    return {};
  }

  tuner::CampaignSpec spec = compared_spec();
};

/// Seconds a step by number of threads.
double compared_step(const space::Configuration& configuration) {
  const std::map<std::int64_t, double> steps = {{1, 0.10}, {2, 0.05}, {3, 0.20}, {4, 0.1001}, {5, 0.10}, {6, 0.05}};
  return steps.at(threads_in(configuration));
}

}  // namespace

TEST_CASE("what is compared with the first is found faster, slower or the same", "[compare]") {
  const CampaignFolder folder;
  Comparer comparer(folder);
  comparer.executor.step_seconds = compared_step;
  // A little noise, or the interval would have no width at all.
  comparer.executor.pair_noise = [](std::size_t pair) { return pair % 4 < 2 ? 0.001 : -0.001; };
  const auto result = comparer.compare({1, 2, 3, 4});
  CHECK(!result.interrupted);
  CHECK(!result.out_of_time);
  CHECK(comparer.verdict_on(2) == "faster");
  CHECK(comparer.verdict_on(3) == "slower");
  CHECK(comparer.verdict_on(4) == "same");
  for (const db::StoredComparison& each : comparer.comparisons()) {
    CHECK(each.record.role == "compare");
    CHECK(threads_in(each.record.baseline) == 1);
    CHECK(each.pairs.size() == 6);  // decided at the first look
    CHECK(each.pairs[0].first != each.pairs[1].first);
  }
}

TEST_CASE("the undecided are measured up to the most pairs, the decided no further", "[compare]") {
  const CampaignFolder folder;
  Comparer comparer(folder);
  comparer.executor.step_seconds = compared_step;
  // Pairs swing by ±20 % about the truth, in both orders.
  comparer.executor.pair_noise = [](std::size_t pair) { return pair / 2 % 4 < 2 ? 0.2 : -0.2; };
  (void)comparer.compare({1, 5, 2}, {.policy = {.pairs = 4, .most_pairs = 8}});
  CHECK(comparer.verdict_on(5) == "undecided");
  CHECK(comparer.verdict_on(2) == "faster");
  for (const db::StoredComparison& each : comparer.comparisons())
    CHECK(each.pairs.size() == (threads_in(each.record.candidate) == 5 ? 8 : 4));
}

TEST_CASE("a side that does not train is left out and the others are compared", "[compare]") {
  const CampaignFolder folder;
  Comparer comparer(folder);
  comparer.executor.step_seconds = compared_step;
  comparer.executor.can_be_built = [](const space::Configuration& each) { return threads_in(each) != 3; };
  comparer.executor.pair_noise = [](std::size_t pair) { return pair % 2 == 0 ? 0.001 : -0.001; };
  (void)comparer.compare({2, 3, 1});
  CHECK(comparer.verdict_on(1) == "slower");
  CHECK(comparer.verdict_on(3).empty());
  const db::Store store = comparer.reading();
  const auto trials = store.list_trials({.campaign = store.find_campaign("test").value().id});
  REQUIRE(trials.size() == 3);
  CHECK(threads_in(trials[0].trial.configuration) == 1);  // the default is trial 0, whoever begins a campaign
  CHECK(trials[2].trial.outcome == space::Outcome::BuildFailed);
}

TEST_CASE("a failure of the preparation is tried again, and is no new trial where it fails as before", "[compare]") {
  const CampaignFolder folder;
  Comparer first(folder);
  first.executor.can_be_built = [](const space::Configuration& each) { return threads_in(each) != 3; };
  (void)first.compare({1, 3});
  (void)first.compare({1, 3});
  const db::Store store = first.reading();
  CHECK(store.list_trials({.campaign = store.find_campaign("test").value().id}).size() == 2);
  Comparer later(folder);
  later.executor.id_suffix = "b";
  later.executor.step_seconds = compared_step;
  (void)later.compare({1, 3});
  CHECK(later.verdict_on(3) == "slower");
}

TEST_CASE("pairs that other hands end are measured again, and count against no side", "[compare]") {
  const CampaignFolder folder;
  Comparer comparer(folder);
  comparer.spec.verify.method = measure::PairMethod::Sequential;
  comparer.spec.verify.estimator = measure::StepEstimator::Median;
  comparer.executor.step_seconds = compared_step;
  comparer.executor.signal = SIGKILL;
  int of_pairs = 0;
  comparer.executor.fate = [&](std::size_t, const space::Configuration&) {
    if (comparer.executor.run_plans.back().purpose != space::Purpose::Verify) return space::Outcome::Ok;
    return ++of_pairs % 3 == 0 ? space::Outcome::Crashed : space::Outcome::Ok;
  };
  (void)comparer.compare({1, 2});
  CHECK(of_pairs > 12);
  REQUIRE(comparer.comparisons().size() == 1);
  CHECK(comparer.comparisons().front().pairs.size() == 6);
  CHECK(comparer.verdict_on(2) == "faster");
}

TEST_CASE("a side that fails in pair after pair is left alone, and the others are compared", "[compare]") {
  const CampaignFolder folder;
  Comparer comparer(folder);
  comparer.spec.verify.method = measure::PairMethod::Sequential;
  comparer.spec.verify.estimator = measure::StepEstimator::Median;
  comparer.executor.step_seconds = compared_step;
  comparer.executor.signal = SIGSEGV;
  int failures = 0;
  comparer.executor.fate = [&](std::size_t, const space::Configuration& each) {
    const bool in_pair = comparer.executor.run_plans.back().purpose == space::Purpose::Verify;
    if (!in_pair || threads_in(each) != 2) return space::Outcome::Ok;
    ++failures;
    return space::Outcome::Crashed;
  };
  (void)comparer.compare({1, 2, 3});
  CHECK(failures == 3);
  CHECK(comparer.verdict_on(2).empty());
  CHECK(comparer.verdict_on(3) == "slower");
}

TEST_CASE("where the images are gone the comparison ends with that error, and no side has failed", "[compare]") {
  const CampaignFolder folder;
  const std::filesystem::path images = folder.path / "images";
  std::filesystem::create_directories(images / "disc");
  Comparer comparer(folder);
  comparer.spec.verify.method = measure::PairMethod::Sequential;
  comparer.spec.verify.estimator = measure::StepEstimator::Median;
  comparer.spec.workload.data = "folder";
  comparer.spec.workload.data_folder = images.string();
  comparer.executor.fate = [&](std::size_t, const space::Configuration&) {
    if (comparer.executor.run_plans.back().purpose != space::Purpose::Verify) return space::Outcome::Ok;
    std::filesystem::remove_all(images);
    return space::Outcome::Failed;
  };
  const std::vector sides = {with_threads(1), with_threads(2)};
  const auto said = comparer.with_session(comparer.spec, [&](tuner::Session& session) -> std::string {
    try {
      (void)tuner::SideBySide(session).run(sides, {});
    } catch (const db::Error& error) {
      return error.what();
    }
    return {};
  });
  CHECK_THAT(said, Catch::Matchers::ContainsSubstring("cannot be read"));
}

TEST_CASE("without the reference nothing is compared", "[compare]") {
  const CampaignFolder folder;
  Comparer comparer(folder);
  comparer.executor.can_be_built = [](const space::Configuration& each) { return threads_in(each) != 3; };
  (void)comparer.compare({3, 1, 2});
  CHECK(comparer.executor.pairs == 0);
  CHECK(comparer.comparisons().empty());
}

TEST_CASE("a comparison that was interrupted goes on where it ended", "[compare]") {
  const CampaignFolder folder;
  Comparer first(folder);
  first.executor.step_seconds = compared_step;
  first.executor.pair_noise = [&](std::size_t pair) {
    if (pair == 2) first.interruption.abandon();  // this pair is complete; no further one begins
    return pair % 2 == 0 ? 0.001 : -0.001;
  };
  CHECK(first.compare({1, 2}).interrupted);
  CHECK(first.executor.pairs == 3);
  Comparer second(folder);
  second.executor.step_seconds = compared_step;
  second.executor.id_suffix = "b";
  CHECK(!second.compare({1, 2}).interrupted);
  CHECK(second.executor.pairs == 3);
  CHECK(second.executor.run_configurations.empty());  // their trials are known
  CHECK(second.verdict_on(2) == "faster");
  Comparer third(folder);
  (void)third.compare({1, 2});
  CHECK(third.executor.pairs == 0);  // all of it is known
}

TEST_CASE("no pair is begun that would end after the time, and what there is of it is judged", "[compare]") {
  const CampaignFolder folder;
  Comparer comparer(folder);
  comparer.executor.step_seconds = compared_step;
  comparer.executor.pair_noise = [&](std::size_t pair) {
    comparer.clock.pass(std::chrono::minutes(1));
    return pair % 2 == 0 ? 0.001 : -0.001;
  };
  const auto result =
      comparer.compare({1, 2}, {.policy = {}, .end = comparer.clock.steady() + std::chrono::minutes(4)});
  CHECK(result.out_of_time);
  REQUIRE(comparer.comparisons().size() == 1);
  CHECK(comparer.comparisons().front().pairs.size() == 4);
  CHECK(comparer.verdict_on(2) == "faster");
}

TEST_CASE("a campaign that was finished is finished after a comparison, and its answer stays", "[compare]") {
  const CampaignFolder folder;
  CampaignFixture night(folder);
  night.executor.step_seconds = compared_step;
  const auto spec = compared_spec();
  REQUIRE(night.sit(spec).ending == tuner::Ending::Complete);
  const auto best = night.answer().best->trial.configuration;
  Comparer comparer(folder);
  comparer.executor.step_seconds = compared_step;
  comparer.executor.id_suffix = "b";
  (void)comparer.compare({1, 3});
  CHECK(comparer.reading().find_campaign("test")->finished_unix_ns.has_value());
  CHECK(night.answer().best->trial.configuration == best);
  CampaignFixture later(folder);
  CHECK(later.sit(spec).ending == tuner::Ending::AlreadyDone);
}

TEST_CASE("a compared trial that is faster than the winner makes the old choice no answer", "[compare]") {
  const CampaignFolder folder;
  CampaignFixture night(folder);
  night.executor.step_seconds = [](const space::Configuration& each) {
    return threads_in(each) == 1 ? 0.1 : threads_in(each) == 6 ? 0.01 : 0.05;
  };
  REQUIRE(night.sit(compared_spec()).ending == tuner::Ending::Complete);
  const auto best = threads_in(night.answer().best->trial.configuration);
  REQUIRE(best != 6);
  Comparer comparer(folder);
  comparer.executor.step_seconds = night.executor.step_seconds;
  comparer.executor.id_suffix = "b";
  (void)comparer.compare({1, 6});
  CHECK(threads_in(night.answer().best->trial.configuration) == 6);
  CHECK(!night.answer().verdict);
}

}  // namespace nocturne::test
