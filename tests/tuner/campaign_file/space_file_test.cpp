#include "tuner/campaign_file/space_file.hpp"

#include <fstream>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/support/temporary_folder.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;

namespace {

auto parsed(std::string_view text, const space::Facts& facts = {}) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "space.json";
  std::ofstream(file) << text;
  return tuner::load_space_file(file, facts);
}

std::string problems_of(std::string_view text) {
  const auto read = parsed(text);
  return read ? "" : tuner::to_text(read.error());
}

}  // namespace

TEST_CASE("a space file is a campaign's space, and says which values are better", "[campaign_file]") {
  const auto read = parsed(R"({// a comment
    "objective": {"direction": "maximise", "scale": "linear"},
    "space": {"parameters": [{"name": "tile", "values": [8, 16]}, {"name": "rate", "range": [0.1, 0.9]}]},
    "strategy": {"name": "random", "seed": 7}})");
  REQUIRE(read);
  CHECK(read->name == "search");
  CHECK(read->space.parameters().size() == 2);
  CHECK(read->space.parameters()[0].stage == space::Stage::Run);
  CHECK(read->strategy.name == "random");
  CHECK(read->strategy.seed == 7);
  CHECK(read->values == search::ValueRule{search::Direction::Maximise, search::ValueScale::Linear});
  CHECK(tuner::stored_value_rule(read->document) == read->values);
  CHECK_FALSE(tuner::stored_value_rule({{"objective", {{"minimise", "time"}}}}));
}

TEST_CASE("a space file has no keys of trainings, and every mistake is named with its place", "[campaign_file]") {
  CHECK_THAT(problems_of(R"({"space": {"parameters": [{"name": "a", "values": [1]}]}, "budget": {"trials": 3}})"),
             ContainsSubstring("space.json:1:") && ContainsSubstring("unknown key \"budget\""));
  CHECK_THAT(problems_of(R"({"space": {"parameters": [{"name": "a", "values": [1]}]},
                             "objective": {"direction": "up"}})"),
             ContainsSubstring("/objective/direction") && ContainsSubstring("minimise, maximise"));
  CHECK_THAT(problems_of("{}"), ContainsSubstring("key 'space' is missing"));
  CHECK_THAT(problems_of(R"({"space": {"parameters": [{"name": "a", "values": [1]}]},
                             "strategy": {"name": "autto"}})"),
             ContainsSubstring("Did you mean 'auto'?"));
}

TEST_CASE("searches are the same by space, facts in use and objective, not by strategy and words", "[campaign_file]") {
  const auto identity = [](std::string_view text, const space::Facts& facts = {}) {
    const auto read = parsed(text, facts);
    REQUIRE(read);
    return read->identity_json;
  };
  const auto first = identity(R"({"space": {"parameters": [{"name": "a", "values": [1, 2]}]}})");
  CHECK(first == identity(R"({"strategy": {"seed": 9}, "description": "words",
                              "space": {"parameters": [{"name": "a", "stage": "run", "values": [1, 2]}]}})"));
  CHECK(first != identity(R"({"space": {"parameters": [{"name": "a", "values": [1, 3]}]}})"));
  CHECK(first != identity(R"({"objective": {"direction": "maximise"},
                              "space": {"parameters": [{"name": "a", "values": [1, 2]}]}})"));
}
