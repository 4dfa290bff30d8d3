#include <catch2/catch_test_macros.hpp>

#include "tests/space/build.hpp"

namespace nocturne::space {

using namespace test;

namespace {
Facts machine() {
  Facts facts;
  facts.set("machine.cores", std::int64_t{6});
  facts.set("machine.isa", std::vector<std::string>{"avx2"});
  return facts;
}
Value integer(std::int64_t value) {
  return value;
}
Value text(const char* value) {
  return std::string(value);
}
}  // namespace

TEST_CASE("bounds and defaults may be expressions over machine facts", "[space]") {
  ParameterSpec threads;
  threads.name = "threads";
  threads.domain = IntegerRangeSpec{.lower = std::int64_t{1}, .upper = std::string("2 * machine.cores")};
  threads.default_value = std::string("machine.cores");
  ParameterSpec batch =
      with_default(ordered("batch", {integer(3), integer(6), integer(9)}), std::string("machine.cores"));
  const auto space = make_space({threads, batch}, {}, machine());
  CHECK(space.find("threads")->size() == 12);
  CHECK(space.default_configuration().canonical() == R"({"batch":6,"threads":6})");
  CHECK(space.find("threads")->domain_text() == "integer 1 to 12");
}

TEST_CASE("a text default of a list with texts is that text", "[space]") {
  const auto space = make_space({with_default(choices("compiler", {text("g++"), text("clang++")}), text("clang++"))});
  CHECK(space.default_configuration().canonical() == R"({"compiler":"clang++"})");
}

TEST_CASE("a default takes the type of its domain", "[space]") {
  const auto space = make_space({with_default(reals("rate", 0, 2), integer(1)), with_default(integers("n", 0, 4), 2.0),
                                 with_default(ordered("x", {0.5, 1.0}), integer(1))});
  CHECK(space.default_configuration().canonical() == R"({"n":2,"rate":1.0,"x":1.0})");
}

TEST_CASE("everything that is wrong is reported at once", "[space]") {
  ParameterSpec odd = integers("steps", 8, 4);
  ParameterSpec stepped = integers("k", 1, 9);
  stepped.domain =
      IntegerRangeSpec{.lower = std::int64_t{1}, .upper = std::string("machine.corse"), .step = std::int64_t{2}};
  const auto errors =
      errors_of({odd, stepped, integers("n", 1, 4), integers("n", 1, 4), boolean("not"), choices("empty", {}),
                 choices("twice", {integer(1), 1.0}), with_default(integers("d", 1, 4), integer(9)),
                 boolean("fine", "n > 1 and mm"), reals("log", 0, 1, true), boolean("machine.cores")},
                {{"n +", "because"}, {"n > 0", ""}}, machine());
  std::string all;
  for (const auto& error : errors) all += error.to_text() + "\n";
  CHECK(
      all ==
      "/parameters/0/range: the range 8 to 4 is empty\n"
      "/parameters/1/range/1: unknown name 'machine.corse', did you mean 'machine.cores'?\n"
      "machine.corse\n^\n"
      "/parameters/3/name: there is another parameter 'n'\n"
      "/parameters/4/name: 'not' cannot be a name: letters, digits and underscores, perhaps dotted, and no word of the "
      "expression language\n"
      "/parameters/5/values: the list is empty\n"
      "/parameters/6/values/1: 1.0 stands in the list twice\n"
      "/parameters/7/default: the default is 9, it must be integer 1 to 4\n"
      "/parameters/9/range/0: a logarithmic range begins above 0\n"
      "/parameters/10/name: 'machine.cores' is a fact about the machine\n"
      "/parameters/8/active_if: unknown name 'mm'\n"
      "n > 1 and mm\n          ^\n"
      "/constraints/0/require: the expression ends where a value is needed\n"
      "n +\n   ^\n"
      "/constraints/1/because: a constraint needs a sentence that explains it\n");
}

TEST_CASE("bounds that are no integers are refused", "[space]") {
  ParameterSpec half = integers("n", 1, 2);
  half.domain = IntegerRangeSpec{.lower = std::int64_t{1}, .upper = std::string("machine.cores / 4")};
  CHECK(errors_of({half}, {}, machine())[0].message == "1.5 is no integer (// divides integers)");
  half.domain = IntegerRangeSpec{.lower = std::int64_t{1}, .upper = std::string("machine.cores / 3")};
  CHECK(make_space({half}, {}, machine()).find("n")->size() == 2);
  half.domain = IntegerRangeSpec{.lower = std::int64_t{1}, .upper = std::string("1 // 0")};
  CHECK(errors_of({half})[0].message == "division by zero");
  half.domain = IntegerRangeSpec{.lower = std::int64_t{1}, .upper = std::int64_t{9}, .step = std::int64_t{0}};
  CHECK(errors_of({half})[0].path == "/parameters/0/step");
}

TEST_CASE("circles of activity are named", "[space]") {
  const auto errors = errors_of({boolean("a", "c"), boolean("b", "a"), boolean("c", "b"), boolean("self", "self")});
  REQUIRE(errors.size() == 2);
  CHECK(errors[0].message == "the conditions of activity form a circle: a → c → b → a");
  CHECK(errors[1].message == "the conditions of activity form a circle: self → self");
}

TEST_CASE("a default configuration that a constraint forbids is an error with its sentence", "[space]") {
  const auto errors = errors_of({with_default(integers("a", 0, 4), integer(3)), boolean("b")},
                                {{"a < 3", "three is too many"}, {"not b", "fine"}});
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].to_text() == "/constraints/0/require: the default configuration violates it: three is too many");
}

TEST_CASE("activity cannot depend on a real range", "[space]") {
  CHECK(errors_of({reals("rate", 0, 1), boolean("b", "rate > 0.5")})[0].message ==
        "'rate' is a real range; activity can depend on parameters with single values only");
}

TEST_CASE("an empty space is refused", "[space]") {
  CHECK(errors_of({})[0].message == "a space needs at least one parameter");
}

TEST_CASE("check names unknown, missing, inactive and impossible values", "[space]") {
  const auto space = make_space({choices("framework", {text("onednn"), text("tensorflow")}),
                                 boolean("xla", "framework == 'tensorflow'"), integers("threads", 1, 6)},
                                {{"threads <= 4", "more than four threads share a core"}});
  auto configuration = space.default_configuration();
  CHECK(space.contains(configuration));
  configuration.set("threads", integer(5));
  CHECK(space.check(configuration) == std::vector<std::string>{"more than four threads share a core"});
  configuration.set("threads", integer(9));
  configuration.set("xla", true);
  configuration.set("thread", integer(1));
  CHECK(space.check(configuration) ==
        std::vector<std::string>{"'xla' is set, and it is active only if framework == 'tensorflow'",
                                 "'threads' is 9, it must be integer 1 to 6",
                                 "unknown parameter 'thread', did you mean 'threads'?"});
  CHECK(space.normalise(configuration).canonical() == R"({"framework":"onednn","threads":9})");
  configuration.set("framework", text("tensorflow"));
  configuration.erase("xla");
  CHECK(space.check(configuration)[0] == "'xla' is missing");
  CHECK(space.normalise(configuration).canonical() == R"({"framework":"tensorflow","threads":9,"xla":false})");
}

TEST_CASE("a constraint that fails to evaluate is violated and says so", "[space]") {
  const auto space = make_space({with_default(integers("n", 0, 4), integer(1))}, {{"4 % n == 0", "n divides four"}});
  Configuration zero;
  zero.set("n", integer(0));
  CHECK(space.check(zero) == std::vector<std::string>{"n divides four (4 % n == 0: division by zero)"});
  CHECK(space.count().to_text() == "3");
}

TEST_CASE("equal spaces give equal JSON with the machine's numbers in it", "[space]") {
  ParameterSpec threads = integers("threads", 1, 2);
  threads.domain = IntegerRangeSpec{.lower = std::int64_t{1}, .upper = std::string("machine.cores")};
  threads.unit = "threads";
  const auto space = make_space({threads}, {require_that("threads != 3")}, machine());
  CHECK(space.to_json().dump() ==
        R"({"constraints":[{"because":"because of threads != 3","require":"threads != 3"}],"parameters":[{"default":1,)"
        R"("name":"threads","range":[1,6],"stage":"run","type":"integer","unit":"threads"}]})");
}

}  // namespace nocturne::space
