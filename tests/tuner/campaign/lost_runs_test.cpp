// Runs that end by no fault of their configuration: killed from outside, or for want of room.

#include <csignal>

#include <filesystem>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/tuner/campaign/campaign_fixture.hpp"
#include "tuner/campaign/trial_runner.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

namespace nocturne::test {
namespace {

using Catch::Matchers::ContainsSubstring;
using space::Outcome;

tuner::CampaignSpec six_trials() {
  auto spec = tuner::parse_campaign(R"({
    "campaign": "test", "workload": {"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"},
    "objective": {"minimise": "time", "epochs": [1, 12]}, "worker": {"command": ["/bin/true"]},
    "space": {"parameters": [{"name": "threads", "stage": "run", "range": [1, 8], "default": 4}]},
    "strategy": {"name": "random", "seed": 3}, "budget": {"trials": 6},
    "verify": {"pairs": 2, "finalists": 1, "simplify": false, "slices": 2, "slice_steps": 2, "accuracy_epochs": 0}})",
                                    "test.json", "/", space::Facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return std::move(*spec);
}

std::vector<db::StoredTrial> trials_in(const CampaignFolder& folder) {
  auto store = db::Store::open(folder.path / "test.db", db::Mode::ReadOnly);
  return store.list_trials({});
}

}  // namespace

TEST_CASE("a run that another hand killed is run again, whoever of worker and supervisor it was", "[campaign]") {
  for (const Outcome outcome : {Outcome::Killed, Outcome::Crashed}) {
    const CampaignFolder folder;
    CampaignFixture campaign_fixture(folder);
    campaign_fixture.executor.signal = SIGKILL;
    campaign_fixture.executor.fate = [&](std::size_t count, const space::Configuration&) {
      return count == 2 || count == 3 ? outcome : Outcome::Ok;
    };
    CHECK(campaign_fixture.sit(six_trials()).ending == tuner::Ending::Complete);
    CHECK(campaign_fixture.watcher.numbers == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5});
    REQUIRE(campaign_fixture.executor.run_configurations.size() == 8);
    CHECK(campaign_fixture.executor.run_configurations[2] == campaign_fixture.executor.run_configurations[4]);
    const auto trials = trials_in(folder);
    CHECK(trials[2].trial.outcome == Outcome::Ok);
    CHECK(trials[2].trial.estimate.value().runs == 1);
    auto store = db::Store::open(folder.path / "test.db", db::Mode::ReadOnly);
    const auto runs = store.load_trial(trials[2].id).runs;
    REQUIRE(runs.size() >= 3);
    CHECK(runs[0].record.run.outcome == Outcome::Killed);
    REQUIRE(campaign_fixture.watcher.notes.size() >= 2);
    CHECK_THAT(campaign_fixture.watcher.notes[0],
               ContainsSubstring("killed from outside (the test wanted it): it runs again"));
  }
}

TEST_CASE("what is killed each time has crashed, and what crashed of itself is not tried again", "[campaign]") {
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  campaign_fixture.executor.fate = [&](std::size_t count, const space::Configuration&) {
    if (count >= 1 && count <= 3) return Outcome::Killed;
    return count == 4 ? Outcome::Crashed : Outcome::Ok;
  };
  campaign_fixture.executor.signal = SIGSEGV;
  CHECK(campaign_fixture.sit(six_trials()).ending == tuner::Ending::Complete);
  const auto trials = trials_in(folder);
  CHECK(trials[1].trial.outcome == Outcome::Crashed);
  CHECK(trials[1].trial.reason == "killed 3 times: the test wanted it");
  CHECK(trials[2].trial.outcome == Outcome::Crashed);
  CHECK(trials[2].trial.reason == "the test wanted it");
  CHECK(campaign_fixture.executor.run_configurations.size() == 8);
}

TEST_CASE("a run that a trial has finished is kept when the next one of it is cut short", "[campaign]") {
  const CampaignFolder folder;
  auto spec = six_trials();
  spec.run.repeats = 3;
  {
    CampaignFixture campaign_fixture(folder);
    campaign_fixture.executor.fate = [&](std::size_t count, const space::Configuration&) {
      if (count < 2) return Outcome::Ok;
      campaign_fixture.interruption.abandon();
      return Outcome::Killed;
    };
    CHECK(campaign_fixture.sit(spec).ending == tuner::Ending::Interrupted);
    CHECK(campaign_fixture.watcher.numbers.empty());
  }
  CampaignFixture campaign_fixture(folder);
  campaign_fixture.executor.id_suffix = "b";
  CHECK(campaign_fixture.sit(spec).ending == tuner::Ending::Complete);
  REQUIRE_FALSE(campaign_fixture.executor.run_plans.empty());
  CHECK(campaign_fixture.executor.run_plans.front().request.seed == spec.run.seed + 2);
  const auto first = trials_in(folder).front();
  CHECK(first.trial.estimate.value().runs == 3);
  const auto runs = campaign_fixture.reading().load_trial(first.id).runs;
  std::vector<std::int64_t> seeds;
  for (const auto& each : runs)
    if (each.record.run.outcome == Outcome::Ok && each.record.run.purpose == space::Purpose::Search)
      seeds.push_back(each.record.run.seed);
  const auto seed = static_cast<std::int64_t>(spec.run.seed);
  CHECK(seeds == std::vector<std::int64_t>{seed, seed + 1, seed + 2});
}

TEST_CASE("a run that a trial has finished counts only for the same program on the same machine", "[campaign]") {
  for (const bool other_program : {true, false}) {
    const CampaignFolder folder;
    auto spec = six_trials();
    spec.run.repeats = 2;
    {
      CampaignFixture campaign_fixture(folder);
      campaign_fixture.executor.fate = [&](std::size_t count, const space::Configuration&) {
        if (count < 1) return Outcome::Ok;
        campaign_fixture.interruption.abandon();
        return Outcome::Killed;
      };
      CHECK(campaign_fixture.sit(spec).ending == tuner::Ending::Interrupted);
    }
    CampaignFixture campaign_fixture(folder);
    campaign_fixture.executor.id_suffix = "b";
    if (other_program) campaign_fixture.executor.worker = "another worker";
    CHECK(campaign_fixture.sit(spec).ending == tuner::Ending::Complete);
    REQUIRE_FALSE(campaign_fixture.executor.run_plans.empty());
    CHECK(campaign_fixture.executor.run_plans.front().request.seed == spec.run.seed + (other_program ? 0 : 1));
  }
}

TEST_CASE("where the images are gone the session ends with a sentence, and no trial is blamed for it", "[campaign]") {
  const CampaignFolder folder;
  const std::filesystem::path images = folder.path / "images";
  std::filesystem::create_directories(images / "disc");
  tuner::CampaignSpec spec = six_trials();
  spec.workload.data = "folder";
  spec.workload.data_folder = images.string();
  CampaignFixture campaign_fixture(folder);
  campaign_fixture.executor.fate = [&](std::size_t count, const space::Configuration&) {
    if (count == 1) return Outcome::Failed;  // of itself: the images are there
    if (count != 2) return Outcome::Ok;
    std::filesystem::remove_all(images);
    return Outcome::Failed;
  };
  const auto said = campaign_fixture.with_session(spec, [](tuner::Session& session) -> std::string {
    try {
      static_cast<void>(tuner::Campaign(session, false).run());
    } catch (const db::Error& error) {
      return error.what();
    }
    return {};
  });
  CHECK_THAT(said, ContainsSubstring(images.string() + " cannot be read") && ContainsSubstring("Bring it back"));
  CHECK(campaign_fixture.watcher.numbers == std::vector<std::int64_t>{0, 1});
  std::filesystem::create_directories(images);
  CHECK_THAT(tuner::images_gone(spec.workload).value().what(), ContainsSubstring("is empty"));

  std::filesystem::create_directories(images / "disc");
  CHECK(campaign_fixture.sit(spec).ending == tuner::Ending::Complete);
  CHECK(campaign_fixture.watcher.numbers == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5});
  const auto trials = trials_in(folder);
  REQUIRE(trials.size() == 6);
  CHECK(trials[1].trial.outcome == Outcome::Failed);
  CHECK(trials[2].trial.outcome == Outcome::Ok);
}

TEST_CASE("what cannot be prepared has a key, whatever bytes its reason holds", "[campaign]") {
  const auto spec = six_trials();
  const auto key = [&](const std::string& worker) {
    return tuner::trial_key(spec, spec.space.default_configuration(), {}, worker, "machine");
  };
  CHECK_FALSE(key("unprepared error: \xff").empty());
  CHECK(key("unprepared error: \xff") != key("unprepared other: \xff"));
}

TEST_CASE("trials on other images are other trials", "[campaign]") {
  const auto spec = six_trials();
  const auto key = [&](const std::string& images) {
    return tuner::trial_key(spec, spec.space.default_configuration(), {}, "worker", "machine", images);
  };
  CHECK(key("some") == key("some"));
  CHECK(key("some") != key("others"));
  CHECK(key("") != key("some"));
}

TEST_CASE("a disk that is full when the best is prepared again ends the session, not the campaign", "[campaign]") {
  for (const bool gate : {true, false}) {  // without it the pairs are the first to ask
    const CampaignFolder folder;
    auto spec = six_trials();
    spec.verify.gate.on = gate;
    CampaignFixture campaign_fixture(folder);
    campaign_fixture.executor.step_seconds = [standard = spec.space.default_configuration()](const auto& each) {
      return each == standard ? 0.1 : 0.05;
    };
    bool searched = false;
    campaign_fixture.watcher.after = [&](const space::Trial& trial) { searched = trial.number == 5; };
    campaign_fixture.executor.failure_reason = "as: No space left on device";
    campaign_fixture.executor.can_be_built = [&](const space::Configuration&) { return !searched; };
    const auto error = campaign_fixture.with_session(spec, [](tuner::Session& session) -> std::optional<db::ErrorCode> {
      try {
        static_cast<void>(tuner::Campaign(session, false).run());
      } catch (const db::Error& thrown) {
        return thrown.code;
      }
      return std::nullopt;
    });
    CHECK(error == db::ErrorCode::Full);
    const db::Store store = campaign_fixture.reading();
    CHECK_FALSE(store.find_campaign("test").value().finished_unix_ns);
    searched = false;
    campaign_fixture.watcher.after = {};
    CHECK(campaign_fixture.sit(spec).ending == tuner::Ending::Complete);
    CHECK(campaign_fixture.answer().verdict);
  }
}

TEST_CASE("a build that finds no room is no failed build", "[campaign]") {
  CHECK_FALSE(tuner::no_room_for({Outcome::BuildFailed, "no such flag", "error: -Owhat"}));
  for (const auto& failure : {tuner::PreparationFailure{Outcome::BuildFailed, "as: No space left on device", ""},
                              tuner::PreparationFailure{Outcome::BuildFailed, "", "ld: No space left on device"},
                              tuner::PreparationFailure{Outcome::BuildFailed, "the disk is full", "", true}}) {
    const auto error = tuner::no_room_for(failure);
    REQUIRE(error);
    CHECK(error->code == db::ErrorCode::Full);
    CHECK_THAT(error->what(), ContainsSubstring("Make room"));
  }
}

}  // namespace nocturne::test
