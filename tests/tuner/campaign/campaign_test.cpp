#include "tuner/campaign/campaign.hpp"

#include <algorithm>
#include <set>

#include <catch2/catch_test_macros.hpp>

#include "tests/tuner/campaign/campaign_fixture.hpp"

namespace nocturne::test {
namespace {

constexpr std::string_view kCampaign = R"({
  "campaign": "test", "workload": {"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"},
  "objective": {"minimise": "time", "epochs": [1, 12]},
  "space": {"parameters": [
    {"name": "threads", "stage": "run", "range": [1, 8], "default": 4},
    {"name": "precision", "stage": "run", "values": ["f32", "bf16"], "default": "f32"}]},
  "strategy": {"name": "STRATEGY", "seed": 3},
  "budget": {"trials": TRIALS},
  "verify": {"pairs": 4, "finalists": 1, "simplify": false, "slices": 4, "slice_steps": 2}
})";

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  text.replace(text.find(what), what.size(), by);
  return text;
}

tuner::CampaignSpec spec_with(int trials, const std::string& strategy = "random") {
  const std::string text =
      replaced(replaced(std::string(kCampaign), "TRIALS", std::to_string(trials)), "STRATEGY", strategy);
  auto spec = tuner::parse_campaign(text, "test.json", "/", space::Facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return std::move(*spec);
}

/// bf16 halves the step; more threads help.
double model(const space::Configuration& configuration) {
  const auto threads = static_cast<double>(std::get<std::int64_t>(*configuration.find("threads")));
  const bool bf16 = *configuration.find("precision") == space::Value("bf16");
  return (bf16 ? 0.04 : 0.08) / threads;
}

using Folder = CampaignFolder;

struct WatchedFixture : CampaignFixture {
  explicit WatchedFixture(const Folder& folder) : CampaignFixture(folder) { executor.step_seconds = model; }
};

TEST_CASE("a campaign measures the default first and reports a gain from fresh pairs", "[campaign]") {
  const Folder folder;
  WatchedFixture campaign_fixture(folder);
  const auto result = campaign_fixture.sit(spec_with(16));
  CHECK(result.ending == tuner::Ending::Complete);
  CHECK(campaign_fixture.watcher.numbers.front() == 0);
  CHECK(campaign_fixture.watcher.numbers.size() == 16);
  CHECK(campaign_fixture.executor.pairs == 4);

  const tuner::Answer answer = campaign_fixture.answer();
  REQUIRE(answer.best);
  CHECK(*answer.best->trial.configuration.find("precision") == space::Value("bf16"));
  CHECK(*answer.best->trial.configuration.find("threads") == space::Value(std::int64_t{8}));
  REQUIRE(answer.verdict);
  CHECK(answer.verified_faster());
  CHECK(answer.verdict->pairs == 4);
  CHECK(tuner::gain_percent(answer.verdict->log_ratio_mean) > 290);  // four times as fast
  CHECK(answer.changes.size() == 2);
  REQUIRE(answer.best_accuracy);
  REQUIRE(answer.baseline_accuracy);
  CHECK(answer.outcomes.at(space::Outcome::Ok) == 16);
}

TEST_CASE("the database keeps a log of the sessions and the builds they used", "[campaign]") {
  const Folder folder;
  WatchedFixture killed(folder);
  killed.executor.artifact = "k1";
  killed.executor.fate = [&](std::size_t count, const space::Configuration&) {
    if (count < 3) return space::Outcome::Ok;
    killed.interruption.abandon();
    return space::Outcome::Killed;
  };
  REQUIRE(killed.sit(spec_with(6)).ending == tuner::Ending::Interrupted);
  WatchedFixture campaign_fixture(folder);
  campaign_fixture.executor.id_suffix = "b";
  campaign_fixture.executor.artifact = "k1";
  const auto second = campaign_fixture.sit(spec_with(6));
  REQUIRE(second.ending == tuner::Ending::Complete);

  const auto store = db::Store::open(folder.path / "test.db", db::Mode::ReadOnly);
  std::vector<std::string> log;
  const auto events = store.events(second.campaign, 10);
  for (const auto& event : events) log.push_back(event.what);
  REQUIRE(log.size() >= 4);  // what follows is the gate's
  CHECK(log[0] == "opened: 0 trials known, 0 interrupted ones to run again; strategy random, seed 3");
  CHECK(log[1] == "the search ended after 3 trials, 0 of them failed: interrupted");
  CHECK(log[2] == "resumed: 3 trials known, 1 interrupted ones to run again; strategy random, seed 3");
  CHECK(log[3].starts_with("the search ended after 6 trials, 0 of them failed: "));

  const auto builds = store.list_builds();
  REQUIRE(builds.size() == 1);
  CHECK(builds.front().key == "k1");
  CHECK(builds.front().last_used_unix_ns > builds.front().created_unix_ns);
}

TEST_CASE("a completed campaign is not measured again", "[campaign]") {
  const Folder folder;
  WatchedFixture first(folder);
  first.sit(spec_with(6));
  WatchedFixture second(folder);
  second.executor.id_suffix = "b";
  CHECK(second.sit(spec_with(6)).ending == tuner::Ending::AlreadyDone);
  CHECK(second.executor.run_configurations.empty());
  CHECK(second.executor.prepared.empty());
  CHECK(second.executor.pairs == 0);
}

TEST_CASE("a budget of time is that of all sessions, their pairs and epochs as well", "[campaign]") {
  const Folder folder;
  tuner::CampaignSpec spec = spec_with(3);
  spec.budget.wall = std::chrono::seconds(3000);
  spec.verify.gate.on = false;
  spec.verify.accuracy_epochs = 12;
  WatchedFixture first(folder);
  // Three pairs of 220 s, and twelve epochs of each side.
  const space::Configuration usual = spec.space.default_configuration();
  first.executor.step_seconds = [&](const space::Configuration& each) { return each == usual ? 20.0 : 10.0; };
  REQUIRE(first.sit(spec).ending == tuner::Ending::Complete);
  CHECK(first.watcher.numbers.size() == 3);
  WatchedFixture second(folder);
  second.executor.id_suffix = "b";
  spec.budget.trials = 6;
  spec.document["budget"]["trials"] = 6;
  const auto result = second.sit(spec);
  CHECK(result.ending == tuner::Ending::Complete);
  CHECK(result.because == "the rest of the budget's time is for measuring the best again");
  CHECK(second.watcher.numbers.empty());
}

TEST_CASE("a larger budget goes on where the smaller one ended", "[campaign]") {
  const Folder folder;
  WatchedFixture first(folder);
  first.sit(spec_with(5));
  WatchedFixture second(folder);
  second.executor.id_suffix = "b";
  second.sit(spec_with(9));
  CHECK(second.watcher.resumed);
  CHECK(second.watcher.numbers == std::vector<std::int64_t>{5, 6, 7, 8});
}

TEST_CASE("an interrupted campaign asks what an undisturbed one asks", "[campaign]") {
  for (const std::string strategy : {"random", "local", "exhaustive"}) {
    INFO(strategy);
    const Folder undisturbed_folder;
    WatchedFixture undisturbed(undisturbed_folder);
    undisturbed.sit(spec_with(12, strategy));
    std::vector<space::Configuration> expected(undisturbed.executor.run_configurations.begin(),
                                               undisturbed.executor.run_configurations.begin() + 12);

    const Folder folder;
    std::vector<space::Configuration> seen;
    for (int session = 0; session < 20; ++session) {
      WatchedFixture campaign_fixture(folder);
      campaign_fixture.executor.id_suffix = std::to_string(session);
      // The second run of each session is killed in flight: it must come again, with the same number.
      campaign_fixture.executor.fate = [&](std::size_t count, const space::Configuration&) {
        if (count < 1 || seen.size() >= 12) return space::Outcome::Ok;
        campaign_fixture.interruption.abandon();
        return space::Outcome::Killed;
      };
      campaign_fixture.watcher.after = [&](const space::Trial& trial) { seen.push_back(trial.configuration); };
      if (campaign_fixture.sit(spec_with(12, strategy)).ending == tuner::Ending::Complete) break;
    }
    CHECK(seen == expected);
  }
}

TEST_CASE("a campaign learns what fits into memory, and knows it again when it is resumed", "[campaign]") {
  constexpr std::string_view kHungry = R"({
    "campaign": "test", "workload": {"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"},
    "objective": {"minimise": "time", "epochs": [1, 12]},
    "space": {"parameters": [
      {"name": "batch", "stage": "run", "type": "ordinal",
       "values": [16, 32, 64, 128, 256, 384, 512, 768, 1024, 1536, 2048, 4096], "default": 64},
      {"name": "threads", "stage": "run", "range": [1, 8], "default": 4},
      {"name": "precision", "stage": "run", "values": ["f32", "bf16"], "default": "f32"}]},
    "worker": {"command": ["/bin/true"]},
    "strategy": {"name": "auto", "seed": 3}, "budget": {"trials": TRIALS},
    "verify": {"pairs": 2, "finalists": 1, "simplify": false, "slices": 2, "slice_steps": 2, "accuracy_epochs": 0}
  })";
  const auto batch_of = [](const space::Configuration& configuration) {
    return std::get<std::int64_t>(*configuration.find("batch"));
  };
  // 100 MiB and 1 MiB an image: of 1 GiB, 768 images fit.
  const auto sit = [&](const Folder& folder, const std::vector<int>& sessions) {
    for (const int trials : sessions) {
      WatchedFixture campaign_fixture(folder);
      campaign_fixture.executor.memory_limit = std::int64_t{1} << 30;
      campaign_fixture.executor.peak_bytes = [&](const space::Configuration& each) {
        return (100 + batch_of(each)) << 20;
      };
      campaign_fixture.executor.step_seconds = [&](const space::Configuration& each) {
        return model(each) * (1 + 100.0 / static_cast<double>(batch_of(each)));
      };
      campaign_fixture.executor.id_suffix = std::to_string(trials);
      const auto spec = tuner::parse_campaign(replaced(std::string(kHungry), "TRIALS", std::to_string(trials)),
                                              "test.json", "/", space::Facts());
      if (!spec) FAIL(tuner::to_text(spec.error()));
      static_cast<void>(campaign_fixture.sit(*spec));
      CHECK(campaign_fixture.watcher.notes.empty());  // "the strategy proposes otherwise than when this campaign began"
    }
    auto store = db::Store::open(folder.path / "test.db", db::Mode::ReadOnly);
    std::vector<space::Trial> trials;
    const auto stored = store.list_trials();
    for (const auto& each : stored) trials.push_back(each.trial);
    return trials;
  };
  const Folder whole, halves;
  const auto trials = sit(whole, {40});
  REQUIRE(trials.size() == 40);
  std::size_t out_of_memory = 0;
  std::int64_t largest = 0;
  for (const auto& trial : trials) {
    out_of_memory += trial.outcome == space::Outcome::OutOfMemory;
    CHECK(trial.peak_bytes == std::min<std::int64_t>((100 + batch_of(trial.configuration)) << 20, 1 << 30));
    if (trial.estimate) largest = std::max(largest, batch_of(trial.configuration));
  }
  CHECK(out_of_memory <= 2);
  CHECK(largest == 768);
  const auto again = sit(halves, {15, 40});
  REQUIRE(again.size() == trials.size());
  for (std::size_t i = 0; i < trials.size(); ++i) CHECK(again[i].configuration == trials[i].configuration);
}

TEST_CASE("failures are outcomes, and the campaign goes on", "[campaign]") {
  const Folder folder;
  WatchedFixture campaign_fixture(folder);
  campaign_fixture.executor.fate = [](std::size_t count, const space::Configuration&) {
    return count % 3 == 1 ? space::Outcome::OutOfMemory : space::Outcome::Ok;
  };
  campaign_fixture.executor.can_be_built = [](const space::Configuration& configuration) {
    return *configuration.find("threads") != space::Value(std::int64_t{7});
  };
  campaign_fixture.sit(spec_with(16));
  const tuner::Answer answer = campaign_fixture.answer();
  CHECK(answer.outcomes.at(space::Outcome::BuildFailed) == 2);
  CHECK(answer.outcomes.at(space::Outcome::OutOfMemory) >= 3);
  for (const db::StoredTrial& failure : answer.failures) {
    CHECK_FALSE(failure.trial.reason.empty());
    CHECK_FALSE(failure.trial.estimate);
  }
  const auto built = std::ranges::find(answer.failures, space::Outcome::BuildFailed,
                                       [](const db::StoredTrial& stored) { return stored.trial.outcome; });
  REQUIRE(built != answer.failures.end());
  CHECK(built->trial.reason.find("-Owhat") != std::string::npos);  // the compiler's words are kept
}

TEST_CASE("a failed default leaves an answer without a gain", "[campaign]") {
  const Folder folder;
  WatchedFixture campaign_fixture(folder);
  campaign_fixture.executor.fate = [](std::size_t count, const space::Configuration&) {
    return count == 0 ? space::Outcome::Crashed : space::Outcome::Ok;
  };
  CHECK(campaign_fixture.sit(spec_with(4)).ending == tuner::Ending::Complete);
  const tuner::Answer answer = campaign_fixture.answer();
  CHECK(answer.best);
  CHECK_FALSE(answer.verdict);
  CHECK(campaign_fixture.executor.pairs == 0);
  CHECK(std::ranges::count_if(campaign_fixture.watcher.notes, [](const std::string& note) {
          return note.starts_with("the default configuration did not train");
        }) == 1);
}

TEST_CASE("a campaign of which nothing trains says so once, and early", "[campaign]") {
  const Folder folder;
  WatchedFixture campaign_fixture(folder);
  campaign_fixture.executor.fate = [](std::size_t, const space::Configuration&) { return space::Outcome::Crashed; };
  campaign_fixture.sit(spec_with(14));
  CHECK_FALSE(campaign_fixture.answer().best);
  CHECK(std::ranges::count(campaign_fixture.watcher.notes,
                           "none of the first 10 configurations has trained; look at what they share: "
                           "'nocturne show 9 --log' has the last one's output") == 1);
}

TEST_CASE("a fresh campaign measures again, another one reuses equal trials of earlier generations", "[campaign]") {
  const Folder folder;
  WatchedFixture first(folder);
  first.sit(spec_with(16));
  WatchedFixture fresh(folder);
  fresh.executor.id_suffix = "b";
  fresh.sit(spec_with(16), true);
  CHECK(fresh.watcher.reused == 0);
  CHECK(fresh.executor.run_configurations.size() >= 16);

  // Another space of the same name: a new generation, whose equal trials are known.
  auto other = tuner::parse_campaign(
      replaced(replaced(replaced(std::string(kCampaign), "TRIALS", "8"), "STRATEGY", "exhaustive"), "[1, 8]", "[1, 4]"),
      "test.json", "/", space::Facts());
  REQUIRE(other);
  WatchedFixture reusing(folder);
  reusing.executor.id_suffix = "c";
  reusing.sit(*other);
  CHECK(reusing.watcher.reused == 8);
}

TEST_CASE("a machine that changes meanwhile ends the session, and the next one begins a generation", "[campaign]") {
  const Folder folder;
  WatchedFixture campaign_fixture(folder);
  campaign_fixture.fingerprint.set({.name = "gpu.driver", .value = "1", .match = space::Match::Must, .cheap = true});
  const space::Fingerprint before = campaign_fixture.fingerprint;
  auto store = db::Store::open(folder.path / "test.db", db::Mode::ReadWrite);
  const auto spec = spec_with(6);
  space::Fingerprint now = before;
  tuner::Session session{.spec = spec,
                         .store = store,
                         .executor = campaign_fixture.executor,
                         .observer = campaign_fixture.watcher,
                         .clock = campaign_fixture.clock,
                         .interruption = campaign_fixture.interruption,
                         .fingerprint_now = [&] { return now; },
                         .fingerprint = before,
                         .slot_folder = folder.path};
  campaign_fixture.watcher.after = [&](const space::Trial& trial) {
    if (trial.number == 2) now.set({.name = "gpu.driver", .value = "2", .match = space::Match::Must, .cheap = true});
  };
  const auto result = tuner::Campaign(session, false).run();
  CHECK(result.ending == tuner::Ending::MachineChanged);

  WatchedFixture after(folder);
  after.executor.id_suffix = "b";
  after.fingerprint = now;
  after.sit(spec);
  CHECK_FALSE(after.watcher.resumed);
  CHECK(after.watcher.reused == 0);
  REQUIRE_FALSE(after.watcher.notes.empty());
  CHECK(after.watcher.notes.front().find("gpu.driver was '1' and is '2'") != std::string::npos);
  CHECK(after.answer().campaign.generation == 2);
}

}  // namespace
}  // namespace nocturne::test
