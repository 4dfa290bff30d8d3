#include "tuner/campaign_file/problem.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/tuner/campaign_file/sample_file.hpp"

using namespace nocturne;
using namespace nocturne::test;
using tuner::Problem;

namespace {

const std::filesystem::path kShipped = std::filesystem::path(NOCTURNE_SOURCE_DIR) / "examples";

std::string text_of_example(const char* name) {
  std::ifstream stream(kShipped / name);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

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
      {"\"time\", \"epochs\": [1, 12, 90]", "\"time_to_accuracy\"", "/objective", 4, "neither 'accuracy'",
       "one of them", ""},
      {"\"time\", \"epochs\": [1, 12, 90]", "\"time_to_accuracy\", \"accuracy\": 0.9, \"default_epochs\": 2",
       "/objective", 4, "both 'accuracy'", "one of them", ""},
      {"\"time\", \"epochs\": [1, 12, 90]", "\"time_to_accuracy\", \"accuracy\": 98.5", "/objective/accuracy", 4,
       "found 98.5", "below 1", ""},
      {"\"time\", \"epochs\": [1, 12, 90]", "\"time_to_accuracy\", \"accuracy\": 0.9, \"epochs\": [1]",
       "/objective/epochs", 4, "found [1]", "says nothing where minimise is time_to_accuracy", ""},
      {"\"time\", \"epochs\": [1, 12, 90]", "\"time\", \"accuracy\": 0.9", "/objective/accuracy", 4, "found 0.9",
       "says nothing where minimise is time", ""},
      {"\"time\", \"epochs\": [1, 12, 90]", "\"time_to_accuracy\", \"default_epochs\": 40", "/objective/default_epochs",
       4, "found 40", "at most 30", ""},
      {"\"time\", \"epochs\": [1, 12, 90]",
       "\"time_to_accuracy\", \"accuracy\": 0.9, \"learning_parameters\": [\"batsch\"]",
       "/objective/learning_parameters/0", 4, "no parameter is called 'batsch'", "", ""},
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
      {"\"verify\"", "\"executor\": {\"slurn\": {}}, \"verify\"", "/executor/slurn", 19, "unknown key", "slurm",
       "slurm"},
      {"\"verify\"", "\"executor\": {\"slurm\": {\"partion\": \"cpu\"}}, \"verify\"", "/executor/slurm/partion", 19,
       "unknown key", "account, cluster", "partition"},
      {"\"verify\"", "\"executor\": {\"slurm\": {\"nodes\": 0}}, \"verify\"", "/executor/slurm/nodes", 19, "found 0",
       "from 1", ""},
      {"\"verify\"", "\"executor\": {\"slurm\": {\"gres\": \"gpu 1\"}}, \"verify\"", "/executor/slurm/gres", 19,
       "found \"gpu 1\"", "a word that Slurm takes", ""},
      {"\"verify\"", "\"executor\": {\"slurm\": {\"time\": \"8\"}}, \"verify\"", "/executor/slurm/time", 19,
       "found \"8\"", "08:00:00", ""},
      {"\"verify\"", "\"executor\": {\"slurm\": {\"time\": \"0:00:00\"}}, \"verify\"", "/executor/slurm/time", 19,
       "found \"0:00:00\"", "above zero", ""},
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

TEST_CASE("a framework is a worker that exists", "[campaign_file]") {
  const std::string text =
      good_with("{\"name\": \"compiler\", \"stage\": \"build\", \"values\": [\"g++\", \"clang++-19\"]}",
                "{\"name\": \"framework\", \"stage\": \"environment\", \"values\": [\"onednn\", \"onedn\"]}");
  const std::vector<Problem> all = problems(text);
  REQUIRE(all.size() == 1);
  CHECK(all[0].pointer == "/space/parameters/0/values/1");
  CHECK(all[0].nearest == "onednn");
}

TEST_CASE("every beginning of an example is refused cleanly", "[campaign_file]") {
  const std::string text = text_of_example("mnist.json");
  const std::size_t end = text.rfind('}');
  for (std::size_t length = 0; length < end; ++length) {
    const auto spec = tuner::parse_campaign(text.substr(0, length), "f.json", kShipped, sample_facts());
    if (spec) FAIL("accepted " << length << " bytes");
    if (spec.error().size() != 1 || spec.error()[0].line == 0) FAIL(tuner::to_text(spec.error()));
  }
}

TEST_CASE("an example with one byte lost or changed never does worse than being refused", "[campaign_file]") {
  const std::string text = text_of_example("mnist-exhaustive-small.json");
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char replacement : {'\0', '"', '{', ']', ',', '\\', '9', '\xff'}) {
      std::string changed = text;
      if (replacement == '\0')
        changed.erase(i, 1);
      else
        changed[i] = replacement;
      const auto spec = tuner::parse_campaign(changed, "f.json", kShipped, sample_facts());
      if (spec) continue;
      if (spec.error().empty()) FAIL("refused without a problem: " << changed);
      for (const Problem& problem : spec.error())
        if (problem.line == 0 || problem.found.empty()) FAIL(tuner::to_text(problem) << "\n" << changed);
    }
  }
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

TEST_CASE("the problems of a document that nobody wrote are one sentence without places", "[campaign_file]") {
  const auto one = problems(good_with("\"trials\"", "\"trails\"")).front();
  const auto other = Problem{.file = "f.json", .pointer = "/run", .line = 3, .column = 1, .found = "is no object"};
  CHECK(tuner::to_sentence(std::vector{one, other}) ==
        "f.json: /budget/trails: unknown key \"trails\"; allowed: trials, until, wall. Did you mean 'trials'?"
        "; and /run: is no object");
}
