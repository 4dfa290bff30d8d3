#include "tuner/campaign/finals/comparing.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/tuner/campaign/campaign_fixture.hpp"

namespace nocturne::test {
namespace {

using Catch::Matchers::ContainsSubstring;
using measure::PairMethod;
using measure::StepEstimator;

space::Configuration using_threads(std::int64_t threads) {
  space::Configuration configuration;
  configuration.set("threads", threads);
  return configuration;
}

tuner::VerifySettings wants(PairMethod method, StepEstimator estimator) {
  tuner::VerifySettings verify;
  verify.method = method;
  verify.estimator = estimator;
  verify.known_costs = {{.method = PairMethod::Duet, .estimator = StepEstimator::Minimum, .cost = 1},
                        {.method = PairMethod::Slices, .estimator = StepEstimator::Paired, .cost = 4},
                        {.method = PairMethod::Sequential, .estimator = StepEstimator::Minimum, .cost = 9},
                        {.method = PairMethod::Sequential, .estimator = StepEstimator::Median, .cost = 12}};
  return verify;
}

tuner::CampaignSpec duelling_spec(const std::string& verify) {
  auto spec = tuner::parse_campaign(R"({
    "campaign": "test", "workload": {"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"},
    "objective": {"minimise": "time", "epochs": [12]},
    "space": {"parameters": [{"name": "threads", "stage": "run", "range": [1, 4], "default": 1}]},
    "strategy": {"name": "exhaustive"},
    "verify": {"pairs": 4, "most_pairs": 4, "finalists": 1, "simplify": false, "accuracy_epochs": 0,
               "gate": {"on": false}, "slices": 6, "slice_steps": 2, )" +
                                        verify + "}}",
                                    "test.json", "/", space::Facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return std::move(*spec);
}

/// The same of a command of the user's own.
tuner::CampaignSpec command_spec() {
  auto spec = tuner::parse_campaign(R"({
    "campaign": "test", "workload": {"training_examples": 100},
    "objective": {"minimise": "time", "epochs": [12]}, "worker": {"template": ["/bin/true"], "time": "steps"},
    "space": {"parameters": [{"name": "threads", "stage": "run", "range": [1, 4], "default": 1}]},
    "strategy": {"name": "exhaustive"},
    "verify": {"pairs": 4, "most_pairs": 4, "selection_pairs": 12, "accuracy_epochs": 0,
               "gate": {"on": false}}})",
                                    "test.json", "/", space::Facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return std::move(*spec);
}

/// Two threads are the best.
double duelling_step(const space::Configuration& configuration) {
  const auto threads = std::get<std::int64_t>(*configuration.find("threads"));
  return threads == 2 ? 0.05 : 0.1 + 0.01 * static_cast<double>(threads);
}

db::StoredComparison only_comparison(const CampaignFolder& folder) {
  const auto store = db::Store::open(folder.path / "test.db", db::Mode::ReadOnly);
  const auto comparisons = store.comparisons(store.find_campaign("test").value().id);
  REQUIRE(comparisons.size() == 1);
  return comparisons.front();
}

}  // namespace

TEST_CASE("a duet needs half of the CPUs for each, and none that are its own", "[pair_method]") {
  const measure::LaunchSettings unbound;
  const auto one = using_threads(1), two = using_threads(2), three = using_threads(3);
  CHECK(
      tuner::no_duet_because({.configuration = one, .launch = unbound}, {.configuration = two, .launch = unbound}, 4, 0)
          .empty());
  CHECK(tuner::no_duet_because({.configuration = one, .launch = unbound}, {.configuration = three, .launch = unbound},
                               4, 0) == "a side uses 3 of 4 CPUs");
  measure::LaunchSettings bound;
  bound.cpus = {0};
  CHECK_THAT(
      tuner::no_duet_because({.configuration = one, .launch = bound}, {.configuration = two, .launch = unbound}, 4, 0),
      ContainsSubstring("CPUs of its own"));
  const space::Configuration silent;
  CHECK_FALSE(tuner::no_duet_because({.configuration = silent, .launch = unbound},
                                     {.configuration = one, .launch = unbound}, 4, 0)
                  .empty());
  CHECK_FALSE(tuner::no_duet_because({.configuration = one, .launch = unbound, .peak_bytes = {}, .contained = true},
                                     {.configuration = one, .launch = unbound}, 4, 0)
                  .empty());
}

TEST_CASE("who cannot be measured as wanted is measured the next best way, and what that costs is said",
          "[pair_method]") {
  const measure::LaunchSettings unbound;
  const auto two = using_threads(2), four = using_threads(4);
  const tuner::PairedSide small{.configuration = two, .launch = unbound, .peak_bytes = 100};
  const tuner::PairedSide wide{.configuration = four, .launch = unbound, .peak_bytes = 100};
  const tuner::PairedSide large{.configuration = two, .launch = unbound, .peak_bytes = 900};

  auto choice = tuner::choose_pair_method(wants(PairMethod::Duet, StepEstimator::Minimum), small, small, 4, 1000);
  CHECK(choice.method == PairMethod::Duet);
  CHECK(choice.instead.empty());
  choice = tuner::choose_pair_method(wants(PairMethod::Duet, StepEstimator::Minimum), small, wide, 4, 1000);
  CHECK(choice.method == PairMethod::Slices);
  CHECK(choice.estimator == StepEstimator::Paired);
  CHECK(choice.instead ==
        "slices instead of duet, for a side uses 4 of 4 CPUs; to tell the same takes 4.0 times as long");
  choice = tuner::choose_pair_method(wants(PairMethod::Slices, StepEstimator::Paired), small, large, 4, 950);
  CHECK(choice.method == PairMethod::Sequential);
  CHECK(choice.estimator == StepEstimator::Minimum);
  CHECK_THAT(choice.instead, ContainsSubstring("together they need"));
  choice = tuner::choose_pair_method(wants(PairMethod::Slices, StepEstimator::Paired), small, large, 4, 0);
  CHECK(choice.method == PairMethod::Slices);  // no limit is known
}

TEST_CASE("two that fit a GPU alone and not together are measured one after the other, and never at once",
          "[pair_method]") {
  const measure::LaunchSettings unbound;
  const auto two = using_threads(2);
  const auto on_gpu = [&](std::int64_t bytes) {
    return tuner::PairedSide{
        .configuration = two, .launch = unbound, .peak_bytes = 10, .device_bytes = bytes, .device_memory_bytes = 1000};
  };
  auto choice =
      tuner::choose_pair_method(wants(PairMethod::Slices, StepEstimator::Paired), on_gpu(200), on_gpu(900), 4, 0);
  CHECK(choice.method == PairMethod::Sequential);
  CHECK_THAT(choice.instead, ContainsSubstring("of the GPU's"));
  choice = tuner::choose_pair_method(wants(PairMethod::Slices, StepEstimator::Paired), on_gpu(200), on_gpu(600), 4, 0);
  CHECK(choice.method == PairMethod::Slices);
  choice = tuner::choose_pair_method(wants(PairMethod::Duet, StepEstimator::Minimum), on_gpu(200), on_gpu(600), 4, 0);
  CHECK(choice.method == PairMethod::Slices);
  CHECK_THAT(choice.instead, ContainsSubstring("both compute on the GPU"));
  const tuner::PairedSide beside{.configuration = two, .launch = unbound, .peak_bytes = 10};
  choice = tuner::choose_pair_method(wants(PairMethod::Duet, StepEstimator::Minimum), beside, on_gpu(900), 4, 0);
  CHECK(choice.method == PairMethod::Duet);
}

TEST_CASE("finals are a duet where both leave half of the machine free, with sides swapped", "[pair_method]") {
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  campaign_fixture.executor.usable_cpus = {0, 1, 2, 3};
  campaign_fixture.executor.step_seconds = duelling_step;
  campaign_fixture.sit(duelling_spec(R"("method": "duet", "estimator": "minimum")"));
  CHECK(campaign_fixture.executor.pairs == 0);  // none took turns
  std::map<std::int64_t, std::vector<std::vector<int>>> halves;
  for (const measure::RunPlan& plan : campaign_fixture.executor.run_plans) {
    if (plan.purpose != space::Purpose::Verify) continue;
    const auto configuration = space::Configuration::from_json(plan.request.configuration).value();
    halves[std::get<std::int64_t>(*configuration.find("threads"))].push_back(plan.cpus);
    CHECK(plan.request.steps >= 12);
  }
  REQUIRE(halves.size() == 2);
  for (const auto& [threads, of_side] : halves) {
    CAPTURE(threads);
    REQUIRE(of_side.size() == 4);
    CHECK(std::ranges::count(of_side, std::vector{0, 1}) == 2);
    CHECK(std::ranges::count(of_side, std::vector{2, 3}) == 2);
  }
  const auto comparison = only_comparison(folder);
  CHECK(comparison.record.method == "duet");
  CHECK(comparison.record.estimator == "minimum");
  REQUIRE(comparison.pairs.size() == 4);
  CHECK(campaign_fixture.reading().slices(comparison.id, comparison.pairs.front().index).size() == 2);
  const auto answer = campaign_fixture.answer();
  REQUIRE(answer.verdict);
  CHECK(answer.verdict->verdict == "faster");
  CHECK(std::abs(tuner::gain_percent(answer.verdict->log_ratio_mean) - 120) < 1);
}

TEST_CASE("one after the other is judged by the minimum when that is wanted", "[pair_method]") {
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  campaign_fixture.executor.step_seconds = duelling_step;
  campaign_fixture.sit(duelling_spec(R"("method": "sequential", "estimator": "minimum")"));
  CHECK(campaign_fixture.executor.pairs == 0);
  CHECK(only_comparison(folder).record.method == "sequential");
  CHECK(campaign_fixture.answer().verdict->verdict == "faster");
}

TEST_CASE("a duet that the machine does not allow takes turns, and says so", "[pair_method]") {
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  campaign_fixture.executor.usable_cpus = {0, 1};
  campaign_fixture.executor.step_seconds = duelling_step;
  campaign_fixture.sit(duelling_spec(R"("method": "duet")"));
  CHECK(campaign_fixture.executor.pairs == 4);
  CHECK(only_comparison(folder).record.method == "slices");
  CHECK(std::ranges::any_of(campaign_fixture.watcher.notes, [](const std::string& note) {
    return note.find("slices instead of duet, for a side uses 2 of 2 CPUs") != std::string::npos;
  }));
}

TEST_CASE("commands that cannot live beside each other are compared one after the other, and that is learnt once",
          "[pair_method]") {
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  campaign_fixture.executor.step_seconds = [](const space::Configuration& each) {
    return duelling_step(each) - (each.integer_of("threads") == 3 ? 0.0805 : 0);
  };
  campaign_fixture.executor.fate_in_turns = [](const auto&) { return space::Outcome::Failed; };
  campaign_fixture.executor.exit_code = 1;
  campaign_fixture.sit(command_spec());
  CHECK(campaign_fixture.executor.pairs == 1);  // in turns; it fails
  const auto store = campaign_fixture.reading();
  const auto comparisons = store.comparisons(store.find_campaign("test").value().id);
  CHECK(comparisons.size() >= 2);
  for (const db::StoredComparison& each : comparisons) {
    CHECK(each.record.method == "sequential");
    CHECK(each.record.estimator == "median");
    CHECK_FALSE(each.pairs.empty());
  }
  const auto answer = campaign_fixture.answer();
  REQUIRE(answer.verdict);
  CHECK(answer.verdict->verdict == "faster");
  CHECK(answer.verdict->pairs == 4);
  CHECK(std::ranges::count_if(campaign_fixture.watcher.notes, [](const std::string& note) {
          return note.contains("failed beside the other one");
        }) == 1);
}

TEST_CASE("a command that fails however it is measured has no verdict", "[pair_method]") {
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  campaign_fixture.executor.step_seconds = duelling_step;
  campaign_fixture.executor.fate_in_turns = [](const auto&) { return space::Outcome::Failed; };
  campaign_fixture.executor.exit_code = 1;
  campaign_fixture.executor.fate = [](std::size_t run, const auto&) {
    return run < 4 ? space::Outcome::Ok : space::Outcome::Failed;
  };
  campaign_fixture.sit(command_spec());
  CHECK_FALSE(campaign_fixture.answer().verdict);
  CHECK(campaign_fixture.executor.pairs >= 1);
}

}  // namespace nocturne::test
