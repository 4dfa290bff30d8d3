#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/campaign_file/sample_facts.hpp"
#include "tests/tuner/deploy/shell.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/executor/carry_out.hpp"
#include "tuner/own_command/command_document.hpp"
#include "tuner/own_command/seen_training.hpp"

using namespace nocturne;
using namespace nocturne::tuner;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr const char* kReport = R"json({
  "version": 1, "framework": "pytorch", "framework_version": "2.15.0", "python": "3.11.2", "device": "cpu",
  "unit": "optimizer step", "batch": 64, "steps_per_epoch": 938, "examples_per_epoch": 60000, "loader_examples": 61000,
  "step_seconds": 0.068,
  "epochs": 14, "trains": "for epoch in range(14) (train.py, line 30)",
  "share": {"data": 0.25, "forward": 0.3, "odd": "x", "more": 7},
  "levers": [
    {"name": "autocast", "stage": "run", "values": ["script", "bf16"], "description": "bf16", "changes": "precision",
     "variable": "NOCTURNE_LEVER_AUTOCAST", "lines": {"bf16": "with torch.autocast('cpu', torch.bfloat16):"}},
    {"name": "graph", "stage": "compile", "values": ["script", "whole"], "description": "compiled", "changes": "nothing",
     "variable": "NOCTURNE_LEVER_GRAPH", "lines": {}},
    {"name": "ahead", "values": ["script", "4"], "changes": "rounding, checkpoint", "variable": "NOCTURNE_LEVER_AHEAD",
     "inert_at": {"lever": "readers", "value": "script"}},
    {"name": "readers", "values": ["script", "1"], "changes": "nothing", "variable": "NOCTURNE_LEVER_READERS"},
    {"name": "batch", "values": ["script", "2x", "4x"], "description": "larger", "changes": "what is learnt",
     "variable": "NOCTURNE_LEVER_BATCH", "lines": {"2x": "batch_size=2 * batch_size"}},
    {"name": "learning_rate", "values": ["script", "linear"], "description": "rate", "changes": "what is learnt",
     "variable": "NOCTURNE_LEVER_LEARNING_RATE", "lines": {}},
    {"name": "threads", "values": ["script", "1"], "variable": "NOCTURNE_LEVER_THREADS"},
    {"name": "odd", "values": ["script", "1"], "changes": "rounding, all", "variable": "NOCTURNE_LEVER_ODD"},
    {"name": "no good", "values": ["script", "1"], "variable": "NOCTURNE_LEVER_X"},
    {"name": "path", "values": ["script", "1"], "variable": "PATH"},
    {"name": "one", "values": ["script"], "variable": "NOCTURNE_LEVER_ONE"}, 7],
  "refused": [{"name": "compile", "reason": "no C++ compiler"}, []],
  "notes": ["one loss was not seen", 3]})json";

SeenTraining seen() {
  const test::TemporaryFolder folder;
  test::make_file(folder.path() / "training.json", kReport);
  return read_training_report(folder.path() / "training.json").value();
}

OwnCommand trained(bool allow_batch) {
  const SeenTraining training = seen();
  return {.words = {"python3", "train.py"},
          .folder = "/folder",
          .allocators = {"glibc"},
          .examples = training.examples_per_epoch,
          .batch = training.batch,
          .steps_per_epoch = training.steps_per_epoch,
          .levers = training.levers,
          .allow_batch = allow_batch,
          .files = measure::Files::Private,
          .shared = {"/data"},
          .timing = measure::Timing::Steps};
}

CampaignSpec spec_of(const OwnCommand& command) {
  const auto document = command_document(command);
  REQUIRE(document);
  INFO(document->dump(2));
  auto spec = parse_campaign(document->dump(), "f.json", "/folder", test::sample_facts());
  if (!spec) FAIL(to_text(spec.error()));
  return *spec;
}

}  // namespace

TEST_CASE("a report is read as far as it makes sense", "[own_command]") {
  const SeenTraining training = seen();
  CHECK(training.framework == "pytorch");
  CHECK(training.batch == 64);
  CHECK(training.loader_examples == 61'000);
  CHECK(training.step_seconds == 0.068);
  CHECK(training.epochs == 14);
  CHECK(training.trains == "for epoch in range(14) (train.py, line 30)");
  CHECK_FALSE(training.steps_in_all);
  CHECK(training.share == std::map<std::string, double>{{"data", 0.25}, {"forward", 0.3}});
  REQUIRE(training.levers.size() == 6);  // threads is the surroundings', the others are none
  CHECK(training.levers[0].name == "autocast");
  CHECK(training.levers[0].lever.changes == "precision");
  CHECK_FALSE(training.levers[0].compiles);
  CHECK(training.levers[1].compiles);
  CHECK(training.levers[2].lever.changes == "rounding, checkpoint");
  CHECK(training.levers[2].inert_at == LeverValue{"readers", "script"});
  CHECK(training.levers[4].name == "batch");
  CHECK(training.refused == std::map<std::string, std::string>{{"compile", "no C++ compiler"}});
  CHECK(training.notes == std::vector<std::string>{"one loss was not seen"});
}

TEST_CASE("steps that come in rounds take their part of the pause", "[own_command]") {
  const test::TemporaryFolder folder;
  const auto with_round = [&](const std::string& round) {
    test::make_file(folder.path() / "report", R"({"step_seconds": 0.004, "round": )" + round + "}");
    return read_training_report(folder.path() / "report").value();
  };
  const SeenTraining training = with_round(R"({"steps": 16, "seconds": 0.16})");
  REQUIRE(training.round);
  CHECK(training.round->steps == 16);
  CHECK(training.mean_step_seconds() == 0.01);
  for (const char* odd : {"null", "[]", R"({"steps": 16})", R"({"steps": 1e9, "seconds": 1})",
                          R"({"steps": 16, "seconds": -1})", R"({"steps": 100000000, "seconds": 1})"}) {
    CHECK_FALSE(with_round(odd).round);
    CHECK(with_round(odd).mean_step_seconds() == 0.004);
  }
  OwnCommand command = trained(false);
  CHECK(spec_of(command).run.steps_per_sample == 1);
  command.steps = 64;
  command.steps_per_sample = 16;
  CHECK(spec_of(command).run.steps_per_sample == 16);
}

TEST_CASE("epochs are those of a loop over epochs, or what a loop over steps makes of them", "[own_command]") {
  SeenTraining training;
  CHECK_FALSE(epochs_trained(training));
  training.steps_in_all = 100;
  CHECK(epochs_trained(training) == 1.0);  // all of them are one
  training.steps_per_epoch = 40;
  CHECK(epochs_trained(training) == 2.5);
  training.steps_per_epoch = 300;
  CHECK(epochs_trained(training) == 0.3333);
  training.epochs = 3;
  training.steps_in_all.reset();
  CHECK(epochs_trained(training) == 3.0);
}

TEST_CASE("a campaign of a command has the epochs that it trains", "[own_command]") {
  OwnCommand command = trained(false);
  CHECK(command_document(command)->at("/objective/epochs"_json_pointer).dump() == "[1]");
  command.epochs = 14;
  CHECK(command_document(command)->at("/objective/epochs"_json_pointer).dump() == "[14]");
  command.epochs = 2.5;
  CHECK(spec_of(command).objective.epochs == std::vector{2.5});
  CHECK(spec_of(command).objective.primary == 2.5);
  command.examples.reset();
  CHECK(spec_of(command).workload.training_examples == 938 * 64);  // as a loader says that does not know its examples
  command.steps_per_epoch.reset();
  CHECK(spec_of(command).workload.training_examples == 1000 * 64);
}

TEST_CASE("what stands in a report's place is no report", "[own_command]") {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "training.json";
  CHECK_FALSE(read_training_report(file));
  for (const char* text : {"", "[]", "{", "7", "null"}) {
    test::make_file(file, text);
    CHECK_FALSE(read_training_report(file));
  }
  std::filesystem::remove(file);
  test::make_file(folder.path() / "other", kReport);
  std::filesystem::create_symlink(folder.path() / "other", file);
  CHECK_FALSE(read_training_report(file));
  test::make_file(file.string() + ".large", "{\"x\": \"" + std::string(2 << 20, 'x') + "\"}");
  CHECK_FALSE(read_training_report(file.string() + ".large"));
  for (const char* odd : {R"({"levers": {}, "share": [], "notes": "x", "batch": -1, "step_seconds": "nan"})",
                          R"({"levers": [{"values": 3}], "refused": 1, "batch": 1e300, "unit": {}})"}) {
    test::make_file(folder.path() / "odd", odd);
    const auto training = read_training_report(folder.path() / "odd");
    REQUIRE(training);
    CHECK(training->levers.empty());
    CHECK_FALSE(training->batch);
    CHECK_FALSE(training->step_seconds);
  }
}

TEST_CASE("levers are parameters that change nothing unless they are pulled", "[own_command]") {
  const CampaignSpec spec = spec_of(trained(/*allow_batch=*/false));
  CHECK(spec.worker.own.files == measure::Files::Private);
  CHECK(spec.worker.own.shared == std::vector<std::filesystem::path>{"/data"});
  CHECK(spec.verify.gate.learning);
  const auto usual = spec.space.default_configuration();
  const auto variables = measure::fill_environment(spec.worker.own, usual, {}).value();
  CHECK(variables == std::map<std::string, std::string>{{"NOCTURNE_LEVER_AUTOCAST", "script"},
                                                        {"NOCTURNE_LEVER_GRAPH", "script"},
                                                        {"NOCTURNE_LEVER_READERS", "script"}});
  CHECK(usual.find("learning_rate") == nullptr);
  CHECK(*usual.find("batch") == space::Value(std::int64_t{64}));
  auto pulled = usual;
  pulled.set("autocast", std::string("bf16"));
  CHECK(spec.space.check(pulled).empty());
  CHECK(measure::fill_environment(spec.worker.own, pulled, {}).value().at("NOCTURNE_LEVER_AUTOCAST") == "bf16");
  // 60,000 examples in steps of 64.
  CHECK(spec.workload.training_examples == 60000);
}

TEST_CASE("nothing is held against the script unchanged where nobody records what it learns", "[own_command]") {
  OwnCommand command = trained(/*allow_batch=*/false);
  command.records_learning = false;
  const CampaignSpec spec = spec_of(command);
  CHECK_FALSE(spec.worker.own.levers.empty());
  CHECK_FALSE(spec.verify.gate.learning);
  CHECK_FALSE(spec.verify.gate.on);

  test::TemporaryFolder folder;
  const auto file = folder.path() / "report.json";
  for (const auto& [text, records] : {std::pair{R"({"records_learning": false})", false},
                                      std::pair{R"({"records_learning": true})", true}, std::pair{"{}", true}}) {
    test::make_file(file, text);
    CHECK(read_training_report(file)->records_learning == records);
  }
}

TEST_CASE("a lever that acts through another is tried with that one alone", "[own_command]") {
  const CampaignSpec spec = spec_of(trained(/*allow_batch=*/false));
  auto configuration = spec.space.default_configuration();
  CHECK(configuration.find("ahead") == nullptr);
  configuration.set("ahead", std::string("4"));
  CHECK_FALSE(spec.space.check(configuration).empty());
  configuration.set("readers", std::string("1"));
  CHECK(spec.space.check(configuration).empty());
  // Where the user varies the other himself, its values are not the lever's.
  OwnCommand own = trained(/*allow_batch=*/false);
  own.variations = {{.name = "--readers", .values = {space::Value(std::int64_t{1}), space::Value(std::int64_t{2})}}};
  CHECK(spec_of(own).space.default_configuration().find("ahead") != nullptr);
}

TEST_CASE("a larger batch is a number here and a multiple to the module, and the rate follows it", "[own_command]") {
  const CampaignSpec spec = spec_of(trained(/*allow_batch=*/true));
  auto larger = spec.space.default_configuration();
  CHECK(larger.find("learning_rate") == nullptr);  // inactive
  larger.set("batch", std::int64_t{128});
  larger.set("learning_rate", std::string("linear"));
  CHECK(spec.space.check(larger).empty());
  const auto variables = measure::fill_environment(spec.worker.own, larger, {}).value();
  CHECK(variables.at("NOCTURNE_LEVER_BATCH") == "2x");
  CHECK(variables.at("NOCTURNE_LEVER_LEARNING_RATE") == "linear");
  larger.set("batch", std::int64_t{64});
  CHECK(measure::fill_environment(spec.worker.own, larger, {}).value().at("NOCTURNE_LEVER_BATCH") == "script");
  CHECK(spec.worker.own.levers.at("batch").lines.at("128") == "batch_size=2 * batch_size");
}

TEST_CASE("a trial of a larger batch times fewer steps, so that it takes about as long", "[own_command]") {
  const CampaignSpec spec = spec_of(trained(/*allow_batch=*/true));
  auto configuration = spec.space.default_configuration();
  REQUIRE(spec.run.steps > 2 * kFewestTimedSteps);
  CHECK(trial_fidelity(spec, configuration).steps == spec.run.steps);
  configuration.set("batch", std::int64_t{128});
  CHECK(trial_fidelity(spec, configuration).steps == spec.run.steps / 2);
  configuration.set("batch", std::int64_t{64 * 64});
  CHECK(trial_fidelity(spec, configuration).steps == kFewestTimedSteps);
  CHECK(trial_fidelity(spec_of(trained(/*allow_batch=*/false)), configuration).steps == spec.run.steps);
}

TEST_CASE("a campaign's levers are found again in its document", "[own_command]") {
  const CampaignSpec spec = spec_of(trained(/*allow_batch=*/false));
  const auto levers = levers_of(spec.document);
  REQUIRE(levers.size() == 4);
  auto kept = trained(false).levers;
  kept.resize(4);  // the others change what is learnt
  CHECK(std::ranges::is_permutation(levers, kept));
  // With the batch: the same campaign is made of what its document says.
  const OwnCommand first = trained(/*allow_batch=*/true);
  OwnCommand again = first;
  again.levers = levers_of(spec_of(first).document);
  CHECK(again.levers.size() == 6);
  CHECK(command_document(again).value().at("space") == command_document(first).value().at("space"));
  CHECK(command_document(again).value().at("worker") == command_document(first).value().at("worker"));
}

TEST_CASE("what was made before the first step had ended is what each run would prepare", "[own_command]") {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "view.json";
  test::make_file(file, R"({"written": [
    {"path": "data/set", "bytes": 5, "made_unix_ns": 1770000000000000009},
    {"path": "model.pt", "bytes": 6, "made_unix_ns": 1770000000000000010}, {"path": "log", "bytes": 7}, 4],
    "outside": [{"path": "/home/me/.keras/set", "kind": "cache", "bytes": 8, "made_unix_ns": 1770000000000000000},
    {"path": "/tmp/z", "kind": "temporary", "bytes": 9, "made_unix_ns": 1770000000000000000}]})");
  const auto written = read_written_files(file, 1770000000000000010);
  REQUIRE(written);
  std::vector<std::string> prepared;
  for (const WrittenFile& each : written->prepared) prepared.push_back(each.path);
  CHECK(prepared == std::vector<std::string>{"data/set", "/home/me/.keras/set"});
  CHECK(written->outside.empty());
  CHECK(read_written_files(file)->prepared.empty());
}

TEST_CASE("what a run wrote is read as far as it makes sense", "[own_command]") {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "view.json";
  CHECK_FALSE(read_written_files(file));
  test::make_file(file, R"({"version": 1, "kind": "overlay", "folder": "/f", "written": [
    {"path": "model.pt", "bytes": 123}, {"path": "old", "deleted": true}, {"bytes": 3}, 4], "outside": [{"path": "/data/x/y", "kind": "file"}, {"path": "/tmp/z", "kind": "temporary"}, {"path": "/c", "kind": "cache"}],
    "more": 2, "notes": ["not watched: /mnt"]})");
  const auto written = read_written_files(file);
  REQUIRE(written);
  CHECK(written->kind == "overlay");
  REQUIRE(written->inside.size() == 2);
  CHECK(written->inside[0].path == "model.pt");
  CHECK(written->inside[0].bytes == 123);
  CHECK(written->inside[1].deleted);
  REQUIRE(written->outside.size() == 1);
  CHECK(written->more == 2);
}
