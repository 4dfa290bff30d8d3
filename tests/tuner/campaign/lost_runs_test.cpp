// Runs that end by no fault of their configuration: killed from outside, or for want of room.

#include <csignal>

#include <filesystem>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/tuner/campaign/sitter.hpp"
#include "tuner/campaign/trial_runner.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

namespace nocturne::tests {
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
  REQUIRE(store);
  return store->list_trials({}).value();
}

}  // namespace

TEST_CASE("a run that another hand killed is run again, whoever of worker and supervisor it was", "[campaign]") {
  for (const Outcome outcome : {Outcome::Killed, Outcome::Crashed}) {
    const CampaignFolder folder;
    CampaignSitter sitter(folder);
    sitter.executor.signal = SIGKILL;
    sitter.executor.fate = [&](std::size_t count, const space::Configuration&) {
      return count == 2 || count == 3 ? outcome : Outcome::Ok;
    };
    CHECK(sitter.sit(six_trials()).ending == tuner::Ending::Complete);
    CHECK(sitter.watcher.numbers == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5});
    REQUIRE(sitter.executor.run_configurations.size() == 8);
    CHECK(sitter.executor.run_configurations[2] == sitter.executor.run_configurations[4]);
    const auto trials = trials_in(folder);
    CHECK(trials[2].trial.outcome == Outcome::Ok);
    CHECK(trials[2].trial.estimate.value().runs == 1);
    auto store = db::Store::open(folder.path / "test.db", db::Mode::ReadOnly);
    const auto runs = store->load_trial(trials[2].id).value().runs;
    REQUIRE(runs.size() >= 3);
    CHECK(runs[0].record.run.outcome == Outcome::Killed);
    REQUIRE(sitter.watcher.notes.size() >= 2);
    CHECK_THAT(sitter.watcher.notes[0], ContainsSubstring("killed from outside (the test wanted it): it runs again"));
  }
}

TEST_CASE("what is killed each time has crashed, and what crashed of itself is not tried again", "[campaign]") {
  const CampaignFolder folder;
  CampaignSitter sitter(folder);
  sitter.executor.fate = [&](std::size_t count, const space::Configuration&) {
    if (count >= 1 && count <= 3) return Outcome::Killed;
    return count == 4 ? Outcome::Crashed : Outcome::Ok;
  };
  sitter.executor.signal = SIGSEGV;
  CHECK(sitter.sit(six_trials()).ending == tuner::Ending::Complete);
  const auto trials = trials_in(folder);
  CHECK(trials[1].trial.outcome == Outcome::Crashed);
  CHECK(trials[1].trial.reason == "killed 3 times: the test wanted it");
  CHECK(trials[2].trial.outcome == Outcome::Crashed);
  CHECK(trials[2].trial.reason == "the test wanted it");
  CHECK(sitter.executor.run_configurations.size() == 8);
}

TEST_CASE("a run that a trial has finished is kept when the next one of it is cut short", "[campaign]") {
  const CampaignFolder folder;
  auto spec = six_trials();
  spec.run.repeats = 3;
  {
    CampaignSitter sitter(folder);
    sitter.executor.fate = [&](std::size_t count, const space::Configuration&) {
      if (count < 2) return Outcome::Ok;
      sitter.interruption.abandon();
      return Outcome::Killed;
    };
    CHECK(sitter.sit(spec).ending == tuner::Ending::Interrupted);
    CHECK(sitter.watcher.numbers.empty());
  }
  CampaignSitter sitter(folder);
  sitter.executor.id_suffix = "b";
  CHECK(sitter.sit(spec).ending == tuner::Ending::Complete);
  REQUIRE_FALSE(sitter.executor.run_plans.empty());
  CHECK(sitter.executor.run_plans.front().request.seed == spec.run.seed + 2);
  const auto first = trials_in(folder).front();
  CHECK(first.trial.estimate.value().runs == 3);
  const auto runs = sitter.reading().load_trial(first.id).value().runs;
  std::vector<std::int64_t> seeds;
  for (const auto& each : runs) {
    if (each.record.run.outcome == Outcome::Ok && each.record.run.purpose == space::Purpose::Search) {
      seeds.push_back(each.record.run.seed);
    }
  }
  const auto seed = static_cast<std::int64_t>(spec.run.seed);
  CHECK(seeds == std::vector<std::int64_t>{seed, seed + 1, seed + 2});
}

TEST_CASE("a run that a trial has finished counts only for the same program on the same machine", "[campaign]") {
  for (const bool other_program : {true, false}) {
    const CampaignFolder folder;
    auto spec = six_trials();
    spec.run.repeats = 2;
    {
      CampaignSitter sitter(folder);
      sitter.executor.fate = [&](std::size_t count, const space::Configuration&) {
        if (count < 1) return Outcome::Ok;
        sitter.interruption.abandon();
        return Outcome::Killed;
      };
      CHECK(sitter.sit(spec).ending == tuner::Ending::Interrupted);
    }
    CampaignSitter sitter(folder);
    sitter.executor.id_suffix = "b";
    if (other_program) sitter.executor.worker = "another worker";
    CHECK(sitter.sit(spec).ending == tuner::Ending::Complete);
    REQUIRE_FALSE(sitter.executor.run_plans.empty());
    CHECK(sitter.executor.run_plans.front().request.seed == spec.run.seed + (other_program ? 0 : 1));
  }
}

TEST_CASE("where the images are gone the sitting ends with a sentence, and no trial is blamed for it", "[campaign]") {
  const CampaignFolder folder;
  const std::filesystem::path images = folder.path / "images";
  std::filesystem::create_directories(images / "disc");
  tuner::CampaignSpec spec = six_trials();
  spec.workload.data = "folder";
  spec.workload.data_folder = images.string();
  CampaignSitter sitter(folder);
  sitter.executor.fate = [&](std::size_t count, const space::Configuration&) {
    if (count == 1) return Outcome::Failed;  // of itself: the images are there
    if (count != 2) return Outcome::Ok;
    std::filesystem::remove_all(images);
    return Outcome::Failed;
  };
  const auto said = sitter.with_sitting(spec, [](tuner::Sitting& sitting) -> db::Expected<std::string> {
    const auto result = tuner::Campaign(sitting, false).run();
    return result ? std::string() : result.error().message;
  });
  CHECK_THAT(said, ContainsSubstring(images.string() + " cannot be read") && ContainsSubstring("Bring it back"));
  CHECK(sitter.watcher.numbers == std::vector<std::int64_t>{0, 1});
  std::filesystem::create_directories(images);
  CHECK_THAT(tuner::images_gone(spec.workload).value().message, ContainsSubstring("is empty"));

  std::filesystem::create_directories(images / "disc");
  CHECK(sitter.sit(spec).ending == tuner::Ending::Complete);
  CHECK(sitter.watcher.numbers == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5});
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

TEST_CASE("a disk that is full when the best is prepared again ends the sitting, not the campaign", "[campaign]") {
  for (const bool gate : {true, false}) {  // without it the pairs are the first to ask
    const CampaignFolder folder;
    auto spec = six_trials();
    spec.verify.gate.on = gate;
    CampaignSitter sitter(folder);
    sitter.executor.step_seconds = [standard = spec.space.default_configuration()](const auto& each) {
      return each == standard ? 0.1 : 0.05;
    };
    bool searched = false;
    sitter.watcher.after = [&](const space::Trial& trial) { searched = trial.number == 5; };
    sitter.executor.failure_reason = "as: No space left on device";
    sitter.executor.can_be_built = [&](const space::Configuration&) { return !searched; };
    const auto failed = sitter.with_sitting(spec, [](tuner::Sitting& sitting) -> db::Expected<bool> {
      const auto result = tuner::Campaign(sitting, false).run();
      return !result && result.error().code == db::ErrorCode::Full;
    });
    CHECK(failed);
    const db::Store store = sitter.reading();
    CHECK_FALSE(store.find_campaign("test").value().finished_unix_ns);
    searched = false;
    sitter.watcher.after = {};
    CHECK(sitter.sit(spec).ending == tuner::Ending::Complete);
    CHECK(sitter.answer().verdict);
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
    CHECK_THAT(error->message, ContainsSubstring("Make room"));
  }
}

}  // namespace nocturne::tests
