#include "tuner/campaign/preflight/preflight.hpp"

#include <functional>
#include <memory>
#include <set>

#include <catch2/catch_test_macros.hpp>

#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/campaign/fake_executor.hpp"
#include "tests/tuner/campaign/manual_clock.hpp"
#include "tuner/campaign/campaign.hpp"

namespace nocturne::test {
namespace {

using namespace std::chrono_literals;
using space::Outcome;

tuner::CampaignSpec spec_of(const std::string& parameters, const std::string& constraints = "[]") {
  const std::string text = R"({
    "campaign": "test", "workload": {"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"},
    "objective": {"minimise": "time", "epochs": [1, 12]}, "worker": {"command": ["/bin/true"]},
    "space": {"parameters": )" +
                           parameters + R"(, "constraints": )" + constraints + R"(},
    "strategy": {"name": "random", "seed": 3}, "budget": {"trials": 6},
    "verify": {"pairs": 2, "finalists": 1, "simplify": false, "slices": 2, "slice_steps": 2, "accuracy_epochs": 0}})";
  auto spec = tuner::parse_campaign(text, "test.json", "/", space::Facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return std::move(*spec);
}

const std::string kRows = R"([
  {"name": "march", "stage": "build", "values": ["x86-64", "native"], "default": "native"},
  {"name": "lto", "stage": "build", "type": "boolean"},
  {"name": "batch", "stage": "run", "type": "ordinal", "values": [64, 128, 256], "default": 128},
  {"name": "precision", "stage": "run", "values": ["f32", "bf16"], "default": "f32"}])";

std::int64_t batch_in(const space::Configuration& configuration) {
  return std::get<std::int64_t>(*configuration.find("batch"));
}

std::string text_in(const space::Configuration& configuration, const char* name) {
  return space::to_text(*configuration.find(name));
}

struct Watcher final : tuner::Observer {
  std::vector<std::string> notes;
  std::vector<db::PreflightRecord> preflight_stacks;
  std::vector<std::int64_t> trials;
  std::vector<Outcome> outcomes;
  std::function<void(std::int64_t)> after;
  void preflighted(std::int64_t, std::int64_t, const db::PreflightRecord& record) override {
    preflight_stacks.push_back(record);
  }
  void finished(const space::Trial& trial, bool, const tuner::Progress&) override {
    trials.push_back(trial.number);
    outcomes.push_back(trial.outcome);
    if (after) after(trial.number);
  }
  void note(const std::string& sentence) override { notes.push_back(sentence); }
};

/// Sessions in one folder.
struct Stage {
  tuner::SessionResult sit(const tuner::CampaignSpec& spec, tuner::PreflightMode preflight,
                           std::optional<std::chrono::nanoseconds> limit = {}) {
    auto store = db::Store::open(folder.path() / "test.db", db::Mode::ReadWrite);
    tuner::Session session{.spec = spec,
                           .store = store,
                           .executor = executor,
                           .observer = watcher,
                           .clock = clock,
                           .interruption = *interruption,
                           .fingerprint_now = {},
                           .slot_folder = folder.path(),
                           .preflight = preflight,
                           .preflight_limit = limit};
    auto result = tuner::Campaign(session, false).run();
    executor.id_suffix += "+";
    return result;
  }

  std::vector<db::PreflightRecord> stored() const {
    auto store = db::Store::open(folder.path() / "test.db", db::Mode::ReadOnly);
    return store.preflights(store.find_campaign("test").value().id);
  }

  test::TemporaryFolder folder;
  FakeExecutor executor;
  Watcher watcher;
  ManualClock clock;
  std::unique_ptr<tuner::Interruption> interruption = std::make_unique<tuner::Interruption>();
};

TEST_CASE("software stacks are the sets of environment and build values, the default's first, their batches falling",
          "[preflight]") {
  const auto spec = spec_of(kRows);
  const auto stacks = tuner::preflight_stacks(spec.space);
  CHECK(stacks.left_out.empty());
  REQUIRE(stacks.stacks.size() == 4);
  CHECK(text_in(stacks.stacks[0].values, "march") == "native");
  CHECK(text_in(stacks.stacks[0].values, "lto") == "false");
  // The second has both values that the first lacks.
  CHECK(text_in(stacks.stacks[1].values, "march") == "x86-64");
  CHECK(text_in(stacks.stacks[1].values, "lto") == "true");
  for (const auto& stack : stacks.stacks) {
    CHECK(stack.values.values().size() == 2);
    REQUIRE(stack.ladder.size() == 3);
    CHECK(batch_in(stack.ladder[0]) == 256);
    CHECK(batch_in(stack.ladder[2]) == 64);
    for (const auto& configuration : stack.ladder) {
      CHECK(spec.space.contains(configuration));
      CHECK(text_in(configuration, "precision") == "f32");
      CHECK(text_in(configuration, "march") == text_in(stack.values, "march"));
    }
  }
}

TEST_CASE("a space without environment and build parameters has one software stack", "[preflight]") {
  const auto stacks =
      tuner::preflight_stacks(spec_of(R"([{"name": "threads", "stage": "run", "range": [1, 8]}])").space);
  REQUIRE(stacks.stacks.size() == 1);
  CHECK(stacks.stacks[0].values.empty());
  CHECK(stacks.stacks[0].ladder.size() == 1);  // no batch
}

TEST_CASE("software stacks that no configuration has are none, those that need other run parameters are found",
          "[preflight]") {
  const auto spec = spec_of(kRows, R"json([
    {"require": "not (lto and march == 'x86-64')", "because": "it does not link"},
    {"require": "march == 'native' or precision == 'bf16'", "because": "of the test"},
    {"require": "batch < 256 or lto", "because": "of the test"}])json");
  const auto stacks = tuner::preflight_stacks(spec.space);
  REQUIRE(stacks.stacks.size() == 3);
  for (const auto& stack : stacks.stacks) {
    const bool lto = text_in(stack.values, "lto") == "true";
    CHECK(batch_in(stack.ladder.front()) == (lto ? 256 : 128));
    CHECK_FALSE((lto && text_in(stack.values, "march") == "x86-64"));
    for (const auto& configuration : stack.ladder) CHECK(spec.space.contains(configuration));
  }
}

TEST_CASE("inactive build parameters make no software stacks of their own", "[preflight]") {
  const auto spec = spec_of(R"([
    {"name": "framework", "stage": "environment", "values": ["onednn", "mxnet"], "default": "onednn"},
    {"name": "march", "stage": "build", "values": ["a", "b", "c"], "active_if": "framework == 'onednn'"},
    {"name": "batch", "stage": "run", "range": [1, 64], "default": 8}])");
  const auto stacks = tuner::preflight_stacks(spec.space);
  CHECK(stacks.stacks.size() == 4);
  std::vector<std::int64_t> batches;  // a long range is gone down in halves
  for (const auto& configuration : stacks.stacks[0].ladder) batches.push_back(batch_in(configuration));
  CHECK(batches == std::vector<std::int64_t>{64, 32, 16, 8, 4, 2, 1});
}

TEST_CASE("of too many software stacks some are chosen in which each value occurs", "[preflight]") {
  std::string parameters = "[";
  for (int i = 0; i < 20; ++i) {
    parameters +=
        R"({"name": "flag)" + std::to_string(i) + R"(", "stage": "build", "values": ["a", "b", "c", "d", "e"]},)";
  }
  parameters += R"({"name": "batch", "stage": "run", "values": [64, 128], "type": "ordinal"}])";
  const auto spec = spec_of(parameters);  // 5²⁰ software stacks
  const auto stacks = tuner::preflight_stacks(spec.space);
  CHECK(stacks.stacks.size() >= 5);
  CHECK(stacks.stacks.size() <= 64);
  CHECK(stacks.left_out.starts_with("of more than 4096 software stacks"));
  CHECK(stacks.left_out.ends_with("in which each value of each parameter occurs"));
  std::set<std::pair<std::string, std::string>> seen;
  for (const auto& stack : stacks.stacks)
    for (const auto& [name, value] : stack.values.values()) seen.emplace(name, space::to_text(value));
  CHECK(seen.size() == 100);

  const auto few = tuner::preflight_stacks(spec_of(kRows).space, 3);  // four are known, three allowed: two cover all
  CHECK(few.stacks.size() == 2);
  CHECK(few.left_out.starts_with("of 4 software stacks"));
  const auto one = tuner::preflight_stacks(spec_of(kRows).space, 1);
  CHECK(one.stacks.size() == 1);
  CHECK(one.left_out.ends_with("which leaves values out"));
}

TEST_CASE("a preflight trains every software stack three steps, the largest batch first, and keeps what came out",
          "[preflight]") {
  Stage stage;
  stage.executor.can_be_built = [](const space::Configuration& configuration) {
    return text_in(configuration, "march") == "native";
  };
  stage.executor.fate = [](std::size_t, const space::Configuration& configuration) {
    return batch_in(configuration) > 64 && text_in(configuration, "lto") == "true" ? Outcome::OutOfMemory : Outcome::Ok;
  };
  const auto result = stage.sit(spec_of(kRows), tuner::PreflightMode::Only);
  CHECK(result.ending == tuner::Ending::PreflightOnly);
  REQUIRE(result.preflight);
  CHECK(result.preflight->stacks == 4);
  CHECK(result.preflight->failed_stacks == 2);
  CHECK(result.preflight->default_goes);
  CHECK(result.because == "The preflight: 2 of 4 software stacks passed, 2 failed");
  CHECK(stage.watcher.trials.empty());
  CHECK(stage.executor.run_configurations.size() == 1 + 3);
  for (const auto& record : stage.stored()) {
    CAPTURE(record.stack.canonical());
    if (text_in(record.stack, "march") == "x86-64") {
      CHECK(record.outcome == Outcome::BuildFailed);
      CHECK(record.reason == "no such flag");
      CHECK(record.log_tail == "error: -Owhat");
    } else if (text_in(record.stack, "lto") == "true") {
      CHECK(record.outcome == Outcome::Ok);
      CHECK(record.too_large == std::vector<std::int64_t>{256, 128});
      CHECK(batch_in(record.configuration) == 64);
    } else {
      CHECK(record.outcome == Outcome::Ok);
      CHECK(record.too_large.empty());
      CHECK(batch_in(record.configuration) == 256);
    }
  }
}

TEST_CASE("after two batches that are out of memory a preflight tries the smallest alone", "[preflight]") {
  Stage stage;
  stage.executor.fate = [](std::size_t, const space::Configuration& configuration) {
    return batch_in(configuration) > 8 ? Outcome::OutOfMemory : Outcome::Ok;
  };
  const auto spec = spec_of(R"([{"name": "batch", "stage": "run", "range": [1, 64], "default": 8}])");
  const auto result = stage.sit(spec, tuner::PreflightMode::Only);
  CHECK(result.because == "The preflight: 1 of 1 software stack passed");
  const auto records = stage.stored();
  REQUIRE(records.size() == 1);
  CHECK(records[0].outcome == Outcome::Ok);
  CHECK(records[0].too_large == std::vector<std::int64_t>{64, 32});
  CHECK(batch_in(records[0].configuration) == 1);
  CHECK(stage.executor.run_configurations.size() == 3);
}

TEST_CASE("a campaign goes on after its preflight, and does not repeat it when it is resumed", "[preflight]") {
  Stage stage;
  stage.executor.can_be_built = [](const space::Configuration& configuration) {
    return text_in(configuration, "march") == "native";
  };
  stage.watcher.after = [&](std::int64_t number) {
    if (number == 3) stage.interruption->finish();
  };
  const auto first = stage.sit(spec_of(kRows), tuner::PreflightMode::First);
  CHECK(first.ending == tuner::Ending::Interrupted);
  REQUIRE(stage.watcher.preflight_stacks.size() == 4);
  REQUIRE(stage.watcher.notes.size() == 1);
  CHECK(stage.watcher.notes[0] == "The preflight: 2 of 4 software stacks passed, 2 failed");
  // The default first, then what does not go, as trials that failed; nothing of it was run.
  REQUIRE(stage.watcher.trials == std::vector<std::int64_t>{0, 1, 2, 3});
  CHECK(stage.watcher.outcomes[0] == Outcome::Ok);
  CHECK(stage.watcher.outcomes[1] == Outcome::BuildFailed);
  CHECK(stage.watcher.outcomes[2] == Outcome::BuildFailed);

  stage.watcher = {};
  stage.interruption = std::make_unique<tuner::Interruption>();
  const auto second = stage.sit(spec_of(kRows), tuner::PreflightMode::First);
  CHECK(second.ending == tuner::Ending::Complete);
  CHECK_FALSE(second.preflight);
  CHECK(stage.watcher.preflight_stacks.empty());
  CHECK(stage.watcher.trials == std::vector<std::int64_t>{4, 5});
}

TEST_CASE("a preflight cut short is finished by the next session, what passed is not repeated", "[preflight]") {
  Stage stage;
  stage.executor.fate = [&](std::size_t count, const space::Configuration&) {
    if (count != 2) return Outcome::Ok;
    stage.interruption->abandon();
    return Outcome::Killed;
  };
  CHECK(stage.sit(spec_of(kRows), tuner::PreflightMode::First).ending == tuner::Ending::Interrupted);
  CHECK(stage.stored().size() == 2);
  CHECK(stage.watcher.trials.empty());
  stage.interruption = std::make_unique<tuner::Interruption>();
  stage.watcher = {};
  const auto result = stage.sit(spec_of(kRows), tuner::PreflightMode::First);
  CHECK(result.ending == tuner::Ending::Complete);
  CHECK(stage.watcher.preflight_stacks.size() == 2);
  CHECK(result.preflight.value().stacks == 4);
}

TEST_CASE("tried in the preflight again, only what did not go is tried, and a finished campaign stays finished",
          "[preflight]") {
  Stage stage;
  stage.sit(spec_of(kRows), tuner::PreflightMode::No);
  stage.executor.can_be_built = [](const space::Configuration& configuration) {
    return text_in(configuration, "lto") == "false";
  };
  CHECK(stage.sit(spec_of(kRows), tuner::PreflightMode::Only).preflight.value().failed_stacks == 2);
  stage.executor.can_be_built = [](const space::Configuration&) { return true; };
  stage.watcher = {};
  const auto fixed = stage.sit(spec_of(kRows), tuner::PreflightMode::Only);
  CHECK(fixed.preflight.value().failed_stacks == 0);
  CHECK(fixed.because == "The preflight: 4 of 4 software stacks passed");
  CHECK(stage.watcher.preflight_stacks.size() == 2);
  CHECK(stage.sit(spec_of(kRows), tuner::PreflightMode::First).ending == tuner::Ending::AlreadyDone);
}

TEST_CASE("a preflight keeps to its time, and says what it did not try", "[preflight]") {
  Stage stage;
  stage.executor.fate = [&](std::size_t, const space::Configuration&) {
    stage.clock.pass(40s);
    return Outcome::Ok;
  };
  const auto result = stage.sit(spec_of(kRows), tuner::PreflightMode::Only, 60s);
  CHECK(result.preflight.value().stacks == 2);
  CHECK(result.preflight->not_tried == 2);
  CHECK(result.because == "The preflight: 2 of 2 software stacks passed; 2 were not tried for want of time");
}

TEST_CASE("a default that will not go is said before the night", "[preflight]") {
  Stage stage;
  stage.executor.fate = [](std::size_t count, const space::Configuration&) {
    return count == 0 ? Outcome::Crashed : Outcome::Ok;
  };
  const auto result = stage.sit(spec_of(kRows), tuner::PreflightMode::Only);
  CHECK_FALSE(result.preflight.value().default_goes);
  CHECK(result.because ==
        "The preflight: 3 of 4 software stacks passed, 1 failed; the default's own software stack failed, so that "
        "there will be nothing to compare with");
}

}  // namespace
}  // namespace nocturne::test
