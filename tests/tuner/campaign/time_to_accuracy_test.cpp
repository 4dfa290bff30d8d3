// Campaigns that minimise the time until a network is as accurate as wanted, on one that is like ResNet20 on small
// images: epochs to the target are known, and grow with the batch; an epoch is the faster the larger it is.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "measure/accuracy/time_to_accuracy.hpp"
#include "space/random.hpp"
#include "tests/support/normal.hpp"
#include "tests/tuner/campaign/campaign_fixture.hpp"
#include "tests/tuner/campaign/manual_clock.hpp"
#include "tuner/campaign/curves/stored_curves.hpp"
#include "tuner/campaign/finals/target_finals.hpp"
#include "tuner/campaign/stored_document.hpp"

namespace nocturne::test {
namespace {

constexpr std::int64_t kExamples = 2560;
constexpr double kTarget = 0.9;

std::int64_t number_in(const space::Configuration& configuration, const char* name) {
  return std::get<std::int64_t>(*configuration.find(name));
}

std::string word_in(const space::Configuration& configuration, const char* name) {
  return space::to_text(*configuration.find(name));
}

tuner::CampaignSpec spec_with(const std::string& objective, const std::string& budget) {
  const std::string text = fmt::format(R"({{
    "campaign": "test",
    "workload": {{"network": "resnet20", "data": "images-32x32", "optimizer": "sgd_momentum", "training_examples": {}}},
    "worker": {{"command": ["./worker"]}},
    "objective": {},
    "space": {{"parameters": [
      {{"name": "batch", "stage": "run", "values": [32, 64, 128, 256], "default": 64}},
      {{"name": "precision", "stage": "run", "values": ["f32", "bf16"]}},
      {{"name": "learning_rate_rule", "stage": "run", "values": ["none", "linear"]}},
      {{"name": "threads", "stage": "run", "range": [1, 4], "default": 2}},
      {{"name": "allocator", "stage": "run", "values": ["malloc", "jemalloc"]}}]}},
    "run": {{"steps": 10, "deadline": "10min"}},
    "budget": {}}})",
                                       kExamples, objective, budget);
  auto spec = tuner::parse_campaign(text, "test.json", "/", space::Facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return std::move(*spec);
}

constexpr const char* kObjective = R"({"minimise": "time_to_accuracy", "accuracy": 0.9})";

/// What is true of the simulated network.
struct Nature {
  double scatter = 0.08;

  [[nodiscard]] static double steps(const space::Configuration& each) {
    return std::floor(static_cast<double>(kExamples) / static_cast<double>(number_in(each, "batch")));
  }
  [[nodiscard]] static double step_seconds(const space::Configuration& each) {
    const std::map<std::int64_t, double> images_a_second = {{32, 20}, {64, 26}, {128, 31}, {256, 34}};
    double seconds = static_cast<double>(number_in(each, "batch")) / images_a_second.at(number_in(each, "batch"));
    if (word_in(each, "precision") == "bf16") seconds *= 0.6;
    if (word_in(each, "allocator") == "jemalloc") seconds *= 0.9;
    const std::map<std::int64_t, double> by_threads = {{1, 1.8}, {2, 1.0}, {3, 0.8}, {4, 0.85}};
    return seconds * by_threads.at(number_in(each, "threads")) / 20;
  }
  /// A large batch learns less an epoch, the less so with the linear rule.
  [[nodiscard]] static double epochs(const space::Configuration& each) {
    const bool linear = word_in(each, "learning_rate_rule") == "linear";
    const std::map<std::int64_t, double> alone = {{32, 2.2}, {64, 2.6}, {128, 3.9}, {256, 7.5}};
    const std::map<std::int64_t, double> scaled = {{32, 2.5}, {64, 2.6}, {128, 2.7}, {256, 4.4}};
    const double epochs = (linear ? scaled : alone).at(number_in(each, "batch"));
    return word_in(each, "precision") == "bf16" ? 1.1 * epochs : epochs;
  }
  /// What a training is seen to take, on average over seeds.
  [[nodiscard]] static double seconds(const space::Configuration& each) {
    return (epochs(each) + 0.125) * steps(each) * step_seconds(each);
  }
  /// Luck is the seed's, and a little the configuration's.
  [[nodiscard]] double accuracy(const measure::RunPlan& plan, double epochs_done) const {
    const auto configuration = space::Configuration::from_json(plan.request.configuration).value();
    space::Random of_seed(plan.request.seed),
        of_both(plan.request.seed, std::hash<std::string>{}(configuration.identity()));
    const double luck = scatter * (0.8 * normal(of_seed) + 0.6 * normal(of_both));
    return std::clamp(kTarget + 0.05 * std::log(epochs_done / (epochs(configuration) * std::exp(luck))), 0.0, 1.0);
  }
};

/// The true best, and the one that is the fastest for an epoch.
struct TrueBest {
  space::Configuration to_target, for_epoch;
};
TrueBest true_best(const space::Space& space) {
  TrueBest best;
  double least = std::numeric_limits<double>::infinity(), least_epoch = least;
  auto all = space.enumerate();
  while (const auto each = all.next()) {
    if (const double seconds = Nature::seconds(*each); seconds < least) least = seconds, best.to_target = *each;
    if (const double epoch = Nature::steps(*each) * Nature::step_seconds(*each); epoch < least_epoch)
      least_epoch = epoch, best.for_epoch = *each;
  }
  return best;
}

/// A campaign on that network, on a clock that its runs move.
struct Simulation : SessionFixture<ManualClock> {
  explicit Simulation(const CampaignFolder& folder) : SessionFixture<ManualClock>(folder) {
    executor.schedule = [](const space::Configuration& each) {
      return measure::Schedule{.training_examples = kExamples,
                               .batch = number_in(each, "batch"),
                               .partial_batch = protocol::PartialBatch::Train};
    };
    executor.step_seconds = Nature::step_seconds;
    executor.accuracy_after = [this](const measure::RunPlan& plan, double epochs) {
      return nature.accuracy(plan, epochs);
    };
    executor.pass = [this](std::chrono::nanoseconds time) { clock.pass(time); };
  }

  tuner::SessionResult sit(const tuner::CampaignSpec& spec) {
    return with_session(spec, [](tuner::Session& session) { return tuner::Campaign(session, false).run(); });
  }
  tuner::Answer answer() {
    const db::Store store = reading();
    return tuner::answer_of(store, store.load_campaign("test"));
  }
  /// Runs with a curve of this purpose.
  [[nodiscard]] std::vector<measure::RunPlan> curves(space::Purpose purpose) const {
    std::vector<measure::RunPlan> plans;
    for (const measure::RunPlan& plan : executor.run_plans)
      if (plan.request.curve && plan.purpose == purpose) plans.push_back(plan);
    return plans;
  }
  /// Configurations that were trained to the target in pairs, each once.
  [[nodiscard]] std::vector<space::Configuration> trained_beside(const space::Configuration& baseline) const {
    std::vector<space::Configuration> trained;
    for (const measure::RunPlan& plan : curves(space::Purpose::Verify)) {
      auto each = space::Configuration::from_json(plan.request.configuration).value();
      if (each != baseline && std::ranges::find(trained, each) == trained.end()) trained.push_back(std::move(each));
    }
    return trained;
  }

  Nature nature;
};

/// Seconds of processes, start to end.
double seconds_of(const std::vector<measure::RunPlan>& plans, const db::Store& store) {
  double seconds = 0;
  for (const measure::RunPlan& plan : plans)
    seconds += std::chrono::duration<double>(store.load_run(plan.id).record.run.wall).count();
  return seconds;
}

tuner::StoredCurves stored_curves_of(const db::Store& store, const db::CampaignSummary& campaign,
                                     const space::Space& space) {
  const auto sections = tuner::sections_of(campaign.spec);
  return tuner::stored_curves(store, campaign.id, space, sections.worker, sections.workload,
                              sections.objective.target.value(), sections.run.process_sd);
}

/// What it learns by.
space::Configuration learning_of(const space::Configuration& configuration) {
  return tuner::learning_values(configuration, {"batch", "precision", "learning_rate_rule"});
}

/// Makes all trials without jemalloc ten times as fast.
void make_tenfold(const CampaignFolder& folder) {
  db::Store store = db::Store::open(folder.path / "test.db", db::Mode::ReadWrite);
  const auto known = store.load_campaign("test");
  const auto campaign = store.begin_or_resume_campaign({.name = known.name,
                                                        .identity = known.identity,
                                                        .spec = known.spec,
                                                        .strategy = known.strategy,
                                                        .fingerprint = store.load_fingerprint(known.fingerprint)});
  for (db::StoredTrial each : store.list_trials({.campaign = campaign.id})) {
    if (!each.trial.parts || word_in(each.trial.configuration, "allocator") == "jemalloc") continue;
    each.trial.parts->steady_step /= 10;
    each.trial.estimate->value /= 10;
    store.update_trial(each.id, db::result_of(each.trial));
  }
}

}  // namespace

TEST_CASE("the campaign finds the true best to the target although another is faster an epoch", "[accuracy]") {
  const auto spec = spec_with(kObjective, R"({"wall": "3h"})");
  const TrueBest best = true_best(spec.space);
  REQUIRE(number_in(best.to_target, "batch") == 128);
  REQUIRE(number_in(best.for_epoch, "batch") == 256);
  const CampaignFolder folder;
  Simulation simulation(folder);
  REQUIRE(simulation.sit(spec).ending == tuner::Ending::Complete);
  const tuner::Answer answer = simulation.answer();
  REQUIRE(answer.best);
  const space::Configuration& found = answer.best->trial.configuration;
  CHECK(Nature::seconds(found) < 1.06 * Nature::seconds(best.to_target));
  CHECK(learning_of(found) == learning_of(best.to_target));
  REQUIRE(answer.verdict);
  CHECK(answer.verdict->verdict == "faster");
  CHECK(answer.verdict->pairs == tuner::kTrainings);
  // What is claimed is what was measured: the true ratio lies in the interval, give or take.
  const double truth = std::log(Nature::seconds(found) / Nature::seconds(spec.space.default_configuration()));
  CHECK(answer.verdict->log_ratio_low - 0.05 < truth);
  CHECK(truth < answer.verdict->log_ratio_high + 0.05);
}

TEST_CASE("curves take at most a quarter of the campaign's time, and serve all that learns alike", "[accuracy]") {
  const CampaignFolder folder;
  Simulation simulation(folder);
  const auto began = simulation.clock.steady();
  REQUIRE(simulation.sit(spec_with(kObjective, R"({"wall": "10min"})")).ending == tuner::Ending::Complete);
  const double whole = std::chrono::duration<double>(simulation.clock.steady() - began).count();
  CHECK(whole < 1.1 * 600);
  const auto curves = simulation.curves(space::Purpose::Gate);
  CHECK(seconds_of(curves, simulation.reading()) <= 0.25 * 600);
  CHECK(curves.size() >= 3);
  std::set<std::pair<std::string, std::uint64_t>> drawn;
  for (const measure::RunPlan& plan : curves) {
    const auto configuration = space::Configuration::from_json(plan.request.configuration).value();
    CHECK(number_in(configuration, "threads") == 2);
    CHECK(word_in(configuration, "allocator") == "malloc");
    CHECK(drawn.emplace(configuration.identity(), plan.request.seed).second);  // none twice
    CHECK(plan.request.seed < tuner::kFreshSeeds);
  }
  CHECK(simulation.curves(space::Purpose::Search).empty());
}

TEST_CASE("what is claimed was trained to the target for real, in fresh processes with fresh seeds", "[accuracy]") {
  const CampaignFolder folder;
  Simulation simulation(folder);
  const auto spec = spec_with(kObjective, R"({"wall": "3h"})");
  REQUIRE(simulation.sit(spec).ending == tuner::Ending::Complete);
  const auto trained = simulation.curves(space::Purpose::Verify);
  REQUIRE(trained.size() == 2 * tuner::kTrainings);
  std::map<std::uint64_t, int> seeds;
  for (const measure::RunPlan& plan : trained) {
    CHECK(plan.request.curve->until == kTarget);
    CHECK(plan.request.seed >= tuner::kFreshSeeds);
    ++seeds[plan.request.seed];
  }
  CHECK(seeds.size() == tuner::kTrainings);
  for (const auto& [seed, count] : seeds) CHECK(count == 2);  // both of a pair
}

TEST_CASE("what the trainings took counts for the epochs that the answer states, as curves do", "[accuracy]") {
  const CampaignFolder folder;
  Simulation simulation(folder);
  // The first curves are lucky: they are there after two thirds of the epochs.
  simulation.executor.accuracy_after = [&](const measure::RunPlan& plan, double epochs) {
    return simulation.nature.accuracy(plan, plan.request.seed < tuner::kFreshSeeds ? 1.5 * epochs : epochs);
  };
  REQUIRE(simulation.sit(spec_with(kObjective, R"({"wall": "20min"})")).ending == tuner::Ending::Complete);
  const tuner::Answer answer = simulation.answer();
  REQUIRE(answer.target);
  CHECK(answer.target->trainings == 2 * tuner::kTrainings);
  for (const auto& [trial, side] :
       {std::pair(answer.best, answer.target->best), {answer.baseline, answer.target->baseline}}) {
    REQUIRE(side);
    const space::Configuration& configuration = trial->trial.configuration;
    CAPTURE(configuration.to_json().dump(), side->epochs.mean, side->epochs.low, side->epochs.high);
    CHECK(side->epochs.reached >= tuner::kTrainings);
    CHECK(side->epochs.mean == Catch::Approx(Nature::epochs(configuration) + 0.125).epsilon(0.15));
    // And it is what the trial's time is made of, for the search that goes on.
    CHECK(trial->trial.estimate->value == Catch::Approx(side->time.seconds).epsilon(0.001));
  }
  // Apart from how many epochs it takes, an epoch's time is known from the same pairs.
  REQUIRE(answer.target->trained);
  CHECK(answer.target->trained->best_epochs.size() == tuner::kTrainings);
  const auto epoch_of = [](const space::Configuration& each) {
    return Nature::steps(each) * Nature::step_seconds(each);
  };
  const double usual = epoch_of(answer.baseline->trial.configuration);
  const double of_best = epoch_of(answer.best->trial.configuration);
  CHECK(answer.target->trained->epoch.gain_percent == Catch::Approx(100 * (usual / of_best - 1)).epsilon(0.05));
}

TEST_CASE("20 full trainings of drawn configurations lie in their 90 % interval in at least 17", "[accuracy]") {
  const CampaignFolder folder;
  Simulation simulation(folder);
  const auto spec = spec_with(kObjective, R"({"wall": "3h"})");
  REQUIRE(simulation.sit(spec).ending == tuner::Ending::Complete);
  const db::Store store = simulation.reading();
  const auto campaign = store.load_campaign("test");
  const auto curves = stored_curves_of(store, campaign, spec.space);
  space::Random random(3);
  int held = 0;
  for (std::uint64_t i = 0; i < 20; ++i) {
    const auto drawn = spec.space.sample(random).value();
    const auto& standing = curves.standing_of(drawn);
    const double epoch = Nature::steps(drawn) * Nature::step_seconds(drawn);
    const auto expected = measure::time_to_accuracy({.startup = 0, .epoch = epoch, .log_sd = 0.02}, standing.epochs);
    measure::RunPlan plan;
    plan.request.configuration = drawn.to_json();
    plan.request.seed = 5'000'000 + i;
    double epochs = 0.25;
    while (simulation.nature.accuracy(plan, epochs) < kTarget) epochs += 0.25;
    held += expected.next_low <= epochs * epoch && epochs * epoch <= expected.next_high;
  }
  CHECK(held >= 17);
}

TEST_CASE("a campaign that was interrupted while curves were drawn goes on and draws none again", "[accuracy]") {
  const auto spec = spec_with(kObjective, R"({"wall": "3h"})");
  const CampaignFolder folder;
  std::size_t before = 0;
  {
    Simulation first(folder);
    int runs = 0;
    first.executor.pass = [&](std::chrono::nanoseconds time) {
      first.clock.pass(time);
      if (++runs == 6) first.interruption.finish();
    };
    CHECK(first.sit(spec).ending == tuner::Ending::Interrupted);
    before = first.curves(space::Purpose::Gate).size();
    REQUIRE(before >= 2);
  }
  Simulation second(folder);
  second.executor.id_suffix = "b";
  REQUIRE(second.sit(spec).ending == tuner::Ending::Complete);
  std::set<std::pair<std::string, std::uint64_t>> drawn;
  const db::Store store = second.reading();
  std::size_t curves = 0;
  for (const db::StoredTrial& trial : store.list_trials({.campaign = store.load_campaign("test").id})) {
    for (const db::StoredRun& stored : store.load_trial(trial.id).runs) {
      const space::Run& run = stored.record.run;
      if (run.purpose != space::Purpose::Gate || run.curve.empty() || run.outcome != space::Outcome::Ok) continue;
      ++curves;
      CHECK(drawn.emplace(trial.trial.configuration.identity(), run.seed).second);
    }
  }
  CHECK(curves > before);
  CHECK(second.answer().verified_faster());
}

TEST_CASE("the target may be what the default reaches after some epochs", "[accuracy]") {
  const CampaignFolder folder;
  Simulation simulation(folder);
  const auto spec = spec_with(R"({"minimise": "time_to_accuracy", "default_epochs": 3})", R"({"wall": "3h"})");
  REQUIRE(simulation.sit(spec).ending == tuner::Ending::Complete);
  const db::Store store = simulation.reading();
  const auto campaign = store.load_campaign("test");
  const auto curves = stored_curves_of(store, campaign, spec.space);
  REQUIRE(curves.accuracy);
  CHECK(*curves.accuracy == Catch::Approx(kTarget + 0.05 * std::log(3 / 2.6)).margin(0.006));
  CHECK(curves.standings.front().epochs.mean == Catch::Approx(3).epsilon(0.15));
  for (const measure::RunPlan& plan : simulation.curves(space::Purpose::Verify))
    CHECK(plan.request.curve->until == *curves.accuracy);
}

TEST_CASE("one that does not get to the target when it is trained for real is no winner", "[accuracy]") {
  const CampaignFolder folder;
  Simulation simulation(folder);
  const auto spec = spec_with(kObjective, R"({"wall": "3h"})");
  const auto lucky = tuner::learning_values(true_best(spec.space).to_target, {"batch", "precision"});
  simulation.executor.accuracy_after = [&](const measure::RunPlan& plan, double epochs) {
    const auto configuration = space::Configuration::from_json(plan.request.configuration).value();
    const bool fresh = plan.request.seed >= tuner::kFreshSeeds;
    const bool stuck = fresh && tuner::learning_values(configuration, {"batch", "precision"}) == lucky;
    return stuck ? 0.5 : simulation.nature.accuracy(plan, epochs);
  };
  REQUIRE(simulation.sit(spec).ending == tuner::Ending::Complete);
  const tuner::Answer answer = simulation.answer();
  REQUIRE(answer.best);
  CHECK(tuner::learning_values(answer.best->trial.configuration, {"batch", "precision"}) != lucky);
  CHECK(answer.outcomes.at(space::Outcome::Wrong) >= 1);
}

TEST_CASE("a winner that is slower when it is trained to the target is followed by another one", "[accuracy]") {
  const CampaignFolder folder;
  Simulation simulation(folder);
  const auto spec = spec_with(kObjective, R"({"wall": "3h"})");
  const std::string default_identity = spec.space.default_configuration().identity();
  std::string first;  // that is trained beside the default
  simulation.executor.plan_factor = [&](const measure::RunPlan& plan) {
    const auto identity = space::Configuration::from_json(plan.request.configuration).value().identity();
    if (plan.purpose != space::Purpose::Verify || plan.request.seed < tuner::kFreshSeeds) return 1.0;
    if (identity != default_identity && first.empty()) first = identity;
    return identity == first ? 4.0 : 1.0;
  };
  REQUIRE(simulation.sit(spec).ending == tuner::Ending::Complete);
  const tuner::Answer answer = simulation.answer();
  REQUIRE(answer.best);
  CHECK(answer.best->trial.configuration.identity() != first);
  CHECK(answer.verified_faster());
  CHECK(simulation.trained_beside(spec.space.default_configuration()).size() == 2);
}

TEST_CASE("trainings to the target that were interrupted go on with the same winner", "[accuracy]") {
  const auto spec = spec_with(kObjective, R"({"wall": "3h"})");
  const CampaignFolder folder;
  space::Configuration winner;
  {
    Simulation first(folder);
    first.executor.pass = [&](std::chrono::nanoseconds time) {
      first.clock.pass(time);
      if (first.curves(space::Purpose::Verify).size() == 5) first.interruption.finish();
    };
    CHECK(first.sit(spec).ending == tuner::Ending::Interrupted);
    winner = first.trained_beside(spec.space.default_configuration()).at(0);
  }
  REQUIRE(word_in(winner, "allocator") == "jemalloc");
  make_tenfold(folder);
  Simulation second(folder);
  second.executor.id_suffix = "b";
  second.executor.plan_factor = [](const measure::RunPlan& plan) {
    const auto configuration = space::Configuration::from_json(plan.request.configuration).value();
    return word_in(configuration, "allocator") == "jemalloc" ? 1.0 : 0.1;
  };
  REQUIRE(second.sit(spec).ending == tuner::Ending::Complete);
  CHECK(second.trained_beside(spec.space.default_configuration()) == std::vector{winner});
  CHECK(second.answer().verdict->pairs == tuner::kTrainings);
}

TEST_CASE("a curve that the finals ask for goes on only while its configuration may still be the first", "[accuracy]") {
  const CampaignFolder folder;
  Simulation simulation(folder);
  const auto spec = spec_with(kObjective, R"({"wall": "4min"})");
  const auto by_default = spec.space.default_configuration();
  // What is large and looks fast never gets there.
  simulation.executor.accuracy_after = [&](const measure::RunPlan& plan, double epochs) {
    const auto configuration = space::Configuration::from_json(plan.request.configuration).value();
    return number_in(configuration, "batch") == 256 ? 0.5 : simulation.nature.accuracy(plan, epochs);
  };
  REQUIRE(simulation.sit(spec).ending == tuner::Ending::Complete);
  std::size_t of_others = 0;
  for (const measure::RunPlan& plan : simulation.curves(space::Purpose::Gate)) {
    if (learning_of(space::Configuration::from_json(plan.request.configuration).value()) == learning_of(by_default))
      continue;
    ++of_others;
    CHECK(plan.request.epochs < spec.objective.target->most_epochs);
  }
  CHECK(of_others >= 2);
  CHECK(simulation.answer().verified_faster());
}

TEST_CASE("of trials that chance has ordered the one is trained that pairs show to be the first", "[accuracy]") {
  constexpr int kCampaigns = 8;
  double behind = 0;  // the true best, in the mean; of the logarithm
  for (std::uint64_t seed = 1; seed <= kCampaigns; ++seed) {
    const CampaignFolder folder;
    Simulation simulation(folder);
    auto spec = spec_with(kObjective, R"({"wall": "20min"})");
    spec.strategy.seed = seed;
    spec.run.seed = 1000 * seed;
    space::Random luck(seed);
    simulation.executor.process_sd = [&](const space::Configuration&) { return std::exp(0.1 * normal(luck)); };
    simulation.executor.pair_noise = [&](std::size_t) { return 0.04 * normal(luck); };
    simulation.executor.while_in_turns = [&] { simulation.clock.pass(std::chrono::seconds(20)); };
    REQUIRE(simulation.sit(spec).ending == tuner::Ending::Complete);
    const tuner::Answer answer = simulation.answer();
    REQUIRE(answer.best);
    REQUIRE(answer.verdict);
    behind +=
        std::log(Nature::seconds(answer.best->trial.configuration) / Nature::seconds(true_best(spec.space).to_target)) /
        kCampaigns;
  }
  CHECK(behind < 0.03);  // the smallest of these trials is 6 % behind it
}

}  // namespace nocturne::test
