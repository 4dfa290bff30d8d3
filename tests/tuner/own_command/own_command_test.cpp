#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <fstream>

#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/campaign_file/sample_facts.hpp"
#include "tuner/campaign_file.hpp"
#include "tuner/executor/own_command.hpp"
#include "tuner/own_command/command_document.hpp"

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
  auto spec = parse_campaign(document->dump(), "f.json", "/folder", tests::sample_facts());
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
                                   "f.json", "/folder", tests::sample_facts());
  return spec ? std::vector<Problem>{} : spec.error();
}

constexpr const char* kUses = R"("{batch}", "{amp?-a}", ["-l", "{lanes}"])";

}  // namespace

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

TEST_CASE("a campaign is called after the script", "[own_command]") {
  CHECK(name_of_command({"python", "-u", "sub/train-it.py", "--x=1.py"}) == "train-it");
  CHECK(name_of_command({"./run it"}) == "run-it");
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
