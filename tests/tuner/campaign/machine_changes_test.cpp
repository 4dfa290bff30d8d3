#include "tuner/campaign/machine_changes.hpp"

#include <algorithm>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "tests/tuner/campaign/campaign_fixture.hpp"
#include "tuner/campaign/file_changes.hpp"
#include "tuner/campaign/trial_runner.hpp"

namespace nocturne::test {
namespace {

/// Trials are counted, so that a session that goes on measures two more.
tuner::CampaignSpec changing_spec(int trials, const std::string& range = "[1, 6]") {
  auto spec = tuner::parse_campaign(R"({
    "campaign": "test", "workload": {"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"},
    "objective": {"minimise": "time", "epochs": [12]},
    "space": {"parameters": [{"name": "threads", "stage": "run", "range": )" +
                                        range + R"(, "default": 1}]},
    "strategy": {"name": "exhaustive", "history": false}, "budget": {"trials": )" +
                                        std::to_string(trials) + R"(},
    "verify": {"pairs": 2, "finalists": 1, "simplify": false, "accuracy_epochs": 0, "gate": {"on": false}}})",
                                    "test.json", "/", space::Facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return std::move(*spec);
}

space::Fingerprint machine_with(const std::string& field, const std::string& value, space::Match match) {
  space::Fingerprint fingerprint;
  fingerprint.set({.name = "cpu.model", .value = "A CPU", .match = space::Match::Must});
  fingerprint.set({.name = field, .value = value, .match = match});
  return fingerprint;
}

/// A campaign of three trials under one state of the machine, gone on with under another, where steps take `factor`
/// times as long.
struct ChangedMachine {
  ChangedMachine(const std::string& field, space::Match match, double factor) {
    CampaignFixture first(folder);
    first.fingerprint = machine_with(field, "old", match);
    first.sit(changing_spec(3));
    after.executor.id_suffix = "b";
    after.fingerprint = machine_with(field, "new", match);
    after.executor.step_seconds = [factor](const space::Configuration&) { return 0.05 * factor; };
    after.sit(changing_spec(5));
  }
  [[nodiscard]] bool said(const std::string& words) const {
    return std::ranges::any_of(after.watcher.notes,
                               [&](const std::string& note) { return note.find(words) != std::string::npos; });
  }
  CampaignFolder folder;
  CampaignFixture after{folder};
};

}  // namespace

TEST_CASE("who measures all of a campaign anew is told why", "[changes]") {
  const CampaignFolder folder;
  CampaignFixture campaign(folder);
  campaign.sit(changing_spec(2));
  CHECK(campaign.watcher.why_anew.empty());
  campaign.sit(changing_spec(3, "[1, 8]"));
  CHECK(campaign.watcher.why_anew == "its campaign differs in space (threads)");
  campaign.sit(changing_spec(3, "[1, 8]"), true);
  CHECK(campaign.watcher.why_anew == "as asked for");
  campaign.fingerprint = machine_with("cpu.sockets", "2", space::Match::Must);
  campaign.sit(changing_spec(3, "[1, 4]"));
  CHECK_FALSE(campaign.watcher.resumed);
  CHECK(campaign.watcher.why_anew.empty());  // that the machine is another was said
}

TEST_CASE("what differs between two campaigns is named by section, parameters by their names", "[changes]") {
  const auto before = nlohmann::json::parse(R"({
    "campaign": "a", "budget": {"trials": 3}, "workload": {"network": "mnist_cnn", "data": "mnist"},
    "space": {"parameters": [{"name": "threads", "range": [1, 4]}, {"name": "batch", "values": [64]}], "constraints": []}})");
  CHECK(tuner::file_changes(before, before).empty());
  auto now = before;
  now["budget"]["trials"] = 4;  // what is measured stays
  CHECK(tuner::file_changes(before, now).empty());
  now["workload"]["network"] = "resnet20";
  now["space"]["parameters"][1]["values"] = {64, 128};
  now["space"]["parameters"].push_back({{"name", "layout"}, {"values", {"plain"}}});
  now["worker"]["recipe"] = "cudnn";
  CHECK(tuner::file_changes(before, now) == "workload (network), space (batch, layout), worker (recipe)");
  CHECK(tuner::file_changes(now, before) == tuner::file_changes(before, now));
  for (const char* name : {"a", "b", "c", "d", "e"})
    now["space"]["parameters"].push_back({{"name", name}, {"values", {1}}});
  CHECK(tuner::file_changes(before, now) == "workload (network), space (a, b, batch, c, d, 2 more), worker (recipe)");
}

TEST_CASE("under another kernel, microcode or governor results are verified, and kept where they hold", "[changes]") {
  for (const std::string field : {"system.kernel", "cpu.microcode", "cpu.governor"}) {
    CAPTURE(field);
    ChangedMachine machine(field, space::Match::Verify, 1.01);
    CHECK(machine.after.watcher.resumed);
    CHECK(machine.said(field + " was 'old' and is 'new': the default takes +1.0 %"));
    CHECK(machine.said("results from before are kept"));
    CHECK(machine.after.watcher.numbers == std::vector<std::int64_t>{3, 4});
    CHECK(machine.after.executor.run_configurations.size() == 3 + 2);  // the default three times, two trials
  }
}

TEST_CASE("results that do not hold under another kernel are set aside", "[changes]") {
  ChangedMachine machine("system.kernel", space::Match::Verify, 1.5);
  CHECK_FALSE(machine.after.watcher.resumed);
  CHECK(machine.said("the default takes +50.0 %"));
  CHECK(machine.said("a new generation begins"));
  CHECK(machine.after.watcher.reused == 0);
  CHECK(machine.after.watcher.numbers.size() == 5);
  CHECK(machine.after.answer().campaign.generation == 2);
}

TEST_CASE("under another driver nothing is asked: a new generation begins", "[changes]") {
  ChangedMachine machine("gpu.driver", space::Match::Must, 1.0);
  CHECK_FALSE(machine.after.watcher.resumed);
  CHECK(machine.said("gpu.driver was 'old' and is 'new'"));
  CHECK(machine.after.watcher.reused == 0);
  CHECK(machine.after.executor.run_configurations.size() == 5);
}

TEST_CASE("another host name is no change", "[changes]") {
  ChangedMachine machine("system.host", space::Match::Ignore, 1.5);
  CHECK(machine.after.watcher.resumed);
  CHECK(machine.after.watcher.notes.empty());
  CHECK(machine.after.watcher.numbers == std::vector<std::int64_t>{3, 4});
}

TEST_CASE("what is set aside stays so for who goes on, and is verified once", "[changes]") {
  ChangedMachine machine("system.kernel", space::Match::Verify, 1.5);
  CampaignFixture third(machine.folder);
  third.executor.id_suffix = "c";
  third.fingerprint = machine.after.fingerprint;
  third.sit(changing_spec(6));
  CHECK(third.watcher.resumed);
  CHECK(third.watcher.numbers == std::vector<std::int64_t>{5});
}

TEST_CASE("equal trials of others are set aside where program or machine were other ones", "[changes]") {
  const auto reused_by = [](const std::string& worker, const space::Fingerprint& fingerprint) {
    const CampaignFolder folder;
    CampaignFixture first(folder);
    first.fingerprint = machine_with("cpu.microcode", "old", space::Match::Verify);
    first.sit(changing_spec(6));
    CampaignFixture other(folder);
    other.executor.id_suffix = "b";
    other.executor.worker = worker;
    other.fingerprint = fingerprint;
    other.sit(changing_spec(4, "[1, 4]"));  // another space: another generation
    return other.watcher.reused;
  };
  const auto same = machine_with("cpu.microcode", "old", space::Match::Verify);
  CHECK(reused_by("worker of the test", same) == 4);
  // Compiler, library and a container's digest are in the identity of the program.
  CHECK(reused_by("worker of another compiler", same) == 0);
  CHECK(reused_by("worker of the test", machine_with("cpu.microcode", "new", space::Match::Verify)) == 0);
  CHECK(reused_by("worker of the test", machine_with("gpu.driver", "new", space::Match::Must)) == 0);
}

}  // namespace nocturne::test
