#include "tuner/campaign/rehearsal/rehearsal.hpp"

#include <functional>
#include <memory>
#include <set>

#include <catch2/catch_test_macros.hpp>

#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/campaign/fake_executor.hpp"
#include "tests/tuner/campaign/manual_clock.hpp"
#include "tuner/campaign/campaign.hpp"

namespace nocturne::tests {
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
  std::vector<db::RehearsalRecord> rehearsed_rows;
  std::vector<std::int64_t> trials;
  std::vector<Outcome> outcomes;
  std::function<void(std::int64_t)> after;
  void rehearsed(std::int64_t, std::int64_t, const db::RehearsalRecord& record) override {
    rehearsed_rows.push_back(record);
  }
  void finished(const space::Trial& trial, bool, const tuner::Standing&) override {
    trials.push_back(trial.number);
    outcomes.push_back(trial.outcome);
    if (after) after(trial.number);
  }
  void note(const std::string& sentence) override { notes.push_back(sentence); }
};

/// Sittings in one folder.
struct Stage {
  tuner::SittingResult sit(const tuner::CampaignSpec& spec, tuner::Rehearse rehearse,
                           std::optional<std::chrono::nanoseconds> limit = {}) {
    auto store = db::Store::open(folder.path() / "test.db", db::Mode::ReadWrite);
    REQUIRE(store);
    tuner::Sitting sitting{.spec = spec,
                           .store = *store,
                           .executor = executor,
                           .observer = watcher,
                           .clock = clock,
                           .interruption = *interruption,
                           .fingerprint_now = {},
                           .slot_folder = folder.path(),
                           .rehearse = rehearse,
                           .rehearsal_limit = limit};
    auto result = tuner::Campaign(sitting, false).run();
    if (!result) FAIL(result.error().message);
    executor.id_suffix += "+";
    return *result;
  }

  std::vector<db::RehearsalRecord> stored() const {
    auto store = db::Store::open(folder.path() / "test.db", db::Mode::ReadOnly);
    REQUIRE(store);
    return store->rehearsals(store->find_campaign("test").value().id).value();
  }

  test::TemporaryFolder folder;
  FakeExecutor executor;
  Watcher watcher;
  ManualClock clock;
  std::unique_ptr<tuner::Interruption> interruption = std::make_unique<tuner::Interruption>();
};

TEST_CASE("rows are the sets of environment and build values, the default's first, their batches falling",
          "[rehearsal]") {
  const auto spec = spec_of(kRows);
  const auto rows = tuner::rehearsal_rows(spec.space);
  CHECK(rows.left_out.empty());
  REQUIRE(rows.rows.size() == 4);
  CHECK(text_in(rows.rows[0].values, "march") == "native");
  CHECK(text_in(rows.rows[0].values, "lto") == "false");
  // The second has both values that the first lacks.
  CHECK(text_in(rows.rows[1].values, "march") == "x86-64");
  CHECK(text_in(rows.rows[1].values, "lto") == "true");
  for (const auto& row : rows.rows) {
    CHECK(row.values.values().size() == 2);
    REQUIRE(row.ladder.size() == 3);
    CHECK(batch_in(row.ladder[0]) == 256);
    CHECK(batch_in(row.ladder[2]) == 64);
    for (const auto& configuration : row.ladder) {
      CHECK(spec.space.contains(configuration));
      CHECK(text_in(configuration, "precision") == "f32");
      CHECK(text_in(configuration, "march") == text_in(row.values, "march"));
    }
  }
}

TEST_CASE("a space without environment and build parameters has one row", "[rehearsal]") {
  const auto rows = tuner::rehearsal_rows(spec_of(R"([{"name": "threads", "stage": "run", "range": [1, 8]}])").space);
  REQUIRE(rows.rows.size() == 1);
  CHECK(rows.rows[0].values.empty());
  CHECK(rows.rows[0].ladder.size() == 1);  // no batch
}

TEST_CASE("rows that no configuration has are none, those that need other run parameters are found", "[rehearsal]") {
  const auto spec = spec_of(kRows, R"json([
    {"require": "not (lto and march == 'x86-64')", "because": "it does not link"},
    {"require": "march == 'native' or precision == 'bf16'", "because": "of the test"},
    {"require": "batch < 256 or lto", "because": "of the test"}])json");
  const auto rows = tuner::rehearsal_rows(spec.space);
  REQUIRE(rows.rows.size() == 3);
  for (const auto& row : rows.rows) {
    const bool lto = text_in(row.values, "lto") == "true";
    CHECK(batch_in(row.ladder.front()) == (lto ? 256 : 128));
    CHECK_FALSE((lto && text_in(row.values, "march") == "x86-64"));
    for (const auto& configuration : row.ladder) CHECK(spec.space.contains(configuration));
  }
}

TEST_CASE("inactive build parameters make no rows of their own", "[rehearsal]") {
  const auto spec = spec_of(R"([
    {"name": "framework", "stage": "environment", "values": ["onednn", "mxnet"], "default": "onednn"},
    {"name": "march", "stage": "build", "values": ["a", "b", "c"], "active_if": "framework == 'onednn'"},
    {"name": "batch", "stage": "run", "range": [1, 64], "default": 8}])");
  const auto rows = tuner::rehearsal_rows(spec.space);
  CHECK(rows.rows.size() == 4);
  std::vector<std::int64_t> batches;  // a long range is gone down in halves
  for (const auto& configuration : rows.rows[0].ladder) batches.push_back(batch_in(configuration));
  CHECK(batches == std::vector<std::int64_t>{64, 32, 16, 8, 4, 2, 1});
}

TEST_CASE("of too many rows some are chosen in which each value occurs", "[rehearsal]") {
  std::string parameters = "[";
  for (int i = 0; i < 20; ++i) {
    parameters +=
        R"({"name": "flag)" + std::to_string(i) + R"(", "stage": "build", "values": ["a", "b", "c", "d", "e"]},)";
  }
  parameters += R"({"name": "batch", "stage": "run", "values": [64, 128], "type": "ordinal"}])";
  const auto spec = spec_of(parameters);  // 5²⁰ rows
  const auto rows = tuner::rehearsal_rows(spec.space);
  CHECK(rows.rows.size() >= 5);
  CHECK(rows.rows.size() <= 64);
  CHECK(rows.left_out.starts_with("of more than 4096 rows"));
  CHECK(rows.left_out.ends_with("in which each value of each parameter occurs"));
  std::set<std::pair<std::string, std::string>> seen;
  for (const auto& row : rows.rows) {
    for (const auto& [name, value] : row.values.values()) seen.emplace(name, space::to_text(value));
  }
  CHECK(seen.size() == 100);

  const auto few = tuner::rehearsal_rows(spec_of(kRows).space, 3);  // four are known, three allowed: two cover all
  CHECK(few.rows.size() == 2);
  CHECK(few.left_out.starts_with("of 4 rows"));
  const auto one = tuner::rehearsal_rows(spec_of(kRows).space, 1);
  CHECK(one.rows.size() == 1);
  CHECK(one.left_out.ends_with("which leaves values out"));
}

TEST_CASE("a rehearsal trains every row three steps, the largest batch first, and keeps what came out", "[rehearsal]") {
  Stage stage;
  stage.executor.can_be_built = [](const space::Configuration& configuration) {
    return text_in(configuration, "march") == "native";
  };
  stage.executor.fate = [](std::size_t, const space::Configuration& configuration) {
    return batch_in(configuration) > 64 && text_in(configuration, "lto") == "true" ? Outcome::OutOfMemory : Outcome::Ok;
  };
  const auto result = stage.sit(spec_of(kRows), tuner::Rehearse::Only);
  CHECK(result.ending == tuner::Ending::Rehearsed);
  REQUIRE(result.rehearsal);
  CHECK(result.rehearsal->rows == 4);
  CHECK(result.rehearsal->no_go == 2);
  CHECK(result.rehearsal->default_goes);
  CHECK(result.because == "The rehearsal: 2 of 4 rows go, 2 are a no-go");
  CHECK(stage.watcher.trials.empty());
  CHECK(stage.executor.run_configurations.size() == 1 + 3);
  for (const auto& record : stage.stored()) {
    CAPTURE(record.row.canonical());
    if (text_in(record.row, "march") == "x86-64") {
      CHECK(record.outcome == Outcome::BuildFailed);
      CHECK(record.reason == "no such flag");
      CHECK(record.log_tail == "error: -Owhat");
    } else if (text_in(record.row, "lto") == "true") {
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

TEST_CASE("after two batches that are out of memory a rehearsal tries the smallest alone", "[rehearsal]") {
  Stage stage;
  stage.executor.fate = [](std::size_t, const space::Configuration& configuration) {
    return batch_in(configuration) > 8 ? Outcome::OutOfMemory : Outcome::Ok;
  };
  const auto spec = spec_of(R"([{"name": "batch", "stage": "run", "range": [1, 64], "default": 8}])");
  const auto result = stage.sit(spec, tuner::Rehearse::Only);
  CHECK(result.because == "The rehearsal: 1 of 1 row goes");
  const auto records = stage.stored();
  REQUIRE(records.size() == 1);
  CHECK(records[0].outcome == Outcome::Ok);
  CHECK(records[0].too_large == std::vector<std::int64_t>{64, 32});
  CHECK(batch_in(records[0].configuration) == 1);
  CHECK(stage.executor.run_configurations.size() == 3);
}

TEST_CASE("a campaign goes on after its rehearsal, and does not repeat it when it is resumed", "[rehearsal]") {
  Stage stage;
  stage.executor.can_be_built = [](const space::Configuration& configuration) {
    return text_in(configuration, "march") == "native";
  };
  stage.watcher.after = [&](std::int64_t number) {
    if (number == 2) stage.interruption->finish();
  };
  const auto first = stage.sit(spec_of(kRows), tuner::Rehearse::First);
  CHECK(first.ending == tuner::Ending::Interrupted);
  REQUIRE(stage.watcher.rehearsed_rows.size() == 4);
  REQUIRE(stage.watcher.notes.size() == 1);
  CHECK(stage.watcher.notes[0] == "The rehearsal: 2 of 4 rows go, 2 are a no-go");
  // The default first, then what does not go, as trials that failed; nothing of it was run.
  REQUIRE(stage.watcher.trials == std::vector<std::int64_t>{0, 1, 2, 3});
  CHECK(stage.watcher.outcomes[0] == Outcome::Ok);
  CHECK(stage.watcher.outcomes[1] == Outcome::BuildFailed);
  CHECK(stage.watcher.outcomes[2] == Outcome::BuildFailed);

  stage.watcher = {};
  stage.interruption = std::make_unique<tuner::Interruption>();
  const auto second = stage.sit(spec_of(kRows), tuner::Rehearse::First);
  CHECK(second.ending == tuner::Ending::Complete);
  CHECK_FALSE(second.rehearsal);
  CHECK(stage.watcher.rehearsed_rows.empty());
  CHECK(stage.watcher.trials == std::vector<std::int64_t>{4, 5});
}

TEST_CASE("a rehearsal cut short is finished by the next sitting, what passed is not repeated", "[rehearsal]") {
  Stage stage;
  stage.executor.fate = [&](std::size_t count, const space::Configuration&) {
    if (count != 2) return Outcome::Ok;
    stage.interruption->abandon();
    return Outcome::Killed;
  };
  CHECK(stage.sit(spec_of(kRows), tuner::Rehearse::First).ending == tuner::Ending::Interrupted);
  CHECK(stage.stored().size() == 2);
  CHECK(stage.watcher.trials.empty());
  stage.interruption = std::make_unique<tuner::Interruption>();
  stage.watcher = {};
  const auto result = stage.sit(spec_of(kRows), tuner::Rehearse::First);
  CHECK(result.ending == tuner::Ending::Complete);
  CHECK(stage.watcher.rehearsed_rows.size() == 2);
  CHECK(result.rehearsal.value().rows == 4);
}

TEST_CASE("rehearsed again, only what did not go is tried, and a finished campaign stays finished", "[rehearsal]") {
  Stage stage;
  stage.sit(spec_of(kRows), tuner::Rehearse::No);
  stage.executor.can_be_built = [](const space::Configuration& configuration) {
    return text_in(configuration, "lto") == "false";
  };
  CHECK(stage.sit(spec_of(kRows), tuner::Rehearse::Only).rehearsal.value().no_go == 2);
  stage.executor.can_be_built = [](const space::Configuration&) { return true; };
  stage.watcher = {};
  const auto mended = stage.sit(spec_of(kRows), tuner::Rehearse::Only);
  CHECK(mended.rehearsal.value().no_go == 0);
  CHECK(mended.because == "The rehearsal: 4 of 4 rows go");
  CHECK(stage.watcher.rehearsed_rows.size() == 2);
  CHECK(stage.sit(spec_of(kRows), tuner::Rehearse::First).ending == tuner::Ending::AlreadyDone);
}

TEST_CASE("a rehearsal keeps to its time, and says what it did not try", "[rehearsal]") {
  Stage stage;
  stage.executor.fate = [&](std::size_t, const space::Configuration&) {
    stage.clock.pass(40s);
    return Outcome::Ok;
  };
  const auto result = stage.sit(spec_of(kRows), tuner::Rehearse::Only, 60s);
  CHECK(result.rehearsal.value().rows == 2);
  CHECK(result.rehearsal->not_tried == 2);
  CHECK(result.because == "The rehearsal: 2 of 2 rows go; 2 were not tried for want of time");
}

TEST_CASE("a default that will not go is said before the night", "[rehearsal]") {
  Stage stage;
  stage.executor.fate = [](std::size_t count, const space::Configuration&) {
    return count == 0 ? Outcome::Crashed : Outcome::Ok;
  };
  const auto result = stage.sit(spec_of(kRows), tuner::Rehearse::Only);
  CHECK_FALSE(result.rehearsal.value().default_goes);
  CHECK(result.because ==
        "The rehearsal: 3 of 4 rows go, 1 is a no-go; the default's own row is a no-go, so that there will be nothing "
        "to compare with");
}

}  // namespace
}  // namespace nocturne::tests
