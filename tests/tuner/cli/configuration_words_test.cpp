#include "tuner/cli/choice/configuration_words.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/space/build.hpp"

namespace nocturne::test {
namespace {

using Catch::Matchers::ContainsSubstring;
using space::test::choices;
using space::test::integers;

space::Space frameworks() {
  return space::test::make_space(
      {choices("framework", {std::string("ours"), std::string("other")}),
       choices("layout", {std::string("blocked"), std::string("nchw"), std::string("nhwc")}),
       integers("threads", 1, 4)},
      {{.require = "(layout == 'blocked') == (framework == 'ours')", .because = "layouts of our own"},
       {.require = "threads < 4", .because = "one core is the system's"}});
}

std::expected<space::Configuration, std::string> read(const std::string& words) {
  const auto space = frameworks();
  space::Configuration base;
  base.set("framework", std::string("ours"));
  base.set("layout", std::string("blocked"));
  base.set("threads", std::int64_t{2});
  return cli::read_configuration(space, base, words);
}

std::string text(const space::Configuration& configuration, const std::string& name) {
  return space::to_text(*configuration.find(name));
}

}  // namespace

TEST_CASE("what was not named gives way where the base does not go with what was", "[cli]") {
  const auto other = read("framework=other");
  REQUIRE(other);
  CHECK(text(*other, "framework") == "other");
  CHECK(text(*other, "layout") == "nchw");
  CHECK(text(*other, "threads") == "2");
}

TEST_CASE("what was named never gives way, and the error says what is meant", "[cli]") {
  const auto both = read("framework=other,layout=blocked");
  REQUIRE_FALSE(both);
  CHECK_THAT(both.error(), ContainsSubstring("'framework=other,layout=blocked' is not allowed"));
  CHECK_THAT(both.error(), ContainsSubstring("layouts of our own"));
  CHECK_FALSE(read("threads=4"));
}

TEST_CASE("an option of a command may be named as the command has it", "[cli]") {
  const auto read_it = read("--lay-out=nchw,framework=other");
  CHECK_THAT(read_it.error(), ContainsSubstring("there is no parameter 'lay_out'"));
  CHECK(text(read("--layout=nchw,framework=other").value(), "layout") == "nchw");
}

TEST_CASE("an unknown name and an unknown value are distinguished", "[cli]") {
  CHECK_THAT(read("framwork=ours").error(), ContainsSubstring("did you mean 'framework'"));
  CHECK_THAT(read("framework=theirs").error(), ContainsSubstring("not 'theirs'"));
}

}  // namespace nocturne::test
