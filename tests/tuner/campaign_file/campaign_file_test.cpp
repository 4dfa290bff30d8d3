#include "tuner/campaign_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/campaign_file/sample_facts.hpp"
#include "tuner/campaign_file/schema_check.hpp"

using namespace nocturne;
using namespace std::chrono_literals;
using tuner::CampaignSpec;
using tuner::Problem;

namespace {

namespace fs = std::filesystem;

constexpr const char* kGood = R"({
  "campaign": "evening",
  "workload": {"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"},
  "objective": {"minimise": "time", "epochs": [1, 12, 90]},
  "space": {
    "parameters": [
      {"name": "compiler", "stage": "build", "values": ["g++", "clang++-19"]},
      {"name": "precision", "stage": "run", "values": ["f32", "bf16"], "default": "f32"},
      {"name": "threads", "stage": "run", "range": [1, "machine.cores"], "default": "machine.cores"},
      {"name": "batch", "stage": "run", "values": [32, 64, 128], "default": 128}
    ],
    "constraints": [
      {"require": "precision == 'f32' or 'avx512_bf16' in machine.isa", "because": "bf16 would be emulated"}
    ]
  },
  "strategy": {"name": "random", "seed": 7},
  "budget": {"trials": 40, "wall": "1h30min", "until": "07:00"},
  "run": {"steps": 50, "repeats": 2, "deadline": "60s", "memory": "8GiB"},
  "verify": {"pairs": 8}
})";

/// `text` with the one place that reads `from` replaced.
std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}
std::string good_with(const std::string& from, const std::string& to) {
  return with(kGood, from, to);
}

std::expected<CampaignSpec, std::vector<Problem>> parse(const std::string& text) {
  return tuner::parse_campaign(text, "f.json", "/folder", tests::sample_facts());
}

CampaignSpec good(const std::string& text) {
  auto spec = parse(text);
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return std::move(*spec);
}

std::vector<Problem> problems(const std::string& text) {
  auto spec = parse(text);
  REQUIRE(!spec);
  return spec.error();
}

std::string file_text(const fs::path& path) {
  std::ifstream stream(path);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

const fs::path kExamples = fs::path(NOCTURNE_SOURCE_FOLDER) / "examples";

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

TEST_CASE("each mistake is reported where it stands and in words", "[campaign_file]") {
  struct Case {
    const char* from;
    const char* to;
    const char* pointer;
    std::size_t line;
    const char* found;    // how Problem::found begins
    const char* allowed;  // part of Problem::allowed
    const char* nearest;
  };
  const Case cases[] = {
      // keys
      {"\"campaign\"", "\"campain\"", "/campain", 2, "unknown key \"campain\"", "budget, campaign", "campaign"},
      {"\"trials\": 40", "\"trails\": 40", "/budget/trails", 17, "unknown key \"trails\"", "trials, until, wall",
       "trials"},
      {"\"default\": \"f32\"", "\"defualt\": \"f32\"", "/space/parameters/1/defualt", 8, "unknown key", "active_if",
       "default"},
      {"\"name\": \"batch\", ", "", "/space/parameters/3", 10, "key 'name' is missing", "letters, digits", ""},
      {"\"because\": \"bf16 would be emulated\"", "\"why\": 1", "/space/constraints/0", 13, "key 'because' is missing",
       "", ""},
      {"\"space\"", "\"$schema\": \"s\", \"spaces\"", "/spaces", 5, "unknown key", "", "space"},
      // types and values
      {"\"evening\"", "17", "/campaign", 2, "found 17", "a name of 1 to 64", ""},
      {"\"evening\"", "\"two words\"", "/campaign", 2, "found \"two words\"", "a name of 1 to 64", ""},
      {"\"time\"", "\"tine\"", "/objective/minimise", 4, "found \"tine\"", "time", "time"},
      {"[1, 12, 90]", "[]", "/objective/epochs", 4, "a list of 0 values", "1 to 16", ""},
      {"[1, 12, 90]", "[1, 0]", "/objective/epochs/1", 4, "found 0", "above 0", ""},
      {"[1, 12, 90]", "[1, \"two\"]", "/objective/epochs/1", 4, "found \"two\"", "a number", ""},
      {"[1, 12, 90]", "[1, 1]", "/objective/epochs", 4, "found [1.0,1.0]", "each horizon once", ""},
      {"[1, 12, 90]", "[1], \"primary\": 12", "/objective/primary", 4, "found 12", "one of epochs: 1", ""},
      {"\"trials\": 40", "\"trials\": 0", "/budget/trials", 17, "found 0", "a whole number from 1", ""},
      {"\"trials\": 40", "\"trials\": 2.5", "/budget/trials", 17, "found 2.5", "a whole number", ""},
      {"\"1h30min\"", "\"90 minutes\"", "/budget/wall", 17, "found \"90 minutes\"", "1h30min", ""},
      {"\"1h30min\"", "\"30min1h\"", "/budget/wall", 17, "found \"30min1h\"", "1h30min", ""},
      {"\"1h30min\"", "90", "/budget/wall", 17, "found 90", "1h30min", ""},
      {"\"07:00\"", "\"25:00\"", "/budget/until", 17, "found \"25:00\"", "07:00", ""},
      {"\"8GiB\"", "\"8 gigs\"", "/run/memory", 18, "found \"8 gigs\"", "8GiB", ""},
      {"\"steps\": 50", "\"steps\": 50, \"steps_per_sample\": 60", "/run/steps_per_sample", 18, "found 60",
       "at most the steps of a run: 50", ""},
      {"\"pairs\": 8", "\"pairs\": 8, \"most_pairs\": 7", "/verify/most_pairs", 19, "found 7", "at least 8", ""},
      {"\"pairs\": 8", "\"margin_percent\": -1", "/verify/margin_percent", 19, "found -1", "from 0", ""},
      {"\"pairs\": 8", "\"finalists\": 0", "/verify/finalists", 19, "found 0", "from 1", ""},
      {"\"random\"", "\"randon\"", "/strategy/name", 16, "found \"randon\"", "auto", "random"},
      {"\"seed\": 7", "\"seed\": -1", "/strategy/seed", 16, "found -1", "from 0", ""},
      {"\"data\": \"mnist\"", "\"data\": \"cifar\"", "/workload", 3, "key 'training_examples' is missing", "cifar", ""},
      {"\"verify\"", "\"worker\": {\"recipe\": \"onedn\"}, \"verify\"", "/worker/recipe", 19, "found \"onedn\"",
       "onednn", "onednn"},
      {"\"verify\"", "\"worker\": {\"recipe\": \"onednn\", \"command\": [\"./w\"]}, \"verify\"", "/worker", 19, "both",
       "one of them", ""},
      {"\"pairs\": 8", "\"gate\": {\"seeds\": 2}", "/verify/gate/seeds", 19, "found 2", "at least 4", ""},
      {"\"pairs\": 8", "\"gate\": {\"steps\": 0}", "/verify/gate/steps", 19, "found 0", "from 1", ""},
      {"\"pairs\": 8", "\"gate\": {\"margin\": 1}", "/verify/gate/margin", 19, "unknown key", "accuracy_margin", ""},
      // parameters
      {"\"stage\": \"build\"", "\"stage\": \"built\"", "/space/parameters/0/stage", 7, "found \"built\"",
       "environment, build, compile, run", "build"},
      {"\"name\": \"threads\"", "\"name\": \"thread\"", "/space/parameters/2/name", 9,
       "no worker of Nocturne's own reads a parameter 'thread'", "precision", "threads"},
      {"\"name\": \"threads\"", "\"name\": \"2threads\"", "/space/parameters/2/name", 9, "found \"2threads\"",
       "letters, digits", ""},
      {"\"range\": [1, \"machine.cores\"]", "\"range\": [1]", "/space/parameters/2/range", 9, "a list of 1 values", "2",
       ""},
      {"\"range\": [1, \"machine.cores\"]", "\"values\": [1], \"range\": [1, 2]", "/space/parameters/2/range", 9,
       "'range' does not go with type 'ordinal'", "either values, or range", ""},
      {"\"range\": [1, \"machine.cores\"]", "\"type\": \"integer\"", "/space/parameters/2", 9,
       "type 'integer' without 'range'", "'range'", ""},
      {"\"range\": [1, \"machine.cores\"], ", "", "/space/parameters/2", 9, "neither 'values' nor 'range' nor 'type'",
       "", ""},
      {"\"default\": 128", "\"step\": 2", "/space/parameters/3/step", 10, "'step' does not go with type 'ordinal'",
       "integer range", ""},
      {"[32, 64, 128]", "[32, 64, 18446744073709551615]", "/space/parameters/3/values/2", 10,
       "found 18446744073709551615", "whole numbers up to", ""},
      {"[32, 64, 128]", "[32, [64], 128]", "/space/parameters/3/values/1", 10, "found [64]",
       "true or false, or a number, or a text", ""},
      {"\"default\": 128", "\"default\": 100", "/space/parameters/3/default", 10, "", "", ""},
      {"\"default\": \"machine.cores\"", "\"default\": 9", "/space/parameters/2/default", 9, "", "", ""},
      {"\"machine.cores\"]", "\"machine.core\"]", "/space/parameters/2/range/1", 9, "", "", ""},
      // expressions
      {"precision == 'f32' or", "precison == 'f32' or", "/space/constraints/0/require", 13, "unknown name 'precison'",
       "", ""},
      {"precision == 'f32' or", "precision == 'f32' xor", "/space/constraints/0/require", 13, "", "", ""},
  };
  for (const Case& c : cases) {
    CAPTURE(c.from, c.to);
    const std::vector<Problem> all = problems(good_with(c.from, c.to));
    CAPTURE(tuner::to_text(all));
    const auto problem = std::ranges::find(all, std::string(c.pointer), &Problem::pointer);
    REQUIRE(problem != all.end());
    CHECK(problem->file == "f.json");
    CHECK(problem->line == c.line);
    CHECK(problem->column > 0);
    CHECK(problem->found.starts_with(c.found));
    CHECK(problem->allowed.find(c.allowed) != std::string::npos);
    CHECK(problem->nearest == c.nearest);
    // One mistake, one problem; a misspelt key is also a missing one.
    const bool key_lost = std::string_view(c.found).starts_with("unknown key");
    CHECK(all.size() <= (key_lost ? 2U : std::string_view(c.to).find("why") != std::string_view::npos ? 2U : 1U));
  }
}

TEST_CASE("all problems come at once, in the order of the lines", "[campaign_file]") {
  std::string text = kGood;
  text = with(text, "\"time\"", "\"speed\"");
  text = with(text, "\"default\": \"f32\"", "\"default\": \"f16\"");
  text = with(text, "\"name\": \"batch\"", "\"name\": \"batsh\"");
  text = with(text, "'avx512_bf16' in machine.isa", "threats > 1");
  text = with(text, "\"random\"", "\"anealing\"");
  text = with(text, "\"60s\"", "\"a minute\"");
  text = with(text, "\"pairs\"", "\"pears\"");
  const std::vector<Problem> all = problems(text);
  CAPTURE(tuner::to_text(all));
  REQUIRE(all.size() == 7);
  std::vector<std::size_t> lines;
  for (const Problem& problem : all) lines.push_back(problem.line);
  CHECK(lines == std::vector<std::size_t>{4, 8, 10, 13, 16, 18, 19});
}

TEST_CASE("an expression's problem points into the text of the file", "[campaign_file]") {
  const std::vector<Problem> all = problems(good_with("'avx512_bf16' in machine.isa", "threats > 1"));
  REQUIRE(all.size() == 1);
  const std::string line = R"(      {"require": "precision == 'f32' or threats > 1")";
  CHECK(all[0].column == line.find("threats") + 1);
  CHECK(all[0].excerpt.find('^') != std::string::npos);
}

TEST_CASE("a refused parameter does not make others wrong that mention it", "[campaign_file]") {
  const std::vector<Problem> all =
      problems(good_with("\"stage\": \"run\", \"values\": [\"f32\"", "\"stage\": \"rum\", \"values\": [\"f32\""));
  CAPTURE(tuner::to_text(all));
  CHECK(all.size() == 1);
}

TEST_CASE("a document that is no object is refused", "[campaign_file]") {
  const char* text = GENERATE("[]", "1", "null", "\"x\"", "{}");
  CAPTURE(text);
  const std::vector<Problem> all = problems(text);
  REQUIRE(!all.empty());
  CHECK(all.front().line == 1);
}

TEST_CASE("a command of one's own may read any parameter", "[campaign_file]") {
  const std::string own = with(good_with("\"name\": \"threads\"", "\"name\": \"tile_size\""), "\"verify\"",
                               R"("worker": {"command": ["./bin/worker", "--fast"]}, "verify")");
  CHECK(good(own).worker.command == std::vector<std::string>{"/folder/bin/worker", "--fast"});
  CHECK(good(with(own, "./bin/worker", "python3")).worker.command.front() == "python3");
}

TEST_CASE("a framework is a worker that exists", "[campaign_file]") {
  const std::string text =
      good_with("{\"name\": \"compiler\", \"stage\": \"build\", \"values\": [\"g++\", \"clang++-19\"]}",
                "{\"name\": \"framework\", \"stage\": \"environment\", \"values\": [\"onednn\", \"onedn\"]}");
  const std::vector<Problem> all = problems(text);
  REQUIRE(all.size() == 1);
  CHECK(all[0].pointer == "/space/parameters/0/values/1");
  CHECK(all[0].nearest == "onednn");
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
  space::Facts facts = tests::sample_facts();
  const std::string before = identity(facts);
  facts.set("machine.memory_bytes", std::int64_t{1} << 40);
  CHECK(identity(facts) == before);
  facts.set("machine.isa", std::vector<std::string>{"avx512_bf16", "avx512f", "more"});
  CHECK(identity(facts) != before);
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
  const auto loaded = tuner::load_campaign(over, tests::sample_facts());
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
  const auto loaded = tuner::load_campaign(over, tests::sample_facts());
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
  const auto loaded = tuner::load_campaign(over, tests::sample_facts());
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
  const auto loaded = tuner::load_campaign(over, tests::sample_facts());
  REQUIRE(loaded);
  CHECK(loaded->worker.command.front() == (folder.path() / "base/w").string());
}

TEST_CASE("files that extend each other in a circle are refused", "[campaign_file]") {
  const Folder folder;
  const fs::path a = folder.write("a.json", R"({"extends": "sub/b.json", "campaign": "a"})");
  folder.write("sub/b.json", R"({"extends": "../a.json"})");
  const auto loaded = tuner::load_campaign(a, tests::sample_facts());
  REQUIRE(!loaded);
  REQUIRE(loaded.error().size() == 1);
  CHECK(loaded.error()[0].pointer == "/extends");
  CHECK(loaded.error()[0].file == folder.path() / "sub/b.json");
  CHECK(loaded.error()[0].found.find("extends itself") != std::string::npos);
}

TEST_CASE("long chains, missing files and folders are refused with a sentence", "[campaign_file]") {
  const Folder folder;
  for (int i = 0; i < 12; ++i) {
    folder.write(std::to_string(i) + ".json", "{\"extends\": \"" + std::to_string(i + 1) + ".json\"}");
  }
  const auto found = [&](const fs::path& path) {
    const auto loaded = tuner::load_campaign(path, tests::sample_facts());
    REQUIRE(!loaded);
    REQUIRE(loaded.error().size() == 1);
    return loaded.error()[0].found;
  };
  CHECK(found(folder.path() / "0.json") == "a longer chain of files");
  CHECK(found(folder.path() / "11.json").find("No such file") != std::string::npos);
  CHECK(found(folder.path() / "nowhere.json").find("No such file") != std::string::npos);
  CHECK(found(folder.path()) == "is a folder");
  CHECK(found("/dev/zero") == "the file is too large");
  CHECK(found(folder.write("no.json", R"({"extends": 7})")) == "found 7");
}

TEST_CASE("every beginning of an example is refused cleanly", "[campaign_file]") {
  const std::string text = file_text(kExamples / "mnist.json");
  const std::size_t end = text.rfind('}');
  for (std::size_t length = 0; length < end; ++length) {
    const auto spec = tuner::parse_campaign(text.substr(0, length), "f.json", kExamples, tests::sample_facts());
    if (spec) FAIL("accepted " << length << " bytes");
    if (spec.error().size() != 1 || spec.error()[0].line == 0) FAIL(tuner::to_text(spec.error()));
  }
}

TEST_CASE("an example with one byte lost or changed never does worse than being refused", "[campaign_file]") {
  const std::string text = file_text(kExamples / "mnist-exhaustive-small.json");
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char replacement : {'\0', '"', '{', ']', ',', '\\', '9', '\xff'}) {
      std::string changed = text;
      if (replacement == '\0') {
        changed.erase(i, 1);
      } else {
        changed[i] = replacement;
      }
      const auto spec = tuner::parse_campaign(changed, "f.json", kExamples, tests::sample_facts());
      if (spec) continue;
      if (spec.error().empty()) FAIL("refused without a problem: " << changed);
      for (const Problem& problem : spec.error()) {
        if (problem.line == 0 || problem.found.empty()) FAIL(tuner::to_text(problem) << "\n" << changed);
      }
    }
  }
}

TEST_CASE("the schema describes every key, with examples or values", "[campaign_file]") {
  const auto schema = nlohmann::json::parse(tuner::campaign_schema());
  CHECK(schema["$schema"] == "http://json-schema.org/draft-07/schema#");
  const auto check_properties = [](const auto& self, const nlohmann::json& part) -> void {
    const nlohmann::json properties = part.value("properties", nlohmann::json::object());
    for (const auto& [key, property] : properties.items()) {
      CAPTURE(key);
      const std::string description = property.value("description", "");
      CHECK(description.ends_with('.'));
      const bool shown = property.contains("examples") || property.contains("enum") ||
                         property.contains("properties") || property.contains("items");
      CHECK(shown);
      self(self, property);
    }
  };
  check_properties(check_properties, schema);
  for (const auto& [name, definition] : schema["definitions"].items()) check_properties(check_properties, definition);
}

TEST_CASE("each example of the schema is valid where it stands", "[campaign_file]") {
  const auto schema = nlohmann::json::parse(tuner::campaign_schema());
  const auto check_examples = [&](const auto& self, const nlohmann::json& part) -> void {
    if (part.is_object() && part.contains("examples") && part.contains("type")) {
      nlohmann::json alone = part;
      alone["definitions"] = schema["definitions"];
      for (const auto& example : part["examples"]) {
        CAPTURE(part.dump(), example.dump());
        CHECK(tuner::check_against_schema(alone, example).empty());
      }
      if (part.contains("default")) CHECK(tuner::check_against_schema(alone, part["default"]).empty());
    }
    if (part.is_structured()) {
      for (const auto& inner : part) self(self, inner);
    }
  };
  check_examples(check_examples, schema);
}

TEST_CASE("problems are JSON for machines", "[campaign_file]") {
  const auto document = tuner::to_json(problems(good_with("\"trials\"", "\"trails\"")).front());
  CHECK(document == nlohmann::json{{"file", "f.json"},
                                   {"pointer", "/budget/trails"},
                                   {"line", 17},
                                   {"column", 14},
                                   {"found", "unknown key \"trails\""},
                                   {"allowed", "trials, until, wall"},
                                   {"nearest", "trials"}});
}
