#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <fstream>
#include <map>
#include <string>

#include "measure/run/launch.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/campaign_file/sample_facts.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/executor/own_command.hpp"
#include "tuner/own_command/command_document.hpp"
#include "tuner/own_command/probe_run.hpp"
#include "tuner/own_command/step_lines.hpp"
#include "tuner/own_command/utf8.hpp"

using namespace nocturne;
using namespace nocturne::tuner;
using Catch::Matchers::ContainsSubstring;

namespace {

using Words = std::vector<std::string>;

OwnCommand own(Words words, const Words& vary = {}) {
  OwnCommand command{.words = std::move(words), .folder = "/folder", .allocators = {"glibc", "glibc-large"}};
  for (const std::string& text : vary) command.variations.push_back(read_variation(text).value());
  return command;
}

CampaignSpec spec_of(const OwnCommand& command) {
  const auto document = command_document(command);
  REQUIRE(document);
  INFO(document->dump(2));
  auto spec = parse_campaign(document->dump(), "f.json", "/folder", test::sample_facts());
  if (!spec) FAIL(to_text(spec.error()));
  return *spec;
}

Words words_of(const CampaignSpec& spec, const space::Configuration& configuration) {
  return measure::fill_words(spec.worker.own, configuration, {}).value();
}

std::vector<Problem> problems_of(const std::string& worker, const std::string& more = "") {
  const auto spec = parse_campaign(R"({"campaign": "c", "worker": )" + worker +
                                       R"(, "space": {"parameters": [
      {"name": "batch", "stage": "run", "values": [1, 2]}, {"name": "amp", "stage": "run", "type": "boolean"},
      {"name": "lanes", "stage": "run", "values": [1, 2], "active_if": "amp == True"}]})" +
                                       more + "}",
                                   "f.json", "/folder", test::sample_facts());
  return spec ? std::vector<Problem>{} : spec.error();
}

constexpr const char* kUses = R"("{batch}", "{amp?-a}", ["-l", "{lanes}"])";

}  // namespace

TEST_CASE("the script of a command is found among its words", "[own_command]") {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "bin");
  for (const char* name : {"bin/torchrun", "train.py", "train", "model.pt"})
    std::ofstream(folder.path() / name) << "#!/usr/bin/env python3\n";
  std::filesystem::create_symlink("/bin/sh", folder.path() / "bin/python");
  std::filesystem::resize_file(folder.path() / "model.pt", 2 << 20);
  const auto script = [&](const std::vector<std::string>& words) { return script_of(words, folder.path()); };
  CHECK(script({"bin/torchrun", "--data", "model.pt", "./train.py"}) == folder.path() / "train.py");
  CHECK(script({"bin/python", "model.pt", "train"}) == folder.path() / "train");
  CHECK(script({"/bin/sh", "-c", "exit"}).empty());
  CHECK(script({"bin/python", "missing.py", ""}).empty());
}

TEST_CASE("a command whose script or whose module was edited is another one, and trains the same workload",
          "[own_command]") {
  const test::TemporaryFolder folder;
  const auto make = [&](const std::string& name, const std::string& text) {
    std::ofstream(folder.path() / name) << text;
  };
  make("train.py", "import model");
  make("model.py", "width = 256");
  make("model.pt", "weights");
  auto command = own({"python3", "train.py", "model.pt"});
  command.folder = folder.path();
  command.sources = {(folder.path() / "model.py").string()};
  const auto first = spec_of(command);
  CHECK(first.document["worker"]["sources"] ==
        nlohmann::json{(folder.path() / "model.py").string(), (folder.path() / "train.py").string()});
  const auto words = words_of(first, first.space.default_configuration());
  const std::string program = command_identity(first.worker.own, words);
  CHECK(spec_of(command).identity() == first.identity());
  make("model.pt", "what it wrote");  // no source
  CHECK(spec_of(command).identity() == first.identity());
  make("model.py", "width = 512");
  const auto edited = spec_of(command);
  CHECK(edited.identity() != first.identity());
  CHECK(edited.workload == first.workload);
  CHECK(command_identity(edited.worker.own, words) != program);
  make("model.py", "width = 256");
  CHECK(spec_of(command).identity() == first.identity());
  make("train.py", "import model  # more");
  CHECK(spec_of(command).identity() != first.identity());
  command.sources.clear();
  CHECK(spec_of(command).workload == first.workload);
}

TEST_CASE("around a command memory nodes and slower cores are varied where there are any", "[own_command]") {
  auto command = own({"train"});
  CHECK(spec_of(command).space.find("memory_policy") == nullptr);
  command.affinities = {"none", "close", "spread", "l3"};
  command.memory_policies = {"local", "interleave", "bind"};
  command.has_slower_cores = true;
  const auto document = command_document(command).value();
  CHECK_THAT(document.dump(), ContainsSubstring(R"("default":"machine.fast_cores")"));
  auto facts = test::sample_facts();
  facts.set("machine.fast_cores", std::int64_t{4});
  const auto spec = parse_campaign(document.dump(), "f.json", "/folder", facts);
  if (!spec) FAIL(to_text(spec.error()));
  CHECK(spec->space.find("memory_policy")->size() == 3);
  CHECK(spec->space.find("affinity")->size() == 4);
}

TEST_CASE("what varies is read as it was written", "[own_command]") {
  const auto batch = read_variation("--batch-size=32,64").value();
  CHECK(batch.parameter() == "batch");
  CHECK(batch.joined);
  CHECK(batch.values == std::vector<space::Value>{std::int64_t{32}, std::int64_t{64}});
  CHECK(!read_variation("-b 1,2").value().joined);
  CHECK(read_variation("--lr=0.10,0.2").value().values ==
        std::vector<space::Value>{std::string("0.10"), std::string("0.2")});
  CHECK(read_variation("--lr=0.1,0.2").value().values == std::vector<space::Value>{0.1, 0.2});
  CHECK(read_variation("--sizes=1\\,2,3").value().values ==
        std::vector<space::Value>{std::string("1,2"), std::string("3")});
  CHECK(read_variation("--use-amp").value().values.empty());
  CHECK(read_variation("--threads=1,2").value().parameter() == "option_threads");
  CHECK(read_variation("A_B=x,y").value().parameter() == "env.A_B");
  for (const char* wrong :
       {"", "=1", "--=1", "---a=1", "A", "1A=2", "--a=", "--a=1,,2", "--a=1,1", "--a$=1", "--x;y=1", "NOCTURNE_X=1"}) {
    CAPTURE(wrong);
    CHECK(!read_variation(wrong));
  }
}

TEST_CASE("the default of a command's campaign is the command as it is", "[own_command]") {
  const Words words = {"python", "train.py", "--batch-size", "48", "--amp", "--text={batch}", "{amp?x}"};
  const CampaignSpec spec = spec_of(own(words, {"--batch-size=32,64", "--amp"}));
  const space::Configuration usual = spec.space.default_configuration();
  CHECK(words_of(spec, usual) == words);
  CHECK(usual.find("threads") == nullptr);
  CHECK(*usual.find("batch") == space::Value(std::int64_t{48}));
  CHECK(spec.space.parameters().back().name == "amp");
  const auto command = command_document(own(words, {"--batch-size=32,64"}));
  CHECK(command->at("space").at("parameters").back().at("values") == nlohmann::json::array({32, 48, 64}));
  CHECK(spec.name == "train");
  CHECK(spec.worker.own.folder == "/folder");
  CHECK(spec.worker.own.timing == measure::Timing::Process);
  CHECK(spec.objective.epochs == std::vector{1.0});
  CHECK(spec.verify.slices == 1);
  space::Configuration other = usual;
  other.set("batch", std::int64_t{64});
  other.set("amp", false);
  CHECK(words_of(spec, other) == Words{"python", "train.py", "--batch-size", "64", "--text={batch}", "{amp?x}"});
}

TEST_CASE("of threads that the script sets itself no number is tried", "[own_command]") {
  OwnCommand command = own({"python", "train.py"});
  CHECK(spec_of(command).space.find("threads")->size() > 1);
  command.sets_threads = true;
  CHECK(spec_of(command).space.find("threads")->size() == 1);
}

TEST_CASE("threads that the script sets itself are replaced by those that a trial has", "[own_command]") {
  OwnCommand command = own({"python", "train.py"});
  command.timing = measure::Timing::Steps;
  command.batch = 32;
  command.steps_per_epoch = 10;
  command.replaces_threads = true;
  const CampaignSpec spec = spec_of(command);
  CHECK(spec.space.find("threads")->size() > 1);
  const auto told = [&](const space::Configuration& each) {
    return measure::fill_environment(spec.worker.own, each, {}).value();
  };
  auto configuration = spec.space.default_configuration();
  CHECK_FALSE(told(configuration).contains("NOCTURNE_LEVER_THREADS"));
  configuration.set("threads_set", true);
  configuration.set("threads", std::int64_t{2});
  CHECK(told(configuration).at("NOCTURNE_LEVER_THREADS") == "2");
}

TEST_CASE("the default has what the user's shell sets, where no parameter sets it", "[own_command]") {
  OwnCommand command = own({"python", "train.py"});
  const measure::LaunchMachine machine{.allowed = {{.cpu = 0}, {.cpu = 1}}, .find_library = {}};
  const auto set_by = [&](const CampaignSpec& spec, const space::Configuration& configuration) {
    const auto launched = measure::launch_settings(configuration, machine);
    if (!launched) FAIL(launched.error());
    CHECK(spec.space.contains(configuration));
    return launched->set;
  };
  using Variables = std::map<std::string, std::string>;
  CHECK(set_by(spec_of(command), spec_of(command).space.default_configuration()).empty());
  command.shell = {{"OMP_NUM_THREADS", "1"}, {"GOMP_CPU_AFFINITY", "0"}, {"OMP_WAIT_POLICY", "active"}};
  const CampaignSpec spec = spec_of(command);
  const auto usual = spec.space.default_configuration();
  CHECK(set_by(spec, usual) == command.shell);
  CHECK(spec.identity() != spec_of(own({"python", "train.py"})).identity());
  // The tuned number of threads replaces the shell's, and the shell's places with it.
  auto more = space::Configuration::from_json({{"threads_set", true},
                                               {"threads", 2},
                                               {"affinity", "none"},
                                               {"wait_policy", "default"},
                                               {"allocator", "glibc"},
                                               {"huge_pages", false},
                                               {"env.OMP_WAIT_POLICY", "active"}})
                  .value();
  CHECK(set_by(spec, more) == Variables{{"OMP_NUM_THREADS", "2"},
                                        {"OMP_DYNAMIC", "false"},
                                        {"OMP_PROC_BIND", "false"},
                                        {"OMP_WAIT_POLICY", "active"}});
  CHECK(spec.space.find("allocator") != nullptr);
  // What the user varies has the user's values.
  command.variations.push_back(read_variation("OMP_NUM_THREADS=1,2").value());
  CHECK(spec_of(command).space.find("env.OMP_NUM_THREADS")->size() == 2);
}

TEST_CASE("an allocator of the user's shell stays, and none is tried beside it", "[own_command]") {
  OwnCommand command = own({"python", "train.py"});
  command.shell = {{"LD_PRELOAD", "/lib/mine.so"}, {"GLIBC_TUNABLES", "glibc.malloc.hugetlb=2"}};
  const CampaignSpec spec = spec_of(command);
  CHECK(spec.space.find("allocator") == nullptr);
  CHECK(spec.space.find("huge_pages") == nullptr);
  CHECK(sets_allocator(command.shell));
  const auto launched = measure::launch_settings(spec.space.default_configuration(), {});
  REQUIRE(launched);
  CHECK(launched->variables() == command.shell);
}

TEST_CASE("a variable of the framework that the user's shell sets is the default", "[own_command]") {
  OwnCommand command = own({"python", "train.py"});
  command.frameworks = {"tensorflow"};
  command.shell = {{"TF_ENABLE_ONEDNN_OPTS", "0"}};
  const CampaignSpec spec = spec_of(command);
  CHECK(space::to_text(*spec.space.default_configuration().find("env.TF_ENABLE_ONEDNN_OPTS")) == "0");
  CHECK(spec.space.find("env.TF_ENABLE_ONEDNN_OPTS")->size() == 2);
}

TEST_CASE("an option that the command does not have is added behind it", "[own_command]") {
  const CampaignSpec spec = spec_of(own({"./t", "--x=a"}, {"--x=b,c", "--y=1,2", "-z 3,4", "--flag"}));
  CHECK(words_of(spec, spec.space.default_configuration()) == Words{"./t", "--x=a", "--y=1", "-z", "3"});
}

TEST_CASE("variables of the framework are tried where the script imports it", "[own_command]") {
  const test::TemporaryFolder folder;
  std::ofstream(folder.path() / "a.py") << "import os\nfrom tensorflow import keras\n";
  std::ofstream(folder.path() / "b.py") << "# import mxnet\nx = 'import torch'\n  import os, numpy as np\n";
  CHECK(imported_frameworks({"python", "a.py"}, folder.path()) == Words{"tensorflow"});
  CHECK(imported_frameworks({"python", "b.py", "c.py"}, folder.path()) == Words{"numpy"});
  OwnCommand command = own({"python", "a.py"});
  command.frameworks = {"tensorflow"};
  const auto usual = spec_of(command).space.default_configuration();
  REQUIRE(usual.find("env.TF_ENABLE_ONEDNN_OPTS") != nullptr);
  CHECK(space::to_text(*usual.find("env.TF_ENABLE_ONEDNN_OPTS")) == "1");
}

TEST_CASE("what cannot become a campaign is refused with a sentence", "[own_command]") {
  const auto refusal = [](const OwnCommand& command) {
    const auto document = command_document(command);
    REQUIRE(!document);
    return document.error();
  };
  CHECK_THAT(refusal(own({"t", "--a", "1", "--a=2"}, {"--a=1,2"})), ContainsSubstring("twice"));
  CHECK_THAT(refusal(own({"t", "--a"}, {"--a 1,2"})), ContainsSubstring("without a value"));
  CHECK_THAT(refusal(own({"t", "--a=1"}, {"--a"})), ContainsSubstring("--a=A,B"));
  CHECK_THAT(refusal(own({"t"}, {"--batch=1,2", "--batch-size=1,2"})), ContainsSubstring("already"));
  OwnCommand steps = own({"t"}, {"--batch-size=1,2"});
  steps.timing = measure::Timing::Steps;
  CHECK_THAT(refusal(steps), ContainsSubstring("--examples"));
  steps.examples = 100;
  CHECK(spec_of(steps).workload.training_examples == 100);
}

TEST_CASE("the time to an accuracy is that of a command which says how accurate it is", "[own_command]") {
  OwnCommand command = own({"t", "--batch=32"}, {"--batch=32,64", "--rate=1,2", "SOME_VARIABLE=a,b"});
  command.timing = measure::Timing::Steps;
  command.examples = 1000;
  command.accuracy = "acc ([0-9.]+)";
  command.target = 0.97;
  const CampaignSpec spec = spec_of(command);
  REQUIRE(spec.objective.target);
  CHECK(spec.objective.target->accuracy == 0.97);
  CHECK(spec.objective.target->points_per_epoch == 1);
  CHECK(spec.objective.target->learning_parameters == Words{"batch", "rate"});
  CHECK(spec.worker.own.accuracy == command.accuracy);
  CHECK(measure::command_from_json(measure::to_json(spec.worker.own)).value() == spec.worker.own);
  command.timing = measure::Timing::Process;
  CHECK_THAT(command_document(command).error(), ContainsSubstring("steps of the training"));
}

TEST_CASE("a run cuts its first two epochs short where its campaign says so, and the training checks do not",
          "[own_command]") {
  OwnCommand command = own({"python", "train.py"});
  command.timing = measure::Timing::Steps;
  command.batch = 64;
  command.examples = 6000;
  const std::string workload = spec_of(command).workload.network;
  command.epoch_ends = {.steps = 5, .examples = 6000};
  const CampaignSpec spec = spec_of(command);
  CHECK(spec.worker.own.epoch_ends == command.epoch_ends);
  CHECK(spec.workload.network == workload);  // what earlier campaigns say of it counts
  PreparedWorker prepared;
  prepared.own = std::make_shared<const measure::CommandTemplate>(spec.worker.own);
  const auto asked = [&](const RunOrder& order) {
    measure::RunPlan plan;
    plan_command(spec, spec.space.default_configuration(), prepared, order, {}, plan);
    const auto found = plan.environment.find("NOCTURNE_INJECT_EPOCH");
    return found == plan.environment.end() ? std::string() : found->second;
  };
  CHECK(asked({.purpose = space::Purpose::Search, .steps = 40}) == "5,6000,1");
  CHECK(asked({.purpose = space::Purpose::Verify, .steps = 40}) == "5,6000,1");
  CHECK(asked({.purpose = space::Purpose::Gate, .steps = 4, .learning = RunOrder::Learning::Start}).empty());
}

TEST_CASE("every run of a campaign counts as steps what the first one did", "[own_command]") {
  OwnCommand command = own({"python", "train.py"});
  command.timing = measure::Timing::Steps;
  command.steps_per_epoch = 100;
  const std::string workload = spec_of(command).workload.network;
  command.step = measure::kBackward;
  const CampaignSpec spec = spec_of(command);
  CHECK(spec.worker.own.step == measure::kBackward);
  CHECK(spec.workload.network == workload);
  PreparedWorker prepared;
  prepared.own = std::make_shared<const measure::CommandTemplate>(spec.worker.own);
  for (const RunOrder& order :
       {RunOrder{.purpose = space::Purpose::Search, .steps = 40},
        RunOrder{.purpose = space::Purpose::Verify, .steps = 40},
        RunOrder{.purpose = space::Purpose::Gate, .steps = 4, .learning = RunOrder::Learning::Start}}) {
    measure::RunPlan plan;
    plan_command(spec, spec.space.default_configuration(), prepared, order, {}, plan);
    CHECK(plan.environment.at("NOCTURNE_INJECT_STEP") == "backward");
  }
}

TEST_CASE("epochs are cut where a training has enough of them, and enough steps in each", "[own_command]") {
  CommandProbe seen{.timing = measure::Timing::Steps,
                    .training = SeenTraining{.framework = "pytorch",
                                             .unit = "optimizer step",
                                             .batch = 64,
                                             .steps_per_epoch = 94,
                                             .examples_per_epoch = 6000,
                                             .epochs = 3}};
  REQUIRE(epoch_cut(seen));
  CHECK(epoch_cut(seen)->examples == 6000);
  seen.training->loader_examples = 10'000;  // which an epoch does not train on all of
  CHECK(epoch_cut(seen)->examples == 10'000);
  seen.training->loader_examples.reset();
  const auto cut_after = [&](auto change) {
    CommandProbe other = seen;
    change(other);
    return epoch_cut(other).has_value();
  };
  CHECK_FALSE(cut_after([](CommandProbe& other) { other.training->epochs = 2; }));
  CHECK_FALSE(cut_after([](CommandProbe& other) { other.training->epochs.reset(); }));
  CHECK(cut_after([](CommandProbe& other) {
    other.training->epochs.reset();
    other.training->steps_in_all = 3 * 94;  // as a Trainer of transformers counts
  }));
  CHECK_FALSE(cut_after([](CommandProbe& other) { other.training->steps_per_epoch = 9; }));
  CHECK_FALSE(cut_after([](CommandProbe& other) { other.training->examples_per_epoch.reset(); }));
  CHECK_FALSE(cut_after([](CommandProbe& other) { other.training->framework = "jax"; }));
  seen.training->epochs = 7;
  for (const auto& [repeat, every] : std::map<std::int64_t, std::int64_t>{{1, 1}, {5, 5}, {6, 1}, {12, 1}}) {
    seen.training->ends_repeat = repeat;  // within seven epochs a whole round, or not
    CHECK(epoch_cut(seen)->every == every);
  }
  const auto of_fit = [](CommandProbe& other) {
    other.training->framework = "tensorflow";
    other.training->unit = "batch";
    other.training->examples_per_epoch.reset();  // a data set's are not known
  };
  CHECK(cut_after(of_fit));
  of_fit(seen);
  CHECK(epoch_cut(seen)->examples == 94 * 64);
  CHECK_FALSE(cut_after([](CommandProbe& other) { other.training->round = StepRound{.steps = 4, .seconds = 1}; }));
  CHECK_FALSE(cut_after([](CommandProbe& other) { other.ended_by_itself = true; }));
  CHECK_FALSE(cut_after([](CommandProbe& other) { other.timing = measure::Timing::Process; }));
}

TEST_CASE("each run sees the ends of epochs where they matter and leave time for enough runs", "[own_command]") {
  using std::chrono::minutes;
  using std::chrono::seconds;
  CommandProbe seen{.wall = seconds(8), .training = SeenTraining{.steps_per_epoch = 100, .step_seconds = 0.2}};
  EpochEndProbe probe{.seen = measure::EpochEnd{.each = 3, .first = 1}};
  CHECK(cut_of_runs(probe, seen, {}));
  probe.seen->first = 3;
  CHECK_FALSE(cut_of_runs(probe, seen, {}));
  CHECK_FALSE(cut_of_runs(probe, seen, minutes(8)));
  CHECK(cut_of_runs(probe, seen, minutes(10)));
  probe.seen->first = 0;
  CHECK(cut_of_runs(probe, seen, {}));
  probe.cut = {.steps = 5, .every = 3};  // four ends of 3 s, and ten more steps: two of them fit
  CHECK(cut_of_runs(probe, seen, {})->every == 1);
  probe.seen->each = 1.4;
  CHECK(cut_of_runs(probe, seen, {})->every == 3);
  probe.seen->each = 1.6;
  CHECK(cut_of_runs(probe, seen, {})->every == 1);
  probe.seen->each = 4.1;
  CHECK_FALSE(cut_of_runs(probe, seen, {}));
  probe.cut = {};
  probe.seen = measure::EpochEnd{.each = 0.05};
  CHECK_FALSE(cut_of_runs(probe, seen, {}));
  seen.training->levers = {{.name = "compile", .description = "", .compiles = true}};
  CHECK(cut_of_runs(probe, seen, {}));
  probe.seen.reset();
  CHECK_FALSE(cut_of_runs(probe, seen, minutes(600)));
}

TEST_CASE("a campaign is called after the script", "[own_command]") {
  CHECK(name_of_command({"python", "-u", "sub/train-it.py", "--x=1.py"}) == "train-it");
  CHECK(name_of_command({"./run it"}) == "run-it");
  CHECK(name_of_command({"python3", "-u", "-m", "shapes.train", "lr=0.1"}) == "shapes.train");
  CHECK(name_of_command({"python3", "-m", "torch.distributed.run", "train.py"}) == "train");
  CHECK(name_of_command({"jupyter", "nbconvert", "--execute", "night.ipynb", "--output", "out.ipynb"}) == "night");
  CHECK(name_of_command({"make", "-m"}) == "make");
  CHECK(name_of_command({"-"}) == "command--");
}

TEST_CASE("a template's places are checked where they stand", "[campaign_file]") {
  const auto only = [](const std::string& words, const std::string& more = "") {
    const auto all = problems_of(words, more);
    if (all.size() != 1) FAIL(to_text(all));
    return all.front();
  };
  const std::string uses = kUses;
  CHECK(problems_of(R"({"template": ["./t", )" + uses + "]}").empty());
  const Problem unknown = only(R"({"template": ["./t", )" + uses + R"(, ["-x", "{bach}"]]})");
  CHECK(unknown.pointer == "/worker/template/4/1");
  CHECK(unknown.nearest == "batch");
  CHECK(unknown.line == 1);
  CHECK(only(R"({"template": ["./t", )" + uses + R"(, "{batch?x}"]})").pointer == "/worker/template/4");
  CHECK_THAT(only(R"({"template": ["./t", "{batch}", "{amp?-a}", "-l", "{lanes}"]})").found,
             ContainsSubstring("left standing"));
  CHECK(only(R"({"template": ["./t", "{batch}", "{amp?-a}"]})").found == "nothing reads the parameter 'lanes'");
  CHECK(only(R"({"template": ["./t", )" + uses + R"(], "time": "step"})").nearest == "steps");
  CHECK_THAT(only(R"({"template": ["./t", )" + uses + R"(], "time": {"pattern": "("}})").found,
             ContainsSubstring("missing"));
  const Problem group = only(R"({"template": ["./t", )" + uses + R"(], "time": {"pattern": "(?P<los>x)."}})",
                             R"(, "workload": {"training_examples": 9})");
  CHECK(group.nearest == "loss");
  CHECK_THAT(only(R"({"template": ["./t", )" + uses + R"(], "time": "steps"})").found,
             ContainsSubstring("training_examples"));
  CHECK(only(R"({"template": ["./t", )" + uses + R"(], "environment": {"LD_PRELOAD": "x"}})").pointer ==
        "/worker/environment/LD_PRELOAD");
  CHECK(only(R"({"template": ["./t", )" + uses + R"(], "environment": {"A": "{bach}"}})").nearest == "batch");
  CHECK(only(R"({"template": ["./t", )" + uses + R"(]})", R"(, "objective": {"epochs": [1, 12]})").pointer ==
        "/objective/epochs");
  CHECK(only(R"({"template": ["./t", )" + uses + R"(]})", R"(, "verify": {"accuracy_epochs": 1})").pointer ==
        "/verify/accuracy_epochs");
  const std::string target = R"(, "workload": {"training_examples": 9},
                                  "objective": {"minimise": "time_to_accuracy", "accuracy": 0.9})";
  const auto accurate = [&](const std::string& pattern) {
    return R"({"template": ["./t", )" + uses + R"(], "time": "steps", "accuracy": ")" + pattern + "\"}";
  };
  CHECK(problems_of(accurate("acc ([0-9.]+)"), target).empty());
  CHECK_THAT(only(accurate("acc"), target).allowed, ContainsSubstring("a group for the number"));
  CHECK_THAT(only(accurate("(?P<right>x)"), target).allowed, ContainsSubstring("'right' and 'of'"));
  CHECK(only(accurate("(?P<percnet>x)"), target).nearest == "percent");
  CHECK_THAT(only(R"({"template": ["./t", )" + uses + R"(], "time": "steps"})", target).allowed,
             ContainsSubstring("'accuracy' in 'worker'"));
  CHECK_THAT(only(R"({"template": ["./t", )" + uses + R"x(], "accuracy": "([0-9])"})x").found,
             ContainsSubstring("timed as a whole"));
}

TEST_CASE("a script that was edited is another program, and so is a build of the configuration's", "[own_command]") {
  const test::TemporaryFolder folder;
  std::ofstream(folder.path() / "t.py") << "1";
  std::ofstream(folder.path() / "train-O2") << "built";
  const measure::CommandTemplate command{.groups = {{"./train-{build}"}, {"t.py"}}, .folder = folder.path()};
  const std::vector<std::string> words = {"./train-O2", "t.py"};
  const std::string before = command_identity(command, words);
  CHECK(command_identity(command, words) == before);
  std::ofstream(folder.path() / "t.py") << "2";
  const std::string edited = command_identity(command, words);
  CHECK(edited != before);
  std::ofstream(folder.path() / "train-O3") << "built";
  CHECK(command_identity(command, words) == edited);  // another configuration's
  std::ofstream(folder.path() / "train-O2") << "built again";
  CHECK(command_identity(command, words) != edited);
}

TEST_CASE("a command with an argument that is not UTF-8 is refused, and the argument is shown byte by byte",
          "[own_command]") {
  const auto refused = command_document(own({"python", "train.py", "--data", "caf\xE9\\x.txt"}));
  REQUIRE(!refused);
  CHECK_THAT(refused.error(),
             ContainsSubstring("argument 3 of the command") && ContainsSubstring("'caf\\xE9\\\\x.txt'"));
  CHECK(command_document(own({"python", "train.py", "--data", "caf\u00E9.txt"})));
  OwnCommand command = own({"train"});
  command.folder = "/caf\xE9";
  CHECK_THAT(command_document(command).error(), ContainsSubstring("the folder"));
  command = own({"train"});
  command.variations = {{.name = "--data", .values = {std::string("a"), std::string("\xFF")}}};
  CHECK_THAT(command_document(command).error(), ContainsSubstring("--vary") && ContainsSubstring("'\\xFF'"));
}

TEST_CASE("text is UTF-8 where RFC 3629 says so", "[own_command]") {
  for (const char* good : {"", "a", "\u00E9", "\u20AC", "\U0001F600", "\xF4\x8F\xBF\xBF", "\xED\x9F\xBF"}) {
    CAPTURE(escaped_bytes(good));
    CHECK(is_utf8(good));
  }
  for (const char* bad : {"\x80", "\xC3", "\xC0\x80", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
                          "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80", "\xE2\x82", "a\xC3(", "\xFF"}) {
    CAPTURE(escaped_bytes(bad));
    CHECK(!is_utf8(bad));
  }
}

TEST_CASE("lines that say how far a training is give the pattern that finds them", "[own_command]") {
  const auto pattern_of = [](const std::string& output) {
    const auto found = find_step_lines(output);
    return found ? found->pattern : std::string();
  };
  const auto epoch = find_step_lines(
      "Namespace(lr=1.0)\nTrain Epoch: 1 [0/60000 (0%)]\tLoss: 2.29\nTrain Epoch: 1 [640/60000 (1%)]\tLoss: 2.1\n"
      "Train Epoch: 1 [1280/60000 (2%)]\tLoss: 1.9e-1\n\nTest set: Average loss: 0.06\n");
  REQUIRE(epoch);
  CHECK(epoch->pattern == R"(\[(?P<samples>[0-9]+)/.*\b[Ll]oss[ :=]*(?P<loss>[0-9.eE+-]+))");
  CHECK(epoch->examples == 60000);
  CHECK_THAT(epoch->line, ContainsSubstring("[1280/60000"));
  CHECK(pattern_of("step 10\nstep 20\nstep 30\n") == R"(\b[Ss]tep[ :=#\[]*(?P<step>[0-9]+))");
  CHECK(pattern_of("10%| 1/9 [00:01, 5.1it/s]\r20%| 2/9 [00:01, 5.2it/s]\r30%| 3/9 [00:01, 5.2it/s]\r") ==
        R"((?P<steps_per_second>[0-9][0-9.]*) ?(?:it|steps?|batch(?:es)?)/s)");
  CHECK_THAT(pattern_of("a 1,024.5 images/s\nb 1,030 images/s\nc 999 images/s\n"),
             ContainsSubstring("samples_per_second"));
  CHECK_THAT(pattern_of("12ms/step - loss: 1\n12ms/step - loss: 2\n12ms/step - loss: 3\n"),
             ContainsSubstring("step_milliseconds") && ContainsSubstring("<loss>"));
  CHECK(pattern_of("").empty());
  CHECK(pattern_of("step 1\nstep 2\n").empty());                   // too few
  CHECK(pattern_of("step 2: a\nstep 2: b\nstep 2: c\n").empty());  // of a recipe
  CHECK(pattern_of("loss 3\nloss 2\nloss 1\n").empty());
}

TEST_CASE("where lines count examples, an epoch's number of them is needed and a run has several lines",
          "[own_command]") {
  OwnCommand command = own({"python", "mnist.py"});
  command.timing = measure::Timing::Pattern;
  command.pattern = R"(\[(?P<samples>[0-9]+)/)";
  CHECK_THAT(command_document(command).error(), ContainsSubstring("--examples N"));
  command.examples = 60000;
  const CampaignSpec spec = spec_of(command);
  CHECK(spec.run.steps == 3000);
  CHECK(spec.workload.training_examples == 60000);
  command.variations.push_back(read_variation("--batch-size=32,64").value());
  CHECK(spec_of(command).run.steps == spec_of(own({"train"})).run.steps);  // a step is a batch
}
