#include "measure/run/command_template.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;
using measure::CommandTemplate;
using measure::fill_words;

namespace {

using Words = std::vector<std::string>;

space::Configuration values() {
  space::Configuration configuration;
  configuration.set("batch", std::int64_t{32});
  configuration.set("rate", 0.25);
  configuration.set("amp", true);
  configuration.set("sync", false);
  configuration.set("env.A", std::string("x y"));
  return configuration;
}

Words filled(std::vector<Words> groups) {
  const auto words = fill_words({.groups = std::move(groups)}, values(), {.steps = 40, .seed = 7});
  REQUIRE(words);
  return *words;
}

}  // namespace

TEST_CASE("values are filled in where their names stand, and never split", "[command_template]") {
  CHECK(filled({{"./t"}, {"--batch"}, {"{batch}"}, {"--rate={rate},{batch}"}}) ==
        Words{"./t", "--batch", "32", "--rate=0.25,32"});
  CHECK(filled({{"./t"}, {"{env.A}"}}) == Words{"./t", "x y"});
  CHECK(filled({{"./t"}, {"--steps={run.steps}"}, {"{run.seed}"}}) == Words{"./t", "--steps=40", "7"});
  space::Configuration hostile;
  hostile.set("x", std::string("{batch}; rm -rf {run.seed}"));
  CHECK(*fill_words({.groups = {{"./t"}, {"{x}"}}}, hostile, {}) == Words{"./t", "{batch}; rm -rf {run.seed}"});
}

TEST_CASE("braces that are no place are text", "[command_template]") {
  for (const char* text : {"{", "}", "{}", "{1}", "{a b}", "{\"batch\": {\"n\": 1}}", "{ print $1 }", "{batch",
                           "batch}", "{{", "}}", "{batch,rate}"}) {
    CAPTURE(text);
    CHECK(filled({{"./t"}, {text}}) == Words{"./t", text});
    CHECK(measure::places_in(text).empty());
    CHECK(measure::escaped_word(text) == text);
  }
  CHECK(filled({{"./t"}, {"{{batch}}"}, {"{{{batch}}}"}}) == Words{"./t", "{batch}", "{{batch}}"});
}

TEST_CASE("an escaped word stands for itself", "[command_template]") {
  for (const char* text :
       {"{batch}", "{{batch}}", "a{batch}b{rate}", "{amp?--amp}", "{{amp?x}}", "{nobody}", "plain"}) {
    CAPTURE(text);
    CHECK(filled({{"./t"}, {measure::escaped_word(text)}}) == Words{"./t", text});
  }
}

TEST_CASE("a condition gives its word where the boolean is true", "[command_template]") {
  CHECK(filled({{"./t"}, {"{amp?--amp}"}, {"{sync?--sync}"}, {"{amp?{}}"}}) == Words{"./t", "--amp", "{}"});
  const auto refused = fill_words({.groups = {{"./t"}, {"{batch?--x}"}}}, values(), {});
  REQUIRE(!refused);
  CHECK_THAT(refused.error(), ContainsSubstring("batch is true, which is 32"));
}

TEST_CASE("a group in which a parameter is inactive is left out as a whole", "[command_template]") {
  CHECK(filled({{"./t"}, {"--lanes", "{lanes}"}, {"--batch", "{batch}"}, {"--x={lanes}"}, {"{lanes?--y}"}}) ==
        Words{"./t", "--batch", "32"});
  const CommandTemplate command{.groups = {{"./t"}}, .environment = {{"A", "{batch}"}, {"B", "{lanes}"}, {"C", "c"}}};
  CHECK(*fill_environment(command, values(), {}) == std::map<std::string, std::string>{{"A", "32"}, {"C", "c"}});
}

TEST_CASE("a command without a program and a zero byte are refused", "[command_template]") {
  CHECK(!fill_words({.groups = {{"{lanes}"}, {"x"}}}, values(), {}));
  CHECK(!fill_words({.groups = {{"{sync?x}"}, {"y"}}}, values(), {}));
  space::Configuration zero;
  zero.set("x", std::string("a\0b", 3));
  CHECK(!fill_words({.groups = {{"./t"}, {"{x}"}}}, zero, {}));
}

TEST_CASE("a command survives JSON", "[command_template]") {
  CommandTemplate command{.groups = {{"./t"}, {"--lanes", "{lanes}"}},
                          .environment = {{"A", "{batch}"}},
                          .folder = "/somewhere",
                          .timing = measure::Timing::Pattern,
                          .pattern = "took (?P<total_seconds>[0-9.]+)"};
  CHECK(*measure::command_from_json(to_json(command)) == command);
  CHECK(command.whole());
  command.pattern = "([0-9.]+) s";
  CHECK(!command.whole());
  command.timing = measure::Timing::Steps;
  command.pattern = "";
  CHECK(*measure::command_from_json(to_json(command)) == command);
  for (const auto files : {measure::Files::Private, measure::Files::PrivateFolder, measure::Files::InPlace}) {
    command.files = files;
    CHECK(*measure::command_from_json(to_json(command)) == command);
  }
  command.step = measure::kBackward;
  command.epoch_ends = {.steps = 5, .examples = 60000, .every = 3};
  CHECK(*measure::command_from_json(to_json(command)) == command);
  for (const char* text : {"null", "{}", R"({"template": ["a"], "epoch_ends": {"steps": 2, "examples": 60000}})",
                           R"({"template": ["a"], "step": 5})", R"({"template": ["a"], "epoch_ends": {"steps": 5}})",
                           R"({"template": ["a"], "epoch_ends": {"steps": 5, "examples": 9, "every": 0}})",
                           R"({"template": ["a"], "epoch_ends": 5})", R"({"template": []})",
                           R"({"template": ["a"], "files": "private everything"})", R"({"template": [1]})",
                           R"({"template": ["a"], "time": 3})", R"({"template": ["a"], "environment": {"A": 1}})",
                           R"({"template": ["a"], "folder": 1})"}) {
    CAPTURE(text);
    CHECK(!measure::command_from_json(nlohmann::json::parse(text)));
  }
}
