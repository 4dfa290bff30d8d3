#include "tuner/campaign_file/campaign_file.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include <sys/stat.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/campaign_file/sample_file.hpp"

using namespace nocturne;
using namespace nocturne::test;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using tuner::CampaignSpec;

namespace {

namespace fs = std::filesystem;

/// A folder of files that is gone afterwards.
struct Folder : test::TemporaryFolder {
  fs::path write(const std::string& name, const std::string& text) const {
    fs::create_directories((path() / name).parent_path());
    std::ofstream(path() / name) << text;
    return path() / name;
  }
};

}  // namespace

TEST_CASE("a campaign file becomes what it says", "[campaign_file]") {
  const CampaignSpec spec = good(kGood);
  CHECK(spec.name == "evening");
  CHECK(spec.workload == space::Workload{});
  CHECK(spec.objective.epochs == std::vector<double>{1, 12, 90});
  CHECK(spec.objective.primary == 12);
  CHECK(spec.strategy.name == "random");
  CHECK(spec.strategy.seed == 7);
  CHECK(spec.budget == space::Budget{.trials = 40, .wall = 90min, .until = space::TimeOfDay{7, 0}});
  CHECK(spec.run.steps == 50);
  CHECK(spec.run.repeats == 2);
  CHECK(spec.run.deadline == 60s);
  CHECK(spec.run.memory_bytes == std::int64_t{8} << 30);
  CHECK(spec.verify.pairs == 8);
  CHECK(spec.verify.most_pairs == tuner::VerifySettings{}.most_pairs);
  CHECK(spec.verify.slices == tuner::VerifySettings{}.slices);
  CHECK(spec.verify.gate.on);
  CHECK(spec.verify.gate.steps == 4);
  CHECK(spec.verify.gate.accuracy_margin == 0.5);
  CHECK_FALSE(spec.verify.gate.seeds);
  CHECK(spec.worker.recipe == "auto");
  CHECK(spec.file == "/folder/f.json");
  REQUIRE(spec.space.parameters().size() == 4);
  CHECK(spec.space.parameters()[0].stage == space::Stage::Build);
  CHECK(spec.space.parameters()[0].kind == space::Kind::Categorical);
  CHECK(spec.space.parameters()[3].kind == space::Kind::Ordinal);
  CHECK(spec.space.default_configuration().canonical() ==
        R"({"batch":128,"compiler":"g++","precision":"f32","threads":8})");
  CHECK(spec.space.count().count == space::Count(2 * 2 * 8 * 3));
}

TEST_CASE("the gate's settings are read", "[campaign_file]") {
  const auto gate = [](const std::string& text) {
    return good(good_with("\"pairs\": 8", "\"gate\": " + text)).verify.gate;
  };
  CHECK_FALSE(gate(R"({"on": false})").on);
  CHECK(gate(R"({"steps": 3})").steps == 3);
  CHECK(gate(R"({"accuracy_margin": 1})").accuracy_margin == 1.0);
  CHECK(gate(R"({"seeds": 0})").seeds == 0);
  CHECK(gate(R"({"seeds": 4})").seeds == 4);
}

TEST_CASE("what is left out has a default", "[campaign_file]") {
  const CampaignSpec spec =
      good(R"({"campaign": "a", "space": {"parameters": [{"name": "lto", "stage": "build", "type": "boolean"}]}})");
  CHECK(spec.objective == space::Objective{});
  CHECK(spec.budget == space::Budget{});
  CHECK(spec.strategy.name == "auto");
  CHECK(spec.run.steps == 40);
  CHECK(spec.verify.pairs == 6);
}

TEST_CASE("the time to an accuracy has one horizon, a training, and parameters that learn", "[campaign_file]") {
  const std::string usual = "\"time\", \"epochs\": [1, 12, 90]";
  const auto by_accuracy = good(good_with(usual, "\"time_to_accuracy\", \"accuracy\": 0.985"));
  REQUIRE(by_accuracy.objective.target);
  CHECK(by_accuracy.objective.target->accuracy == 0.985);
  CHECK(by_accuracy.objective.target->most_epochs == 30);
  CHECK(std::ranges::count(by_accuracy.objective.target->learning_parameters, "batch") == 1);
  CHECK(by_accuracy.objective.epochs == std::vector{1.0});
  CHECK(by_accuracy.objective.primary == 1);
  const auto as_default = good(good_with(
      usual, "\"time_to_accuracy\", \"default_epochs\": 3, \"learning_parameters\": [\"batch\", \"compiler\"]"));
  CHECK_FALSE(as_default.objective.target->accuracy);
  CHECK(as_default.objective.target->default_epochs == 3);
  CHECK(as_default.objective.target->learning_parameters == std::vector<std::string>{"batch", "compiler"});
  CHECK(as_default.identity() != by_accuracy.identity());
  CHECK(by_accuracy.identity() != good(kGood).identity());
  CHECK(good(good_with(usual, "\"time_to_accuracy\", \"accuracy\": 0.98")).identity() != by_accuracy.identity());
}

TEST_CASE("the primary horizon is 12 epochs where named, else the longest", "[campaign_file]") {
  CHECK(good(kGood).objective.primary == 12);
  CHECK(good(good_with("[1, 12, 90]", "[90, 1, 30]")).objective.primary == 90);
  CHECK(good(good_with("[1, 12, 90]", "[90, 1, 30]")).objective.epochs == std::vector<double>{1, 30, 90});
  CHECK(good(good_with("[1, 12, 90]", "[1, 12, 90], \"primary\": 1")).objective.primary == 1);
}

TEST_CASE("the kind of a domain follows from its keys", "[campaign_file]") {
  const auto kind = [](const std::string& domain) {
    return good(good_with("\"values\": [32, 64, 128], \"default\": 128", domain)).space.find("batch")->kind;
  };
  CHECK(kind("\"values\": [1, 2]") == space::Kind::Ordinal);
  CHECK(kind("\"values\": [1, \"2\"]") == space::Kind::Categorical);
  CHECK(kind("\"values\": [1, 2], \"type\": \"categorical\"") == space::Kind::Categorical);
  CHECK(kind("\"range\": [1, 64], \"step\": 3") == space::Kind::Integer);
  CHECK(kind("\"range\": [1, 64], \"scale\": \"logarithmic\"") == space::Kind::Integer);
  CHECK(kind("\"range\": [0.5, 64]") == space::Kind::Real);
  CHECK(kind("\"range\": [1, 64], \"type\": \"real\"") == space::Kind::Real);
  CHECK(kind("\"type\": \"boolean\"") == space::Kind::Boolean);
}

TEST_CASE("comments are allowed", "[campaign_file]") {
  CHECK(good("// before\n" + good_with("\"campaign\"", "/* why */ \"campaign\"") + "// after").name == "evening");
}

TEST_CASE("a command of one's own may read any parameter", "[campaign_file]") {
  const std::string own = with(good_with("\"name\": \"threads\"", "\"name\": \"tile_size\""), "\"verify\"",
                               R"("worker": {"command": ["./bin/worker", "--fast"]}, "verify")");
  CHECK(good(own).worker.command == std::vector<std::string>{"/folder/bin/worker", "--fast"});
  CHECK(good(with(own, "./bin/worker", "python3")).worker.command.front() == "python3");
}

TEST_CASE("identity does not depend on what may change", "[campaign_file]") {
  const std::string before = good(kGood).identity();
  CHECK(before.size() == 32);
  const auto same = [&](const std::string& from, const std::string& to) {
    CAPTURE(from, to);
    CHECK(good(good_with(from, to)).identity() == before);
  };
  same("\"trials\": 40, ", "");
  same("\"random\"", "\"exhaustive\"");
  same("\"seed\": 7", "\"seed\": 8");
  same("\"60s\"", "\"90s\"");
  same("\"8GiB\"", "\"4GiB\"");
  same("\"pairs\": 8", "\"pairs\": 9");
  same("\"campaign\"", "/* comment */ \"description\": \"words\", \"campaign\"");
  same("\"bf16 would be emulated\"", "\"another sentence\"");
  same("\"name\": \"threads\", \"stage\": \"run\"", "\"stage\": \"run\", \"unit\": \"threads\", \"name\": \"threads\"");
  same("\"epochs\": [1, 12, 90]", "\"primary\": 12, \"epochs\": [1, 12, 90]");
  same("\"machine.cores\"]", "8]");  // the same on this machine
}

TEST_CASE("identity changes with workload, objective, space and worker", "[campaign_file]") {
  const std::string before = good(kGood).identity();
  const auto differs = [&](const std::string& from, const std::string& to) {
    CAPTURE(from, to);
    CHECK(good(good_with(from, to)).identity() != before);
  };
  differs("\"adadelta\"", "\"sgd\"");
  differs("\"data\": \"mnist\"", "\"data\": \"mnist\", \"training_examples\": 50000");
  differs("[1, 12, 90]", "[1, 12]");
  differs("[1, 12, 90]", "[1, 12, 90], \"primary\": 90");
  differs("[32, 64, 128]", "[32, 64, 128, 256]");
  differs("\"default\": 128", "\"default\": 64");
  differs("\"stage\": \"build\"", "\"stage\": \"compile\"");
  differs("\"machine.cores\"]", "16]");
  differs("precision == 'f32' or", "precision == 'bf16' or");
  differs("\"verify\"", R"("worker": {"command": ["./w"]}, "verify")");
}

TEST_CASE("identity changes with facts that the space uses, and only with those", "[campaign_file]") {
  const auto identity = [](const space::Facts& facts) {
    return tuner::parse_campaign(kGood, "f.json", "/folder", facts)->identity();
  };
  space::Facts facts = test::sample_facts();
  const std::string before = identity(facts);
  facts.set("machine.memory_bytes", std::int64_t{1} << 40);
  CHECK(identity(facts) == before);
  facts.set("machine.isa", std::vector<std::string>{"avx512_bf16", "avx512f", "more"});
  CHECK(identity(facts) != before);
}

TEST_CASE("container runtimes are asked only where a campaign names them", "[campaign_file]") {
  space::Facts unasked;
  const std::vector<std::string> host_alone = {"host"};
  tuner::add_containers(unasked, nlohmann::json::parse(kGood));
  CHECK(unasked.find(tuner::kContainersFact) == nullptr);
  const nlohmann::json naming = {{"require", "container in machine.containers"}};
  tuner::add_containers(unasked, naming);
  REQUIRE(unasked.find(tuner::kContainersFact) != nullptr);
  CHECK(std::get<std::vector<std::string>>(*unasked.find(tuner::kContainersFact)).front() == "host");
  CHECK(unasked.find(tuner::kImageFormsFact) == nullptr);
  tuner::add_containers(unasked, {{"require", "image_form in machine.image_forms"}});
  REQUIRE(unasked.find(tuner::kImageFormsFact) != nullptr);
  CHECK(std::get<std::vector<std::string>>(*unasked.find(tuner::kImageFormsFact)).front() == "folder");
  unasked.set(tuner::kContainersFact, host_alone);  // what the caller says stays: nobody is asked again
  tuner::add_containers(unasked, naming);
  CHECK(std::get<std::vector<std::string>>(*unasked.find(tuner::kContainersFact)) == host_alone);
}

TEST_CASE("what is no file is refused at once, also where a file extends it", "[campaign_file]") {
  const Folder folder;
  const fs::path pipe = folder.path() / "pipe.json";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const fs::path over = folder.write("over.json", R"({"extends": "pipe.json"})");
  const auto found = [](const fs::path& file) { return tuner::load_campaign(file, {}).error().at(0).found; };
  CHECK_THAT(found(pipe), ContainsSubstring("is a pipe"));
  CHECK_THAT(found(over), ContainsSubstring("is a pipe"));
  CHECK_THAT(found("/dev/null"), ContainsSubstring("is a device"));
  CHECK_THAT(found(folder.path()), ContainsSubstring("is a folder"));
}

TEST_CASE("a file is laid over the one it extends", "[campaign_file]") {
  const Folder folder;
  folder.write("base/good.json", kGood);
  const fs::path over = folder.write("night.json", R"({
    "extends": "base/good.json",
    "campaign": "night",
    "objective": {"epochs": [5]},
    "space": {"parameters": [
      {"name": "batch", "stage": "run", "range": [1, 1024], "default": 1},
      {"name": "layout", "stage": "run", "values": ["blocked", "plain"]}]},
    "budget": {"wall": null, "trials": 1000}
  })");
  const auto loaded = tuner::load_campaign(over, test::sample_facts());
  if (!loaded) FAIL(tuner::to_text(loaded.error()));
  CHECK(loaded->name == "night");
  CHECK(loaded->file == over);
  CHECK(loaded->objective.epochs == std::vector<double>{5});
  CHECK(loaded->budget == space::Budget{.trials = 1000, .wall = {}, .until = space::TimeOfDay{7, 0}});
  REQUIRE(loaded->space.parameters().size() == 5);
  CHECK(loaded->space.parameters()[3].name == "batch");
  CHECK(loaded->space.parameters()[3].kind == space::Kind::Integer);  // the base's values are gone
  CHECK(loaded->space.parameters()[4].name == "layout");
  CHECK(loaded->space.constraints().size() == 1);
  CHECK(!loaded->document.contains("extends"));
}

TEST_CASE("a problem of an extended file names that file and its line", "[campaign_file]") {
  const Folder folder;
  folder.write("base.json", good_with("\"default\": \"f32\"", "\"default\": \"f16\""));
  const fs::path over = folder.write("over.json", "{\"extends\": \"base.json\",\n \"budget\": {\"wal\": 1}}");
  const auto loaded = tuner::load_campaign(over, test::sample_facts());
  REQUIRE(!loaded);
  CAPTURE(tuner::to_text(loaded.error()));
  REQUIRE(loaded.error().size() == 2);
  CHECK(loaded.error()[0].file == over);
  CHECK(loaded.error()[0].line == 2);
  CHECK(loaded.error()[1].file == folder.path() / "base.json");
  CHECK(loaded.error()[1].pointer == "/space/parameters/1/default");
  CHECK(loaded.error()[1].line == 8);
}

TEST_CASE("the pointer of a merged parameter is that of the file that wrote it", "[campaign_file]") {
  const Folder folder;
  folder.write("base.json", kGood);
  const fs::path over = folder.write(
      "over.json",
      "{\"extends\": \"base.json\", \"space\": {\"parameters\": [\n{\"name\": \"batch\", \"default\": 5}]}}");
  const auto loaded = tuner::load_campaign(over, test::sample_facts());
  REQUIRE(!loaded);
  REQUIRE(loaded.error().size() == 1);
  CHECK(loaded.error()[0].file == over);
  CHECK(loaded.error()[0].pointer == "/space/parameters/0/default");
  CHECK(loaded.error()[0].line == 2);
}

TEST_CASE("a worker's path is relative to the file that names it", "[campaign_file]") {
  const Folder folder;
  folder.write("base/good.json", good_with("\"verify\"", R"("worker": {"command": ["./w"]}, "verify")"));
  const fs::path over = folder.write("over.json", R"({"extends": "base/good.json"})");
  const auto loaded = tuner::load_campaign(over, test::sample_facts());
  REQUIRE(loaded);
  CHECK(loaded->worker.command.front() == (folder.path() / "base/w").string());
}

TEST_CASE("files that extend each other in a circle are refused", "[campaign_file]") {
  const Folder folder;
  const fs::path a = folder.write("a.json", R"({"extends": "sub/b.json", "campaign": "a"})");
  folder.write("sub/b.json", R"({"extends": "../a.json"})");
  const auto loaded = tuner::load_campaign(a, test::sample_facts());
  REQUIRE(!loaded);
  REQUIRE(loaded.error().size() == 1);
  CHECK(loaded.error()[0].pointer == "/extends");
  CHECK(loaded.error()[0].file == folder.path() / "sub/b.json");
  CHECK(loaded.error()[0].found.find("extends itself") != std::string::npos);
}

TEST_CASE("long chains, missing files and folders are refused with a sentence", "[campaign_file]") {
  const Folder folder;
  for (int i = 0; i < 12; ++i)
    folder.write(std::to_string(i) + ".json", "{\"extends\": \"" + std::to_string(i + 1) + ".json\"}");
  const auto found = [&](const fs::path& path) {
    const auto loaded = tuner::load_campaign(path, test::sample_facts());
    REQUIRE(!loaded);
    REQUIRE(loaded.error().size() == 1);
    return loaded.error()[0].found;
  };
  CHECK(found(folder.path() / "0.json") == "a longer chain of files");
  CHECK(found(folder.path() / "11.json").find("No such file") != std::string::npos);
  CHECK(found(folder.path() / "nowhere.json").find("No such file") != std::string::npos);
  CHECK(found(folder.path()) == "is a folder");
  CHECK(found("/dev/zero") == "is a device, no file");
  CHECK(found(folder.write("no.json", R"({"extends": 7})")) == "found 7");
}
